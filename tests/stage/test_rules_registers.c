/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs: physical registers limit what is in flight (RT-7), however often one was given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5, PAIRS = 60, ADDS = 120, ARCHITECTURAL = 26, REGISTERS = 80 };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static const uint64_t TOP = 0x401000, STACK = 0x7ffe0000, DATA = 0x10000000;

/* `pairs` times (push rax; lea rbx,[rsp]), a load from memory, additions that do not need it, and all of it
 * again: how many additions issue before the second load is complete. */
static unsigned issued_under_a_miss(const char *core, unsigned pairs)
{
    struct program_fixture fx;
    unsigned n = 0;

    program_fixture__open(&fx, core, (const char *const[]){"prf_int=80"}, 1);
    program_fixture__with_memory(&fx, false);
    uint64_t load = TOP;
    for (unsigned i = 0; i < pairs; i++)
        load = program_fixture__code(&fx, load, "50488d1c24");
    uint64_t adds = program_fixture__code(&fx, load, "488b16"); /* mov rdx,[rsi] */
    uint64_t end = adds;
    for (unsigned i = 0; i < ADDS; i++)
        end = program_fixture__code(&fx, end, "488d4f01"); /* lea rcx,[rdi+1] */
    program_fixture__jump(&fx, end, "e9", TOP);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < pairs; i++) {
            program_fixture__exec(&fx, TOP + 5 * i, STACK - 8 * i);
            program_fixture__exec(&fx, TOP + 5 * i + 1, 0);
        }
        program_fixture__exec(&fx, load, DATA + 64 * pass);
        program_fixture__exec_to(&fx, adds, end);
        program_fixture__exec(&fx, end, 0);
    }
    program_fixture__run(&fx);

    uint32_t miss = program_fixture__site(&fx, load);
    int64_t done = 0;
    for (size_t i = 0, seen = 0; i < fx.n_uops; i++) {
        if (fx.uop[i].site == miss)
            done = ++seen == 2 ? fx.uop[i].done : 0;
        else if (done)
            n += fx.uop[i].issued < done;
    }
    program_fixture__close(&fx);
    return n;
}

static void test_RT_07_registers_in_flight(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        unsigned few = issued_under_a_miss(names[c], 1);
        /* no group issues when fewer than a group's registers are free; the load has one */
        assert_in_range(few, REGISTERS - ARCHITECTURAL - 5, REGISTERS - ARCHITECTURAL - 1);
    }
}

/* RN-17: the uop that brings RSP up to date takes a register and gives it back. */
static void test_RT_07_synchronising_uops_give_back_what_they_took(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++)
        assert_in_range(issued_under_a_miss(names[c], PAIRS), REGISTERS - ARCHITECTURAL - 5,
                        REGISTERS - ARCHITECTURAL - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_RT_07_registers_in_flight),
        cmocka_unit_test(test_RT_07_synchronising_uops_give_back_what_they_took),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
