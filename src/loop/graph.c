/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the dependency graph of one iteration as the renamer would see it in steady state. */
#include "loop/graph.h"

#include <assert.h>
#include <string.h>

/* R_RETIRED: not a register, the youngest load that waits for a commit and all that retires before it. */
enum { LOAD_CYC = 5, NO_CARRIER = 0xffff, MAX_PENDING = 1024, R_RETIRED = R_COUNT, NAMES };

enum value_kind { VALUE_OTHER, VALUE_POINTER, VALUE_ZERO }; /* EX-9 */

/* A store of the iteration. */
struct store {
    struct place place;
    int32_t sta, std;          /* nodes, GRAPH_NOWHERE: none */
    struct graph_edge retired; /* what retires before it */
    uint16_t std_lat;
    bool known;                              /* has an address */
    uint16_t carrier[GRAPH_MAX_DISTANCE][2]; /* by distance and overlap */
    bool has_carrier;
};

/* A load that no older store of the same iteration feeds. */
struct pending {
    struct place place;
    uint32_t node;
};

struct maker {
    struct graph *g;
    struct scratch *scratch;
    struct graph_edge map[NAMES]; /* what a register holds */
    uint16_t carrier_of[NAMES];
    uint8_t value[R_COUNT]; /* enum value_kind */
    bool memory;            /* the block loads and stores */
    struct registers regs;
    struct store *store;
    uint32_t n_stores;
    struct pending *pending;
    uint32_t n_pending;
};

static int32_t carrier_ref(uint32_t c)
{
    return -2 - (int32_t)c;
}

/* --- registers -------------------------------------------------------------------------------- */

static struct graph_edge start_of(struct maker *m, unsigned reg)
{
    struct graph *g = m->g;
    struct graph_edge none = {.from = GRAPH_NOWHERE};
    if (m->carrier_of[reg] == NO_CARRIER) {
        if (g->n_carriers == GRAPH_MAX_CARRIERS)
            return none;
        m->carrier_of[reg] = (uint16_t)g->n_carriers;
        g->carrier[g->n_carriers++] =
            (struct graph_carrier){.in = {none, none}, .distance = 1, .reg = (uint8_t)reg};
    }
    return (struct graph_edge){.from = carrier_ref(m->carrier_of[reg]), .reg = (uint8_t)reg};
}

enum { AT_START = INT32_MIN }; /* not written in this iteration yet */

static struct graph_edge value_of(struct maker *m, unsigned reg)
{
    if (m->map[reg].from == AT_START)
        m->map[reg] = start_of(m, reg);
    struct graph_edge e = m->map[reg];
    e.reg = (uint8_t)reg;
    return e;
}

static uint32_t add_node(struct maker *m, uint32_t item)
{
    struct graph *g = m->g;
    assert(g->n_nodes < g->node_cap);
    g->node[g->n_nodes] = (struct graph_node){.item = item, .edge = g->n_edges, .edge_end = g->n_edges};
    return g->n_nodes++;
}

/* Edges can only be added to the newest node. */
static void add_edge(struct maker *m, struct graph_edge e, int lat)
{
    struct graph *g = m->g;
    if (e.from == GRAPH_NOWHERE)
        return;
    assert(g->n_edges < g->edge_cap);
    e.lat_cyc = (int16_t)(e.lat_cyc + lat);
    g->edge[g->n_edges++] = e;
    g->node[g->n_nodes - 1].edge_end = g->n_edges;
}

static void one_uop(struct maker *m, uint32_t item, unsigned reg)
{
    struct graph_edge e = value_of(m, reg);
    uint32_t node = add_node(m, item);
    add_edge(m, e, 0);
    m->map[reg] = (struct graph_edge){.from = (int32_t)node, .lat_cyc = 1};
}

/* Fast pointer chasing (EX-9). */
static bool fast_load(const struct maker *m, const struct insn *insn, const struct uop *t)
{
    if (!m->g->layout->core->fast_pointer_chasing || !insn->n_mem)
        return false;
    const struct mem_operand *o = &insn->mem[t->access < insn->n_mem ? t->access : 0];
    return o->disp >= 0 && o->disp <= 2047 && o->base != R_NONE && m->value[o->base] == VALUE_POINTER &&
           (o->index == R_NONE || m->value[o->index] == VALUE_ZERO);
}

