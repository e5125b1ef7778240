/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-tests of the memory system: each pins one latency, width, size or rule of PIPELINE.md 12. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/status.h"
#include "mem/queue.h"
#include "mem/tags.h"

enum { KIB = 1024, MIB = 1024 * 1024, CORES = 5, LINE = 64, PAGE = 4096 };

static const uint64_t BASE = 0x10000000;

/* PIPELINE.md 12.1, 12.3, 0.3, ME-4, ME-5: what differs between the cores. */
static const struct facts {
    const char *name;
    double ghz, dram_ns, dram_gbs;
    uint32_t l2_ways, l3_bytes, l3_ways, l2_lat, l3_lat, l2_l1, lfb, sq, stlb, stlb_ways, stlb_cyc, walkers;
    uint32_t split_page;
} FACTS[CORES] = {
    {"snb", 3.4, 67.5, 21.0, 8, 8 * MIB, 16, 12, 36, 32, 10, 16, 512, 4, 7, 1, 30},
    {"ivb", 3.5, 58.0, 25.6, 8, 8 * MIB, 16, 12, 36, 32, 10, 16, 512, 4, 7, 1, 30},
    {"hsw", 3.4, 62.0, 25.6, 8, 8 * MIB, 16, 12, 42, 64, 10, 16, 1024, 8, 8, 1, 30},
    {"bdw", 1.6, 88.0, 25.6, 8, 3 * MIB, 12, 12, 41, 64, 10, 16, 1536, 6, 8, 2, 30},
    {"skl", 4.2, 64.5, 34.0, 4, 8 * MIB, 16, 12, 44, 64, 12, 16, 1536, 12, 9, 2, 7},
};

static struct memory_requests requests_at(const struct memory *mem, uint64_t now)
{
    struct memory_requests requests;

    memory__requests(mem, now, &requests);
    return requests;
}

static struct core core_of(const struct facts *f)
{
    struct core core = {0};

    snprintf(core.name, sizeof core.name, "%s", f->name);
    core.freq_ghz = f->ghz;
    core.l1i = (struct cache_geometry){32 * KIB, 8, 4, REPLACEMENT_PLRU};
    core.l1d = (struct cache_geometry){32 * KIB, 8, 4, REPLACEMENT_PLRU};
    core.l2 = (struct cache_geometry){256 * KIB, f->l2_ways, f->l2_lat, REPLACEMENT_PLRU};
    core.l3 = (struct cache_geometry){f->l3_bytes, f->l3_ways, f->l3_lat, REPLACEMENT_QLRU};
    core.l3_inclusive = true;
    core.dram_lat_ns = f->dram_ns;
    core.dram_bandwidth_gbs = f->dram_gbs;
    core.l2_l1_bytes_cyc = f->l2_l1;
    core.l3_l2_bytes_cyc = 32;
    core.lfb_entries = f->lfb;
    core.sq_entries = f->sq;
    core.mem_queue_entries = 40;
    core.itlb = (struct tlb_geometry){128, 4};
    core.dtlb = (struct tlb_geometry){64, 4};
    core.stlb = (struct tlb_geometry){f->stlb, f->stlb_ways};
    core.stlb_hit_cyc = f->stlb_cyc;
    core.page_walkers = f->walkers;
    core.split_load_cyc = 5;
    core.split_page_cyc = f->split_page;
    core.prefetch_l1_next = core.prefetch_l1_ip = true;
    core.prefetch_l2_adjacent = core.prefetch_l2_streamer = true;
    core.prefetch_next_page = f != FACTS;
    return core;
}

static uint32_t dram_cyc(const struct core *core)
{
    return (uint32_t)(core->dram_lat_ns * core->freq_ghz + 0.5);
}

static const struct memory_options PLAIN = {.no_prefetch = true, .no_tlb = true};
static const struct memory_options WITH_TLB = {.no_prefetch = true};
static const struct memory_options WITH_PREFETCH = {.no_tlb = true};

static struct memory *memory_of(const struct core *core, const struct memory_options *opt)
{
    struct status st = {0};
    struct memory *mem = memory__new(core, opt, &st);

    if (mem == NULL)
        fail_msg("%s", st.text);
    return mem;
}

static struct memory *snb(const struct memory_options *opt)
{
    struct core core = core_of(&FACTS[0]);

    return memory_of(&core, opt);
}

static struct mem_result load_at(struct memory *mem, uint64_t addr, uint64_t now)
{
    struct mem_result res;

    memory__load(mem, 0x400000, addr, 8, now, 4, &res);
    return res;
}

/* Loads one line, waits until it is there; returns the latency. */
static uint64_t chase_step(struct memory *mem, uint64_t addr, uint64_t *now)
{
    struct mem_result res = load_at(mem, addr, *now);
    uint64_t lat = res.ready - *now;

    *now = res.ready;
    return lat;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* A dependent chase over `bytes`: random lines inside a page, pages one after the other (12.1).
 * Returns the mean latency of the second round. */
static double chase(struct memory *mem, uint64_t bytes)
{
    uint64_t now = 1000, sum = 0, n = 0;

    for (int round = 0; round < 2; ++round) {
        uint32_t seed = 1;
        sum = n = 0;
        for (uint64_t page = 0; page < bytes; page += PAGE) {
            unsigned order[64];
            for (unsigned k = 0; k < 64; ++k) {
                unsigned other = next_random(&seed) % (k + 1);
                order[k] = order[other];
                order[other] = k;
            }
            for (unsigned k = 0; k < 64; ++k, ++n)
                sum += chase_step(mem, BASE + page + order[k] * LINE, &now);
        }
    }
    return (double)sum / (double)n;
}

static void chase_latency_by_size(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        struct {
            uint64_t bytes;
            double expected;
        } level[] = {{16 * KIB, 4},
                     {128 * KIB, core.l2.lat_cyc},
                     {core.l3.size_bytes / 2, core.l3.lat_cyc},
                     {(uint64_t)core.l3.size_bytes * 4, dram_cyc(&core)}};
        printf("  %s chase:", core.name);
        for (unsigned j = 0; j < 4; ++j) {
            struct memory *mem = memory_of(&core, &PLAIN);
            double lat = chase(mem, level[j].bytes);
            printf(" %.2f (%.0f)", lat, level[j].expected);
            assert_true(lat > level[j].expected * 0.97 && lat < level[j].expected * 1.03);
            memory__free(mem);
        }
        printf("\n");
    }
}

