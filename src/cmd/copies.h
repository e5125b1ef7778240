/* SPDX-License-Identifier: Apache-2.0 */
/* Several copies of the program on as many cores of one chip (docs/copies.md), and one alone beside them. */
#ifndef FATHOM_CMD_COPIES_H
#define FATHOM_CMD_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/account.h"
#include "fathom/memory.h"

struct core;
struct isa;
struct pipe;
struct predictor;
struct profile;
struct source;
struct status;
struct tee;

enum {
    COPIES_MAX = UNCORE_MAX_MEMBERS,
    /* Between the starts of two copies. Long against everything in flight, so that they are not in step; a
     * prime, so that no loop has it as a period. */
    COPIES_STAGGER_CYC = 10007,
    /* The copies' clocks are never further apart. Short against the latency of memory. */
    COPIES_QUANTUM_CYC = 64,
};

/* One core with all that belongs to it. */
struct copy {
    struct memory *memory;
    struct predictor *predictor;
    struct pipe *pipe;
    struct truth truth;
    struct tip tip;
    uint64_t starts_at; /* of the chip's cycles */
    unsigned reader;    /* of the tee */
    bool done;
};

struct copies {
    unsigned n;
    struct uncore *uncore;
    struct tee *tee;                  /* copy k is reader k, the one alone reader n */
    struct copy copy[COPIES_MAX + 1]; /* the last, copy[n], is alone on a chip of its own */
};

/* Whether `n` copies of `core` fit into the memory that is free now; a failure says what they need. */
int copies__check_memory(const struct core *core, unsigned n, struct status *st);

/*
 * Sets up `n` copies that read the program's `source`, whose instructions belong to `isa` of `core`. The
 * listeners (`total`, ended by NULL, at most PIPE_MAX_LISTENERS - 1) hear all copies, but not the one alone.
 */
int copies__init(struct copies *copies, unsigned n, const struct core *core, struct source *source,
                 struct isa *isa, struct listener *const *total, struct status *st);
void copies__free(struct copies *copies);

/* Asked again and again for every pipeline: should it end now? */
typedef bool copies_stop(void *arg, const struct pipe *pipe);
/* Returns 1 when all have reached the end of the program, 0 when one was stopped, -1 on a failure. */
int copies__run(struct copies *copies, copies_stop *stop, void *arg);

/* Sums over the copies, without the one alone. */
void copies__counts(const struct copies *copies, struct memory_counts *sum);
/* The profile's `copy`. */
int copies__report(const struct copies *copies, const struct core *core, struct profile *profile,
                   struct status *st);

#endif
