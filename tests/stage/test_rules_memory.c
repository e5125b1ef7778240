/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs: latencies of the memory hierarchy through the whole pipeline (12.1), load and store buffers
 * (RT-5), fill buffers (ME-4), order of commit (ME-11), bank conflicts, split loads, forwarding and aliasing
 * at real addresses (EX-11, EX-12, WP-3, EX-21 to EX-23). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5, PAGE = 4096, LINE = 64, LINES = PAGE / LINE };
enum { SNB, IVB, HSW, BDW, SKL };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static const uint64_t TOP = 0x401000, DATA = 0x10000000, HOT = 0x20000000;

static const struct uop_record *nth_uop(const struct program_fixture *fx, uint64_t addr, unsigned n, int kind)
{
    uint32_t site = program_fixture__site(fx, addr);
    for (size_t i = 0; i < fx->n_uops; i++)
        if (fx->uop[i].site == site && fx->uop[i].kind == kind && n-- == 0)
            return &fx->uop[i];
    fail();
    return NULL;
}

/* Visits all lines page by page, the lines of a page in a fixed mixed order, `passes` times; cycles for a
 * load in the last pass. */
static double chase(const char *core, const char *set, unsigned pages, unsigned passes)
{
    struct program_fixture fx;
    program_fixture__open(&fx, core, &set, set != NULL);
    program_fixture__with_memory(&fx, false);
    uint64_t end = program_fixture__code(&fx, TOP, /* mov rax,[rax]; dec r15; jnz l */ "488b0049ffcf75f8");
    for (unsigned pass = 0; pass < passes; pass++)
        for (unsigned i = 0; i < pages * LINES; i++) {
            uint64_t at = DATA + (uint64_t)(i / LINES) * PAGE + (i * 37 + 11) % LINES * LINE;
            uint64_t next = program_fixture__exec(&fx, TOP, at);
            program_fixture__exec_to(&fx, next, end);
        }
    program_fixture__run(&fx);
    unsigned n = pages * LINES, first = (passes - 1) * n + (passes == 1 ? n / 2 : 0), last = passes * n - 1;
    int64_t cycles =
        nth_uop(&fx, TOP, last, UOP_LOAD)->dispatched - nth_uop(&fx, TOP, first, UOP_LOAD)->dispatched;
    program_fixture__close(&fx);
    return (double)cycles / (last - first);
}

static void check_latency(const double *want, unsigned pages, unsigned passes)
{
    for (int c = 0; c < CORES; c++) {
        double cycles = chase(names[c], NULL, pages, passes);
        if (cycles < want[c] * 0.95 || cycles > want[c] * 1.05) {
            print_error("%s: %.2f cycles, not %.0f\n", names[c], cycles, want[c]);
            fail();
        }
    }
}

static void test_12_1_L1_latency(void **state)
{
    static const double want[CORES] = {4, 4, 4, 4, 4};
    (void)state;
    check_latency(want, 4, 6);
}

static void test_12_1_L2_latency(void **state)
{
    static const double want[CORES] = {12, 12, 12, 12, 12};
    (void)state;
    check_latency(want, 32, 3);
}

static void test_12_1_L3_latency(void **state)
{
    static const double want[CORES] = {36, 36, 42, 41, 44};
    (void)state;
    check_latency(want, 256, 2);
}

static void test_12_1_DRAM_latency(void **state)
{
    static const double want[CORES] = {230, 203, 210, 141, 271};
    (void)state;
    check_latency(want, 64, 1);
}

/* Latencies longer than the pipeline schedules ahead: memory far away, or many that wait for it. */
static void test_latency_has_no_limit(void **state)
{
    (void)state;
    double cycles = chase("ivb", "dram_lat_ns=4000", 16, 1);
    assert_true(cycles > 14000 * 0.99 && cycles < 14000 * 1.01);
}

enum { BODY = 100 };

/* A loop of BODY times the same instruction of three bytes. It runs until code and data are cached, then once
 * more with the addresses given: access of the k-th is first + k * stride for k < n_cold, then HOT. Returns
 * the address of the instructions. */
