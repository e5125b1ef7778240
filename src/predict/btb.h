/* SPDX-License-Identifier: Apache-2.0 */
/* Branch target buffer: which addresses hold taken branches. Sets in order of last use. */
#ifndef FATHOM_PREDICT_BTB_H
#define FATHOM_PREDICT_BTB_H

#include <stdbool.h>
#include <stdint.h>

struct btb {
    uint64_t *addr; /* sets x ways; 0: empty */
    uint32_t sets, ways;
    uint32_t mask;  /* sets - 1 if that is a mask, else 0 */
    uint32_t shift; /* address bits below the set number */
};

/* Branches in the same 1 << shift bytes share a set. `entries` 0: a BTB that never hits. Zero on
 * success, -1 without memory. */
int btb__init(struct btb *b, uint32_t entries, uint32_t ways, uint32_t shift);
void btb__fini(struct btb *b);
/* True if the branch is known; it becomes the latest of its set. */
bool btb__touch(struct btb *b, uint64_t addr);
bool btb__has(const struct btb *b, uint64_t addr);
/* Adds a branch that is not known; the one used longest ago leaves. */
void btb__insert(struct btb *b, uint64_t addr);

#endif
