/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of the DSB and of the order in the front end: DSB-1 to DSB-14, CY-4, CY-5, ID-1. */
#include "test_rules_fixture.h"

/* Whether the first and the last instruction come from the decoders. */
struct cached {
    const char *code;
    unsigned last; /* position of the last instruction */
    bool mite;
};

static void check_cached(const struct cached *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (enum rules_core k = SNB; k <= SKL; k++) {
            bool mite = rules__source(k, c[i].code, 0, 0) == FETCH_MITE;
            if (mite != c[i].mite) {
                print_error("%s on %s\n", c[i].code, rules_names[k]);
                fail();
            }
            assert_int_equal(rules__uop(&rules_fixture[k], 9, c[i].last, 0)->from == FETCH_MITE, mite);
        }
}

/* Three lines of six: 18 uops in a window of 32 bytes, not 19. The pair takes one slot, it starts at byte 32.
 */
static void test_DSB_01_three_lines_a_window(void **state)
{
    static const struct cached c[] = {
        {/* 16*nop1; nop7; nop9; dec r15; jnz l */ "16*90 6666666666669066666666666666669049ffcf75db", 18,
         false},
        {/* 17*nop1; nop7; nop8; dec r15; jnz l */ "17*90 66666666666690666666666666669049ffcf75db", 19,
         true},
    };
    (void)state;
    check_cached(c, 2);
    assert_int_equal(rules__cycles_with(HSW, c[1].code, "dsb_lines_per_window=4"), 500); /* LSD: 20 / 4 */
}

/* XCHG has three uops, which must be in one line: two fit. Six of them take three lines, seven four. */
static void test_DSB_02_uops_of_an_instruction_share_a_line(void **state)
{
    static const struct cached c[] = {
        {/* 6*xchg rbx,rcx; nop7; nop7; dec r15; jnz l */ "6*4887cb 666666666666906666666666669049ffcf75db",
         8, true}, /* 18 + 2 */
        {/* 6*xchg rbx,rcx; 2*nop7; dec r15; jnz l */ "6*4887cb 2*66666666666690 49ffcf75db", 8, true},
        {/* 4*xchg rbx,rcx; 6*nop3; nop2; dec r15; jnz l */ "4*4887cb 6*666690 669049ffcf75db", 11,
         true}, /* 12 + 6 + 1 */
        {/* 6*xchg rbx,rcx; nop14; dec r15; jnz l */ "6*4887cb 666666666666666666666666669049ffcf75db", 7,
         true}, /* 18 + 1: the nop starts in the window */
        {/* nop14; 6*xchg rbx,rcx; dec r15; jnz l */ "6666666666666666666666666690 6*4887cb 49ffcf75db", 7,
         true},
        {/* 5*xchg rbx,rcx; nop15; nop2; dec r15; jnz l */
         "5*4887cb 666666666666666666666666666690669049ffcf75db", 7, false}, /* 15 + 2 */
        {/* 5*xchg rbx,rcx; 3*nop5; nop2; dec r15; jnz l */ "5*4887cb 3*6666666690 669049ffcf75db", 9,
         true}, /* 15, and 3 in the third line, 1 over */
        {/* 5*xchg rbx,rcx; 2*nop7; nop3; dec r15; jnz l */ "5*4887cb 2*66666666666690 66669049ffcf75db", 8,
         false}, /* 15 + 3 */
    };
    (void)state;
    check_cached(c, sizeof c / sizeof c[0]);
}

/* A microcoded instruction has a line of its own. */
static void test_DSB_04_microcode_line(void **state)
{
    static const struct cached c[] = {
        {/* cld; nop15; nop15; nop1; dec r15; jnz l */ "fc666666666666666666666666666690666666666666666666666"
                                                       "6666666909049ffcf75db",
         4, false}, /* 2 lines */
        {           /* cld; nop15; cld; nop14; nop1; dec r15; jnz l */
         "fc666666666666666666666666666690fc66666666666666666666666666909049ffcf75db", 5, true}, /* 4 */
        {/* nop15; 2*cld; nop15; dec r15; jnz l */
         "666666666666666666666666666690 2*fc 66666666666666666666666666669049ffcf75db", 4, true}, /* 4 */
        {/* 2*cld; nop15; nop15; dec r15; jnz l */
         "2*fc 66666666666666666666666666669066666666666666666666666666669049ffcf75db", 4, false}, /* 3 */
    };
    (void)state;
    check_cached(c, sizeof c / sizeof c[0]);
}

