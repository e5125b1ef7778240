/* SPDX-License-Identifier: Apache-2.0 */
/* Rules whose text the pipeline does not follow: each test states the rule, and fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "loop_fixture.h"

enum { CORES = 5 };
enum { SNB, IVB, HSW, BDW, SKL };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};

/* Without slots no move is eliminated: a multiplication of three cycles and two moves are a chain of five. */
static void test_RN_09_no_slots_no_elimination(void **state)
{
    (void)state;
    for (int c = IVB; c < CORES; c++) {
        const char *set = "elim_slots_gpr=0";
        char hex[] =
            /* mov rax,rbx; imul rax,rax; mov rbx,rax; dec r15; jnz l */ "4889d8480fafc04889c349ffcf75f1";
        struct loop_fixture fx;
        loop_fixture__open_set(&fx, names[c], &set, 1);
        assert_in_range((int)(loop_fixture__cycles(&fx, hex, 0) * 100), 498, 502);
        loop_fixture__close(&fx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_RN_09_no_slots_no_elimination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
