/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/expr.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parentheses and functions inside one another; keeps the parser's stack small. */
enum { EXPR_DEPTH_MAX = 200 };

enum token {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_IF,
    TOKEN_ELSE,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER_EQUAL,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_BAD,
    /* single characters stand for themselves, from 33 */
};

struct expr_parser {
    struct expr *expr;
    struct expr_error *error;
    const char *text;
    const char *at;    /* after the current token */
    const char *start; /* of the current token */
    size_t length;     /* of the current token */
    int token;
    double number;
    unsigned depth;
};

static int parse__conditional(struct expr_parser *p);

__attribute__((format(printf, 3, 4))) static int parse__fail(struct expr_parser *p, const char *place,
                                                             const char *fmt, ...)
{
    va_list args;

    if (p->error->what[0] == '\0') {
        p->error->column = place ? (unsigned)(place - p->text) + 1 : 0;
        va_start(args, fmt);
        vsnprintf(p->error->what, sizeof p->error->what, fmt, args);
        va_end(args);
    }
    return -1;
}

static bool lex__is_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == ':' || c == '?';
}

/*
 * The length of a name: name characters, any character after a backslash, and anything between two '@'
 * (which stand for the '/' of pmu/event,terms/); it ends before an '@' without partner. 0: none.
 */
static size_t lex__name_length(const char *s)
{
    size_t n = *s == '#' ? 1 : 0;
    size_t open = 0;
    bool quoted = false;

    for (; s[n] != '\0'; n++) {
        if (s[n] == '\\' && s[n + 1] != '\0')
            n++;
        else if (s[n] == '@') {
            quoted = !quoted;
            open = n;
        } else if (!quoted && !lex__is_name(s[n]))
            break;
    }
    if (quoted)
        n = open;
    return n == 1 && *s == '#' ? 0 : n;
}

static size_t lex__digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* The length of a decimal number with optional fraction and exponent; 0: none. */
static size_t lex__number_length(const char *s)
{
    size_t whole = lex__digits(s), n = whole, fraction, exponent;

    if (s[n] == '.') {
        fraction = lex__digits(s + n + 1);
        if (whole + fraction == 0)
            return 0;
        n += 1 + fraction;
    }
    if (n > 0 && (s[n] == 'e' || s[n] == 'E')) {
        size_t sign = s[n + 1] == '+' || s[n + 1] == '-' ? 1 : 0;

        exponent = lex__digits(s + n + 1 + sign);
        if (exponent > 0)
            n += 1 + sign + exponent;
    }
    return n;
}

static bool lex__is(const struct expr_parser *p, const char *word)
{
    return p->length == strlen(word) && memcmp(p->start, word, p->length) == 0;
}

static int lex__operator(struct expr_parser *p)
{
    static const struct {
        char text[3];
        enum token token;
    } two[] = {
        {"<=", TOKEN_LESS_EQUAL},
        {">=", TOKEN_GREATER_EQUAL},
        {"==", TOKEN_EQUAL},
        {"!=", TOKEN_NOT_EQUAL},
    };

    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++) {
        if (strncmp(p->start, two[i].text, 2) == 0) {
            p->length = 2;
            return two[i].token;
        }
    }
    p->length = 1;
    return strchr("+-*/%()<>&|^,", *p->start) ? *p->start : TOKEN_BAD;
}

static void lex__next(struct expr_parser *p)
{
    size_t name, number;

    p->at += strspn(p->at, " \t\r\n");
    p->start = p->at;
    p->length = 0;
    if (*p->at == '\0') {
        p->token = TOKEN_END;
        return;
    }
    name = lex__name_length(p->start);
    number = lex__number_length(p->start);
    p->length = name > number ? name : number;
    if (p->length == 0) {
        p->token = lex__operator(p);
    } else if (number >= name) {
        p->token = TOKEN_NUMBER;
        p->number = strtod(p->start, NULL);
    } else if (lex__is(p, "if")) {
        p->token = TOKEN_IF;
    } else if (lex__is(p, "else")) {
        p->token = TOKEN_ELSE;
    } else {
        p->token = TOKEN_NAME;
    }
    p->at = p->start + p->length;
}

