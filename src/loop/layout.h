/* SPDX-License-Identifier: Apache-2.0 */
/* A block as the front end sees it in steady state: macro-fused pairs as one item, the uops that the
 * renamer adds, and which source delivers each item. What all bounds start from. */
#ifndef LOOP_LAYOUT_H
#define LOOP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/bounds.h"
#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/loop.h"

/* Working memory of one computation: on the caller's stack as far as it goes, then from the heap. */
enum { SCRATCH_BYTES = 96 * 1024 };

struct scratch_heap;

struct scratch {
    struct scratch_heap *heap;
    size_t used;
    bool failed; /* memory ran out once: the result is void */
    _Alignas(16) unsigned char stack[SCRATCH_BYTES];
};

void scratch__init(struct scratch *s);
/* Not zeroed; NULL when memory is out (then `failed` is set). */
void *scratch__alloc(struct scratch *s, size_t n, size_t size);
void scratch__free(struct scratch *s);

struct item {
    struct insn *insn;           /* of a pair the ALU half */
    const struct insn *second;   /* the Jcc of a pair, else NULL */
    const struct recipe *recipe; /* as renamed: fused, clean high byte, moves by RN-8 */
    uint64_t addr;
    uint16_t len; /* bytes, both halves */
    uint16_t position, second_position;
    uint16_t front_lams; /* laminated uops from decoders or DSB */
    uint16_t ms_lams;    /* the rest, from the MS (MS-1) */
    uint8_t merge;       /* RN-15: set of registers with a merge uop before the instruction */
    bool sync;           /* RN-17: a sync uop before the instruction */
    bool line_start;     /* DSB-2: first of its line */
};

struct layout {
    const struct core *core;
    struct item *item;
    size_t n;
    uint64_t address; /* of the first item */
    uint32_t length_bytes;
    bool unrolled;
    enum loop_registers registers;
    size_t mite_from; /* items from here on come from MITE (DSB-6); n: none */
    bool lsd;         /* locked in the IDQ (LSD-1) */
    unsigned lsd_unroll;
};

/* Returns -1 when memory is out. */
int layout__make(struct layout *out, const struct block *block, const struct core *core, struct isa *isa,
                 struct scratch *scratch);

/* Cycles per iteration; NAN where the source is not in use. */
struct front_bounds {
    double predecode, decode, dsb, lsd, issue;
    bool lcp; /* length-changing prefixes stall the predecoder */
};

void front__bounds(const struct layout *l, struct scratch *scratch, struct front_bounds *out);

struct port_bounds {
    double ports;
    uint16_t port_set;
    bool wide_loads; /* EX-17 is what limits */
    double divider;
    int divider_form; /* EX-15: the form that is not pipelined; -1: the divider itself */
};

/* `load`, if not NULL: the balanced optimum for each port. */
void ports__bounds(const struct layout *l, struct port_bounds *out, double load[BOUNDS_MAX_PORTS]);
/* The uops added at rename have these ports. */
uint16_t ports__sync(const struct core *core);
uint16_t ports__merge(void);

#endif
