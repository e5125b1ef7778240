/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs: what the buffers and links between core and memory let through (12.1 to 12.5). Each test
 * runs accesses that only one of them limits, and pins the rate to values of the core descriptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5, PAGE = 4096, LINE = 64, BODY = 100, SET_MAX = 24 };
enum { SNB, IVB, HSW, BDW, SKL };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static const uint64_t TOP = 0x401000, DATA = 0x10000000;

static const char LOAD[] = "488b06";       /* mov rax,[rsi] */
static const char STORE[] = "488906";      /* mov [rsi],rax */
static const char STREAM[] = "480fc306";   /* movnti [rsi],rax */
static const char LOCK_ADD[] = "f0480106"; /* lock add [rsi],rax */

/* What a test runs: BODY times one instruction in a loop, access k to DATA + offset + k % n * step. */
struct run {
    const char *core, *insn;
    uint64_t step;
    unsigned n;           /* different addresses */
    unsigned warm, count; /* accesses before and while it is measured */
    bool prefetch;
    unsigned offset;
    const char *set[SET_MAX]; /* changes to the core */
};

struct outcome {
    struct core core;
    double cycles; /* for an access */
    struct memory_counts counts;
};

/* Big enough for any test: what is not meant to limit. */
#define NO_TLB "dtlb_entries=4096", "stlb_entries=4096", "stlb_ways=4"
#define NO_CHANNEL "dram_bandwidth_gbs=10000"
#define NO_CONTROLLER "mem_queue_entries=64"

static unsigned n_set(const struct run *run)
{
    unsigned n = 0;
    while (n < SET_MAX && run->set[n])
        n++;
    return n;
}

static struct outcome measure(const struct run *run)
{
    struct program_fixture fx;
    struct outcome out = {0};
    uint64_t at = TOP;
    unsigned passes = (run->warm + run->count) / BODY, k = 0;
    size_t first = 0, last = 0;

    program_fixture__open(&fx, run->core, run->set, n_set(run));
    program_fixture__with_memory(&fx, run->prefetch);
    for (unsigned i = 0; i < BODY; i++)
        at = program_fixture__code(&fx, at, run->insn);
    uint64_t end = program_fixture__jump(&fx, at, "e9", TOP);
    for (unsigned pass = 0; pass < passes; pass++) {
        at = TOP;
        for (unsigned i = 0; i < BODY; i++, k++)
            at = program_fixture__exec(&fx, at, DATA + run->offset + k % run->n * run->step);
        program_fixture__exec_to(&fx, at, end);
    }
    program_fixture__run(&fx);
    /* the uop of its own that each access ends with, oldest first */
    k = 0;
    for (size_t i = 0; i < fx.n_uops; i++) {
        if (fx.uop[i].kind != UOP_LOAD && fx.uop[i].kind != UOP_STA)
            continue;
        if (run->insn == LOCK_ADD && fx.uop[i].kind != UOP_STA)
            continue;
        if (k == run->warm)
            first = i;
        last = i;
        k++;
    }
    assert_int_equal(k, passes * BODY);
    out.core = fx.core;
    out.cycles = (double)(fx.uop[last].retired - fx.uop[first].retired) / (k - run->warm - 1);
    memory__counts(fx.memory, &out.counts);
    program_fixture__close(&fx);
    return out;
}

static uint32_t dram_cyc(const struct core *core)
{
    return (uint32_t)(core->dram_lat_ns * core->freq_ghz + 0.5);
}

/* Cycles the channel needs for a line. */
static double channel_cyc(const struct core *core)
{
    return LINE * core->freq_ghz / core->dram_bandwidth_gbs;
}

static void check(const struct run *run, const char *what, double cycles, double want, double tolerance)
{
    if (cycles > want * (1 - tolerance) && cycles < want * (1 + tolerance))
        return;
    print_error("%s: %s: %.3f cycles, not %.3f\n", run->core, what, cycles, want);
    fail();
}

/* Loads that miss everything; each holds a fill buffer for the latency of memory: ME-4. */
static void test_ME_04_rate_of_fill_buffers(void **state)
{
    static const unsigned entries[CORES] = {10, 10, 10, 10, 12};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {
            names[c], LOAD, LINE, 8000, 1000, 3000, false, 0, {NO_TLB, NO_CHANNEL, NO_CONTROLLER}};
        struct outcome o = measure(&run);
        check(&run, "fill buffers", o.cycles, (double)dram_cyc(&o.core) / entries[c], 0.03);
    }
}

