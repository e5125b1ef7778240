/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps as pictures: plain SVG 1.1 without scripts, fonts or links, the same bytes for the same sweep. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "view/sweep_view.h"

enum {
    LEFT = 74,
    TOP = 58,
    PLOT_W = 520,
    PLOT_H = 320,
    LEGEND_LINE = 18,
    HEAT_MAX = 460,
    BAR_H = 20,
    BAR_LABEL = 370,
    BAR_W = 300,
};

/* --- elements --------------------------------------------------------------------------------- */

void svg__escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '&')
            fputs("&amp;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else
            fputc(c < 0x20 || c >= 0x7f ? '?' : c, out);
    }
}

void svg__begin(struct svg *svg, FILE *out, double width, double height, const char *title)
{
    *svg = (struct svg){.out = out, .width = width, .height = height};
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
            "%.0f\" role=\"img\">\n<title>",
            width, height, width, height);
    svg__escaped(title, out);
    fputs(
        "</title>\n<style>\ntext { font-family: sans-serif; font-size: 12px; fill: #222 }\n"
        ".title { font-size: 15px; font-weight: bold }\n.note { fill: #666 }\n"
        ".middle { text-anchor: middle }\n.end { text-anchor: end }\n.small { font-size: 9px }\n"
        ".axis { stroke: #444 }\n.grid { stroke: #ddd }\n.own { stroke: #222; stroke-width: 2; fill: none }\n"
        "</style>\n",
        out);
    fprintf(out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", width, height);
}

void svg__end(struct svg *svg)
{
    fputs("</svg>\n", svg->out);
}

void svg__line(struct svg *svg, double x1, double y1, double x2, double y2, const char *css)
{
    fprintf(svg->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", css, x1, y1,
            x2, y2);
}

