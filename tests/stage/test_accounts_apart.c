/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts on a thread of their own hear what they would hear without it, and all of it before the run
 * returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

struct heard {
    uint64_t cycles, hash, slots;
};

static struct heard hear(bool apart, uint64_t piece_cycles, unsigned slow_batches)
{
    struct program_fixture fx;
    program_fixture__open(&fx, "skl", NULL, 0);
    program_fixture__with_memory(&fx, true);
    program_fixture__flip_coins(&fx, 3000);
    fx.counts.hashing = true;
    fx.counts.slow_batches = slow_batches;
    fx.accounts_apart = apart;
    fx.piece_cycles = piece_cycles;
    program_fixture__run(&fx);
    struct heard heard = {fx.counts.cycles, fx.counts.hash, fx.truth.slots};
    program_fixture__close(&fx);
    return heard;
}

static void assert_same(struct heard a, struct heard b)
{
    assert_int_equal(a.cycles, b.cycles);
    assert_int_equal(a.hash, b.hash);
    assert_int_equal(a.slots, b.slots);
}

static void test_same_reports(void **state)
{
    (void)state;
    struct heard together = hear(false, 0, 0);
    assert_true(together.cycles > 30000); /* many times what is under way between the threads */
    assert_same(hear(true, 0, 0), together);
}

static void test_pieces(void **state)
{
    (void)state;
    assert_same(hear(true, 3001, 0), hear(false, 3001, 0));
    assert_same(hear(true, 100, 0), hear(false, 0, 0));
}

static void test_slow_accounts_are_waited_for(void **state)
{
    (void)state;
    assert_same(hear(true, 0, 30), hear(false, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_reports),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_slow_accounts_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
