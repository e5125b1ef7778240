/* SPDX-License-Identifier: Apache-2.0 */
/* The dependency graph as Graphviz text. */
#include <stdio.h>
#include <string.h>

#include "loop/graph.h"

static const char *register_name(unsigned reg, char *buf, size_t size)
{
    static const char *const gpr[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "cf",  "flags"};
    if (reg < R_VEC0)
        return gpr[reg];
    if (reg < R_MMX0)
        snprintf(buf, size, "vec%u", reg - R_VEC0);
    else if (reg < R_X87)
        snprintf(buf, size, "mm%u", reg - R_MMX0);
    else if (reg == R_X87)
        snprintf(buf, size, "st");
    else if (reg < R_TEMP0)
        snprintf(buf, size, "reg%u", reg);
    else
        snprintf(buf, size, "memory");
    return buf;
}

struct drawing {
    FILE *out;
    const struct graph *graph;
    struct isa *isa;
};

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static bool item_on_chain(const struct graph *g, uint32_t item)
{
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (g->node[n].item == item && g->node[n].on_chain)
            return true;
    return false;
}

static void draw_insn(const struct drawing *d, uint32_t i)
{
    const struct item *it = &d->graph->layout->item[i];
    char text[160];

    fprintf(d->out, "  i%u [label=\"%u: ", it->position, it->position);
    put_escaped(d->out, isa__format(d->isa, it->insn, it->addr, text, sizeof text));
    if (it->second) {
        fprintf(d->out, "\\n%u: ", it->second_position);
        put_escaped(d->out, isa__format(d->isa, it->second, it->addr + it->insn->len, text, sizeof text));
    }
    for (uint32_t n = 0; n < d->graph->n_nodes; n++) /* what happens inside, e.g. load and operation */
        for (uint32_t e = d->graph->node[n].edge; e < d->graph->node[n].edge_end; e++) {
            const struct graph_edge *x = &d->graph->edge[e];
            if (d->graph->node[n].item == i && x->from >= 0 && d->graph->node[x->from].item == i)
                fprintf(d->out, "\\n+%d inside", x->lat_cyc);
        }
    fprintf(d->out, "\"%s];\n", item_on_chain(d->graph, i) ? ", color=red, penwidth=2" : "");
}

static void draw_edge(const struct drawing *d, uint32_t from_node, uint32_t to_item,
                      const struct graph_edge *e, int lat_cyc, unsigned distance, bool critical)
{
    const struct layout *l = d->graph->layout;
    char name[16];
    fprintf(d->out, "  i%u -> i%u [label=\"%s %d", l->item[d->graph->node[from_node].item].position,
            l->item[to_item].position, e->reg == R_NONE ? "memory" : register_name(e->reg, name, sizeof name),
            lat_cyc);
    if (distance > 1)
        fprintf(d->out, ", %u iterations", distance);
    fprintf(d->out, "\"%s%s];\n", distance ? ", style=dashed, constraint=false" : "",
            critical ? ", color=red, penwidth=2" : "");
}

static void draw_carried(const struct drawing *d, uint32_t to_item, const struct graph_edge *e)
{
    const struct graph_carrier *c = &d->graph->carrier[-2 - e->from];
    for (int i = 0; i < 2; i++) {
        const struct graph_edge *in = &c->in[i];
        if (in->from >= 0)
            draw_edge(d, (uint32_t)in->from, to_item, e, in->lat_cyc + e->lat_cyc, c->distance,
                      e->on_chain && in->on_chain);
    }
}

static void draw(const struct drawing *d, const struct graph_cycle *cycle)
{
    const struct graph *g = d->graph;

    fprintf(d->out, "digraph dependencies {\n  node [shape=box, fontname=monospace];\n");
    if (cycle->distance)
        fprintf(d->out, "  label=\"critical cycle: %lld cycles in %u iteration%s\";\n",
                (long long)cycle->latency, cycle->distance, cycle->distance == 1 ? "" : "s");
    for (uint32_t i = 0; i < g->layout->n; i++)
        draw_insn(d, i);
    for (uint32_t n = 0; n < g->n_nodes; n++)
        for (uint32_t k = g->node[n].edge; k < g->node[n].edge_end; k++) {
            const struct graph_edge *e = &g->edge[k];
            if (e->from >= 0 && g->node[e->from].item != g->node[n].item)
                draw_edge(d, (uint32_t)e->from, g->node[n].item, e, e->lat_cyc, 0, e->on_chain);
            else if (e->from < GRAPH_NOWHERE)
                draw_carried(d, g->node[n].item, e);
        }
    fprintf(d->out, "}\n");
}

void bounds__dot(const struct block *block, const struct core *core, struct isa *isa, FILE *out)
{
    struct scratch scratch;
    struct layout layout;
    struct graph graph;
    struct graph_cycle cycle;

    scratch__init(&scratch);
    if (!block->n || block->n > BOUNDS_MAX_INSNS || layout__make(&layout, block, core, isa, &scratch) ||
        graph__make(&graph, &layout, false, &scratch) || graph__critical_cycle(&graph, &scratch, &cycle) ||
        (cycle.distance && graph__mark(&graph, &cycle, &scratch))) {
        fprintf(out, "digraph dependencies {\n}\n");
        goto out;
    }
    draw(&(struct drawing){.out = out, .graph = &graph, .isa = isa}, &cycle);
out:
    scratch__free(&scratch);
}
