/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of the predecoder and of the code layout: FE-1 to FE-18. */
#include "test_rules_fixture.h"

/* The same instructions as a loop and unrolled: the loop's come from the DSB or LSD. */
static void test_FE_01_a_final_branch_makes_a_loop(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* nop1; dec r15; jnz l */ "9049ffcf75fa");
        assert_int_not_equal(rules__uop(fx, 9, 0, 0)->from, FETCH_MITE);
        fx = rules__run(c, /* nop1; dec r15 */ "9049ffcf");
        assert_int_equal(rules__uop(fx, 9, 0, 0)->from, FETCH_MITE);
    }
}

static void test_FE_02_unrolled_code_always_comes_from_the_decoders(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* nop4; 4*nop3 */ "66666690 4*666690");
        for (size_t i = 0; i < fx->n_uops; i++)
            assert_int_equal(fx->uop[i].from, FETCH_MITE);
    }
}

/* 4 + 4 + 6 bytes, then one that starts at 14 and ends at 17: predecoded a step later, with the next block.
 */
static void test_FE_03_predecoded_with_the_block_of_the_last_byte(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* 2*nop4; nop6; nop4; nop6; nop8 */ "2*66666690 "
                                                    "666666666690666666906666666666906666666666666690");
        int64_t first = rules__uop(fx, 0, 0, 0)->predecoded;
        assert_int_equal(rules__uop(fx, 0, 2, 0)->predecoded, first);
        assert_int_equal(rules__uop(fx, 0, 3, 0)->predecoded, first + 1);
        assert_int_equal(rules__uop(fx, 0, 4, 0)->predecoded, first + 1);
        assert_int_equal(rules__uop(fx, 0, 5, 0)->predecoded, first + 1);
    }
}

/* Two instructions in each 16-byte block: one block a cycle, although five would fit. */
static void test_FE_05_one_block_a_step(void **state)
{
    static const struct rules_figure f[] = {
        {/* 2*nop8 */ "2*6666666666666690", 0, {100, 100, 100, 100, 100}},
        {/* nop15; nop1 */ "66666666666666666666666666669090", 0, {100, 100, 100, 100, 100}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* 16 bytes: 5 instructions in one step (the four decoders and four issue slots then take 1.25 cycles), 6 in
 * two, 11 in three (the decoders would take 2.75). */
static void test_FE_06_five_instructions_a_cycle(void **state)
{
    static const struct rules_figure f[] = {
        {/* nop4; 4*nop3 */ "66666690 4*666690", 0, {125, 125, 125, 125, 125}},
        {/* 4*nop3; 2*nop2 */ "4*666690 2*6690", 0, {200, 200, 200, 200, 200}},
        {/* 6*nop1; 5*nop2 */ "6*90 5*6690", 0, {300, 300, 300, 300, 300}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    assert_int_equal(rules__cycles_with(SKL, f[1].code, "predecode_width=6"), 150);
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 16*nop1 */ "16*90");
        assert_int_equal(rules__in_cycle(fx, 1, rules__uop(fx, 0, 0, 0)->predecoded), 5);
        assert_int_equal(rules__in_cycle(fx, 1, rules__uop(fx, 0, 15, 0)->predecoded), 1);
    }
}

/* With room for just five, the predecoder waits until the queue is empty: predecode in t, four decode in
 * t+3, the fifth in t+4, and the predecoder, which runs before the decoders (17.1), sees that in t+5. */
static void test_FE_07_predecoder_needs_room_for_five(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const char *code = /* nop4; 4*nop3 */ "66666690 4*666690";
        assert_int_equal(rules__cycles_with(c, code, "iq_entries=5"), 500);
        /* one entry more: after four have left in t+3 there is room again in t+4 */
        assert_int_equal(rules__cycles_with(c, code, "iq_entries=6"), 400);
    }
}

/* The queue never holds more than iq_entries: 20 or 25. One is decoded in three cycles here. */
static void test_FE_07_iq_size(void **state)
{
    static const unsigned size[RULES_CORES] = {20, 20, 20, 20, 25};
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 3*div rcx; 10*nop1 */ "3*48f7f1 10*90");
        unsigned most = 0;
        for (int64_t t = 0; t < 300; t++) {
            unsigned held = 0;
            for (size_t i = 0; i < fx->n_uops && fx->uop[i].predecoded <= t; i++)
                held += (i == 0 || fx->uop[i].fetched != fx->uop[i - 1].fetched) && fx->uop[i].delivered > t;
            most = held > most ? held : most;
        }
        assert_true(most <= size[c] && most > size[c] - 5);
    }
}

/* The crossing instruction comes first in the step of the next block and counts toward its five: block 0 ends
 * four, block 1 the crossing one and five more, which takes two steps. */
