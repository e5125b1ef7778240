/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of executed instructions: a traced program, an endless loop, a replayed mini-trace. */
#ifndef FATHOM_SOURCE_H
#define FATHOM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/insn.h"

/* An instruction at an address. Owned by a struct code; lives as long as it. */
struct site {
    uint64_t addr;
    struct insn *insn;
    uint32_t id; /* 0, 1, 2 ... in order of first sight */
    uint32_t reserved;
    struct site *next; /* the site after it in memory once looked up, else NULL */
};

/* All code seen so far, by address. Self-modified code gets a new site for the same address. */
struct code;
struct code *code__new(void);
void code__free(struct code *code);
/* The newest site at `addr`, or NULL. */
struct site *code__find(const struct code *code, uint64_t addr);
/* The site of `insn` at `addr`, made if it is not the newest there. */
struct site *code__intern(struct code *code, uint64_t addr, struct insn *insn);
uint32_t code__count(const struct code *code);
struct site *code__site(const struct code *code, uint32_t id);

/* One memory access of a step. */
struct access {
    uint64_t addr;
    uint16_t size_bytes;
    uint8_t store; /* written (also when read and written) */
    uint8_t known; /* 0: the address could not be observed */
};

enum step_flag {
    STEP_TAKEN = 1,        /* control did not continue at the next instruction in memory */
    STEP_REP_BODY = 2,     /* a chunk of the REP instruction before it: not an instruction of its own */
    STEP_LAST_OF_PASS = 4, /* loops: last instruction of an iteration (TP-2) */
    /* As `len`: and it follows the step before it in memory, ends in the 64-byte line in which that one
     * ended, and is no branch. */
    STEP_PLAIN = 8,
};

enum { STEP_MAX_ACCESS = 24 };

/* One executed instruction. `accesses` follow insn->mem; gathers have one for each element. */
struct step {
    struct site *site;
    uint64_t next_addr; /* address executed after it; 0 at the end */
    uint32_t iteration; /* loops: 0, 1, ...; programs: thread-local zero */
    uint8_t flags;      /* enum step_flag */
    uint8_t n_access;
    /* For those in a hurry, who then need neither site nor instruction. Bytes of the instruction if all its
     * accesses are plain: each loads or stores, cached; 0: look at the instruction. And its enum branch_kind.
     */
    uint8_t len, branch;
    uint32_t first_access; /* index into step_buffer.access, modulo its size */
};

enum { STEP_RING = 8192, ACCESS_RING = 65536 };

/*
 * The window of steps between a source and the pipeline. Indices count up for ever; the slot of
 * index i is i modulo the ring size. The source writes at `end`, the pipeline moves `begin`.
 * Invariants: begin <= end <= begin + STEP_RING; access_end - (oldest access in use) <= ACCESS_RING.
 */
struct step_buffer {
    struct step step[STEP_RING];
    struct access access[ACCESS_RING];
    uint64_t begin, end;
    uint32_t access_end;
};

/*
 * A source. `fill` appends steps to `buf` until it has at least `want` more or nothing is left;
 * returns the number appended, 0 at the end of the execution, -1 on failure (status in the source).
 * It never overwrites steps at or after buf->begin, nor their accesses.
 */
struct source {
    int (*fill)(struct source *src, struct step_buffer *buf, unsigned want);
    struct code *code;
};

#endif
