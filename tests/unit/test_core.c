/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cores/params.h"
#include "fathom/core.h"
#include "fathom/status.h"

static struct core load(const char *name)
{
    struct core core;
    struct status st = {0};

    if (core__load(&core, name, NULL, 0, &st))
        fail_msg("%s", st.text);
    return core;
}

static char *print(const struct core *core)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    core__print(core, out);
    fclose(out);
    return text;
}

/* --set on skl fails with a message that holds every given word. */
static void expect_set_fails(const char *assignment, const char *word1, const char *word2)
{
    struct core core;
    struct status st = {0};

    assert_int_equal(core__load(&core, "skl", &assignment, 1, &st), -1);
    assert_int_equal(st.exit_code, EXIT_CODE_USAGE);
    if (!strstr(st.text, word1) || !strstr(st.text, word2))
        fail_msg("%s: \"%s\" lacks \"%s\" or \"%s\"", assignment, st.text, word1, word2);
}

static void expect_text_fails(const char *text, const char *word1, const char *word2)
{
    struct core core;
    struct status st = {0};

    assert_int_equal(core__parse(&core, text, strlen(text), "my.core", &st), -1);
    if (!strstr(st.text, word1) || !strstr(st.text, word2))
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", st.text, word1, word2);
}

/* The master table 0.3 and sections 11.2 to 12.4, one value of every kind for every core. */
static void test_master_table(void **state)
{
    static const struct {
        const char *name;
        uint32_t ports, rob, rs, iq, idq, dsb_width, load_buffer, store_buffer, prf_int, prf_vec;
        uint32_t ms_stall_dsb, resteer, baclear, l3_lat, l2_ways, stlb_entries, stlb_hit, page_walkers;
        double dram_ns;
    } want[] = {
        {"snb", 6, 168, 54, 20, 28, 4, 64, 36, 160, 144, 4, 7, 12, 36, 8, 512, 7, 1, 67.5},
        {"ivb", 6, 168, 54, 20, 56, 4, 64, 36, 160, 144, 4, 7, 12, 36, 8, 512, 7, 1, 58},
        {"hsw", 8, 192, 60, 20, 56, 4, 72, 42, 168, 168, 4, 7, 12, 42, 8, 1024, 8, 1, 62},
        {"bdw", 8, 192, 60, 20, 56, 4, 72, 42, 168, 168, 4, 7, 12, 41, 8, 1536, 8, 2, 88},
        {"skl", 8, 224, 97, 25, 64, 6, 72, 56, 180, 168, 2, 8, 9, 44, 4, 1536, 9, 2, 64.5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        struct core core = load(want[i].name);

        assert_string_equal(core.name, want[i].name);
        assert_string_equal(core.insn_table, want[i].name);
        assert_int_equal(core.issue_width, 4);
        assert_int_equal(core.retire_width, 4);
        assert_int_equal(core.ports, want[i].ports);
        assert_int_equal(core.rob_entries, want[i].rob);
        assert_int_equal(core.rs_entries, want[i].rs);
        assert_int_equal(core.iq_entries, want[i].iq);
        assert_int_equal(core.idq_entries, want[i].idq);
        assert_int_equal(core.dsb_width, want[i].dsb_width);
        assert_int_equal(core.load_buffer, want[i].load_buffer);
        assert_int_equal(core.store_buffer, want[i].store_buffer);
        assert_int_equal(core.prf_int, want[i].prf_int);
        assert_int_equal(core.prf_vec, want[i].prf_vec);
        assert_int_equal(core.ms_stall_dsb_cyc, want[i].ms_stall_dsb);
        assert_int_equal(core.resteer_cyc, want[i].resteer);
        assert_int_equal(core.baclear_cyc, want[i].baclear);
        assert_int_equal(core.l3.lat_cyc, want[i].l3_lat);
        assert_int_equal(core.l2.ways, want[i].l2_ways);
        assert_int_equal(core.stlb.entries, want[i].stlb_entries);
        assert_int_equal(core.stlb_hit_cyc, want[i].stlb_hit);
        assert_int_equal(core.page_walkers, want[i].page_walkers);
        assert_true(core.dram_lat_ns == want[i].dram_ns);
    }
}

/* LSD-4 */
static void test_lsd_unroll(void **state)
{
    static const struct {
        int n, factor;
    } want[] = {{1, 8}, {4, 8},  {5, 6},  {6, 5},  {7, 4},  {8, 4},
                {9, 3}, {12, 3}, {13, 2}, {28, 2}, {29, 1}, {63, 1}};
    struct core hsw = load("hsw"), bdw = load("bdw"), snb = load("snb");

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        assert_int_equal(hsw.lsd_unroll[want[i].n], want[i].factor);
        assert_int_equal(bdw.lsd_unroll[want[i].n], want[i].factor);
        assert_int_equal(snb.lsd_unroll[want[i].n], 1);
    }
}

