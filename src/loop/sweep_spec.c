/* SPDX-License-Identifier: Apache-2.0 */
/* What to sweep: NAME=VALUES, once or twice, with commas between. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cores/params.h"
#include "fathom/status.h"
#include "loop/sweep.h"

#define OTHERS "others"
#define EXAMPLE "for example load_latency=4..40 or rs=0.4..2:0.1,others=0.4..2:0.1"

static const char *const others[] = {"rob_entries", "idq_entries", "load_buffer", "store_buffer",
                                     "load_matrix"};
/* RT-5, RT-7: buffers that only the published rules look at in loops. */
static const char *const ufs_only[] = {"load_buffer", "store_buffer", "load_matrix"};
/* Parameters of parts that loops do without: memory is L1, branches are known, decoded code stays. */
static const char *const never[] = {"lsd_detect_iterations", "dsb_sets",       "prf_int",     "prf_vec",
                                    "split_load_cyc",        "split_page_cyc", "alias_4k_cyc"};

struct parser {
    struct sweep_spec *spec;
    const struct core *core;
    enum loopsim_model model;
    const char *text; /* whole specification */
    struct status *st;
};

/* Without powers of ten, unlike the shortest form: people read it. */
static const char *decimal(double value, char buf[TEXT_DOUBLE_MAX])
{
    snprintf(buf, TEXT_DOUBLE_MAX, "%.10g", value);
    return buf;
}

static int fail_at(const struct parser *p, const char *at, const char *what, const char *token, size_t n)
{
    return status__fail_with(p->st, EXIT_CODE_USAGE, "--sweep %.200s: character %zu: \"%.*s\" %s; " EXAMPLE,
                             p->text, (size_t)(at - p->text) + 1, (int)(n < 64 ? n : 64), token, what);
}

static bool is_in(const char *key, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(key, list[i]) == 0)
            return true;
    return false;
}
#define IS_IN(key, list) is_in(key, list, sizeof(list) / sizeof((list)[0]))

/* Why a parameter changes nothing for loops, or NULL. */
static const char *why_inert(const struct param *param, enum loopsim_model model)
{
    const char *section = NULL;
    size_t n;
    const struct param *table = params__table(&n);

    for (const struct param *q = table; q <= param; q++)
        if (params__section(q))
            section = params__section(q);
    if (section && strcmp(section, "branches") == 0)
        return "plays no part in loops, whose branches are always predicted";
    if (section && strcmp(section, "memory") == 0)
        return "plays no part in loops, whose memory is always in L1 (load_latency is its latency)";
    if (IS_IN(param->key, never))
        return "plays no part in the model of loops";
    if (model != LOOPSIM_UFS && IS_IN(param->key, ufs_only))
        return "limits loops only under the published rules (--model ufs)";
    return NULL;
}

static int name_axis(struct parser *p, const char *name, size_t n, struct sweep_axis *axis)
{
    if (!n || n >= SWEEP_NAME_MAX)
        return fail_at(p, name, "is no name of a parameter", name, n);
    snprintf(axis->name, sizeof axis->name, "%.*s", (int)n, name);
    if (strcmp(axis->name, OTHERS) == 0) {
        strcpy(axis->key, OTHERS);
        axis->factor = true;
        return 0;
    }
    const struct param *param = params__find(axis->name);
    if (!param) {
        const char *like = params__suggest(axis->name);
        char what[160];
        snprintf(what, sizeof what, "is no parameter of a core%s%s%s ('fathom cores show' lists them)",
                 like ? "; did you mean \"" : "", like ? like : "", like ? "\"?" : "");
        return fail_at(p, name, what, name, n);
    }
    if (param->type == PARAM_TEXT || param->type == PARAM_UNROLL || param->type == PARAM_REPLACEMENT)
        return fail_at(p, name, "takes no single number and cannot be swept", name, n);
    if (why_inert(param, p->model))
        return fail_at(p, name, why_inert(param, p->model), name, n);
    snprintf(axis->key, sizeof axis->key, "%s", param->key);
    snprintf(axis->unit, sizeof axis->unit, "%s", param->unit);
    return 0;
}

