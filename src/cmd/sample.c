/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution in instructions:
 *
 *   | head, all measured | period | period | ... | longer period | longer period | ... | still longer ...
 *                          each: functional warming, warm, window, rest; the place of the window in its
 *                          period is drawn, always in the same way
 */
#include "cmd/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fathom/account.h"
#include "fathom/core.h"
#include "fathom/pipe.h"
#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/strata.h"

enum {
    DEFAULT_PERIOD = 200000,
    DEFAULT_WINDOW = 1000,
    DEFAULT_WARM = 1000,
    SHORT_UNTIL = 2000000, /* up to this instruction and 10 periods they are shorter, */
    SHORT_PERIODS = 10,
    SHORT_DIVISOR = 16, /* by this */
    DOUBLE_AFTER = 200, /* periods; a longer program has enough windows without */
    FOURFOLD_AFTER = 1000,
    WINDOW_BATCH = 96,   /* cycles: how soon the end of a window is noticed */
    NEAR = 8000,         /* instructions before a window: enough to fill a uop cache several times */
    WARM_AT_ONCE = 8192, /* instructions: how soon the user is heard */
};
enum { HEAD, SHORT, LONG, DOUBLE, FOURFOLD, STRATA };

struct sampler {
    struct sample_plan plan;
    struct pipe *pipe;
    struct gate gate;
    struct account_set part[STRATA];
    struct stratum stratum[STRATA];
    struct strata_estimate estimate;
    sampler_stop *stop;
    void *stop_arg;
    uint64_t warmed;        /* instructions */
    uint64_t period_begin;  /* of the current one */
    uint64_t begin[STRATA]; /* of the first period; UINT64_MAX: not yet */
    bool stopped, ended, failed;
};

/* ---- the plan ---- */

static int parse_numbers(uint64_t *value[], unsigned n, const char *text, struct status *st)
{
    char *copy = strdup(text), *rest = copy, *part;
    unsigned k = 0;
    int rc = 0;

    while (rc == 0 && (part = strsep(&rest, ","))) {
        if (k == n)
            rc = status__fail_with(st, EXIT_CODE_USAGE, "--sample takes at most PERIOD,WINDOW,WARM, not '%s'",
                                   text);
        else if (!text__to_u64(part, value[k]) || (*value[k] == 0 && k < 2))
            rc = status__fail_with(
                st, EXIT_CODE_USAGE,
                "--sample needs numbers of instructions as PERIOD[,WINDOW[,WARM]], not '%s'", text);
        k++;
    }
    free(copy);
    return rc;
}

int sample__parse(struct sample_plan *plan, const char *text, struct status *st)
{
    uint64_t *value[] = {&plan->period, &plan->window, &plan->warm};
    const uint64_t most = UINT64_C(1) << 40;

    *plan = (struct sample_plan){DEFAULT_PERIOD, DEFAULT_WINDOW, DEFAULT_WARM, .grows = !text};
    if (text && parse_numbers(value, 3, text, st))
        return -1;
    if (plan->period > most || plan->window > most || plan->warm > most ||
        plan->window + plan->warm > plan->period)
        return status__fail_with(
            st, EXIT_CODE_USAGE,
            "--sample: a window of %llu instructions and %llu before it do not fit into a "
            "period of %llu; give a longer period, at most 2^40",
            (unsigned long long)plan->window, (unsigned long long)plan->warm,
            (unsigned long long)plan->period);
    return 0;
}

struct sampler *sampler__new(const struct sample_plan *plan, const struct core *core,
                             const struct account_set *set, struct status *st)
{
    struct sampler *s = calloc(1, sizeof *s);
    bool good = true;

    if (!s) {
        status__fail(st, "not enough memory for the accounts");
        return NULL;
    }
    s->plan = *plan;
    gate__init(&s->gate);
    for (unsigned k = 0; k < STRATA; k++) {
        account_set__init(&s->part[k], core);
        s->begin[k] = UINT64_MAX;
        good &= pmu__prepare_like(&s->part[k].pmu, &set->pmu);
    }
    s->stratum[HEAD].whole = true;
    if (good)
        return s;
    status__fail(st, "not enough memory for the counters");
    sampler__free(s);
    return NULL;
}