static void note_values(struct maker *m, const struct item *it)
{
    const struct insn *insn = it->insn;
    if (it->recipe->eliminated) {
        m->value[insn->elim_dst] = insn->flags & INSN_MOVE32 ? VALUE_OTHER : m->value[insn->elim_src];
        return;
    }
    for (unsigned w = 0; w < 2; w++)
        for (uint64_t bits = insn->written[w]; bits; bits &= bits - 1)
            m->value[64 * w + (unsigned)__builtin_ctzll(bits)] =
                it->recipe->zero_idiom ? VALUE_ZERO : VALUE_OTHER;
    if (insn->ptr_dst != R_NONE)
        m->value[insn->ptr_dst] = VALUE_POINTER;
}

/* --- memory ----------------------------------------------------------------------------------- */

static const struct mem_operand *operand_of(const struct insn *insn, const struct uop *t)
{
    if (!insn->n_mem || t->access == 255)
        return NULL;
    return &insn->mem[t->access < insn->n_mem ? t->access : insn->n_mem - 1];
}

/* EX-22: from the commit of the store to the data. */
static int after_commit(const struct graph *g)
{
    return g->late ? LOAD_CYC : (int)g->layout->core->store_forward_blocked_cyc;
}

/* EX-13, EX-22: from address and data of the store to the load, in terms of node times. */
static void forward_edges(struct maker *m, const struct store *s, enum overlap o, struct graph_edge out[2])
{
    const struct core *core = m->g->layout->core;
    int addr = 5, data = 1, after = (int)core->store_forward_cyc;
    if (o == OVERLAP_PART) { /* retires the cycle after completion, commits the cycle after that */
        data = s->std_lat > 2 ? s->std_lat : 2;
        after = 2 + after_commit(m->g);
        m->g->blocked = true;
    }
    out[0] =
        (struct graph_edge){.from = s->std, .lat_cyc = (int16_t)(data + after - LOAD_CYC), .reg = R_NONE};
    out[1] =
        (struct graph_edge){.from = s->sta, .lat_cyc = (int16_t)(addr + after - LOAD_CYC), .reg = R_NONE};
}

static void match_load(struct maker *m, uint32_t node, const struct place *p)
{
    for (uint32_t i = m->n_stores; i-- > 0;) {
        const struct store *s = &m->store[i];
        enum overlap o = s->known ? place__compare(p, &s->place, 0) : OVERLAP_NONE;
        if (o == OVERLAP_NONE)
            continue;
        struct graph_edge e[2];
        forward_edges(m, s, o, e);
        add_edge(m, e[0], 0);
        add_edge(m, e[1], 0);
        if (o == OVERLAP_PART) { /* in order: completion, retirement, commit, access */
            add_edge(m, s->retired, 2 + after_commit(m->g));
            m->map[R_RETIRED] = (struct graph_edge){.from = (int32_t)node};
        }
        return;
    }
    if (m->n_pending == MAX_PENDING)
        return;
    m->pending[m->n_pending++] = (struct pending){.place = *p, .node = node};
    /* the last edge of the node, filled in by match_earlier */
    add_edge(m, (struct graph_edge){.from = carrier_ref(GRAPH_MAX_CARRIERS), .reg = R_NONE}, 0);
}

static void memory_uop(struct maker *m, const struct item *it, const struct uop *t, uint32_t node)
{
    const struct mem_operand *o = operand_of(it->insn, t);
    struct place p = {0};
    if (!m->memory)
        return;
    if (o)
        p = place__of(&m->regs, o, it->addr + it->insn->len);
    if (t->kind == UOP_LOAD) {
        if (o)
            match_load(m, node, &p);
    } else if (t->kind == UOP_STA) {
        struct store *s = &m->store[m->n_stores++];
        s->place = p;
        s->known = o != NULL;
        s->sta = (int32_t)node;
        s->std = GRAPH_NOWHERE;
        s->std_lat = 0;
        s->has_carrier = false;
        s->retired = value_of(m, R_RETIRED);
        s->retired.reg = R_NONE;
    } else if (m->n_stores && m->store[m->n_stores - 1].std == GRAPH_NOWHERE) {
        m->store[m->n_stores - 1].std = (int32_t)node;
        m->store[m->n_stores - 1].std_lat = t->max_lat;
    }
}

