/* SPDX-License-Identifier: Apache-2.0 */
/* Metric expressions, metric files, the built-in tree, the exact tree and verdicts, on made-up counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/account.h"
#include "fathom/core.h"
#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/tree.h"
#include "profile/weight.h"
#include "tree/build.h"
#include "tree/expr.h"
#include "tree/metrics.h"

struct count {
    const char *name;
    double value;
};

/* A metric_lookup over an array of counts that ends with a NULL name. */
static bool counts__lookup(void *arg, const char *name, double *value)
{
    for (const struct count *c = arg; c->name; c++) {
        if (strcmp(c->name, name) == 0) {
            *value = c->value;
            return true;
        }
    }
    return false;
}

static double evaluate(const char *text)
{
    static const struct count counts[] = {
        {"a", 6},
        {"b", 4},
        {"zero", 0},
        {"X.Y_Z", 10},
        {"cpu@E,cmask=2@", 3},
        {"E:c1", 5},
        {"#issue_width", 4},
        {NULL, 0},
    };
    struct expr_values values = {.lookup = counts__lookup, .arg = (void *)counts};
    struct expr_error error;
    struct expr expr;
    double scratch[64], value;

    if (!expr__parse(&expr, text, &error))
        fail_msg("%s: column %u: %s", text, error.column, error.what);
    assert_true(expr.n_nodes <= 64);
    value = expr__evaluate(&expr, &values, scratch);
    expr__free(&expr);
    return value;
}

static void test_expressions(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1", 1},
        {"1.5e3", 1500},
        {"2e-1 * 10", 2},
        {".5", .5},
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"24 / 4 / 2", 3},
        {"7 % 4", 3},
        {"-3 + 5", 2},
        {"- -3", 3},
        {"2 * -3", -6},
        {"1 < 2", 1},
        {"2 > 1 + 5", 0},
        {"3 >= 3", 1},
        {"3 <= 2", 0},
        {"1 == 1", 1},
        {"1 != 1", 0},
        {"1 | 0 & 0", 1},
        {"0.5 & 0.5", 1},
        {"1 ^ 1", 0},
        {"1 > 0 & 2 > 3", 0},
        {"1 < 2 | nothing", 1},
        {"0 & nothing", 0},
        {"min(a, b)", 4},
        {"max(a,b)", 6},
        {"d_ratio(a, b)", 1.5},
        {"d_ratio(a, zero)", 0},
        {"a if a > b else b", 6},
        {"a if a < b else b", 4},
        {"1 if 0 else 2 if 0 else 3", 3},
        {"(1 if 1 else 2) + 1", 2},
        {"has_event(a)", 1},
        {"has_event(nothing)", 0},
        {"nothing if has_event(nothing) else 8", 8},
        {"X.Y_Z / 5", 2},
        {"cpu@E\\,cmask\\=2@ + 1", 4},
        {"E:c1", 5},
        {"#issue_width", 4},
        {"min(1 if zero else 9, 10)", 9},
        {"\t a\n+ b ", 10},
    };
    static const char *const not_counted[] = {
        "nothing",         "a / zero",        "a % zero",    "a + nothing",
        "1 < nothing",     "1 & nothing",     "0 | nothing", "a if nothing else b",
        "max(1, nothing)", "min(nothing, 1)", "-nothing",    "1e300 % 7",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (evaluate(good[i].text) != good[i].value)
            fail_msg("%s is %g, not %g", good[i].text, evaluate(good[i].text), good[i].value);
    for (size_t i = 0; i < sizeof not_counted / sizeof not_counted[0]; i++)
        if (!isnan(evaluate(not_counted[i])))
            fail_msg("%s is %g", not_counted[i], evaluate(not_counted[i]));
}

static void test_expression_errors(void **state)
{
    static const struct {
        const char *text;
        unsigned column;
    } bad[] = {
        {"", 1},          {"1 +", 4},           {"(1", 3},       {"1 2", 3},      {"1 + * 2", 5},
        {"min(1)", 6},    {"avg(1, 2)", 1},     {"a if b", 7},   {"a else b", 3}, {"1 $ 2", 3},
        {"cpu@E + 1", 4}, {"has_event(3)", 11}, {"max(1, 2", 9}, {"#", 1},        {")", 1},
    };
    struct expr_error error;
    struct expr expr;
    char deep[1000];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (expr__parse(&expr, bad[i].text, &error))
            fail_msg("%s is accepted", bad[i].text);
        if (error.column != bad[i].column)
            fail_msg("%s: column %u (%s), not %u", bad[i].text, error.column, error.what, bad[i].column);
        assert_true(error.what[0] != '\0');
    }
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_false(expr__parse(&expr, deep, &error));
    assert_non_null(strstr(error.what, "nesting"));
}

