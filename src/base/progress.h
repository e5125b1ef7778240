/* SPDX-License-Identifier: Apache-2.0 */
/* One line on standard error that says how far a long job is; only on a terminal, only after two
 * seconds, at most five times a second. */
#ifndef FATHOM_BASE_PROGRESS_H
#define FATHOM_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;        /* NULL: nothing is ever shown */
    uint64_t next_ns; /* not before this moment (monotonic clock) */
    uint64_t start_ns;
    unsigned width; /* columns of the terminal */
    bool shown;     /* a line stands there and must be cleared */
};

void progress__init(struct progress *progress);
/* True when an update would be shown now; asks the clock only (cheap enough for every batch). */
bool progress__due(struct progress *progress);
/* Shows a line from a printf format if one is due; cut at the width of the terminal. */
void progress__show(struct progress *progress, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Removes the line. To be called before anything else is printed and at the end. */
void progress__clear(struct progress *progress);
/* Seconds since progress__init. */
double progress__seconds(const struct progress *progress);

#endif