/* With fill buffers in plenty the super queue is next: ME-5. */
static void test_ME_05_rate_of_the_super_queue(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE,
                          8000,     1000, 3000,
                          false,    0,    {NO_TLB, NO_CHANNEL, NO_CONTROLLER, "lfb_entries=64"}};
        struct outcome o = measure(&run);
        assert_int_equal(o.core.sq_entries, 16);
        check(&run, "super queue", o.cycles, dram_cyc(&o.core) / 16.0, 0.03);
    }
}

/* A controller of four entries, each held from the L3 miss to the data: ME-6. */
static void test_ME_06_rate_of_the_controller(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {
            names[c], LOAD, LINE,
            8000,     1000, 2000,
            false,    0,    {NO_TLB, NO_CHANNEL, "mem_queue_entries=4", "lfb_entries=64", "sq_entries=64"}};
        struct outcome o = measure(&run);
        check(&run, "controller", o.cycles, (dram_cyc(&o.core) - o.core.l3.lat_cyc) / 4.0, 0.03);
    }
}

/* Loads in flight by window size: one load of memory in each quarter of the ROB, so four at a time (RT-1). */
static void test_RT_01_window_bounds_parallel_misses(void **state)
{
    enum { LOADS = 60 };
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], (const char *const[]){NO_TLB, NO_CHANNEL}, 4);
        program_fixture__with_memory(&fx, false);
        unsigned period = fx.core.rob_entries / 4;
        uint64_t at = program_fixture__code(&fx, TOP, LOAD);
        for (unsigned i = 0; i < period - 2; i++)
            at = program_fixture__code(&fx, at, /* nop */ "90");
        uint64_t end = program_fixture__jump(&fx, at, "e9", TOP);
        for (unsigned i = 0; i < LOADS; i++)
            program_fixture__exec_to(&fx, program_fixture__exec(&fx, TOP, DATA + (uint64_t)i * LINE), end);
        program_fixture__run(&fx);
        /* the fifth load of five in a row issues only when the first has retired */
        uint32_t site = program_fixture__site(&fx, TOP);
        const struct uop_record *load[LOADS];
        unsigned n = 0;
        for (size_t i = 0; i < fx.n_uops; i++)
            if (fx.uop[i].site == site)
                load[n++] = &fx.uop[i];
        assert_int_equal(n, LOADS);
        for (unsigned i = LOADS / 2; i < LOADS; i++) {
            assert_true(load[i]->issued >= load[i - 4]->retired);
            assert_true(load[i]->issued < load[i - 4]->retired + (int64_t)period / 4 + 2);
        }
        double cycles = (double)(load[LOADS - 1]->done - load[LOADS - 9]->done) / 8;
        struct run run = {.core = names[c]};
        check(&run, "window", cycles, dram_cyc(&fx.core) / 4.0, 0.08);
        program_fixture__close(&fx);
    }
}

/* ME-3: loads of a working set in the L2: the sustained share (5/8) of the link, or two loads of a line a
 * cycle. */
static void test_ME_03_L2_bandwidth(void **state)
{
    static const double bytes[CORES] = {20, 20, 40, 40, 40};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE, 2048, 4096 + 4, 8000, false, 0, {NO_TLB, "lfb_entries=64"}};
        struct outcome o = measure(&run);
        check(&run, "L2", o.cycles, LINE / bytes[c], 0.1);
    }
}

/* ... and through the fill buffers of the core: a line stays in one for the latency of the L2. */
static void test_ME_03_L2_bandwidth_of_the_core(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE, 2048, 4096 + 4, 8000, false, 0, {NO_TLB}};
        struct outcome o = measure(&run);
        double link = LINE / (0.625 * o.core.l2_l1_bytes_cyc);
        double buffers = (double)o.core.l2.lat_cyc / o.core.lfb_entries;
        check(&run, "L2", o.cycles, link > buffers ? link : buffers, 0.1);
    }
}

/* ME-3: 16 bytes a cycle are sustained from the L3 (10 to 18), with the prefetchers' help. */
static void test_ME_03_L3_bandwidth(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE, 16384, 16400, 16000, true, 0, {NO_TLB}};
        struct outcome o = measure(&run);
        check(&run, "L3", o.cycles, LINE / (0.5 * o.core.l3_l2_bytes_cyc), 0.1);
    }
}

