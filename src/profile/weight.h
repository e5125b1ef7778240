/* SPDX-License-Identifier: Apache-2.0 */
/* Figures every view derives from weights, in one place so that all views agree. NAN: not available. */
#ifndef PROFILE_WEIGHT_H
#define PROFILE_WEIGHT_H

#include "fathom/profile.h"

/* a / b, NAN when b is 0. */
double weight__ratio(double a, double b);
double weight__cycles(const struct site_weight *weight);
double weight__ipc(const struct site_weight *weight);
/* Per cent of the weight's own slots. */
double weight__slot_percent(const struct site_weight *weight, enum place_slots kind);
/* Per cent of all cycles, or instructions, of the run. */
double profile__cycle_percent(const struct profile *profile, const struct site_weight *weight);
double profile__instruction_percent(const struct profile *profile, const struct site_weight *weight);
void weight__add(struct site_weight *sum, const struct site_weight *weight);

const struct profile_tree *profile__tree(const struct profile *profile, const char *name);
const struct profile_node *profile_tree__find(const struct profile_tree *tree, const char *path);
/* "[unknown]" without a module; the path otherwise. */
const char *profile__module_path(const struct profile *profile, int module);
/* The name of a place's function; "[unknown]" without one. */
const char *profile__place_function(const struct profile *profile, const struct profile_place *place);
/* Indices of the `n` places with the most cycles, most first, by address among equals. `*n` becomes the
 * number found. NULL when there are none. The caller frees. */
size_t *profile__hottest_places(const struct profile *profile, size_t *n);

#endif
