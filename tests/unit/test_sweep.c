/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps of loops and what-if: specifications, figures that can be told in advance, independence of threads,
 * and the renderings. REBASE=1 in the environment rewrites the files in tests/golden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "fathom/status.h"
#include "fathom/sweep.h"

/* mov rax, [rax]; jmp: a pointer chase */
#define CHASE "488b00ebfb"
/* mulss xmm0, xmm1; jmp: a chain through the multiplier */
#define MULTIPLY "f30f59c1ebfa"
/* divss xmm0, xmm1; movss xmm0, [rdi]; jmp: bound by the divider alone */
#define DIVIDE "f30f5ec1f30f1007ebf6"
/* xorps xmm0, xmm0; six mulss xmm0, xmm1; eighteen nops; jmp: 24 cycles of latency in 26 uops, independent of
 * the next iteration's */
#define WINDOW                                                                                               \
    "0f57c0f30f59c1f30f59c1f30f59c1f30f59c1f30f59c1f30f59c1909090909090909090909090909090909090ebd1"

struct fixture {
    struct core core;
    uint8_t bytes[4][512];
    struct sweep_loop loop[4];
    struct sweep_config config;
};

static void fixture__open(struct fixture *fx, const char *core, size_t n, const char *const *hex)
{
    struct status st = {0};

    memset(fx, 0, sizeof *fx);
    assert_int_equal(core__load(&fx->core, core, NULL, 0, &st), 0);
    for (size_t k = 0; k < n; k++) {
        size_t size = strlen(hex[k]) / 2;
        for (size_t i = 0; i < size; i++) {
            char two[3] = {hex[k][2 * i], hex[k][2 * i + 1], 0};
            fx->bytes[k][i] = (uint8_t)strtoul(two, NULL, 16);
        }
        static const char *const names[] = {"chase", "b <\"&\">", "c", "d"};
        fx->loop[k] = (struct sweep_loop){.name = names[k], .bytes = fx->bytes[k], .size = size};
    }
    fx->config =
        (struct sweep_config){.core = &fx->core, .loop = fx->loop, .n_loops = n, .threads = 1, .quiet = true};
}

static void run(struct fixture *fx, const char *text, struct sweep *sweep)
{
    struct sweep_spec spec;
    struct status st = {0};

    if (sweep_spec__parse(&spec, text, &fx->core, fx->config.model, &st) ||
        sweep__run(sweep, &fx->config, &spec, &st))
        fail_msg("%s", st.text);
}

/* --- specifications --------------------------------------------------------------------------- */

static void parse(const char *text, struct sweep_spec *spec)
{
    struct core core;
    struct status st = {0};

    assert_int_equal(core__load(&core, "snb", NULL, 0, &st), 0);
    if (sweep_spec__parse(spec, text, &core, LOOPSIM_FULL, &st))
        fail_msg("%s", st.text);
}

static void test_ranges(void **state)
{
    struct sweep_spec spec;
    (void)state;

    parse("load_latency=4..40", &spec);
    assert_int_equal(spec.n_axes, 1);
    assert_string_equal(spec.axis[0].key, "load_latency_cyc");
    assert_false(spec.axis[0].factor);
    assert_int_equal(spec.axis[0].n, 37);
    assert_true(spec.axis[0].value[36] == 40);
    sweep_spec__free(&spec);

    parse("rs=0.4..2:0.1,others=0.4..2:0.1", &spec);
    assert_int_equal(sweep_spec__points(&spec), 17 * 17);
    assert_true(spec.axis[0].factor && spec.axis[1].factor);
    assert_true(spec.axis[0].value[3] == 0.7);    /* not 0.7000000000000001 */
    assert_true(spec.axis[0].effective[0] == 22); /* of 54 */
    assert_null(spec.axis[1].effective);
    sweep_spec__free(&spec);

    parse("rob=64,128,100..120:10,rs=2x", &spec);
    assert_int_equal(spec.axis[0].n, 5);
    assert_true(spec.axis[0].value[1] == 128 && spec.axis[0].value[4] == 120);
    assert_true(spec.axis[1].factor && spec.axis[1].effective[0] == 108);
    sweep_spec__free(&spec);

    parse("others=1..2", &spec); /* always factors, by 0.1 */
    assert_int_equal(spec.axis[0].n, 11);
    sweep_spec__free(&spec);

    parse("lsd=no,yes", &spec);
    assert_true(spec.axis[0].value[0] == 0 && spec.axis[0].value[1] == 1);
    sweep_spec__free(&spec);
}

