/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps on a terminal: a table and a plot of characters, or a heat map. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/sweep_view.h"

enum { DEFAULT_WIDTH = 100, PLOT_ROWS = 16, MARGIN = 9, MAX_LETTERS = 26, NAME_COLUMN = 20 };

static void heading(const struct sweep *sweep, FILE *out)
{
    char label[SWEEP_LABEL_MAX];

    fprintf(out, "Sweep of %s", sweep_view__axis(&sweep->spec.axis[0], label));
    if (sweep->spec.n_axes > 1)
        fprintf(out, " and %s", sweep_view__axis(&sweep->spec.axis[1], label));
    fprintf(out, " on %s (%s)%s\n", sweep->core.title, sweep->core.name,
            sweep->model == LOOPSIM_UFS ? ", published UFS rules" : "");
}

static void number(double value, int columns, int digits, FILE *out)
{
    if (isnan(value))
        fprintf(out, "%*s", columns, "-");
    else
        fprintf(out, "%*.*f", columns, digits, value);
}

static const char *mark(const struct sweep_point *p)
{
    return p->periodic || isnan(p->cycles) ? " " : "~";
}

static void report_error(const struct sweep_loop_result *loop, FILE *out)
{
    if (loop->error)
        fprintf(out, "  %s: no figure: %s\n", loop->name, loop->error);
}

/* --- one axis --------------------------------------------------------------------------------- */

struct plot {
    const struct sweep *sweep;
    double low, high;
    unsigned columns;
    char *cell; /* PLOT_ROWS x columns */
};

static void put(struct plot *plot, const struct sweep_loop_result *loop, size_t i, char letter)
{
    size_t n = plot->sweep->spec.axis[0].n;
    double y = loop->point[i].cycles, span = plot->high - plot->low;
    unsigned column = n > 1 ? (unsigned)(i * (plot->columns - 1) / (n - 1)) : 0;

    if (isnan(y))
        return;
    unsigned row = (unsigned)lround((PLOT_ROWS - 1) * (span > 0 ? (y - plot->low) / span : 0));
    char *cell = &plot->cell[(PLOT_ROWS - 1 - row) * plot->columns + column];
    *cell = *cell == ' ' || *cell == letter ? letter : '*';
}

static void print_plot(const struct plot *plot, FILE *out)
{
    const struct sweep_axis *axis = &plot->sweep->spec.axis[0];
    char first[TEXT_DOUBLE_MAX], last[TEXT_DOUBLE_MAX], label[SWEEP_LABEL_MAX];

    fprintf(out, "\n  cycles per iteration\n");
    for (unsigned row = 0; row < PLOT_ROWS; row++) {
        double y = plot->high - (plot->high - plot->low) * row / (PLOT_ROWS - 1);
        const char *cells = &plot->cell[row * plot->columns];
        int n = (int)plot->columns;
        while (n && cells[n - 1] == ' ')
            n--;
        if (row % 5 == 0)
            fprintf(out, "%*.2f |%.*s\n", MARGIN, y, n, cells);
        else
            fprintf(out, "%*s |%.*s\n", MARGIN, "", n, cells);
    }
    fprintf(out, "%*s +", MARGIN, "");
    for (unsigned i = 0; i < plot->columns; i++)
        fputc('-', out);
    sweep_view__value(axis, 0, first);
    sweep_view__value(axis, axis->n - 1, last);
    fprintf(out, "\n%*s  %-*s%s   %s\n", MARGIN, "", (int)plot->columns - (int)strlen(last), first, last,
            sweep_view__axis(axis, label));
}

static void plot(const struct sweep *sweep, unsigned width, FILE *out)
{
    size_t n = sweep->spec.axis[0].n;
    struct plot p = {.sweep = sweep, .low = INFINITY, .high = -INFINITY};

    p.columns = width > 60 ? 60 : width > MARGIN + 20 ? width - MARGIN - 4 : 20;
    for (size_t k = 0; k < sweep->n_loops; k++) {
        if (isnan(sweep->loop[k].min_cycles))
            continue;
        p.low = fmin(p.low, sweep->loop[k].min_cycles);
        p.high = fmax(p.high, sweep->loop[k].max_cycles);
    }
    if (n < 2 || p.high < p.low || !(p.cell = malloc(PLOT_ROWS * p.columns)))
        return;
    if (p.high == p.low) {
        p.low -= 0.5;
        p.high += 0.5;
    }
    memset(p.cell, ' ', PLOT_ROWS * p.columns);
    for (size_t k = 0; k < sweep->n_loops; k++)
        for (size_t i = 0; i < n && !sweep->loop[k].error; i++)
            put(&p, &sweep->loop[k], i, k < MAX_LETTERS ? (char)('a' + (int)k) : '+');
    print_plot(&p, out);
    free(p.cell);
}

