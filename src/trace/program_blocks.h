/* SPDX-License-Identifier: Apache-2.0 */
/* Translated blocks: what a block word of the ring expands to. */
#ifndef FATHOM_TRACE_PROGRAM_BLOCKS_H
#define FATHOM_TRACE_PROGRAM_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "fathom/source.h"

struct hint;
struct isa;
struct status;

enum {
    BLOCK_MAX_INSNS = 512,
    TEMPLATE_OBSERVES = 1, /* RDTSC, RDRAND ...: counted as a reason for differing runs */
    TEMPLATE_VARIES = 2,   /* not the same records every time */
    TEMPLATE_DIVIDES = 4,  /* may fault without a missing record */
    TEMPLATE_HINT = 8,     /* has an address, but no record: the next one of block.hint */
};

/* An instruction of a block. */
struct template
{
    struct site *site;
    uint8_t flags;
    uint8_t observed; /* enum observed_insn when TEMPLATE_OBSERVES */
};

/* Where an access of a fast block comes from. */
struct slot {
    uint32_t record; /* index among the block's records */
    uint16_t size_bytes;
    uint8_t store, known;
};

/*
 * A block as translated. `n` instructions can execute; a phantom or undecodable one at the end is not
 * among them. While `fast`, exactly n_records records follow each execution and `step` and `slot`
 * say what they mean; otherwise (and whenever the number differs) the records are matched one by one.
 */
struct block {
    uint64_t vaddr, end; /* end: address after the last instruction */
    uint64_t target;     /* of a direct branch at the end, else 0 */
    struct template *insn;
    struct step *step; /* made when fast: first_access counts from the block's first */
    struct slot *slot;
    struct hint *hint;
    uint32_t n_records, n_slots;
    uint16_t n, n_hints;
    uint16_t max_access; /* accesses a run can produce, without REP bodies */
    uint8_t last_branch; /* enum branch_kind */
    bool fast;
    bool varies; /* some instruction is TEMPLATE_VARIES: never fast */
    bool divides;
    bool rep;                  /* the last instruction is a REP string instruction */
    bool illegal;              /* the bytes after the last instruction are no instruction the core has */
    bool evex;                 /* of those: an AVX-512 instruction */
    uint8_t illegal_bytes[16]; /* of those: the first instruction; its size in the last byte */
};

/* REP instructions: the two sites of an address (the head's id finds them). */
struct rep_site {
    struct site *head, *body;
    const struct insn *insn; /* as decoded */
};

struct blocks {
    struct isa *isa;
    struct code *code;
    unsigned rep_chunk_bytes;
    uint64_t loader_start, loader_end; /* where the dynamic loader is mapped; both 0: nowhere */
    VECTOR(struct block) block;        /* by the plugin's id */
    VECTOR(struct rep_site) rep;
};

/* Takes a RING_DEFINE record (its payload of `n_words`). */
int blocks__define(struct blocks *blocks, const uint64_t *payload, unsigned n_words, struct status *st);
const struct rep_site *blocks__rep(const struct blocks *blocks, const struct site *head);
void blocks__free(struct blocks *blocks);

#endif
