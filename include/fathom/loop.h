/* SPDX-License-Identifier: Apache-2.0 */
/* An endless loop of given bytes as a source of steps (FE-1). */
#ifndef FATHOM_LOOP_H
#define FATHOM_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/source.h"

struct isa;
struct status;
struct loop;

/* What registers hold before the first iteration, for symbolic addresses (EX-13a). */
enum loop_registers {
    LOOP_REGISTERS_DIFFERENT, /* all distinct */
    LOOP_REGISTERS_SAME,      /* all equal, as BHive's profiler leaves them */
    LOOP_REGISTERS_STACK,     /* all equal but RSP and RBP */
};

struct loop_options {
    struct isa *isa;
    uint64_t address; /* of the first byte: only its offset in a 64-byte line matters */
    enum loop_registers registers;
};

/* Decodes `size` bytes. A block that ends in a direct branch to its start runs as a loop, any other
 * unrolled (TP-5).
 * Fails naming the offset and bytes that are no instruction, or an empty block. */
struct loop *loop__new(const uint8_t *bytes, size_t size, const struct loop_options *opt, struct status *st);
void loop__free(struct loop *loop);
struct source *loop__source(struct loop *loop);
bool loop__unrolled(const struct loop *loop);
size_t loop__count(const struct loop *loop);
/* Site ids are positions in the block. */
struct insn *loop__insn(const struct loop *loop, size_t i);
#endif
