/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time multiplexing of few counters, as perf does it: one group of events counts at a time. Invariant, after
 * pmu_mux__finish: the enabled cycles of all groups sum up to the cycles of the run.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/account.h"

static bool query__is_same(const struct pmu_query *a, const struct pmu_query *b)
{
    return a->event == b->event && a->cmask == b->cmask && a->mask == b->mask && a->edge == b->edge;
}

/* Fixed counters: cycles, and so slots; instructions. */
static bool query__is_fixed(const struct pmu_query *q)
{
    return (q->event == PMU_CYCLES || q->event == PMU_TOTAL_SLOTS || q->event == PMU_INSTRUCTIONS) &&
           q->mask == PMU_MASK_NONE && !q->edge;
}

/* --- groups ----------------------------------------------------------------------------------- */

static struct pmu_mux_event *group__find(const struct pmu_mux_group *g, const struct pmu_query *q)
{
    for (size_t i = 0; i < g->n_events; i++)
        if (query__is_same(&g->event[i].query, q))
            return &g->event[i];
    return NULL;
}

/* General counters that the group needs more when these events come in; UINT_MAX: they do not fit. */
static unsigned group__more(const struct pmu_mux_group *g, const struct pmu_mux_use *use, size_t n,
                            unsigned counters)
{
    unsigned more = 0;

    for (size_t i = 0; i < n; i++)
        more += !query__is_fixed(&use[i].query) && !group__find(g, &use[i].query);
    return g->n_counters + more <= counters ? more : (unsigned)-1;
}

static bool group__add(struct pmu_mux_group *g, const struct pmu_query *q)
{
    struct pmu_mux_event *grown;

    if (group__find(g, q))
        return true;
    grown = realloc(g->event, (g->n_events + 1) * sizeof *grown);
    if (!grown)
        return false;
    g->event = grown;
    g->event[g->n_events++] = (struct pmu_mux_event){.query = *q};
    g->n_counters += !query__is_fixed(q);
    return true;
}

/* The group for events that fit one: one that has them all, else the first with room, else a new one. -1: out
 * of memory. */
static int mux__place(struct pmu_mux *mux, const struct pmu_mux_use *use, size_t n)
{
    struct pmu_mux_group *grown;
    int room = -1;

    for (size_t g = 0; g < mux->n_groups; g++) {
        unsigned more = group__more(&mux->group[g], use, n, mux->counters);

        if (more == 0)
            return (int)g;
        if (more != (unsigned)-1 && room < 0)
            room = (int)g;
    }
    if (room >= 0)
        return room;
    grown = realloc(mux->group, (mux->n_groups + 1) * sizeof *grown);
    if (!grown)
        return -1;
    mux->group = grown;
    mux->group[mux->n_groups] = (struct pmu_mux_group){0};
    return (int)mux->n_groups++;
}

/* --- setting up ------------------------------------------------------------------------------- */

static void mux__consume(struct listener *self, const struct cycle_report *reports, unsigned n);

void pmu_mux__init(struct pmu_mux *mux, const struct core *core, unsigned counters, uint32_t turn_cycles)
{
    assert(counters >= 1 && counters <= PMU_MUX_MAX_COUNTERS && turn_cycles >= 1);
    memset(mux, 0, sizeof *mux);
    pmu__init(&mux->pmu, core);
    mux->listener.consume = mux__consume;
    mux->counters = counters;
    mux->turn_cycles = turn_cycles;
}

void pmu_mux__free(struct pmu_mux *mux)
{
    for (size_t g = 0; g < mux->n_groups; g++)
        free(mux->group[g].event);
    free(mux->group);
    free(mux->use);
    pmu__free(&mux->pmu);
    mux->group = NULL;
    mux->use = NULL;
    mux->n_groups = mux->n_uses = 0;
}

bool pmu_mux__add(struct pmu_mux *mux, size_t metric, const char *name)
{
    struct pmu_mux_use use = {.metric = metric};
    double constant;

    assert(mux->n_uses == 0 || mux->use[mux->n_uses - 1].metric <= metric);
    if (pmu__constant(&mux->pmu, name, &constant) || !pmu__find(&mux->pmu, name, &use.query))
        return true;
    if (!pmu__prepare(&mux->pmu, name))
        return false;
    for (size_t i = mux->n_uses; i-- > 0 && mux->use[i].metric == metric;)
        if (query__is_same(&mux->use[i].query, &use.query))
            return true;
    if (mux->n_uses == mux->cap_uses) {
        size_t cap = mux->cap_uses ? 2 * mux->cap_uses : 64;
        struct pmu_mux_use *grown = realloc(mux->use, cap * sizeof *grown);

        if (!grown)
            return false;
        mux->use = grown;
        mux->cap_uses = cap;
    }
    mux->use[mux->n_uses++] = use;
    return true;
}

