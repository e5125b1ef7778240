/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of control of one function and its innermost natural loops. */
#ifndef FATHOM_LOOP_CFG_H
#define FATHOM_LOOP_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

struct isa;

enum { CFG_NONE = UINT32_MAX };

enum cfg_kind {
    CFG_PLAIN,
    CFG_NOP,
    CFG_COND,     /* goes on or to its target */
    CFG_JUMP,     /* to its target, which may lie outside */
    CFG_INDIRECT, /* jump through a table, which is not read */
    CFG_CALL,     /* comes back */
    CFG_SYSTEM,   /* a system call: comes back */
    CFG_STOP,     /* return, trap, indirect tail call: does not go on */
    CFG_BAD,      /* one byte that starts no instruction; goes on, or such a loop would be hidden */
};

struct cfg_insn {
    uint32_t offset;
    uint32_t target; /* index of the instruction jumped to; CFG_NONE: outside, or no direct branch */
    uint8_t len;
    uint8_t kind;     /* enum cfg_kind */
    bool leader;      /* starts a basic block */
    bool called;      /* can be reached from elsewhere: where a call or an indirect branch arrives */
    bool into_middle; /* the target lies inside the instruction `target`, not at its start */
};

struct cfg_block {
    uint32_t first, n; /* instructions */
    uint32_t succ[2];  /* CFG_NONE: none */
    /* Blocks that nothing else leads to are taken for targets of the indirect jump before them, as
     * tables of addresses are not read: head and links of that list. */
    uint32_t first_guess, next_guess;
    uint32_t straight; /* the straight loop it is in, CFG_NONE: none */
    uint32_t region;   /* root block it was reached from; CFG_NONE: padding */
    uint32_t order;    /* in reverse post-order */
    uint32_t idom;     /* immediate dominator; a root's is itself */
    uint32_t depth;    /* loops around it */
    bool header;       /* of a natural loop */
};

struct cfg_loop {
    uint32_t start, end; /* offsets */
    uint32_t header;
    uint32_t first_body, n_body; /* in body[], by address; innermost ones only */
    uint32_t n_insns;
    uint32_t depth;
    bool innermost;
    bool simple;       /* a straight one */
    bool natural;      /* a straight one that is also a natural loop */
    uint32_t obstacle; /* not simple: the instruction that is to blame */
};

/* Arrays are reused from function to function. Zero-initialised is ready. */
struct cfg {
    VECTOR(struct cfg_insn) insn; /* by offset, without gaps */
    VECTOR(struct cfg_block) block;
    VECTOR(struct cfg_loop) loop; /* straight ones, then natural ones: cfg_loop.c */
    VECTOR(uint32_t) body;        /* blocks of the loops */
    VECTOR(uint32_t) order;       /* blocks in reverse post-order */
    VECTOR(uint32_t) pred_start;  /* n + 1: where a block's predecessors are in pred[] */
    VECTOR(uint32_t) pred;
    VECTOR(uint32_t) stack, cursor, mark;
};

/* The code of a function. */
struct cfg_code {
    const uint8_t *bytes;
    uint32_t size;
    /* Where the direct branch at [offset, offset + len) really goes, for code with relocations: true and
     * *target (an offset; < 0: outside) if it is not what the bytes say. May be NULL. */
    bool (*relocated)(const void *context, uint32_t offset, unsigned len, int64_t *target);
    const void *context;
};

/* Decodes the code and finds its loops; false when memory is out. */
bool cfg__build(struct cfg *cfg, struct isa *isa, const struct cfg_code *code);
/* The last step of cfg__build. */
bool cfg__find_loops(struct cfg *cfg);

static inline const struct cfg_insn *cfg__last_insn(const struct cfg *cfg, const struct cfg_block *block)
{
    return &cfg->insn.item[block->first + block->n - 1];
}

void cfg__free(struct cfg *cfg);

#endif
