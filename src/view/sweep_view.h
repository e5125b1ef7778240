/* SPDX-License-Identifier: Apache-2.0 */
/* What the renderers of sweeps share. */
#ifndef VIEW_SWEEP_VIEW_H
#define VIEW_SWEEP_VIEW_H

#include "base/text.h"
#include "fathom/sweep.h"

enum { SWEEP_LABEL_MAX = 96 };

static inline const char *sweep_view__model(enum loopsim_model model)
{
    return model == LOOPSIM_UFS ? "ufs" : "full";
}

/* The name of an axis with the unit of its values. */
const char *sweep_view__axis(const struct sweep_axis *axis, char buf[SWEEP_LABEL_MAX]);
/* Value `i` as the user would write it: "0.4x", "12". */
const char *sweep_view__value(const struct sweep_axis *axis, size_t i, char buf[TEXT_DOUBLE_MAX]);
/* Up to ten digits, never in powers of ten below a million: labels of axes and values. Returns `buf`. */
const char *sweep_view__number(double value, char buf[TEXT_DOUBLE_MAX]);
/* A field of a CSV line, quoted where it has to be. */
void sweep_view__csv_field(const char *text, FILE *out);
/* A number of a CSV line; nothing when it is unknown. */
void sweep_view__csv_number(double value, FILE *out);
/* About `n` round ticks within [low, high]: the first and the distance. */
double sweep_view__ticks(double low, double high, unsigned n, double *first);

/* --- pictures: one user unit is one pixel --- */

struct svg {
    FILE *out;
    double width, height;
};
void svg__begin(struct svg *svg, FILE *out, double width, double height, const char *title);
void svg__end(struct svg *svg);
void svg__line(struct svg *svg, double x1, double y1, double x2, double y2, const char *css);
/* `css`: class names of the style sheet in svg__begin. */
void svg__text(struct svg *svg, double x, double y, const char *css, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void svg__escaped(const char *text, FILE *out);

#endif
