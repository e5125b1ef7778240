/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles per iteration of an endless loop from its cycle reports. */
#ifndef FATHOM_STEADY_H
#define FATHOM_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/report.h"

enum { STEADY_MIN_ITERATIONS = 10, STEADY_MIN_CYCLES = 500 }; /* TP-1 */

/* Retirement of each iteration's last instruction (TP-2). */
struct steady_iteration {
    int64_t cycle;
    unsigned position; /* among the uops retired in that cycle */
};

struct steady {
    struct listener listener; /* first member */
    uint32_t last_site;       /* position of the last instruction in the block */
    int64_t now;
    struct steady_iteration *iteration;
    size_t n, cap;         /* iterations that ended */
    bool partial;          /* a uop of the next one has retired */
    bool done;             /* TP-1 reached: later reports are ignored */
    uint64_t delivered[5]; /* laminated uops by enum fetch_source */
};

void steady__init(struct steady *s, uint32_t n_insns);
void steady__free(struct steady *s);
/* Ready for another loop, keeping its memory. */
void steady__reset(struct steady *s, uint32_t n_insns);
/* TP-3, TP-4, not rounded; NAN if no iteration ended. */
double steady__cycles(const struct steady *s);

/* Looks for the shortest period of the retirement pattern (cycles and positions) that has held for the whole
 * second half of the run and at least three times. False: none. */
bool steady__period(const struct steady *s, uint32_t *iterations, uint64_t *cycles);
/* enum fetch_source that delivered most. */
uint8_t steady__source(const struct steady *s);

#endif