/* The first events of [use, end) that fit one group together. */
static size_t mux__fitting(const struct pmu_mux *mux, const struct pmu_mux_use *use,
                           const struct pmu_mux_use *end)
{
    unsigned needed = 0;
    size_t n = 0;

    for (; use + n < end; n++) {
        needed += !query__is_fixed(&use[n].query);
        if (needed > mux->counters)
            break;
    }
    return n;
}

bool pmu_mux__pack(struct pmu_mux *mux)
{
    struct pmu_mux_use *use = mux->use, *end = use + mux->n_uses;

    while (use < end) {
        const struct pmu_mux_use *next = use;
        size_t n;
        int group;

        while (next < end && next->metric == use->metric)
            next++;
        n = mux__fitting(mux, use, next); /* a metric with more events than counters is split */
        group = mux__place(mux, use, n);
        if (group < 0)
            return false;
        for (; n > 0; n--, use++) {
            use->group = (size_t)group;
            if (!group__add(&mux->group[group], &use->query))
                return false;
        }
    }
    return true;
}

/* --- the run ---------------------------------------------------------------------------------- */

static uint64_t mux__value(const struct pmu_mux *mux, const struct pmu_query *q)
{
    uint64_t value = 0;
    bool counted = pmu__value(&mux->pmu, q, &value);

    assert(counted); /* pmu_mux__add has prepared it */
    (void)counted;
    return value;
}

static void mux__begin_turn(struct pmu_mux *mux)
{
    struct pmu_mux_group *g = &mux->group[mux->active];

    for (size_t i = 0; i < g->n_events; i++)
        g->event[i].base = mux__value(mux, &g->event[i].query);
    mux->turn_used = 0;
    mux->n_turns++;
}

static void mux__end_turn(struct pmu_mux *mux)
{
    struct pmu_mux_group *g = &mux->group[mux->active];

    for (size_t i = 0; i < g->n_events; i++)
        g->event[i].count += mux__value(mux, &g->event[i].query) - g->event[i].base;
    g->enabled_cycles += mux->turn_used;
    mux->active = (mux->active + 1) % mux->n_groups;
}

/* Turns end between reports: at the first one after turn_cycles. */
static void mux__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct pmu_mux *mux = (struct pmu_mux *)self;
    unsigned first = 0;

    if (mux->n_groups == 0)
        return;
    if (mux->n_turns == 0)
        mux__begin_turn(mux);
    for (unsigned i = 0; i < n; i++) {
        mux->turn_used += reports[i].cycles;
        if (mux->turn_used < mux->turn_cycles)
            continue;
        mux->pmu.listener.consume(&mux->pmu.listener, reports + first, i + 1 - first);
        first = i + 1;
        mux__end_turn(mux);
        mux__begin_turn(mux);
    }
    if (first < n)
        mux->pmu.listener.consume(&mux->pmu.listener, reports + first, n - first);
}

void pmu_mux__finish(struct pmu_mux *mux)
{
    if (mux->n_turns == 0)
        return;
    if (mux->turn_used == 0) /* the last turn was over just at the end */
        mux->n_turns--;
    mux__end_turn(mux);
    mux->turn_used = 0;
}

bool pmu_mux__lookup(void *arg, size_t metric, const char *name, double *value)
{
    const struct pmu_mux *mux = arg;
    struct pmu_query q;

    if (pmu__constant(&mux->pmu, name, value))
        return true;
    if (!pmu__find(&mux->pmu, name, &q))
        return false;
    for (size_t i = 0; i < mux->n_uses; i++) {
        const struct pmu_mux_use *use = &mux->use[i];

        if (use->metric == metric && query__is_same(&use->query, &q)) {
            const struct pmu_mux_group *g = &mux->group[use->group];

            if (g->enabled_cycles == 0)
                return false;
            *value = (double)group__find(g, &q)->count * (double)mux->pmu.sum[PMU_CYCLES] /
                     (double)g->enabled_cycles;
            return true;
        }
    }
    return false;
}
