/* SPDX-License-Identifier: Apache-2.0 */
/* The object of docs/json.md. What may differ between machines or runs is in "host" and nowhere else. */
#include "fathom/view.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "fathom/profile.h"
#include "profile/weight.h"

enum { SCHEMA_VERSION = 1, HOT_PLACES = 200 };

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void run(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "run");
    json__object_begin(json);
    json__key_string(json, "command", profile->command);
    json__key_string(json, "source", profile->source);
    json__key_string(json, "core", profile->core);
    json__key_string(json, "core_text", profile->core_text);
    json__key_string(json, "guest_cpu", profile->guest_cpu);
    json__key_int(json, "exit_status", profile->exit_status);
    json__key_bool(json, "complete", profile->complete);
    json__key_string(json, "incomplete_why", profile->incomplete_why);
    json__object_end(json);
}

static void totals(struct json_writer *json, const struct profile *profile)
{
    double instructions = (double)profile->instructions, cycles = (double)profile->cycles;
    json__key(json, "totals");
    json__object_begin(json);
    json__key_uint(json, "instructions", profile->instructions);
    json__key_uint(json, "cycles", profile->cycles);
    json__key_uint(json, "issue_width", profile->issue_width);
    json__key_uint(json, "slots", profile->slots);
    json__key_uint(json, "uops_retired", profile->uops_retired);
    json__key_uint(json, "uops_issued", profile->uops_issued);
    json__key_double(json, "ipc", weight__ratio(instructions, cycles));
    json__key_double(json, "cpi", weight__ratio(cycles, instructions));
    json__object_end(json);
}

/* Bounds of the totals; null: not known. */
static void sample(struct json_writer *json, const struct profile *profile)
{
    const struct profile_sample *s = profile->sample;
    double n = (double)profile->instructions;
    json__key(json, "sample");
    json__object_begin(json);
    json__key_uint(json, "windows", s->windows);
    json__key_uint(json, "period", s->period);
    json__key_uint(json, "window", s->window);
    json__key_uint(json, "warm", s->warm);
    json__key_uint(json, "head", s->head);
    json__key_uint(json, "measured", s->measured);
    json__key_double(json, "ipc_low", weight__ratio(1, s->cpi_high));
    json__key_double(json, "ipc_high", weight__ratio(1, s->cpi_low));
    json__key_double(json, "cpi_low", s->cpi_low);
    json__key_double(json, "cpi_high", s->cpi_high);
    json__key_double(json, "cycles_low", s->cpi_low * n);
    json__key_double(json, "cycles_high", s->cpi_high * n);
    json__object_end(json);
}

static void one_tree(struct json_writer *json, const struct profile_tree *tree)
{
    json__key(json, or_empty(tree->name));
    json__array_begin(json);
    for (size_t i = 0; i < tree->n_nodes; i++) {
        const struct profile_node *node = &tree->node[i];
        json__object_begin_inline(json);
        json__key_string(json, "name", node->name);
        json__key_string(json, "path", node->path);
        json__key_int(json, "level", node->level);
        json__key_double(json, "value", node->value);
        json__key_string(json, "unit", node->unit);
        json__key_bool(json, "flagged", node->flagged);
        json__key_string(json, "source", node->source);
        json__key_string(json, "hint", node->hint);
        json__object_end(json);
    }
    json__array_end(json);
}

static void ideals(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "ideal");
    json__array_begin(json);
    for (size_t i = 0; i < profile->n_ideal; i++) {
        const struct profile_ideal *row = &profile->ideal[i];
        json__object_begin_inline(json);
        json__key_string(json, "name", row->name);
        json__key_uint(json, "instructions", row->instructions);
        json__key_uint(json, "cycles", row->cycles);
        json__key_double(json, "speedup", row->speedup);
        json__key_string(json, "claim", row->claim);
        json__key_double(json, "claim_percent", row->claim_percent);
        json__object_end(json);
    }
    json__array_end(json);
}

