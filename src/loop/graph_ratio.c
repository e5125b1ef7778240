/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical cycle: the graph is compressed to its carriers (longest paths within an iteration from each
 * to each), and the largest ratio found by raising a candidate as long as a Bellman-Ford pass finds a cycle
 * above it. All in integers, so the ratio is exact.
 */
#include <string.h>

#include "loop/graph.h"

enum { NO_PATH = -(1 << 28), LANES = 8 };

struct compressed {
    uint16_t *carrier; /* of each index */
    uint16_t *index;   /* of each carrier; 0xffff: on no cycle */
    uint32_t k, stride;
    int32_t *w; /* w[from * stride + to]: longest path */
};

static int32_t carrier_of(int32_t from)
{
    return -2 - from;
}

/* A carrier matters if something non-constant feeds it. */
static void number_carriers(const struct graph *g, struct compressed *c)
{
    c->k = 0;
    for (uint32_t i = 0; i < g->n_carriers; i++) {
        bool fed = g->carrier[i].in[0].from != GRAPH_NOWHERE || g->carrier[i].in[1].from != GRAPH_NOWHERE;
        c->index[i] = 0xffff;
        if (fed) {
            c->index[i] = (uint16_t)c->k;
            c->carrier[c->k++] = (uint16_t)i;
        }
    }
    c->stride = (c->k + LANES - 1) / LANES * LANES;
}

static void row__max(int32_t *restrict to, const int32_t *restrict from, int32_t lat, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        int32_t t = from[i] + lat;
        to[i] = to[i] > t ? to[i] : t;
    }
}

static void row__clear(int32_t *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        row[i] = NO_PATH;
}

/* Takes the value of an edge into a row of times, one for each starting carrier. */
static void row__take(const struct compressed *c, int32_t *row, const int32_t *times,
                      const struct graph_edge *e)
{
    if (e->from >= 0) {
        row__max(row, times + (size_t)e->from * c->stride, e->lat_cyc, c->stride);
    } else if (e->from != GRAPH_NOWHERE) {
        uint16_t i = c->index[carrier_of(e->from)];
        if (i != 0xffff && row[i] < e->lat_cyc)
            row[i] = e->lat_cyc;
    }
}

static int compress(const struct graph *g, struct scratch *scratch, struct compressed *c)
{
    c->index = scratch__alloc(scratch, g->n_carriers + 1, sizeof *c->index);
    c->carrier = scratch__alloc(scratch, g->n_carriers + 1, sizeof *c->carrier);
    if (scratch->failed)
        return -1;
    number_carriers(g, c);
    if (!c->k)
        return 0;
    int32_t *times = scratch__alloc(scratch, (size_t)g->n_nodes * c->stride, sizeof *times);
    int32_t *row = scratch__alloc(scratch, c->stride, sizeof *row);
    c->w = scratch__alloc(scratch, (size_t)c->k * c->stride, sizeof *c->w);
    if (scratch->failed)
        return -1;
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        int32_t *t = times + (size_t)n * c->stride;
        row__clear(t, c->stride);
        for (uint32_t e = g->node[n].edge; e < g->node[n].edge_end; e++)
            row__take(c, t, times, &g->edge[e]);
    }
    for (uint32_t to = 0; to < c->k; to++) {
        const struct graph_carrier *x = &g->carrier[c->carrier[to]];
        row__clear(row, c->stride);
        row__take(c, row, times, &x->in[0]);
        row__take(c, row, times, &x->in[1]);
        for (uint32_t from = 0; from < c->k; from++)
            c->w[(size_t)from * c->stride + to] = row[from];
    }
    return 0;
}

/* --- maximum cycle ratio ---------------------------------------------------------------------- */

static uint32_t distance_of(const struct graph *g, const struct compressed *c, uint32_t i)
{
    return g->carrier[c->carrier[i]].distance;
}

static bool better(int64_t lat, uint32_t dist, const struct graph_cycle *than)
{
    return than->distance == 0 || lat * than->distance > than->latency * dist;
}

static void self_loops(const struct graph *g, const struct compressed *c, struct graph_cycle *best)
{
    for (uint32_t i = 0; i < c->k; i++) {
        int32_t w = c->w[(size_t)i * c->stride + i];
        if (w < NO_PATH / 2 || !better(w, distance_of(g, c, i), best))
            continue;
        best->latency = w;
        best->distance = distance_of(g, c, i);
        best->n = 1;
        best->carrier[0] = c->carrier[i];
    }
}