static void test_grid_sets_the_core(void **state)
{
    struct sweep_spec spec;
    struct core base, core;
    struct status st = {0};
    (void)state;

    assert_int_equal(core__load(&base, "snb", NULL, 0, &st), 0);
    parse("rs=0.5,1,2x,others=0.5,1.5", &spec);
    assert_int_equal(sweep_spec__core(&spec, 5, &base, &core, &st), 0);
    assert_int_equal(core.rs_entries, 108);
    assert_int_equal(core.rob_entries, 252);
    assert_int_equal(core.idq_entries, 42);
    assert_int_equal(core.load_buffer, 96);
    assert_int_equal(core.store_buffer, 54);
    sweep_spec__free(&spec);
}

static void test_malformed(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "character 1"},
        {"rob", "has no '='"},
        {"rob=", "stands where a number should"},
        {"=4..5", "is no name"},
        {"rob=64..", "stands where a number should"},
        {"rob=..64", "stands where a number should"},
        {"rob=64..q", "character 9: \"q\" is no number"},
        {"rob=64...128", "ends below its beginning"}, /* 64 to .128 */
        {"rob=128..64", "ends below its beginning"},
        {"rob=64..128:0", "is no step"},
        {"rob=64..128:-8", "is negative"},
        {"rob=1e999", "is no number"},
        {"rob=nan", "is no number"},
        {"rob=64,,128", "stands where a number should"},
        {"rob=64,", "stands where a number should"},
        {"robb=64", "did you mean \"rob_entries\""},
        {"name=1", "cannot be swept"},
        {"lsd_unroll=1..2", "cannot be swept"},
        {"lsd=0.5..2", "has no factors"},
        {"rob=1..9", "out of range"},
        {"rob=0.01..1", "out of range"},
        {"rob=64..128,rob=64", "already swept"},
        {"rob=64..128,others=1", "already swept"},
        {"others=1,idq=28", "already swept"},
        {"rob=64,rs=32,idq=28", "third parameter"},
        {"rob=16..512:0.001x", "more than 20000"},
        {"rob=16..512,rs=32..512", "more than 20000"},
        {"l2_lat=10..20", "always in L1"},
        {"btb=128", "always predicted"},
        {"load_buffer=64", "--model ufs"},
        {"issue_width=4..8,rs=16..20", "rs_entries = "},
    };
    struct core core;
    struct status st = {0};
    (void)state;

    assert_int_equal(core__load(&core, "snb", NULL, 0, &st), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sweep_spec spec;
        memset(&st, 0, sizeof st);
        if (sweep_spec__parse(&spec, cases[i].text, &core, LOOPSIM_FULL, &st) != -1)
            fail_msg("accepted: %s", cases[i].text);
        assert_int_equal(st.exit_code, EXIT_CODE_USAGE);
        if (!strstr(st.text, cases[i].says) || !strstr(st.text, "--sweep"))
            fail_msg("%s: %s", cases[i].text, st.text);
        sweep_spec__free(&spec);
    }
    struct sweep_spec spec;
    assert_int_equal(sweep_spec__parse(&spec, "load_buffer=64", &core, LOOPSIM_UFS, &st), 0);
    sweep_spec__free(&spec);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* EX-8, EX-9: a chase costs the load's latency, less one with the fast path. */
static void test_chase_slope(void **state)
{
    static const char *const hex[] = {CHASE, MULTIPLY};
    struct fixture fx;
    (void)state;

    for (const char *const *core = core__names(); *core; core++) {
        struct sweep sweep;
        fixture__open(&fx, *core, 2, hex);
        run(&fx, "load_latency=4..40", &sweep);
        for (size_t i = 0; i < 37; i++) {
            assert_true(sweep.loop[0].point[i].cycles == 3.0 + (double)i);
            assert_true(sweep.loop[0].point[i].periodic);
            assert_true(sweep.loop[1].point[i].speedup == 1);
        }
        assert_true(fabs(sweep.loop[0].slope - 1) < 1e-9);
        assert_true(sweep.loop[0].point[1].speedup == 1);
        assert_int_equal(sweep.own, 1);
        assert_int_equal(sweep.loop[0].best, 0);
        assert_int_equal(sweep.loop[0].worst, 36);
        sweep__free(&sweep);
    }
}