void svg__text(struct svg *svg, double x, double y, const char *css, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(svg->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", css, x, y);
    svg__escaped(text, svg->out);
    fputs("</text>\n", svg->out);
}

static void upright_text(struct svg *svg, double x, double y, const char *text)
{
    fprintf(svg->out, "<text class=\"middle\" transform=\"translate(%.1f %.1f) rotate(-90)\">", x, y);
    svg__escaped(text, svg->out);
    fputs("</text>\n", svg->out);
}

static void heading(struct svg *svg, const char *title, const struct core *core, enum loopsim_model model)
{
    svg__text(svg, 16, 24, "title", "%s", title);
    svg__text(svg, 16, 42, "note", "%s (%s)%s; simulated by fathom", core->title, core->name,
              model == LOOPSIM_UFS ? ", published UFS rules" : "");
}

/* --- one axis: a curve a loop ----------------------------------------------------------------- */

static const char *const curve_color[] = {"#1f6fb4", "#d9541e", "#2f9e44", "#8e44ad", "#b8860b",
                                          "#0f9ba8", "#c2255c", "#5c5f66", "#6b8e23", "#7a3e1d"};
enum { N_CURVE_COLORS = sizeof curve_color / sizeof curve_color[0] };

struct curves {
    struct svg svg;
    const struct sweep_axis *axis;
    double x_low, x_high, y_low, y_high;
};

static double to_x(const struct curves *c, double value)
{
    double span = c->x_high - c->x_low;
    return LEFT + (span > 0 ? (value - c->x_low) / span : 0.5) * PLOT_W;
}

static double to_y(const struct curves *c, double cycles)
{
    return TOP + PLOT_H - (cycles - c->y_low) / (c->y_high - c->y_low) * PLOT_H;
}

static void scales(struct curves *c)
{
    char buf[TEXT_DOUBLE_MAX], label[SWEEP_LABEL_MAX];
    double first, step = sweep_view__ticks(c->y_low, c->y_high, 6, &first);

    for (double y = first; y <= c->y_high + step * 1e-6; y += step) {
        svg__line(&c->svg, LEFT, to_y(c, y), LEFT + PLOT_W, to_y(c, y), "grid");
        svg__text(&c->svg, LEFT - 6, to_y(c, y) + 4, "end", "%s",
                  sweep_view__number(round(y * 1e6) / 1e6, buf));
    }
    step = sweep_view__ticks(c->x_low, c->x_high, 10, &first);
    for (double x = first; x <= c->x_high + step * 1e-6; x += step) {
        svg__line(&c->svg, to_x(c, x), TOP + PLOT_H, to_x(c, x), TOP + PLOT_H + 5, "axis");
        svg__text(&c->svg, to_x(c, x), TOP + PLOT_H + 19, "middle", "%s",
                  sweep_view__number(round(x * 1e6) / 1e6, buf));
    }
    svg__line(&c->svg, LEFT, TOP, LEFT, TOP + PLOT_H, "axis");
    svg__line(&c->svg, LEFT, TOP + PLOT_H, LEFT + PLOT_W, TOP + PLOT_H, "axis");
    svg__text(&c->svg, LEFT + PLOT_W / 2.0, TOP + PLOT_H + 40, "middle", "%s",
              sweep_view__axis(c->axis, label));
    upright_text(&c->svg, 20, TOP + PLOT_H / 2.0, "cycles per iteration");
}

static void curve(struct curves *c, const struct sweep_loop_result *loop, const char *color)
{
    bool drawn = false;

    fprintf(c->svg.out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" d=\"", color);
    for (size_t i = 0; i < c->axis->n; i++) {
        double y = loop->point[i].cycles;
        if (isnan(y)) {
            drawn = false;
            continue;
        }
        fprintf(c->svg.out, "%s%.1f %.1f", drawn ? " L" : "M", to_x(c, c->axis->value[i]), to_y(c, y));
        drawn = true;
    }
    fputs("\"/>\n", c->svg.out);
    for (size_t i = 0; i < c->axis->n; i++)
        if (!isnan(loop->point[i].cycles))
            fprintf(c->svg.out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"%s\"/>\n",
                    to_x(c, c->axis->value[i]), to_y(c, loop->point[i].cycles), color);
}

static void measure(struct curves *c, const struct sweep *sweep)
{
    c->axis = &sweep->spec.axis[0];
    c->x_low = c->y_low = INFINITY;
    c->x_high = c->y_high = -INFINITY;
    for (size_t i = 0; i < c->axis->n; i++) {
        c->x_low = fmin(c->x_low, c->axis->value[i]);
        c->x_high = fmax(c->x_high, c->axis->value[i]);
    }
    for (size_t k = 0; k < sweep->n_loops; k++) { /* fmin and fmax pass over NAN */
        c->y_low = fmin(c->y_low, sweep->loop[k].min_cycles);
        c->y_high = fmax(c->y_high, sweep->loop[k].max_cycles);
    }
    if (c->y_high < c->y_low)
        c->y_high = 1;
    c->y_low = 0; /* proportions can be seen */
    c->y_high *= 1.05;
}

static void curves(const struct sweep *sweep, const char *title, FILE *out)
{
    struct curves c = {0};
    double height = TOP + PLOT_H + 62 + LEGEND_LINE * (double)sweep->n_loops;

    measure(&c, sweep);
    svg__begin(&c.svg, out, LEFT + PLOT_W + 30, height, title);
    heading(&c.svg, title, &sweep->core, sweep->model);
    scales(&c);
    for (size_t k = 0; k < sweep->n_loops; k++) {
        const struct sweep_loop_result *loop = &sweep->loop[k];
        const char *color = curve_color[k % N_CURVE_COLORS];
        double y = TOP + PLOT_H + 62 + LEGEND_LINE * (double)k;
        if (loop->error) {
            svg__text(&c.svg, LEFT + 30, y, "note", "%.60s: no figure", loop->name);
            continue;
        }
        curve(&c, loop, color);
        fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"20\" height=\"3\" fill=\"%s\"/>\n", LEFT, y - 5,
                color);
        svg__text(&c.svg, LEFT + 30, y, "", "%.60s (unmodified core: %.2f cycles per iteration)", loop->name,
                  loop->base.cycles);
    }
    svg__end(&c.svg);
}

/* --- two axes: a heat map a loop -------------------------------------------------------------- */

struct heat {
    struct svg *svg;
    const struct sweep *sweep;
    const struct sweep_loop_result *loop;
    double top, cell_w, cell_h;
    double reach; /* largest |log speed-up| */
};

/* Red below 1, white at 1, blue above, by the logarithm: halving and doubling are equally strong. */
static void color_of(double speedup, double reach, char buf[8])
{
    static const double slow[] = {178, 24, 43}, fast[] = {33, 102, 172};
    double t = reach > 0 ? fmin(fabs(log(speedup)) / reach, 1) : 0;
    const double *end = speedup < 1 ? slow : fast;
    unsigned c[3];

    for (int i = 0; i < 3; i++)
        c[i] = (unsigned)lround(255 + (end[i] - 255) * t) & 0xff;
    snprintf(buf, 8, "#%02x%02x%02x", c[0], c[1], c[2]);
}