static struct metrics *parse(const char *json, struct status *st)
{
    return metrics__parse(json, strlen(json), "test.json", st);
}

static const struct profile_node *find(const struct profile_tree *tree, const char *path)
{
    for (size_t i = 0; i < tree->n_nodes; i++)
        if (strcmp(tree->node[i].path, path) == 0)
            return &tree->node[i];
    fail_msg("no node %s", path);
    return NULL;
}

/* The conventions of perf's files, in small: levels, *_group parents, helpers outside the tree. */
static const char perf_like[] =
    "[{\"EventName\": \"SOME.EVENT\", \"EventCode\": \"0x3c\"},"
    " {\"MetricName\": \"tma_l1_bound\", \"MetricExpr\": \"max((MEM.ANY - MEM.L1) / tma_info_thread_clks, "
    "0)\","
    "  \"MetricGroup\": \"CacheHits;TopdownL3;tma_L3_group;tma_memory_bound_group;tma_issueL1\","
    "  \"MetricThreshold\": \"tma_l1_bound > 0.1 & (tma_memory_bound > 0.2 & tma_backend_bound > 0.2)\","
    "  \"ScaleUnit\": \"100%\", \"MetricConstraint\": \"NO_GROUP_EVENTS\", \"PublicDescription\": \"x\"},"
    " {\"MetricName\": \"tma_backend_bound\", \"MetricExpr\": \"1 - cpu@UOPS\\\\,cmask\\\\=1@ / "
    "tma_info_thread_slots\","
    "  \"MetricGroup\": \"TmaL1;TopdownL1;tma_L1_group\", \"MetricThreshold\": \"tma_backend_bound > 0.2\","
    "  \"ScaleUnit\": \"100%\"},"
    " {\"MetricName\": \"tma_memory_bound\", \"MetricExpr\": \"MEM.ANY / tma_info_thread_clks\","
    "  \"MetricGroup\": \"Backend;TmaL2;TopdownL2;tma_L2_group;tma_backend_bound_group\","
    "  \"MetricThreshold\": \"tma_memory_bound > 0.2 & tma_backend_bound > 0.2\", \"ScaleUnit\": \"100%\"},"
    " {\"MetricName\": \"tma_frontend_bound\", \"MetricExpr\": \"1 - tma_backend_bound\","
    "  \"MetricGroup\": \"TopdownL1\", \"MetricThreshold\": \"tma_frontend_bound > 0.15\", \"ScaleUnit\": "
    "\"100%\"},"
    " {\"MetricName\": \"tma_mite\", \"MetricExpr\": \"0.9 if #SMT_on else 0.8\","
    "  \"MetricGroup\": \"tma_frontend_bound_group\", \"MetricThreshold\": \"tma_mite > 0.1\"},"
    " {\"MetricName\": \"tma_lcp\", \"MetricExpr\": \"NOT.COUNTED / tma_info_thread_clks\","
    "  \"MetricGroup\": \"tma_mite_group\", \"MetricThreshold\": \"tma_lcp > 0.1\"},"
    " {\"MetricName\": \"tma_info_thread_slots\", \"MetricExpr\": \"4 * tma_info_thread_clks\"},"
    " {\"MetricName\": \"tma_info_thread_clks\", \"MetricExpr\": \"CPU_CLK\"},"
    " {\"MetricName\": \"tma_backend_bound\", \"MetricExpr\": \"0\", \"Unit\": \"cpu_atom\"}]";

