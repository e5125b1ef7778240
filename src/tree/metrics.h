/* SPDX-License-Identifier: Apache-2.0 */
/* A set of metrics, as loaded. Internal to tree/. */
#ifndef TREE_METRICS_H
#define TREE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "tree/expr.h"

struct metric {
    char *name;    /* MetricName */
    char *display; /* for people */
    char *groups;  /* MetricGroup, NULL: none */
    char *unit;    /* of the scaled value */
    char *hint;    /* NULL: the general advice */
    double scale;
    struct expr value;
    struct expr threshold;                     /* no nodes: none */
    int parent;                                /* -1: none */
    int first_child, last_child, next_sibling; /* in file order; -1: none */
};

/* Invariants: `order` has every metric after all metrics its value refers to; parents form no circle. */
struct metrics {
    char *origin;
    struct metric *metric;
    size_t n_metrics;
    size_t *order;
    size_t *by_name;    /* sorted */
    size_t n_nodes_max; /* of any expression */
    bool has_top;       /* some metric is in group TopdownL1 */
};

/* A name for people out of a metric's name: "tma_l1_bound" becomes "L1 Bound". NULL: out of memory. */
char *metric_name__display(const char *name);
/* Whether the list `groups` ("A;B;C") contains `group`. */
bool metric_groups__contain(const char *groups, const char *group);

#endif