static uint64_t lay_out(struct program_fixture *fx, const char *insn, unsigned n_cold, unsigned stride)
{
    uint64_t at = TOP, end;
    for (unsigned i = 0; i < BODY; i++)
        at = program_fixture__code(fx, at, insn);
    end = program_fixture__code(fx, at, "e9cffeffff"); /* jmp to the top, 5 + 300 bytes back */
    for (unsigned pass = 0; pass < 8; pass++) {
        for (unsigned i = 0; i < BODY; i++) {
            uint64_t access = i % 2 ? HOT : DATA + PAGE - LINE; /* both pages into the TLB */
            if (pass == 7)
                access = i < n_cold ? DATA + (uint64_t)stride * i : HOT;
            at = program_fixture__exec(fx, TOP + 3 * i, access);
        }
        program_fixture__exec_to(fx, at, pass == 7 ? at : end);
    }
    return TOP;
}

static const struct uop_record *last_pass(const struct program_fixture *fx, unsigned i, int kind)
{
    return nth_uop(fx, TOP + 3 * i, 7, kind);
}

/* One load that misses everything, then loads that hit, all independent: each keeps its entry until it
 * retires, behind the first. */
static void test_RT_05_load_buffer(void **state)
{
    static const unsigned entries[CORES] = {64, 64, 72, 72, 72};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__with_memory(&fx, false);
        lay_out(&fx, /* mov rax,[rsi] */ "488b06", 1, LINE);
        program_fixture__run(&fx);
        const struct uop_record *slow = last_pass(&fx, 0, UOP_LOAD);
        assert_true(slow->retired - slow->dispatched > 100);
        for (unsigned i = 1; i < BODY; i++) {
            bool early = last_pass(&fx, i, UOP_LOAD)->issued < slow->retired;
            assert_int_equal(early, i < entries[c]);
        }
        program_fixture__close(&fx);
    }
}

/* A store that misses everything, then stores that hit: they commit in order (ME-11), so each keeps its entry
 * until the first has its line, although all retire long before (ME-12: issue stops). */
static void test_RT_05_ME_11_ME_12_store_buffer_and_order_of_commit(void **state)
{
    static const unsigned entries[CORES] = {36, 36, 42, 42, 56};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__with_memory(&fx, false);
        lay_out(&fx, /* mov [rsi],rax */ "488906", 1, LINE);
        program_fixture__run(&fx);
        int64_t first = last_pass(&fx, 0, UOP_STA)->retired;
        for (unsigned i = 1; i < BODY; i++) {
            bool early = last_pass(&fx, i, UOP_STA)->issued < first + 100;
            assert_int_equal(early, i < entries[c]);
        }
        /* entries become free one a cycle: ME-11 */
        assert_int_equal(last_pass(&fx, entries[c] + 4, UOP_STA)->issued,
                         last_pass(&fx, entries[c], UOP_STA)->issued + 4);
        assert_true(fx.counts.by_stall[STALL_BE_STORE] > 60);
        program_fixture__close(&fx);
    }
}

/* Independent loads of different lines: only as many are under way as there are fill buffers. */
static void test_ME_04_fill_buffers(void **state)
{
    static const unsigned entries[CORES] = {10, 10, 10, 10, 12};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], (const char *const[]){"dram_bandwidth_gbs=1000"}, 1);
        program_fixture__with_memory(&fx, false);
        lay_out(&fx, /* mov rax,[rsi] */ "488b06", 30, LINE);
        program_fixture__run(&fx);
        int64_t first = last_pass(&fx, 0, UOP_LOAD)->done;
        unsigned together = 0;
        for (unsigned i = 0; i < 30; i++)
            together += last_pass(&fx, i, UOP_LOAD)->done < first + 50;
        assert_int_equal(together, entries[c]);
        assert_int_equal(last_pass(&fx, 29, UOP_LOAD)->done > first + 200 / (c == BDW ? 2 : 1), 1);
        program_fixture__close(&fx);
    }
}

