/* SPDX-License-Identifier: Apache-2.0 */
/* Loading of metric files: JSON, names, references, parents. */
#include "tree/metrics.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fathom/status.h"
#include "fathom/tree.h"

/* Metric files of Linux are at most some hundred KiB. */
enum { METRICS_FILE_MAX_BYTES = 64 * 1024 * 1024 };

static void metric__free(struct metric *m)
{
    free(m->name);
    free(m->display);
    free(m->groups);
    free(m->unit);
    free(m->hint);
    expr__free(&m->value);
    expr__free(&m->threshold);
}

void metrics__free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->n_metrics; i++)
        metric__free(&metrics->metric[i]);
    free(metrics->metric);
    free(metrics->order);
    free(metrics->by_name);
    free(metrics->origin);
    free(metrics);
}

/* A text field of a metric. `*text` stays NULL when it is absent. */
static int metric__text(const struct metrics *metrics, const char *name, json_t *object, const char *key,
                        const char **text, struct status *st)
{
    json_t *field = json_object_get(object, key);

    *text = NULL;
    if (!field)
        return 0;
    *text = json_string_value(field);
    if (!*text)
        return status__fail(st, "%s: metric %s: %s must be a string", metrics->origin, name, key);
    return 0;
}

static int metric__expression(const struct metrics *metrics, const char *name, const char *key,
                              const char *text, struct expr *expr, struct status *st)
{
    struct expr_error error;

    if (expr__parse(expr, text, &error))
        return 0;
    if (error.column == 0)
        return status__fail(st, "%s: metric %s: %s", metrics->origin, name, error.what);
    return status__fail(st, "%s: metric %s: %s, column %u: %s; correct the expression", metrics->origin, name,
                        key, error.column, error.what);
}

/* "100%" or "1e-3ms": a factor and the unit of the scaled value. */
static int metric__scale(const struct metrics *metrics, struct metric *m, const char *text, struct status *st)
{
    char *unit = NULL;

    m->scale = 1;
    if (text) {
        m->scale = strtod(text, &unit);
        if (unit == text || !isfinite(m->scale))
            return status__fail(st,
                                "%s: metric %s: ScaleUnit '%.40s' must begin with a number, as in \"100%%\"",
                                metrics->origin, m->name, text);
    }
    m->unit = strdup(unit ? unit : "");
    return m->unit ? 0 : status__fail(st, "%s: out of memory", metrics->origin);
}

/* Copies `text` unless it is NULL. */
static int metric__copy(const struct metrics *metrics, char **copy, const char *text, struct status *st)
{
    if (!text)
        return 0;
    *copy = strdup(text);
    return *copy ? 0 : status__fail(st, "%s: out of memory", metrics->origin);
}

static int metric__load(const struct metrics *metrics, struct metric *m, const char *name, json_t *object,
                        struct status *st)
{
    const char *value, *threshold, *groups, *scale, *display, *hint;

    if (metric__text(metrics, name, object, "MetricExpr", &value, st) ||
        metric__text(metrics, name, object, "MetricThreshold", &threshold, st) ||
        metric__text(metrics, name, object, "MetricGroup", &groups, st) ||
        metric__text(metrics, name, object, "ScaleUnit", &scale, st) ||
        metric__text(metrics, name, object, "DisplayName", &display, st) ||
        metric__text(metrics, name, object, "Hint", &hint, st))
        return -1;
    if (!value)
        return status__fail(st, "%s: metric %s has no MetricExpr; add the expression that computes it",
                            metrics->origin, name);
    if (metric__copy(metrics, &m->name, name, st) || metric__copy(metrics, &m->groups, groups, st) ||
        metric__copy(metrics, &m->hint, hint, st) || metric__scale(metrics, m, scale, st))
        return -1;
    m->display = display ? strdup(display) : metric_name__display(name);
    if (!m->display)
        return status__fail(st, "%s: out of memory", metrics->origin);
    m->parent = m->first_child = m->last_child = m->next_sibling = -1;
    if (metric__expression(metrics, name, "MetricExpr", value, &m->value, st))
        return -1;
    return threshold ? metric__expression(metrics, name, "MetricThreshold", threshold, &m->threshold, st) : 0;
}

/*
 * Objects without MetricName are events, which may stand in the same file. On hybrid processors a file
 * has each metric twice: those of the small cores are left out, because a tree is of one kind of core.
 */