static void multiplexing(struct json_writer *json, const struct profile_multiplexing *m)
{
    json__key(json, "multiplexing");
    json__object_begin_inline(json);
    json__key_uint(json, "counters", m->counters);
    json__key_uint(json, "turn_cycles", m->turn_cycles);
    json__key_uint(json, "groups", m->groups);
    json__key_uint(json, "turns", m->turns);
    json__object_end(json);
}

static void cores(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "cores");
    json__array_begin(json);
    for (size_t i = 0; i < profile->n_core_results; i++) {
        const struct profile_core *row = &profile->core_result[i];
        json__object_begin(json);
        json__key_string(json, "name", row->name);
        json__key_string(json, "title", row->title);
        json__key_bool(json, "self", row->self);
        json__key_uint(json, "instructions", row->instructions);
        json__key_uint(json, "cycles", row->cycles);
        json__key_double(json, "ipc", weight__ratio((double)row->instructions, (double)row->cycles));
        json__key_uint(json, "unknown_instructions", row->n_unknown);
        one_tree(json, &row->tree);
        json__object_end(json);
    }
    json__array_end(json);
}

static void copies(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "copies");
    json__object_begin(json);
    json__key_double(json, "throughput", profile__throughput(profile));
    json__key(json, "rows");
    json__array_begin(json);
    for (size_t i = 0; i < profile->n_copies; i++) {
        const struct profile_copy *row = &profile->copy[i];
        json__object_begin(json);
        json__key_string(json, "name", row->name);
        json__key_bool(json, "alone", row->alone);
        json__key_uint(json, "starts_at", row->starts_at);
        json__key_uint(json, "instructions", row->instructions);
        json__key_uint(json, "cycles", row->cycles);
        json__key_double(json, "ipc", weight__ratio((double)row->instructions, (double)row->cycles));
        json__key_double(json, "slowdown", row->slowdown);
        one_tree(json, &row->tree);
        json__object_end(json);
    }
    json__array_end(json);
    json__object_end(json);
}

static void one_stack(struct json_writer *json, const struct profile_stack *stack)
{
    json__key(json, or_empty(stack->name));
    json__array_begin(json);
    for (size_t i = 0; i < stack->n_components; i++) {
        json__object_begin_inline(json);
        json__key_string(json, "component", stack->component[i].component);
        json__key_double(json, "cycles", stack->component[i].cycles);
        json__key_double(json, "cpi", stack->component[i].cpi);
        json__object_end(json);
    }
    json__array_end(json);
}

/* cycles, share, instructions, ipc, tree */
static void weight(struct json_writer *json, const struct profile *profile, const struct site_weight *weight)
{
    static const char *const name[PLACE_SLOTS] = {
        [PLACE_RETIRING] = "retiring",       [PLACE_BAD_SPECULATION] = "bad_speculation",
        [PLACE_FRONTEND] = "frontend_bound", [PLACE_BACKEND_MEMORY] = "memory_bound",
        [PLACE_BACKEND_CORE] = "core_bound",
    };
    json__key_double(json, "cycles", weight__cycles(weight));
    json__key_double(json, "share", profile__cycle_percent(profile, weight) / 100);
    json__key_uint(json, "instructions", weight->insns);
    json__key_double(json, "ipc", weight__ipc(weight));
    json__key(json, "tree");
    json__object_begin_inline(json);
    for (int i = 0; i < PLACE_SLOTS; i++)
        json__key_double(json, name[i], weight__slot_percent(weight, (enum place_slots)i));
    json__object_end(json);
}

static const char *module_path(const struct profile *profile, int module)
{
    return module >= 0 ? profile__module_path(profile, module) : NULL;
}

static void hex(struct json_writer *json, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    json__key_string(json, key, text);
}

static void functions(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "functions");
    json__array_begin(json);
    for (size_t i = 0; i < profile->n_functions; i++) {
        const struct profile_function *function = &profile->function[i];
        json__object_begin_inline(json);
        json__key_string(json, "name", function->name);
        json__key_string(json, "module", module_path(profile, function->module));
        hex(json, "entry", function->entry);
        json__key_string(json, "file", function->file);
        json__key(json, "line");
        if (function->file)
            json__int(json, function->line);
        else
            json__null(json);
        weight(json, profile, &function->weight);
        json__object_end(json);
    }
    json__array_end(json);
}