/* Retirement is in order: the hits complete long before the miss and retire after it, four a cycle. */
static void test_RT_02_retirement_in_order(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__with_memory(&fx, false);
        lay_out(&fx, /* mov rax,[rsi] */ "488b06", 1, LINE);
        program_fixture__run(&fx);
        const struct uop_record *slow = last_pass(&fx, 0, UOP_LOAD);
        assert_int_equal(slow->retired, slow->done + 1);
        for (unsigned i = 1; i < 40; i++) {
            assert_true(last_pass(&fx, i, UOP_LOAD)->done < slow->done);
            assert_int_equal(last_pass(&fx, i, UOP_LOAD)->retired, slow->retired + i / 4);
        }
        program_fixture__close(&fx);
    }
}

/* A chain of loads at one address; cycles for each once the line is there. */
static double load_again(const char *core, uint64_t addr)
{
    enum { N = 400 };
    struct program_fixture fx;
    program_fixture__open(&fx, core, NULL, 0);
    program_fixture__with_memory(&fx, false);
    uint64_t end = program_fixture__code(&fx, TOP, /* mov rax,[rax]; dec r15; jnz l */ "488b0049ffcf75f8");
    for (unsigned i = 0; i < N; i++)
        program_fixture__exec_to(&fx, program_fixture__exec(&fx, TOP, addr), end);
    program_fixture__run(&fx);
    int64_t cycles =
        nth_uop(&fx, TOP, N - 1, UOP_LOAD)->dispatched - nth_uop(&fx, TOP, N / 2, UOP_LOAD)->dispatched;
    program_fixture__close(&fx);
    return (double)cycles / (N / 2 - 1);
}

/* Across a line: five cycles more; across a page: 30 before SKL, five to ten on it. */
static void test_EX_12_split_loads(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        assert_int_equal((int)(load_again(names[c], HOT + LINE - 8) + 0.5), 4);
        assert_int_equal((int)(load_again(names[c], HOT + LINE - 4) + 0.5), 9);
        int page = (int)(load_again(names[c], HOT + PAGE - 4) + 0.5);
        assert_in_range(page, c == SKL ? 9 : 34, c == SKL ? 14 : 34);
    }
}

struct forwarding {
    struct uop_record sta, std, load;
};

/* Stores eight bytes and loads eight `offset` bytes further, or four. No caches: every access hits. */
static struct forwarding store_and_load(const char *core, bool four, unsigned offset)
{
    struct program_fixture fx;
    program_fixture__open(&fx, core, NULL, 0);
    uint64_t load = program_fixture__code(&fx, TOP, /* mov [rsi],rax */ "488906");
    uint64_t end =
        program_fixture__code(&fx, load, four ? /* mov ecx,[rdi] */ "8b0f" : /* mov rcx,[rdi] */ "488b0f");
    program_fixture__exec(&fx, TOP, HOT);
    program_fixture__exec(&fx, load, HOT + offset);
    (void)end;
    program_fixture__run(&fx);
    struct forwarding f = {*nth_uop(&fx, TOP, 0, UOP_STA), *nth_uop(&fx, TOP, 0, UOP_STD),
                           *nth_uop(&fx, load, 0, UOP_LOAD)};
    program_fixture__close(&fx);
    return f;
}

/* A load inside the store gets its data four cycles after address and data are known (EX-13). */
static void test_WP_03_EX_21_forwarding_at_real_addresses(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++)
        for (unsigned k = 0; k < 3; k++) {
            struct forwarding f = store_and_load(names[c], k > 0, k == 2 ? 4 : 0);
            int64_t known =
                f.sta.dispatched + 5 > f.std.dispatched + 1 ? f.sta.dispatched + 5 : f.std.dispatched + 1;
            assert_int_equal(f.load.done, known + 4);
        }
}

/* One that overlaps in part waits for the commit and 13 cycles more; the store can commit the cycle after it
 * has retired. */
static void test_EX_22_blocked_forwarding(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct forwarding f = store_and_load(names[c], false, 4);
        assert_in_range(f.load.done - f.std.retired - 1, 11, 13);
        f = store_and_load(names[c], false, 8); /* apart */
        assert_int_equal(f.load.done, f.load.dispatched + 5);
    }
}