static void test_perf_like_file(void **state)
{
    struct count counts[] = {{"CPU_CLK", 1000}, {"cpu@UOPS,cmask=1@", 400},
                             {"MEM.ANY", 500},  {"MEM.L1", 100},
                             {"#SMT_on", 0},    {NULL, 0}};
    struct status st = {0};
    struct metrics *metrics = parse(perf_like, &st);
    struct profile_tree tree;

    (void)state;
    assert_non_null(metrics);
    assert_int_equal(metrics__evaluate(metrics, "t", "test", counts__lookup, counts, &tree, &st), 0);
    assert_int_equal(tree.n_nodes, 6);
    assert_string_equal(tree.name, "t");
    assert_string_equal(tree.node[0].path, "Backend Bound");
    assert_string_equal(tree.node[1].path, "Backend Bound/Memory Bound");
    assert_string_equal(tree.node[2].path, "Backend Bound/Memory Bound/L1 Bound");
    assert_string_equal(tree.node[3].path, "Frontend Bound");
    assert_string_equal(tree.node[4].path, "Frontend Bound/MITE");
    assert_string_equal(tree.node[5].path, "Frontend Bound/MITE/LCP");
    assert_int_equal(tree.node[2].level, 3);
    assert_string_equal(tree.node[2].unit, "%");
    assert_string_equal(tree.node[2].source, "test");
    assert_true(fabs(tree.node[0].value - 90) < 1e-9);
    assert_true(fabs(tree.node[2].value - 40) < 1e-9);
    assert_true(tree.node[0].flagged && tree.node[1].flagged && tree.node[2].flagged);
    assert_null(tree.node[0].hint);
    assert_non_null(tree.node[2].hint);
    /* MITE's own threshold holds, its parent's does not. */
    assert_true(tree.node[4].value > 0.1 && !tree.node[3].flagged && !tree.node[4].flagged);
    assert_true(isnan(tree.node[5].value) && !tree.node[5].flagged);
    profile_tree__free(&tree);
    metrics__free(metrics);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *json, *says;
    } bad[] = {
        {"[", "not valid JSON"},
        {"{}", "array"},
        {"[1]", "entry 1"},
        {"[]", "no metric"},
        {"[{\"MetricName\": \"\", \"MetricExpr\": \"1\"}]", "MetricName"},
        {"[{\"MetricName\": \"x\"}]", "x has no MetricExpr"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": 1}]", "MetricExpr must be a string"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1 +\"}]", "metric x: MetricExpr, column 4"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1\", \"MetricThreshold\": \"x >\"}]",
         "MetricThreshold, column 4"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1\", \"ScaleUnit\": \"%\"}]", "ScaleUnit"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1 + tma_y\"}]", "column 5: there is no metric tma_y"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1\"}, {\"MetricName\": \"x\", \"MetricExpr\": \"2\"}]",
         "twice"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1 - x\"}]",
         "metric x: MetricExpr, column 5: the reference to x"},
        {"[{\"MetricName\": \"w\", \"MetricExpr\": \"x\"}, {\"MetricName\": \"x\", \"MetricExpr\": \"y\"},"
         " {\"MetricName\": \"y\", \"MetricExpr\": \"1 + x\"}]",
         "circular"},
        {"[{\"MetricName\": \"x\", \"MetricExpr\": \"1\", \"MetricGroup\": \"y_group\"},"
         " {\"MetricName\": \"y\", \"MetricExpr\": \"1\", \"MetricGroup\": \"x_group\"}]",
         "ancestor"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct status st = {0};

        if (parse(bad[i].json, &st))
            fail_msg("%s is accepted", bad[i].json);
        if (!strstr(st.text, bad[i].says) || strncmp(st.text, "test.json", 9) != 0)
            fail_msg("%s says %s", bad[i].json, st.text);
    }
}

static void test_files_from_disk(void **state)
{
    char path[] = "/tmp/fathom-test-metrics-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    struct status st = {0};
    struct metrics *metrics;

    (void)state;
    assert_non_null(file);
    fputs(perf_like, file);
    fclose(file);
    metrics = metrics__load(path, &st);
    assert_non_null(metrics);
    metrics__free(metrics);
    remove(path);
    assert_null(metrics__load(path, &st));
    assert_non_null(strstr(st.text, path));
    assert_null(metrics__builtin("no-such-set", &st));
    assert_non_null(strstr(st.text, "no-such-set"));
}

