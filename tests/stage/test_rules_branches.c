/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs: prediction, recovery and re-steering, WP-*, BP-2 to BP-6, LSD-7. */
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

/* The allocator is blocked from detection, one cycle after the branch's dispatch (BP-2), for recovery_cyc;
 * when that outlasts the refill, the first correct uop dispatches 1 + 20 + 5 cycles after the branch. */
static void test_BP_04_allocation_recovery(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__flip_coins(&fx, 2000);
        program_fixture__run(&fx);
        assert_true(fx.counts.mispredicts > 600);
        assert_int_equal(fx.counts.by_stall[STALL_RECOVERY_MISPREDICT],
                         fx.counts.mispredicts * fx.core.recovery_cyc);
        assert_int_equal(fx.core.recovery_cyc, 5);
        program_fixture__close(&fx);

        program_fixture__open(&fx, names[c], (const char *const[]){"recovery_cyc=20"}, 1);
        struct program_coins coins = program_fixture__flip_coins(&fx, 2000);
        program_fixture__run(&fx);
        assert_true(count_penalties(&fx, coins.branch, fx.n_uops / 2, 26) > 300);
        program_fixture__close(&fx);
    }
}

/* A jump that the BTB does not know is found when it is decoded, and fetch starts anew 12 or 9 cycles later.
 */
static void test_BP_05_unknown_jumps(void **state)
{
    static const int64_t cost[CORES] = {12, 12, 12, 12, 9};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__jump_far(&fx, 4, "90", "e9");
        program_fixture__run(&fx);
        assert_int_equal(fx.counts.mispredicts, 0);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(first_uop(&fx, program_fixture__far_block(i + 1))->predecoded -
                                 first_uop(&fx, program_fixture__far_block(i) + 5)->delivered,
                             cost[c]);
        program_fixture__close(&fx);
    }
}

/* Branches that are not taken and unknown cost nothing: straight code of 16-byte blocks with one each takes
 * two decode groups, hence two cycles, a block; a few cycles fill and drain the pipeline. */
static void test_BP_05_unknown_branches_not_taken_are_free(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        uint64_t at = PROGRAM_TOP;
        for (unsigned i = 0; i < 100; i++) {
            at = program_fixture__jump(&fx, program_fixture__code(&fx, at, /* nop4 */ "66666690"), "0f80",
                                       PROGRAM_TOP + 0x100000);
            at = program_fixture__code(&fx, at, /* nop6 */ "666666666690");
        }
        program_fixture__exec_to(&fx, PROGRAM_TOP, at);
        program_fixture__run(&fx);
        assert_int_equal(fx.counts.mispredicts, 0);
        assert_int_equal(first_uop(&fx, at - 6)->delivered, 3 + 100);
        program_fixture__close(&fx);
    }
}

/* Entering a cached window at another byte is a miss the first time, and cached from then on. */
static void test_WP_02_windows_are_cached_by_entry_point(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        uint64_t back = program_fixture__code(&fx, PROGRAM_TOP, "90909090"), start = PROGRAM_TOP + 0x1000;
        uint64_t end = program_fixture__jump(&fx, back, "e9", start);
        uint64_t to_top = program_fixture__jump(&fx, start, "e9", PROGRAM_TOP),
                 to_middle = program_fixture__jump(&fx, to_top, "e9", PROGRAM_TOP + 2);
        for (unsigned i = 0; i < 4; i++) {
            program_fixture__exec_to(&fx, start, to_top);
            program_fixture__exec_to(&fx, PROGRAM_TOP, end);
        }
        program_fixture__exec_to(&fx, start, to_top);
        program_fixture__exec_to(&fx, PROGRAM_TOP, end);
        (void)to_middle;
        program_fixture__run(&fx);
        unsigned n = 0;
        for (size_t i = 0; i < fx.n_uops; i++)
            if (fx.uop[i].site == program_fixture__site(&fx, PROGRAM_TOP))
                assert_int_equal(fx.uop[i].from, n++ == 0 ? FETCH_MITE : FETCH_DSB);
        assert_int_equal(n, 5);
        program_fixture__close(&fx);
    }
}

/* The wrong path is fetched and issued, and thrown away; every slot has an owner. */
static void test_WP_06_the_wrong_path_takes_slots(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__flip_coins(&fx, 2000);
        program_fixture__run(&fx);
        uint64_t owned = fx.truth.retired + fx.truth.squashed[FLUSH_CONDITIONAL];
        for (unsigned s = 0; s < STALL_COUNT; s++)
            owned += fx.truth.empty[s];
        assert_true(fx.truth.squashed[FLUSH_CONDITIONAL] > 4 * fx.counts.mispredicts);
        assert_int_equal(owned, fx.truth.slots);
        assert_int_equal(fx.truth.slots, fx.counts.cycles * fx.core.issue_width);
        assert_int_equal(fx.truth.in_flight, 0);
        assert_int_equal(fx.counts.insns, fx.n_steps);
        program_fixture__close(&fx);
    }
}

