/* SPDX-License-Identifier: Apache-2.0 */
/* The object of docs/loop.md. */
#include <stdio.h>

#include "base/json_writer.h"
#include "fathom/loop_report.h"
#include "fathom/pipe.h"

enum { SCHEMA_VERSION = 1 };

static void figures(struct json_writer *json, const struct loop_report *r)
{
    const struct loop_figures *f = &r->figures;
    static const char *const source[] = {NULL, "MITE", "DSB", "LSD", "MS"};
    json__key(json, "figures");
    if (!r->simulated) {
        json__null(json);
        return;
    }
    json__object_begin(json);
    json__key_double(json, "cycles", f->cycles);
    json__key_bool(json, "periodic", f->periodic);
    if (f->periodic) {
        json__key_uint(json, "period_cycles", f->period_cycles);
        json__key_uint(json, "period_iterations", f->period_iterations);
    }
    json__key_double(json, "ipc", r->ipc);
    json__key_double(json, "uops_fused", r->fused);
    json__key_double(json, "uops_unfused", r->unfused);
    json__key_double(json, "slots", r->slots);
    json__key_uint(json, "issue_width", r->issue_width);
    json__key_string(json, "source", f->source < 5 ? source[f->source] : NULL);
    json__key_uint(json, "simulated_cycles", f->simulated_cycles);
    json__key_uint(json, "simulated_iterations", f->simulated_iterations);
    json__key_uint(json, "steady_iterations", r->window_iterations);
    json__key_uint(json, "steady_cycles", r->window_cycles);
    json__object_end(json);
}

static void ports(struct json_writer *json, const char *key, const double *port, uint32_t n)
{
    json__key(json, key);
    json__array_begin_inline(json);
    for (uint32_t p = 0; p < n; p++)
        json__double(json, port[p]);
    json__array_end(json);
}

static void bounds(struct json_writer *json, const struct loop_report *r)
{
    json__key(json, "bounds");
    if (!r->has_bounds) {
        json__null(json);
        return;
    }
    json__object_begin(json);
    for (int k = 0; k < BOUND_KINDS; k++) {
        const struct bound *b = &r->bounds.bound[k];
        json__key(json, bound__name((enum bound_kind)k));
        json__object_begin_inline(json);
        json__key_double(json, "cycles", b->cycles);
        if (k == BOUND_PORTS) {
            json__key(json, "ports");
            json__array_begin_inline(json);
            for (int p = 0; p < BOUNDS_MAX_PORTS; p++)
                if (r->bounds.port_set >> p & 1)
                    json__int(json, p);
            json__array_end(json);
        }
        json__key(json, "instructions");
        json__array_begin_inline(json);
        for (size_t i = 0; i < b->n_insns; i++)
            json__uint(json, b->insns[i]);
        json__array_end(json);
        json__object_end(json);
    }
    json__key_string(json, "largest", bound__name(r->bounds.largest));
    json__key_double(json, "cycles", r->bounds.cycles);
    ports(json, "port_load", r->bounds.port_cycles, r->n_ports);
    if (r->simulated) {
        json__key_double(json, "hazard", r->hazard);
        json__key_double(json, "hazard_share", r->hazard_share);
    }
    json__object_end(json);
}

static void waits(struct json_writer *json, const double *wait)
{
    json__key(json, "waits");
    json__object_begin_inline(json);
    for (int w = 0; w < LOOP_WAITS; w++)
        json__key_double(json, loop_wait__name((enum loop_wait)w), wait[w]);
    json__object_end(json);
}

static const char *uop_name(const struct loop_uop_row *u)
{
    static const char *const kinds[] = {"compute", "load", "store_address", "store_data", "none"};
    if (u->index == UOP_RECORD_SYNC)
        return "stack_sync";
    if (u->index == UOP_RECORD_MERGE)
        return "merge";
    return u->kind < 5 ? kinds[u->kind] : "none";
}

static void insn(struct json_writer *json, const struct loop_report *r, const struct loop_insn_row *row)
{
    char hex[31] = "";
    for (unsigned i = 0; i < row->len; i++)
        snprintf(hex + 2 * i, 3, "%02x", row->bytes[i]);
    json__object_begin(json);
    json__key_uint(json, "address", row->address);
    json__key_string(json, "bytes", hex);
    json__key_string(json, "text", row->text);
    json__key_bool(json, "unknown", row->unknown);
    if (r->simulated) {
        json__key_bool(json, "fused_with_previous", row->fused_with_previous);
        json__key_double(json, "cycles", row->cycles);
        json__key_double(json, "uops_fused", row->fused);
        json__key_double(json, "uops_unfused", row->unfused);
        json__key_double(json, "critical", row->critical);
        ports(json, "ports", row->port, r->n_ports);
        waits(json, row->wait);
        json__key(json, "uops");
        json__array_begin(json);
        for (size_t k = 0; k < row->n_uops; k++) {
            json__object_begin_inline(json);
            json__key_string(json, "kind", uop_name(&row->uop[k]));
            json__key_double(json, "count", row->uop[k].count);
            ports(json, "ports", row->uop[k].port, r->n_ports);
            waits(json, row->uop[k].wait);
            json__object_end(json);
        }
        json__array_end(json);
    }
    json__object_end(json);
}