/* Follows the predecessors from a carrier that lies on or behind a cycle. */
static void read_cycle(const struct graph *g, const struct compressed *c, const uint16_t *pred, uint32_t at,
                       struct graph_cycle *out)
{
    for (uint32_t i = 0; i < c->k; i++)
        at = pred[at];
    uint32_t end = at;
    out->latency = 0;
    out->distance = out->n = 0;
    do {
        out->latency += c->w[(size_t)pred[at] * c->stride + at];
        out->distance += distance_of(g, c, at);
        out->carrier[out->n++] = c->carrier[at]; /* from the end backwards */
        at = pred[at];
    } while (at != end);
    for (uint32_t i = 0; i < out->n / 2; i++) {
        uint16_t t = out->carrier[i];
        out->carrier[i] = out->carrier[out->n - 1 - i];
        out->carrier[out->n - 1 - i] = t;
    }
}

/* Longest paths under the weights w * distance(best) - latency(best) * distance. Returns whether a cycle is
 * positive, i.e. better than the best; it is then in `best`. */
static bool raise(const struct graph *g, const struct compressed *c, int64_t *potential, uint16_t *pred,
                  struct graph_cycle *best)
{
    int64_t q = best->distance ? best->distance : 1, p = best->distance ? best->latency : -1;
    uint32_t last = 0;
    bool changed = true;

    for (uint32_t i = 0; i < c->k; i++) {
        potential[i] = 0;
        pred[i] = (uint16_t)i;
    }
    for (uint32_t round = 0; round <= c->k && changed; round++) {
        changed = false;
        for (uint32_t from = 0; from < c->k; from++)
            for (uint32_t to = 0; to < c->k; to++) {
                int32_t w = c->w[(size_t)from * c->stride + to];
                if (w < NO_PATH / 2)
                    continue;
                int64_t t = potential[from] + w * q - p * distance_of(g, c, to);
                if (t > potential[to]) {
                    potential[to] = t;
                    pred[to] = (uint16_t)from;
                    last = to;
                    changed = true;
                }
            }
    }
    if (changed)
        read_cycle(g, c, pred, last, best);
    return changed;
}

int graph__critical_cycle(const struct graph *g, struct scratch *scratch, struct graph_cycle *out)
{
    struct compressed c;

    out->distance = 0;
    out->n = 0;
    out->latency = 0;
    if (compress(g, scratch, &c))
        return -1;
    if (!c.k)
        return 0;
    int64_t *potential = scratch__alloc(scratch, c.k, sizeof *potential);
    uint16_t *pred = scratch__alloc(scratch, c.k, sizeof *pred);
    if (scratch->failed)
        return -1;
    self_loops(g, &c, out);
    if (c.k > 1)
        while (raise(g, &c, potential, pred, out))
            ;
    return 0;
}

/* --- which instructions ----------------------------------------------------------------------- */

static const struct graph_edge *later(const struct graph_carrier *c, const int64_t *time, int32_t start)
{
    const struct graph_edge *best = NULL;
    int64_t when = NO_PATH;
    for (int i = 0; i < 2; i++) {
        const struct graph_edge *e = &c->in[i];
        int64_t t = e->from == start ? e->lat_cyc : e->from >= 0 ? time[e->from] + e->lat_cyc : NO_PATH;
        if (t > when) {
            when = t;
            best = e;
        }
    }
    return when > NO_PATH / 2 ? best : NULL;
}

/* The longest path from carrier `from` to carrier `to` within an iteration. */
static void mark_path(struct graph *g, uint32_t from, uint32_t to, int64_t *time, uint32_t *best)
{
    int32_t start = -2 - (int32_t)from;
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        time[n] = NO_PATH;
        for (uint32_t e = g->node[n].edge; e < g->node[n].edge_end; e++) {
            const struct graph_edge *x = &g->edge[e];
            int64_t t = x->from == start ? x->lat_cyc : x->from >= 0 ? time[x->from] + x->lat_cyc : NO_PATH;
            if (t > time[n]) {
                time[n] = t;
                best[n] = e;
            }
        }
    }
    struct graph_edge *e = (struct graph_edge *)later(&g->carrier[to], time, start);
    while (e) {
        e->on_chain = true;
        if (e->from < 0)
            break;
        struct graph_node *n = &g->node[e->from];
        n->on_chain = true;
        e = &g->edge[best[e->from]];
    }
}

int graph__mark(struct graph *g, const struct graph_cycle *cycle, struct scratch *scratch)
{
    int64_t *time = scratch__alloc(scratch, g->n_nodes + 1, sizeof *time);
    uint32_t *best = scratch__alloc(scratch, g->n_nodes + 1, sizeof *best);
    if (scratch->failed)
        return -1;
    for (uint32_t i = 0; i < cycle->n; i++)
        mark_path(g, cycle->carrier[i], cycle->carrier[(i + 1) % cycle->n], time, best);
    return 0;
}