/* Window 1 does not fit (23 nops and one at its end): it and what follows come from the decoders, window 0
 * only where both halves of the line must fit. */
static void test_DSB_06_DSB_08_after_an_uncacheable_window(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* 4*nop8; 24*nop1; nop8; 4*nop8; dec r15; jnz l */
                       "4*6666666666666690 24*90 6666666666666690 4*6666666666666690 49ffcf759b");
        assert_int_equal(rules__uop(fx, 3, 0, 0)->from, c == SKL ? FETCH_MITE : FETCH_DSB);
        assert_int_equal(rules__uop(fx, 3, 4, 0)->from, FETCH_MITE);
        assert_int_equal(rules__uop(fx, 3, 30, 0)->from, FETCH_MITE);
        assert_int_equal(rules__uop(fx, 3, 33, 0)->from, FETCH_MITE);
    }
    /* one line earlier does not matter */
    const struct loop_fixture *fx = rules__run(
        SKL,
        /* 8*nop8; 24*nop1; nop8; dec r15; jnz l */ "8*6666666666666690 24*90 666666666666669049ffcf759b");
    assert_int_equal(rules__uop(fx, 3, 0, 0)->from, FETCH_DSB);
    assert_int_equal(rules__uop(fx, 3, 7, 0)->from, FETCH_DSB);
    assert_int_equal(rules__uop(fx, 3, 8, 0)->from, FETCH_MITE);
}

/* Length-changing prefixes of fusible instructions: the last one whose opcode is in the first half, and two
 * in the second. */
static void test_DSB_07_length_changing_prefixes(void **state)
{
    static const struct cached c[] = {
        {/* nop11; cmp bx,0x1234; 2*cmp cx,0x1234; nop6; dec r15; jnz l */
         "66666666666666666666906681fb3412 2*6681f93412 66666666669049ffcf75db", 5, true},
        {/* nop11; cmp bx,0x1234; cmp cx,0x1234; nop11; dec r15; jnz l */
         "66666666666666666666906681fb34126681f93412666666666666666666669049ffcf75db", 4, false},
        {/* cmp bx,0x1234; nop11; 2*cmp cx,0x1234; nop6; dec r15; jnz l */
         "6681fb34126666666666666666666690 2*6681f93412 66666666669049ffcf75db", 5, false},
        {/* nop11; or bx,0x1234; 2*or cx,0x1234; nop6; dec r15; jnz l */
         "66666666666666666666906681cb3412 2*6681c93412 66666666669049ffcf75db", 5, false},
    };
    (void)state;
    check_cached(c, sizeof c / sizeof c[0]);
}

static void test_DSB_09_warm_from_the_start(void **state)
{
    (void)state;
    const struct loop_fixture *fx = rules__run(SKL, /* 2*nop4; dec r15; jnz l */ "2*66666690 49ffcf75f3");
    assert_int_equal(rules__uop(fx, 0, 0, 0)->from, FETCH_DSB);
    assert_int_equal(rules__uop(fx, 0, 0, 0)->delivered, 0);
    assert_int_equal(rules__uop(fx, 0, 0, 0)->issued, 1);
}

/* Delivered in the first cycles of a loop: widths 4 and 6, two lines at most. */
static void check_delivery(const char *core, const char *code, unsigned align, const unsigned *want,
                           unsigned n)
{
    static const char *const no_lsd = "lsd=no";
    struct loop_fixture fx;
    loop_fixture__open_set(&fx, core, &no_lsd, 1);
    fx.keep_uops = true;
    rules__run_at(&fx, code, align);
    for (unsigned t = 0; t < n; t++)
        if (rules__in_cycle(&fx, 0, t) != want[t]) {
            print_error("%s at %u on %s: %u in cycle %u, not %u\n", code, align, core,
                        rules__in_cycle(&fx, 0, t), t, want[t]);
            fail();
        }
    loop_fixture__close(&fx);
}

