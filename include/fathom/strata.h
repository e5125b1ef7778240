/* SPDX-License-Identifier: Apache-2.0 */
/* Estimation from a stratified sample of windows (docs/sample.md). */
#ifndef FATHOM_STRATA_H
#define FATHOM_STRATA_H

#include <stdbool.h>
#include <stdint.h>

enum { STRATA_MAX = 5 };

/* A part of an execution: measured as a whole, or by windows spread over it. */
struct stratum {
    uint64_t instructions; /* it consists of, measured or not */
    bool whole;            /* all of it was measured, as one window */
    double period;         /* instructions for which one window stands */
    uint64_t n;            /* windows */
    /* sums over the windows of instructions, cycles, and their products */
    double insns, cycles, insns2, cycles2, product;
};
void stratum__add(struct stratum *s, uint64_t instructions, uint64_t cycles);

struct strata_estimate {
    double cycles; /* of the whole execution */
    double error;  /* half of the 99.73 % interval of the cycles; NAN: too few windows to tell */
    unsigned freedom;
    double scale[STRATA_MAX]; /* how often the measured part of a stratum counts in the whole */
};
/*
 * Ratio estimate, cycles to instructions, of each stratum, summed up. A stratum with fewer than two windows
 * is taken together with its neighbour, each window weighted by its period. At least one stratum must have
 * instructions that were measured.
 */
void strata__estimate(const struct stratum *strata, unsigned n, struct strata_estimate *e);
/* Quantile of Student's distribution for a two-sided probability of 99.73 %: 3 for many degrees of freedom.
 */
double strata__three_sigma(unsigned freedom);

#endif