static int parse__unexpected(struct expr_parser *p, const char *wanted)
{
    if (p->token == TOKEN_END)
        return parse__fail(p, p->start, "it ends where %s is expected", wanted);
    if (p->token == TOKEN_BAD && *p->start == '@')
        return parse__fail(p, p->start, "'@' without its partner");
    return parse__fail(p, p->start, "'%.*s' where %s is expected", p->length < 40 ? (int)p->length : 40,
                       p->start, wanted);
}

/* Returns the new node's index or -1. */
static int parse__add(struct expr_parser *p, enum expr_op op, const char *place, int a, int b, int c)
{
    struct expr *expr = p->expr;
    struct expr_node *node;

    if (expr->n_nodes == expr->cap_nodes) {
        size_t cap = expr->cap_nodes ? 2 * expr->cap_nodes : 16;

        node = realloc(expr->node, cap * sizeof *node);
        if (!node)
            return parse__fail(p, NULL, "out of memory");
        expr->node = node;
        expr->cap_nodes = cap;
    }
    expr->node[expr->n_nodes] = (struct expr_node){
        .op = op, .a = a, .b = b, .c = c, .metric = -1, .column = (unsigned)(place - p->text) + 1};
    return (int)expr->n_nodes++;
}

/* A copy of the current token without its backslashes. */
static char *parse__name(struct expr_parser *p)
{
    char *name = malloc(p->length + 1);
    size_t n = 0;

    if (!name) {
        parse__fail(p, NULL, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < p->length; i++)
        if (p->start[i] != '\\')
            name[n++] = p->start[i];
    name[n] = '\0';
    return name;
}

static int parse__leaf(struct expr_parser *p, enum expr_op op)
{
    char *name;
    int node;

    if (p->token != TOKEN_NAME)
        return parse__unexpected(p, "the name of an event");
    name = parse__name(p);
    if (!name)
        return -1;
    node = parse__add(p, op, p->start, -1, -1, -1);
    if (node < 0) {
        free(name);
        return -1;
    }
    p->expr->node[node].name = name;
    lex__next(p);
    return node;
}

static bool parse__take(struct expr_parser *p, int token, const char *wanted)
{
    if (p->token != token) {
        parse__unexpected(p, wanted);
        return false;
    }
    lex__next(p);
    return true;
}

/* After the name of a function, at its '('. */
static int parse__call(struct expr_parser *p, enum expr_op op, const char *place)
{
    int a, b = -1, node;

    lex__next(p);
    if (op == EXPR_HAS_EVENT || op == EXPR_SOURCE_COUNT) {
        node = parse__leaf(p, op);
        return node >= 0 && parse__take(p, ')', "')'") ? node : -1;
    }
    a = parse__conditional(p);
    if (a < 0 || !parse__take(p, ',', "','"))
        return -1;
    b = parse__conditional(p);
    if (b < 0 || !parse__take(p, ')', "')'"))
        return -1;
    return parse__add(p, op, place, a, b, -1);
}

static int parse__name_or_call(struct expr_parser *p)
{
    static const struct {
        const char *name;
        enum expr_op op;
    } function[] = {
        {"min", EXPR_MIN},
        {"max", EXPR_MAX},
        {"d_ratio", EXPR_D_RATIO},
        {"has_event", EXPR_HAS_EVENT},
        {"source_count", EXPR_SOURCE_COUNT},
    };
    const char *place = p->start;

    if (p->at[strspn(p->at, " \t")] != '(')
        return parse__leaf(p, EXPR_NAME);
    for (size_t i = 0; i < sizeof function / sizeof function[0]; i++) {
        if (lex__is(p, function[i].name)) {
            lex__next(p);
            return parse__call(p, function[i].op, place);
        }
    }
    return parse__fail(p, place, "there is no function '%.*s'", p->length < 40 ? (int)p->length : 40, place);
}

static int parse__primary(struct expr_parser *p)
{
    int node;

    switch (p->token) {
    case TOKEN_NUMBER:
        node = parse__add(p, EXPR_NUMBER, p->start, -1, -1, -1);
        if (node >= 0)
            p->expr->node[node].number = p->number;
        lex__next(p);
        return node;
    case TOKEN_NAME:
        return parse__name_or_call(p);
    case '(':
        lex__next(p);
        node = parse__conditional(p);
        return node >= 0 && parse__take(p, ')', "')'") ? node : -1;
    default:
        return parse__unexpected(p, "a value");
    }
}

static int parse__unary(struct expr_parser *p)
{
    const char *place = p->start;
    bool negate = false;
    int node;

    while (p->token == '-') {
        negate = !negate;
        lex__next(p);
    }
    node = parse__primary(p);
    return node >= 0 && negate ? parse__add(p, EXPR_NEGATE, place, node, -1, -1) : node;
}

/* Binding strength of a binary operator, 0: none. */
static unsigned parse__strength(int token, enum expr_op *op)
{
    static const struct {
        int token;
        enum expr_op op;
        unsigned strength;
    } binary[] = {
        {'|', EXPR_OR, 1},
        {'^', EXPR_XOR, 2},
        {'&', EXPR_AND, 3},
        {'<', EXPR_LESS, 4},
        {'>', EXPR_GREATER, 4},
        {TOKEN_LESS_EQUAL, EXPR_LESS_EQUAL, 4},
        {TOKEN_GREATER_EQUAL, EXPR_GREATER_EQUAL, 4},
        {TOKEN_EQUAL, EXPR_EQUAL, 4},
        {TOKEN_NOT_EQUAL, EXPR_NOT_EQUAL, 4},
        {'+', EXPR_ADD, 5},
        {'-', EXPR_SUBTRACT, 5},
        {'*', EXPR_MULTIPLY, 6},
        {'/', EXPR_DIVIDE, 6},
        {'%', EXPR_MODULO, 6},
    };

    for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++) {
        if (binary[i].token == token) {
            *op = binary[i].op;
            return binary[i].strength;
        }
    }
    return 0;
}

