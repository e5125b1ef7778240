/* SPDX-License-Identifier: Apache-2.0 */
/* One sentence about a tree. */
#include "fathom/tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fathom/profile.h"

enum { VERDICT_DEPTH_MAX = 8 };

/* A text that is filled piece by piece and cut at its size. */
struct verdict_text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void verdict__say(struct verdict_text *text, const char *fmt,
                                                               ...)
{
    va_list args;
    int n;

    if (text->left == 0)
        return;
    va_start(args, fmt);
    n = vsnprintf(text->at, text->left, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n >= text->left)
        n = (int)text->left - 1;
    text->at += n;
    text->left -= (size_t)n;
}

/* The flagged node with the largest value of `level` in [from, end), before anything above that level;
 * the first of equals. NULL: none. */
static const struct profile_node *verdict__largest(const struct profile_node *from,
                                                   const struct profile_node *end, int level, bool flagged)
{
    const struct profile_node *largest = NULL;

    for (const struct profile_node *n = from; n < end && n->level >= level; n++)
        if (n->level == level && n->flagged >= flagged && !isnan(n->value) &&
            (!largest || n->value > largest->value))
            largest = n;
    return largest;
}

/* "61 %", and the base where it is not the one of the top level. */
static void verdict__value(struct verdict_text *text, const struct profile_node *n,
                           const struct profile_node *top)
{
    const char *unit = n->unit ? n->unit : "";

    if (unit[0] != '%') {
        verdict__say(text, "%.3g%s%s", n->value, unit[0] ? " " : "", unit);
        return;
    }
    verdict__say(text, "%.0f %%", n->value);
    if (top->unit && strcmp(unit, top->unit) != 0 && unit[1] == ' ')
        verdict__say(text, " of %s", unit + 2);
}

static void verdict__place(struct verdict_text *text, const char *hot_function)
{
    if (hot_function && hot_function[0] != '\0' && hot_function[0] != '[')
        verdict__say(text, ", hottest in %s%s", hot_function, strchr(hot_function, '(') ? "" : "()");
    verdict__say(text, ".");
}

/* Nothing is flagged: the largest top node for orientation. */
static int verdict__none(const struct profile_tree *tree, const char *hot_function,
                         struct verdict_text *sentence, struct verdict_text *next)
{
    const struct profile_node *largest =
        tree->n_nodes ? verdict__largest(tree->node, tree->node + tree->n_nodes, 1, false) : NULL;

    if (!largest)
        return -1;
    verdict__say(sentence, "No bottleneck stands out: the largest share is %s with ", largest->name);
    verdict__value(sentence, largest, largest);
    verdict__place(sentence, hot_function);
    verdict__say(next, "look at the hottest places one by one; no single cause dominates the whole program");
    return 0;
}

int tree__verdict(const struct profile_tree *tree, const char *hot_function, char *sentence, size_t size,
                  char *next, size_t next_size)
{
    static const char *const opening[VERDICT_DEPTH_MAX] = {"", ": ", ", mostly "};
    struct verdict_text text = {sentence, size}, advice = {next, next_size};
    const struct profile_node *end = tree->n_nodes ? tree->node + tree->n_nodes : NULL;
    const struct profile_node *path[VERDICT_DEPTH_MAX];
    int depth = 0;

    verdict__say(&text, "%s", "");
    verdict__say(&advice, "%s", "");
    for (const struct profile_node *from = tree->node; from && depth < VERDICT_DEPTH_MAX; depth++) {
        path[depth] = verdict__largest(from, end, depth + 1, true);
        if (!path[depth])
            break;
        from = path[depth] + 1;
    }
    if (depth == 0)
        return verdict__none(tree, hot_function, &text, &advice);
    for (int d = 0; d < depth; d++) {
        verdict__say(&text, "%s%s %s", opening[d] ? opening[d] : ", of these ", path[d]->name,
                     d < 2 ? "" : "(");
        verdict__value(&text, path[d], path[0]);
        verdict__say(&text, "%s", d < 2 ? "" : ")");
    }
    verdict__place(&text, hot_function);
    for (int d = depth - 1; d >= 0; d--) {
        if (path[d]->hint) {
            verdict__say(&advice, "%s", path[d]->hint);
            break;
        }
    }
    return 1;
}
