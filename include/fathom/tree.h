/* SPDX-License-Identifier: Apache-2.0 */
/* Metric trees: perf's JSON metric schema evaluated over any set of events. */
#ifndef FATHOM_TREE_H
#define FATHOM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct status;
struct profile_tree;
struct truth;
struct core;
struct retired_work;
struct metrics;

/*
 * Looks up one event by the name used in a metric expression, without its escaping backslashes
 * (masks included, e.g. "FetchBubbles:c4", "cpu@FetchBubbles,cmask=4@"), or a '#' literal such as
 * "#issue_width".
 * Returns false when there is no such event: the metric is then "not counted" (NAN), never 0.
 */
typedef bool (*metric_lookup)(void *arg, const char *name, double *value);

/* Loads metrics from a JSON text (`origin` names it in messages). NULL and a status naming metric,
 * place and what is wrong. */
struct metrics *metrics__parse(const char *json, size_t size, const char *origin, struct status *st);
struct metrics *metrics__load(const char *path, struct status *st);
/* Built-in sets: "topdown-generic" (the paper's Tables 1 and 2). */
struct metrics *metrics__builtin(const char *name, struct status *st);
void metrics__free(struct metrics *metrics);

/* Evaluates into `tree` (name `tree_name`, nodes depth first): values, thresholds, hierarchical safety. */
int metrics__evaluate(const struct metrics *metrics, const char *tree_name, const char *source,
                      metric_lookup lookup, void *arg, struct profile_tree *tree, struct status *st);

/* The same with a lookup that knows which metric asks, by its number: a real PMU measures the events of a
 * metric together, and the same event for another metric at another time. */
typedef bool (*metric_lookup_for)(void *arg, size_t metric, const char *name, double *value);
int metrics__evaluate_each(const struct metrics *metrics, const char *tree_name, const char *source,
                           metric_lookup_for lookup, void *arg, struct profile_tree *tree, struct status *st);

/* Calls `each` for every event, literal or other name of the expressions that is no metric, metric after
 * metric, as often as it stands there. Stops at the first call that returns false, and returns it. */
typedef bool (*metric_name_visitor)(void *arg, size_t metric, const char *name);
bool metrics__each_name(const struct metrics *metrics, metric_name_visitor each, void *arg);

/* The exact tree "topdown" from the slot truth, with the same node names and thresholds. `work` divides what
 * retired and may be NULL: then Base is a leaf. */
int tree__from_truth(const struct truth *truth, const struct retired_work *work, const struct core *core,
                     struct profile_tree *tree, struct status *st);

/*
 * One sentence naming the deepest flagged path, and what to try. `hot_function` may be NULL.
 * Returns 1 when a flagged path was named, 0 when nothing is flagged (the sentence says so), -1 when
 * the tree has no values (both texts are then empty).
 */
int tree__verdict(const struct profile_tree *tree, const char *hot_function, char *sentence, size_t size,
                  char *next, size_t next_size);

void profile_tree__free(struct profile_tree *tree);

#endif