static int metrics__load_all(struct metrics *metrics, json_t *root, struct status *st)
{
    size_t i;
    json_t *object;

    if (!json_is_array(root))
        return status__fail(st, "%s: a metric file must be a JSON array of objects", metrics->origin);
    metrics->metric = calloc(json_array_size(root) + 1, sizeof *metrics->metric);
    if (!metrics->metric)
        return status__fail(st, "%s: out of memory", metrics->origin);
    json_array_foreach(root, i, object)
    {
        json_t *name = json_object_get(object, "MetricName");
        const char *unit = json_string_value(json_object_get(object, "Unit"));

        if (!json_is_object(object))
            return status__fail(st, "%s: entry %zu is not an object; a metric file is an array of objects",
                                metrics->origin, i + 1);
        if (!name || (unit && strcmp(unit, "cpu_atom") == 0))
            continue;
        if (!json_is_string(name) || json_string_length(name) == 0)
            return status__fail(st, "%s: entry %zu: MetricName must be a string with at least one character",
                                metrics->origin, i + 1);
        /* Counted first, so that a half loaded metric is freed too. */
        if (metric__load(metrics, &metrics->metric[metrics->n_metrics++], json_string_value(name), object,
                         st))
            return -1;
    }
    if (metrics->n_metrics == 0)
        return status__fail(st,
                            "%s: there is no metric in it; entries with MetricName and MetricExpr are needed",
                            metrics->origin);
    return 0;
}

static int metrics__compare(const void *a, const void *b, void *arg)
{
    const struct metrics *metrics = arg;

    return strcmp(metrics->metric[*(const size_t *)a].name, metrics->metric[*(const size_t *)b].name);
}

