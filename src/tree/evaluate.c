/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics into a tree of values. */
#include "fathom/tree.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/profile.h"
#include "fathom/status.h"
#include "tree/build.h"
#include "tree/metrics.h"

/* What is on top: metrics of the Top-Down levels without a parent; in a set without a first level,
 * everything without a parent. Others ("info" metrics) only help to compute. */
static bool metric__is_root(const struct metrics *metrics, const struct metric *m)
{
    char level[] = "TopdownL0";

    if (m->parent >= 0)
        return false;
    if (!metrics->has_top)
        return true;
    for (char digit = '1'; digit <= '9'; digit++) {
        level[sizeof level - 2] = digit;
        if (metric_groups__contain(m->groups, level))
            return true;
    }
    return false;
}

/* The metric after `m` in depth first order below `root`; -1: none. */
static int metric__next(const struct metrics *metrics, int m, int root)
{
    if (metrics->metric[m].first_child >= 0)
        return metrics->metric[m].first_child;
    while (m != root) {
        if (metrics->metric[m].next_sibling >= 0)
            return metrics->metric[m].next_sibling;
        m = metrics->metric[m].parent;
    }
    return -1;
}

/* Adds `root` and everything below it; `node` gets the tree index of each metric. */
static void metrics__add(const struct metrics *metrics, int root, const struct expr_values *values,
                         double *scratch, int *node, struct tree_builder *b)
{
    for (int i = root; i >= 0 && !b->failed; i = metric__next(metrics, i, root)) {
        const struct metric *m = &metrics->metric[i];
        double passed = 0;

        if (m->threshold.n_nodes > 0)
            passed = expr__evaluate(&m->threshold, values, scratch);
        node[i] =
            tree_builder__add(b, i == root ? -1 : node[m->parent], m->display, values->metric[i] * m->scale,
                              m->unit, !isnan(passed) && passed != 0 && !isnan(values->metric[i]), m->hint);
    }
}

int metrics__evaluate(const struct metrics *metrics, const char *tree_name, const char *source,
                      metric_lookup lookup, void *arg, struct profile_tree *tree, struct status *st)
{
    double *value = malloc(metrics->n_metrics * sizeof *value);
    double *scratch = malloc(metrics->n_nodes_max * sizeof *scratch);
    int *node = malloc(metrics->n_metrics * sizeof *node);
    struct expr_values values = {.metric = value, .lookup = lookup, .arg = arg};
    struct tree_builder b;
    int ret = -1;

    *tree = (struct profile_tree){0};
    if (!value || !scratch || !node)
        goto out;
    for (size_t i = 0; i < metrics->n_metrics; i++) {
        size_t m = metrics->order[i];

        value[m] = expr__evaluate(&metrics->metric[m].value, &values, scratch);
        if (!isfinite(value[m]))
            value[m] = (double)NAN;
    }
    tree_builder__start(&b, tree, tree_name, source);
    for (size_t i = 0; i < metrics->n_metrics; i++)
        if (metric__is_root(metrics, &metrics->metric[i]))
            metrics__add(metrics, (int)i, &values, scratch, node, &b);
    ret = tree_builder__finish(&b) ? 0 : -1;
out:
    free(value);
    free(scratch);
    free(node);
    return ret == 0 ? 0 : status__fail(st, "tree %s: out of memory", tree_name);
}
