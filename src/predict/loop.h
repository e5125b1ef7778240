/* SPDX-License-Identifier: Apache-2.0 */
/* Loops with a constant number of iterations (BP-9). */
#ifndef FATHOM_PREDICT_LOOP_H
#define FATHOM_PREDICT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_entry {
    uint64_t addr;
    uint16_t trip;    /* executions up to and including the exit; 0: not known */
    uint16_t current; /* executions since the last exit */
    uint8_t confidence, age;
    bool body; /* direction inside the loop */
};

struct loop_predictor {
    struct loop_entry *entry;
    uint32_t sets;
    int32_t trust; /* >= 0: overrides the other predictor */
};

/* `n_entries` 0: no loop predictor. Zero on success, -1 without memory. */
int loop__init(struct loop_predictor *l, uint32_t n_entries);
void loop__fini(struct loop_predictor *l);
/* The entry of the branch or NULL; true in *confident if its prediction *taken may be used. */
struct loop_entry *loop__lookup(const struct loop_predictor *l, uint64_t addr, bool *confident, bool *taken);
/* Learns an outcome; `other` is what the other predictor said. */
void loop__update(struct loop_predictor *l, struct loop_entry *e, uint64_t addr, bool taken, bool other);

#endif