/* ME-7: a chase in DRAM without locality in pages costs 14 to 33 cycles more with TLBs. */
static void random_chase_pays_for_walks(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        uint64_t mean[2];
        for (unsigned j = 0; j < 2; ++j) {
            struct memory *mem = memory_of(&core, j == 0 ? &PLAIN : &WITH_TLB);
            uint32_t seed = 5;
            uint64_t now = 0, sum = 0;
            for (unsigned n = 0; n < 200000; ++n) {
                uint64_t lat = chase_step(mem, BASE + next_random(&seed) % (64 * MIB / LINE) * LINE, &now);
                sum += n >= 100000 ? lat : 0;
            }
            mean[j] = sum / 100000;
            memory__free(mem);
        }
        printf("  %s random chase 64 MiB: %llu, with TLB +%llu\n", core.name, (unsigned long long)mean[0],
               (unsigned long long)(mean[1] - mean[0]));
        assert_in_range(mean[1] - mean[0], 12, 40);
    }
}

static void l1_hit_is_exactly_the_given_latency(void **state)
{
    (void)state;
    struct memory *mem = snb(&PLAIN);
    struct mem_result res = load_at(mem, BASE, 0);
    uint64_t now = res.ready;

    for (unsigned lat = 4; lat < 9; ++lat) {
        memory__load(mem, 1, BASE + 8, 8, now, lat, &res);
        assert_int_equal(res.ready, now + lat);
        assert_int_equal(res.level, MEM_L1);
        assert_int_equal(res.l2_miss_at | res.l3_miss_at | res.tlb_until, 0);
        ++now;
    }
    memory__free(mem);
}

/* A longer load-to-use latency (5 instead of 4, vectors) is added at each level. */
static void slower_loads_are_slower_at_each_level(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[4]);
    struct memory *mem = memory_of(&core, &PLAIN);
    struct mem_result res;

    memory__load(mem, 1, BASE, 8, 100, 5, &res);
    assert_int_equal(res.ready, 100 + dram_cyc(&core) + 1);
    assert_int_equal(res.level, MEM_DRAM);
    assert_int_equal(res.l2_miss_at, 100 + core.l2.lat_cyc);
    assert_int_equal(res.l3_miss_at, 100 + core.l3.lat_cyc);
    memory__free(mem);
}

/* ME-4: as many parallel misses as there are fill buffers cost the same; the next one waits. */
static void fill_buffers_bound_parallel_misses(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        core.dram_bandwidth_gbs = 10000;
        struct memory *mem = memory_of(&core, &PLAIN);
        for (unsigned n = 0; n < core.lfb_entries; ++n) {
            struct mem_result res = load_at(mem, BASE + n * PAGE, 1000);
            assert_false(res.lfb_full);
            assert_int_equal(res.ready, 1000 + dram_cyc(&core));
        }
        struct mem_result res = load_at(mem, BASE + 50 * PAGE, 1000);
        assert_true(res.lfb_full);
        assert_int_equal(res.ready, 1000 + 2 * dram_cyc(&core));
        memory__free(mem);
    }
}

static void secondary_miss_merges(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[1]);
    struct memory *mem = memory_of(&core, &PLAIN);
    struct mem_result first = load_at(mem, BASE, 10);
    struct mem_result second = load_at(mem, BASE + 32, 20);
    struct memory_counts counts;

    assert_int_equal(second.level, MEM_LFB);
    assert_int_equal(second.ready, first.ready);
    assert_int_equal(second.l2_miss_at, first.l2_miss_at);
    assert_int_equal(second.l3_miss_at, first.l3_miss_at);
    struct mem_result third = load_at(mem, BASE + 40, first.ready - 2);
    assert_int_equal(third.level, MEM_L1); /* the rest is hidden behind its own latency */
    assert_int_equal(third.ready, first.ready + 2);
    memory__counts(mem, &counts);
    assert_int_equal(counts.l1d_load_miss, 1);
    assert_int_equal(counts.l3_miss, 1);
    memory__free(mem);
}

/* Lines a second when the buffers do not bound: the channel's bandwidth. */
static void dram_bandwidth(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        core.lfb_entries = core.sq_entries = core.mem_queue_entries = 64;
        struct memory *mem = memory_of(&core, &PLAIN);
        uint64_t now = 0, end = 0;
        enum { LINES = 20000 };
        for (unsigned n = 0; n < LINES; ++n) {
            struct mem_result res = load_at(mem, BASE + (uint64_t)n * LINE, now);
            end = res.ready;
            now += 1;
        }
        double gbs = LINES * 64.0 / ((double)end / core.freq_ghz);
        printf("  %s DRAM: %.1f GB/s (%.1f)\n", core.name, gbs, core.dram_bandwidth_gbs);
        assert_true(gbs > 0.9 * core.dram_bandwidth_gbs && gbs < 1.02 * core.dram_bandwidth_gbs);
        memory__free(mem);
    }
}