/* Precedence climbing: everything that binds at least as strongly as `least`. */
static int parse__binary(struct expr_parser *p, unsigned least)
{
    enum expr_op op = EXPR_NUMBER;
    int left = parse__unary(p);

    while (left >= 0) {
        unsigned strength = parse__strength(p->token, &op);
        const char *place = p->start;
        int right;

        if (strength == 0 || strength < least)
            break;
        lex__next(p);
        right = parse__binary(p, strength + 1);
        left = right < 0 ? -1 : parse__add(p, op, place, left, right, -1);
    }
    return left;
}

static int parse__conditional(struct expr_parser *p)
{
    int value, condition, otherwise = -1;
    const char *place;

    if (++p->depth > EXPR_DEPTH_MAX)
        return parse__fail(p, p->start, "more than %d levels of nesting", EXPR_DEPTH_MAX);
    value = parse__binary(p, 1);
    if (value >= 0 && p->token == TOKEN_IF) {
        place = p->start;
        lex__next(p);
        condition = parse__binary(p, 1);
        if (condition < 0 || !parse__take(p, TOKEN_ELSE, "'else'"))
            return -1;
        otherwise = parse__conditional(p);
        value = otherwise < 0 ? -1 : parse__add(p, EXPR_IF, place, value, condition, otherwise);
    }
    p->depth--;
    return value;
}

bool expr__parse(struct expr *expr, const char *text, struct expr_error *error)
{
    struct expr_parser p = {.expr = expr, .error = error, .text = text, .at = text};
    int root;

    *expr = (struct expr){0};
    *error = (struct expr_error){0};
    lex__next(&p);
    root = parse__conditional(&p);
    if (root >= 0 && p.token != TOKEN_END)
        root = parse__unexpected(&p, "an operator");
    if (root < 0) {
        expr__free(expr);
        return false;
    }
    assert((size_t)root + 1 == expr->n_nodes);
    return true;
}