static void places(struct json_writer *json, const struct profile *profile)
{
    size_t n = HOT_PLACES;
    size_t *order = profile__hottest_places(profile, &n);

    json__key_uint(json, "places_total", profile->n_places);
    json__key(json, "places");
    json__array_begin(json);
    for (size_t i = 0; i < n; i++) {
        const struct profile_place *place = &profile->place[order[i]];
        json__object_begin_inline(json);
        hex(json, "address", place->addr);
        json__key_string(json, "module", module_path(profile, place->module));
        hex(json, "offset", place->offset);
        json__key_string(json, "function", profile__place_function(profile, place));
        json__key_string(json, "text", place->text);
        weight(json, profile, &place->weight);
        json__object_end(json);
    }
    json__array_end(json);
    free(order);
}

static void modules(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "modules");
    json__array_begin(json);
    for (size_t i = 0; i < profile->n_modules; i++) {
        json__object_begin_inline(json);
        json__key_string(json, "path", profile->module[i].path);
        json__key_string(json, "build_id", profile->module[i].build_id);
        json__object_end(json);
    }
    json__array_end(json);
}

static void counts(struct json_writer *json, const char *key, const struct profile_count *count, size_t n)
{
    json__key(json, key);
    json__array_begin(json);
    for (size_t i = 0; i < n; i++) {
        json__object_begin_inline(json);
        json__key_string(json, "name", count[i].name);
        json__key_uint(json, "count", count[i].count);
        json__key_string(json, "note", count[i].note);
        json__object_end(json);
    }
    json__array_end(json);
}

static void lists(struct json_writer *json, const struct profile *profile)
{
    json__key(json, "events");
    json__object_begin(json);
    for (size_t i = 0; i < profile->n_events; i++)
        json__key_uint(json, or_empty(profile->event[i].name), profile->event[i].value);
    json__object_end(json);
    json__key(json, "verdict");
    json__object_begin(json);
    json__key_string(json, "text", profile->verdict);
    json__key_string(json, "next", profile->verdict_next);
    json__object_end(json);
    counts(json, "unknown_instructions", profile->unknown, profile->n_unknown);
    counts(json, "nondeterminism", profile->nondeterminism, profile->n_nondeterminism);
    json__key(json, "host");
    json__object_begin(json);
    for (size_t i = 0; i < profile->n_host; i++)
        json__key_string(json, or_empty(profile->host[i].key), profile->host[i].value);
    json__object_end(json);
}

void view__json(const struct profile *profile, FILE *out)
{
    struct json_writer json;

    assert(profile && out);
    json__init(&json, out, 2);
    json__object_begin(&json);
    json__key_string(&json, "fathom", profile->version);
    json__key_int(&json, "schema_version", SCHEMA_VERSION);
    run(&json, profile);
    totals(&json, profile);
    if (profile->sample)
        sample(&json, profile);
    json__key(&json, "trees");
    json__object_begin(&json);
    for (size_t i = 0; i < profile->n_trees; i++)
        one_tree(&json, &profile->tree[i]);
    json__object_end(&json);
    json__key(&json, "stacks");
    json__object_begin(&json);
    for (size_t i = 0; i < profile->n_stacks; i++)
        one_stack(&json, &profile->stack[i]);
    json__object_end(&json);
    if (profile->multiplexing.counters)
        multiplexing(&json, &profile->multiplexing);
    if (profile->n_ideal)
        ideals(&json, profile);
    if (profile->n_core_results)
        cores(&json, profile);
    if (profile->n_copies)
        copies(&json, profile);
    functions(&json, profile);
    modules(&json, profile);
    places(&json, profile);
    lists(&json, profile);
    json__object_end(&json);
    json__end(&json);
}
