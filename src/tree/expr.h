/* SPDX-License-Identifier: Apache-2.0 */
/* Metric expressions in the language of Linux perf. Internal to tree/. */
#ifndef TREE_EXPR_H
#define TREE_EXPR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Grammar, loosest first; all binary operators group to the left:
 *
 *     conditional = or [ "if" or "else" conditional ]
 *     or          = xor { "|" xor }
 *     xor         = and { "^" and }
 *     and         = compare { "&" compare }
 *     compare     = sum { ( "<" | ">" | "<=" | ">=" | "==" | "!=" ) sum }
 *     sum         = product { ( "+" | "-" ) product }
 *     product     = unary { ( "*" | "/" | "%" ) unary }
 *     unary       = [ "-" ] unary | primary
 *     primary     = number | name | "#" literal | "(" conditional ")"
 *                 | ( "min" | "max" | "d_ratio" ) "(" conditional "," conditional ")"
 *                 | ( "has_event" | "source_count" ) "(" name ")"
 */
enum expr_op {
    EXPR_NUMBER,
    EXPR_NAME, /* event, literal or metric */
    EXPR_HAS_EVENT,
    EXPR_SOURCE_COUNT,
    EXPR_NEGATE,
    EXPR_ADD,
    EXPR_SUBTRACT,
    EXPR_MULTIPLY,
    EXPR_DIVIDE,
    EXPR_MODULO,
    EXPR_LESS,
    EXPR_GREATER,
    EXPR_LESS_EQUAL,
    EXPR_GREATER_EQUAL,
    EXPR_EQUAL,
    EXPR_NOT_EQUAL,
    EXPR_AND,
    EXPR_XOR,
    EXPR_OR,
    EXPR_MIN,
    EXPR_MAX,
    EXPR_D_RATIO,
    EXPR_IF, /* a if b else c */
};

struct expr_node {
    enum expr_op op;
    int a, b, c;     /* operands: indices of nodes; always smaller than the node's own */
    int metric;      /* EXPR_NAME: index of the metric of that name, -1: an event or literal */
    unsigned column; /* in the text, from 1 */
    double number;
    char *name; /* without escaping backslashes */
};

/* Invariant: operands stand before their operator, the root is last. n_nodes == 0: no expression. */
struct expr {
    struct expr_node *node;
    size_t n_nodes, cap_nodes;
};

struct expr_error {
    unsigned column; /* from 1; 0: not a matter of the text (memory) */
    char what[160];
};

/* Values of names. NAN from either means "not counted". */
struct expr_values {
    const double *metric; /* by expr_node.metric */
    bool (*lookup)(void *arg, const char *name, double *value);
    void *arg;
};

bool expr__parse(struct expr *expr, const char *text, struct expr_error *error);
/* `scratch` has room for n_nodes values. NAN: something needed was not counted, or was divided by zero. */
double expr__evaluate(const struct expr *expr, const struct expr_values *values, double *scratch);
void expr__free(struct expr *expr);

#endif
