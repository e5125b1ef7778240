/* SPDX-License-Identifier: Apache-2.0 */
/* Strings: building, cutting, numbers in and out, independent of the locale. */
#ifndef FATHOM_BASE_TEXT_H
#define FATHOM_BASE_TEXT_H

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A new string from a printf format; NULL when memory is out. */
char *text__printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *text__vprintf(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

bool text__starts_with(const char *text, const char *prefix);
bool text__ends_with(const char *text, const char *suffix);
/* Cuts white space at both ends of a string in place; returns its new beginning. */
char *text__trim(char *text);

/* The whole of `text` as a number; false if it is none or out of range. 0x for hexadecimal. */
bool text__to_u64(const char *text, uint64_t *value);
/* A finite decimal number with '.' in every locale; *end is the first character after it. */
bool text__to_double(const char *text, double *value, const char **end);
enum { TEXT_DOUBLE_MAX = 32 };
/* The shortest decimal that reads back as `value`: the same on every host. "nan", "inf", "-inf" are
 * spelled so. Returns `buf`. */
const char *text__from_double(double value, char buf[TEXT_DOUBLE_MAX]);

/* Number of edits between two strings, at most `limit` + 1; for "did you mean". */
unsigned text__distance(const char *a, const char *b, unsigned limit);

#endif
