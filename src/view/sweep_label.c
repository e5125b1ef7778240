/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and numbers of sweeps, the same in all renderings. */
#include <math.h>
#include <string.h>

#include "view/sweep_view.h"

const char *sweep_view__axis(const struct sweep_axis *axis, char buf[SWEEP_LABEL_MAX])
{
    if (axis->factor)
        snprintf(buf, SWEEP_LABEL_MAX, "%s [x core's own]", axis->name);
    else if (*axis->unit)
        snprintf(buf, SWEEP_LABEL_MAX, "%s [%s]", axis->name, axis->unit);
    else
        snprintf(buf, SWEEP_LABEL_MAX, "%s", axis->name);
    return buf;
}

const char *sweep_view__value(const struct sweep_axis *axis, size_t i, char buf[TEXT_DOUBLE_MAX])
{
    sweep_view__number(axis->value[i], buf);
    if (axis->factor)
        strcat(buf, "x");
    return buf;
}

const char *sweep_view__number(double value, char buf[TEXT_DOUBLE_MAX])
{
    snprintf(buf, TEXT_DOUBLE_MAX - 1, "%.10g", value); /* room for an x */
    return buf;
}

void sweep_view__csv_field(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void sweep_view__csv_number(double value, FILE *out)
{
    char buf[TEXT_DOUBLE_MAX];

    if (isfinite(value))
        fputs(sweep_view__number(round(value * 1e6) / 1e6, buf), out);
}

double sweep_view__ticks(double low, double high, unsigned n, double *first)
{
    double span = high > low ? high - low : 1, step = pow(10, floor(log10(span / n)));

    if (span / step > 5 * n)
        step *= 10;
    else if (span / step > 2 * n)
        step *= 5;
    else if (span / step > n)
        step *= 2;
    *first = ceil(low / step - 1e-9) * step;
    return step;
}
