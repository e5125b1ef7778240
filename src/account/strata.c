/* SPDX-License-Identifier: Apache-2.0 */
#include "fathom/strata.h"

#include <math.h>
#include <string.h>

void stratum__add(struct stratum *s, uint64_t instructions, uint64_t cycles)
{
    double u = (double)instructions, c = (double)cycles;

    s->n++;
    s->insns += u;
    s->cycles += c;
    s->insns2 += u * u;
    s->cycles2 += c * c;
    s->product += u * c;
}

/* Student's t, 99.73 %: JCGM 100:2008 (GUM), table G.2. Between two entries the larger quantile. */
double strata__three_sigma(unsigned freedom)
{
    static const struct {
        unsigned freedom;
        double t;
    } table[] = {
        {1, 235.80}, {2, 19.21}, {3, 9.22},  {4, 6.62},  {5, 5.51},  {6, 4.90},    {7, 4.53},
        {8, 4.28},   {9, 4.09},  {10, 3.96}, {11, 3.85}, {12, 3.76}, {13, 3.69},   {14, 3.64},
        {15, 3.59},  {16, 3.54}, {17, 3.51}, {18, 3.48}, {19, 3.45}, {20, 3.42},   {25, 3.33},
        {30, 3.27},  {35, 3.23}, {40, 3.20}, {45, 3.18}, {50, 3.16}, {100, 3.077}, {1000, 3.0},
    };
    double t = table[0].t;

    for (unsigned k = 0; k < sizeof table / sizeof *table && table[k].freedom <= freedom; k++)
        t = table[k].t;
    return t;
}

/* Strata that are estimated together. */
struct group {
    unsigned first, end;
    uint64_t n;
    double instructions, insns, cycles; /* the latter two weighted */
};

static bool is_sampled(const struct stratum *s)
{
    return !s->whole && (s->instructions != 0 || s->n != 0);
}

static struct group group__of(const struct stratum *strata, unsigned first, unsigned end)
{
    struct group g = {.first = first, .end = end};

    for (unsigned k = first; k < end; k++) {
        const struct stratum *s = &strata[k];
        if (!is_sampled(s))
            continue;
        g.n += s->n;
        g.instructions += (double)s->instructions;
        g.insns += s->period * s->insns;
        g.cycles += s->period * s->cycles;
    }
    return g;
}

/* Variance of the group's cycles: residuals of the windows from the ratio, each weighted. */
static double group__variance(const struct group *g, const struct stratum *strata)
{
    double ratio = g->cycles / g->insns, sum = 0, n = (double)g->n;

    for (unsigned k = g->first; k < g->end; k++) {
        const struct stratum *s = &strata[k];
        if (!is_sampled(s))
            continue;
        double residual = s->cycles2 - 2 * ratio * s->product + ratio * ratio * s->insns2;
        sum += s->period * s->period * (residual > 0 ? residual : 0);
    }
    double scale = g->instructions / g->insns;
    return sum * scale * scale * n / (n - 1);
}

/* The strata from `first` on that go together: until there are two windows, and what follows with fewer. */
static struct group group__next(const struct stratum *strata, unsigned n, unsigned first)
{
    unsigned end = first + 1;

    while (end < n && (group__of(strata, first, end).n < 2 || strata[end].n < 2))
        end++;
    return group__of(strata, first, end);
}

/* What no window was measured of is taken to be like the part measured as a whole. */
static void estimate_unseen(const struct stratum *strata, unsigned n, double instructions,
                            struct strata_estimate *e)
{
    double insns = 0, cycles = 0;

    for (unsigned k = 0; k < n; k++) {
        insns += strata[k].insns;
        cycles += strata[k].cycles;
    }
    for (unsigned k = 0; k < n && insns > 0; k++)
        e->scale[k] += instructions / insns;
    e->cycles += insns > 0 ? cycles * instructions / insns : 0;
    e->error = NAN;
}

void strata__estimate(const struct stratum *strata, unsigned n, struct strata_estimate *e)
{
    double variance = 0;
    uint64_t windows = 0;
    unsigned groups = 0;

    memset(e, 0, sizeof *e);
    for (unsigned k = 0; k < n; k++) {
        if (!strata[k].whole)
            continue;
        e->cycles += strata[k].cycles;
        e->scale[k] = 1;
    }
    for (unsigned k = 0; k < n;) {
        if (!is_sampled(&strata[k])) {
            k++;
            continue;
        }
        struct group g = group__next(strata, n, k);
        k = g.end;
        if (g.insns <= 0) {
            estimate_unseen(strata, n, g.instructions, e);
            continue;
        }
        groups++;
        windows += g.n;
        e->cycles += g.cycles * g.instructions / g.insns;
        variance += g.n < 2 ? (double)NAN : group__variance(&g, strata);
        for (unsigned i = g.first; i < g.end; i++)
            if (is_sampled(&strata[i]))
                e->scale[i] = strata[i].period * g.instructions / g.insns;
    }
    e->freedom = windows > groups ? (unsigned)(windows - groups) : 0;
    if (!isnan(e->error))
        e->error = variance > 0 || isnan(variance) ? strata__three_sigma(e->freedom) * sqrt(variance) : 0;
}
