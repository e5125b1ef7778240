/* SPDX-License-Identifier: Apache-2.0 */
/* The explanation of a loop: sums, waits by their cause, critical path, timeline; views against files in
 * tests/golden ("REBASE=1" writes them anew). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fathom/insn.h"
#include "fathom/loop_report.h"
#include "fathom/pipe.h"
#include "fathom/status.h"
#include "loop/asm.h"

static struct loopsim *open_core(const char *name, const char *const *set, size_t n_set)
{
    struct status st;
    struct core core;
    struct loopsim *sim = NULL;
    if (core__load(&core, name, set, n_set, &st) || !(sim = loopsim__open(&core, &st)))
        fail_msg("%s", st.text);
    return sim;
}

static void make(struct loopsim *sim, const char *hex, struct loop_question *q, struct loop_report *r)
{
    static uint8_t bytes[65536];
    struct status st;
    q->name = "loop";
    q->bytes = bytes;
    if (hex__parse(hex, bytes, sizeof bytes, &q->size, &st) || loop_report__make(sim, q, r, &st))
        fail_msg("%s", st.text);
}

static struct loop_question question(void)
{
    return (struct loop_question){.registers = LOOP_REGISTERS_STACK, .measured = NAN};
}

static void check_sums(const struct loop_report *r)
{
    double cycles = 0, stack = 0, top = 0, fused = 0, ports = 0;
    for (size_t i = 0; i < r->n_insns; i++) {
        double of_uops = 0;
        cycles += r->insn[i].cycles;
        fused += r->insn[i].fused;
        for (size_t k = 0; k < r->insn[i].n_uops; k++)
            for (int w = 0; w < LOOP_WAITS; w++) {
                assert_true(r->insn[i].uop[k].wait[w] >= 0);
                of_uops += r->insn[i].uop[k].wait[w];
            }
        for (int w = 0; w < LOOP_WAITS; w++)
            of_uops -= r->insn[i].wait[w];
        assert_true(fabs(of_uops) < 1e-6);
    }
    for (size_t i = 0; i < r->stack.n_components; i++)
        stack += r->stack.component[i].cycles;
    for (size_t i = 0; i < r->tree.n_nodes; i++)
        top += r->tree.node[i].level == 1 ? r->tree.node[i].value : 0;
    for (int p = 0; p < BOUNDS_MAX_PORTS; p++)
        ports += r->port[p];
    double mean = (double)r->window_cycles / (double)r->window_iterations;
    assert_true(fabs(cycles - mean) < 1e-6 * mean);
    assert_true(fabs(stack - mean) < 1e-6 * mean);
    assert_true(fabs(top - 100) < 1e-9);
    assert_true(fabs(fused - r->fused) < 1e-9 && fabs(ports - r->unfused) < 1e-9);
    if (r->figures.periodic)
        assert_true(fabs(mean - r->figures.cycles) < 1e-9);
}

/* Cycles, slots and stacks of different kinds of loops add up on every core and in both models. */
static void everything_adds_up(void **state)
{
    static const char *const blocks[] = {
        "4801d84801d149ffcf75f5",     /* three chains */
        "4801d84801d1",               /* unrolled */
        "f20f5ec1f20f5ed349ffcf75f3", /* divisions */
        "488b0049ffcf75f8",           /* pointer chasing */
        "6605341249ffcf75f7",         /* length-changing prefix */
        "660f1004c6660f59c1660f5804c7660f1104c74883c0024839c87ce4",
        "0fa249ffcf75f9",               /* CPUID */
        "5058",                         /* PUSH, POP */
        "4889c84889d94889da49ffcf75f2", /* moves */
    };
    (void)state;
    for (const char *const *core = core__names(); *core; core++) {
        struct loopsim *sim = open_core(*core, NULL, 0);
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
            for (int model = LOOPSIM_FULL; model <= LOOPSIM_UFS; model++) {
                struct loop_question q = question();
                struct loop_report r;
                q.model = (enum loopsim_model)model;
                q.address = 7 * i;
                make(sim, blocks[i], &q, &r);
                check_sums(&r);
                loop_report__free(&r);
            }
        loopsim__close(sim);
    }
}

