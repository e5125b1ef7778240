/* SPDX-License-Identifier: Apache-2.0 */
/* What the empty slots of the back end are charged to (TD-3, docs/accounting.md section 2): loops with one
 * known cause, on all cores; and that a run of idle cycles is charged as its single cycles are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5, PASSES = 1000, COPIES = 8, LINE = 64 };

static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static const uint64_t DATA = 0x10000000;

struct kernel {
    const char *insn[8]; /* one instruction each; the loop has COPIES of them */
    uint64_t first, stride, span;
    bool memory;
};

struct charges {
    uint64_t cycles, ports, dependency, divider, serial, store, split, l2;
};

static void play(struct program_fixture *fx, const struct kernel *k)
{
    uint64_t at = PROGRAM_TOP, n = 0, end;

    for (unsigned copy = 0; copy < COPIES; copy++)
        for (unsigned i = 0; i < 8 && k->insn[i]; i++)
            at = program_fixture__code(fx, at, k->insn[i]);
    end = program_fixture__jump(fx, at, "e9", PROGRAM_TOP);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (uint64_t a = PROGRAM_TOP; a < at; n++)
            a = program_fixture__exec(fx, a, DATA + k->first + n * k->stride % (k->span ? k->span : 1));
        program_fixture__exec_to(fx, at, pass + 1 < PASSES ? end : at);
    }
}

static struct charges charges_of(const char *core, const struct kernel *k)
{
    struct program_fixture fx[2];
    const uint64_t *by = fx[0].counts.by_stall;
    struct charges c;

    for (unsigned single = 0; single < 2; single++) {
        program_fixture__open(&fx[single], core, NULL, 0);
        if (k->memory)
            program_fixture__with_memory(&fx[single], false);
        fx[single].single_cycles = single;
        fx[single].counts.hashing = true;
        play(&fx[single], k);
        program_fixture__run(&fx[single]);
    }
    assert_true(fx[0].counts.hash == fx[1].counts.hash);
    c = (struct charges){.cycles = fx[0].counts.cycles,
                         .ports = by[STALL_BE_PORTS] + by[STALL_BE_PORTS_1] + by[STALL_BE_PORTS_2] +
                                  by[STALL_BE_PORTS_3],
                         .dependency = by[STALL_BE_DEPENDENCY],
                         .divider = by[STALL_BE_DIVIDER],
                         .serial = by[STALL_BE_SERIAL],
                         .store = by[STALL_BE_STORE],
                         .split = by[STALL_BE_L1_SPLIT],
                         .l2 = by[STALL_BE_L2]};
    program_fixture__close(&fx[0]);
    program_fixture__close(&fx[1]);
    return c;
}

/* Six chains on one port: each multiplication waits for its port as long as it executes. */
static void test_port_before_latency(void **state)
{
    static const struct kernel chains = {
        .insn = {"480fafc7", "480fafcf", "480fafd7", "480faff7", "4c0fafc7", "4c0fafcf"}};
    static const struct kernel chain = {.insn = {"480fafc7"}};
    (void)state;
    for (int i = 0; i < CORES; i++) {
        struct charges c = charges_of(names[i], &chains);
        assert_true(c.ports > c.cycles / 2 && c.dependency < c.cycles / 8);
        c = charges_of(names[i], &chain);
        assert_true(c.dependency > c.cycles / 2 && c.ports < c.cycles / 8);
    }
}

/* Loads that wait for their ports make the additions late that wait for them. */
static void test_port_of_the_operand(void **state)
{
    static const struct kernel k = {
        .insn = {"480306", "48030e", "480316", "48031e", "4c0306", "4c030e", "4c0316", "4c031e"},
        .stride = 8,
        .span = LINE};
    (void)state;
    for (int i = 0; i < CORES; i++) {
        struct charges c = charges_of(names[i], &k);
        assert_true(c.ports > 4 * c.dependency && c.ports > c.cycles / 4);
    }
}

/* mov rax,rdi; xor edx,edx; div rcx: microcode around the divider */
static void test_division_in_microcode(void **state)
{
    static const struct kernel k = {.insn = {"4889f8", "31d2", "48f7f1"}};
    (void)state;
    for (int i = 0; i < CORES; i++) {
        struct charges c = charges_of(names[i], &k);
        assert_true(c.divider > c.cycles / 3 && c.serial < c.cycles / 20);
    }
}

/* Stores that hit fill the store buffer, but wait for nothing but their turn. */
static void test_stores_that_hit(void **state)
{
    static const struct kernel k = {.insn = {"488906"}, .stride = 8, .span = 8 * LINE, .memory = true};
    (void)state;
    for (int i = 0; i < CORES; i++) {
        struct charges c = charges_of(names[i], &k);
        assert_true(c.ports > c.cycles / 2 && c.store < c.cycles / 20 + 1000);
    }
}

/* EX-12: a split load takes its port twice. */
static void test_split_loads_take_their_port_twice(void **state)
{
    static const struct kernel split = {
        .insn = {"488b06"}, .first = LINE - 4, .stride = LINE, .span = 8 * LINE, .memory = true};
    static const struct kernel aligned = {.insn = {"488b06"}, .stride = 8, .span = LINE, .memory = true};
    (void)state;
    for (int i = 0; i < CORES; i++) {
        struct charges c = charges_of(names[i], &split), free = charges_of(names[i], &aligned);
        assert_true(c.cycles > 3 * free.cycles / 2);
        assert_true(c.split > 2 * c.cycles / 5 && c.ports < c.cycles / 20 && free.split == 0);
    }
}

/* Additions whose loads come from L2: they are late because of the loads. */
static void test_late_operands(void **state)
{
    static const struct kernel k = {.insn = {"480306", "48030e", "480316", "48031e"},
                                    .stride = LINE,
                                    .span = 1024 * LINE,
                                    .memory = true};
    (void)state;
    for (int i = 0; i < CORES; i++) {
        struct charges c = charges_of(names[i], &k);
        assert_true(c.l2 > 4 * (c.dependency + c.ports));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_before_latency),
        cmocka_unit_test(test_port_of_the_operand),
        cmocka_unit_test(test_division_in_microcode),
        cmocka_unit_test(test_stores_that_hit),
        cmocka_unit_test(test_split_loads_take_their_port_twice),
        cmocka_unit_test(test_late_operands),
    };
    return cmocka_run_group_tests_name("stalls", tests, NULL, NULL);
}
