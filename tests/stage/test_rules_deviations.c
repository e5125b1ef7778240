/* SPDX-License-Identifier: Apache-2.0 */
/* Rules whose text the pipeline does not follow: each test states the rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5 };
enum { SNB, IVB, HSW, BDW, SKL };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};

/* Cycles from the dispatch of the branch to that of the first uop after it: `wait` for each mispredicted
 * one, few for the others. Returns how many waited. */
static unsigned count_penalties(const struct program_fixture *fx, uint64_t branch, size_t from, int64_t wait)
{
    uint32_t site = program_fixture__site(fx, branch);
    unsigned n = 0;
    for (size_t i = from; i + 1 < fx->n_uops; i++) {
        if (fx->uop[i].site != site)
            continue;
        int64_t gap = fx->uop[i + 1].dispatched - fx->uop[i].dispatched;
        if (gap > 8) {
            assert_int_equal(gap, wait);
            n++;
        }
    }
    return n;
}

static const struct uop_record *first_uop(const struct program_fixture *fx, uint64_t addr)
{
    uint32_t site = program_fixture__site(fx, addr);
    for (size_t i = 0; i < fx->n_uops; i++)
        if (fx->uop[i].site == site)
            return &fx->uop[i];
    fail();
    return NULL;
}

/* 8 + r cycles, r = 7 before SKL, 8 on it. */
static void test_BP_06_misprediction_penalty_from_the_dsb(void **state)
{
    static const int64_t penalty[CORES] = {15, 15, 15, 15, 16};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        struct program_coins coins = program_fixture__flip_coins(&fx, 2000);
        program_fixture__run(&fx);
        unsigned n = count_penalties(&fx, coins.branch, fx.n_uops / 2, penalty[c]);
        assert_true(n > 300);
        program_fixture__close(&fx);
    }
}

/* The target must be predecoded and decoded: 11 + r. The LEA before the branch shares its decode group. */
static void test_BP_06_misprediction_penalty_through_the_decoders(void **state)
{
    static const int64_t penalty[CORES] = {18, 18, 18, 18, 19};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__jump_far(&fx, 4, /* test rax,rax */ "4885c0", "0f84");
        program_fixture__run(&fx);
        assert_int_equal(fx.counts.mispredicts, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(first_uop(&fx, program_fixture__far_block(i + 1))->dispatched -
                                 first_uop(&fx, program_fixture__far_block(i) + 4)->dispatched,
                             penalty[c]);
        program_fixture__close(&fx);
    }
}

/* Eight jumps in a ring: one a cycle while their targets are in the fast BTB; when they do not fit there, the
 * main BTB costs a bubble: two cycles. */
static void test_FE_20_one_taken_branch_a_cycle(void **state)
{
    static const char *const sets[] = {"lsd=no", "btb_fast_entries=4"};
    (void)state;
    for (int c = 0; c < CORES; c++)
        for (unsigned slow = 0; slow < 1; slow++) {
            struct program_fixture fx;
            program_fixture__open(&fx, names[c], sets, 1 + slow);
            for (unsigned i = 0; i < 8; i++)
                program_fixture__jump(&fx, PROGRAM_TOP + 64 * i, "e9", PROGRAM_TOP + 64 * ((i + 1) % 8));
            for (unsigned i = 0; i < 2000; i++)
                program_fixture__exec(&fx, PROGRAM_TOP + 64 * (i % 8), 0);
            program_fixture__run(&fx);
            assert_int_equal(fx.counts.mispredicts, 0);
            assert_int_equal(fx.uop[1600].issued - fx.uop[1000].issued, slow ? 1200 : 600);
            program_fixture__close(&fx);
        }
}

/* Idle cycles are reported in one step; taken one by one they say the same. */
static void test_skipping_idle_cycles_changes_nothing(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx[2];
        for (int k = 0; k < 2; k++) {
            program_fixture__open(&fx[k], names[c], NULL, 0);
            program_fixture__with_memory(&fx[k], true);
            fx[k].single_cycles = k;
            program_fixture__flip_coins(&fx[k], 500);
            program_fixture__run(&fx[k]);
        }
        assert_int_equal(fx[0].counts.cycles, fx[1].counts.cycles);
        assert_int_equal(fx[0].counts.hash, fx[1].counts.hash);
        assert_int_equal(fx[0].n_uops, fx[1].n_uops);
        assert_memory_equal(fx[0].uop, fx[1].uop, fx[0].n_uops * sizeof *fx[0].uop);
        program_fixture__close(&fx[0]);
        program_fixture__close(&fx[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_BP_06_misprediction_penalty_from_the_dsb),
        cmocka_unit_test(test_BP_06_misprediction_penalty_through_the_decoders),
        cmocka_unit_test(test_FE_20_one_taken_branch_a_cycle),
        cmocka_unit_test(test_skipping_idle_cycles_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