/* ADD RAX three times: a chain, and nothing else on the critical path. */
static void chain_waits_for_data(void **state)
{
    struct loopsim *sim = open_core("skl", NULL, 0);
    struct loop_question q = question();
    struct loop_report r;
    (void)state;
    make(sim, "4801d84801c84801d049ffcf75f2", &q, &r);
    assert_true(r.figures.periodic && r.figures.cycles == 3);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(r.insn[i].critical - 1) < 0.02);
        assert_true(r.insn[i].wait[LOOP_WAIT_DATA] > 1);
        assert_true(r.insn[i].wait[LOOP_WAIT_PORT] < 0.1);
    }
    assert_true(r.insn[3].critical < 0.02);
    assert_true(r.insn[4].fused_with_previous && r.insn[4].fused == 0);
    assert_true(fabs(r.path[PATH_DATA] - 3) < 0.1);
    assert_int_equal(r.bounds.largest, BOUND_DEPENDENCY);
    assert_true(fabs(r.hazard) < 1e-9);
    assert_string_equal(r.limit, bound__name(BOUND_DEPENDENCY));
    loop_report__free(&r);
    loopsim__close(sim);
}

/* Five independent IMULs share port 1. */
static void contention_waits_for_a_port(void **state)
{
    struct loopsim *sim = open_core("skl", NULL, 0);
    struct loop_question q = question();
    struct loop_report r;
    double port = 0;
    (void)state;
    make(sim, "486bc003486bdb03486bc903486bd203486bf60349ffcf75e7", &q, &r);
    assert_true(r.figures.cycles == 5);
    assert_true(fabs(r.port[1] - 5) < 0.01);
    for (int i = 0; i < 5; i++)
        port += r.insn[i].wait[LOOP_WAIT_PORT];
    assert_true(port > 1);
    assert_true(r.path[PATH_PORT] > 3);
    loop_report__free(&r);
    loopsim__close(sim);
}

/* Independent divisions: AC-20. */
static void divisions_wait_for_the_divider(void **state)
{
    struct loopsim *sim = open_core("snb", NULL, 0);
    struct loop_question q = question();
    struct loop_report r;
    (void)state;
    make(sim, "f30f5ec1f30f5ed1f30f5ed949ffcf75ef", &q, &r);
    assert_true(r.insn[0].wait[LOOP_WAIT_DIVIDER] + r.insn[1].wait[LOOP_WAIT_DIVIDER] > 1);
    assert_true(r.path[PATH_DIVIDER] > 0.5 * r.figures.cycles);
    loop_report__free(&r);
    loopsim__close(sim);
}

/* The same chain is stopped by whichever buffer is small. */
static void full_buffers_are_told_apart(void **state)
{
    const char *const few_rs[] = {"rs_entries=16"}, *const few_rob[] = {"rob_entries=32"};
    const struct {
        const char *const *set;
        enum loop_wait wait, not ;
    } cases[] = {{few_rs, LOOP_WAIT_RS, LOOP_WAIT_ROB}, {few_rob, LOOP_WAIT_ROB, LOOP_WAIT_RS}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct loopsim *sim = open_core("skl", cases[i].set, 1);
        struct loop_question q = question();
        struct loop_report r;
        double is = 0, is_not = 0;
        make(sim, "480fafc0480fafc0480fafc049ffcf75ef", &q, &r);
        for (size_t k = 0; k < r.n_insns; k++) {
            is += r.insn[k].wait[cases[i].wait];
            is_not += r.insn[k].wait[cases[i].not ];
        }
        assert_true(is > 1 && is_not == 0);
        loop_report__free(&r);
        loopsim__close(sim);
    }
}

static void timeline_shows_each_stage_in_order(void **state)
{
    struct loopsim *sim = open_core("skl", NULL, 0);
    struct loop_question q = question();
    struct loop_report r;
    (void)state;
    q.timeline_iterations = 3;
    make(sim, "4801d84801d1480fafc3", &q, &r);
    assert_int_equal(r.timeline.n_rows, 9);
    for (size_t i = 0; i < r.timeline.n_rows; i++) {
        const char *cell = r.timeline.row[i].cell, *at = cell;
        assert_int_equal(r.timeline.row[i].iteration, i / 3);
        assert_int_equal(r.timeline.row[i].insn, i % 3);
        for (const char *letter = "PQIDCR"; *letter; letter++) {
            at = strchr(at, *letter);
            assert_non_null(at);
        }
        assert_true(strspn(cell, " .PQIoslbgx-dupvDeCrR") == strlen(cell));
    }
    loop_report__free(&r);
    loopsim__close(sim);
}