void sampler__free(struct sampler *s)
{
    if (!s)
        return;
    for (unsigned k = 0; k < STRATA; k++)
        account_set__free(&s->part[k]);
    free(s);
}

struct listener *sampler__listener(struct sampler *s)
{
    return &s->gate.listener;
}

/* ---- where windows are ---- */

static uint64_t position(const struct sampler *s)
{
    return s->warmed + pipe__instructions(s->pipe);
}

static unsigned stratum_here(const struct sampler *s)
{
    uint64_t at = s->period_begin, period = s->plan.period;

    if (at < SHORT_UNTIL || at < SHORT_PERIODS * period)
        return SHORT;
    if (!s->plan.grows || at < DOUBLE_AFTER * period)
        return LONG;
    return at < FOURFOLD_AFTER * period ? DOUBLE : FOURFOLD;
}

static uint64_t period_length(const struct sampler *s)
{
    uint64_t period = s->plan.period, least = 2 * (s->plan.window + s->plan.warm);
    uint64_t part = period / SHORT_DIVISOR;

    switch (stratum_here(s)) {
    case DOUBLE:
        return 2 * period;
    case FOURFOLD:
        return 4 * period;
    case LONG:
        return period;
    default:
        part = part < least ? least : part;
        return part < period ? part : period;
    }
}

/* A window that were at the same place of every period would meet a loop of that length in the same way
 * each time. Mixes the bits of a counter (splitmix64). */
static uint64_t draw(uint64_t number, uint64_t below)
{
    uint64_t x = number + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % below;
}

static uint64_t window_start(const struct sampler *s)
{
    uint64_t room = period_length(s) - s->plan.window - s->plan.warm;

    return s->period_begin + draw(s->period_begin, room + 1);
}

/* ---- running ---- */

static bool asked_to_stop(struct sampler *s)
{
    double insns = 0, cycles = 0;

    for (unsigned k = 0; k < STRATA; k++) {
        double weight = k == HEAD ? 1 : s->stratum[k].period;
        insns += weight * s->stratum[k].insns;
        cycles += weight * s->stratum[k].cycles;
    }
    s->stopped = s->stop(s->stop_arg, position(s), cycles > 0 ? insns / cycles : 0);
    return s->stopped;
}

static bool at_batch(void *arg)
{
    struct sampler *s = arg;

    return gate__is_measured(&s->gate) || asked_to_stop(s);
}