static uint16_t memory_carrier(struct maker *m, struct store *s, unsigned distance, enum overlap o)
{
    struct graph *g = m->g;
    if (!s->has_carrier)
        memset(s->carrier, 0xff, sizeof s->carrier);
    s->has_carrier = true;
    uint16_t *c = &s->carrier[distance - 1][o == OVERLAP_PART];
    if (*c == NO_CARRIER && g->n_carriers < GRAPH_MAX_CARRIERS) {
        struct graph_carrier *n = &g->carrier[g->n_carriers];
        *n = (struct graph_carrier){.distance = (uint16_t)distance, .reg = R_NONE};
        forward_edges(m, s, o, n->in);
        *c = (uint16_t)g->n_carriers++;
    }
    return *c;
}

/* The youngest store of an earlier iteration that a load meets. */
static void match_earlier(struct maker *m)
{
    const struct layout *l = m->g->layout;
    int64_t stride = l->unrolled ? l->length_bytes : 0;
    unsigned most = (uint64_t)m->n_pending * m->n_stores > 100000 ? 1 : GRAPH_MAX_DISTANCE;

    for (uint32_t i = 0; i < m->n_pending; i++) {
        struct place *p = &m->pending[i].place;
        const struct graph_node *n = &m->g->node[m->pending[i].node];
        struct graph_edge *e = &m->g->edge[n->edge_end - 1];
        e->from = GRAPH_NOWHERE;
        for (unsigned d = 1; d <= most && e->from == GRAPH_NOWHERE; d++) {
            place__step_back(p, &m->regs, d, stride);
            if (!place__reaches(p, d))
                break;
            for (uint32_t k = m->n_stores; k-- > 0;) {
                struct store *s = &m->store[k];
                enum overlap o = s->known ? place__compare(p, &s->place, d) : OVERLAP_NONE;
                if (o == OVERLAP_NONE)
                    continue;
                uint16_t c = memory_carrier(m, s, d, o);
                if (c != NO_CARRIER)
                    e->from = carrier_ref(c);
                else
                    d = most;
                break;
            }
        }
    }
}

/* --- one instruction -------------------------------------------------------------------------- */

static void eliminate(struct maker *m, uint32_t item, const struct insn *insn)
{
    struct graph_edge e = value_of(m, insn->elim_src);
    if (e.from == GRAPH_NOWHERE) {
        m->map[insn->elim_dst] = e;
        return;
    }
    uint32_t node = add_node(m, item);
    add_edge(m, e, 0);
    m->map[insn->elim_dst] = (struct graph_edge){.from = (int32_t)node};
}

static void write_results(struct maker *m, const struct uop *t, uint32_t node, bool temps)
{
    for (unsigned k = 0; k < t->n_dst; k++) {
        int lat = t->dst_lat[k];
        if ((t->dst[k] >= R_TEMP0) != temps)
            continue;
        if (t->kind != UOP_LOAD && lat < 1) /* EX-4: the next cycle at the earliest */
            lat = 1;
        m->map[t->dst[k]] = (struct graph_edge){.from = (int32_t)node, .lat_cyc = (int16_t)lat};
    }
}

static void add_uop(struct maker *m, uint32_t item, const struct uop *t)
{
    const struct item *it = &m->g->layout->item[item];
    struct graph_edge src[UOP_MAX_SRC];
    int less = t->kind == UOP_LOAD && fast_load(m, it->insn, t) ? -1 : 0;
    for (unsigned k = 0; k < t->n_src; k++)
        src[k] = value_of(m, t->src[k]);
    uint32_t node = add_node(m, item);
    for (unsigned k = 0; k < t->n_src; k++)
        add_edge(m, src[k], less);
    if (t->kind != UOP_COMPUTE)
        memory_uop(m, it, t, node);
    write_results(m, t, node, true);
}