/* RT-1: a long chain of one iteration overlaps the next only as far as the ROB reaches. */
static void test_rob_is_monotonic(void **state)
{
    static const char *const hex[] = {WINDOW};
    struct fixture fx;
    struct sweep sweep;
    (void)state;

    fixture__open(&fx, "skl", 1, hex);
    run(&fx, "rob=16..512:16", &sweep);
    const struct sweep_loop_result *loop = &sweep.loop[0];
    for (size_t i = 1; i < sweep.spec.axis[0].n; i++)
        assert_true(loop->point[i].cycles <= loop->point[i - 1].cycles);
    assert_true(loop->min_cycles == 6.5); /* 26 slots of four */
    assert_true(loop->point[0].cycles > 24);
    sweep__free(&sweep);
}

static bool same_points(const struct sweep_point *a, const struct sweep_point *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].cycles != b[i].cycles || a[i].speedup != b[i].speedup || a[i].periodic != b[i].periodic)
            return false;
    return true;
}

static void test_threads_do_not_show(void **state)
{
    static const char *const hex[] = {CHASE, MULTIPLY, DIVIDE, WINDOW};
    static const unsigned threads[] = {2, 3, 7};
    struct fixture fx;
    struct sweep one, many;
    (void)state;

    fixture__open(&fx, "hsw", 4, hex);
    run(&fx, "rs=0.4..2:0.2,others=0.4..2:0.2", &one);
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        fx.config.threads = threads[t];
        run(&fx, "rs=0.4..2:0.2,others=0.4..2:0.2", &many);
        for (size_t k = 0; k < 4; k++)
            assert_true(same_points(one.loop[k].point, many.loop[k].point, 81));
        sweep__free(&many);
    }
    sweep__free(&one);
}

/* Every point starts from the core's own description, not from the point before. */
static void test_points_do_not_leak(void **state)
{
    /* mov rax, rbx; mov rbx, rax; jmp: as fast as its moves are eliminated (RN-9) */
    static const char *const hex[] = {"4889d84889c3ebf8"};
    struct fixture fx;
    struct sweep sweep;
    (void)state;

    fixture__open(&fx, "skl", 1, hex);
    run(&fx, "elim_slots_gpr=4,1,4,ports=8,9", &sweep);
    const struct sweep_point *p = sweep.loop[0].point;
    assert_true(p[0].speedup == 1 && p[2].speedup == 1 && p[3].speedup == 1 && p[5].speedup == 1);
    assert_true(p[1].speedup < 1 && p[4].cycles == p[1].cycles);
    sweep__free(&sweep);
}

static void test_bad_loop_keeps_the_others(void **state)
{
    static const char *const hex[] = {CHASE, "0f", ""};
    struct fixture fx;
    struct sweep sweep;
    struct what_if what;
    struct status st = {0};
    (void)state;

    fixture__open(&fx, "skl", 3, hex);
    run(&fx, "load_latency=5,6", &sweep);
    assert_null(sweep.loop[0].error);
    assert_true(sweep.loop[0].point[1].cycles == 5);
    assert_non_null(strstr(sweep.loop[1].error, "no complete instruction"));
    assert_non_null(strstr(sweep.loop[2].error, "empty"));
    assert_true(isnan(sweep.loop[1].point[0].cycles));
    sweep__free(&sweep);
    assert_int_equal(what_if__run(&what, &fx.config, &st), 0);
    assert_null(what.loop[0].error);
    assert_non_null(what.loop[1].error);
    assert_int_equal(what.loop[1].n_rows, 0);
    what_if__free(&what);
}

/* --- what-if ---------------------------------------------------------------------------------- */

static const struct what_if_row *find_row(const struct what_if_loop *loop, const char *id)
{
    for (size_t i = 0; i < loop->n_rows; i++)
        if (strcmp(loop->row[i].id, id) == 0)
            return &loop->row[i];
    return NULL;
}

