/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts of parts of an execution as those of the whole. A figure of the whole is the scaled sum of the
 * parts' figures, a fraction. Figures that must add up to a whole number are rounded together: figure i
 * becomes the difference of the rounded sums up to i and up to i - 1, so that their sum is exact and each is
 * off by less than one.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/account.h"
#include "fathom/core.h"

/* Rounds figures one after the other so that they add up to `total`; `sum` is their unrounded sum. */
struct apportion {
    long double sum, seen;
    uint64_t total, given;
};

static uint64_t apportion__next(struct apportion *a, long double value)
{
    uint64_t upto;

    a->seen += value;
    upto = a->sum > 0 ? (uint64_t)(a->seen / a->sum * (long double)a->total + 0.5L) : 0;
    upto = upto < a->given ? a->given : upto > a->total ? a->total : upto;
    uint64_t own = upto - a->given;
    a->given = upto;
    return own;
}

/* value[0..n) as whole numbers that add up to `total`. What is left when all values are 0, or by a last
 * rounding error, goes to the largest. */
static void apportion__all(const long double *value, uint64_t *out, size_t n, uint64_t total)
{
    struct apportion a = {.total = total};
    size_t largest = 0;

    for (size_t i = 0; i < n; i++) {
        a.sum += value[i];
        largest = value[i] > value[largest] ? i : largest;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = apportion__next(&a, value[i]);
    out[largest] += total - a.given;
}

/* ---- truth ---- */

enum { CELL_FLUSHES = 3, CELL_STALLS = CELL_FLUSHES + FLUSH_KINDS, CELLS = CELL_STALLS + 2 * STALL_COUNT };

/* Every slot of the truth is in exactly one cell. */
static void truth__cells(const struct truth *t, uint64_t cell[CELLS])
{
    cell[0] = t->retired - t->retired_ms;
    cell[1] = t->retired_ms;
    cell[2] = t->in_flight;
    memcpy(&cell[CELL_FLUSHES], t->squashed, sizeof t->squashed);
    for (unsigned s = 0; s < STALL_COUNT; s++) {
        cell[CELL_STALLS + 2 * s] = t->empty[s] - t->empty_latency[s];
        cell[CELL_STALLS + 2 * s + 1] = t->empty_latency[s];
    }
}

/* Of the recovery slots of the whole, those after flushes of each kind. */
static void truth__blend_blocked(struct truth *whole, const struct account_set *part, const double *scale,
                                 unsigned n, bool clear, uint64_t total)
{
    long double value[FLUSH_KINDS] = {0};
    uint64_t blocked[FLUSH_KINDS];

    for (unsigned k = 0; k < n; k++)
        for (unsigned f = FLUSH_NONE + 1; f < FLUSH_KINDS; f++)
            if (FLUSH_IS_CLEAR(f) == clear)
                value[f] += (long double)part[k].truth.blocked[f] * scale[k];
    apportion__all(value, blocked, FLUSH_KINDS, total);
    for (unsigned f = 0; f < FLUSH_KINDS; f++)
        whole->blocked[f] += blocked[f];
}

static void truth__blend(struct account_set *whole, const struct account_set *part, const double *scale,
                         unsigned n, uint64_t cycles)
{
    struct truth *t = &whole->truth;
    long double value[CELLS] = {0};
    uint64_t cell[CELLS];

    for (unsigned k = 0; k < n; k++) {
        truth__cells(&part[k].truth, cell);
        for (unsigned i = 0; i < CELLS; i++)
            value[i] += (long double)cell[i] * scale[k];
    }
    t->cycles = cycles;
    t->slots = cycles * t->width;
    apportion__all(value, cell, CELLS, t->slots);
    t->retired = cell[0] + cell[1];
    t->retired_ms = cell[1];
    t->in_flight = cell[2];
    memcpy(t->squashed, &cell[CELL_FLUSHES], sizeof t->squashed);
    for (unsigned s = 0; s < STALL_COUNT; s++) {
        t->empty_latency[s] = cell[CELL_STALLS + 2 * s + 1];
        t->empty[s] = cell[CELL_STALLS + 2 * s] + t->empty_latency[s];
    }
    truth__blend_blocked(t, part, scale, n, false, t->empty[STALL_RECOVERY_MISPREDICT]);
    truth__blend_blocked(t, part, scale, n, true, t->empty[STALL_RECOVERY_CLEAR]);
}

/* ---- places ---- */

/* Slots of the truth by the class that places have, without those of the microcode sequencer. */
static void truth__classes(const struct truth *t, uint64_t slots[PLACE_SLOTS])
{
    memset(slots, 0, PLACE_SLOTS * sizeof *slots);
    slots[PLACE_RETIRING] = t->retired - t->retired_ms;
    for (unsigned f = 0; f < FLUSH_KINDS; f++)
        slots[PLACE_BAD_SPECULATION] += t->squashed[f];
    for (unsigned s = 0; s < STALL_COUNT; s++)
        slots[STALL_IS_RECOVERY(s)   ? PLACE_BAD_SPECULATION
              : STALL_IS_FRONTEND(s) ? PLACE_FRONTEND
              : STALL_IS_MEMORY(s)   ? PLACE_BACKEND_MEMORY
                                     : PLACE_BACKEND_CORE] += t->empty[s];
}

/* What is rounded together over all sites: slots by class (retiring: without microcode), and these. */
enum { COLUMN_CYCLES = PLACE_SLOTS, COLUMN_INSNS, COLUMN_MS, COLUMNS };

static uint64_t tip__figure(const struct tip *tip, size_t site, unsigned column)
{
    const struct site_weight *w = &tip->site[site];

    switch (column) {
    case COLUMN_CYCLES:
        return w->cycles_tip;
    case COLUMN_INSNS:
        return w->insns;
    case COLUMN_MS:
        return tip->special[site].ms;
    case PLACE_RETIRING:
        return w->slots[PLACE_RETIRING] - tip->special[site].ms;
    default:
        return w->slots[column];
    }
}

static long double tip__column(const struct account_set *part, const double *scale, unsigned n, size_t site,
                               unsigned column)
{
    long double value = 0;

    for (unsigned k = 0; k < n; k++)
        if (site < part[k].tip.n_sites)
            value += (long double)tip__figure(&part[k].tip, site, column) * scale[k];
    return value;
}

/* What belongs to no site of it. */
static uint64_t *tip__unplaced(struct tip *tip, unsigned column)
{
    return column == COLUMN_CYCLES ? &tip->cycles_tip_unplaced
           : column < PLACE_SLOTS  ? &tip->slots_unplaced[column]
                                   : NULL;
}

static void tip__blend_column(struct tip *tip, struct account_set *part, const double *scale, unsigned n,
                              unsigned column, uint64_t total)
{
    struct apportion a = {.total = total};
    uint64_t *unplaced = tip__unplaced(tip, column);
    long double lost = 0;

    for (unsigned k = 0; unplaced && k < n; k++)
        lost += (long double)*tip__unplaced(&part[k].tip, column) * scale[k];
    a.sum = lost;
    for (size_t i = 0; i < tip->n_sites; i++)
        a.sum += tip__column(part, scale, n, i, column);
    if (unplaced)
        *unplaced = apportion__next(&a, lost);
    for (size_t i = 0; i < tip->n_sites; i++) {
        struct site_weight *w = &tip->site[i];
        uint64_t own = apportion__next(&a, tip__column(part, scale, n, i, column));
        if (column == COLUMN_CYCLES)
            w->cycles_tip = own;
        else if (column == COLUMN_INSNS)
            w->insns = own;
        else
            w->slots[column == COLUMN_MS ? PLACE_RETIRING : column] += own;
        if (column == COLUMN_MS)
            tip->special[i].ms = own;
    }
    if (column != COLUMN_INSNS) /* of no site at all, or lost to rounding */
        *(unplaced ? unplaced : &tip->slots_unplaced[PLACE_RETIRING]) += total - a.given;
}

/* Macro-fused pairs are some of what retired without microcode. */
static void tip__blend_pairs(struct tip *tip, const struct account_set *part, const double *scale, unsigned n)
{
    for (size_t i = 0; i < tip->n_sites; i++) {
        uint64_t most = tip->site[i].slots[PLACE_RETIRING] - tip->special[i].ms, pairs;
        long double value = 0;

        for (unsigned k = 0; k < n; k++)
            if (i < part[k].tip.n_sites)
                value += (long double)part[k].tip.special[i].pairs * scale[k];
        pairs = (uint64_t)(value + 0.5L);
        tip->special[i].pairs = pairs < most ? pairs : most;
    }
}

static void tip__blend(struct account_set *whole, struct account_set *part, const double *scale, unsigned n,
                       uint64_t instructions)
{
    struct tip *tip = &whole->tip;
    uint64_t total[COLUMNS];
    size_t n_sites = 0;

    for (unsigned k = 0; k < n; k++)
        n_sites = part[k].tip.n_sites > n_sites ? part[k].tip.n_sites : n_sites;
    tip->site = calloc(n_sites + 1, sizeof *tip->site);
    tip->special = calloc(n_sites + 1, sizeof *tip->special);
    tip->n_sites = tip->cap_sites =
        tip->site && tip->special ? n_sites : 0; /* without memory all is unplaced */
    truth__classes(&whole->truth, total);
    total[COLUMN_CYCLES] = whole->truth.cycles * TIP_UNIT;
    total[COLUMN_INSNS] = instructions;
    total[COLUMN_MS] = whole->truth.retired_ms;
    for (unsigned column = 0; column < COLUMNS; column++)
        tip__blend_column(tip, part, scale, n, column, total[column]);
    tip__blend_pairs(tip, part, scale, n);
}

/* ---- counters and stack ---- */

static uint64_t rounded(long double value)
{
    return (uint64_t)(value + 0.5L);
}

static void pmu__blend_edges(struct pmu *pmu, const struct account_set *part, const double *scale, unsigned n)
{
    for (size_t i = 0; i < pmu->n_edges; i++) {
        long double count = 0;

        for (unsigned k = 0; k < n; k++) {
            assert(part[k].pmu.n_edges == pmu->n_edges);
            count += (long double)part[k].pmu.edge[i].count * scale[k];
        }
        pmu->edge[i].count = rounded(count);
    }
}

static void pmu__blend(struct account_set *whole, const struct account_set *part, const double *scale,
                       unsigned n, uint64_t instructions)
{
    struct pmu *pmu = &whole->pmu;
    const struct truth *truth = &whole->truth;

    for (unsigned e = 0; e < PMU_EVENTS; e++) {
        long double bin[PMU_HISTOGRAM] = {0}, sum = 0;

        for (unsigned k = 0; k < n; k++) {
            sum += (long double)part[k].pmu.sum[e] * scale[k];
            for (unsigned b = 0; b < PMU_HISTOGRAM; b++)
                bin[b] += (long double)part[k].pmu.cycles_with[e][b] * scale[k];
        }
        pmu->sum[e] = rounded(sum);
        apportion__all(bin, pmu->cycles_with[e], PMU_HISTOGRAM, truth->cycles);
    }
    pmu__blend_edges(pmu, part, scale, n);
    pmu->sum[PMU_CYCLES] = truth->cycles;
    pmu->sum[PMU_TOTAL_SLOTS] = truth->slots;
    pmu->sum[PMU_INSTRUCTIONS] = instructions;
}

static void stack__blend(struct account_set *whole, const struct account_set *part, const double *scale,
                         unsigned n)
{
    long double value[WAIT_COUNT] = {0};

    for (unsigned k = 0; k < n; k++)
        for (unsigned w = 0; w < WAIT_COUNT; w++)
            value[w] += (long double)part[k].stack.cycles[w] * scale[k];
    apportion__all(value, whole->stack.cycles, WAIT_COUNT, whole->truth.cycles);
}

void account_set__init(struct account_set *set, const struct core *core)
{
    truth__init(&set->truth, core);
    tip__init(&set->tip, core);
    pmu__init(&set->pmu, core);
    cpi_stack__init(&set->stack);
}

void account_set__free(struct account_set *set)
{
    tip__free(&set->tip);
    pmu__free(&set->pmu);
}

void account_set__blend(struct account_set *whole, struct account_set *part, const double *scale, unsigned n,
                        uint64_t cycles, uint64_t instructions)
{
    truth__blend(whole, part, scale, n, cycles);
    tip__blend(whole, part, scale, n, instructions);
    pmu__blend(whole, part, scale, n, instructions);
    stack__blend(whole, part, scale, n);
}
