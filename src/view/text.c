/* SPDX-License-Identifier: Apache-2.0 */
/* The report on a terminal: 100 columns, no control character of the profile reaches the terminal. */
#include "fathom/view.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fathom/profile.h"
#include "profile/weight.h"

enum { STACK_NAME = 16, STACK_COLUMN = 20, STACKS_BESIDE = 4 };
enum { COLUMNS = 100, BAR = 25, NAME = 44, DEFAULT_FUNCTIONS = 10, LIST = 5, FEW_WINDOWS = 30 };

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

struct page {
    const struct profile *profile;
    const struct text_options *opt;
    FILE *out;
};

static void paint(const struct page *page, const char *color)
{
    if (page->opt->color)
        fputs(color, page->out);
}

static void title(const struct page *page, const char *text, const char *of)
{
    fputc('\n', page->out);
    paint(page, BOLD);
    fputs(text, page->out);
    if (of)
        fprintf(page->out, " (%s)", of);
    paint(page, PLAIN);
    fputc('\n', page->out);
}

/* Length in bytes of the printable character at `p`, 0 if it is a control character or no UTF-8. */
static unsigned glyph_bytes(const unsigned char *p)
{
    if (p[0] < 0x80)
        return p[0] >= 0x20 && p[0] != 0x7f;
    unsigned n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || (p[0] == 0xc2 && p[1] < 0xa0))
        return 0;
    for (unsigned i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    const unsigned char *p = (const unsigned char *)text, *end = p + bytes;
    for (; p < end && *p; columns++) {
        unsigned n = glyph_bytes(p);
        p += n ? n : 1;
    }
    return columns;
}

/* At most `columns` of `text`, of them at most `bytes` bytes; returns the columns written. */
static int put_some(FILE *out, const char *text, size_t bytes, int columns)
{
    int done = 0;
    const unsigned char *p = (const unsigned char *)text, *end = p + bytes;
    for (; p < end && *p && done < columns; done++) {
        unsigned n = glyph_bytes(p);
        if (n)
            fwrite(p, 1, n, out);
        else
            fputc('?', out);
        p += n ? n : 1;
    }
    return done;
}

/* `text` in exactly `columns`, or in at most as many without `pad`; ".." marks what was cut. */
static void put(FILE *out, const char *text, int columns, bool pad)
{
    size_t bytes = strlen(text);
    int done;
    if (columns_of(text, bytes) > columns)
        done = put_some(out, text, bytes, columns - 2) + fprintf(out, "..");
    else
        done = put_some(out, text, bytes, columns);
    while (pad && done++ < columns)
        fputc(' ', out);
}

