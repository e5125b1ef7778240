/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text__vprintf(const char *fmt, va_list args)
{
    char *text = NULL;

    return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

char *text__printf(const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = text__vprintf(fmt, args);
    va_end(args);
    return text;
}

bool text__starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text__ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), k = strlen(suffix);

    return k <= n && memcmp(text + n - k, suffix, k) == 0;
}

char *text__trim(char *text)
{
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

bool text__to_u64(const char *text, uint64_t *value)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    unsigned long long v;

    if (!isxdigit((unsigned char)text[hex ? 2 : 0]))
        return false;
    errno = 0;
    v = strtoull(text, &end, hex ? 16 : 10);
    if (errno || *end)
        return false;
    *value = v;
    return true;
}

/* Cuts out by hand what the grammar of a number allows and leaves the value to strtod, with the decimal
 * point that the current locale wants. */
bool text__to_double(const char *text, double *value, const char **end)
{
    char number[64], *point;
    size_t n, digits = 0;
    const char *p = text;

    if (*p == '-' || *p == '+')
        p++;
    for (; isdigit((unsigned char)*p) || *p == '.'; p++)
        digits += *p != '.';
    if (!digits)
        return false;
    if ((*p == 'e' || *p == 'E') &&
        (isdigit((unsigned char)p[1]) || ((p[1] == '-' || p[1] == '+') && isdigit((unsigned char)p[2])))) {
        p += 2;
        while (isdigit((unsigned char)*p))
            p++;
    }
    n = (size_t)(p - text);
    if (n >= sizeof(number) || memchr(text, '.', n) != memrchr(text, '.', n))
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    point = strchr(number, '.');
    if (point)
        *point = localeconv()->decimal_point[0];
    *value = strtod(number, NULL);
    *end = p;
    return isfinite(*value);
}

const char *text__from_double(double value, char buf[TEXT_DOUBLE_MAX])
{
    if (isnan(value))
        return strcpy(buf, "nan");
    if (isinf(value))
        return strcpy(buf, value < 0 ? "-inf" : "inf");
    if (fabs(value) < 1e15 && value == trunc(value)) {
        snprintf(buf, TEXT_DOUBLE_MAX, "%.0f", value);
        return buf;
    }
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(buf, TEXT_DOUBLE_MAX, "%.*g", precision, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    for (char *p = buf; *p; p++)
        if (!strchr("0123456789+-e", *p))
            *p = '.';
    return buf;
}

enum { DISTANCE_MAX = 64 };

unsigned text__distance(const char *a, const char *b, unsigned limit)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned row[DISTANCE_MAX + 1];

    if (n > DISTANCE_MAX || m > DISTANCE_MAX)
        return limit + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[m] <= limit ? row[m] : limit + 1;
}
