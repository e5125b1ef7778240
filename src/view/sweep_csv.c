/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "view/sweep_view.h"

static void header(const struct sweep_spec *spec, FILE *out)
{
    fputs("loop,core,model", out);
    for (unsigned a = 0; a < spec->n_axes; a++)
        fprintf(out, ",%s", spec->axis[a].name);
    for (unsigned a = 0; a < spec->n_axes; a++)
        if (spec->axis[a].factor && spec->axis[a].effective)
            fprintf(out, ",%s_value", spec->axis[a].key);
    fputs(",cycles,speedup,exact\n", out);
}

static void one_point(const struct sweep *sweep, const struct sweep_loop_result *loop, size_t i, FILE *out)
{
    const struct sweep_spec *spec = &sweep->spec;
    size_t rest = i;

    sweep_view__csv_field(loop->name, out);
    fprintf(out, ",%s,%s", sweep->core.name, sweep_view__model(sweep->model));
    for (unsigned a = 0; a < spec->n_axes; rest /= spec->axis[a++].n) {
        fputc(',', out);
        sweep_view__csv_number(spec->axis[a].value[rest % spec->axis[a].n], out);
    }
    rest = i;
    for (unsigned a = 0; a < spec->n_axes; rest /= spec->axis[a++].n) {
        if (!spec->axis[a].factor || !spec->axis[a].effective)
            continue;
        fputc(',', out);
        sweep_view__csv_number(spec->axis[a].effective[rest % spec->axis[a].n], out);
    }
    fputc(',', out);
    sweep_view__csv_number(loop->point[i].cycles, out);
    fputc(',', out);
    sweep_view__csv_number(loop->point[i].speedup, out);
    fprintf(out, ",%s\n", loop->point[i].periodic ? "yes" : "no");
}

void view__sweep_csv(const struct sweep *sweep, FILE *out)
{
    size_t n = sweep_spec__points(&sweep->spec);

    header(&sweep->spec, out);
    for (size_t k = 0; k < sweep->n_loops; k++)
        for (size_t i = 0; i < n; i++)
            one_point(sweep, &sweep->loop[k], i, out);
}

void view__what_if_csv(const struct what_if *what, FILE *out)
{
    fputs("loop,core,model,kind,id,change,cycles,speedup,exact\n", out);
    for (size_t k = 0; k < what->n_loops; k++)
        for (size_t i = 0; i < what->loop[k].n_rows; i++) {
            const struct what_if_row *row = &what->loop[k].row[i];
            sweep_view__csv_field(what->loop[k].name, out);
            fprintf(out, ",%s,%s,%s,%s,", what->core.name, sweep_view__model(what->model),
                    what_if_kind__name(row->kind), row->id);
            sweep_view__csv_field(row->change, out);
            fputc(',', out);
            sweep_view__csv_number(row->point.cycles, out);
            fputc(',', out);
            sweep_view__csv_number(row->point.speedup, out);
            fprintf(out, ",%s\n", row->point.periodic ? "yes" : "no");
        }
}