/* Latency of a load `offset` bytes behind a store in flight, when all is in L1. */
static int64_t latency_behind_store(const char *core, unsigned offset)
{
    enum { PASSES = 100 };
    struct program_fixture fx;
    program_fixture__open(&fx, core, NULL, 0);
    program_fixture__with_memory(&fx, false);
    uint64_t load = program_fixture__code(&fx, TOP, /* mov [rsi],rax */ "488906");
    uint64_t end =
        program_fixture__jump(&fx, program_fixture__code(&fx, load, /* mov rcx,[rdi] */ "488b0f"), "e9", TOP);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        program_fixture__exec(&fx, TOP, HOT);
        program_fixture__exec_to(&fx, program_fixture__exec(&fx, load, HOT + offset), end);
    }
    program_fixture__run(&fx);
    const struct uop_record *r = nth_uop(&fx, load, PASSES - 1, UOP_LOAD);
    int64_t latency = r->done - r->dispatched;
    program_fixture__close(&fx);
    return latency;
}

/* The same low twelve bits as an older store in flight: five to seven cycles more, and no data from it. */
static void test_EX_23_4k_aliasing(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        assert_in_range(latency_behind_store(names[c], PAGE) - 5, 5, 7);
        assert_int_equal(latency_behind_store(names[c], PAGE + 8), 5);
    }
}

/* Cycles for a pair of loads, `apart` bytes from each other, when everything is in L1. */
static double pair_of_loads(const char *core, unsigned apart)
{
    enum { PAIRS = 8, PASSES = 100 };
    struct program_fixture fx;
    program_fixture__open(&fx, core, NULL, 0);
    program_fixture__with_memory(&fx, false);
    uint64_t at = TOP;
    for (unsigned i = 0; i < 2 * PAIRS; i++)
        at = program_fixture__code(&fx, at, /* mov rax,[rsi] */ "488b06");
    uint64_t end = program_fixture__jump(&fx, at, "e9", TOP);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        at = TOP;
        for (unsigned i = 0; i < 2 * PAIRS; i++)
            at = program_fixture__exec(&fx, at, HOT + i % 2 * apart);
        program_fixture__exec_to(&fx, at, end);
    }
    program_fixture__run(&fx);
    int64_t cycles = nth_uop(&fx, TOP, PASSES - 1, UOP_LOAD)->dispatched -
                     nth_uop(&fx, TOP, PASSES / 2, UOP_LOAD)->dispatched;
    program_fixture__close(&fx);
    return (double)cycles / (PAIRS * (PASSES / 2 - 1));
}

/* The same bank of another line: SNB and IVB serve one of the two loads a cycle. The same line, another bank:
 * both. */
static void test_EX_11_bank_conflicts(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        int both = (int)(100 * pair_of_loads(names[c], 4 * LINE) + 0.5);
        assert_int_equal(both, c <= IVB ? 200 : 100);
        assert_int_equal((int)(100 * pair_of_loads(names[c], 4 * LINE + 32) + 0.5), 100);
        assert_int_equal((int)(100 * pair_of_loads(names[c], 0) + 0.5), 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_12_1_L1_latency),
        cmocka_unit_test(test_12_1_L2_latency),
        cmocka_unit_test(test_12_1_L3_latency),
        cmocka_unit_test(test_12_1_DRAM_latency),
        cmocka_unit_test(test_latency_has_no_limit),
        cmocka_unit_test(test_RT_05_load_buffer),
        cmocka_unit_test(test_RT_05_ME_11_ME_12_store_buffer_and_order_of_commit),
        cmocka_unit_test(test_ME_04_fill_buffers),
        cmocka_unit_test(test_RT_02_retirement_in_order),
        cmocka_unit_test(test_EX_12_split_loads),
        cmocka_unit_test(test_WP_03_EX_21_forwarding_at_real_addresses),
        cmocka_unit_test(test_EX_22_blocked_forwarding),
        cmocka_unit_test(test_EX_23_4k_aliasing),
        cmocka_unit_test(test_EX_11_bank_conflicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
