/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the execution units: ports (BD-2), divider and instructions that are not pipelined. */
#include <string.h>

#include "loop/layout.h"

enum { MAX_SETS = 64, LOAD_PORTS = 1 << 2 | 1 << 3, MAX_FORMS = 64 };

uint16_t ports__sync(const struct core *core)
{
    return core->ports <= 6 ? 1 << 0 | 1 << 1 | 1 << 5 : 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6; /* RN-17 */
}

uint16_t ports__merge(void)
{
    return 1 << 1 | 1 << 5; /* RN-15 */
}

/* How many uops have each set of ports. */
struct sets {
    uint16_t ports[MAX_SETS];
    double uops[MAX_SETS];
    unsigned n;
};

static void sets__add(struct sets *s, unsigned ports, double uops)
{
    unsigned i = 0;
    while (i < s->n && s->ports[i] != ports)
        i++;
    if (i == MAX_SETS) /* more sets than any core has: leave the uop out, the bound stays a bound */
        return;
    if (i == s->n) {
        s->ports[s->n] = (uint16_t)ports;
        s->uops[s->n++] = 0;
    }
    s->uops[i] += uops;
}

static void collect(const struct layout *l, struct sets *s, double *narrow_loads, double *wide_loads)
{
    bool slow = l->core->slow_256bit_memory;

    s->n = 0;
    *narrow_loads = *wide_loads = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct item *it = &l->item[i];
        const struct recipe *r = it->recipe;
        if (it->sync)
            sets__add(s, ports__sync(l->core), 1);
        for (unsigned m = it->merge; m; m &= m - 1)
            sets__add(s, ports__merge(), 1);
        if (r->eliminated)
            continue;
        for (unsigned k = 0; k < r->n_uops; k++) {
            const struct uop *u = &r->uops[k];
            if (!u->ports)
                continue;
            bool wide = slow && u->flags & UOP_WIDE256; /* EX-17 */
            sets__add(s, u->ports, wide && u->kind == UOP_STD ? 2 : 1);
            *(wide ? wide_loads : narrow_loads) += u->kind == UOP_LOAD;
        }
    }
}

/* All unions of the sets. */
static unsigned close_unions(const struct sets *s, uint16_t *unions, unsigned most)
{
    uint64_t known[(1 << BOUNDS_MAX_PORTS) / 64];
    unsigned n = 0, all = 0;

    for (unsigned i = 0; i < s->n; i++)
        all |= s->ports[i];
    memset(known, 0, (all / 64 + 1) * sizeof *known);
    for (unsigned i = 0; i < s->n; i++) {
        unsigned before = n;
        for (unsigned k = 0; k <= before && n < most; k++) {
            unsigned u = k < before ? unions[k] | s->ports[i] : s->ports[i];
            if (known[u / 64] >> u % 64 & 1)
                continue;
            known[u / 64] |= 1ull << u % 64;
            unions[n++] = (uint16_t)u;
        }
    }
    return n;
}

/* The set of ports with the most uops per port; 0 if there are no uops. Ties: the smallest set. */
static unsigned densest(const struct sets *s, double *density)
{
    uint16_t unions[1024];
    unsigned n = close_unions(s, unions, sizeof unions / sizeof *unions), best = 0;

    *density = 0;
    for (unsigned k = 0; k < n; k++) {
        double uops = 0;
        for (unsigned i = 0; i < s->n; i++)
            uops += s->ports[i] & ~unions[k] ? 0 : s->uops[i];
        uops /= __builtin_popcount(unions[k]);
        if (uops > *density + 1e-9 ||
            (uops > *density - 1e-9 && __builtin_popcount(unions[k]) < __builtin_popcount(best))) {
            *density = uops > *density ? uops : *density;
            best = unions[k];
        }
    }
    return best;
}

/* The most even distribution: the densest set shares its uops evenly and is closed to all others, and so
 * on with what is left. */
static void balance(struct sets s, double load[BOUNDS_MAX_PORTS])
{
    double density;
    unsigned set;

    for (unsigned p = 0; p < BOUNDS_MAX_PORTS; p++)
        load[p] = 0;
    while ((set = densest(&s, &density)) != 0) {
        for (unsigned p = 0; p < BOUNDS_MAX_PORTS; p++)
            if (set >> p & 1)
                load[p] = density;
        struct sets rest = {.n = 0};
        for (unsigned i = 0; i < s.n; i++)
            if (s.uops[i] > 0 && s.ports[i] & ~set)
                sets__add(&rest, s.ports[i] & ~set, s.uops[i]);
        s = rest;
    }
}

/* --- divider (EX-14), non-pipelined forms (EX-15) ---------------------------------------------- */

static void divider(const struct layout *l, struct port_bounds *out)
{
    unsigned forms[MAX_FORMS], n = 0;
    double cycles[MAX_FORMS], occupied = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct recipe *r = l->item[i].recipe;
        for (unsigned k = 0; k < r->n_uops; k++)
            occupied += r->uops[k].div_cyc;
        if (!r->tp_cyc)
            continue;
        unsigned f = 0;
        while (f < n && forms[f] != l->item[i].insn->form)
            f++;
        if (f == MAX_FORMS)
            continue;
        if (f == n) {
            forms[n] = l->item[i].insn->form;
            cycles[n++] = 0;
        }
        cycles[f] += r->tp_cyc;
    }
    out->divider = occupied;
    out->divider_form = -1;
    for (unsigned f = 0; f < n; f++)
        if (cycles[f] > out->divider) {
            out->divider = cycles[f];
            out->divider_form = (int)forms[f];
        }
}

void ports__bounds(const struct layout *l, struct port_bounds *out, double load[BOUNDS_MAX_PORTS])
{
    struct sets s;
    double narrow, wide;

    *out = (struct port_bounds){0};
    collect(l, &s, &narrow, &wide);
    out->port_set = (uint16_t)densest(&s, &out->ports);
    if (wide > 0 && wide + narrow / 2 > out->ports) {
        out->ports = wide + narrow / 2;
        out->port_set = LOAD_PORTS;
        out->wide_loads = true;
    }
    if (load)
        balance(s, load);
    divider(l, out);
}