/* Simulates in detail and measures `count` instructions after `skip`, then drains. */
static void run_window(struct sampler *s, unsigned stratum, uint64_t skip, uint64_t count)
{
    int rc;

    gate__open(&s->gate, &s->part[stratum], skip, count);
    rc = pipe__run(s->pipe, UINT64_MAX, at_batch, s);
    if (rc == 0 && !s->stopped) {
        pipe__hold(s->pipe);
        rc = pipe__run(s->pipe, UINT64_MAX, NULL, NULL);
    } else {
        s->ended = rc == 1;
    }
    s->failed = rc < 0;
    if (s->gate.cycles)
        stratum__add(&s->stratum[stratum], s->gate.instructions, s->gate.cycles);
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Where the window before has ended behind that place there is nothing to warm. */
static void warm_until(struct sampler *s, uint64_t until, bool near)
{
    for (uint64_t at = position(s); at < until && !asked_to_stop(s); at = position(s)) {
        uint64_t want = less(until - at, WARM_AT_ONCE);
        int64_t got = pipe__warm(s->pipe, want, near);
        s->failed = got < 0;
        s->ended = got >= 0 && (uint64_t)got < want;
        s->warmed += got > 0 ? (uint64_t)got : 0;
        if (s->failed || s->ended)
            return;
    }
}

static bool is_over(const struct sampler *s)
{
    return s->stopped || s->ended || s->failed;
}

int sampler__run(struct sampler *s, struct pipe *pipe, sampler_stop *stop, void *arg)
{
    s->pipe = pipe;
    s->stop = stop;
    s->stop_arg = arg;
    run_window(s, HEAD, 0, s->plan.period);
    pipe__set_batch(pipe, WINDOW_BATCH);
    s->period_begin = s->gate.instructions;
    while (!is_over(s)) {
        unsigned k = stratum_here(s);
        if (s->begin[k] == UINT64_MAX)
            s->begin[k] = s->period_begin;
        s->stratum[k].period = (double)period_length(s);
        uint64_t start = window_start(s);
        warm_until(s, start - less(start, NEAR), false);
        if (!is_over(s))
            warm_until(s, start, true);
        if (is_over(s))
            break;
        pipe__resume(pipe);
        run_window(s, k, s->plan.warm, s->plan.window);
        s->period_begin += period_length(s);
    }
    return s->failed ? -1 : s->ended ? 1 : 0;
}

/* ---- the estimate ---- */

void sampler__estimate(struct sampler *s, struct account_set *set)
{
    uint64_t all = position(s), end = all;

    for (unsigned k = STRATA - 1; k > HEAD; k--) {
        uint64_t begin = less(s->begin[k], end);
        s->stratum[k].instructions = end - begin;
        end = begin;
    }
    s->stratum[HEAD].instructions = end;
    strata__estimate(s->stratum, STRATA, &s->estimate);
    account_set__blend(set, s->part, s->estimate.scale, STRATA, (uint64_t)(s->estimate.cycles + 0.5), all);
}

static uint64_t sampled_instructions(const struct sampler *s)
{
    uint64_t sum = 0;

    for (unsigned k = SHORT; k < STRATA; k++)
        sum += s->stratum[k].instructions;
    return sum;
}

/* Was any of it not measured? */
static bool is_estimate(const struct sampler *s)
{
    return sampled_instructions(s) != 0;
}

/* "exact" holds for the windows only. */
static void relabel(struct profile_tree *tree)
{
    for (size_t i = 0; i < tree->n_nodes; i++) {
        char *source = text__printf("%s, sampled", tree->node[i].source);
        free(tree->node[i].source);
        tree->node[i].source = source;
    }
}

static char *describe(const struct sampler *s, const struct profile_sample *sample)
{
    unsigned factor = s->begin[FOURFOLD] != UINT64_MAX ? 4 : s->begin[DOUBLE] != UINT64_MAX ? 2 : 1;
    char to[32] = "";

    if (factor > 1)
        snprintf(to, sizeof to, " to %llu", (unsigned long long)(factor * sample->period));
    return text__printf("simulated, sampled: %llu windows of %llu instructions every %llu%s",
                        (unsigned long long)sample->windows, (unsigned long long)sample->window,
                        (unsigned long long)sample->period, to);
}

void sampler__report(const struct sampler *s, struct profile *profile)
{
    const struct stratum *head = &s->stratum[HEAD];
    struct profile_sample *out = profile->sample = calloc(1, sizeof *out);
    double n = (double)profile->instructions;

    if (!out)
        return;
    out->period = s->plan.period;
    out->window = s->plan.window;
    out->warm = s->plan.warm;
    out->head = (uint64_t)head->insns;
    out->measured = out->head;
    for (unsigned k = SHORT; k < STRATA; k++) {
        out->windows += s->stratum[k].n;
        out->measured += (uint64_t)s->stratum[k].insns;
    }
    out->cpi_low = fmax(s->estimate.cycles - s->estimate.error, 0) / n;
    out->cpi_high = (s->estimate.cycles + s->estimate.error) / n;
    if (isnan(s->estimate.error))
        out->cpi_low = out->cpi_high = (double)NAN;
    for (size_t i = 0; i < profile->n_trees && is_estimate(s); i++)
        relabel(&profile->tree[i]);
    free(profile->source);
    profile->source = is_estimate(s) ? describe(s, out)
                                     : text__printf("simulated in full, as it is shorter than one --sample "
                                                    "period of %llu instructions",
                                                    (unsigned long long)out->period);
}
