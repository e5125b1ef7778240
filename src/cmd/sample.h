/* SPDX-License-Identifier: Apache-2.0 */
/* fathom run --sample: detailed simulation in windows, functional warming between them (docs/sample.md). */
#ifndef FATHOM_CMD_SAMPLE_H
#define FATHOM_CMD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct account_set;
struct core;
struct listener;
struct pipe;
struct profile;
struct status;
struct sampler;

/* Instructions. */
struct sample_plan {
    uint64_t period; /* 0: no sampling */
    uint64_t window; /* measured */
    uint64_t warm;   /* simulated in detail before that and not measured */
    bool grows;      /* longer periods in long programs */
};
/* "PERIOD[,WINDOW[,WARM]]" in instructions, NULL for the defaults, with which periods grow. Fails with exit
 * code 2. */
int sample__parse(struct sample_plan *plan, const char *text, struct status *st);

/* Keeps accounts like `set`, which has been initialised and prepared; it is only looked at. NULL: no memory.
 */
struct sampler *sampler__new(const struct sample_plan *plan, const struct core *core,
                             const struct account_set *set, struct status *st);
void sampler__free(struct sampler *s);
struct listener *sampler__listener(struct sampler *s);

/* Asked every few microseconds of simulation; true ends it. `ipc` is that of the windows so far. */
typedef bool sampler_stop(void *arg, uint64_t instructions, double ipc);
/* The whole execution through `pipe`, which reports to sampler__listener alone: 1 when the source has ended,
 * 0 when stopped, -1 when the source failed. */
int sampler__run(struct sampler *s, struct pipe *pipe, sampler_stop *stop, void *arg);

/* Estimates the whole in `set`, that of sampler__new. */
void sampler__estimate(struct sampler *s, struct account_set *set);
/* The profile's `source` and `sample`, and where its trees are from; after sampler__estimate, when the totals
 * and trees are there. */
void sampler__report(const struct sampler *s, struct profile *profile);

#endif