/* The first `length` characters of `name` are a metric's name: its index, else -1. */
static int metrics__find(const struct metrics *metrics, const char *name, size_t length)
{
    size_t low = 0, high = metrics->n_metrics;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *at = metrics->metric[metrics->by_name[middle]].name;
        int order = strncmp(name, at, length);

        if (order == 0 && at[length] != '\0')
            order = -1;
        if (order == 0)
            return (int)metrics->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static int metrics__index(struct metrics *metrics, struct status *st)
{
    size_t n = metrics->n_metrics;

    metrics->by_name = calloc(n, sizeof *metrics->by_name);
    metrics->order = calloc(n, sizeof *metrics->order);
    if (!metrics->by_name || !metrics->order)
        return status__fail(st, "%s: out of memory", metrics->origin);
    for (size_t i = 0; i < n; i++)
        metrics->by_name[i] = i;
    qsort_r(metrics->by_name, n, sizeof *metrics->by_name, metrics__compare, metrics);
    for (size_t i = 1; i < n; i++) {
        const char *name = metrics->metric[metrics->by_name[i]].name;

        if (strcmp(name, metrics->metric[metrics->by_name[i - 1]].name) == 0)
            return status__fail(st, "%s: metric %s is defined twice; remove one of them", metrics->origin,
                                name);
    }
    return 0;
}

/* Ties names to metrics. Names that begin with "tma_" are never events, so that they must exist. */
static int metrics__bind(struct metrics *metrics, const char *name, const char *key, struct expr *expr,
                         struct status *st)
{
    if (expr->n_nodes > metrics->n_nodes_max)
        metrics->n_nodes_max = expr->n_nodes;
    for (size_t i = 0; i < expr->n_nodes; i++) {
        struct expr_node *node = &expr->node[i];

        if (node->op != EXPR_NAME)
            continue;
        node->metric = metrics__find(metrics, node->name, strlen(node->name));
        if (node->metric < 0 && strncmp(node->name, "tma_", 4) == 0)
            return status__fail(
                st,
                "%s: metric %s: %s, column %u: there is no metric %s; define it in the same file "
                "or correct the name",
                metrics->origin, name, key, node->column, node->name);
    }
    return 0;
}

/* Names one circle: from a metric that is left over, always on to a left-over metric it refers to. */
static int metrics__fail_circular(const struct metrics *metrics, const size_t *missing, struct status *st)
{
    size_t at = 0, next = 0;
    unsigned column = 0;

    while (missing[at] == 0)
        at++;
    for (size_t step = 0; step <= metrics->n_metrics; step++) {
        const struct expr *value = &metrics->metric[at].value;

        for (size_t i = 0; i < value->n_nodes; i++) {
            if (value->node[i].metric >= 0 && missing[value->node[i].metric] > 0) {
                next = (size_t)value->node[i].metric;
                column = value->node[i].column;
            }
        }
        if (step < metrics->n_metrics)
            at = next;
    }
    return status__fail(
        st,
        "%s: metric %s: MetricExpr, column %u: the reference to %s is circular; a metric must not "
        "depend on itself",
        metrics->origin, metrics->metric[at].name, column, metrics->metric[next].name);
}

/* Users of each metric as lists: entry k of a metric's references is a link in the list of its target. */
struct metric_links {
    int *head;        /* by target */
    int *next, *user; /* by link */
    size_t *missing;  /* by user: references not yet in order */
};

static void metrics__link(const struct metrics *metrics, struct metric_links *links)
{
    int link = 0;

    for (size_t m = 0; m < metrics->n_metrics; m++) {
        const struct expr *value = &metrics->metric[m].value;

        for (size_t i = 0; i < value->n_nodes; i++) {
            int target = value->node[i].metric;

            if (target < 0)
                continue;
            links->next[link] = links->head[target];
            links->user[link] = (int)m;
            links->head[target] = link++;
            links->missing[m]++;
        }
    }
}

/* An order in which each metric comes after those it refers to. */
static int metrics__sort(struct metrics *metrics, struct status *st)
{
    struct metric_links links = {0};
    size_t n_links = 1, n_ordered = 0;
    int ret = -1;

    for (size_t m = 0; m < metrics->n_metrics; m++)
        n_links += metrics->metric[m].value.n_nodes;
    links.head = malloc(metrics->n_metrics * sizeof *links.head);
    links.next = malloc(n_links * sizeof *links.next);
    links.user = malloc(n_links * sizeof *links.user);
    links.missing = calloc(metrics->n_metrics, sizeof *links.missing);
    if (!links.head || !links.next || !links.user || !links.missing) {
        status__fail(st, "%s: out of memory", metrics->origin);
        goto out;
    }
    for (size_t m = 0; m < metrics->n_metrics; m++)
        links.head[m] = -1;
    metrics__link(metrics, &links);
    for (size_t m = 0; m < metrics->n_metrics; m++)
        if (links.missing[m] == 0)
            metrics->order[n_ordered++] = m;
    for (size_t done = 0; done < n_ordered; done++)
        for (int l = links.head[metrics->order[done]]; l >= 0; l = links.next[l])
            if (--links.missing[links.user[l]] == 0)
                metrics->order[n_ordered++] = (size_t)links.user[l];
    if (n_ordered < metrics->n_metrics) {
        metrics__fail_circular(metrics, links.missing, st);
        goto out;
    }
    ret = 0;
out:
    free(links.head);
    free(links.next);
    free(links.user);
    free(links.missing);
    return ret;
}

/* The first group "X_group" where X is a metric names the parent. */
static int metric__find_parent(const struct metrics *metrics, const struct metric *m)
{
    static const char suffix[] = "_group";
    const size_t n_suffix = sizeof suffix - 1;

    for (const char *group = m->groups; group && *group;) {
        size_t n = strcspn(group, ";");

        if (n > n_suffix && memcmp(group + n - n_suffix, suffix, n_suffix) == 0) {
            int parent = metrics__find(metrics, group, n - n_suffix);

            if (parent >= 0 && &metrics->metric[parent] != m)
                return parent;
        }
        group += n + (group[n] == ';');
    }
    return -1;
}

static int metrics__make_tree(struct metrics *metrics, struct status *st)
{
    for (size_t i = 0; i < metrics->n_metrics; i++) {
        struct metric *m = &metrics->metric[i];
        struct metric *parent;

        metrics->has_top |= metric_groups__contain(m->groups, "TopdownL1");
        m->parent = metric__find_parent(metrics, m);
        if (m->parent < 0)
            continue;
        parent = &metrics->metric[m->parent];
        if (parent->last_child >= 0)
            metrics->metric[parent->last_child].next_sibling = (int)i;
        else
            parent->first_child = (int)i;
        parent->last_child = (int)i;
    }
    for (size_t i = 0; i < metrics->n_metrics; i++) {
        size_t steps = 0;

        for (int up = metrics->metric[i].parent; up >= 0; up = metrics->metric[up].parent)
            if (++steps > metrics->n_metrics)
                return status__fail(
                    st,
                    "%s: metric %s: MetricGroup: it is its own ancestor by the *_group convention; "
                    "correct the groups",
                    metrics->origin, metrics->metric[i].name);
    }
    return 0;
}

/* References, order and parents of the loaded metrics. */
static int metrics__connect(struct metrics *metrics, struct status *st)
{
    if (metrics__index(metrics, st))
        return -1;
    for (size_t i = 0; i < metrics->n_metrics; i++) {
        struct metric *m = &metrics->metric[i];

        if (metrics__bind(metrics, m->name, "MetricExpr", &m->value, st) ||
            metrics__bind(metrics, m->name, "MetricThreshold", &m->threshold, st))
            return -1;
    }
    return metrics__sort(metrics, st) || metrics__make_tree(metrics, st) ? -1 : 0;
}

struct metrics *metrics__parse(const char *json, size_t size, const char *origin, struct status *st)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    json_error_t error;
    json_t *root = NULL;
    bool good = false;

    if (metrics)
        metrics->origin = strdup(origin);
    if (!metrics || !metrics->origin) {
        status__fail(st, "%s: out of memory", origin);
        goto out;
    }
    root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        status__fail(st, "%s:%d:%d: not valid JSON: %s; correct the file", origin, error.line, error.column,
                     error.text);
        goto out;
    }
    good = metrics__load_all(metrics, root, st) == 0 && metrics__connect(metrics, st) == 0;
out:
    json_decref(root);
    if (!good) {
        metrics__free(metrics);
        metrics = NULL;
    }
    return metrics;
}

struct metrics *metrics__load(const char *path, struct status *st)
{
    struct metrics *metrics = NULL;
    size_t size = 0;
    char *text = file__read(path, METRICS_FILE_MAX_BYTES, &size, st);

    if (text)
        metrics = metrics__parse(text, size, path, st);
    free(text);
    return metrics;
}
