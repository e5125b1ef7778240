/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time-proportional attribution. Invariants, after every batch:
 *     sum over sites of cycles_tip + cycles_tip_unplaced == TIP_UNIT x cycles
 *     sum over sites and classes of slots + slots_unplaced == width x cycles - in flight
 */
#include "fathom/account.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/core.h"

/* Units of a cycle for each of n retiring uops. */
static const uint16_t tip__share[REPORT_RETIRE_MAX + 1] = {
    0,
    TIP_UNIT,
    TIP_UNIT / 2,
    TIP_UNIT / 3,
    TIP_UNIT / 4,
    TIP_UNIT / 5,
    TIP_UNIT / 6,
    TIP_UNIT / 7,
    TIP_UNIT / 8,
};

/* Whom empty slots are charged to, by enum stall. STALL_NONE has no empty slots. */
static enum place_slots tip__class(unsigned stall)
{
    if (STALL_IS_RECOVERY(stall))
        return PLACE_BAD_SPECULATION;
    if (STALL_IS_FRONTEND(stall))
        return PLACE_FRONTEND;
    return STALL_IS_MEMORY(stall) ? PLACE_BACKEND_MEMORY : PLACE_BACKEND_CORE;
}

/* Makes room for site `id`. Without memory it stays out of the table: its weight is then unplaced, never
 * lost. */
static void tip__grow(struct tip *tip, uint32_t id)
{
    size_t cap = tip->cap_sites ? tip->cap_sites : 1024;
    struct site_weight *site;
    struct site_slots *special;

    if (id >= tip->cap_sites) {
        while (cap <= id)
            cap *= 2;
        site = realloc(tip->site, cap * sizeof *site);
        if (!site)
            return;
        tip->site = site;
        special = realloc(tip->special, cap * sizeof *special);
        if (!special)
            return;
        tip->special = special;
        memset(site + tip->cap_sites, 0, (cap - tip->cap_sites) * sizeof *site);
        memset(special + tip->cap_sites, 0, (cap - tip->cap_sites) * sizeof *special);
        tip->cap_sites = cap;
    }
    tip->n_sites = (size_t)id + 1;
}

/* Kept out of the loop over reports: new sites are rare. */
__attribute__((noinline)) static struct site_weight *tip__place_beyond(struct tip *tip, uint32_t id,
                                                                       struct site_weight *unplaced)
{
    if (id != REPORT_NO_SITE)
        tip__grow(tip, id);
    return id < tip->n_sites ? &tip->site[id] : unplaced;
}

/* One compare covers new sites and REPORT_NO_SITE. */
static inline struct site_weight *tip__place(struct tip *tip, uint32_t id, struct site_weight *unplaced)
{
    return __builtin_expect(id < tip->n_sites, 1) ? &tip->site[id] : tip__place_beyond(tip, id, unplaced);
}

/* A cycle belongs to what retired in it, in equal shares, or else to what it waited for. */
static inline void tip__cycles(struct tip *tip, const struct cycle_report *r, struct site_weight *unplaced)
{
    const uint32_t share = tip__share[r->retired];
    struct site_weight *w;

    if (r->retired == 0) {
        w = tip__place(tip, r->wait_site, unplaced);
        w->cycles_tip += (uint64_t)TIP_UNIT * r->cycles;
    }
    for (unsigned k = 0; k < r->retired; k++) {
        w = tip__place(tip, r->retired_site[k], unplaced);
        w->cycles_tip += share;
        w->insns += ((r->retired_high >> k) & 1U) + ((r->retired_pair >> k) & 1U);
        w->slots[PLACE_RETIRING]++;
    }
    for (unsigned bits = r->retired_ms | r->retired_pair; bits; bits &= bits - 1) {
        const unsigned k = (unsigned)__builtin_ctz(bits);
        const uint32_t id = r->retired_site[k];

        if (id >= tip->n_sites)
            continue;
        tip->special[id].ms += (r->retired_ms >> k) & 1U;
        tip->special[id].pairs += (r->retired_pair >> k) & 1U;
    }
}

static void tip__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct tip *tip = (struct tip *)self;
    struct site_weight unplaced = {0};
    struct site_weight *w;
    enum place_slots class[STALL_COUNT];

    for (unsigned s = 0; s < STALL_COUNT; s++)
        class[s] = tip__class(s);
    for (unsigned i = 0; i < n; i++) {
        const struct cycle_report *r = &reports[i];
        const uint32_t empty = tip->width - r->issued;

        assert(r->retired <= REPORT_RETIRE_MAX && r->issued <= tip->width && r->stall < STALL_COUNT);
        tip__cycles(tip, r, &unplaced);
        if (r->squashed > 0) {
            w = tip__place(tip, r->mispredict_site, &unplaced);
            w->slots[PLACE_BAD_SPECULATION] += r->squashed;
        }
        if (empty > 0) {
            const bool recovery = STALL_IS_RECOVERY(r->stall) && r->mispredict_site != REPORT_NO_SITE;

            w = tip__place(tip, recovery ? r->mispredict_site : r->stall_site, &unplaced);
            w->slots[class[r->stall]] += (uint64_t)empty * r->cycles;
        }
    }
    tip->cycles_tip_unplaced += unplaced.cycles_tip;
    for (unsigned c = 0; c < PLACE_SLOTS; c++)
        tip->slots_unplaced[c] += unplaced.slots[c];
}

/* Moves slots; returns whether the site is known. */
static bool tip__credit(struct tip *tip, uint32_t site, enum place_slots class, int64_t n)
{
    struct site_weight unplaced = {0};
    struct site_weight *w = tip__place(tip, site, &unplaced);
    bool known = w != &unplaced;
    uint64_t *slots = known ? &w->slots[class] : &tip->slots_unplaced[class];

    assert(n >= 0 || *slots >= (uint64_t)-n);
    *slots += (uint64_t)n;
    return known;
}

void tip__credit_squashed(struct tip *tip, uint32_t site, int64_t n)
{
    tip__credit(tip, site, PLACE_BAD_SPECULATION, n);
}

void tip__credit_retired(struct tip *tip, const struct cycle_report *report, unsigned k, int n)
{
    const uint32_t site = report->retired_site[k];

    if (!tip__credit(tip, site, PLACE_RETIRING, n))
        return;
    if (report->retired_ms >> k & 1)
        tip->special[site].ms += (uint64_t)n;
    if (report->retired_pair >> k & 1)
        tip->special[site].pairs += (uint64_t)n;
}

void tip__init(struct tip *tip, const struct core *core)
{
    assert(core->issue_width > 0);
    memset(tip, 0, sizeof *tip);
    tip->listener.consume = tip__consume;
    tip->width = core->issue_width;
}

void tip__free(struct tip *tip)
{
    free(tip->site);
    free(tip->special);
    tip->site = NULL;
    tip->special = NULL;
    tip->n_sites = tip->cap_sites = 0;
}

void retired_work__add(struct retired_work *sum, const struct tip *tip, uint32_t id, enum work work)
{
    assert(id < tip->n_sites && work < WORK_KINDS);
    const struct site_slots *special = &tip->special[id];
    const uint64_t slots = tip->site[id].slots[PLACE_RETIRING] - special->ms;
    const uint64_t pairs = work == WORK_OTHER ? special->pairs : 0;

    assert(special->ms + special->pairs <= tip->site[id].slots[PLACE_RETIRING]);
    sum->slots[WORK_FUSED] += pairs;
    sum->slots[work] += slots - pairs;
}