/* Throughput of independent loads, `in_flight` of them, `step` bytes apart, over `bytes` twice. */
static double stream(struct memory *mem, uint64_t bytes, unsigned step, unsigned in_flight)
{
    uint64_t window[128] = {0};
    uint64_t now = 0, begin = 0, n = 0;

    for (int round = 0; round < 2; ++round) {
        begin = now;
        for (uint64_t off = 0; off < bytes; off += step, ++n) {
            uint64_t *oldest = &window[n % in_flight];
            now = now + (n & 1);
            if (*oldest > now)
                now = *oldest;
            *oldest = load_at(mem, BASE + off, now).ready;
        }
    }
    return (double)bytes / (double)(now - begin);
}

/* ME-3: sustained shares of the widths. LFBs bound the L3 without prefetchers. */
static void cache_bandwidth(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        struct memory *mem = memory_of(&core, &PLAIN);
        double l2 = stream(mem, 128 * KIB, 64, 64);
        memory__free(mem);
        mem = memory_of(&core, &WITH_PREFETCH);
        double l3 = stream(mem, 2 * MIB, 64, 64);
        memory__free(mem);
        mem = memory_of(&core, &WITH_PREFETCH);
        double dram = stream(mem, 64 * MIB, 64, 64);
        memory__free(mem);
        mem = memory_of(&core, &PLAIN);
        double plain = stream(mem, 32 * MIB, 64, 64);
        memory__free(mem);
        printf("  %s bytes a cycle: L2 %.1f, L3 %.1f, DRAM %.2f = %.1f GB/s (without prefetch %.1f)\n",
               core.name, l2, l3, dram, dram * core.freq_ghz, plain * core.freq_ghz);
        assert_true(l2 > 0.4 * core.l2_l1_bytes_cyc && l2 < 0.75 * core.l2_l1_bytes_cyc);
        assert_true(l3 > 10.0 && l3 < 18.0);
        assert_true(dram * core.freq_ghz < core.dram_bandwidth_gbs * 1.02);
        assert_true(dram > 1.15 * plain); /* prefetches use more than the fill buffers */
        double lfb_bound = core.lfb_entries * 64.0 / dram_cyc(&core);
        assert_true(plain > 0.9 * lfb_bound && plain < 1.05 * lfb_bound);
    }
}

/* 12.3: cycling over as many pages as fit costs nothing; more costs the STLB or a walk. */
static double tlb_cost(const struct core *core, unsigned pages)
{
    struct memory *mem = memory_of(core, &WITH_TLB);
    uint64_t now = 0, sum = 0;

    for (unsigned round = 0; round < 6; ++round)
        for (unsigned n = 0; n < pages; ++n) {
            struct mem_result res = load_at(mem, BASE + n * (uint64_t)PAGE, now);
            sum += round >= 3 && res.tlb_until != 0 ? res.tlb_until - now : 0;
            now = res.ready;
        }
    memory__free(mem);
    return (double)sum / (3.0 * pages);
}

static void tlb_sizes(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        assert_true(tlb_cost(&core, core.dtlb.entries) < 0.001);
        double stlb = tlb_cost(&core, 2 * core.dtlb.entries);
        assert_true(stlb > 0.5 * core.stlb_hit_cyc && stlb < core.stlb_hit_cyc + 0.01);
        double fits = tlb_cost(&core, core.stlb.entries);
        assert_true(fits <= core.stlb_hit_cyc + 0.01);
        double walks = tlb_cost(&core, 4 * core.stlb.entries);
        printf("  %s TLB: STLB %.1f, walk %.1f\n", core.name, stlb, walks);
        assert_true(walks > core.stlb_hit_cyc + 6 && walks < 40);
    }
}

/* Page walkers: one walks at a time on cores that have one. */
static void page_walkers(void **state)
{
    (void)state;
    uint64_t span[2];

    for (unsigned k = 0; k < 2; ++k) {
        struct core core = core_of(&FACTS[0]);
        core.page_walkers = k + 1;
        struct memory *mem = memory_of(&core, &WITH_TLB);
        uint64_t first = load_at(mem, BASE, 0).tlb_until;
        span[k] = load_at(mem, BASE + 4 * MIB, 0).tlb_until - first;
        memory__free(mem);
    }
    assert_true(span[0] > span[1]);
}

static void two_loads_share_a_walk(void **state)
{
    (void)state;
    struct memory *mem = snb(&WITH_TLB);
    struct mem_result a = load_at(mem, BASE, 0), b = load_at(mem, BASE + 64, 1);
    struct memory_counts counts;

    assert_int_equal(a.tlb_until, b.tlb_until);
    memory__counts(mem, &counts);
    assert_int_equal(counts.walks, 1);
    assert_int_equal(counts.dtlb_miss, 1);
    memory__free(mem);
}

/* ME-7: the operating system has written the entry of a page just before the program first sees it; later
 * the entry is as far away as any other line that has not been used for long. */
static void first_walk_of_a_page(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        struct memory *mem = memory_of(&core, &WITH_TLB);
        uint64_t page = BASE + 64 * PAGE, now = load_at(mem, BASE, 0).ready;
        struct mem_result first = load_at(mem, page, now);

        assert_int_equal(first.tlb_until - now, core.stlb_hit_cyc + 5 + core.l2.lat_cyc);
        now = first.ready;
        for (uint64_t at = 0; at < 2 * core.l3.size_bytes; at += 64)
            now = load_at(mem, BASE + 64 * MIB + at, now).ready;
        assert_true(load_at(mem, page, now).tlb_until - now > core.l3.lat_cyc + 100);
        memory__free(mem);
    }
}