void expr__free(struct expr *expr)
{
    for (size_t i = 0; i < expr->n_nodes; i++)
        free(expr->node[i].name);
    free(expr->node);
    *expr = (struct expr){0};
}

/* Three-valued logic: what is not counted decides nothing, what is counted may decide alone. */
static double evaluate__and(double a, double b)
{
    if (a == 0 || b == 0)
        return 0;
    return isnan(a) || isnan(b) ? (double)NAN : 1;
}

static double evaluate__or(double a, double b)
{
    if ((!isnan(a) && a != 0) || (!isnan(b) && b != 0))
        return 1;
    return isnan(a) || isnan(b) ? (double)NAN : 0;
}

/* Whole numbers, as in perf; outside their range there is no answer. */
static double evaluate__modulo(double a, double b)
{
    const double limit = 9007199254740992.0;

    if (!(fabs(a) < limit) || !(fabs(b) < limit) || (int64_t)b == 0)
        return (double)NAN;
    return (double)((int64_t)a % (int64_t)b);
}

static double evaluate__name(const struct expr_node *node, const struct expr_values *values)
{
    double value = 0;

    if (node->metric >= 0)
        return values->metric[node->metric];
    return values->lookup(values->arg, node->name, &value) ? value : (double)NAN;
}

static double evaluate__event(const struct expr_node *node, const struct expr_values *values)
{
    double value = 0;

    return values->lookup(values->arg, node->name, &value) ? 1 : 0;
}

/* Operators with two operands. Comparisons and arithmetic with NAN are NAN. */
static double evaluate__binary(enum expr_op op, double a, double b)
{
    if (op == EXPR_AND)
        return evaluate__and(a, b);
    if (op == EXPR_OR)
        return evaluate__or(a, b);
    if (isnan(a) || isnan(b))
        return (double)NAN;
    switch (op) {
    case EXPR_ADD:
        return a + b;
    case EXPR_SUBTRACT:
        return a - b;
    case EXPR_MULTIPLY:
        return a * b;
    case EXPR_DIVIDE:
        return b == 0 ? (double)NAN : a / b;
    case EXPR_MODULO:
        return evaluate__modulo(a, b);
    case EXPR_LESS:
        return a < b;
    case EXPR_GREATER:
        return a > b;
    case EXPR_LESS_EQUAL:
        return a <= b;
    case EXPR_GREATER_EQUAL:
        return a >= b;
    case EXPR_EQUAL:
        return a == b;
    case EXPR_NOT_EQUAL:
        return a != b;
    case EXPR_XOR:
        return (a != 0) != (b != 0);
    case EXPR_MIN:
        return a < b ? a : b;
    case EXPR_MAX:
        return a > b ? a : b;
    case EXPR_D_RATIO:
        return b == 0 ? 0 : a / b; /* what it exists for in perf */
    default:
        assert(false && "not a binary operator");
        return (double)NAN;
    }
}

double expr__evaluate(const struct expr *expr, const struct expr_values *values, double *scratch)
{
    assert(expr->n_nodes > 0);
    for (size_t i = 0; i < expr->n_nodes; i++) {
        const struct expr_node *node = &expr->node[i];

        switch (node->op) {
        case EXPR_NUMBER:
            scratch[i] = node->number;
            break;
        case EXPR_NAME:
            scratch[i] = evaluate__name(node, values);
            break;
        case EXPR_HAS_EVENT:
        case EXPR_SOURCE_COUNT:
            scratch[i] = evaluate__event(node, values);
            break;
        case EXPR_NEGATE:
            scratch[i] = -scratch[node->a];
            break;
        case EXPR_IF:
            if (isnan(scratch[node->b]))
                scratch[i] = (double)NAN;
            else
                scratch[i] = scratch[scratch[node->b] != 0 ? node->a : node->c];
            break;
        default:
            scratch[i] = evaluate__binary(node->op, scratch[node->a], scratch[node->b]);
            break;
        }
    }
    return scratch[expr->n_nodes - 1];
}