/* Lines of memory as fast as the channel gives them: 64 B / dram_bandwidth_gbs. */
static void test_ME_03_memory_bandwidth(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE,
                          16000,    1000, 6000,
                          false,    0,    {NO_TLB, NO_CONTROLLER, "lfb_entries=64", "sq_entries=64"}};
        struct outcome o = measure(&run);
        check(&run, "channel", o.cycles, channel_cyc(&o.core), 0.1);
    }
}

/* The core as it is: prefetchers get more than the fill buffers alone, and never more than the channel has.
 */
static void test_ME_03_ME_09_memory_bandwidth_of_the_core(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE, 16000, 2000, 8000, true, 0, {NULL}};
        struct outcome o = measure(&run);
        double buffers = (double)dram_cyc(&o.core) / o.core.lfb_entries,
               share = channel_cyc(&o.core) / o.cycles;
        print_message("  %s: %.1f GB/s, %.0f %% of the channel, %.1f times the fill buffers'\n", names[c],
                      LINE * o.core.freq_ghz / o.cycles, 100 * share, buffers / o.cycles);
        assert_true(o.cycles < buffers / 1.6 && share < 1.01);
        assert_true(share > (c == BDW ? 0.45 : 0.6));
    }
}

/* A store reads its line and writes it back: twice the traffic (ME-11, ME-2). */
static void test_ME_11_stores_to_memory(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c],
                          STORE,
                          LINE,
                          16000,
                          7000,
                          5000,
                          false,
                          0,
                          {NO_TLB, NO_CONTROLLER, "lfb_entries=64", "sq_entries=64", "store_buffer=200",
                           "l2_size=32 KiB", "l3_size=256 KiB", "l3_ways=16"}};
        struct outcome o = measure(&run);
        check(&run, "stores", o.cycles, 2 * channel_cyc(&o.core), 0.1);
    }
}

/* ... and as the core is without prefetchers, an RFO holds a fill buffer like a load. */
static void test_ME_04_ME_11_stores_hold_fill_buffers(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {
            names[c], STORE, LINE, 16000, 1000, 2000, false, 0, {NO_TLB, NO_CHANNEL, NO_CONTROLLER}};
        struct outcome o = measure(&run);
        check(&run, "stores", o.cycles, (double)(dram_cyc(&o.core)) / o.core.lfb_entries, 0.05);
    }
}

/* Non-temporal stores of whole lines go to memory once and are not read: the channel alone. */
static void test_ME_04_non_temporal_stores(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], STREAM, 8, 160000, 4000, 16000, false, 0, {NO_TLB, "lfb_entries=64"}};
        struct outcome o = measure(&run);
        double want = channel_cyc(&o.core) / 8;
        check(&run, "movnti", o.cycles, want > 1 ? want : 1, 0.1);
    }
}

/* Eight lines combine at a time; of nine in turn each store is a transfer of its own. */
static void test_ME_04_write_combining_buffers(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], STREAM, LINE, 8, 1000, 4000, false, 0, {NO_TLB}};
        check(&run, "eight lines", measure(&run).cycles, 1, 0.02);
        run.n = 9;
        struct outcome o = measure(&run);
        assert_true(o.cycles > 3.5);
        check(&run, "nine lines", o.cycles, channel_cyc(&o.core), 0.1);
    }
}

/* ME-11: one store a cycle commits to the L1. */
static void test_ME_11_a_store_a_cycle(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], STORE, LINE, 64, 1000, 4000, false, 0, {NO_TLB}};
        check(&run, "stores in L1", measure(&run).cycles, 1, 0.02);
    }
}

/* A load across lines keeps its port for two cycles: one a cycle from both ports. A store takes two commits.
 */
static void test_EX_12_rate_of_splits(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, 2 * LINE, 32, 1000, 4000, false, LINE - 4, {NO_TLB}};
        check(&run, "loads", measure(&run).cycles, 1, 0.05);
        run.insn = STORE;
        check(&run, "stores", measure(&run).cycles, 2, 0.05);
    }
}

