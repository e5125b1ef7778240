/* SPDX-License-Identifier: Apache-2.0 */
/* A simulator of loops: one core, its instruction table and a pipeline, used for one loop after another. */
#ifndef FATHOM_LOOPSIM_H
#define FATHOM_LOOPSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/core.h"
#include "fathom/loop.h"
#include "fathom/pipe.h"

struct status;
struct loopsim;

enum loopsim_model { LOOPSIM_FULL, LOOPSIM_UFS }; /* UFS: the chapter's published rules (4.1, 8.7, 9.3) */

struct loopsim_options {
    uint64_t address; /* of the first byte; its offset in a 64-byte line matters */
    enum loop_registers registers;
    enum loopsim_model model;
    bool ideal_frontend;                               /* the uop queue is always full */
    struct listener *listener[PIPE_MAX_LISTENERS - 1]; /* get every report of the run, may be NULL */
    unsigned n_listeners;
    struct uop_listener *uops; /* get every retired uop, may be NULL */
    uint64_t max_cycles;       /* give up after; 0: 2,000,000 */
};

struct loop_figures {
    double cycles;        /* per iteration, steady state */
    double window_cycles; /* the average over a fixed window, TP-1 to TP-4, as published figures are taken */
    bool periodic;        /* exact: a recurring machine state was found */
    uint32_t period_iterations;
    uint64_t period_cycles; /* cycles = period_cycles / period_iterations when periodic */
    uint64_t simulated_cycles, simulated_iterations;
    bool unrolled;
    uint8_t source; /* enum fetch_source that delivered most laminated uops */
};

/* Keeps a copy of `core`. NULL and `st` on failure. One context per thread. */
struct loopsim *loopsim__open(const struct core *core, struct status *st);
void loopsim__close(struct loopsim *sim);
/* Another core for the next runs, with the instruction table and recipes of the first: a sweep's changed
 * parameters. */
void loopsim__set_core(struct loopsim *sim, const struct core *core);
const struct core *loopsim__core(const struct loopsim *sim);
struct isa *loopsim__isa(struct loopsim *sim);
/* Decodes and simulates a block until its throughput is known. -1 and `st` when the bytes are no
 * instructions or no iteration ended within max_cycles. */
int loopsim__run(struct loopsim *sim, const uint8_t *bytes, size_t size, const struct loopsim_options *opt,
                 struct loop_figures *out, struct status *st);
/* The block of the last run; valid until the next one. */
const struct loop *loopsim__loop(const struct loopsim *sim);

#endif
