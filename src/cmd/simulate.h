/* SPDX-License-Identifier: Apache-2.0 */
/* The whole road for a program: tracer, pipeline, accounts, trees, profile. */
#ifndef FATHOM_CMD_SIMULATE_H
#define FATHOM_CMD_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/lane.h"
#include "cmd/sample.h"
#include "fathom/core.h"

struct profile;
struct status;

struct simulate_options {
    char *const *argv;
    struct core core;
    uint64_t max_instructions; /* stop after about as many; 0: run to the end */
    unsigned counters;         /* of a multiplexed PMU beside the unlimited one; 0: none */
    uint32_t turn_cycles;      /* of its groups of events */
    bool stages;               /* the stacks of stages too */
    const char *metrics;       /* a metric file of the user, evaluated too; may be NULL */
    struct lane_plan beside;   /* simulated besides; may be empty */
    unsigned n_copies;         /* of the program on as many cores; 0: one core; excludes `beside` */
    struct sample_plan sample; /* of windows only; period 0: everything in detail, as with `beside` */
    bool quiet;                /* no progress line */
};

/*
 * Runs the program and returns its profile (owned by the caller), also when it crashed or was
 * interrupted: then profile->complete is false. NULL and a status when nothing was simulated.
 */
struct profile *simulate__program(const struct simulate_options *opt, struct status *st);

#endif