static void accounts(struct json_writer *json, const struct loop_report *r)
{
    json__key(json, "topdown");
    json__array_begin(json);
    for (size_t i = 0; i < r->tree.n_nodes; i++) {
        const struct profile_node *n = &r->tree.node[i];
        json__object_begin_inline(json);
        json__key_string(json, "path", n->path);
        json__key_int(json, "level", n->level);
        json__key_double(json, "value", n->value);
        json__key_string(json, "unit", n->unit);
        json__key_bool(json, "flagged", n->flagged);
        json__object_end(json);
    }
    json__array_end(json);
    json__key(json, "cpi_stack");
    json__object_begin(json);
    for (size_t i = 0; i < r->stack.n_components; i++)
        json__key_double(json, r->stack.component[i].component, r->stack.component[i].cycles);
    json__object_end(json);
    json__key(json, "critical_path");
    json__object_begin_inline(json);
    for (int l = 0; l < PATH_LINKS; l++)
        json__key_double(json, path_link__name((enum path_link)l), r->path[l]);
    json__object_end(json);
}

static void timeline(struct json_writer *json, const struct loop_report *r)
{
    const struct timeline *t = &r->timeline;
    json__key(json, "timeline");
    json__object_begin(json);
    json__key_int(json, "first_cycle", t->first_cycle);
    json__key_bool(json, "cut", t->cut);
    json__key(json, "rows");
    json__array_begin(json);
    for (size_t i = 0; i < t->n_rows; i++) {
        json__object_begin_inline(json);
        json__key_uint(json, "iteration", t->row[i].iteration);
        json__key_uint(json, "instruction", t->row[i].insn);
        json__key_int(json, "port", t->row[i].port == UOP_RECORD_NO_PORT ? -1 : t->row[i].port);
        json__key_string(json, "cells", t->row[i].cell);
        json__object_end(json);
    }
    json__array_end(json);
    json__object_end(json);
}

static void report(struct json_writer *json, const struct loop_report *r)
{
    static const char *const registers[] = {"diff", "same", "stack"};
    json__key_string(json, "core", r->core);
    json__key_string(json, "model", r->model == LOOPSIM_UFS ? "ufs" : "full");
    json__key_string(json, "registers", registers[r->registers]);
    json__key_uint(json, "offset", r->offset);
    json__key_bool(json, "unrolled", r->figures.unrolled);
    figures(json, r);
    json__key_double(json, "measured", r->measured);
    json__key_double(json, "fidelity", r->fidelity);
    bounds(json, r);
    json__key(json, "instructions");
    json__array_begin(json);
    for (size_t i = 0; i < r->n_insns; i++)
        insn(json, r, &r->insn[i]);
    json__array_end(json);
    if (r->simulated) {
        ports(json, "ports", r->port, r->n_ports);
        accounts(json, r);
    }
    if (r->timeline.n_rows)
        timeline(json, r);
    json__key_string(json, "bottleneck", r->sentence);
    json__key_string(json, "try", r->next);
}

void view__loop_json(const struct loop_entry *entry, size_t n, const char *input, FILE *out)
{
    struct json_writer json;
    json__init(&json, out, 2);
    json__object_begin(&json);
    json__key_string(&json, "schema", "fathom-loop");
    json__key_int(&json, "version", SCHEMA_VERSION);
    json__key_string(&json, "fathom", FATHOM_VERSION);
    json__key_string(&json, "input", input);
    json__key(&json, "loops");
    json__array_begin(&json);
    for (size_t i = 0; i < n; i++) {
        const struct loop_entry *e = &entry[i];
        json__object_begin(&json);
        json__key_string(&json, "name", e->name);
        json__key_uint(&json, "start", e->start);
        json__key_uint(&json, "end", e->end);
        json__key_string(&json, "function", e->function);
        json__key_string(&json, "file", e->file);
        json__key_int(&json, "line", e->line);
        json__key_int(&json, "last_line", e->last_line);
        json__key_int(&json, "depth", e->depth);
        json__key_string(&json, "why_not", e->why);
        if (e->report)
            report(&json, e->report);
        json__object_end(&json);
    }
    json__array_end(&json);
    json__object_end(&json);
    json__end(&json);
}