static void heat_cell(const struct heat *h, size_t x, size_t y)
{
    const struct sweep_axis *ax = &h->sweep->spec.axis[0], *ay = &h->sweep->spec.axis[1];
    const struct sweep_point *p = &h->loop->point[y * ax->n + x];
    double px = LEFT + h->cell_w * (double)x, py = h->top + h->cell_h * (double)(ay->n - 1 - y);
    char color[8] = "#cccccc", a[TEXT_DOUBLE_MAX], b[TEXT_DOUBLE_MAX];

    if (!isnan(p->speedup))
        color_of(p->speedup, h->reach, color);
    fprintf(h->svg->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>%s %s, %s %s: ",
            px, py, h->cell_w, h->cell_h, color, ax->name, sweep_view__value(ax, x, a), ay->name,
            sweep_view__value(ay, y, b));
    if (isnan(p->speedup))
        fputs("no figure</title></rect>\n", h->svg->out);
    else
        fprintf(h->svg->out, "%.2f cycles, %.3fx</title></rect>\n", p->cycles, p->speedup);
    if (isnan(p->speedup) || h->cell_w < 22)
        return;
    bool dark = h->reach > 0 && fabs(log(p->speedup)) / h->reach > 0.6;
    fprintf(h->svg->out, "<text class=\"small middle\" x=\"%.1f\" y=\"%.1f\"%s>%.2f</text>\n",
            px + h->cell_w / 2, py + h->cell_h / 2 + 3, dark ? " style=\"fill:#fff\"" : "", p->speedup);
}

/* So that labels do not run into each other. */
static size_t label_every(double cell, double need)
{
    return cell < need ? (size_t)ceil(need / cell) : 1;
}

static void heat_labels(const struct heat *h)
{
    const struct sweep_axis *ax = &h->sweep->spec.axis[0], *ay = &h->sweep->spec.axis[1];
    double width = h->cell_w * (double)ax->n, height = h->cell_h * (double)ay->n, bottom = h->top + height;
    char buf[TEXT_DOUBLE_MAX], label[SWEEP_LABEL_MAX];

    for (size_t x = 0; x < ax->n; x += label_every(h->cell_w, 34))
        svg__text(h->svg, LEFT + h->cell_w * ((double)x + 0.5), bottom + 15, "middle", "%s",
                  sweep_view__value(ax, x, buf));
    for (size_t y = 0; y < ay->n; y += label_every(h->cell_h, 14))
        svg__text(h->svg, LEFT - 6, bottom - h->cell_h * ((double)y + 0.5) + 4, "end", "%s",
                  sweep_view__value(ay, y, buf));
    svg__text(h->svg, LEFT + width / 2, bottom + 34, "middle", "%s", sweep_view__axis(ax, label));
    upright_text(h->svg, 20, h->top + height / 2, sweep_view__axis(ay, label));
}

/* The unmodified core, where it is a point of the grid. */
static void heat_own(const struct heat *h)
{
    const struct sweep_axis *ax = &h->sweep->spec.axis[0], *ay = &h->sweep->spec.axis[1];
    size_t i = h->sweep->own;

    if (i == SWEEP_NO_POINT)
        return;
    fprintf(h->svg->out,
            "<rect class=\"own\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>unmodified "
            "core</title></rect>\n",
            LEFT + h->cell_w * (double)(i % ax->n), h->top + h->cell_h * (double)(ay->n - 1 - i / ax->n),
            h->cell_w, h->cell_h);
}

static void heat_scale(const struct heat *h)
{
    enum { STEPS = 40 };
    double x = LEFT + h->cell_w * (double)h->sweep->spec.axis[0].n + 30;
    double height = h->cell_h * (double)h->sweep->spec.axis[1].n, step = height / STEPS;
    static const double ticks[] = {-1, -0.5, 0, 0.5, 1};
    char color[8];

    for (int i = 0; i < STEPS; i++) {
        color_of(exp(h->reach * (1 - 2 * (i + 0.5) / STEPS)), h->reach, color);
        fprintf(h->svg->out, "<rect x=\"%.1f\" y=\"%.2f\" width=\"18\" height=\"%.2f\" fill=\"%s\"/>\n", x,
                h->top + step * i, step + 0.2, color);
    }
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++)
        if (h->reach > 0 || ticks[i] == 0)
            svg__text(h->svg, x + 24, h->top + height * (1 - ticks[i]) / 2 + 4, "", "%.2fx",
                      exp(h->reach * ticks[i]));
    svg__text(h->svg, x, h->top + height + 15, "", "speed-up");
}

static void heat_map(struct heat *h)
{
    const struct sweep_spec *spec = &h->sweep->spec;

    svg__text(h->svg, LEFT, h->top - 8, "", "%.48s: 1.00x = %.2f cycles per iteration", h->loop->name,
              h->loop->base.cycles);
    h->reach = fmax(fabs(log(h->loop->base.cycles / h->loop->min_cycles)),
                    fabs(log(h->loop->base.cycles / h->loop->max_cycles)));
    if (isnan(h->reach))
        h->reach = 0;
    for (size_t y = 0; y < spec->axis[1].n; y++)
        for (size_t x = 0; x < spec->axis[0].n; x++)
            heat_cell(h, x, y);
    heat_own(h);
    heat_labels(h);
    heat_scale(h);
}