/* 12.3: pages beyond the DTLB cost a dependent load stlb_hit_cyc. */
static void test_12_3_STLB_hit(void **state)
{
    static const unsigned cost[CORES] = {7, 7, 8, 8, 9};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct program_fixture fx;
        program_fixture__open(&fx, names[c], NULL, 0);
        program_fixture__with_memory(&fx, false);
        uint64_t end =
            program_fixture__code(&fx, TOP, /* mov rax,[rax]; dec r15; jnz l */ "488b0049ffcf75f8");
        enum { PAGES = 192, PASSES = 4 };
        for (unsigned i = 0; i < PAGES * PASSES; i++) {
            uint64_t page = i % PAGES;
            program_fixture__exec_to(
                &fx, program_fixture__exec(&fx, TOP, DATA + page * PAGE + page % 64 * LINE), end);
        }
        program_fixture__run(&fx);
        int64_t at[PAGES * PASSES];
        unsigned n = 0;
        uint32_t site = program_fixture__site(&fx, TOP);
        for (size_t i = 0; i < fx.n_uops; i++)
            if (fx.uop[i].site == site && fx.uop[i].kind == UOP_LOAD)
                at[n++] = fx.uop[i].dispatched;
        double cycles = (double)(at[n - 1] - at[n - 1 - PAGES]) / PAGES;
        struct run run = {.core = names[c]};
        check(&run, "STLB", cycles, 4 + cost[c], 0.01);
        program_fixture__close(&fx);
    }
}

/* 12.3: independent loads, each to a page that no TLB has and whose table entry is in the L1: as many walks
 * at a time as there are walkers. */
static void test_12_3_page_walkers(void **state)
{
    static const unsigned walkers[CORES] = {1, 1, 1, 2, 2};
    static const char *const how_many[] = {"page_walkers=1", "page_walkers=2", "page_walkers=4"};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        double cycles[3];
        struct run run = {names[c], LOAD, PAGE + LINE,
                          120,      1200, 2400,
                          false,    0,    {"dtlb_entries=4", "stlb_entries=4", "stlb_ways=4"}};
        struct outcome o = measure(&run);
        assert_int_equal(o.core.page_walkers, walkers[c]);
        for (unsigned k = 0; k < 3; k++) {
            run.set[3] = how_many[k];
            cycles[k] = measure(&run).cycles;
        }
        check(&run, "walkers of the core", o.cycles, cycles[walkers[c] - 1], 0.001);
        check(&run, "two walkers", cycles[1], cycles[0] / 2, 0.05);
        check(&run, "four walkers", cycles[2], cycles[0] / 4, 0.1);
        check(&run, "a walk", cycles[0], 5 + 4, 0.05); /* fixed part, one table entry from the L1 */
    }
}

/* EX-24: a locked read-modify-write in the L1. */
static void test_EX_24_locked_instructions(void **state)
{
    static const double cycles[CORES] = {23, 22, 19, 21, 18};
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOCK_ADD, LINE, 8, 500, 1000, false, 0, {NO_TLB}};
        check(&run, "lock add", measure(&run).cycles, cycles[c], 0.05);
    }
}

/* Ports: two loads a cycle of lines in the L1 (EX-11 keeps SNB and IVB to one for the same bank). */
static void test_EX_11_two_loads_a_cycle(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct run run = {names[c], LOAD, LINE + 16, 64, 1000, 4000, false, 0, {NO_TLB}};
        check(&run, "loads in L1", measure(&run).cycles, 0.5, 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ME_04_rate_of_fill_buffers),
        cmocka_unit_test(test_ME_05_rate_of_the_super_queue),
        cmocka_unit_test(test_ME_06_rate_of_the_controller),
        cmocka_unit_test(test_RT_01_window_bounds_parallel_misses),
        cmocka_unit_test(test_ME_03_L2_bandwidth),
        cmocka_unit_test(test_ME_03_L2_bandwidth_of_the_core),
        cmocka_unit_test(test_ME_03_L3_bandwidth),
        cmocka_unit_test(test_ME_03_memory_bandwidth),
        cmocka_unit_test(test_ME_03_ME_09_memory_bandwidth_of_the_core),
        cmocka_unit_test(test_ME_11_stores_to_memory),
        cmocka_unit_test(test_ME_04_ME_11_stores_hold_fill_buffers),
        cmocka_unit_test(test_ME_04_non_temporal_stores),
        cmocka_unit_test(test_ME_04_write_combining_buffers),
        cmocka_unit_test(test_ME_11_a_store_a_cycle),
        cmocka_unit_test(test_EX_12_rate_of_splits),
        cmocka_unit_test(test_12_3_STLB_hit),
        cmocka_unit_test(test_12_3_page_walkers),
        cmocka_unit_test(test_EX_24_locked_instructions),
        cmocka_unit_test(test_EX_11_two_loads_a_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
