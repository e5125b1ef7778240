/* SPDX-License-Identifier: Apache-2.0 */
/* The CPI stacks of rename, execution and retirement on small programs: what is the same in all three, and
 * what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5 };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static const uint64_t DATA = 0x10000000;

static double share(const struct program_fixture *fx, enum stage stage, enum wait w)
{
    return (double)fx->stages.slots[stage][w] / (double)fx->truth.slots;
}

/* Every uop passes every stage once: Base is the same, what was thrown away is in Branch. */
static void check_stacks(const struct program_fixture *fx)
{
    for (int stage = 0; stage < STAGES; stage++) {
        uint64_t sum = 0;
        for (int w = 0; w < WAIT_COUNT; w++)
            sum += fx->stages.slots[stage][w];
        assert_int_equal(sum, fx->truth.slots);
        assert_int_equal(fx->stages.slots[stage][WAIT_BASE] + fx->stages.carry[stage], fx->truth.retired);
    }
}

/* A loop of `body` with a memory operand at `DATA` + k * `stride` in pass k; skipped idle cycles change
 * nothing.
 */
static void run_loop(struct program_fixture *fx, const char *core, const char *body, uint64_t stride,
                     unsigned passes)
{
    program_fixture__open(fx, core, NULL, 0);
    program_fixture__with_memory(fx, false);
    uint64_t end = program_fixture__code(fx, PROGRAM_TOP, body);
    uint64_t top = program_fixture__jump(fx, end, "e9", PROGRAM_TOP);
    for (unsigned pass = 0; pass < passes; pass++)
        for (uint64_t at = PROGRAM_TOP; at < top;)
            at = program_fixture__exec(fx, at, DATA + pass * stride);
    program_fixture__run(fx);
    check_stacks(fx);
}

static void test_dependent_misses_are_seen_everywhere(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        run_loop(&fx, names[c], /* mov rax,[rax]; add rax,rbx */ "488b004801d8", 8256, 400);
        for (int stage = 0; stage < STAGES; stage++)
            assert_true(share(&fx, stage, WAIT_DRAM) + share(&fx, stage, WAIT_DTLB) > 0.85);
        program_fixture__close(&fx);
    }
}

static void test_divisions_are_seen_everywhere(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        run_loop(&fx, names[c], /* divsd xmm0,xmm1 */ "f20f5ec1", 0, 2000);
        for (int stage = 0; stage < STAGES; stage++)
            assert_true(share(&fx, stage, WAIT_DIVIDE) > 0.7);
        program_fixture__close(&fx);
    }
}

/* NOPs, zero idioms and eliminated moves need no port, and count as executed. */
static void test_uops_without_a_port(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        run_loop(&fx, names[c], /* nop; xor eax,eax; mov rcx,rbx */ "9031c04889d9", 0, 3000);
        assert_true(share(&fx, STAGE_EXECUTE, WAIT_BASE) > 0.5);
        program_fixture__close(&fx);
    }
}

/* A wrong path fills rename most, execution less, and retirement not at all (the paper's point). */
static void test_wrong_paths_shrink_from_stage_to_stage(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__flip_coins(&fx, 2000);
        program_fixture__run(&fx);
        check_stacks(&fx);
        assert_true(share(&fx, STAGE_RENAME, WAIT_BRANCH) > share(&fx, STAGE_EXECUTE, WAIT_BRANCH) + 0.05);
        assert_true(share(&fx, STAGE_EXECUTE, WAIT_BRANCH) > share(&fx, STAGE_RETIRE, WAIT_BRANCH) + 0.05);
        assert_true(share(&fx, STAGE_RETIRE, WAIT_BRANCH) > 0.2);
        program_fixture__close(&fx);
    }
}

/* Missing code is the front end's from the first stage on; behind it short latencies take their part. */
static void test_missing_code(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__with_memory(&fx, false);
        program_fixture__jump_far(&fx, 200, "90", "e9");
        program_fixture__run(&fx);
        check_stacks(&fx);
        for (int stage = 0; stage < STAGES; stage++)
            assert_true(share(&fx, stage, WAIT_ICACHE) + share(&fx, stage, WAIT_ITLB) > 0.8);
        program_fixture__close(&fx);
    }
}

/* Idle cycles are reported in one step; the waits of the stages are the same one by one. */
static void test_skipping_idle_cycles_changes_nothing(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx[2];
        for (int k = 0; k < 2; k++) {
            program_fixture__open(&fx[k], names[c], NULL, 0);
            program_fixture__with_memory(&fx[k], true);
            fx[k].single_cycles = k;
            fx[k].counts.hashing = true;
            /* mov rax,[rax]; imul rax,rbx; mov rcx,[rdx]; add rcx,rax; mov [rsi],rcx */
            uint64_t end = program_fixture__code(&fx[k], PROGRAM_TOP, "488b00480fafc3488b0a4801c148890e");
            uint64_t top = program_fixture__jump(&fx[k], end, "e9", PROGRAM_TOP), seed = 3;
            for (unsigned pass = 0; pass < 600; pass++)
                for (uint64_t at = PROGRAM_TOP; at < top;) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;
                    at = program_fixture__exec(&fx[k], at, DATA + (seed >> 40) % (1 << 23));
                }
            program_fixture__run(&fx[k]);
            check_stacks(&fx[k]);
        }
        assert_int_equal(fx[0].counts.hash, fx[1].counts.hash);
        for (int stage = 0; stage < STAGES; stage++)
            for (int w = 0; w < WAIT_COUNT; w++)
                assert_int_equal(fx[0].stages.slots[stage][w], fx[1].stages.slots[stage][w]);
        program_fixture__close(&fx[0]);
        program_fixture__close(&fx[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dependent_misses_are_seen_everywhere),
        cmocka_unit_test(test_divisions_are_seen_everywhere),
        cmocka_unit_test(test_uops_without_a_port),
        cmocka_unit_test(test_wrong_paths_shrink_from_stage_to_stage),
        cmocka_unit_test(test_missing_code),
        cmocka_unit_test(test_skipping_idle_cycles_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
