/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double weight__ratio(double a, double b)
{
    return b != 0.0 ? a / b : (double)NAN;
}

double weight__cycles(const struct site_weight *weight)
{
    return (double)weight->cycles_tip / TIP_UNIT;
}

double weight__ipc(const struct site_weight *weight)
{
    return weight__ratio((double)weight->insns, weight__cycles(weight));
}

double weight__slot_percent(const struct site_weight *weight, enum place_slots kind)
{
    double sum = 0;
    for (int i = 0; i < PLACE_SLOTS; i++)
        sum += (double)weight->slots[i];
    return weight__ratio(100.0 * (double)weight->slots[kind], sum);
}

double profile__cycle_percent(const struct profile *profile, const struct site_weight *weight)
{
    return weight__ratio(100.0 * weight__cycles(weight), (double)profile->cycles);
}

double profile__instruction_percent(const struct profile *profile, const struct site_weight *weight)
{
    return weight__ratio(100.0 * (double)weight->insns, (double)profile->instructions);
}

void weight__add(struct site_weight *sum, const struct site_weight *weight)
{
    sum->cycles_tip += weight->cycles_tip;
    sum->insns += weight->insns;
    for (int i = 0; i < PLACE_SLOTS; i++)
        sum->slots[i] += weight->slots[i];
}

const struct profile_tree *profile__tree(const struct profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->n_trees; i++)
        if (profile->tree[i].name && strcmp(profile->tree[i].name, name) == 0)
            return &profile->tree[i];
    return NULL;
}

const struct profile_node *profile_tree__find(const struct profile_tree *tree, const char *path)
{
    for (size_t i = 0; i < tree->n_nodes; i++)
        if (tree->node[i].path && strcmp(tree->node[i].path, path) == 0)
            return &tree->node[i];
    return NULL;
}

const char *profile__module_path(const struct profile *profile, int module)
{
    if (module < 0 || (size_t)module >= profile->n_modules || !profile->module[module].path)
        return "[unknown]";
    return profile->module[module].path;
}

const char *profile__place_function(const struct profile *profile, const struct profile_place *place)
{
    if (place->function < 0 || (size_t)place->function >= profile->n_functions ||
        !profile->function[place->function].name)
        return "[unknown]";
    return profile->function[place->function].name;
}

static int by_cycles(const void *a, const void *b, void *arg)
{
    const struct profile_place *place = arg;
    size_t ia = *(const size_t *)a, ib = *(const size_t *)b;
    const struct profile_place *pa = &place[ia], *pb = &place[ib];
    if (pa->weight.cycles_tip != pb->weight.cycles_tip)
        return pa->weight.cycles_tip > pb->weight.cycles_tip ? -1 : 1;
    if (pa->addr != pb->addr)
        return pa->addr < pb->addr ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

size_t *profile__hottest_places(const struct profile *profile, size_t *n)
{
    size_t n_all = profile->n_places;
    size_t *order = n_all ? malloc(n_all * sizeof *order) : NULL;
    if (!order) {
        *n = 0;
        return NULL;
    }
    for (size_t i = 0; i < n_all; i++)
        order[i] = i;
    qsort_r(order, n_all, sizeof *order, by_cycles, profile->place);
    if (*n > n_all)
        *n = n_all;
    return order;
}