static void test_differences_between_cores(void **state)
{
    struct core snb = load("snb"), ivb = load("ivb"), hsw = load("hsw"), skl = load("skl");

    (void)state;
    assert_int_equal(snb.elim_slots_gpr, 0);
    assert_int_equal(ivb.elim_slots_gpr, 4);
    assert_int_equal(ivb.elim_history, 3);
    assert_int_equal(hsw.elim_history, 2);
    assert_false(ivb.elim_gpr_all_aliases);
    assert_true(hsw.elim_gpr_all_aliases);
    assert_true(ivb.elim_movzx_high_encoding);
    assert_false(hsw.elim_movzx_high_encoding);
    assert_true(ivb.slow_256bit_memory && ivb.bank_conflicts && ivb.pop5c_ends_group);
    assert_false(hsw.slow_256bit_memory || hsw.bank_conflicts);
    assert_true(skl.jcc_erratum && skl.dsb_both_halves && skl.fuse_on_last_decoder);
    assert_false(skl.lsd || skl.pop5c_ends_group);
    assert_true(hsw.lsd);
    assert_false(hsw.jcc_erratum || hsw.rsb_underflow_indirect);
    assert_true(skl.rsb_underflow_indirect);
}

static void test_printed_text_loads_to_the_same_core(void **state)
{
    (void)state;
    for (const char *const *name = core__names(); *name; name++) {
        struct core core = load(*name), again;
        struct status st = {0};
        char *text = print(&core);

        assert_int_equal(core__parse(&again, text, strlen(text), "printed", &st), 0);
        assert_memory_equal(&core, &again, sizeof(core));
        free(text);
    }
}

/* A printed built-in is the file itself, comments included, so that sources are never lost. */
static void test_print_keeps_sources(void **state)
{
    struct core core = load("skl");
    char *text = print(&core);
    const struct builtin *builtin = builtin__find("skl");

    (void)state;
    assert_non_null(memmem(builtin->text, (size_t)(builtin->end - builtin->text), text, strlen(text)));
    free(text);
}

static void test_set(void **state)
{
    const char *set[] = {"rob=512", "l2_size=1 MiB",        "l2_ways = 16",  "freq=2500MHz",
                         "lsd=yes", "lsd_unroll=2:6 7-9:3", "title=My core", "dram_lat_ns=0.1us"};
    struct core core, again;
    struct status st = {0};
    char *text;

    (void)state;
    if (core__load(&core, "skl", set, sizeof(set) / sizeof(set[0]), &st))
        fail_msg("%s", st.text);
    assert_int_equal(core.rob_entries, 512);
    assert_int_equal(core.l2.size_bytes, 1 << 20);
    assert_int_equal(core.l2.ways, 16);
    assert_true(core.freq_ghz == 2.5);
    assert_true(core.dram_lat_ns == 100);
    assert_true(core.lsd);
    assert_int_equal(core.lsd_unroll[1], 1);
    assert_int_equal(core.lsd_unroll[2], 6);
    assert_int_equal(core.lsd_unroll[9], 3);
    assert_string_equal(core.title, "My core");
    text = print(&core);
    assert_non_null(strstr(text, "set by the user, skl has 224 uops"));
    assert_int_equal(core__parse(&again, text, strlen(text), "printed", &st), 0);
    assert_memory_equal(&core, &again, sizeof(core));
    free(text);
}

static void test_set_errors(void **state)
{
    (void)state;
    expect_set_fails("robb=512", "robb", "rob_entries");
    expect_set_fails("nonsense_key_of_no_kind=1", "nonsense", "no parameter");
    expect_set_fails("rob", "--set rob", "key=value");
    expect_set_fails("rob=", "rob_entries", "number");
    expect_set_fails("rob=many", "rob_entries", "many");
    expect_set_fails("rob=512 cyc", "rob_entries", "uops");
    expect_set_fails("rob=400.5", "rob_entries", "whole");
    expect_set_fails("rob=-1", "rob_entries", "range");
    expect_set_fails("issue_width=0", "issue_width", "range");
    expect_set_fails("ports=17", "ports", "6 to 16");
    expect_set_fails("lsd=maybe", "lsd", "yes or no");
    expect_set_fails("lsd_unroll=1-4", "lsd_unroll", "1-4");
    expect_set_fails("lsd_unroll=1-64:2", "lsd_unroll", "1-64");
    expect_set_fails("l1d_size=32 KB", "l1d_size", "KiB");
    expect_set_fails("freq=nan", "freq_ghz", "number");
}

