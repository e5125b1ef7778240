/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/build.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/profile.h"
#include "fathom/tree.h"

void profile_tree__free(struct profile_tree *tree)
{
    if (!tree)
        return;
    for (size_t i = 0; i < tree->n_nodes; i++) {
        free(tree->node[i].name);
        free(tree->node[i].path);
        free(tree->node[i].unit);
        free(tree->node[i].source);
        free(tree->node[i].hint);
    }
    free(tree->node);
    free(tree->name);
    *tree = (struct profile_tree){0};
}

static char *tree_builder__copy(struct tree_builder *b, const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        b->failed = true;
    return copy;
}

void tree_builder__start(struct tree_builder *b, struct profile_tree *tree, const char *name,
                         const char *source)
{
    *tree = (struct profile_tree){0};
    *b = (struct tree_builder){.tree = tree, .source = source};
    tree->name = tree_builder__copy(b, name);
}

static char *tree_builder__path(struct tree_builder *b, int parent, const char *name)
{
    const char *above = parent >= 0 ? b->tree->node[parent].path : NULL;
    size_t size;
    char *path;

    if (!above)
        return tree_builder__copy(b, name);
    size = strlen(above) + 1 + strlen(name) + 1;
    path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", above, name);
    else
        b->failed = true;
    return path;
}

int tree_builder__add(struct tree_builder *b, int parent, const char *name, double value, const char *unit,
                      bool passed, const char *hint)
{
    struct profile_tree *tree = b->tree;
    const struct tree_advice *advice = tree_advice__find(name);
    struct profile_node *node;

    if (tree->n_nodes == b->cap_nodes) {
        size_t cap = b->cap_nodes ? 2 * b->cap_nodes : 32;

        node = realloc(tree->node, cap * sizeof *node);
        if (!node) {
            b->failed = true;
            return -1;
        }
        tree->node = node;
        b->cap_nodes = cap;
    }
    assert(parent < (int)tree->n_nodes);
    node = &tree->node[tree->n_nodes];
    *node = (struct profile_node){.value = value, .level = 1, .flagged = passed};
    if (parent >= 0) {
        node->level = tree->node[parent].level + 1;
        node->flagged = passed && tree->node[parent].flagged;
    }
    node->name = tree_builder__copy(b, name);
    node->path = tree_builder__path(b, parent, name);
    node->unit = tree_builder__copy(b, unit);
    node->source = tree_builder__copy(b, b->source);
    if (!hint && advice)
        hint = advice->hint;
    if (hint && node->flagged)
        node->hint = tree_builder__copy(b, hint);
    return (int)tree->n_nodes++;
}

/* Depth first order: the nodes below one follow it until the next of its level or above. */
static bool tree_builder__is_deepest(const struct profile_tree *tree, size_t node)
{
    for (size_t i = node + 1; i < tree->n_nodes && tree->node[i].level > tree->node[node].level; i++)
        if (tree->node[i].flagged)
            return false;
    return true;
}

bool tree_builder__finish(struct tree_builder *b)
{
    if (b->failed) {
        profile_tree__free(b->tree);
        return false;
    }
    for (size_t i = 0; i < b->tree->n_nodes; i++) {
        if (!tree_builder__is_deepest(b->tree, i)) {
            free(b->tree->node[i].hint);
            b->tree->node[i].hint = NULL;
        }
    }
    return true;
}
