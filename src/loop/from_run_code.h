/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's places by module and address, and what they say about a piece of code. */
#ifndef FATHOM_LOOP_FROM_RUN_CODE_H
#define FATHOM_LOOP_FROM_RUN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/profile.h"

struct found_loop;
struct found_loops;
struct isa;
struct status;

struct place_index {
    const struct profile_place **place; /* by module and offset */
    size_t *owner;                      /* of each: number of its loop in the module, plus 1; 0: none */
    size_t n;
};

int place_index__build(struct place_index *index, const struct profile *profile, struct status *st);
void place_index__free(struct place_index *index);
/* The weight of each loop of a module. A loop that is not simple may have code of others between its first
 * and last instruction: a place belongs to the shortest loop around it. NULL when memory is out. */
struct site_weight *place_index__loop_weights(struct place_index *index, int module,
                                              const struct found_loops *found);

/*
 * Iterations of loop `number` of a module: executions of its last instruction if it is simple; otherwise of
 * the instruction that ran most often, since the loop's head runs once an iteration and nothing more often.
 * Both halves of a macro-fused pair are counted at the first one (MF-5). `isa` is that of the core that
 * counted.
 */
uint64_t loop_code__iterations(const struct place_index *index, int module, const struct found_loop *loop,
                               size_t number, struct isa *isa);
/* False when instructions that were executed are not those of the loop: the file has changed. */
bool loop_code__is_what_ran(const struct place_index *index, int module, const struct found_loop *loop,
                            struct isa *isa);

/* Is the file of a module still there, and the one that was run? *checked: by its build id. */
int module__check(const struct profile_module *module, bool *checked, struct status *st);

#endif