static void test_FE_08_crossing_instruction_counts_in_the_next_block(void **state)
{
    static const struct rules_figure f[] = {
        /* 15 + (3) + 14: crossing + 5 = 6 instructions end in block 1: 1 + 2 steps; decoding takes 2.5 */
        {/* 3*nop4; nop3; nop3; 4*nop3; nop2 */ "3*66666690 666690666690 4*666690 6690",
         0,
         {300, 300, 300, 300, 300}},
        /* crossing + 4: 1 + 1 steps; nine instructions take 2.25 cycles to decode */
        {/* 3*nop4; nop3; nop3; 2*nop4; 2*nop3 */ "3*66666690 666690666690 2*66666690 2*666690",
         0,
         {225, 225, 225, 225, 225}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* Five end in block 0 and a sixth crosses. Its opcode in block 0 costs a step; only prefixes there do not.
 * Block 1 takes one step; ten instructions take 2.5 cycles to decode. */
static void test_FE_09_crossing_opcode_after_five(void **state)
{
    static const struct rules_figure f[] = {
        {/* 3*nop3; 2*nop2; or ebx,0x12345678; nop4; 3*nop3 */ "3*666690 2*6690 81cb7856341266666690 "
                                                               "3*666690",
         0,
         {300, 300, 300, 300, 300}},
        {/* 3*nop3; 2*nop2; nop6; nop4; 3*nop3 */ "3*666690 2*6690 66666666669066666690 3*666690",
         0,
         {250, 250, 250, 250, 250}},
        /* 4 delivered: no penalty */
        {/* nop4; 3*nop3; or ebx,0x12345678; nop4; 3*nop3 */ "66666690 3*666690 81cb7856341266666690 "
                                                             "3*666690",
         0,
         {225, 225, 225, 225, 225}},
        /* REX and 0F are prefix bytes: imul r64,r64 starts at 14, its opcode byte AF at 16 */
        {/* 4*nop3; nop2; imul rbx,rcx; 2*nop4; 2*nop3 */ "4*666690 6690480fafd9 2*66666690 2*666690",
         0,
         {300, 300, 300, 300, 300}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* A loop too dense for the DSB: 19 uops in its first window. The branch pair ends at byte 37 of the next
 * block or within its own; crossing costs an extra step. */
static void test_FE_10_branch_into_the_next_block(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        /* dec r15 at 27..29, jnz at 30..31 */
        const struct loop_fixture *fx =
            rules__run(c, /* 20*nop1; nop7; dec r15; jnz l */ "20*90 6666666666669049ffcf75e0");
        assert_int_equal(rules__uop(fx, 9, 0, 0)->from, FETCH_MITE);
        /* dec r15 at 28..30, jnz at 31..32: a third block */
        const double inside = rules__run_at(
            &rules_fixture[c], /* 20*nop1; nop7; dec r15; jnz l */ "20*90 6666666666669049ffcf75e0", 0);
        const double crossing = rules__run_at(
            &rules_fixture[c], /* 20*nop1; nop8; dec r15; jnz l */ "20*90 666666666666669049ffcf75df", 0);
        assert_true(crossing > inside);
    }
}

/* After the taken branch at offset 21 the next step starts at the target's block. */
static void test_FE_11_taken_branch_ends_its_block(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 19*nop1; dec r15; jnz l */ "19*90 49ffcf75e8");
        const struct uop_record *branch = rules__uop(fx, 9, 19, 0), *target = rules__uop(fx, 10, 0, 0);
        assert_int_equal(target->from, FETCH_MITE);
        assert_true(target->predecoded > branch->predecoded);
    }
}

static void test_FE_12_three_cycles_from_predecode_to_decode(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 2*nop8 */ "2*6666666666666690");
        const struct uop_record *r = rules__uop(fx, 0, 0, 0);
        assert_int_equal(r->predecoded, 0);
        assert_int_equal(r->delivered, 3);
        assert_int_equal(r->issued, 4);
    }
}

static void test_FE_13_length_changing_prefix(void **state)
{
    static const struct rules_figure f[] = {
        /* one a block: three stall cycles and the step */
        {/* or ax,0x1234; 4*nop3 */ "660d3412 4*666690", 0, {400, 400, 400, 400, 400}},
        /* two: six */
        {/* or ax,0x1234; or bx,0x1234; nop3; 2*nop2 */ "660d34126681cb3412666690 2*6690",
         0,
         {700, 700, 700, 700, 700}},
        /* 66h without a 16-bit immediate: none */
        {/* or ax,0x12; 4*nop3 */ "6683c812 4*666690", 0, {125, 125, 125, 125, 125}},
        {/* mov ax,[rsi]; nop4; 3*nop3 */ "668b0666666690 3*666690", 0, {125, 125, 125, 125, 125}},
        /* the block before takes three steps, which hide two of the stall: 3 + 1 + 1 */
        {/* 6*nop1; 5*nop2; or ax,0x1234; 4*nop3 */ "6*90 5*6690 660d3412 4*666690",
         0,
         {500, 500, 500, 500, 500}},
        /* four steps hide all of it: decoding 21 instructions takes longer, 5.25; with an IQ of 20 the
         * predecoder loses a step to FE-7 */
        {/* 16*nop1; or ax,0x1234; 4*nop3 */ "16*90 660d3412 4*666690", 0, {600, 600, 600, 600, 525}},
        /* it starts in block 0 and ends in block 1: block 0 stalls */
        {/* nop4; nop4; nop6; or ax,0x1234; 2*nop4; nop6 */ "6666669066666690666666666690660d3412 2*66666690 "
                                                            "666666666690",
         0,
         {500, 500, 500, 500, 500}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    assert_int_equal(rules__cycles_with(SKL, f[0].code, "lcp_stall_cyc=6"), 700);
    assert_int_equal(rules__cycles_with(HSW, f[5].code, "iq_entries=25"), 525);
}

/* The stall comes before the block's first instruction and nothing else starts meanwhile. */
static void test_FE_14_stall_at_the_start_of_the_block(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* nop3; nop3; nop3; or ax,0x1234; nop3 */ "666690666690666690660d3412666690");
        assert_int_equal(rules__uop(fx, 0, 0, 0)->predecoded, 3);
        assert_int_equal(rules__uop(fx, 0, 4, 0)->predecoded, 3);
        assert_int_equal(rules__uop(fx, 1, 0, 0)->predecoded, 7);
    }
}

static void test_FE_15_cached_code_has_no_prefix_stalls(void **state)
{
    static const struct rules_figure f[] = {
        {/* add ax,0x1234; dec r15; jnz l */ "6605341249ffcf75f7", 0, {100, 100, 100, 100, 100}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* Two pairs and a single: five entries although three uops. With five entries the predecoder waits until the
 * last second half has gone at the start of the next decode cycle: predecode in t, first pair in t+3, second
 * in t+4, the single in t+5, room seen in t+6. */
static void test_FE_16_both_halves_of_a_pair_take_an_entry(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        assert_int_equal(
            rules__cycles_with(
                c, /* test rax,rax; je n; test rbx,rbx; je n; nop6 */ "4885c074004885db7400666666666690",
                "iq_entries=5"),
            600);
}

/* JCC erratum: the pair takes bytes 27 to 31 of the loop. It is flagged when its first byte and the byte
 * after it lie in different 32-byte windows; at 34 the jnz starts a line, does not fuse (MF-4), and ends
 * elsewhere. FE-18: with the window the whole 64-byte line, here all of the loop, comes from the decoders. */
static void test_FE_17_FE_18_branch_across_or_at_the_end_of_a_window(void **state)
{
    const char *code = /* 6*nop4; nop3; dec r15; jnz l */ "6*66666690 66669049ffcf75e0";
    (void)state;
    for (unsigned align = 0; align < 64; align++) {
        bool flagged = align % 64 != 34 && (align + 27) / 32 != (align + 32) / 32;
        for (enum rules_core c = SNB; c <= SKL; c++) {
            bool mite = flagged && c == SKL;
            assert_int_equal(rules__source(c, code, align, 0) == FETCH_MITE, mite);
            assert_int_equal(rules__uop(&rules_fixture[c], 9, 7, 0)->from == FETCH_MITE, mite);
        }
    }
    assert_int_equal(rules__cycles_with(SKL, code, "jcc_erratum=no"), 200);
}

/* A jump of its own (28..29), and a Jcc that cannot fuse. */
static void test_FE_17_single_branches(void **state)
{
    const char *jump = /* 6*nop4; nop6; jmp l */ "6*66666690 666666666690ebe0",
               *jcc = /* 6*nop4; nop3; cmp rax,rbx; js l */ "6*66666690 6666904839d878e0";
    (void)state;
    for (unsigned align = 0; align < 8; align++) {
        bool flagged = align <= 1; /* both branches take bytes 30 and 31 */
        assert_int_equal(rules__source(SKL, jump, align, 0) == FETCH_MITE, flagged);
        assert_int_equal(rules__source(SKL, jcc, align, 0) == FETCH_MITE, flagged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_FE_01_a_final_branch_makes_a_loop),
        cmocka_unit_test(test_FE_02_unrolled_code_always_comes_from_the_decoders),
        cmocka_unit_test(test_FE_03_predecoded_with_the_block_of_the_last_byte),
        cmocka_unit_test(test_FE_05_one_block_a_step),
        cmocka_unit_test(test_FE_06_five_instructions_a_cycle),
        cmocka_unit_test(test_FE_07_predecoder_needs_room_for_five),
        cmocka_unit_test(test_FE_07_iq_size),
        cmocka_unit_test(test_FE_08_crossing_instruction_counts_in_the_next_block),
        cmocka_unit_test(test_FE_09_crossing_opcode_after_five),
        cmocka_unit_test(test_FE_10_branch_into_the_next_block),
        cmocka_unit_test(test_FE_11_taken_branch_ends_its_block),
        cmocka_unit_test(test_FE_12_three_cycles_from_predecode_to_decode),
        cmocka_unit_test(test_FE_13_length_changing_prefix),
        cmocka_unit_test(test_FE_14_stall_at_the_start_of_the_block),
        cmocka_unit_test(test_FE_15_cached_code_has_no_prefix_stalls),
        cmocka_unit_test(test_FE_16_both_halves_of_a_pair_take_an_entry),
        cmocka_unit_test(test_FE_17_FE_18_branch_across_or_at_the_end_of_a_window),
        cmocka_unit_test(test_FE_17_single_branches),
    };
    return RULES_MAIN(tests);
}
