/* SPDX-License-Identifier: Apache-2.0 */
/* Putting profile trees together, node by node. Internal to tree/. */
#ifndef TREE_BUILD_H
#define TREE_BUILD_H

#include <stdbool.h>
#include <stddef.h>

struct profile_tree;

struct tree_builder {
    struct profile_tree *tree;
    size_t cap_nodes;
    const char *source;
    bool failed; /* out of memory: the tree is then freed by tree_builder__finish */
};

/* What is known about a node by its name: from which share it is a problem, and what to try. */
struct tree_advice {
    const char *name;
    double threshold; /* share of 1; above 1: never flagged */
    const char *hint; /* NULL: none */
};

/* NULL: no such node. */
const struct tree_advice *tree_advice__find(const char *name);

void tree_builder__start(struct tree_builder *b, struct profile_tree *tree, const char *name,
                         const char *source);
/* Adds a node below node `parent` (-1: on top), depth first. `passed` says that its own threshold holds;
 * it is flagged only if its parent is (hierarchical safety). `hint` NULL: the advice for its name.
 * Returns its index. */
int tree_builder__add(struct tree_builder *b, int parent, const char *name, double value, const char *unit,
                      bool passed, const char *hint);
/* Keeps hints where the flagged path ends. False: out of memory. */
bool tree_builder__finish(struct tree_builder *b);

#endif
