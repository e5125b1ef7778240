/* SPDX-License-Identifier: Apache-2.0 */
/* Steady-state throughput of a loop, PIPELINE.md section 10. */
#include "fathom/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ended(struct steady *s, unsigned position)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->iteration = realloc(s->iteration, s->cap * sizeof *s->iteration);
        if (!s->iteration)
            abort();
    }
    s->iteration[s->n++] = (struct steady_iteration){.cycle = s->now, .position = position};
    s->partial = false;
}

static void retired(struct steady *s, const struct cycle_report *r)
{
    for (unsigned k = 0; k < r->retired; k++) {
        bool pair = r->retired_pair >> k & 1, whole = r->retired_high >> k & 1;
        s->partial = true;
        if (whole && (r->retired_site[k] == s->last_site || (pair && r->retired_site[k] + 1 == s->last_site)))
            ended(s, k);
    }
}

static void consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct steady *s = (struct steady *)self;
    for (unsigned i = 0; i < n && !s->done; i++) {
        retired(s, &reports[i]);
        s->delivered[FETCH_MS] += reports[i].delivered_ms;
        s->delivered[reports[i].source] += (uint64_t)(reports[i].delivered - reports[i].delivered_ms);
        s->now += reports[i].cycles;
        s->done = s->now > STEADY_MIN_CYCLES + 1 && s->n + s->partial > STEADY_MIN_ITERATIONS;
    }
}

void steady__init(struct steady *s, uint32_t n_insns)
{
    memset(s, 0, sizeof *s);
    s->listener.consume = consume;
    s->last_site = n_insns - 1;
}

void steady__reset(struct steady *s, uint32_t n_insns)
{
    struct steady_iteration *iteration = s->iteration;
    size_t cap = s->cap;
    steady__init(s, n_insns);
    s->iteration = iteration;
    s->cap = cap;
}

void steady__free(struct steady *s)
{
    free(s->iteration);
}

double steady__cycles(const struct steady *s)
{
    const struct steady_iteration *it = s->iteration;
    size_t n = s->n + s->partial;
    if (!s->n)
        return NAN;
    size_t last = n >= 2 ? n - 2 : 0, first = n / 2 < last ? n / 2 : last;
    if (last >= s->n)
        last = s->n - 1;
    if (first == last)
        return (double)it[first].cycle;
    if (last - first > 10)
        for (size_t j = last; j + 5 > last; j--)
            if (it[j].position == it[first].position) {
                last = j;
                break;
            }
    return (double)(it[last].cycle - it[first].cycle) / (double)(last - first);
}

static bool repeats(const struct steady_iteration *it, size_t from, size_t n, size_t period)
{
    int64_t cycles = it[n - 1].cycle - it[n - 1 - period].cycle;
    for (size_t i = from + period; i < n; i++)
        if (it[i].cycle - it[i - period].cycle != cycles || it[i].position != it[i - period].position)
            return false;
    return true;
}

bool steady__period(const struct steady *s, uint32_t *iterations, uint64_t *cycles)
{
    size_t from = s->n / 2, span = s->n - from;
    for (size_t period = 1; period * 3 <= span; period++)
        if (repeats(s->iteration, from, s->n, period)) {
            *iterations = (uint32_t)period;
            *cycles = (uint64_t)(s->iteration[s->n - 1].cycle - s->iteration[s->n - 1 - period].cycle);
            return true;
        }
    return false;
}

uint8_t steady__source(const struct steady *s)
{
    uint8_t best = FETCH_MITE;
    for (uint8_t k = FETCH_DSB; k <= FETCH_MS; k++)
        if (s->delivered[k] > s->delivered[best])
            best = k;
    return best;
}