static double cell_size(size_t n, double smallest, double largest)
{
    return fmax(smallest, fmin(largest, HEAT_MAX / (double)n));
}

static void heat_maps(const struct sweep *sweep, const char *title, FILE *out)
{
    const struct sweep_axis *ax = &sweep->spec.axis[0], *ay = &sweep->spec.axis[1];
    struct svg svg;
    struct heat h = {.svg = &svg, .sweep = sweep};

    h.cell_w = cell_size(ax->n, 4, 40);
    h.cell_h = cell_size(ay->n, 4, 28);
    double panel = h.cell_h * (double)ay->n + 80, width = LEFT + h.cell_w * (double)ax->n + 120;
    svg__begin(&svg, out, fmax(width, 640), TOP + panel * (double)sweep->n_loops, title);
    heading(&svg, title, &sweep->core, sweep->model);
    for (size_t k = 0; k < sweep->n_loops; k++) {
        h.loop = &sweep->loop[k];
        h.top = TOP + 22 + panel * (double)k;
        if (h.loop->error)
            svg__text(&svg, LEFT, h.top - 8, "note", "%.60s: no figure", h.loop->name);
        else
            heat_map(&h);
    }
    svg__end(&svg);
}

void view__sweep_svg(const struct sweep *sweep, FILE *out)
{
    char title[256], loops[64];

    if (sweep->n_loops == 1)
        snprintf(loops, sizeof loops, "%.60s", sweep->loop[0].name);
    else
        snprintf(loops, sizeof loops, "%zu loops", sweep->n_loops);
    if (sweep->spec.n_axes > 1) {
        snprintf(title, sizeof title, "Speed-up of %s by %s and %s", loops, sweep->spec.axis[0].name,
                 sweep->spec.axis[1].name);
        heat_maps(sweep, title, out);
    } else {
        snprintf(title, sizeof title, "Cycles of %s by %s", loops, sweep->spec.axis[0].name);
        curves(sweep, title, out);
    }
}

/* --- what-if: a bar a change ------------------------------------------------------------------ */

static double widest(const struct what_if *what)
{
    double most = 1.1;
    for (size_t k = 0; k < what->n_loops; k++)
        if (what->loop[k].n_rows && what->loop[k].row[0].point.speedup > most)
            most = what->loop[k].row[0].point.speedup;
    return most;
}

static double bars(struct svg *svg, const struct what_if_loop *loop, double y, double most)
{
    svg__text(svg, 16, y, "", "%.60s: %.2f cycles per iteration", loop->name, loop->base.cycles);
    y += BAR_H;
    for (size_t i = 0; i < loop->n_rows; i++, y += BAR_H) {
        const struct what_if_row *row = &loop->row[i];
        double gain = row->point.speedup, w = isnan(gain) ? 0 : BAR_W * gain / most;
        svg__text(svg, BAR_LABEL - 8, y, "end", "%.60s", row->change);
        fprintf(svg->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n", BAR_LABEL,
                y - 10, w,
                gain < 0.995   ? "#b2182b"
                : gain > 1.005 ? "#2166ac"
                               : "#bbbbbb");
        if (isnan(gain))
            svg__text(svg, BAR_LABEL + 6, y, "note", "no figure");
        else
            svg__text(svg, BAR_LABEL + w + 6, y, "", "%.2fx (%.2f cycles)", gain, row->point.cycles);
    }
    return y + BAR_H;
}

void view__what_if_svg(const struct what_if *what, FILE *out)
{
    struct svg svg;
    double y = TOP + 10, height = TOP + 30, most = widest(what), one = BAR_LABEL + BAR_W / most;

    for (size_t k = 0; k < what->n_loops; k++)
        height += BAR_H * (double)(what->loop[k].n_rows + 2);
    svg__begin(&svg, out, BAR_LABEL + BAR_W + 140, height, "Speed-up by single changes of the core");
    heading(&svg, "Speed-up by single changes of the core", &what->core, what->model);
    svg__line(&svg, one, TOP, one, height - 22, "grid");
    svg__text(&svg, one, height - 8, "middle", "1.00x: unmodified core");
    for (size_t k = 0; k < what->n_loops; k++) {
        if (what->loop[k].error) {
            svg__text(&svg, 16, y, "note", "%.60s: no figure", what->loop[k].name);
            y += 2 * BAR_H;
        } else {
            y = bars(&svg, &what->loop[k], y, most);
        }
    }
    svg__end(&svg);
}