static void refuse(const char *hex, const char *why)
{
    struct loopsim *sim = open_core("skl", NULL, 0);
    struct loop_question q = question();
    struct loop_report r;
    struct status st;
    uint8_t bytes[256];
    q.name = "loop";
    q.bytes = bytes;
    assert_int_equal(hex__parse(hex, bytes, sizeof bytes, &q.size, &st), 0);
    assert_int_equal(loop_report__make(sim, &q, &r, &st), -1);
    if (!strstr(st.text, why))
        fail_msg("no \"%s\" in \"%s\"", why, st.text);
    loopsim__close(sim);
}

static void says_what_cannot_run(void **state)
{
    (void)state;
    refuse("", "empty");
    refuse("4801", "byte 0 of 2: the instruction that starts with 48 01 is cut short");
    refuse("9006", "byte 1 of 2: no instruction starts with 06");
    refuse("90750090", "byte 1 of 4: `jnz");
    refuse("90e800000000", "is a call");
    refuse("900f05", "a system call");
    refuse("90c3", "a return");
    refuse("90ffe0", "an indirect jump");
}

/* --- views against files -------------------------------------------------------------------------- */

static void compare(const char *name, char *text, size_t size)
{
    char path[512], *old;
    snprintf(path, sizeof path, "%s/tests/golden/%s", FATHOM_SOURCE_DIR, name);
    if (getenv("REBASE")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fwrite(text, 1, size, f);
        fclose(f);
        return;
    }
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s is missing: run with REBASE=1", path);
    old = calloc(1, size + 65536);
    size_t n = fread(old, 1, size + 65535, f);
    fclose(f);
    if (n != size || memcmp(old, text, n) != 0)
        fail_msg("%s differs; if the change is wanted, run with REBASE=1. Now:\n%s", name, text);
    free(old);
}

static void views_are_as_in_the_files(void **state)
{
    struct loopsim *sim = open_core("skl", NULL, 0);
    struct loop_question q = question();
    struct loop_report r;
    char *text;
    size_t size;
    FILE *out;
    (void)state;
    q.timeline_iterations = 2;
    q.keep_uops = true;
    q.measured = 4.2;
    make(sim, "f20f59c14883c0044839c875f3", &q, &r);
    struct loop_entry entry[2] = {{.report = &r, .name = r.name, .start = 0, .end = 13},
                                  {.name = "0x10..0x20 in f", .function = "f", .why = "a call at 0x10"}};

    out = open_memstream(&text, &size);
    view__loop_text(&r, &(struct loop_view_options){.all = true}, out);
    putc('\n', out);
    view__loop_table(entry, 2, out);
    fclose(out);
    compare("loop-text.txt", text, size);
    free(text);

    out = open_memstream(&text, &size);
    view__loop_json(entry, 2, "dot.o", out);
    fclose(out);
    compare("loop-report.json", text, size);
    free(text);

    for (size_t i = 0; i < r.n_uops; i++)
        if (r.uop[i].iteration == 3)
            r.n_uops = i;
    out = open_memstream(&text, &size);
    view__loop_konata(&r, out);
    fclose(out);
    compare("loop-konata.log", text, size);
    free(text);

    out = open_memstream(&text, &size);
    view__loop_o3pipeview(&r, out);
    fclose(out);
    compare("loop-trace.o3", text, size);
    free(text);
    loop_report__free(&r);
    loopsim__close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_adds_up),          cmocka_unit_test(chain_waits_for_data),
        cmocka_unit_test(contention_waits_for_a_port), cmocka_unit_test(divisions_wait_for_the_divider),
        cmocka_unit_test(full_buffers_are_told_apart), cmocka_unit_test(timeline_shows_each_stage_in_order),
        cmocka_unit_test(says_what_cannot_run),        cmocka_unit_test(views_are_as_in_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
