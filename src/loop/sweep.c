/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over a grid of one or two parameters of the core. */
#include "loop/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"

static int prepare(struct sweep *sweep, const struct sweep_config *config, struct sweep_variant **variants,
                   struct status *st)
{
    size_t n = sweep_spec__points(&sweep->spec);
    struct sweep_variant *v = calloc(n + 1, sizeof *v);

    *variants = v;
    sweep->loop = calloc(config->n_loops ? config->n_loops : 1, sizeof *sweep->loop);
    if (!v || !sweep->loop)
        return status__fail(st, "not enough memory for a sweep of %zu points", n);
    sweep->n_loops = config->n_loops;
    v[0].core = *config->core;
    sweep->own = SWEEP_NO_POINT;
    for (size_t i = 0; i < n; i++) {
        if (sweep_spec__core(&sweep->spec, i, config->core, &v[i + 1].core, st))
            return -1;
        if (memcmp(&v[i + 1].core, config->core, sizeof *config->core) == 0)
            sweep->own = i;
    }
    for (size_t k = 0; k < config->n_loops; k++) {
        struct sweep_loop_result *loop = &sweep->loop[k];
        loop->name = strdup(config->loop[k].name);
        loop->point = calloc(n, sizeof *loop->point);
        if (!loop->name || !loop->point)
            return status__fail(st, "not enough memory for a sweep of %zu points", n);
    }
    return 0;
}

/* Least squares; what has no figure is left out. */
static double slope(const struct sweep_axis *axis, const struct sweep_point *point)
{
    const double *x = axis->effective ? axis->effective : axis->value;
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;

    for (size_t i = 0; i < axis->n; i++) {
        double y = point[i].cycles;
        if (isnan(y))
            continue;
        n++;
        sx += x[i];
        sy += y;
        sxx += x[i] * x[i];
        sxy += x[i] * y;
    }
    double d = n * sxx - sx * sx;
    return n >= 2 && d > 0 ? (n * sxy - sx * sy) / d : NAN;
}

static void summarise(const struct sweep_spec *spec, struct sweep_loop_result *loop)
{
    size_t n = sweep_spec__points(spec);

    loop->min_cycles = loop->max_cycles = loop->slope = NAN;
    for (size_t i = 0; i < n; i++) {
        struct sweep_point *p = &loop->point[i];
        p->speedup = loop->base.cycles / p->cycles;
        if (isnan(p->cycles))
            continue;
        if (!(loop->min_cycles <= p->cycles)) {
            loop->min_cycles = p->cycles;
            loop->best = i;
        }
        if (!(loop->max_cycles >= p->cycles)) {
            loop->max_cycles = p->cycles;
            loop->worst = i;
        }
    }
    if (spec->n_axes == 1)
        loop->slope = slope(&spec->axis[0], loop->point);
}

int sweep__run(struct sweep *sweep, const struct sweep_config *config, struct sweep_spec *spec,
               struct status *st)
{
    struct sweep_variant *variant = NULL;
    struct sweep_grid grid = {.config = config};
    size_t n_points = sweep_spec__points(spec);
    int rc = -1;

    *sweep = (struct sweep){.core = *config->core, .model = config->model, .spec = *spec};
    memset(spec, 0, sizeof *spec);
    if (prepare(sweep, config, &variant, st))
        goto out;
    grid.variant = variant;
    grid.n_variants = n_points + 1;
    grid.cell = calloc(grid.n_variants * config->n_loops + 1, sizeof *grid.cell);
    grid.error = calloc(config->n_loops + 1, sizeof *grid.error);
    if (!grid.cell || !grid.error) {
        status__fail(st, "not enough memory for a sweep of %zu points", n_points);
        goto out;
    }
    if (sweep_grid__run(&grid, st))
        goto out;
    for (size_t k = 0; k < config->n_loops; k++) {
        struct sweep_loop_result *loop = &sweep->loop[k];
        loop->base = grid.cell[k];
        loop->base.speedup = isnan(loop->base.cycles) ? NAN : 1;
        loop->error = grid.error[k];
        grid.error[k] = NULL;
        for (size_t i = 0; i < n_points; i++)
            loop->point[i] = grid.cell[(i + 1) * config->n_loops + k];
        summarise(&sweep->spec, loop);
    }
    rc = 0;
out:
    for (size_t k = 0; grid.error && k < config->n_loops; k++)
        free(grid.error[k]);
    free(grid.error);
    free(grid.cell);
    free(variant);
    return rc;
}

void sweep__free(struct sweep *sweep)
{
    for (size_t k = 0; sweep->loop && k < sweep->n_loops; k++) {
        free(sweep->loop[k].name);
        free(sweep->loop[k].error);
        free(sweep->loop[k].point);
    }
    free(sweep->loop);
    sweep_spec__free(&sweep->spec);
    memset(sweep, 0, sizeof *sweep);
}