static void legend(const struct sweep *sweep, FILE *out)
{
    const struct sweep_axis *axis = &sweep->spec.axis[0];

    fputc('\n', out);
    for (size_t k = 0; k < sweep->n_loops; k++) {
        const struct sweep_loop_result *loop = &sweep->loop[k];
        if (loop->error)
            continue;
        fprintf(out, "  %c  %s: %.2f cycles per iteration on the unmodified core",
                k < MAX_LETTERS ? (char)('a' + (int)k) : '+', loop->name, loop->base.cycles);
        if (!isnan(loop->slope))
            fprintf(out, "; slope %+.3g cycles per %s of %s", loop->slope,
                    axis->effective ? "unit" : "whole factor", axis->name);
        fputc('\n', out);
    }
}

static void table_row(const struct sweep *sweep, size_t from, size_t to, size_t i, FILE *out)
{
    const struct sweep_axis *axis = &sweep->spec.axis[0];
    char value[TEXT_DOUBLE_MAX];

    fprintf(out, "%12s", sweep_view__value(axis, i, value));
    if (axis->factor && axis->effective)
        fprintf(out, " %8s", sweep_view__number(axis->effective[i], value));
    for (size_t k = from; k < to; k++) {
        const struct sweep_point *p = &sweep->loop[k].point[i];
        if (sweep->loop[k].error)
            continue;
        number(p->cycles, 12, 2, out);
        fputs(mark(p), out);
        number(p->speedup, 7, 2, out);
    }
    fputc('\n', out);
}

/* As many loops side by side as fit. */
static void table(const struct sweep *sweep, unsigned width, FILE *out)
{
    const struct sweep_axis *axis = &sweep->spec.axis[0];
    bool two = axis->factor && axis->effective;
    size_t across = width > 40 ? (width - 22) / NAME_COLUMN : 1;

    for (size_t from = 0; from < sweep->n_loops; from += across) {
        size_t to = from + across < sweep->n_loops ? from + across : sweep->n_loops;
        fprintf(out, "\n%12s", "");
        if (two)
            fprintf(out, " %8s", "");
        for (size_t k = from; k < to; k++)
            if (!sweep->loop[k].error)
                fprintf(out, "  %*.*s", NAME_COLUMN - 2, NAME_COLUMN - 2, sweep->loop[k].name);
        fprintf(out, "\n%12.12s", axis->name);
        if (two)
            fprintf(out, " %8s", axis->unit);
        for (size_t k = from; k < to; k++)
            if (!sweep->loop[k].error)
                fprintf(out, "%12s %7s", "cycles", "speedup");
        fputc('\n', out);
        for (size_t i = 0; i < axis->n; i++)
            table_row(sweep, from, to, i, out);
    }
}

/* --- two axes --------------------------------------------------------------------------------- */

/* Steps of the 256-colour cube: red over white to blue, by the logarithm of the speed-up. */
static int cell_color(double speedup, double reach)
{
    static const uint8_t slower[] = {231, 224, 217, 210, 203, 196}, faster[] = {231, 195, 159, 123, 87, 51};
    double t = reach > 0 ? fabs(log(speedup)) / reach : 0;
    int k = (int)lround(fmin(t, 1) * 5);
    return speedup < 1 ? slower[k] : faster[k];
}

static char shade(double speedup, double low, double high)
{
    static const char shades[] = " .:-=+*#%@";
    double t = high > low ? (speedup - low) / (high - low) : 0;
    return shades[(int)lround(t * 9)];
}

struct heat {
    const struct sweep *sweep;
    const struct sweep_loop_result *loop;
    double low, high, reach; /* of the speed-ups */
    bool color;
    bool numbers; /* wide enough for them */
};

static void heat_row(const struct heat *h, size_t y, FILE *out)
{
    const struct sweep_axis *ax = &h->sweep->spec.axis[0], *ay = &h->sweep->spec.axis[1];
    char value[TEXT_DOUBLE_MAX];

    fprintf(out, "%10s |", sweep_view__value(ay, y, value));
    for (size_t x = 0; x < ax->n; x++) {
        double s = h->loop->point[y * ax->n + x].speedup;
        if (h->color && !isnan(s))
            fprintf(out, "\033[30;48;5;%dm", cell_color(s, h->reach));
        if (h->numbers)
            number(s, 5, 2, out);
        else if (isnan(s))
            fputs(" ?", out);
        else
            fprintf(out, "%c%c", shade(s, h->low, h->high), shade(s, h->low, h->high));
        if (h->color && !isnan(s))
            fputs("\033[0m", out);
    }
    fputc('\n', out);
}