static void add_item(struct maker *m, uint32_t item)
{
    const struct item *it = &m->g->layout->item[item];
    const struct recipe *r = it->recipe;

    if (it->sync)
        one_uop(m, item, R_RSP);
    for (unsigned set = it->merge; set; set &= set - 1)
        one_uop(m, item, (unsigned)__builtin_ctz(set));
    if (r->eliminated) {
        eliminate(m, item, it->insn);
    } else {
        uint32_t first = m->g->n_nodes;
        for (unsigned k = 0; k < r->n_uops; k++)
            if (r->uops[k].ports)
                add_uop(m, item, &r->uops[k]);
        if (r->zero) /* RN-4 */
            for (unsigned w = 0; w < 2; w++)
                for (uint64_t bits = it->insn->written[w]; bits; bits &= bits - 1)
                    m->map[64 * w + (unsigned)__builtin_ctzll(bits)].from = GRAPH_NOWHERE;
        for (unsigned k = 0; k < r->n_uops; k++)
            if (r->uops[k].ports)
                write_results(m, &r->uops[k], first++, false);
    }
    note_values(m, it);
    if (m->memory)
        registers__update(&m->regs, it->insn);
}

/* --- the block -------------------------------------------------------------------------------- */

static bool reserve(struct maker *m)
{
    const struct layout *l = m->g->layout;
    struct graph *g = m->g;
    size_t nodes = 0, edges = 0, loads = 0, stores = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct recipe *r = l->item[i].recipe;
        nodes += r->n_uops + 6u;
        edges += 6;
        for (unsigned k = 0; k < r->n_uops; k++) {
            edges += r->uops[k].n_src + 3u;
            loads += r->uops[k].kind == UOP_LOAD;
            stores += r->uops[k].kind == UOP_STA;
        }
    }
    m->memory = loads && stores;
    g->node = scratch__alloc(m->scratch, nodes, sizeof *g->node);
    g->edge = scratch__alloc(m->scratch, edges, sizeof *g->edge);
    g->carrier = scratch__alloc(m->scratch, GRAPH_MAX_CARRIERS, sizeof *g->carrier);
    g->node_cap = (uint32_t)nodes;
    g->edge_cap = (uint32_t)edges;
    if (m->memory) {
        m->store = scratch__alloc(m->scratch, stores, sizeof *m->store);
        m->pending =
            scratch__alloc(m->scratch, loads < MAX_PENDING ? loads : MAX_PENDING, sizeof *m->pending);
    }
    return !m->scratch->failed;
}

/* Where the carriers get their values; a register that another one is copied from is a carrier, too. */
static void close_carriers(struct maker *m)
{
    struct graph *g = m->g;
    for (uint32_t c = 0; c < g->n_carriers; c++) {
        unsigned reg = g->carrier[c].reg;
        if (reg == R_NONE)
            continue;
        struct graph_edge e = value_of(m, reg);
        if (e.from != carrier_ref(c)) /* else nothing writes it */
            g->carrier[c].in[0] = e;
    }
}

int graph__make(struct graph *g, const struct layout *l, bool late, struct scratch *scratch)
{
    struct maker m;

    m.g = g;
    m.scratch = scratch;
    m.n_stores = m.n_pending = 0;
    *g = (struct graph){.layout = l, .late = late};
    if (!reserve(&m))
        return -1;
    memset(m.value, VALUE_OTHER, sizeof m.value);
    memset(m.carrier_of, 0xff, sizeof m.carrier_of);
    for (unsigned r = 0; r < NAMES; r++)
        m.map[r] = (struct graph_edge){.from = AT_START};
    if (m.memory)
        registers__init(&m.regs, l);
    for (size_t i = 0; i < l->n; i++) /* what the back edge carries (EX-9) */
        note_values(&m, &l->item[i]);
    for (uint32_t i = 0; i < l->n; i++)
        add_item(&m, i);
    if (m.memory)
        match_earlier(&m);
    close_carriers(&m);
    return 0;
}
