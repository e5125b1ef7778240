/* SPDX-License-Identifier: Apache-2.0 */
#include "fathom/loopsim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"
#include "fathom/steady.h"

enum { DEFAULT_MAX_CYCLES = 2000000, STEP_CYCLES = 64 };

struct loopsim {
    struct core core;
    struct isa *isa;
    struct loop *loop;
    struct pipe *pipe;
    struct steady steady;
};

struct loopsim *loopsim__open(const struct core *core, struct status *st)
{
    struct loopsim *sim = calloc(1, sizeof *sim);
    if (!sim) {
        status__fail(st, "not enough memory for a loop simulator");
        return NULL;
    }
    sim->core = *core;
    if (!(sim->isa = isa__open(&sim->core, st))) {
        free(sim);
        return NULL;
    }
    return sim;
}

void loopsim__close(struct loopsim *sim)
{
    if (!sim)
        return;
    pipe__free(sim->pipe);
    loop__free(sim->loop);
    steady__free(&sim->steady);
    isa__close(sim->isa);
    free(sim);
}

void loopsim__set_core(struct loopsim *sim, const struct core *core)
{
    if (core->dsb_ways != sim->core.dsb_ways) { /* sizes the pipe */
        pipe__free(sim->pipe);
        sim->pipe = NULL;
    }
    sim->core = *core;
}

const struct core *loopsim__core(const struct loopsim *sim)
{
    return &sim->core;
}

struct isa *loopsim__isa(struct loopsim *sim)
{
    return sim->isa;
}

const struct loop *loopsim__loop(const struct loopsim *sim)
{
    return sim->loop;
}

static int prepare(struct loopsim *sim, const uint8_t *bytes, size_t size, const struct loopsim_options *opt,
                   struct status *st)
{
    struct loop_options lo = {.isa = sim->isa, .address = opt->address, .registers = opt->registers};
    loop__free(sim->loop);
    if (!(sim->loop = loop__new(bytes, size, &lo, st)))
        return -1;
    steady__reset(&sim->steady, (uint32_t)loop__count(sim->loop));
    struct pipe_config pc = {.core = &sim->core,
                             .isa = sim->isa,
                             .source = loop__source(sim->loop),
                             .listener = {&sim->steady.listener},
                             .n_listeners = 1 + opt->n_listeners,
                             .uops = opt->uops,
                             .unrolled = loop__unrolled(sim->loop),
                             .ufs = opt->model == LOOPSIM_UFS,
                             .ideal_frontend = opt->ideal_frontend,
                             .endless = true};
    memcpy(pc.listener + 1, opt->listener, opt->n_listeners * sizeof *opt->listener);
    if (sim->pipe) {
        pipe__reset(sim->pipe, &pc);
        return 0;
    }
    return (sim->pipe = pipe__new(&pc, st)) ? 0 : -1;
}

int loopsim__run(struct loopsim *sim, const uint8_t *bytes, size_t size, const struct loopsim_options *opt,
                 struct loop_figures *out, struct status *st)
{
    uint64_t max = opt->max_cycles ? opt->max_cycles : DEFAULT_MAX_CYCLES;
    if (prepare(sim, bytes, size, opt, st))
        return -1;
    pipe__run(sim->pipe, STEADY_MIN_CYCLES + 2, NULL, NULL);
    while (!sim->steady.done && pipe__cycles(sim->pipe) < max)
        pipe__run(sim->pipe, STEP_CYCLES, NULL, NULL);
    *out = (struct loop_figures){
        .cycles = steady__cycles(&sim->steady),
        .simulated_cycles = pipe__cycles(sim->pipe),
        .simulated_iterations = sim->steady.n,
        .unrolled = loop__unrolled(sim->loop),
        .source = steady__source(&sim->steady),
    };
    out->window_cycles = out->cycles;
    out->periodic = steady__period(&sim->steady, &out->period_iterations, &out->period_cycles);
    if (out->periodic)
        out->cycles = (double)out->period_cycles / out->period_iterations;
    if (isnan(out->cycles))
        return status__fail(st, "no iteration ended within %llu simulated cycles",
                            (unsigned long long)pipe__cycles(sim->pipe));
    return 0;
}