static void heat_map(const struct sweep *sweep, const struct sweep_loop_result *loop,
                     const struct sweep_text_options *opt, unsigned width, FILE *out)
{
    const struct sweep_axis *ax = &sweep->spec.axis[0], *ay = &sweep->spec.axis[1];
    char label[SWEEP_LABEL_MAX], a[TEXT_DOUBLE_MAX], b[TEXT_DOUBLE_MAX];
    struct heat h = {.sweep = sweep, .loop = loop, .color = opt->color};

    h.low = loop->base.cycles / loop->max_cycles;
    h.high = loop->base.cycles / loop->min_cycles;
    h.reach = fmax(fabs(log(h.low)), fabs(log(h.high)));
    h.numbers = 12 + 5 * ax->n <= width;
    fprintf(out, "\n%s: speed-up against the unmodified core (%.2f cycles per iteration)\n\n", loop->name,
            loop->base.cycles);
    if (isnan(loop->min_cycles)) {
        fputs("  no point has a figure\n", out);
        return;
    }
    fprintf(out, "  %s\n", sweep_view__axis(ay, label));
    for (size_t y = ay->n; y-- > 0;)
        heat_row(&h, y, out);
    fprintf(out, "%10s +", "");
    for (size_t x = 0; x < ax->n * (h.numbers ? 5 : 2); x++)
        fputc('-', out);
    fprintf(out, "\n%10s  ", "");
    for (size_t x = 0; x < ax->n && h.numbers; x++)
        fprintf(out, "%5s", sweep_view__value(ax, x, a));
    if (!h.numbers)
        fprintf(out, "%s .. %s", sweep_view__value(ax, 0, a), sweep_view__value(ax, ax->n - 1, b));
    fprintf(out, "   %s\n", sweep_view__axis(ax, label));
    if (!h.numbers)
        fprintf(out, "%10s  shades \" .:-=+*#%%@\" from %.2f to %.2f\n", "", h.low, h.high);
    if (h.high < 1.005 * h.low) {
        fputs("\n  neither makes a difference of half a percent\n", out);
        return;
    }
    fprintf(out, "\n  best %.2fx at %s %s, %s %s\n", h.high, ax->name,
            sweep_view__value(ax, loop->best % ax->n, a), ay->name,
            sweep_view__value(ay, loop->best / ax->n, b));
    fprintf(out, "  worst %.2fx at %s %s, %s %s\n", h.low, ax->name,
            sweep_view__value(ax, loop->worst % ax->n, a), ay->name,
            sweep_view__value(ay, loop->worst / ax->n, b));
}

static bool any_figure(const struct sweep *sweep)
{
    for (size_t k = 0; k < sweep->n_loops; k++)
        if (!sweep->loop[k].error)
            return true;
    return false;
}

static bool any_inexact(const struct sweep *sweep)
{
    size_t n = sweep_spec__points(&sweep->spec);
    for (size_t k = 0; k < sweep->n_loops; k++)
        for (size_t i = 0; i < n; i++)
            if (*mark(&sweep->loop[k].point[i]) != ' ')
                return true;
    return false;
}

void view__sweep_text(const struct sweep *sweep, const struct sweep_text_options *opt, FILE *out)
{
    unsigned width = opt->width ? opt->width : DEFAULT_WIDTH;

    heading(sweep, out);
    if (sweep->spec.n_axes == 1 && any_figure(sweep)) {
        table(sweep, width, out);
        plot(sweep, width, out);
        legend(sweep, out);
        if (any_inexact(sweep))
            fputs("  ~ no period was found: an average\n", out);
    }
    for (size_t k = 0; k < sweep->n_loops; k++) {
        if (sweep->loop[k].error)
            report_error(&sweep->loop[k], out);
        else if (sweep->spec.n_axes > 1)
            heat_map(sweep, &sweep->loop[k], opt, width, out);
    }
}

/* --- what-if ---------------------------------------------------------------------------------- */

static bool is_flat(const struct what_if_row *row)
{
    return row->point.speedup > 0.995 && row->point.speedup < 1.005;
}

static void what_if_loop(const struct what_if_loop *loop, bool all, FILE *out)
{
    size_t n_flat = 0;

    fprintf(out, "\n%s: %.2f cycles per iteration\n", loop->name, loop->base.cycles);
    fprintf(out, "  %8s %8s  %s\n", "cycles", "speedup", "change");
    for (size_t i = 0; i < loop->n_rows; i++) {
        const struct what_if_row *row = &loop->row[i];
        if (!all && is_flat(row)) {
            n_flat++;
            continue;
        }
        fputs("  ", out);
        number(row->point.cycles, 8, 2, out);
        number(row->point.speedup, 8, 2, out);
        fprintf(out, "%s %s\n", isnan(row->point.speedup) ? " " : "x", row->change);
    }
    if (n_flat)
        fprintf(out, "  without effect (less than 0.5 %%): %zu of %zu changes\n", n_flat, loop->n_rows);
    fprintf(out, "  %s\n", loop->verdict);
}

void view__what_if_text(const struct what_if *what, const struct sweep_text_options *opt, FILE *out)
{
    fprintf(out, "What if one thing changed, on %s (%s)%s\n", what->core.title, what->core.name,
            what->model == LOOPSIM_UFS ? ", published UFS rules" : "");
    for (size_t k = 0; k < what->n_loops; k++) {
        if (what->loop[k].error)
            fprintf(out, "\n%s: no figure: %s\n", what->loop[k].name, what->loop[k].error);
        else
            what_if_loop(&what->loop[k], opt->all, out);
    }
}