/* A number at [from, to), with an x behind it or as a word of a switch. */
static int number(struct parser *p, struct sweep_axis *axis, const char *from, const char *to, double *value)
{
    char token[64];
    const char *end;
    size_t n = (size_t)(to - from);

    snprintf(token, sizeof token, "%.*s", (int)n, from);
    if (strcmp(token, "yes") == 0 || strcmp(token, "no") == 0) {
        *value = token[0] == 'y';
        return 0;
    }
    if (!n || n >= sizeof token || !text__to_double(token, value, &end) || (*end && strcmp(end, "x") != 0))
        return fail_at(p, from, n ? "is no number" : "stands where a number should", n ? from : "nothing",
                       n ? n : 7);
    if (*value < 0)
        return fail_at(p, from, "is negative", from, n);
    if (*end || *value != floor(*value))
        axis->factor = true;
    return 0;
}

static int add_value(struct parser *p, struct sweep_axis *axis, const char *at, double value)
{
    if (axis->n >= SWEEP_MAX_POINTS)
        return fail_at(p, at, "asks for more than 20000 values", at, strcspn(at, ","));
    double *grown = realloc(axis->value, (axis->n + 1) * sizeof *grown);
    if (!grown)
        return status__fail(p->st, "not enough memory for the values of a sweep");
    axis->value = grown;
    axis->value[axis->n++] = round(value * 1e9) / 1e9;
    return 0;
}

/* NUMBER, FIRST..LAST or FIRST..LAST:STEP at [from, to). */
static int values(struct parser *p, struct sweep_axis *axis, const char *from, const char *to)
{
    size_t n = (size_t)(to - from);
    const char *dots = memmem(from, n, "..", 2);
    double first, last, step;

    if (!dots)
        return number(p, axis, from, to, &first) ? -1 : add_value(p, axis, from, first);
    const char *colon = memchr(dots, ':', (size_t)(to - dots));
    if (number(p, axis, from, dots, &first) || number(p, axis, dots + 2, colon ? colon : to, &last))
        return -1;
    step = axis->factor ? 0.1 : 1;
    if (colon && number(p, axis, colon + 1, to, &step))
        return -1;
    if (step <= 0)
        return fail_at(p, colon + 1, "is no step: it must be above 0", colon + 1, (size_t)(to - colon - 1));
    if (last < first)
        return fail_at(p, from, "ends below its beginning", from, n);
    double count = floor((last - first) / step + 1e-6) + 1;
    if (count > SWEEP_MAX_POINTS)
        return fail_at(p, from, "asks for more than 20000 values", from, n);
    for (size_t i = 0; i < (size_t)count; i++)
        if (add_value(p, axis, from, first + (double)i * step))
            return -1;
    return 0;
}

static int set_param(struct core *core, const struct sweep_axis *axis, double value, struct status *st)
{
    const struct param *param = params__find(axis->key);
    char place[SWEEP_NAME_MAX + 64], text[TEXT_DOUBLE_MAX], number_text[TEXT_DOUBLE_MAX];
    void *at = (char *)core + param->offset;

    snprintf(place, sizeof place, "--sweep %s at %s%s", axis->name, decimal(value, text),
             axis->factor ? "x" : "");
    if (axis->factor && param->type == PARAM_BOOL)
        return status__fail(st, "%s: a switch has no factors; write no or yes", place);
    if (axis->factor)
        value *= param->type == PARAM_DOUBLE ? *(double *)at : *(uint32_t *)at;
    if (axis->factor && param->type != PARAM_DOUBLE)
        value = round(value);
    return params__set(core, param, decimal(value, number_text), place, st);
}

static double get_param(const struct core *core, const struct param *param)
{
    const void *at = (const char *)core + param->offset;

    if (param->type == PARAM_BOOL)
        return *(const bool *)at;
    return param->type == PARAM_DOUBLE ? *(const double *)at : *(const uint32_t *)at;
}

int sweep__scale_others(struct core *core, double factor, const char *place, struct status *st)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct param *param = params__find(others[i]);
        char text[TEXT_DOUBLE_MAX];
        double value = round(factor * get_param(core, param));
        if (params__set(core, param, decimal(value, text), place, st))
            return -1;
    }
    return 0;
}

static int set_axis(struct core *core, const struct sweep_axis *axis, size_t i, struct status *st)
{
    char place[96], text[TEXT_DOUBLE_MAX];

    if (strcmp(axis->key, OTHERS) != 0)
        return set_param(core, axis, axis->value[i], st);
    snprintf(place, sizeof place, "--sweep others at %sx", decimal(axis->value[i], text));
    return sweep__scale_others(core, axis->value[i], place, st);
}

size_t sweep_spec__points(const struct sweep_spec *spec)
{
    size_t n = 1;
    for (unsigned a = 0; a < spec->n_axes; a++)
        n *= spec->axis[a].n;
    return n;
}

