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

/* Who asks, for the lookup. */
struct asking {
    metric_lookup_for lookup;
    void *arg;
    size_t metric;
};

static bool asking__lookup(void *arg, const char *name, double *value)
{
    const struct asking *a = arg;

    return a->lookup(a->arg, a->metric, name, value);
}

/* Adds `root` and everything below it; `node` gets the tree index of each metric. */
static void metrics__add(const struct metrics *metrics, int root, const struct expr_values *values,
                         struct asking *asking, double *scratch, int *node, struct tree_builder *b)
{
    for (int i = root; i >= 0 && !b->failed; i = metric__next(metrics, i, root)) {
        const struct metric *m = &metrics->metric[i];
        double passed = 0;

        asking->metric = (size_t)i;
        if (m->threshold.n_nodes > 0)
            passed = expr__evaluate(&m->threshold, values, scratch);
        node[i] =
            tree_builder__add(b, i == root ? -1 : node[m->parent], m->display, values->metric[i] * m->scale,
                              m->unit, !isnan(passed) && passed != 0 && !isnan(values->metric[i]), m->hint);
    }
}

int metrics__evaluate_each(const struct metrics *metrics, const char *tree_name, const char *source,
                           metric_lookup_for lookup, void *arg, struct profile_tree *tree, struct status *st)
{
    double *value = malloc(metrics->n_metrics * sizeof *value);
    double *scratch = malloc(metrics->n_nodes_max * sizeof *scratch);
    int *node = malloc(metrics->n_metrics * sizeof *node);
    struct asking asking = {.lookup = lookup, .arg = arg};
    struct expr_values values = {.metric = value, .lookup = asking__lookup, .arg = &asking};
    struct tree_builder b;
    int ret = -1;

    *tree = (struct profile_tree){0};
    if (!value || !scratch || !node)
        goto out;
    for (size_t i = 0; i < metrics->n_metrics; i++) {
        size_t m = metrics->order[i];

        asking.metric = m;
        value[m] = expr__evaluate(&metrics->metric[m].value, &values, scratch);
        if (!isfinite(value[m]))
            value[m] = (double)NAN;
    }
    tree_builder__start(&b, tree, tree_name, source);
    for (size_t i = 0; i < metrics->n_metrics; i++)
        if (metric__is_root(metrics, &metrics->metric[i]))
            metrics__add(metrics, (int)i, &values, &asking, scratch, node, &b);
    ret = tree_builder__finish(&b) ? 0 : -1;
out:
    free(value);
    free(scratch);
    free(node);
    return ret == 0 ? 0 : status__fail(st, "tree %s: out of memory", tree_name);
}

/* A lookup that does not care who asks. */
struct anybody {
    metric_lookup lookup;
    void *arg;
};

static bool anybody__lookup(void *arg, size_t metric, const char *name, double *value)
{
    const struct anybody *a = arg;

    (void)metric;
    return a->lookup(a->arg, name, value);
}

int metrics__evaluate(const struct metrics *metrics, const char *tree_name, const char *source,
                      metric_lookup lookup, void *arg, struct profile_tree *tree, struct status *st)
{
    struct anybody anybody = {.lookup = lookup, .arg = arg};

    return metrics__evaluate_each(metrics, tree_name, source, anybody__lookup, &anybody, tree, st);
}

static bool expr__each_name(const struct expr *expr, size_t metric, metric_name_visitor each, void *arg)
{
    for (size_t i = 0; i < expr->n_nodes; i++) {
        const struct expr_node *node = &expr->node[i];

        if (node->name && !(node->op == EXPR_NAME && node->metric >= 0) && !each(arg, metric, node->name))
            return false;
    }
    return true;
}

bool metrics__each_name(const struct metrics *metrics, metric_name_visitor each, void *arg)
{
    for (size_t i = 0; i < metrics->n_metrics; i++)
        if (!expr__each_name(&metrics->metric[i].value, i, each, arg) ||
            !expr__each_name(&metrics->metric[i].threshold, i, each, arg))
            return false;
    return true;
}