static void test_what_if(void **state)
{
    /* the last: shl rax, 1 to five registers and jmp, bound by ports 0 and 6 */
    static const char *const hex[] = {CHASE, MULTIPLY, DIVIDE, "48d1e048d1e148d1e248d1e348d1e6ebef"};
    struct fixture fx;
    struct what_if what;
    struct status st = {0};
    (void)state;

    fixture__open(&fx, "skl", 4, hex);
    assert_int_equal(what_if__run(&what, &fx.config, &st), 0);
    assert_string_equal(what.loop[0].row[0].id, "load_latency_cyc/2");
    assert_true(what.loop[0].row[0].point.cycles == 2);
    assert_non_null(strstr(what.loop[0].verdict, "4.00 -> 2.00"));
    assert_string_equal(what.loop[1].row[0].id, "latency:MULSS/2");
    assert_true(what.loop[1].row[0].point.speedup == 2);
    assert_string_equal(what.loop[2].row[0].id, "divider");
    assert_true(what.loop[3].row[0].kind == WHAT_IF_PORT);
    /* Instructions of the other loops are none of this one's business. */
    assert_null(find_row(&what.loop[0], "latency:MULSS/2"));
    assert_null(find_row(&what.loop[0], "divider"));
    assert_null(find_row(&what.loop[1], "port2*2"));
    assert_null(find_row(&what.loop[0], "load_buffer*2"));
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 1; i < what.loop[k].n_rows; i++)
            assert_true(what.loop[k].row[i - 1].point.speedup >= what.loop[k].row[i].point.speedup);
    what_if__free(&what);
}

static void test_what_if_ports_of_six(void **state)
{
    /* mov [rsi], rdx; mov [rdi], rdx; jmp: bound by the one store-data port */
    static const char *const hex[] = {"488916488917ebf8"};
    static const char *const cores[] = {"snb", "skl"};
    struct fixture fx;
    struct what_if what;
    struct status st = {0};
    (void)state;

    for (size_t c = 0; c < 2; c++) {
        fixture__open(&fx, cores[c], 1, hex);
        assert_int_equal(what_if__run(&what, &fx.config, &st), 0);
        assert_true(what.loop[0].base.cycles == 2);
        assert_string_equal(what.loop[0].row[0].id, "port4*2");
        assert_true(what.loop[0].row[0].point.cycles < 1.5);
        what_if__free(&what);
    }
}

/* What a change leaves behind would show in a plain run afterwards. */
static void test_what_if_leaves_nothing(void **state)
{
    static const char *const hex[] = {DIVIDE, MULTIPLY, CHASE};
    struct fixture fx;
    struct what_if a, b;
    struct status st = {0};
    (void)state;

    fixture__open(&fx, "ivb", 3, hex);
    assert_int_equal(what_if__run(&a, &fx.config, &st), 0);
    fx.config.threads = 5;
    assert_int_equal(what_if__run(&b, &fx.config, &st), 0);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(a.loop[k].n_rows, b.loop[k].n_rows);
        for (size_t i = 0; i < a.loop[k].n_rows; i++) {
            assert_string_equal(a.loop[k].row[i].id, b.loop[k].row[i].id);
            assert_true(a.loop[k].row[i].point.cycles == b.loop[k].row[i].point.cycles);
        }
    }
    what_if__free(&a);
    what_if__free(&b);
}

/* --- renderings, from made-up figures ---------------------------------------------------------- */

static struct sweep_point points_a[] = {{8, 0.5, true}, {4, 1, true}, {2, 2, true},
                                        {5, 0.8, true}, {4, 1, true}, {NAN, NAN, false}};
static struct sweep_point points_b[] = {{NAN, NAN, false}, {NAN, NAN, false}, {NAN, NAN, false},
                                        {NAN, NAN, false}, {NAN, NAN, false}, {NAN, NAN, false}};
static double columns[] = {0.5, 1, 2}, column_values[] = {27, 54, 108}, rows[] = {0.5, 1};
static double latencies[] = {4, 8, 12};

static struct sweep made_up(struct sweep_loop_result *loop, size_t n_loops, unsigned n_axes)
{
    struct sweep s = {.core = {.name = "snb", .title = "Sandy Bridge (client)"},
                      .own = n_axes > 1 ? 4 : SWEEP_NO_POINT,
                      .loop = loop,
                      .n_loops = n_loops};
    s.spec.n_axes = n_axes;
    if (n_axes > 1) {
        s.spec.axis[0] = (struct sweep_axis){.name = "rs",
                                             .key = "rs_entries",
                                             .unit = "uops",
                                             .factor = true,
                                             .value = columns,
                                             .effective = column_values,
                                             .n = 3};
        s.spec.axis[1] =
            (struct sweep_axis){.name = "others", .key = "others", .factor = true, .value = rows, .n = 2};
    } else {
        s.spec.axis[0] = (struct sweep_axis){.name = "load_latency",
                                             .key = "load_latency_cyc",
                                             .unit = "cyc",
                                             .value = latencies,
                                             .effective = latencies,
                                             .n = 3};
    }
    return s;
}

