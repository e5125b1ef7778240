/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of prefetches and cache-line flushes, from the registers that the tracer could see around them.
 */
#ifndef FATHOM_TRACE_PROGRAM_HINTS_H
#define FATHOM_TRACE_PROGRAM_HINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/program_registers.h"

struct block;
struct insn;

/* RING_SNAPSHOTS of one execution. */
struct snapshots {
    const uint64_t *at; /* `n` times RING_SNAPSHOT_WORDS */
    unsigned n;
    bool end_is_next; /* what follows the block saw its registers as the block left them */
};

/* A hint of a block, and how its address follows from the snapshot before it and the one behind. */
struct hint {
    uint16_t insn; /* its number in the block */
    bool computable;
    struct reg_op address;
    uint32_t access; /* while the block is fast: its access, counted from the block's first */
    struct {
        bool made, possible;
        uint16_t before, behind; /* instruction numbers that it was made for; HINT_NOWHERE */
        uint16_t n_ops;
        struct reg_op *op; /* the last one is executed first */
    } plan;
    uint64_t addr; /* of the newest execution */
    bool known;
};
enum { HINT_NOWHERE = UINT16_MAX };

/* Does it touch memory as a hint only, so that qemu shows no access? */
bool hint__is_one(const struct insn *insn);
/* Appends the block's instruction `i`. False: out of memory. */
bool hints__add(struct block *block, unsigned i);
void hints__free(struct block *block);
/* Sets addr and known of all hints of `block`. */
void hints__resolve(struct block *block, const struct snapshots *snapshots);

#endif