static void test_DSB_10_DSB_12_width(void **state)
{
    const char *code = /* 6*nop4; nop8; 6*nop4; nop8; dec r15; jnz l */
        "6*66666690 6666666666666690 6*66666690 666666666666669049ffcf75bb"; /* lines of 6, 1, 6, 1, 1 */
    (void)state;
    for (enum rules_core c = SNB; c <= BDW; c++)
        check_delivery(rules_names[c], code, 0, (const unsigned[]){4, 2 + 1, 4, 2 + 1, 1 + 3}, 5);
    check_delivery("skl", /* 6*nop4; nop7; nop1; dec r15; jnz l */ "6*66666690 666666666666909049ffcf75db", 0,
                   (const unsigned[]){6, 2 + 1}, 2);
    assert_int_equal(
        rules__cycles_with(SKL, /* 6*nop4; dec r15; jnz l */ "6*66666690 49ffcf75e3", "dsb_width=4"), 200);
}

/* A 64-bit immediate takes a slot more and ends the cycle: a third MOVABS waits. */
static void test_DSB_03_DSB_11_extra_slot(void **state)
{
    static const struct rules_figure f[] = {
        {/* movabs rax,0x1122334455667788; dec r15; jnz l */ "48b8887766554433221149ffcf75f1",
         0,
         {0, 0, 0, 0, 100}},
        {/* 3*movabs rax,0x1122334455667788; dec r15; jnz l */ "3*48b88877665544332211 49ffcf75dd",
         0,
         {0, 0, 0, 0, 300}},
        {/* 3*mov rax,-1; dec r15; jnz l */ "3*48c7c0ffffffff 49ffcf75e6", 0, {0, 0, 0, 0, 100}},
        /* an immediate of 32 bits and a memory operand with a base; an absolute one; 16 bits */
        {/* 3*cmp dword ptr [rsi],0x12345678; dec r15; jnz l */ "3*813e78563412 49ffcf75e9",
         0,
         {0, 0, 0, 0, 300}},
        {/* 3*cmp dword ptr [rsi],0x1234; dec r15; jnz l */ "3*813e34120000 49ffcf75e9",
         0,
         {0, 0, 0, 0, 150}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* The table of DSB-13, by the row: how many uops the second line adds to the k of the first. */
static void test_DSB_13_same_window(void **state)
{
    static const char *const code[] = {
        /* dec r15; jnz l */ "49ffcf75fb",
        /* nop4; dec r15; jnz l */ "6666669049ffcf75f7",
        /* 2*nop4; dec r15; jnz l */ "2*66666690 49ffcf75f3",
        /* 3*nop4; dec r15; jnz l */ "3*66666690 49ffcf75ef",
        /* 4*nop4; dec r15; jnz l */ "4*66666690 49ffcf75eb",
        /* 5*nop4; dec r15; jnz l */ "5*66666690 49ffcf75e7",
        /* 6*nop4; dec r15; jnz l */ "6*66666690 49ffcf75e3",
    };
    (void)state;
    for (unsigned n = 1; n <= 6; n++) /* loop end, then the start of the same window: nothing more */
        check_delivery("skl", code[n - 1], 0, (const unsigned[]){n, n, n, n}, 4);
    check_delivery("skl", code[6], 0, (const unsigned[]){6, 1, 6, 1}, 4);
}

/* The loop starts near the end of its window, with k uops there; the next window's line adds 4, 4, 2, 2, 1,
 * 0. */
static void test_DSB_13_other_window_from_the_first_slot(void **state)
{
    static const unsigned more[] = {0, 4, 4, 2, 2, 1, 0};
    static const char *const code[] = {
        NULL,
        /* nop8; 4*nop6; dec r15; jnz l */ "6666666666666690 4*666666666690 49ffcf75db",
        /* 2*nop4; 4*nop6; dec r15; jnz l */ "2*66666690 4*666666666690 49ffcf75db",
        /* nop4; 2*nop2; 4*nop6; dec r15; jnz l */ "66666690 2*6690 4*666666666690 49ffcf75db",
        /* 4*nop2; 4*nop6; dec r15; jnz l */ "4*6690 4*666666666690 49ffcf75db",
        /* 3*nop2; 2*nop1; 4*nop6; dec r15; jnz l */ "3*6690 2*90 4*666666666690 49ffcf75db",
        /* 2*nop2; 4*nop1; 4*nop6; dec r15; jnz l */ "2*6690 4*90 4*666666666690 49ffcf75db",
    };
    (void)state;
    for (unsigned k = 1; k <= 6; k++)
        check_delivery("skl", code[k], 24, (const unsigned[]){k + more[k]}, 1);
}

/* Windows of 8 uops each, in lines of 6 and 2. Cycle 0: line 0 (6). Cycle 1: 2 of line 1 from its start, then
 * the other window: 4. Cycle 2: 2 left of that line, continued; not the loop end: 6 - 2 of the next line. */
static void test_DSB_13_other_window_continued(void **state)
{
    (void)state;
    check_delivery("skl",
                   /* 8*nop4; 8*nop4; 8*nop4; dec r15; jnz l */ "8*66666690 8*66666690 8*66666690 49ffcf759b",
                   0, (const unsigned[]){6, 6, 4}, 3);
}

/* Window 0 from the DSB, window 1 from the decoders: predecode starts after the DSB's last cycle, and the
 * loop start comes from the DSB in the cycle after the branch was decoded. */
static void test_DSB_14_switches(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= BDW; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* 4*nop8; 24*nop1; nop5; dec r15; jnz l */ "4*6666666666666690 24*90 666666669049ffcf75be");
        const struct uop_record *last = rules__uop(fx, 0, 3, 0), *mite = rules__uop(fx, 0, 4, 0);
        assert_int_equal(last->from, FETCH_DSB);
        assert_int_equal(mite->from, FETCH_MITE);
        assert_int_equal(mite->predecoded, last->delivered + 1);
        assert_int_equal(mite->delivered, last->delivered + 4);
        assert_int_equal(rules__uop(fx, 1, 0, 0)->delivered, rules__uop(fx, 0, 29, 0)->delivered + 1);
    }
}

/* The front end stands still while the IDQ has no room for a full DSB delivery: with a chain of dependent
 * multiplications and a small RS the queue fills up to more than idq_entries - width, never beyond. */
static void test_CY_04_ID_01_idq_size(void **state)
{
    static const unsigned size[] = {64, 24};
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        char entries[32];
        snprintf(entries, sizeof entries, "idq_entries=%u", size[k]);
        const char *const set[] = {"rs_entries=20", entries};
        struct loop_fixture fx;
        loop_fixture__open_set(&fx, "skl", set, 2);
        fx.keep_uops = true;
        rules__run_at(&fx, /* 6*imul rax,rbx; nop1; dec r15; jnz l */ "6*480fafc3 9049ffcf75e2", 0);
        unsigned most = 0;
        for (int64_t t = 20; t < 300; t++) {
            unsigned used = 0;
            for (size_t i = 0; i < fx.n_uops; i++)
                used += fx.uop[i].delivered <= t && fx.uop[i].issued > t;
            most = used > most ? used : most;
        }
        assert_in_range(most, size[k] - 5, size[k]);
        loop_fixture__close(&fx);
    }
}