/* Words of `text` from column `indent` on, continued there. The caller has written `indent` columns. */
static void put_wrapped(FILE *out, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        size_t bytes = strcspn(text, " \n");
        int columns = columns_of(text, bytes);
        if (column > indent && column + 1 + columns > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent) {
            fputc(' ', out);
            column++;
        }
        column += put_some(out, text, bytes, columns);
        text += bytes;
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

/* 1234567 as "1,234,567". */
static const char *grouped(uint64_t value, char buf[32])
{
    char *p = buf + 31;
    int digits = 0;
    *p = '\0';
    do {
        if (digits && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + value % 10);
        value /= 10;
        digits++;
    } while (value);
    return p;
}

/* "12.3", or "-" for what is not known. */
static const char *number(double value, int decimals, char buf[32])
{
    if (isnan(value))
        return "-";
    int n = snprintf(buf, 32, fabs(value) < 1e12 ? "%.*f" : "%.*e", decimals, value);
    if (n > 0 && strspn(buf, "-0.") == (size_t)n) /* no "-0.0" */
        return buf[0] == '-' ? buf + 1 : buf;
    return buf;
}

static bool is_percent(const char *unit)
{
    return unit && unit[0] == '%';
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void header_line(const struct page *page, const char *key, const char *value)
{
    if (!value || !value[0])
        return;
    fprintf(page->out, "%-10s ", key);
    if (page->opt->all)
        put_some(page->out, value, strlen(value), INT32_MAX);
    else
        put(page->out, value, COLUMNS - 11, false);
    fputc('\n', page->out);
}

static void header(const struct page *page)
{
    const struct profile *profile = page->profile;
    char exit_status[64], copies[96];

    paint(page, BOLD);
    fprintf(page->out, profile->version ? "fathom " : "fathom");
    put(page->out, or_empty(profile->version), 30, false);
    paint(page, PLAIN);
    fputc('\n', page->out);
    header_line(page, "command", profile->command);
    header_line(page, "source", profile->source);
    header_line(page, "core", profile->core);
    header_line(page, "guest CPU", profile->guest_cpu);
    if (profile->n_copies) {
        snprintf(copies, sizeof copies, "%zu; all figures but those of single copies are sums over them",
                 profile->n_copies - 1);
        header_line(page, "copies", copies);
    }
    snprintf(exit_status, sizeof exit_status, "%d%s", profile->exit_status,
             profile->complete ? "" : " (incomplete run, see the warnings)");
    if (profile->exit_status != 0 || !profile->complete)
        header_line(page, "exit", exit_status);
    fputc('\n', page->out);
}

static void total(const struct page *page, const char *name, uint64_t value, const char *note, double figure,
                  int decimals)
{
    char count[32], buf[32];
    fprintf(page->out, "%22s %-14s", grouped(value, count), name);
    if (note)
        fprintf(page->out, " %8s %s", number(figure, decimals, buf), note);
    fputc('\n', page->out);
}

static bool is_estimate(const struct profile *profile)
{
    return profile->sample && profile->sample->measured < profile->instructions;
}

/* What the totals are estimated from, and how far off they may be. */
static void sampled(const struct page *page)
{
    const struct profile_sample *s = page->profile->sample;
    char text[512], low[32], high[32], share[32], windows[32], length[32];

    if (!is_estimate(page->profile))
        return;
    if (isnan(s->cpi_low) || isnan(s->cpi_high))
        snprintf(text, sizeof text, "Too few windows to tell how far off the estimate may be.");
    else if (s->cpi_low <= 0)
        snprintf(text, sizeof text, "IPC above %s, with a confidence of 99.7 %%.",
                 number(weight__ratio(1, s->cpi_high), 3, low));
    else
        snprintf(text, sizeof text, "IPC between %s and %s, with a confidence of 99.7 %%.",
                 number(weight__ratio(1, s->cpi_high), 3, low),
                 number(weight__ratio(1, s->cpi_low), 3, high));
    fprintf(page->out, "%23s", "");
    put_wrapped(page->out, text, 23);
    snprintf(
        text, sizeof text,
        "Sampled: cycles and everything below are estimated from %s windows of %s instructions and the "
        "beginning of the program, %s %% of all instructions.",
        grouped(s->windows, windows), grouped(s->window, length),
        number(weight__ratio(100.0 * (double)s->measured, (double)page->profile->instructions), 1, share));
    fprintf(page->out, "%23s", "");
    put_wrapped(page->out, text, 23);
}

static void totals(const struct page *page)
{
    const struct profile *profile = page->profile;
    double instructions = (double)profile->instructions, cycles = (double)profile->cycles;
    total(page, "instructions", profile->instructions, "IPC", weight__ratio(instructions, cycles), 2);
    total(page, "cycles", profile->cycles, "CPI", weight__ratio(cycles, instructions), 3);
    total(page, "uops retired", profile->uops_retired, "uops a cycle",
          weight__ratio((double)profile->uops_retired, cycles), 2);
    if (page->opt->all) {
        total(page, "uops issued", profile->uops_issued, "issued for each retired",
              weight__ratio((double)profile->uops_issued, (double)profile->uops_retired), 2);
        total(page, "issue slots", profile->slots, "a cycle", profile->issue_width, 0);
    }
    sampled(page);
}

static void bar(FILE *out, double percent)
{
    if (isnan(percent) || percent < 0)
        return;
    int n = percent >= 100 ? BAR : (int)(percent * BAR / 100 + 0.5);
    for (int i = 0; i < n; i++)
        fputc('#', out);
}

static bool is_leaf(const struct profile_tree *tree, size_t i)
{
    return i + 1 >= tree->n_nodes || tree->node[i + 1].level <= tree->node[i].level;
}

static bool has_flagged_child(const struct profile_tree *tree, size_t i)
{
    for (size_t k = i + 1; k < tree->n_nodes && tree->node[k].level > tree->node[i].level; k++)
        if (tree->node[k].flagged)
            return true;
    return false;
}

static bool is_shown(const struct page *page, const struct profile_node *node)
{
    if (page->opt->level > 0 && node->level > page->opt->level)
        return false;
    return page->opt->all || node->flagged || node->level <= 1;
}

static int node_indent(const struct profile_node *node)
{
    return node->level > 16 ? 32 : 2 * node->level;
}

static void tree_node(const struct page *page, const struct profile_tree *tree, size_t i)
{
    const struct profile_node *node = &tree->node[i];
    FILE *out = page->out;
    char buf[32];
    int indent = node_indent(node);

    if (node->flagged)
        paint(page, RED);
    fprintf(out, "%*s", indent, "");
    put(out, or_empty(node->name), NAME - indent, true);
    if (isnan(node->value)) {
        fprintf(out, " not counted\n");
    } else {
        fprintf(out, " %7s ", number(node->value, is_percent(node->unit) ? 1 : 2, buf));
        bool with_bar = is_percent(node->unit) && node->value >= 100.0 / BAR / 2;
        put(out, or_empty(node->unit), 9, with_bar || node->flagged);
        if (with_bar || node->flagged)
            fprintf(out, with_bar ? " %-3s " : " %s", node->flagged ? "<--" : "");
        if (with_bar)
            bar(out, node->value);
        fputc('\n', out);
    }
    if (node->flagged)
        paint(page, PLAIN);
    if (node->flagged && node->hint && node->hint[0] && (is_leaf(tree, i) || !has_flagged_child(tree, i))) {
        fprintf(out, "%*stry: ", indent + 2, "");
        put_wrapped(out, node->hint, indent + 7);
    }
}

static void one_tree(const struct page *page, const struct profile_tree *tree)
{
    size_t n_hidden = 0;
    char heading[128];
    snprintf(heading, sizeof heading, "%s",
             strncmp(or_empty(tree->name), "topdown", 7) == 0 ? "Top-Down" : "Metrics");
    title(page, heading, tree->n_nodes && tree->node[0].source ? tree->node[0].source : tree->name);
    for (size_t i = 0; i < tree->n_nodes; i++) {
        if (is_shown(page, &tree->node[i]))
            tree_node(page, tree, i);
        else
            n_hidden++;
    }
    if (n_hidden)
        fprintf(page->out, "  (%zu more nodes; %s)\n", n_hidden,
                page->opt->all ? "a greater --level shows them" : "not bottlenecks; --all shows them");
}

/* The counter-derived tree is for --compare and --all where the exact one is known. */
static void trees(const struct page *page)
{
    const struct profile *profile = page->profile;
    bool exact = profile__tree(profile, "topdown") != NULL;
    for (size_t i = 0; i < profile->n_trees; i++) {
        const char *name = or_empty(profile->tree[i].name);
        bool counters = strcmp(name, "topdown-counters") == 0 || strcmp(name, "topdown-multiplexed") == 0;
        if (page->opt->all || !exact || !counters)
            one_tree(page, &profile->tree[i]);
    }
}

static void compare_row(const struct page *page, const struct profile_node *node, double exact,
                        double counters, bool comparable, const char *unit)
{
    FILE *out = page->out;
    char a[32], b[32], c[32];
    int indent = node_indent(node);
    int decimals = is_percent(unit) ? 1 : 2;
    double difference = comparable ? counters - exact : (double)NAN;

    fprintf(out, "%*s", indent, "");
    put(out, or_empty(node->name), NAME - indent, true);
    fprintf(out, " %8s %9s %11s  ", number(exact, decimals, a), number(counters, decimals, b),
            number(difference, decimals, c));
    put(out, unit, COLUMNS - NAME - 33, false);
    fputc('\n', out);
}

static void compare_node(const struct page *page, const struct profile_node *exact,
                         const struct profile_node *counters)
{
    const struct profile_node *node = exact ? exact : counters;
    char unit[64];
    bool comparable = exact && counters && strcmp(or_empty(exact->unit), or_empty(counters->unit)) == 0;
    if (page->opt->level > 0 && node->level > page->opt->level)
        return;
    if (exact && counters && !comparable)
        snprintf(unit, sizeof unit, "%s | %s", or_empty(exact->unit), or_empty(counters->unit));
    else
        snprintf(unit, sizeof unit, "%s", or_empty(node->unit));
    compare_row(page, node, exact ? exact->value : (double)NAN, counters ? counters->value : (double)NAN,
                comparable, unit);
}

/* The nearest node above `path` in the tree; NULL: none. */
static const struct profile_node *ancestor(const struct profile_tree *tree, const char *path)
{
    const struct profile_node *best = NULL;
    for (size_t i = 0; i < tree->n_nodes; i++) {
        const char *above = or_empty(tree->node[i].path);
        size_t n = strlen(above);
        if (n && strncmp(path, above, n) == 0 && path[n] == '/' && (!best || n > strlen(best->path)))
            best = &tree->node[i];
    }
    return best;
}

/* Nodes of the counters' tree alone, under the exact node they belong to. */
static void compare_only_counted(const struct page *page, const struct profile_tree *exact,
                                 const struct profile_tree *counters, const struct profile_node *under)
{
    for (size_t i = 0; i < counters->n_nodes; i++) {
        const char *path = or_empty(counters->node[i].path);
        if (!profile_tree__find(exact, path) && ancestor(exact, path) == under)
            compare_node(page, NULL, &counters->node[i]);
    }
}

static void compare(const struct page *page)
{
    const struct profile_tree *exact = profile__tree(page->profile, "topdown");
    const struct profile_tree *counters = profile__tree(page->profile, "topdown-counters");

    title(page, "Top-Down, exact beside counters", NULL);
    if (!exact || !counters) {
        fprintf(page->out, "  this result has no %s tree to compare\n", exact ? "counter-derived" : "exact");
        return;
    }
    fprintf(page->out, "%-*s %8s %9s %11s  %s\n", NAME, "", "exact", "counters", "difference", "unit");
    for (size_t i = 0; i < exact->n_nodes; i++) {
        const char *path = or_empty(exact->node[i].path);
        compare_node(page, &exact->node[i], profile_tree__find(counters, path));
        compare_only_counted(page, exact, counters, &exact->node[i]);
    }
    compare_only_counted(page, exact, counters, NULL);
}

/* --- multiplexing ----------------------------------------------------------------------------- */

enum { MULTIPLEX_NAME = 52, LEVELS = 9 };

struct level_error {
    double sum, worst;
    const char *worst_name;
    unsigned n;
};

static double error_of(const struct profile_node *measured, const struct profile_node *reference)
{
    if (!measured || !reference || strcmp(or_empty(measured->unit), or_empty(reference->unit)) != 0)
        return (double)NAN;
    return measured->value - reference->value;
}

static void level_error__add(struct level_error *e, double error, const char *name)
{
    if (isnan(error))
        return;
    e->sum += fabs(error);
    if (!e->n++ || fabs(error) > fabs(e->worst)) {
        e->worst = error;
        e->worst_name = name;
    }
}

static void multiplexed_row(const struct page *page, const struct profile_node *node,
                            const struct profile_node *exact, const struct profile_node *all)
{
    char a[32], b[32], c[32], d[32];
    int indent = node_indent(node), decimals = is_percent(or_empty(node->unit)) ? 1 : 2;
    bool same = exact && strcmp(or_empty(exact->unit), or_empty(node->unit)) == 0;

    fprintf(page->out, "%*s", indent, "");
    put(page->out, or_empty(node->name), MULTIPLEX_NAME - indent, true);
    fprintf(page->out, "%9s %9s %12s %11s\n", number(same ? exact->value : (double)NAN, decimals, a),
            number(all ? all->value : (double)NAN, decimals, b), number(node->value, decimals, c),
            number(error_of(node, all), decimals, d));
}

static void level_line(const struct page *page, int level, const struct level_error *error, const char *of)
{
    char mean[32], worst[32];

    if (!error->n)
        return;
    fprintf(page->out, "  level %d, %s: mean %s, worst %s points (", level, of,
            number(error->sum / error->n, 2, mean), number(error->worst, 2, worst));
    put(page->out, or_empty(error->worst_name), 30, false);
    fputs(")\n", page->out);
}

/* The counter tree as a PMU with few counters measures it. */
static void multiplexing(const struct page *page)
{
    const struct profile_multiplexing *m = &page->profile->multiplexing;
    const struct profile_tree *tree = profile__tree(page->profile, "topdown-multiplexed");
    const struct profile_tree *exact = profile__tree(page->profile, "topdown");
    const struct profile_tree *all = profile__tree(page->profile, "topdown-counters");
    struct level_error by_turns[LEVELS] = {0}, of_truth[LEVELS] = {0};
    int depth = page->opt->level > 0 ? page->opt->level : page->opt->all ? LEVELS : 2;
    char a[32], text[160];

    if (!m->counters || !tree)
        return;
    snprintf(text, sizeof text, "%u counters in turns of %s cycles, %llu groups of events", m->counters,
             grouped(m->turn_cycles, a), (unsigned long long)m->groups);
    title(page, "Multiplexing", text);
    fprintf(page->out, "%-*s%9s %9s %12s %11s\n", MULTIPLEX_NAME, "", "exact", "counters", "multiplexed",
            "difference");
    for (size_t i = 0; i < tree->n_nodes; i++) {
        const struct profile_node *node = &tree->node[i];
        const struct profile_node *reference = all ? profile_tree__find(all, or_empty(node->path)) : NULL;
        const struct profile_node *truth = exact ? profile_tree__find(exact, or_empty(node->path)) : NULL;

        if (node->level <= depth)
            multiplexed_row(page, node, truth, reference);
        if (node->level >= 1 && node->level < LEVELS) {
            level_error__add(&by_turns[node->level], error_of(node, reference), node->name);
            level_error__add(&of_truth[node->level], error_of(node, truth), node->name);
        }
    }
    for (int level = 1; level < LEVELS; level++) {
        level_line(page, level, &by_turns[level], "against all counters");
        level_line(page, level, &of_truth[level], "against the truth");
    }
}

/* --- what if ---------------------------------------------------------------------------------- */

enum { WHAT_IF_NAME = 12, CORE_COLUMN = 8, CORE_NAME = COLUMNS - 8 * CORE_COLUMN };

static void ideal_line(const struct page *page, const struct profile_ideal *row)
{
    char a[32], b[32];

    fputs("  ", page->out);
    put(page->out, or_empty(row->name), WHAT_IF_NAME, true);
    fprintf(page->out, " %15s %8sx   ", grouped(row->cycles, a), number(row->speedup, 2, b));
    if (row->claim) {
        fprintf(page->out, "%5s %%  ", number(row->claim_percent, 1, b));
        put(page->out, row->claim, 48, false);
    }
    fputc('\n', page->out);
}

/* The row whose share of the tree is largest, in words: a share is not what its removal gains. */
static void ideal_sentence(const struct page *page)
{
    const struct profile *profile = page->profile;
    const struct profile_ideal *most = NULL;
    char text[256], a[32], b[32];

    for (size_t i = 0; i < profile->n_ideal; i++) {
        const struct profile_ideal *row = &profile->ideal[i];
        if (row->claim && !isnan(row->claim_percent) && !isnan(row->speedup) &&
            (!most || row->claim_percent > most->claim_percent))
            most = row;
    }
    if (!most)
        return;
    snprintf(text, sizeof text, "%s: the tree says %s %%; without it the program runs %s times as fast.",
             most->claim, number(most->claim_percent, 1, a), number(most->speedup, 2, b));
    fputs("  ", page->out);
    put_wrapped(page->out, text, 2);
}

static void ideals(const struct page *page)
{
    const struct profile *profile = page->profile;

    if (!profile->n_ideal)
        return;
    title(page, "What if", "the same execution without one bottleneck");
    fprintf(page->out, "  %-*s %15s %9s   %s\n", WHAT_IF_NAME, "without", "cycles", "speed-up",
            "share of the slots in the tree");
    for (size_t i = 0; i < profile->n_ideal; i++)
        ideal_line(page, &profile->ideal[i]);
    ideal_sentence(page);
}

static void core_row(const struct page *page, const char *name, int indent)
{
    fprintf(page->out, "%*s", indent, "");
    put(page->out, name, CORE_NAME - indent, true);
}

static void core_cell(const struct page *page, const char *text)
{
    int width = columns_of(text, strlen(text));

    fprintf(page->out, "%*s", width < CORE_COLUMN ? CORE_COLUMN - width : 1, "");
    put(page->out, text, CORE_COLUMN - 1, false);
}

/* 1234567 as "1.23 M". */
static const char *brief(uint64_t value, char buf[32])
{
    double v = (double)value;
    const char *unit = v >= 1e9 ? " G" : v >= 1e6 ? " M" : v >= 1e3 ? " k" : "";
    double scaled = v >= 1e9 ? v / 1e9 : v >= 1e6 ? v / 1e6 : v >= 1e3 ? v / 1e3 : v;

    snprintf(buf, 32, "%.*f%s", *unit && scaled < 100 ? 2 : *unit && scaled < 1000 ? 1 : 0, scaled, unit);
    return buf;
}

static void core_totals(const struct page *page)
{
    const struct profile *profile = page->profile;
    char buf[32];

    core_row(page, "", 0);
    for (size_t i = 0; i < profile->n_core_results; i++)
        core_cell(page, or_empty(profile->core_result[i].name));
    fputc('\n', page->out);
    core_row(page, "cycles", 2);
    for (size_t i = 0; i < profile->n_core_results; i++)
        core_cell(page, brief(profile->core_result[i].cycles, buf));
    fputc('\n', page->out);
    core_row(page, "IPC", 2);
    for (size_t i = 0; i < profile->n_core_results; i++) {
        const struct profile_core *core = &profile->core_result[i];
        core_cell(page, number(weight__ratio((double)core->instructions, (double)core->cycles), 2, buf));
    }
    fputc('\n', page->out);
}

static void core_nodes(const struct page *page)
{
    const struct profile *profile = page->profile;
    const struct profile_tree *tree = &profile->core_result[0].tree;
    int level = page->opt->level ? page->opt->level : page->opt->all ? INT32_MAX : 2;
    char buf[32];

    for (size_t k = 0; k < tree->n_nodes; k++) {
        if (tree->node[k].level > level)
            continue;
        core_row(page, or_empty(tree->node[k].name), node_indent(&tree->node[k]));
        for (size_t i = 0; i < profile->n_core_results; i++) {
            const struct profile_node *node =
                profile_tree__find(&profile->core_result[i].tree, or_empty(tree->node[k].path));
            core_cell(page, node ? number(node->value, 1, buf) : "-");
        }
        fputs(k == 0 ? "  % of the slots\n" : "\n", page->out);
    }
}

static void cores(const struct page *page)
{
    const struct profile *profile = page->profile;
    char text[256], buf[32];

    if (!profile->n_core_results)
        return;
    title(page, "Cores", "the same execution");
    core_totals(page);
    core_nodes(page);
    for (size_t i = 0; i < profile->n_core_results; i++) {
        const struct profile_core *core = &profile->core_result[i];
        if (core->self || !core->n_unknown)
            continue;
        snprintf(
            text, sizeof text,
            "%.60s: %s instructions that this core does not have, or without a row in its table, got the "
            "default recipe; the program saw the processor of %.60s",
            or_empty(core->name), grouped(core->n_unknown, buf), or_empty(profile->core));
        fputs("  ", page->out);
        put_wrapped(page->out, text, 2);
    }
}

/* --- copies ----------------------------------------------------------------------------------- */

static const struct copy_column {
    const char *title, *path;
} copy_column[] = {
    {"Ret", "Retiring"},
    {"BadSp", "Bad Speculation"},
    {"Front", "Frontend Bound"},
    {"Core", "Backend Bound/Core Bound"},
    {"L1", "Backend Bound/Memory Bound/L1 Bound"},
    {"L2", "Backend Bound/Memory Bound/L2 Bound"},
    {"L3", "Backend Bound/Memory Bound/L3 Bound"},
    {"MLat", "Backend Bound/Memory Bound/Ext. Memory Bound/MEM Latency"},
    {"MBand", "Backend Bound/Memory Bound/Ext. Memory Bound/MEM Bandwidth"},
    {"Store", "Backend Bound/Memory Bound/Stores Bound"},
};
enum { COPY_COLUMNS = sizeof copy_column / sizeof copy_column[0] };

static void copy_line(const struct page *page, const char *name, uint64_t instructions, uint64_t cycles,
                      double slowdown, const struct profile_tree *tree)
{
    char a[32], b[32], c[32];

    fputs("  ", page->out);
    put(page->out, name, 6, true);
    fprintf(page->out, " %8s %6s %6sx ", brief(cycles, a),
            number(weight__ratio((double)instructions, (double)cycles), 2, b), number(slowdown, 2, c));
    for (int k = 0; k < COPY_COLUMNS; k++) {
        const struct profile_node *node = profile_tree__find(tree, copy_column[k].path);
        fprintf(page->out, " %5s", node ? number(node->value, 1, a) : "-");
    }
    fputc('\n', page->out);
}

/* What the copies gain together, and the part of the tree that grows most. */
static void copies_sentence(const struct page *page)
{
    const struct profile *profile = page->profile;
    const struct profile_node *grown = NULL;
    double n = (double)(profile->n_copies - 1), throughput = profile__throughput(profile);
    double most = 0, before = 0;
    char text[320], a[32], b[32], c[32];
    int used;

    if (profile->n_copies < 3 || profile->n_trees == 0)
        return;
    for (int k = 1; k < COPY_COLUMNS; k++) {
        const struct profile_node *node = profile_tree__find(&profile->tree[0], copy_column[k].path);
        const struct profile_node *was = profile_tree__find(&profile->copy[0].tree, copy_column[k].path);
        if (!node || !was || !(node->value - was->value > most))
            continue;
        most = node->value - was->value;
        before = was->value;
        grown = node;
    }
    used = snprintf(text, sizeof text,
                    "%.0f copies do the work of %s that run alone; each takes %s times as long.", n,
                    number(throughput, 2, a), number(n / throughput, 2, b));
    if (grown && most >= 1)
        snprintf(text + used, sizeof text - (size_t)used,
                 " What grows most is %.60s: %s %% of the slots alone, %s %% with the others.",
                 or_empty(grown->name), number(before, 1, a), number(grown->value, 1, c));
    fputs("  ", page->out);
    put_wrapped(page->out, text, 2);
}

static void copies(const struct page *page)
{
    const struct profile *profile = page->profile;

    if (!profile->n_copies || !profile->n_trees)
        return;
    title(page, "Copies", "on cores that share L3 and memory, and one alone; % of the slots");
    fprintf(page->out, "  %-6s %8s %6s %7s ", "copy", "cycles", "IPC", "slower");
    for (int k = 0; k < COPY_COLUMNS; k++)
        fprintf(page->out, " %5s", copy_column[k].title);
    fputc('\n', page->out);
    for (size_t i = 0; i < profile->n_copies; i++) {
        const struct profile_copy *row = &profile->copy[i];
        copy_line(page, or_empty(row->name), row->instructions, row->cycles, row->slowdown, &row->tree);
    }
    copy_line(page, "all", profile->instructions, profile->cycles,
              (double)(profile->n_copies - 1) / profile__throughput(profile), &profile->tree[0]);
    copies_sentence(page);
}

static void stack_line(const struct page *page, const char *name, double cycles, double cpi, double percent,
                       bool with_bar)
{
    char a[32], b[32], c[32];
    fprintf(page->out, "  ");
    put(page->out, name, NAME - 18, true);
    fprintf(page->out, " %15s %8s %6s %%",
            cycles >= 0 && cycles < 1e15 ? grouped((uint64_t)(cycles + 0.5), a) : number(cycles, 0, a),
            number(cpi, 3, b), number(percent, 1, c));
    if (with_bar && percent >= 100.0 / BAR / 2) {
        fputs("  ", page->out);
        bar(page->out, percent);
    }
    fputc('\n', page->out);
}

/* Small components are summed up, so that the lines add up to the total. */
static void one_stack(const struct page *page, const struct profile_stack *stack)
{
    double cycles = 0, cpi = 0, small_cycles = 0, small_cpi = 0;
    size_t n_small = 0;
    char name[64], of[128];

    snprintf(of, sizeof of, "%s%s", or_empty(stack->name), is_estimate(page->profile) ? ", sampled" : "");
    title(page, "CPI stack", stack->name ? of : NULL);
    fprintf(page->out, "  %-*s %15s %8s %8s\n", NAME - 18, "", "cycles", "CPI", "share");
    for (size_t i = 0; i < stack->n_components; i++) {
        cycles += stack->component[i].cycles;
        cpi += stack->component[i].cpi;
    }
    for (size_t i = 0; i < stack->n_components; i++) {
        const struct profile_component *component = &stack->component[i];
        double percent = weight__ratio(100.0 * component->cycles, cycles);
        if (!page->opt->all && percent < 1.0) {
            n_small += component->cycles > 0;
            small_cycles += component->cycles;
            small_cpi += component->cpi;
            continue;
        }
        stack_line(page, or_empty(component->component), component->cycles, component->cpi, percent, true);
    }
    if (n_small) {
        snprintf(name, sizeof name, "%zu under 1 %%", n_small);
        stack_line(page, name, small_cycles, small_cpi, weight__ratio(100.0 * small_cycles, cycles), false);
    }
    stack_line(page, "total", cycles, cpi, weight__ratio(100.0 * cycles, cycles), false);
}

static bool same_components(const struct profile_stack *a, const struct profile_stack *b)
{
    if (a->n_components != b->n_components)
        return false;
    for (size_t i = 0; i < a->n_components; i++)
        if (strcmp(or_empty(a->component[i].component), or_empty(b->component[i].component)) != 0)
            return false;
    return true;
}

/* One line of stacks side by side: cycles an instruction and the share of each; `i` SIZE_MAX: their sums. */
static void beside_line(const struct page *page, const struct profile_stack *stack, size_t n, size_t i)
{
    char a[32], b[32];
    bool is_sum = i == SIZE_MAX;

    fputs("  ", page->out);
    put(page->out, is_sum ? "total" : or_empty(stack->component[i].component), STACK_NAME, true);
    for (size_t k = 0; k < n; k++) {
        double cpi = 0, sum = 0;
        for (size_t c = 0; c < stack[k].n_components; c++)
            sum += stack[k].component[c].cpi;
        cpi = is_sum ? sum : stack[k].component[i].cpi;
        fprintf(page->out, " %10s %6s %%", number(cpi, 3, a), number(weight__ratio(100.0 * cpi, sum), 1, b));
    }
    fputc('\n', page->out);
}

/* The same cycles seen from several stages. */
static void stacks_beside(const struct page *page, const struct profile_stack *stack, size_t n)
{
    title(page, "CPI stacks by stage", "cycles an instruction");
    fprintf(page->out, "  %-*s", STACK_NAME, "");
    for (size_t k = 0; k < n; k++) {
        const char *name = or_empty(stack[k].name);
        int columns = columns_of(name, strlen(name));
        fprintf(page->out, "%*s", columns < STACK_COLUMN ? STACK_COLUMN - columns : 0, "");
        put(page->out, name, STACK_COLUMN, false);
    }
    fputc('\n', page->out);
    for (size_t i = 0; i < stack->n_components; i++)
        beside_line(page, stack, n, i);
    beside_line(page, stack, n, SIZE_MAX);
}

static void stacks(const struct page *page)
{
    const struct profile *profile = page->profile;
    const struct profile_stack *more = profile->stack + 1;
    size_t n = profile->n_stacks, beside = 1;

    if (n > 0)
        one_stack(page, profile->stack);
    if (n < 2)
        return;
    while (beside < n - 1 && beside < STACKS_BESIDE && same_components(more, more + beside))
        beside++;
    if (beside > 1)
        stacks_beside(page, more, beside);
    for (size_t i = beside > 1 ? 1 + beside : 1; i < n; i++)
        one_stack(page, &profile->stack[i]);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void weight_columns(const struct page *page, const struct site_weight *weight)
{
    char a[32], b[32], c[32], s[PLACE_SLOTS][32];
    fprintf(page->out, "%7s %7s %6s", number(profile__cycle_percent(page->profile, weight), 1, a),
            number(profile__instruction_percent(page->profile, weight), 1, b),
            number(weight__ipc(weight), 2, c));
    for (int i = 0; i < PLACE_SLOTS; i++)
        fprintf(page->out, " %5s", number(weight__slot_percent(weight, (enum place_slots)i), 1, s[i]));
    fputs("  ", page->out);
}

static void function_line(const struct page *page, const struct profile_function *function)
{
    weight_columns(page, &function->weight);
    put(page->out, or_empty(function->name), 30, true);
    fputc(' ', page->out);
    put(page->out, base_name(profile__module_path(page->profile, function->module)), 15, false);
    fputc('\n', page->out);
    if (page->opt->all && function->file) {
        fprintf(page->out, "%56s", "");
        put_some(page->out, function->file, strlen(function->file), INT32_MAX);
        fprintf(page->out, ":%d\n", function->line);
    }
}

static void functions(const struct page *page)
{
    const struct profile *profile = page->profile;
    size_t n = page->opt->functions > 0 ? (size_t)page->opt->functions : DEFAULT_FUNCTIONS;
    struct site_weight rest = {0};
    char name[64];

    if (profile->n_functions == 0)
        return;
    if (n > profile->n_functions)
        n = profile->n_functions;
    title(page, "Hot functions", NULL);
    fprintf(page->out, "%22s  %s\n", "", "--- % of its issue slots ---");
    fprintf(page->out, "%7s %7s %6s %5s %5s %5s %5s %5s  %-30s %s\n", "cycles%", "insns%", "IPC", "Ret",
            "BadSp", "Front", "Mem", "Core", "function", "module");
    for (size_t i = 0; i < n; i++)
        function_line(page, &profile->function[i]);
    for (size_t i = n; i < profile->n_functions; i++)
        weight__add(&rest, &profile->function[i].weight);
    if (n < profile->n_functions) {
        weight_columns(page, &rest);
        snprintf(name, sizeof name, "%zu more (--functions N)", profile->n_functions - n);
        fprintf(page->out, "%s\n", name);
    }
}

/* "NAME 1,234 times (note), ..." */
static void count_list(const struct page *page, const struct profile_count *count, size_t n)
{
    char buf[32];
    size_t shown = page->opt->all || n <= LIST ? n : LIST;
    for (size_t i = 0; i < shown; i++) {
        fprintf(page->out, "      %14s x ", grouped(count[i].count, buf));
        put(page->out, or_empty(count[i].name), 40, false);
        if (count[i].note && count[i].note[0]) {
            fputs(" (", page->out);
            put(page->out, count[i].note, COLUMNS - 66, false);
            fputc(')', page->out);
        }
        fputc('\n', page->out);
    }
    if (shown < n)
        fprintf(page->out, "      %14s   %zu more (--all)\n", "", n - shown);
}

static void warn(const struct page *page, const char *text)
{
    paint(page, RED);
    fputs("  ! ", page->out);
    paint(page, PLAIN);
    put_wrapped(page->out, text, 4);
}

static void warn_unknown(const struct page *page)
{
    const struct profile *profile = page->profile;
    char text[256], dynamic[32], share[32];
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->n_unknown; i++)
        sum += profile->unknown[i].count;
    snprintf(text, sizeof text,
             "%zu instruction form%s not in the core's instruction table ran %s times (%s %% of all "
             "instructions) and got the default recipe:",
             profile->n_unknown, profile->n_unknown == 1 ? "" : "s", grouped(sum, dynamic),
             number(weight__ratio(100.0 * (double)sum, (double)profile->instructions), 3, share));
    warn(page, text);
    count_list(page, profile->unknown, profile->n_unknown);
}

static bool is_short_of_windows(const struct profile *profile)
{
    return is_estimate(profile) && profile->sample->windows < FEW_WINDOWS;
}

static void warnings(const struct page *page)
{
    const struct profile *profile = page->profile;
    char text[1024];

    if (profile->complete && !profile->incomplete_why && !profile->n_unknown && !profile->n_nondeterminism &&
        !is_short_of_windows(profile))
        return;
    title(page, "Warnings", NULL);
    if (!profile->complete) {
        snprintf(text, sizeof text, "The run is incomplete and the figures cover only what was seen: %s",
                 profile->incomplete_why ? profile->incomplete_why : "the reason is not known");
        warn(page, text);
    } else if (profile->incomplete_why) {
        warn(page, profile->incomplete_why);
    }
    if (is_short_of_windows(profile)) {
        snprintf(text, sizeof text,
                 "Only %" PRIu64 " windows were measured: their mean says little; shorter periods "
                 "(--sample=PERIOD) give more of them, and without --sample everything is measured.",
                 profile->sample->windows);
        warn(page, text);
    }
    if (profile->n_unknown)
        warn_unknown(page);
    if (profile->n_nondeterminism) {
        warn(page, "The program asked for things that differ from run to run, so its figures may too:");
        count_list(page, profile->nondeterminism, profile->n_nondeterminism);
    }
}

static void verdict(const struct page *page)
{
    const struct profile *profile = page->profile;
    if (!profile->verdict && !profile->verdict_next)
        return;
    title(page, "Verdict", NULL);
    if (profile->verdict) {
        fputs("  ", page->out);
        put_wrapped(page->out, profile->verdict, 2);
    }
    if (profile->verdict_next) {
        fputs("  Try: ", page->out);
        put_wrapped(page->out, profile->verdict_next, 7);
    }
}

void view__text(const struct profile *profile, const struct text_options *opt, FILE *out)
{
    const struct text_options plain = {0};
    const struct page page = {profile, opt ? opt : &plain, out};

    assert(profile && out);
    header(&page);
    totals(&page);
    if (page.opt->compare)
        compare(&page);
    else
        trees(&page);
    multiplexing(&page);
    ideals(&page);
    cores(&page);
    copies(&page);
    stacks(&page);
    functions(&page);
    warnings(&page);
    verdict(&page);
}