/* A line of each of many pages spreads over the L3, whatever its size. */
static void l3_takes_any_stride(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        for (unsigned lines = 1; lines < 64; lines += 2) {
            struct memory *mem = memory_of(&core, &PLAIN);
            uint64_t now = 0;
            unsigned missed = 0;
            for (unsigned n = 0; n < 3 * 4096; ++n) {
                struct mem_result r = load_at(mem, BASE + n % 4096 * (uint64_t)(PAGE + lines * LINE), now);
                missed += n >= 4096 && r.level == MEM_DRAM;
                now = r.ready;
            }
            assert_true(missed <= 8);
            memory__free(mem);
        }
    }
}

/* EX-12 */
static void split_costs(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        struct memory *mem = memory_of(&core, &WITH_TLB);
        struct mem_result res;
        for (uint64_t off = 0; off < 2 * PAGE; off += LINE)
            load_at(mem, BASE + off, 0);
        memory__load(mem, 1, BASE + 60, 8, 10000, 5, &res);
        assert_int_equal(res.split, 1);
        assert_int_equal(res.ready, 10000 + 5 + core.split_load_cyc);
        memory__load(mem, 1, BASE + PAGE - 4, 8, 10001, 5, &res);
        assert_int_equal(res.split, 2);
        assert_int_equal(res.ready, 10001 + 5 + core.split_page_cyc);
        memory__load(mem, 1, BASE + 56, 8, 10002, 5, &res);
        assert_int_equal(res.split, 0);
        memory__store(mem, 1, BASE + 60, 8, false, 10003, &res);
        assert_int_equal(res.split, 1);
        assert_int_equal(res.ready, 10003 + 1);
        memory__free(mem);
    }
}

/* ME-11: a store to the L1 is owned at once, one to the L2 after 8 or 9 cycles, merges with loads. */
static void stores_own_their_line(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[1]);
    struct memory *mem = memory_of(&core, &PLAIN);
    struct mem_result res;
    uint64_t now = 10000;

    for (uint64_t off = 0; off < 128 * KIB; off += LINE)
        now = load_at(mem, BASE + off, now).ready;
    memory__store(mem, 1, BASE + 128 * KIB - LINE, 8, false, now, &res);
    assert_int_equal(res.ready, now);
    memory__store(mem, 1, BASE, 8, false, now, &res);
    assert_int_equal(res.level, MEM_L2);
    assert_in_range(res.ready - now, 7, 10);
    struct mem_result merged = load_at(mem, BASE, now + 1);
    assert_int_equal(merged.level, MEM_LFB);
    memory__free(mem);
}

/* Dirty lines travel down and cost bandwidth: copying is slower than reading. */
static void write_backs_take_bandwidth(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[4]);
    uint64_t end[2];
    core.lfb_entries = 64;
    core.sq_entries = 64;

    for (unsigned k = 0; k < 2; ++k) {
        struct memory *mem = memory_of(&core, &PLAIN);
        uint64_t now = 0;
        struct mem_result res = {0};
        for (uint64_t off = 0; off < 32 * MIB; off += LINE) {
            if (k == 0)
                memory__load(mem, 1, BASE + off, 8, now, 4, &res);
            else
                memory__store(mem, 1, BASE + off, 8, false, now, &res);
            now += 2;
        }
        end[k] = res.ready;
        memory__free(mem);
    }
    printf("  32 MiB read %llu cycles, written %llu\n", (unsigned long long)end[0],
           (unsigned long long)end[1]);
    assert_true((double)end[1] > 1.5 * (double)end[0]);
}

static void non_temporal_stores_bypass(void **state)
{
    (void)state;
    struct memory *mem = snb(&PLAIN);
    struct mem_result res;
    struct memory_counts counts;
    uint64_t now = load_at(mem, BASE, 0).ready;

    for (unsigned k = 0; k < 8; ++k) {
        memory__store(mem, 1, BASE + 8 * k, 8, true, now + k, &res);
        assert_int_equal(res.ready, now + k);
        assert_int_equal(res.level, k == 0 ? MEM_DRAM : MEM_LFB);
    }
    assert_int_equal(load_at(mem, BASE, now + 1000).level, MEM_DRAM);
    memory__counts(mem, &counts);
    assert_int_equal(counts.l1d_store_miss, 0);
    for (unsigned k = 0; k < 30; ++k) /* more lines than buffers at once: the buffers fill up */
        memory__store(mem, 1, BASE + MIB + LINE * k, 8, true, now + 5000, &res);
    assert_true(res.lfb_full && res.ready > now + 5000);
    memory__free(mem);
}

/* ME-2: a line that stays hot in the L1 falls out of an inclusive L3, and then out of the L1. */
static unsigned misses_of_hot_line(bool inclusive)
{
    struct core core = core_of(&FACTS[0]);
    core.l2.size_bytes = 64 * KIB;
    core.l3.size_bytes = 96 * KIB;
    core.l3.ways = 12;
    core.l3_inclusive = inclusive;
    struct memory *mem = memory_of(&core, &PLAIN);
    uint64_t now = 0;
    unsigned missed = 0;

    load_at(mem, BASE, 0);
    for (unsigned k = 0; k < 20000; ++k) {
        now += 300;
        load_at(mem, BASE + MIB + (uint64_t)k * LINE, now);
        now += 300;
        missed += load_at(mem, BASE, now).level != MEM_L1;
    }
    memory__free(mem);
    return missed;
}

static void inclusive_l3_evicts_from_l1(void **state)
{
    (void)state;
    unsigned inclusive = misses_of_hot_line(true), victim = misses_of_hot_line(false);

    printf("  hot line missed %u times below an inclusive L3, %u below a victim L3\n", inclusive, victim);
    assert_true(inclusive >= 5);
    assert_int_equal(victim, 0);
}