static struct sweep_loop_result made_up_loops[] = {
    {.name = "main+0x1c <a&b>, inner",
     .base = {4, 1, true},
     .point = points_a,
     .slope = -0.75,
     .best = 2,
     .worst = 0,
     .min_cycles = 2,
     .max_cycles = 8},
    {.name = "broken",
     .error = "byte 0 of the block: no complete instruction starts with 0f",
     .base = {NAN, NAN, false},
     .point = points_b,
     .slope = NAN,
     .min_cycles = NAN,
     .max_cycles = NAN},
};

static struct what_if_row made_up_rows[] = {
    {WHAT_IF_BUFFER, "rob_entries*2", "ROB 168 -> 336 uops", {2, 2, true}},
    {WHAT_IF_PORT, "port1*2", "a second port 1", {4, 1, true}},
    {WHAT_IF_FRONTEND, "frontend", "perfect front end", {5, 0.8, false}},
};
static struct what_if_loop made_up_what_ifs[] = {
    {"main+0x1c", NULL, {4, 1, true}, made_up_rows, 3, "Most would be gained by: ROB 168 -> 336 uops."},
    {"broken", "the block is empty", {NAN, NAN, false}, NULL, 0, "no figure: the block is empty"},
};

static void check_golden(const char *name, const char *text)
{
    char path[4096], *golden = calloc(1, 1 << 20);
    snprintf(path, sizeof path, "%s/tests/golden/%s", FATHOM_SOURCE_DIR, name);
    FILE *file = fopen(path, getenv("REBASE") ? "w+" : "r");
    if (!file)
        fail_msg("cannot open %s", path);
    if (getenv("REBASE")) {
        fputs(text, file);
        rewind(file);
    }
    golden[fread(golden, 1, (1 << 20) - 1, file)] = '\0';
    fclose(file);
    if (strcmp(golden, text) != 0)
        print_message("%s differs; look at the new text and run the test with REBASE=1:\n%s\n", path, text);
    assert_string_equal(golden, text);
    free(golden);
}

enum view { TEXT, CSV, JSON, SVG };

static char *render(const struct sweep *sweep, const struct what_if *what, enum view view)
{
    struct sweep_text_options opt = {.width = 80};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (view == TEXT)
        sweep ? view__sweep_text(sweep, &opt, out) : view__what_if_text(what, &opt, out);
    else if (view == CSV)
        sweep ? view__sweep_csv(sweep, out) : view__what_if_csv(what, out);
    else if (view == JSON)
        sweep ? view__sweep_json(sweep, out) : view__what_if_json(what, out);
    else
        sweep ? view__sweep_svg(sweep, out) : view__what_if_svg(what, out);
    fclose(out);
    return text;
}

static void check_views(const char *name, const struct sweep *sweep, const struct what_if *what)
{
    static const char *const suffix[] = {"txt", "csv", "json", "svg"};
    for (enum view v = TEXT; v <= SVG; v++) {
        char file[64], *text = render(sweep, what, v);
        snprintf(file, sizeof file, "%s.%s", name, suffix[v]);
        if (v == JSON) {
            json_t *json = json_loads(text, 0, NULL);
            assert_non_null(json);
            json_decref(json);
        }
        check_golden(file, text);
        free(text);
    }
}

static void test_views(void **state)
{
    struct sweep line = made_up(made_up_loops, 2, 1), heat = made_up(made_up_loops, 1, 2);
    struct what_if what = {.core = line.core, .loop = made_up_what_ifs, .n_loops = 2};
    (void)state;

    check_views("sweep-line", &line, NULL);
    check_views("sweep-heat", &heat, NULL);
    check_views("what-if", NULL, &what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_grid_sets_the_core),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_chase_slope),
        cmocka_unit_test(test_rob_is_monotonic),
        cmocka_unit_test(test_threads_do_not_show),
        cmocka_unit_test(test_points_do_not_leak),
        cmocka_unit_test(test_bad_loop_keeps_the_others),
        cmocka_unit_test(test_what_if),
        cmocka_unit_test(test_what_if_ports_of_six),
        cmocka_unit_test(test_what_if_leaves_nothing),
        cmocka_unit_test(test_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