int sweep_spec__core(const struct sweep_spec *spec, size_t i, const struct core *base, struct core *core,
                     struct status *st)
{
    char place[160] = "--sweep at ";

    *core = *base;
    for (unsigned a = 0; a < spec->n_axes; a++) {
        const struct sweep_axis *axis = &spec->axis[a];
        char text[TEXT_DOUBLE_MAX];
        size_t used = strlen(place), k = i % axis->n;
        if (set_axis(core, axis, k, st))
            goto usage;
        snprintf(place + used, sizeof place - used, "%s%s=%s%s", a ? "," : "", axis->name,
                 decimal(axis->value[k], text), axis->factor ? "x" : "");
        i /= axis->n;
    }
    if (core__check(core, place, st) == 0)
        return 0;
usage:
    st->exit_code = EXIT_CODE_USAGE;
    return -1;
}

static int fill_effective(struct parser *p, struct sweep_axis *axis)
{
    const struct param *param = params__find(axis->key);

    if (strcmp(axis->key, OTHERS) == 0)
        return 0;
    axis->effective = calloc(axis->n, sizeof *axis->effective);
    if (!axis->effective)
        return status__fail(p->st, "not enough memory for the values of a sweep");
    for (size_t i = 0; i < axis->n; i++) {
        struct core core = *p->core;
        if (set_axis(&core, axis, i, p->st)) {
            p->st->exit_code = EXIT_CODE_USAGE;
            return -1;
        }
        axis->effective[i] = get_param(&core, param);
    }
    return 0;
}

static bool same_parameter(const struct sweep_axis *a, const struct sweep_axis *b)
{
    const struct sweep_axis *one = strcmp(a->key, OTHERS) == 0 ? b : a;
    if (strcmp(a->key, b->key) == 0)
        return true;
    return (one == b || strcmp(b->key, OTHERS) == 0) && IS_IN(one->key, others);
}

/* One NAME=VALUES[,VALUES...]; returns where the next begins, NULL on failure. */
static const char *one_axis(struct parser *p, const char *at)
{
    size_t n = strcspn(at, "=,");
    if (at[n] != '=') {
        fail_at(p, at, "has no '=': write NAME=FIRST..LAST[:STEP]", *at ? at : "the end", *at ? n : 7);
        return NULL;
    }
    if (p->spec->n_axes == SWEEP_MAX_AXES) {
        fail_at(p, at, "would be a third parameter: sweep one or two at a time", at, n);
        return NULL;
    }
    struct sweep_axis *axis = &p->spec->axis[p->spec->n_axes++];
    if (name_axis(p, at, n, axis))
        return NULL;
    if (axis != p->spec->axis && same_parameter(p->spec->axis, axis)) {
        fail_at(p, at, "is already swept by the first", at, n);
        return NULL;
    }
    at += n + 1;
    for (;;) {
        const char *end = at + strcspn(at, ",");
        if (values(p, axis, at, end))
            return NULL;
        if (!*end)
            return end;
        at = end + 1;
        if (at[strcspn(at, "=,")] == '=')
            return at;
    }
}

static int check_points(struct parser *p)
{
    size_t n = sweep_spec__points(p->spec);
    struct core core;

    if (n > SWEEP_MAX_POINTS)
        return status__fail_with(p->st, EXIT_CODE_USAGE,
                                 "--sweep %.200s: %zu points are more than %d: choose larger steps", p->text,
                                 n, SWEEP_MAX_POINTS);
    for (size_t i = 0; i < n; i++)
        if (sweep_spec__core(p->spec, i, p->core, &core, p->st))
            return -1;
    return 0;
}

int sweep_spec__parse(struct sweep_spec *spec, const char *text, const struct core *core,
                      enum loopsim_model model, struct status *st)
{
    struct status ignored;
    struct parser p = {.spec = spec, .core = core, .model = model, .text = text, .st = st ? st : &ignored};
    const char *at = text;

    memset(spec, 0, sizeof *spec);
    do
        if (!(at = one_axis(&p, at)))
            return -1;
    while (*at);
    for (unsigned a = 0; a < spec->n_axes; a++)
        if (fill_effective(&p, &spec->axis[a]))
            return -1;
    return check_points(&p);
}

void sweep_spec__free(struct sweep_spec *spec)
{
    for (unsigned a = 0; a < SWEEP_MAX_AXES; a++) {
        free(spec->axis[a].value);
        free(spec->axis[a].effective);
    }
    memset(spec, 0, sizeof *spec);
}
