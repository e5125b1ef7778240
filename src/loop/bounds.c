/* SPDX-License-Identifier: Apache-2.0 */
/* All bounds of a block, the largest, and which instructions make each (BD-1 to BD-7). */
#include "fathom/bounds.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loop/graph.h"
#include "loop/layout.h"

const char *bound__name(enum bound_kind kind)
{
    static const char *const names[BOUND_KINDS] = {
        [BOUND_PREDECODE] = "predecoder", [BOUND_DECODE] = "decoders",
        [BOUND_DSB] = "uop cache",        [BOUND_LSD] = "loop stream detector",
        [BOUND_ISSUE] = "issue",          [BOUND_PORTS] = "ports",
        [BOUND_DIVIDER] = "divider",      [BOUND_DEPENDENCY] = "dependencies",
    };
    assert(kind < BOUND_KINDS);
    return names[kind];
}

static void pick_largest(struct bounds *b)
{
    b->cycles = -1;
    for (int k = BOUND_KINDS - 1; k >= 0; k--)
        if (b->bound[k].cycles > b->cycles + 1e-9) { /* NAN compares false */
            b->cycles = b->bound[k].cycles;
            b->largest = (enum bound_kind)k;
        }
}

/* --- instruction lists ------------------------------------------------------------------------ */

/* What the instructions of each bound are chosen by. */
struct chooser {
    const struct layout *layout;
    const struct front_bounds *front;
    const struct port_bounds *ports;
    const struct graph *graph;
};

static bool uses_ports(const struct chooser *c, const struct item *it)
{
    const struct port_bounds *p = c->ports;
    const struct recipe *r = it->recipe;
    if (it->sync && !(ports__sync(c->layout->core) & ~p->port_set))
        return true;
    for (unsigned k = 0; !r->eliminated && k < r->n_uops; k++)
        if (r->uops[k].ports && !(r->uops[k].ports & ~p->port_set) &&
            (!p->wide_loads || r->uops[k].kind == UOP_LOAD))
            return true;
    return false;
}

static bool divides(const struct chooser *c, const struct item *it)
{
    const struct recipe *r = it->recipe;
    if (c->ports->divider_form >= 0)
        return r->tp_cyc && it->insn->form == c->ports->divider_form;
    for (unsigned k = 0; k < r->n_uops; k++)
        if (r->uops[k].div_cyc)
            return true;
    return false;
}

static bool on_chain(const struct chooser *c, uint32_t item)
{
    for (uint32_t n = 0; n < c->graph->n_nodes; n++)
        if (c->graph->node[n].item == item && c->graph->node[n].on_chain)
            return true;
    return false;
}

static bool makes(const struct chooser *c, enum bound_kind kind, uint32_t i)
{
    const struct item *it = &c->layout->item[i];
    bool mite = c->layout->unrolled || i >= c->layout->mite_from;
    switch (kind) {
    case BOUND_PREDECODE:
        return mite && (!c->front->lcp || it->insn->flags & INSN_LCP);
    case BOUND_DECODE:
        return mite;
    case BOUND_DSB:
    case BOUND_LSD:
    case BOUND_ISSUE:
        return true;
    case BOUND_PORTS:
        return uses_ports(c, it);
    case BOUND_DIVIDER:
        return divides(c, it);
    case BOUND_DEPENDENCY:
        return on_chain(c, i);
    case BOUND_KINDS:
        break;
    }
    return false;
}

static int compare_positions(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static int list_insns(const struct chooser *c, size_t n_insns, struct bounds *out)
{
    uint16_t *room = malloc(BOUND_KINDS * n_insns * sizeof *room);
    if (!room)
        return -1;
    out->storage = room;
    for (int k = 0; k < BOUND_KINDS; k++) {
        struct bound *b = &out->bound[k];
        if (isnan(b->cycles) || b->cycles <= 0)
            continue;
        b->insns = room + (size_t)k * n_insns;
        for (uint32_t i = 0; i < c->layout->n; i++) {
            const struct item *it = &c->layout->item[i];
            if (!makes(c, (enum bound_kind)k, i))
                continue;
            b->insns[b->n_insns++] = it->position;
            if (it->second && k != BOUND_DEPENDENCY)
                b->insns[b->n_insns++] = it->second_position;
        }
        qsort(b->insns, b->n_insns, sizeof *b->insns, compare_positions);
    }
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

static double ratio(const struct graph_cycle *c)
{
    return c->distance ? (double)c->latency / c->distance : 0;
}

/* When the chain with blocked loads would be the largest bound, but with late loads is not, the other
 * bounds keep the loads late. */
static int dependencies(const struct layout *l, struct scratch *scratch, double others, struct graph *g,
                        struct graph_cycle *cycle)
{
    if (graph__make(g, l, false, scratch) || graph__critical_cycle(g, scratch, cycle))
        return -1;
    if (!g->blocked || ratio(cycle) <= others)
        return 0;
    if (graph__make(g, l, true, scratch) || graph__critical_cycle(g, scratch, cycle))
        return -1;
    if (ratio(cycle) <= others)
        return 0;
    return graph__make(g, l, false, scratch) || graph__critical_cycle(g, scratch, cycle) ? -1 : 0;
}

static int compute(const struct layout *l, size_t n_insns, bool detail, struct scratch *scratch,
                   struct bounds *out)
{
    struct front_bounds front;
    struct port_bounds ports;
    struct graph graph;
    struct graph_cycle cycle;

    front__bounds(l, scratch, &front);
    ports__bounds(l, &ports, detail ? out->port_cycles : NULL);
    out->bound[BOUND_PREDECODE].cycles = front.predecode;
    out->bound[BOUND_DECODE].cycles = front.decode;
    out->bound[BOUND_DSB].cycles = front.dsb;
    out->bound[BOUND_LSD].cycles = front.lsd;
    out->bound[BOUND_ISSUE].cycles = front.issue;
    out->bound[BOUND_PORTS].cycles = ports.ports;
    out->bound[BOUND_DIVIDER].cycles = ports.divider > 0 ? ports.divider : NAN;
    out->port_set = ports.port_set;
    pick_largest(out);
    if (dependencies(l, scratch, out->cycles, &graph, &cycle))
        return -1;
    out->bound[BOUND_DEPENDENCY].cycles = ratio(&cycle);
    pick_largest(out);
    if (scratch->failed)
        return -1;
    if (!detail)
        return 0;
    struct chooser c = {.layout = l, .front = &front, .ports = &ports, .graph = &graph};
    if (cycle.distance && graph__mark(&graph, &cycle, scratch))
        return -1;
    return list_insns(&c, n_insns, out);
}

int bounds__compute(const struct block *block, const struct core *core, struct isa *isa, bool detail,
                    struct bounds *out)
{
    struct scratch scratch;
    struct layout layout;
    int result = -1;

    *out = (struct bounds){0};
    for (int k = 0; k < BOUND_KINDS; k++)
        out->bound[k].cycles = NAN;
    if (!block->n || block->n > BOUNDS_MAX_INSNS)
        return -1;
    scratch__init(&scratch);
    if (layout__make(&layout, block, core, isa, &scratch))
        goto out;
    result = compute(&layout, block->n, detail, &scratch, out);
out:
    scratch__free(&scratch);
    if (result)
        bounds__free(out);
    return result;
}

void bounds__free(struct bounds *bounds)
{
    free(bounds->storage);
    bounds->storage = NULL;
    for (int k = 0; k < BOUND_KINDS; k++) {
        bounds->bound[k].insns = NULL;
        bounds->bound[k].n_insns = 0;
    }
}
