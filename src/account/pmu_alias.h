/* SPDX-License-Identifier: Apache-2.0 */
/* Other names of the simulated PMU's events. Internal to account/. */
#ifndef ACCOUNT_PMU_ALIAS_H
#define ACCOUNT_PMU_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

#include "fathom/account.h"

enum { PMU_WIDTH_LESS = 0x80 }; /* PMU_WIDTH_LESS + n: issue width - n */

/* A mask here is part of the event: the name then takes no further one, except cmask 1, which changes nothing
 * where a cycle counts 0 or 1. */
struct pmu_alias {
    const char *name;
    uint8_t event; /* enum pmu_event, PMU_NEVER included */
    uint8_t n;     /* cmask, or from PMU_WIDTH_LESS on */
    uint8_t mask;  /* enum pmu_mask */
    bool edge;
};

/* NULL: no such name. Upper and lower case are alike, as in perf. */
const struct pmu_alias *pmu_alias__find(const char *name);

#endif
