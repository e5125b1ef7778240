/* SPDX-License-Identifier: Apache-2.0 */
#include "fathom/profile.h"

#include <math.h>
#include <stdlib.h>

struct profile *profile__new(void)
{
    return calloc(1, sizeof(struct profile));
}

double profile__throughput(const struct profile *profile)
{
    double sum = 0;

    for (size_t i = 0; i < profile->n_copies; i++)
        if (!profile->copy[i].alone)
            sum += 1 / profile->copy[i].slowdown;
    return profile->n_copies ? sum : (double)NAN;
}

static void free_tree(struct profile_tree *tree)
{
    for (size_t k = 0; k < tree->n_nodes; k++) {
        free(tree->node[k].name);
        free(tree->node[k].path);
        free(tree->node[k].unit);
        free(tree->node[k].source);
        free(tree->node[k].hint);
    }
    free(tree->node);
    free(tree->name);
}

static void free_trees(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_trees; i++)
        free_tree(&profile->tree[i]);
    free(profile->tree);
}

static void free_what_ifs(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_ideal; i++) {
        free(profile->ideal[i].name);
        free(profile->ideal[i].claim);
    }
    free(profile->ideal);
    for (size_t i = 0; i < profile->n_core_results; i++) {
        free(profile->core_result[i].name);
        free(profile->core_result[i].title);
        free_tree(&profile->core_result[i].tree);
    }
    free(profile->core_result);
    for (size_t i = 0; i < profile->n_copies; i++) {
        free(profile->copy[i].name);
        free_tree(&profile->copy[i].tree);
    }
    free(profile->copy);
}

static void free_stacks(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_stacks; i++) {
        struct profile_stack *stack = &profile->stack[i];
        for (size_t k = 0; k < stack->n_components; k++)
            free(stack->component[k].component);
        free(stack->component);
        free(stack->name);
    }
    free(profile->stack);
}

static void free_places(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_modules; i++) {
        free(profile->module[i].path);
        free(profile->module[i].build_id);
    }
    free(profile->module);
    for (size_t i = 0; i < profile->n_places; i++)
        free(profile->place[i].text);
    free(profile->place);
    for (size_t i = 0; i < profile->n_functions; i++) {
        free(profile->function[i].name);
        free(profile->function[i].file);
    }
    free(profile->function);
}

static void free_counts(struct profile_count *count, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(count[i].name);
        free(count[i].note);
    }
    free(count);
}

static void free_lists(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_events; i++)
        free(profile->event[i].name);
    free(profile->event);
    free_counts(profile->unknown, profile->n_unknown);
    free_counts(profile->nondeterminism, profile->n_nondeterminism);
    for (size_t i = 0; i < profile->n_host; i++) {
        free(profile->host[i].key);
        free(profile->host[i].value);
    }
    free(profile->host);
}

void profile__free(struct profile *profile)
{
    if (!profile)
        return;
    free_trees(profile);
    free_stacks(profile);
    free_places(profile);
    free_lists(profile);
    free_what_ifs(profile);
    free(profile->sample);
    free(profile->version);
    free(profile->command);
    free(profile->core);
    free(profile->core_text);
    free(profile->source);
    free(profile->guest_cpu);
    free(profile->incomplete_why);
    free(profile->verdict);
    free(profile->verdict_next);
    free(profile);
}