/* A victim L3 adds to the L2: what fits both together stays out of DRAM. */
static void victim_l3_adds_capacity(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[4]);
    core.l2 = (struct cache_geometry){1 * MIB, 16, 14, REPLACEMENT_PLRU};
    core.l3 = (struct cache_geometry){11 * 128 * KIB, 11, 75, REPLACEMENT_QLRU};
    core.l3_inclusive = false;
    struct memory *mem = memory_of(&core, &PLAIN);
    double lat = chase(mem, 7 * 256 * KIB);

    printf("  1.75 MiB in 1 MiB L2 + 1.375 MiB victim L3: %.1f cycles\n", lat);
    assert_true(lat < 100.0);
    memory__free(mem);
}

/* Sets of any number: every size holds what it should. */
static void odd_set_counts(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes, ways;
    } size[] = {{3 * MIB, 12},  {6 * MIB, 12},         {15 * MIB, 20},
                {12 * MIB, 16}, {11 * 1280 * KIB, 11}, {30 * MIB, 12}};

    for (unsigned k = 0; k < sizeof size / sizeof *size; ++k) {
        struct core core = core_of(&FACTS[0]);
        core.l3.size_bytes = size[k].bytes;
        core.l3.ways = size[k].ways;
        struct memory *mem = memory_of(&core, &PLAIN);
        double lat = chase(mem, size[k].bytes / 16 * 15 / PAGE * PAGE);
        printf("  L3 %.2f MiB, %u ways: 15/16 of it %.1f cycles\n", size[k].bytes / (double)MIB, size[k].ways,
               lat);
        assert_true(lat < 1.05 * core.l3.lat_cyc);
        memory__free(mem);
    }
}

static unsigned misses_of(struct memory *mem, uint64_t step, unsigned n, uint64_t apart)
{
    uint64_t now = 0;
    unsigned missed = 0;

    for (unsigned k = 0; k < n; ++k) {
        missed += load_at(mem, BASE + k * step, now).level != MEM_L1;
        now += apart;
    }
    return missed;
}

/* ME-8, ME-9: each prefetcher alone, seen by what it brings. */
static void prefetchers_one_by_one(void **state)
{
    (void)state;
    static const struct {
        bool next, ip, adjacent, streamer;
        uint64_t step;
        unsigned n, max_missed;
    } the[] = {
        {false, false, false, false, 64, 64, 64},  {true, false, false, false, 64, 64, 3}, /* next line */
        {false, true, false, false, 256, 16, 4},   /* stride of one instruction */
        {false, true, false, false, 1024, 32, 12}, /* never across the page: 8 pages */
        {true, false, false, false, 128, 32, 32},
    };
    for (unsigned k = 0; k < sizeof the / sizeof *the; ++k) {
        struct core core = core_of(&FACTS[0]);
        core.prefetch_l1_next = the[k].next;
        core.prefetch_l1_ip = the[k].ip;
        core.prefetch_l2_adjacent = the[k].adjacent;
        core.prefetch_l2_streamer = the[k].streamer;
        struct memory *mem = memory_of(&core, &WITH_PREFETCH);
        unsigned missed = misses_of(mem, the[k].step, the[k].n, 1000);
        if (the[k].max_missed == the[k].n)
            assert_int_equal(missed, the[k].n);
        else
            assert_in_range(missed, 1, the[k].max_missed);
        memory__free(mem);
    }
}

static void adjacent_line_comes_into_l2(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[0]);
    core.prefetch_l1_next = core.prefetch_l1_ip = core.prefetch_l2_streamer = false;
    struct memory *mem = memory_of(&core, &WITH_PREFETCH);

    assert_int_equal(load_at(mem, BASE + 3 * LINE, 0).level, MEM_DRAM);
    assert_int_equal(load_at(mem, BASE + 2 * LINE, 1000).level, MEM_L2);
    assert_int_equal(load_at(mem, BASE + 4 * LINE, 2000).level, MEM_DRAM);
    memory__free(mem);
}

static void streamer_runs_ahead_in_both_directions(void **state)
{
    (void)state;
    for (int direction = -1; direction <= 1; direction += 2) {
        struct core core = core_of(&FACTS[0]);
        core.prefetch_l1_next = core.prefetch_l1_ip = core.prefetch_l2_adjacent = false;
        struct memory *mem = memory_of(&core, &WITH_PREFETCH);
        struct memory_counts counts;
        unsigned in_l2 = 0, dram = 0;
        for (int k = 0; k < 64; ++k) {
            int line = direction > 0 ? k : 63 - k;
            unsigned level = load_at(mem, BASE + (uint64_t)line * LINE, (uint64_t)k * 1000).level;
            in_l2 += level == MEM_L2;
            dram += level == MEM_DRAM;
        }
        assert_int_equal(dram, 3);
        assert_int_equal(in_l2, 61);
        memory__counts(mem, &counts);
        assert_int_equal(counts.prefetches, 61); /* none beyond the page */
        memory__free(mem);
    }
}

static void prefetchers_need_buffers(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[0]);
    core.lfb_entries = 1;
    core.prefetch_l2_adjacent = core.prefetch_l2_streamer = false;
    struct memory *mem = memory_of(&core, &WITH_PREFETCH);
    struct memory_counts counts;

    for (unsigned k = 0; k < 32; ++k)
        load_at(mem, BASE + k * LINE, k);
    memory__counts(mem, &counts);
    assert_int_equal(counts.prefetches, 0);
    memory__free(mem);
}