static void test_impossible_values(void **state)
{
    (void)state;
    expect_set_fails("l1d_size=33000", "l1d_size", "multiple");
    expect_set_fails("l2_ways=7", "l2_size", "l2_ways");
    expect_set_fails("l2_size=96 KiB", "l2_size", "use 65536 B, or 131072 B");
    expect_set_fails("l3_size=5000", "l3_size", "4096 B or 5120 B");
    expect_set_fails("l1d_replacement=fifo", "l1d_replacement", "plru, qlru or lru");
    expect_set_fails("wrong_path=maybe", "wrong_path", "yes or no");
    expect_set_fails("l2_lat=50", "l2_lat_cyc", "l3_lat_cyc");
    expect_set_fails("dram_lat=5", "dram_lat_ns", "distance");
    expect_set_fails("dtlb_ways=5", "dtlb_entries", "use 40 or 80 entries");
    expect_set_fails("stlb_entries=6", "stlb_entries", "use 12 or 24 entries");
    expect_set_fails("btb_entries=3000", "btb_entries", "power of two");
    expect_set_fails("iq_entries=4", "iq_entries", "predecode_width");
    expect_set_fails("dsb_width=1", "dsb_width", "2 to 16");
    expect_set_fails("issue_width=1", "issue_width", "2 to 8");
    expect_set_fails("elim_slots_gpr=12", "elim_slots_gpr", "0 to 8");
    expect_set_fails("rsb_entries=96", "rsb_entries", "1 to 64");
    expect_set_fails("dsb_ways=2", "dsb_ways", "dsb_lines_per_window");
    expect_set_fails("dsb_sets=33", "dsb_sets", "use 32 or 64");
    expect_set_fails("tage_history_max=2", "tage_history_max", "tage_history_min");
    expect_set_fails("btb_fast=8192", "btb_fast_entries", "btb_entries");
}

static void test_file_errors_name_file_line_and_key(void **state)
{
    (void)state;
    expect_text_fails("", "my.core", "name (");
    expect_text_fails("base = skl\n\nrob_entires = 4\n", "my.core:3", "rob_entries");
    expect_text_fails("base = skl\nrob = 400\n", "my.core:2", "rob_entries");
    expect_text_fails("rob_entries = 400 uops\nbase = skl\n", "my.core:2", "base");
    expect_text_fails("base = skl\nrob_entries = 400\nrob_entries = 300\n", "my.core:3", "twice");
    expect_text_fails("base = p4\n", "my.core:1", "p4");
    expect_text_fails("base = skl\njust words\n", "my.core:2", "just words");
    expect_text_fails("base = skl\nrob_entries = 400 KiB # why\n", "my.core:2", "KiB");
    expect_text_fails("base = skl\nl1d_ways = 3\n", "my.core", "l1d_ways");
    expect_text_fails("name = x\n", "my.core", "missing");
}

static void test_own_file(void **state)
{
    static const char text[] = "# mine\nbase = hsw\n[any heading]\nname = mine\nrob_entries = 256\n";
    char path[] = "/tmp/test_core-XXXXXX";
    int fd = mkstemp(path);
    struct core core, hsw = load("hsw");
    struct status st = {0};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    if (core__load(&core, path, NULL, 0, &st))
        fail_msg("%s", st.text);
    unlink(path);
    assert_string_equal(core.name, "mine");
    assert_int_equal(core.rob_entries, 256);
    assert_int_equal(core.rs_entries, hsw.rs_entries);
    assert_int_equal(core__load(&core, path, NULL, 0, &st), -1);
    assert_non_null(strstr(st.text, path));
    assert_int_equal(core__load(&core, "pentium", NULL, 0, &st), -1);
    assert_non_null(strstr(st.text, "snb, ivb, hsw, bdw, skl"));
}

/* Every byte of a core file cut off or changed: a sentence or a core, never a crash. */
static void test_damaged_files(void **state)
{
    const struct builtin *builtin = builtin__find("snb");
    size_t size = (size_t)(builtin->end - builtin->text);
    char *text = malloc(size);
    struct core core;

    (void)state;
    for (size_t cut = 0; cut < size; cut += 7) {
        struct status st = {0};

        memcpy(text, builtin->text, size);
        if (core__parse(&core, text, cut, "cut", &st))
            assert_true(st.text[0]);
        text[cut] = (char)(text[cut] ^ 0x15);
        st.text[0] = '\0';
        if (core__parse(&core, text, size, "changed", &st))
            assert_true(st.text[0]);
    }
    free(text);
}

/* docs/cores.md describes every key. */
static void test_documentation(void **state)
{
    struct status st = {0};
    size_t n, size;
    const struct param *table = params__table(&n);
    char *text = file__read(FATHOM_SOURCE_DIR "/docs/cores.md", 1 << 20, &size, &st);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        char row[80];

        snprintf(row, sizeof(row), "\n| `%s` |", table[i].key);
        if (!strstr(text, row))
            fail_msg("docs/cores.md has no row for %s", table[i].key);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_master_table),
        cmocka_unit_test(test_lsd_unroll),
        cmocka_unit_test(test_differences_between_cores),
        cmocka_unit_test(test_printed_text_loads_to_the_same_core),
        cmocka_unit_test(test_print_keeps_sources),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_set_errors),
        cmocka_unit_test(test_impossible_values),
        cmocka_unit_test(test_file_errors_name_file_line_and_key),
        cmocka_unit_test(test_own_file),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_documentation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
