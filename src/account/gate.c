/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of a sampling window. Order inside a cycle: squashing by a mispredicted branch, issue,
 * retirement, squashing by a machine clear, which leaves nothing in flight.
 */
#include <assert.h>
#include <string.h>

#include "fathom/account.h"

/* Uops that leave in one cycle, by the phase in which they were issued. */
struct leaving {
    unsigned retired[GATE_PHASES], squashed[GATE_PHASES];
};

static void gate__retire(struct gate *g, unsigned n, struct leaving *out)
{
    for (unsigned k = 0; k < GATE_PHASES; k++) { /* oldest first */
        unsigned some = g->in_flight[k] < n ? (unsigned)g->in_flight[k] : n;
        out->retired[k] = some;
        g->in_flight[k] -= some;
        n -= some;
    }
    assert(n == 0 && "uops retired that were never issued");
}

static void gate__squash(struct gate *g, unsigned n, struct leaving *out)
{
    for (unsigned k = GATE_PHASES; k-- > 0;) { /* youngest first */
        unsigned some = g->in_flight[k] < n ? (unsigned)g->in_flight[k] : n;
        out->squashed[k] = some;
        g->in_flight[k] -= some;
        n -= some;
    }
    assert(n == 0 && "uops thrown away that were never issued");
}

static struct leaving gate__track(struct gate *g, const struct cycle_report *r)
{
    struct leaving out = {0};
    bool clear = FLUSH_IS_CLEAR(r->flush_kind);

    if (!clear)
        gate__squash(g, r->squashed, &out);
    g->in_flight[g->phase] += r->issued;
    gate__retire(g, r->retired, &out);
    if (clear)
        gate__squash(g, r->squashed, &out);
    return out;
}

static void listener__send(struct listener *to, const struct cycle_report *r, unsigned n)
{
    to->consume(to, r, n);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* `n` bits of a set over the retired uops, from number `first` on. */
static unsigned some_of(unsigned bits, unsigned first, unsigned n)
{
    return bits >> first & ((1U << n) - 1);
}

/* A measured cycle while uops from before are in flight: what becomes of them is not counted. */
static void gate__inside_one(struct gate *g, const struct cycle_report *r)
{
    struct leaving left = gate__track(g, r);
    struct cycle_report own = *r;
    unsigned old = left.retired[GATE_BEFORE];

    own.retired = (uint8_t)left.retired[GATE_INSIDE];
    own.retired_ms = (uint8_t)some_of(r->retired_ms, old, own.retired);
    own.squashed = (uint16_t)left.squashed[GATE_INSIDE];
    listener__send(&g->set->truth.listener, &own, 1);
    listener__send(&g->set->tip.listener, r, 1);
    for (unsigned k = 0; k < old; k++)
        tip__credit_retired(&g->set->tip, r, k, -1);
    if (left.squashed[GATE_BEFORE])
        tip__credit_squashed(&g->set->tip, r->mispredict_site, -(int64_t)left.squashed[GATE_BEFORE]);
}

/* Measured cycles; returns how many of the reports they are. */
static unsigned gate__inside(struct gate *g, const struct cycle_report *r, unsigned n)
{
    unsigned i = 0, own;

    while (i < n && g->seen < g->end) {
        g->seen += r[i].retired_insns;
        g->instructions += r[i].retired_insns;
        g->cycles += r[i++].cycles;
    }
    n = i;
    for (i = 0; i < n && g->in_flight[GATE_BEFORE]; i++)
        gate__inside_one(g, &r[i]);
    own = i;
    for (; i < n; i++)
        gate__track(g, &r[i]);
    if (own < n) {
        listener__send(&g->set->truth.listener, r + own, n - own);
        listener__send(&g->set->tip.listener, r + own, n - own);
    }
    listener__send(&g->set->pmu.listener, r, n);
    listener__send(&g->set->stack.listener, r, n);
    if (g->seen >= g->end)
        g->phase = GATE_AFTER;
    return n;
}

/* Cycles after the measured part: only its uops count. */
static void gate__after(struct gate *g, const struct cycle_report *r)
{
    unsigned older = (unsigned)least(r->retired, (unsigned)g->in_flight[GATE_BEFORE]);
    struct leaving left = gate__track(g, r);
    unsigned retired = left.retired[GATE_INSIDE], squashed = left.squashed[GATE_INSIDE];

    if (!(retired | squashed))
        return;
    truth__leave(&g->set->truth, retired,
                 (unsigned)__builtin_popcount(some_of(r->retired_ms, older, retired)), squashed,
                 r->flush_kind);
    for (unsigned k = 0; k < retired; k++)
        tip__credit_retired(&g->set->tip, r, older + k, 1);
    if (squashed)
        tip__credit_squashed(&g->set->tip, r->mispredict_site, squashed);
}

static void gate__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct gate *g = (struct gate *)self;
    unsigned i = 0;

    for (; i < n && g->phase == GATE_BEFORE; i++) {
        gate__track(g, &reports[i]);
        g->seen += reports[i].retired_insns;
        if (g->seen >= g->skip) {
            g->phase = GATE_INSIDE;
            g->end += g->seen;
        }
    }
    if (i < n && g->phase == GATE_INSIDE)
        i += gate__inside(g, reports + i, n - i);
    for (; i < n && g->phase == GATE_AFTER; i++)
        gate__after(g, &reports[i]);
}

void gate__init(struct gate *gate)
{
    memset(gate, 0, sizeof *gate);
    gate->listener.consume = gate__consume;
    gate->phase = GATE_AFTER;
}

void gate__open(struct gate *gate, struct account_set *set, uint64_t skip, uint64_t count)
{
    gate__check(gate);
    gate__init(gate);
    gate->set = set;
    gate->skip = skip;
    gate->end = count;
    gate->phase = skip ? GATE_BEFORE : GATE_INSIDE;
}

void gate__check(const struct gate *gate)
{
    assert(gate->in_flight[GATE_BEFORE] == 0 && gate->in_flight[GATE_INSIDE] == 0 &&
           gate->in_flight[GATE_AFTER] == 0 && "the pipeline must be drained between windows");
    (void)gate;
}