/* A dependent chase in steps of 128 bytes with everything on, by `loads` instructions in turn. */
static double stride_128(const struct core *core, unsigned loads)
{
    enum { STEPS = 40000 };
    struct memory *mem = memory_of(core, NULL);
    struct mem_result res;
    uint64_t now = 0;

    for (uint64_t n = 0; n < STEPS; ++n) {
        memory__load(mem, 0x400000 + 3 * (n % loads), BASE + n * 128, 8, now, 4, &res);
        now = res.ready;
    }
    memory__free(mem);
    return (double)now / STEPS;
}

/* 12.1, last row: measured 67, 49, 55, 33, 60. Taken to be of an unrolled chase (the measuring code is not
 * known): the steps of each load are too long for the IP prefetcher, which makes a chase by a single load
 * faster. */
static void stride_128_as_measured(void **state)
{
    static const double measured[CORES] = {67, 49, 55, 33, 60};
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        double unrolled = stride_128(&core, 64), single = stride_128(&core, 1);
        printf("  %s stride-128 chase: %.1f cycles (%.0f), by one load %.1f\n", core.name, unrolled,
               measured[k], single);
        assert_true(unrolled > 0.9 * measured[k] && unrolled < 1.2 * measured[k]);
        assert_true(single < unrolled && single > 0.5 * unrolled);
    }
}

static void software_prefetch_hides_latency(void **state)
{
    (void)state;
    struct memory *mem = snb(&PLAIN);
    struct memory_counts counts;

    memory__prefetch(mem, BASE, 0);
    assert_int_equal(load_at(mem, BASE, 100).level, MEM_LFB);
    assert_int_equal(load_at(mem, BASE, 300).level, MEM_L1);
    memory__counts(mem, &counts);
    assert_int_equal(counts.l1d_load_miss, 0);
    memory__flush_line(mem, BASE, 400);
    assert_int_equal(load_at(mem, BASE, 400).level, MEM_DRAM);
    memory__free(mem);
}

/* What leaves the L1I, for whatever reason, is in the log; a store learns that it hit code (ME-15). */
static void lines_that_leave_the_l1i(void **state)
{
    (void)state;
    struct memory *mem = snb(&PLAIN);
    const struct evicted_code *log = memory__evicted_code(mem);
    struct mem_result res;

    for (unsigned k = 0; k < 9; ++k) /* nine lines of a set with eight ways */
        memory__fetch(mem, BASE + k * PAGE, 1000 * k, &res);
    assert_int_equal(log->n, 1);
    assert_int_equal(log->line[0], BASE);
    memory__store(mem, 0, BASE + 8, 8, false, 10000, &res); /* has left */
    assert_int_equal(res.code, 0);
    memory__store(mem, 0, BASE + PAGE + LINE, 8, false, 10000, &res); /* its neighbour */
    assert_int_equal(res.code, 0);
    memory__store(mem, 0, BASE + PAGE + LINE - 8, 8, false, 10000, &res);
    assert_int_equal(res.code, 1);
    assert_int_equal(log->n, 2);
    assert_int_equal(log->line[1], BASE + PAGE);
    memory__store(mem, 0, BASE + PAGE + LINE - 8, 8, false, 10001, &res);
    assert_int_equal(res.code, 0);
    memory__store(mem, 0, BASE + 2 * PAGE - 4, 8, false, 11000, &res); /* the upper half */
    assert_int_equal(res.code, 1);
    assert_int_equal(log->line[2], BASE + 2 * PAGE);
    memory__flush_line(mem, BASE + 3 * PAGE + 5, 12000);
    assert_int_equal(log->n, 4);
    assert_int_equal(log->line[3], BASE + 3 * PAGE);
    memory__fetch(mem, BASE + PAGE, 13000, &res);
    assert_true(res.level != MEM_L1);
    memory__store(mem, 0, BASE + PAGE, 8, true, 14000, &res); /* past the caches */
    assert_int_equal(res.code, 1);
    assert_int_equal(log->n, 5);
    memory__free(mem);
}

static void fetch_latencies(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[4]);
    struct memory *mem = memory_of(&core, &WITH_TLB);
    struct mem_result res;

    memory__fetch(mem, 0x400000, 0, &res);
    assert_int_equal(res.level, MEM_DRAM);
    assert_true(res.tlb_until > 0 && res.ready > res.tlb_until + 200);
    uint64_t now = res.ready;
    memory__fetch(mem, 0x400010, now - 50, &res);
    assert_int_equal(res.ready, now);
    assert_int_equal(res.level, MEM_LFB);
    memory__fetch(mem, 0x400020, now, &res);
    assert_int_equal(res.ready, now);
    assert_int_equal(res.level, MEM_L1);
    for (unsigned k = 1; k < 1024; ++k) /* 64 KiB of code: all in the L2 afterwards */
        memory__fetch(mem, 0x400000 + k * LINE, now += 1000, &res);
    memory__fetch(mem, 0x400000, now += 1000, &res);
    assert_int_equal(res.level, MEM_L2);
    assert_int_equal(res.ready, now + core.l2.lat_cyc - core.l1d.lat_cyc);
    memory__free(mem);
}

/* Paper, 3.7: requests at the controller, from the known L3 miss to the data. */
static void outstanding_requests(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[1]);
    core.dram_bandwidth_gbs = 10000;
    struct memory *mem = memory_of(&core, &PLAIN);

    assert_int_equal(requests_at(mem, 0).until, UINT64_MAX);
    struct mem_result a = load_at(mem, BASE, 0);
    load_at(mem, BASE + PAGE, 10);
    assert_int_equal(requests_at(mem, 10).all, 0);
    assert_int_equal(requests_at(mem, 10).until, a.l3_miss_at);
    assert_int_equal(requests_at(mem, a.l3_miss_at).all, 1);
    assert_int_equal(requests_at(mem, a.l3_miss_at + 10).all, 2);
    assert_int_equal(requests_at(mem, a.l3_miss_at + 10).until, a.ready);
    assert_int_equal(requests_at(mem, a.ready).all, 1);
    assert_int_equal(requests_at(mem, a.ready + 10).all, 0);
    assert_int_equal(requests_at(mem, a.ready + 10).until, UINT64_MAX);
    memory__free(mem);
}