/* wrong_path=no: nothing is fetched behind a wrong prediction; predictions and penalty are the same. */
static void test_WP_06_without_wrong_paths(void **state)
{
    static const int64_t penalty[CORES] = {15, 15, 15, 15, 16};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        uint64_t mispredicts[2];
        unsigned n[2];
        for (unsigned k = 0; k < 2; k++) {
            struct program_fixture fx;
            program_fixture__open(&fx, names[c],
                                  (const char *const[]){k ? "wrong_path=yes" : "wrong_path=no"}, 1);
            struct program_coins coins = program_fixture__flip_coins(&fx, 2000);
            program_fixture__run(&fx);
            assert_int_equal(fx.truth.squashed[FLUSH_CONDITIONAL] > 0, k);
            assert_int_equal(fx.counts.insns, fx.n_steps);
            n[k] = count_penalties(&fx, coins.branch, fx.n_uops / 2, penalty[c]);
            mispredicts[k] = fx.counts.mispredicts;
            program_fixture__close(&fx);
        }
        assert_int_equal(mispredicts[0], mispredicts[1]);
        assert_int_equal(n[0], n[1]);
        assert_true(n[0] > 300);
    }
}

/* A loop of one path: after the given number of equal iterations it comes from the LSD, not on SKL. */
static void test_LSD_07_detection(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        uint64_t end = program_fixture__jump(
            &fx, program_fixture__code(&fx, PROGRAM_TOP, /* lea rcx,[rbx+1]; dec r15 */ "488d4b0149ffcf"),
            "0f85", PROGRAM_TOP);
        for (unsigned i = 0; i < 100; i++)
            program_fixture__exec_to(&fx, PROGRAM_TOP, end);
        program_fixture__exec_to(&fx, end, program_fixture__code(&fx, end, /* lea rdx,[rbx+1] */ "488d5301"));
        program_fixture__run(&fx);
        unsigned lsd = 0, first = 0, n = 0;
        for (size_t i = 0; i < fx.n_uops; i++)
            if (fx.uop[i].site == program_fixture__site(&fx, PROGRAM_TOP)) {
                first = lsd == 0 ? n : first;
                lsd += fx.uop[i].from == FETCH_LSD;
                n++;
            }
        assert_int_equal(n, 100);
        if (c == SKL) {
            assert_int_equal(lsd, 0);
        } else {
            assert_in_range(first, 20, 26);
            assert_true(lsd > 70);
        }
        assert_int_not_equal(first_uop(&fx, end)->from, FETCH_LSD);
        program_fixture__close(&fx);
    }
}

/* Eight jumps in a ring: one a cycle while their targets are in the fast BTB. */
/* Code for the decoders lets fetch look far ahead: into a loop, and out of it again once its count is learnt,
 * before anything of it is delivered. The loop is locked after 22 rounds and left after ROUNDS. */
static void test_LSD_07_left_before_it_is_delivered(void **state)
{
    enum { ROUNDS = 26, PASSES = 300 };
    (void)state;
    for (int c = SNB; c <= BDW; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        /* 32 nops: no window for the uop cache */
        uint64_t loop = program_fixture__code(
            &fx, PROGRAM_TOP, "9090909090909090909090909090909090909090909090909090909090909090");
        uint64_t behind = program_fixture__code(&fx, loop, /* dec r15; jnz loop */ "49ffcf75fb");
        uint64_t end = program_fixture__jump(&fx, behind, "e9", PROGRAM_TOP);
        for (unsigned pass = 0; pass < PASSES; pass++) {
            program_fixture__exec_to(&fx, PROGRAM_TOP, loop);
            for (unsigned i = 0; i < ROUNDS; i++)
                program_fixture__exec_to(&fx, loop, behind);
            program_fixture__exec_to(&fx, behind, end);
        }
        program_fixture__run(&fx);
        unsigned lsd = 0;
        for (size_t i = 0; i < fx.n_uops; i++)
            lsd += fx.uop[i].from == FETCH_LSD;
        assert_true(lsd > PASSES); /* some of most passes */
        program_fixture__close(&fx);
    }
}

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

/* Eight jumps in a ring that do not fit the fast BTB: the main BTB costs a bubble, two cycles a jump. */
static void test_FE_20_a_bubble_without_the_fast_btb(void **state)
{
    static const char *const sets[] = {"lsd=no", "btb_fast_entries=4"};
    (void)state;
    for (int c = 0; c < CORES; c++)
        for (unsigned slow = 1; slow < 2; slow++) {
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

/* Idle cycles are reported in one step; taken one by one they say the same. With caches and without. */
static void test_skipping_idle_cycles_changes_nothing(void **state)
{
    (void)state;
    for (int c = 0; c < 2 * CORES; c++) {
        struct program_fixture fx[2];
        for (int k = 0; k < 2; k++) {
            program_fixture__open(&fx[k], names[c / 2], NULL, 0);
            if (c % 2)
                program_fixture__with_memory(&fx[k], true);
            fx[k].counts.hashing = true;
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
        cmocka_unit_test(test_BP_04_allocation_recovery),
        cmocka_unit_test(test_BP_05_unknown_jumps),
        cmocka_unit_test(test_BP_05_unknown_branches_not_taken_are_free),
        cmocka_unit_test(test_WP_02_windows_are_cached_by_entry_point),
        cmocka_unit_test(test_WP_06_the_wrong_path_takes_slots),
        cmocka_unit_test(test_WP_06_without_wrong_paths),
        cmocka_unit_test(test_LSD_07_detection),
        cmocka_unit_test(test_LSD_07_left_before_it_is_delivered),
        cmocka_unit_test(test_FE_20_one_taken_branch_a_cycle),
        cmocka_unit_test(test_FE_20_a_bubble_without_the_fast_btb),
        cmocka_unit_test(test_skipping_idle_cycles_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
