/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of docs/sweep.md. */
#include <math.h>

#include "base/json_writer.h"
#include "view/sweep_view.h"

static void identity(struct json_writer *json, const struct core *core, enum loopsim_model model)
{
    json__key_string(json, "fathom", FATHOM_VERSION);
    json__key(json, "core");
    json__object_begin_inline(json);
    json__key_string(json, "name", core->name);
    json__key_string(json, "title", core->title);
    json__object_end(json);
    json__key_string(json, "model", sweep_view__model(model));
}

static double rounded(double value)
{
    return round(value * 1e6) / 1e6; /* NAN stays and becomes null */
}

static void numbers(struct json_writer *json, const char *key, const double *value, size_t n)
{
    json__key(json, key);
    json__array_begin_inline(json);
    for (size_t i = 0; i < n; i++)
        json__double(json, value[i]);
    json__array_end(json);
}

static void one_axis(struct json_writer *json, const struct sweep_axis *axis)
{
    json__object_begin(json);
    json__key_string(json, "name", axis->name);
    json__key_string(json, "key", axis->key);
    json__key_string(json, "unit", axis->unit);
    json__key_string(json, "scale", axis->factor ? "factor" : "absolute");
    numbers(json, "values", axis->value, axis->n);
    if (axis->effective)
        numbers(json, "effective", axis->effective, axis->n);
    json__object_end(json);
}

enum field { CYCLES, SPEEDUP, EXACT };

static void one_field(struct json_writer *json, const struct sweep_point *p, enum field field)
{
    if (field == EXACT)
        json__bool(json, p->periodic);
    else
        json__double(json, rounded(field == CYCLES ? p->cycles : p->speedup));
}

/* One axis: a list; two: a list of rows, one for each value of the second axis. */
static void grid(struct json_writer *json, const char *key, const struct sweep *sweep,
                 const struct sweep_loop_result *loop, enum field field)
{
    const struct sweep_spec *spec = &sweep->spec;
    size_t columns = spec->axis[0].n, rows = spec->n_axes > 1 ? spec->axis[1].n : 1;

    json__key(json, key);
    if (spec->n_axes > 1)
        json__array_begin(json);
    for (size_t y = 0; y < rows; y++) {
        json__array_begin_inline(json);
        for (size_t x = 0; x < columns; x++)
            one_field(json, &loop->point[y * columns + x], field);
        json__array_end(json);
    }
    if (spec->n_axes > 1)
        json__array_end(json);
}

static void base(struct json_writer *json, const struct sweep_point *point)
{
    json__key(json, "base");
    json__object_begin_inline(json);
    json__key_double(json, "cycles", rounded(point->cycles));
    json__key_bool(json, "exact", point->periodic);
    json__object_end(json);
}

static void one_loop(struct json_writer *json, const struct sweep *sweep,
                     const struct sweep_loop_result *loop)
{
    json__object_begin(json);
    json__key_string(json, "name", loop->name);
    json__key_string(json, "error", loop->error);
    base(json, &loop->base);
    json__key_double(json, "slope", rounded(loop->slope));
    if (!loop->error) {
        grid(json, "cycles", sweep, loop, CYCLES);
        grid(json, "speedup", sweep, loop, SPEEDUP);
        grid(json, "exact", sweep, loop, EXACT);
    }
    json__object_end(json);
}

void view__sweep_json_value(const struct sweep *sweep, struct json_writer *json)
{
    json__object_begin(json);
    identity(json, &sweep->core, sweep->model);
    json__key(json, "axes");
    json__array_begin(json);
    for (unsigned a = 0; a < sweep->spec.n_axes; a++)
        one_axis(json, &sweep->spec.axis[a]);
    json__array_end(json);
    json__key(json, "loops");
    json__array_begin(json);
    for (size_t k = 0; k < sweep->n_loops; k++)
        one_loop(json, sweep, &sweep->loop[k]);
    json__array_end(json);
    json__object_end(json);
}

void view__sweep_json(const struct sweep *sweep, FILE *out)
{
    struct json_writer json;
    json__init(&json, out, 2);
    view__sweep_json_value(sweep, &json);
    json__end(&json);
}

static void one_change(struct json_writer *json, const struct what_if_row *row)
{
    json__object_begin_inline(json);
    json__key_string(json, "id", row->id);
    json__key_string(json, "kind", what_if_kind__name(row->kind));
    json__key_string(json, "change", row->change);
    json__key_double(json, "cycles", rounded(row->point.cycles));
    json__key_double(json, "speedup", rounded(row->point.speedup));
    json__key_bool(json, "exact", row->point.periodic);
    json__object_end(json);
}

void view__what_if_json_value(const struct what_if *what, struct json_writer *json)
{
    json__object_begin(json);
    identity(json, &what->core, what->model);
    json__key(json, "loops");
    json__array_begin(json);
    for (size_t k = 0; k < what->n_loops; k++) {
        const struct what_if_loop *loop = &what->loop[k];
        json__object_begin(json);
        json__key_string(json, "name", loop->name);
        json__key_string(json, "error", loop->error);
        base(json, &loop->base);
        json__key_string(json, "verdict", loop->verdict);
        json__key(json, "changes");
        json__array_begin(json);
        for (size_t i = 0; i < loop->n_rows; i++)
            one_change(json, &loop->row[i]);
        json__array_end(json);
        json__object_end(json);
    }
    json__array_end(json);
    json__object_end(json);
}

void view__what_if_json(const struct what_if *what, FILE *out)
{
    struct json_writer json;
    json__init(&json, out, 2);
    view__what_if_json_value(what, &json);
    json__end(&json);
}