/* A crowd that waits for fill buffers must not delay an instruction fetch of now. */
static void waiting_loads_do_not_block_fetches(void **state)
{
    (void)state;
    struct core core = core_of(&FACTS[1]);
    struct memory *mem = memory_of(&core, &PLAIN);
    struct mem_result res;

    memory__fetch(mem, 0x400000, 0, &res);
    for (unsigned k = 0; k < 64; ++k)
        load_at(mem, BASE + k * PAGE, 10000);
    memory__fetch(mem, 0x500000, 10001, &res);
    assert_true(res.ready < 10001 + dram_cyc(&core) + 150);
    memory__free(mem);
}

static void perfect_memory_always_hits(void **state)
{
    (void)state;
    const struct memory_options perfect = {.perfect = true};
    struct memory *mem = snb(&perfect);
    uint32_t seed = 1;

    for (uint64_t now = 0; now < 1000; ++now) {
        struct mem_result res;
        memory__load(mem, 1, (uint64_t)next_random(&seed) * 64, 8, now, 5, &res);
        assert_int_equal(res.ready, now + 5);
        assert_int_equal(res.level, MEM_L1);
    }
    memory__free(mem);
}

static void impossible_cores_are_refused(void **state)
{
    (void)state;
    struct status st;
    struct core core = core_of(&FACTS[0]);

    core.l2.ways = 3;
    assert_null(memory__new(&core, NULL, &st));
    assert_non_null(strstr(st.text, "l2"));
    core = core_of(&FACTS[0]);
    core.lfb_entries = 0;
    assert_null(memory__new(&core, NULL, &st));
    assert_non_null(strstr(st.text, "lfb_entries"));
    core = core_of(&FACTS[0]);
    core.l3.lat_cyc = 5;
    assert_null(memory__new(&core, NULL, &st));
    core = core_of(&FACTS[0]);
    core.dram_bandwidth_gbs = 0;
    assert_null(memory__new(&core, NULL, &st));
}

/* Any mixture of requests: later or equal, never before the hit; twice the same. */
static uint64_t fuzz_run(const struct core *core)
{
    struct memory *mem = memory_of(core, NULL);
    uint32_t seed = 77;
    uint64_t now = 0, sum = 0;

    for (unsigned k = 0; k < 300000; ++k) {
        struct mem_result res;
        uint64_t addr = BASE + next_random(&seed) % (1U << (10 + next_random(&seed) % 14));
        unsigned what = next_random(&seed) % 16;
        now += next_random(&seed) % 64;
        if (what < 8)
            memory__load(mem, what, addr, 1U << what % 6, now, 4, &res);
        else if (what < 12)
            memory__store(mem, what, addr, 8, what == 11, now, &res);
        else
            memory__fetch(mem, addr + 64 * MIB, now, &res);
        assert_true(res.ready >= now + (what < 8 ? 4 : 0));
        assert_true(res.ready < now + 20000);
        assert_true(res.l3_miss_at == 0 || res.l2_miss_at != 0);
        assert_true(res.split <= 2 && res.level < MEM_LEVELS);
        if (what == 7)
            memory__flush_line(mem, addr, now);
        sum = sum * 31 + res.ready;
        assert_in_range(requests_at(mem, now).all, 0, 40);
        assert_true(requests_at(mem, now).until > now);
    }
    memory__free(mem);
    return sum;
}

static void any_mixture_is_sane_and_repeats(void **state)
{
    (void)state;
    for (unsigned k = 0; k < CORES; ++k) {
        struct core core = core_of(&FACTS[k]);
        core.l3_inclusive = k != 4;
        core.l3.size_bytes /= 16;
        assert_true(fuzz_run(&core) == fuzz_run(&core));
    }
}

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void speed(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t step, mask;
        unsigned ips;
    } the[] = {{"same line", 0, 63, 1},
               {"8-byte steps in 16 KiB", 8, 16 * KIB - 1, 1},
               {"random in 16 KiB", 4093 * 8, 16 * KIB - 1, 7},
               {"lines in L2", 64, 128 * KIB - 1, 1},
               {"lines in DRAM", 64, 64 * MIB - 1, 1}};

    for (unsigned k = 0; k < sizeof the / sizeof *the; ++k) {
        struct memory *mem = snb(NULL);
        enum { N = 2000000 };
        struct mem_result res = {0};
        uint64_t addr = 0, now = 0;
        double begin = seconds();
        for (unsigned n = 0; n < N; ++n) {
            memory__load(mem, 0x400000 + n % the[k].ips, BASE + addr, 8, now, 4, &res);
            addr = (addr + the[k].step) & the[k].mask;
            now = res.ready - 3;
        }
        printf("  %-24s %.1f ns\n", the[k].what, (seconds() - begin) / N * 1e9);
        memory__free(mem);
    }
}

static unsigned events_of(const struct memory_activity *a, enum memory_event event)
{
    return a->events >> 8 * event & 255;
}

