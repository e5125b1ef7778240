/* SPDX-License-Identifier: Apache-2.0 */
/* Further simulations beside the real one, over the same execution: idealised cores, other cores. */
#ifndef FATHOM_CMD_LANE_H
#define FATHOM_CMD_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "cmd/ideal.h"
#include "fathom/account.h"
#include "fathom/core.h"

struct code;
struct isa;
struct pipe;
struct profile;
struct status;
struct tee;

/* A column of --compare-cores. */
struct compare_core {
    struct core core;
    char label[64];
    bool self; /* the real simulation */
};
enum { LANE_MAX_CORES = 8 };

/* What is to be simulated beside the real core. */
struct lane_plan {
    struct ideal_list ideal;
    struct compare_core compare[LANE_MAX_CORES];
    size_t n_compare;
};

/* One further pipeline with all that belongs to it. */
struct lane {
    struct ideal_machine machine;
    bool whole_tree; /* another core: its tree is wanted, not only its cycles */
    struct isa *isa; /* its own; NULL: that of the traced program */
    struct memory *memory;
    struct predictor *predictor;
    struct pipe *pipe;
    struct arena edited; /* recipes with doubled ports */
    struct truth truth;
    struct tip tip;
    struct source *source;
};

struct lanes {
    const struct lane_plan *plan;
    struct tee *tee;    /* reader 0 is the real simulation's, reader k + 1 lane k's */
    struct lane **lane; /* one an idealisation, one for all together if there are several, one a further core
                         */
    size_t n;
};

/* Anything to do at all? */
bool lane_plan__is_empty(const struct lane_plan *plan);

/*
 * Sets up the lanes of a plan, which stays with the caller. They read the program's `source`, whose
 * instructions belong to `isa` of `core`; the real simulation reads lanes__source.
 */
int lanes__init(struct lanes *lanes, const struct lane_plan *plan, const struct core *core,
                struct source *source, struct isa *isa, struct status *st);
void lanes__free(struct lanes *lanes);
struct source *lanes__source(struct lanes *lanes);

/* Asked after every batch of reports of a lane's pipeline, or of the real one: should it end now? */
typedef bool lanes_stop(void *arg, const struct pipe *pipe);
/*
 * Runs the real pipeline and the lanes, always the one that has read least. Returns what pipe__run did for
 * the real one, or -1 when any of them failed.
 */
int lanes__run(struct lanes *lanes, struct pipe *real, lanes_stop *stop, void *arg);

/* What the instructions of `code` did that retired in `tip`, which has seen a whole run. */
void lane__retired_work(const struct tip *tip, const struct code *code, struct retired_work *work);

/* The profile's `ideal` and `cores`, beside the accounts `real` and `work` of the real simulation. The
 * profile has its totals, its exact tree and its unknown forms. */
int lanes__report(struct lanes *lanes, const struct core *core, const struct truth *real,
                  const struct retired_work *work, struct profile *profile, struct status *st);

#endif