/* One source a cycle: while the MS works nothing comes from the DSB, and the decoders rest in a DSB cycle. */
static void test_CY_05_one_source_a_cycle(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* 4*nop8; 24*nop1; nop5; dec r15; jnz l */ "4*6666666666666690 24*90 666666669049ffcf75be");
        for (size_t i = 1; i < fx->n_uops; i++)
            if (fx->uop[i].delivered == fx->uop[i - 1].delivered)
                assert_int_equal(fx->uop[i].from, fx->uop[i - 1].from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_DSB_01_three_lines_a_window),
        cmocka_unit_test(test_DSB_02_uops_of_an_instruction_share_a_line),
        cmocka_unit_test(test_DSB_04_microcode_line),
        cmocka_unit_test(test_DSB_06_DSB_08_after_an_uncacheable_window),
        cmocka_unit_test(test_DSB_07_length_changing_prefixes),
        cmocka_unit_test(test_DSB_09_warm_from_the_start),
        cmocka_unit_test(test_DSB_10_DSB_12_width),
        cmocka_unit_test(test_DSB_03_DSB_11_extra_slot),
        cmocka_unit_test(test_DSB_13_same_window),
        cmocka_unit_test(test_DSB_13_other_window_from_the_first_slot),
        cmocka_unit_test(test_DSB_13_other_window_continued),
        cmocka_unit_test(test_DSB_14_switches),
        cmocka_unit_test(test_CY_04_ID_01_idq_size),
        cmocka_unit_test(test_CY_05_one_source_a_cycle),
    };
    return RULES_MAIN(tests);
}