/* What performance counters see: translations, requests for ownership, buffers, and until when. */
static void activity_is_counted(void **state)
{
    const struct core core = core_of(&FACTS[4]);
    struct memory *mem = memory_of(&core, &WITH_TLB);
    struct memory_activity a;
    struct mem_result res;

    (void)state;
    memory__load(mem, 1, BASE, 8, 1000, 4, &res);
    assert_true(res.changed);
    memory__activity(mem, 1000, &a);
    assert_int_equal(events_of(&a, MEMORY_LOAD_WALK), 1);
    assert_int_equal(events_of(&a, MEMORY_LOAD_STLB_HIT), 0);
    assert_int_equal(a.state, 0); /* the second-level TLB is asked first */
    assert_int_equal(a.next_change, 1000 + core.stlb_hit_cyc);
    memory__activity(mem, a.next_change, &a);
    assert_int_equal(a.events, 0);
    assert_int_equal(a.state, MEMORY_WALKING_LOAD);
    memory__activity(mem, res.tlb_until, &a);
    assert_int_equal(a.state, 0);
    memory__activity(mem, res.l2_miss_at, &a);
    assert_int_equal(a.reads, 1);
    assert_int_equal(a.requests.all, 0); /* the L3 is asked first */
    memory__activity(mem, res.ready - 1, &a);
    assert_int_equal(a.reads + a.requests.all, 2);
    memory__activity(mem, res.ready + 1000, &a);
    assert_int_equal(a.reads + a.requests.all, 0);
    assert_true(a.next_change == UINT64_MAX);

    memory__translate_store(mem, BASE + 8 * PAGE, 8, 5000);
    memory__store(mem, 1, BASE + 8 * PAGE, 8, false, 6000, &res);
    memory__activity(mem, 6000, &a);
    assert_int_equal(events_of(&a, MEMORY_STORE_WALK), 1);
    assert_int_equal(events_of(&a, MEMORY_RFO), 1);
    assert_int_equal(events_of(&a, MEMORY_RFO_L2_HIT), 0);
    memory__activity(mem, res.ready - 1, &a);
    assert_int_equal(a.state, MEMORY_RFO_OFFCORE);

    memory__fetch(mem, BASE + 64 * PAGE, 8000, &res);
    memory__activity(mem, 8000 + core.stlb_hit_cyc, &a);
    assert_int_equal(events_of(&a, MEMORY_CODE_WALK), 1);
    assert_int_equal(a.state, MEMORY_WALKING_CODE);
    memory__free(mem);
}

/* One more miss than there are buffers waits for one; the next hit of the second-level TLB is counted as
 * such. */
static void full_buffers_are_counted(void **state)
{
    const struct core core = core_of(&FACTS[4]);
    struct memory *mem = memory_of(&core, &PLAIN);
    struct memory_activity a;
    struct mem_result res;

    (void)state;
    for (unsigned k = 0; k <= core.lfb_entries; k++)
        memory__load(mem, 1, BASE + (uint64_t)k * PAGE, 8, 1000, 4, &res);
    memory__activity(mem, 1000, &a);
    assert_int_equal(a.lfb_waits, 1);
    assert_int_equal(a.state, MEMORY_LFB_FULL);
    memory__activity(mem, res.ready, &a);
    assert_int_equal(a.lfb_waits, 0);
    assert_int_equal(a.state & MEMORY_LFB_FULL, 0);
    memory__free(mem);

    mem = memory_of(&core, &WITH_TLB);
    for (unsigned k = 0; k < 2 * core.dtlb.entries; k++)
        memory__load(mem, 1, BASE + (uint64_t)k * PAGE, 8, 1000 + 1000 * k, 4, &res);
    memory__activity(mem, 1000000, &a);
    memory__load(mem, 1, BASE, 8, 1000000, 4, &res);
    memory__activity(mem, 1000000, &a);
    assert_int_equal(events_of(&a, MEMORY_LOAD_STLB_HIT), 1);
    assert_int_equal(events_of(&a, MEMORY_LOAD_WALK), 0);
    memory__free(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chase_latency_by_size),
        cmocka_unit_test(random_chase_pays_for_walks),
        cmocka_unit_test(l1_hit_is_exactly_the_given_latency),
        cmocka_unit_test(slower_loads_are_slower_at_each_level),
        cmocka_unit_test(fill_buffers_bound_parallel_misses),
        cmocka_unit_test(secondary_miss_merges),
        cmocka_unit_test(dram_bandwidth),
        cmocka_unit_test(cache_bandwidth),
        cmocka_unit_test(tlb_sizes),
        cmocka_unit_test(page_walkers),
        cmocka_unit_test(two_loads_share_a_walk),
        cmocka_unit_test(first_walk_of_a_page),
        cmocka_unit_test(l3_takes_any_stride),
        cmocka_unit_test(split_costs),
        cmocka_unit_test(stores_own_their_line),
        cmocka_unit_test(write_backs_take_bandwidth),
        cmocka_unit_test(non_temporal_stores_bypass),
        cmocka_unit_test(inclusive_l3_evicts_from_l1),
        cmocka_unit_test(victim_l3_adds_capacity),
        cmocka_unit_test(odd_set_counts),
        cmocka_unit_test(prefetchers_one_by_one),
        cmocka_unit_test(adjacent_line_comes_into_l2),
        cmocka_unit_test(streamer_runs_ahead_in_both_directions),
        cmocka_unit_test(prefetchers_need_buffers),
        cmocka_unit_test(stride_128_as_measured),
        cmocka_unit_test(software_prefetch_hides_latency),
        cmocka_unit_test(lines_that_leave_the_l1i),
        cmocka_unit_test(fetch_latencies),
        cmocka_unit_test(outstanding_requests),
        cmocka_unit_test(waiting_loads_do_not_block_fetches),
        cmocka_unit_test(perfect_memory_always_hits),
        cmocka_unit_test(activity_is_counted),
        cmocka_unit_test(full_buffers_are_counted),
        cmocka_unit_test(impossible_cores_are_refused),
        cmocka_unit_test(any_mixture_is_sane_and_repeats),
        cmocka_unit_test(speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