static void test_display_names(void **state)
{
    static const char *const names[][2] = {
        {"tma_l1_bound", "L1 Bound"},
        {"tma_frontend_bound", "Frontend Bound"},
        {"tma_dtlb_load", "DTLB Load"},
        {"tma_4k_aliasing", "4K Aliasing"},
        {"tma_icache_misses", "ICache Misses"},
        {"tma_mem_bandwidth", "MEM Bandwidth"},
        {"smi__cycles_", "Smi  Cycles "},
        {"tma_", "Tma "},
        {"IPC", "IPC"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *display = metric_name__display(names[i][0]);

        assert_string_equal(display, names[i][1]);
        free(display);
    }
    assert_true(metric_groups__contain("A;TopdownL1;B", "TopdownL1"));
    assert_false(metric_groups__contain("A;TopdownL12;B", "TopdownL1"));
    assert_false(metric_groups__contain(NULL, "TopdownL1"));
}

/* Table 2 of the paper on made-up counts: 1000 cycles of a core of width 4. */
static void test_builtin_is_table_2(void **state)
{
    struct count counts[] = {
        {"Clocks", 1000},
        {"TotalSlots", 4000},
        {"Instructions", 1200},
        {"SlotsIssued", 1700},
        {"SlotsRetired", 1500},
        {"FetchBubbles", 400},
        {"RecoveryBubbles", 100},
        {"BrMispredRetired", 9},
        {"MachineClears", 1},
        {"MsSlotsRetired", 60},
        {"MemStalls.AnyLoad", 500},
        {"MemStalls.L1miss", 450},
        {"MemStalls.L2miss", 400},
        {"MemStalls.L3miss", 100},
        {"MemStalls.Stores", 20},
        {"cpu@FetchBubbles,cmask=#issue_width@", 70},
        {"cpu@OpsExecuted,cmask=3,inv=1@", 700},
        {"cpu@ExtMemOutstanding,cmask=1@", 200},
        {"cpu@ExtMemOutstanding,cmask=#ext_mem_threshold@", 50},
        {NULL, 0},
    };
    static const struct {
        const char *path;
        double value;
        bool flagged;
    } expected[] = {
        {"Frontend Bound", 10, false},
        {"Frontend Bound/Fetch Latency", 7, false},
        {"Frontend Bound/Fetch Bandwidth", 3, false},
        {"Bad Speculation", 7.5, false},
        {"Bad Speculation/Branch Mispredicts", 6.75, false},
        {"Bad Speculation/Machine Clears", 0.75, false},
        {"Retiring", 37.5, false},
        {"Retiring/Base", 36, false},
        {"Retiring/Micro Sequencer", 1.5, false},
        {"Backend Bound", 45, true},
        {"Backend Bound/Memory Bound", 52, true},
        {"Backend Bound/Memory Bound/L1 Bound", 5, false},
        {"Backend Bound/Memory Bound/L2 Bound", 5, false},
        {"Backend Bound/Memory Bound/L3 Bound", 30, true},
        {"Backend Bound/Memory Bound/Ext. Memory Bound", 10, true},
        {"Backend Bound/Memory Bound/Ext. Memory Bound/MEM Bandwidth", 5, false},
        {"Backend Bound/Memory Bound/Ext. Memory Bound/MEM Latency", 15, true},
        {"Backend Bound/Memory Bound/Stores Bound", 2, false},
        {"Backend Bound/Core Bound", 18, true},
    };
    struct status st = {0};
    struct metrics *metrics = metrics__builtin("topdown-generic", &st);
    struct profile_tree tree;
    char sentence[200], next[300];
    size_t n_counted = 0;

    (void)state;
    if (!metrics)
        fail_msg("%s", st.text);
    assert_int_equal(metrics__evaluate(metrics, "topdown-counters", "simulated counters", counts__lookup,
                                       counts, &tree, &st),
                     0);
    /* Of the nodes below the paper's, the paper's events count none. */
    for (size_t i = 0; i < tree.n_nodes; i++) {
        if (isnan(tree.node[i].value))
            continue;
        assert_true(n_counted < sizeof expected / sizeof expected[0]);
        assert_string_equal(tree.node[i].path, expected[n_counted].path);
        if (fabs(tree.node[i].value - expected[n_counted].value) > 1e-9)
            fail_msg("%s is %g", tree.node[i].path, tree.node[i].value);
        if (tree.node[i].flagged != expected[n_counted].flagged)
            fail_msg("%s flagged wrongly", tree.node[i].path);
        n_counted++;
    }
    assert_int_equal(n_counted, sizeof expected / sizeof expected[0]);
    assert_int_equal(tree__verdict(&tree, "multiply", sentence, sizeof sentence, next, sizeof next), 1);
    assert_string_equal(sentence,
                        "Backend Bound 45 %: Memory Bound 52 % of clocks, mostly L3 Bound (30 % of clocks), "
                        "hottest in multiply().");
    assert_non_null(strstr(next, "L2"));
    profile_tree__free(&tree);
    metrics__free(metrics);
}

/* Node names that both trees have carry the same thresholds. */
static void test_builtin_thresholds_are_those_of_the_exact_tree(void **state)
{
    struct status st = {0};
    struct metrics *metrics = metrics__builtin("topdown-generic", &st);

    (void)state;
    assert_non_null(metrics);
    for (size_t i = 0; i < metrics->n_metrics; i++) {
        const struct metric *m = &metrics->metric[i];
        const struct tree_advice *advice = tree_advice__find(m->display);

        if (m->threshold.n_nodes == 0)
            continue;
        assert_non_null(advice);
        /* NAME > NUMBER; Retiring goes on with an alternative */
        assert_true(m->threshold.n_nodes == 3 || strcmp(m->display, "Retiring") == 0);
        assert_true(m->threshold.node[1].number == advice->threshold);
    }
    metrics__free(metrics);
}

/* The built-in metrics only ask for what the simulated PMU has. */
static void test_builtin_on_simulated_pmu(void **state)
{
    struct core core = {.issue_width = 4, .mem_queue_entries = 32};
    struct cycle_report r[3] = {
        {.cycles = 1, .issued = 4, .mispredict_site = REPORT_NO_SITE},
        {.cycles = 90,
         .stall = STALL_BE_DRAM,
         .loads_pending = 1,
         .l1_miss_pending = 1,
         .l2_miss_pending = 1,
         .l3_miss_pending = 1,
         .mem_outstanding = 2},
        {.cycles = 1, .stall = STALL_FE_MITE, .retired = 4, .retired_insns = 4, .executed = 4, .branches = 1},
    };
    struct status st = {0};
    struct metrics *metrics = metrics__builtin("topdown-generic", &st);
    struct profile_tree tree;
    struct pmu pmu;

    (void)state;
    pmu__init(&pmu, &core);
    pmu.listener.consume(&pmu.listener, r, 3);
    assert_int_equal(
        metrics__evaluate(metrics, "topdown-counters", "simulated counters", pmu__lookup, &pmu, &tree, &st),
        0);
    for (size_t i = 0; i < tree.n_nodes; i++)
        if (isnan(tree.node[i].value))
            fail_msg("%s is not counted", tree.node[i].path);
    assert_true(find(&tree, "Backend Bound/Memory Bound/Ext. Memory Bound/MEM Latency")->flagged);
    profile_tree__free(&tree);
    metrics__free(metrics);
}

static struct truth truth__made_up(void)
{
    struct truth truth = {.width = 4, .cycles = 250, .slots = 1000};

    truth.retired = 200;
    truth.retired_ms = 10;
    truth.squashed[FLUSH_INDIRECT] = 40;
    truth.squashed[FLUSH_MEMORY_ORDERING] = 15;
    truth.squashed[FLUSH_SELF_MODIFYING] = 5;
    truth.blocked[FLUSH_CONDITIONAL] = 6;
    truth.blocked[FLUSH_RETURN] = 4;
    truth.blocked[FLUSH_SELF_MODIFYING] = 10;
    for (unsigned s = STALL_NONE + 1; s < STALL_COUNT; s++) {
        truth.empty[s] = 10;
        truth.empty_latency[s] = s % 3;
    }
    truth.empty[STALL_BE_L3] += 740 - 10 * (STALL_COUNT - 1); /* in all 1000 slots */
    return truth;
}

static void test_exact_tree_adds_up(void **state)
{
    struct truth truth = truth__made_up();
    struct core core = {.issue_width = 4};
    struct profile_tree tree;
    struct status st = {0};

    (void)state;
    truth__check(&truth);
    assert_int_equal(tree__from_truth(&truth, NULL, &core, &tree, &st), 0);
    assert_string_equal(tree.name, "topdown");
    for (size_t i = 0; i < tree.n_nodes; i++) {
        const struct profile_node *n = &tree.node[i];
        double sum = 0;
        bool leaf = true;

        assert_string_equal(n->unit, "% slots");
        assert_string_equal(n->source, "exact");
        for (size_t k = i + 1; k < tree.n_nodes && tree.node[k].level > n->level; k++) {
            leaf = false;
            if (tree.node[k].level == n->level + 1)
                sum += tree.node[k].value;
            assert_true(!tree.node[k].flagged || n->flagged || tree.node[k].level > n->level + 1);
        }
        /* Shares of 1000 slots: whole tenths of a percent. */
        if (!leaf && lround(sum * 10) != lround(n->value * 10))
            fail_msg("%s is %g, its children %g", n->path, n->value, sum);
    }
    assert_int_equal(
        lround(10 * (find(&tree, "Frontend Bound")->value + find(&tree, "Bad Speculation")->value +
                     find(&tree, "Retiring")->value + find(&tree, "Backend Bound")->value)),
        1000);
    assert_true(find(&tree, "Bad Speculation/Machine Clears")->value == 3); /* 20 squashed, 10 recovery */
    assert_true(find(&tree, "Bad Speculation/Machine Clears/Self-Modifying Code")->value == 1.5);
    assert_true(find(&tree, "Bad Speculation/Branch Mispredicts/Indirect")->value == 4);
    assert_true(find(&tree, "Bad Speculation/Branch Mispredicts/Return")->value == 0.4);
    assert_true(find(&tree, "Retiring/Micro Sequencer")->value == 1);
    assert_true(find(&tree, "Backend Bound/Memory Bound/L3 Bound")->flagged);
    assert_non_null(find(&tree, "Backend Bound/Memory Bound/L3 Bound")->hint);
    assert_false(find(&tree, "Backend Bound/Core Bound/Divider")->flagged);
    profile_tree__free(&tree);
}

/* The leaves below Base are there when it is known what retired, and sum to it. */
static void test_exact_tree_of_retired_work(void **state)
{
    struct retired_work work = {{0}};
    struct truth truth = {.width = 4, .cycles = 250, .slots = 1000, .retired = 950, .retired_ms = 5};
    struct core core = {.issue_width = 4};
    struct profile_tree tree;
    struct status st = {0};

    (void)state;
    truth.empty[STALL_BE_L1] = 50;
    assert_int_equal(tree__from_truth(&truth, NULL, &core, &tree, &st), 0);
    assert_true(find(&tree, "Retiring/Base")->value == 94.5);
    assert_null(profile_tree__find(&tree, "Retiring/Base/Memory Operations"));
    profile_tree__free(&tree);

    for (int w = 0; w < WORK_KINDS; w++)
        work.slots[w] = 10;
    work.slots[WORK_FP_SCALAR] += 945 - 10 * WORK_KINDS;
    assert_int_equal(tree__from_truth(&truth, &work, &core, &tree, &st), 0);
    assert_true(find(&tree, "Retiring/Base")->value == 94.5);
    assert_true(find(&tree, "Retiring/Micro Sequencer")->value == 0.5);
    assert_true(find(&tree, "Retiring/Base/Floating Point")->value == 94.5 - 1 * (WORK_KINDS - 4));
    assert_true(find(&tree, "Retiring/Base/Floating Point/X87")->value == 1);
    assert_true(find(&tree, "Retiring/Base/Integer Vector")->value == 2);
    assert_true(find(&tree, "Retiring/Base/Fused Instructions")->value == 1);
    assert_true(find(&tree, "Retiring/Base/Floating Point/FP Scalar")->flagged);
    assert_non_null(find(&tree, "Retiring/Base/Floating Point/FP Scalar")->hint);
    assert_false(find(&tree, "Retiring/Base/NOP Instructions")->flagged);
    profile_tree__free(&tree);
}

static void test_exact_tree_of_cut_short_and_empty_runs(void **state)
{
    struct truth truth = truth__made_up();
    struct core core = {.issue_width = 4};
    struct profile_tree tree;
    struct status st = {0};
    char sentence[100], next[100];

    (void)state;
    truth.squashed[FLUSH_INDIRECT] -= 40;
    truth.in_flight += 40;
    assert_int_equal(tree__from_truth(&truth, NULL, &core, &tree, &st), 0);
    assert_true(find(&tree, "Bad Speculation/In Flight")->value == 4);
    profile_tree__free(&tree);

    truth = (struct truth){.width = 4};
    assert_int_equal(tree__from_truth(&truth, NULL, &core, &tree, &st), 0);
    for (size_t i = 0; i < tree.n_nodes; i++)
        assert_true(isnan(tree.node[i].value) && !tree.node[i].flagged);
    assert_int_equal(tree__verdict(&tree, NULL, sentence, sizeof sentence, next, sizeof next), -1);
    assert_string_equal(sentence, "");
    profile_tree__free(&tree);
}

static void check_verdict(const struct truth *truth, const char *hot, int result, const char *expected)
{
    struct core core = {.issue_width = 4};
    struct profile_tree tree;
    struct status st = {0};
    char sentence[300], next[300];

    assert_int_equal(tree__from_truth(truth, NULL, &core, &tree, &st), 0);
    assert_int_equal(tree__verdict(&tree, hot, sentence, sizeof sentence, next, sizeof next), result);
    assert_string_equal(sentence, expected);
    assert_true(next[0] != '\0');
    profile_tree__free(&tree);
}

static void test_verdicts(void **state)
{
    struct truth truth = truth__made_up();
    struct truth busy = {.width = 4, .cycles = 25, .slots = 100, .retired = 90};
    struct truth even = {.width = 4, .cycles = 25, .slots = 100, .retired = 60};

    (void)state;
    check_verdict(&truth, "multiply(int)", 1,
                  "Backend Bound 59 %: Memory Bound 52 %, mostly L3 Bound (39 %), hottest in multiply(int).");
    busy.empty[STALL_BE_PORTS] = 10;
    check_verdict(&busy, "[unknown]", 1, "Retiring 90 %: Base 90 %.");
    even.empty[STALL_BE_PORTS] = 20;
    even.empty[STALL_FE_MITE] = 15;
    even.squashed[FLUSH_CONDITIONAL] = 5;
    check_verdict(&even, "f", 0,
                  "No bottleneck stands out: the largest share is Retiring with 60 %, hottest in f().");
    even.squashed[FLUSH_CONDITIONAL] = 0;
    even.empty_latency[STALL_FE_RESTEER_MISPREDICT] = even.empty[STALL_FE_RESTEER_MISPREDICT] = 25;
    even.retired = 40;
    check_verdict(
        &even, NULL, 1,
        "Frontend Bound 40 %: Fetch Latency 25 %, mostly Branch Resteers (25 %), of these Mispredicts "
        "Resteers (25 %).");
}

/* A short buffer cuts the sentence and nothing else. */
static void test_verdict_is_cut_at_its_size(void **state)
{
    struct truth truth = truth__made_up();
    struct core core = {.issue_width = 4};
    struct profile_tree tree;
    struct status st = {0};
    char sentence[8] = "1234567", next[2] = "1";

    (void)state;
    assert_int_equal(tree__from_truth(&truth, NULL, &core, &tree, &st), 0);
    assert_int_equal(tree__verdict(&tree, "f", sentence, sizeof sentence, next, sizeof next), 1);
    assert_string_equal(sentence, "Backend");
    assert_int_equal(strlen(next), 1);
    assert_int_equal(tree__verdict(&tree, "f", sentence, 0, next, 0), 1);
    profile_tree__free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_expression_errors),
        cmocka_unit_test(test_perf_like_file),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_files_from_disk),
        cmocka_unit_test(test_display_names),
        cmocka_unit_test(test_builtin_is_table_2),
        cmocka_unit_test(test_builtin_thresholds_are_those_of_the_exact_tree),
        cmocka_unit_test(test_builtin_on_simulated_pmu),
        cmocka_unit_test(test_exact_tree_adds_up),
        cmocka_unit_test(test_exact_tree_of_retired_work),
        cmocka_unit_test(test_exact_tree_of_cut_short_and_empty_runs),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_verdict_is_cut_at_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
