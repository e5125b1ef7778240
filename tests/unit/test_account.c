/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts over hand-made reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/account.h"
#include "fathom/core.h"

enum { WIDTH = 4 };

struct accounts {
    struct truth truth;
    struct tip tip;
    struct pmu pmu;
    struct cpi_stack stack;
    struct stage_stacks stages;
};

static void accounts__init(struct accounts *a)
{
    struct core core = {
        .issue_width = WIDTH, .retire_width = 4, .mem_queue_entries = 32, .issue_to_dispatch_cyc = 5};

    truth__init(&a->truth, &core);
    tip__init(&a->tip, &core);
    pmu__init(&a->pmu, &core);
    cpi_stack__init(&a->stack);
    stage_stacks__init(&a->stages, &core);
}

static void accounts__consume(struct accounts *a, const struct cycle_report *r, unsigned n)
{
    a->truth.listener.consume(&a->truth.listener, r, n);
    a->tip.listener.consume(&a->tip.listener, r, n);
    a->pmu.listener.consume(&a->pmu.listener, r, n);
    a->stack.listener.consume(&a->stack.listener, r, n);
    a->stages.listener.consume(&a->stages.listener, r, n);
}

/* A cycle in which nothing happens, for `stall`. */
static struct cycle_report report__idle(uint32_t cycles, enum stall stall, uint32_t site)
{
    struct cycle_report r = {
        .cycles = cycles, .stall = (uint8_t)stall, .stall_site = site, .wait_site = site};

    r.mispredict_site = REPORT_NO_SITE;
    r.wait = WAIT_OTHER;
    return r;
}

static void report__retire(struct cycle_report *r, unsigned n, uint32_t first_site)
{
    r->retired = r->retired_uops = r->retired_insns = (uint8_t)n;
    r->retired_high = (uint8_t)((1U << n) - 1);
    for (unsigned k = 0; k < n; k++)
        r->retired_site[k] = first_site + k;
    r->wait = WAIT_BASE;
}

/* The sums that must hold whatever the reports were. */
static void accounts__check_sums(const struct accounts *a)
{
    uint64_t tip = a->tip.cycles_tip_unplaced, stack = 0, placed = 0;

    for (size_t s = 0; s < a->tip.n_sites; s++) {
        tip += a->tip.site[s].cycles_tip;
        for (unsigned c = 0; c < PLACE_SLOTS; c++)
            placed += a->tip.site[s].slots[c];
    }
    for (unsigned c = 0; c < PLACE_SLOTS; c++)
        placed += a->tip.slots_unplaced[c];
    for (unsigned w = 0; w < WAIT_COUNT; w++)
        stack += a->stack.cycles[w];
    assert_int_equal(tip, a->truth.cycles * TIP_UNIT);
    assert_int_equal(placed, a->truth.slots - a->truth.in_flight);
    assert_int_equal(stack, a->truth.cycles);
    for (int stage = 0; stage < STAGES; stage++) {
        uint64_t slots = 0;

        for (unsigned w = 0; w < WAIT_COUNT; w++)
            slots += a->stages.slots[stage][w];
        assert_int_equal(slots, a->truth.slots);
    }
    for (unsigned e = 0; e < PMU_EVENTS; e++) {
        uint64_t cycles = 0;

        for (unsigned bin = 0; bin < PMU_HISTOGRAM; bin++)
            cycles += a->pmu.cycles_with[e][bin];
        assert_int_equal(cycles, a->truth.cycles);
    }
}

static void test_truth_owns_every_slot(void **state)
{
    struct accounts a;
    struct cycle_report r[4];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(1, STALL_FE_MITE, 7); /* 3 issued, one bubble */
    r[0].issued = 3;
    r[1] = report__idle(10, STALL_BE_L2, 8);
    r[2] = report__idle(1, STALL_FE_ICACHE, 9); /* 1 retires, 2 are thrown away */
    report__retire(&r[2], 1, 3);
    r[2].squashed = 2;
    r[2].flush_kind = FLUSH_MEMORY_ORDERING;
    r[2].mispredict_site = 3;
    r[3] = report__idle(2, STALL_RECOVERY_CLEAR, REPORT_NO_SITE);
    r[3].mispredict_site = 3;
    r[3].flush_kind = FLUSH_MEMORY_ORDERING;
    accounts__consume(&a, r, 4);
    assert_int_equal(a.truth.cycles, 14);
    assert_int_equal(a.truth.slots, 56);
    assert_int_equal(a.truth.retired, 1);
    assert_int_equal(a.truth.squashed[FLUSH_MEMORY_ORDERING], 2);
    assert_int_equal(a.truth.blocked[FLUSH_MEMORY_ORDERING], 8);
    assert_int_equal(a.truth.in_flight, 0);
    assert_int_equal(a.truth.empty[STALL_FE_MITE], 1);
    assert_int_equal(a.truth.empty_latency[STALL_FE_MITE], 0);
    assert_int_equal(a.truth.empty[STALL_BE_L2], 40);
    assert_int_equal(a.truth.empty[STALL_FE_ICACHE], 4);
    assert_int_equal(a.truth.empty_latency[STALL_FE_ICACHE], 4);
    assert_int_equal(a.truth.empty[STALL_RECOVERY_CLEAR], 8);
    truth__check(&a.truth);
    accounts__check_sums(&a);
    assert_int_equal(a.tip.site[3].slots[PLACE_BAD_SPECULATION], 2 + 8);
    assert_int_equal(a.tip.site[3].slots[PLACE_RETIRING], 1);
    assert_int_equal(a.tip.site[7].slots[PLACE_FRONTEND], 1);
    assert_int_equal(a.tip.site[8].slots[PLACE_BACKEND_MEMORY], 40);
    assert_int_equal(a.tip.site[9].slots[PLACE_FRONTEND], 4);
    tip__free(&a.tip);
}

static void test_tip_shares_cycles(void **state)
{
    struct accounts a;
    struct cycle_report r[4];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(1, STALL_NONE, REPORT_NO_SITE);
    r[0].issued = 4;
    r[1] = report__idle(1, STALL_BE_DEPENDENCY, 1);
    report__retire(&r[1], 3, 0);
    r[1].retired_high = 0x6;                      /* the first uop is not its instruction's last */
    r[2] = report__idle(5, STALL_BE_PORTS, 5000); /* a site beyond the first table */
    r[3] = report__idle(1, STALL_BE_SERIAL, REPORT_NO_SITE);
    report__retire(&r[3], 1, 2);
    accounts__consume(&a, r, 4);
    assert_int_equal(a.tip.n_sites, 5001);
    for (unsigned s = 0; s < 3; s++)
        assert_int_equal(a.tip.site[s].cycles_tip, TIP_UNIT / 3 + (s == 2 ? TIP_UNIT : 0));
    assert_int_equal(a.tip.site[0].insns, 0);
    assert_int_equal(a.tip.site[1].insns, 1);
    assert_int_equal(a.tip.site[2].insns, 2);
    assert_int_equal(a.tip.site[5000].cycles_tip, 5 * TIP_UNIT);
    assert_int_equal(a.tip.site[5000].slots[PLACE_BACKEND_CORE], 20);
    assert_int_equal(a.tip.cycles_tip_unplaced, TIP_UNIT); /* the first cycle waited for nothing */
    assert_int_equal(a.tip.slots_unplaced[PLACE_BACKEND_CORE], 4);
    assert_int_equal(a.truth.in_flight, 0);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

/* Each retired slot has one owner: the microcode sequencer, else a pair if its instruction is nothing more
 * special, else the kind of its instruction. */
static void test_retired_slots_by_work(void **state)
{
    static const enum work work[] = {WORK_OTHER, WORK_MEMORY, WORK_FP_128};
    struct retired_work sum = {{0}};
    struct accounts a;
    struct cycle_report r[2];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(1, STALL_NONE, REPORT_NO_SITE);
    r[0].issued = 4;
    r[1] = report__idle(1, STALL_NONE, REPORT_NO_SITE);
    r[1].issued = 4;
    report__retire(&r[1], 8, 0);
    for (unsigned k = 0; k < 8; k++)
        r[1].retired_site[k] = k % 3;             /* 0: three, 1: three, 2: two */
    r[1].retired_ms = 1 << 3 | 1 << 5;            /* of 0 and of 2 */
    r[1].retired_pair = 1 << 0 | 1 << 1 | 1 << 6; /* of 0, 1 and 0 */
    accounts__consume(&a, r, 2);
    for (uint32_t id = 0; id < 3; id++)
        retired_work__add(&sum, &a.tip, id, work[id]);
    assert_int_equal(sum.slots[WORK_FUSED], 2);
    assert_int_equal(sum.slots[WORK_OTHER], 0);
    assert_int_equal(sum.slots[WORK_MEMORY], 3);
    assert_int_equal(sum.slots[WORK_FP_128], 1);
    assert_int_equal(a.truth.retired_ms, 2);
    assert_int_equal(a.tip.site[0].insns, 5); /* two pairs and one more */
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

static void test_recovery_without_branch_blames_the_stall_site(void **state)
{
    struct accounts a;
    struct cycle_report r = report__idle(3, STALL_RECOVERY_MISPREDICT, 6);

    (void)state;
    accounts__init(&a);
    r.flush_kind = FLUSH_RETURN;
    accounts__consume(&a, &r, 1);
    assert_int_equal(a.truth.blocked[FLUSH_RETURN], 12);
    assert_int_equal(a.tip.site[6].slots[PLACE_BAD_SPECULATION], 12);
    assert_int_equal(a.pmu.sum[PMU_RECOVERY_BUBBLES], 12);
    assert_int_equal(pmu__read(&a.pmu, PMU_RECOVERY_BUBBLES, 1, 0), 3);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

static void test_pmu_fetch_bubbles_exclude_other_stalls(void **state)
{
    struct accounts a;
    struct cycle_report r[4];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(2, STALL_FE_ITLB, 0);
    r[0].flags = REPORT_ITLB | REPORT_RS_EMPTY;
    r[1] = report__idle(1, STALL_FE_DSB, 0);
    r[1].issued = 1;
    r[2] = report__idle(7, STALL_BE_L1, 0);
    r[2].resource = RES_ROB;
    r[3] = report__idle(1, STALL_RECOVERY_MISPREDICT, 0);
    r[3].squashed = 1;
    r[3].flush_kind = FLUSH_CONDITIONAL;
    accounts__consume(&a, r, 4);
    assert_int_equal(a.pmu.sum[PMU_FETCH_BUBBLES], 8 + 3);
    assert_int_equal(pmu__read(&a.pmu, PMU_FETCH_BUBBLES, 4, 0), 2);
    assert_int_equal(pmu__read(&a.pmu, PMU_FETCH_BUBBLES, 3, 0), 3);
    assert_int_equal(pmu__read(&a.pmu, PMU_FETCH_BUBBLES, 1, 1), 8);
    assert_int_equal(a.pmu.sum[PMU_ITLB_STALLS], 2);
    assert_int_equal(a.pmu.sum[PMU_RS_EMPTY], 2);
    assert_int_equal(a.pmu.sum[PMU_STALLS_ROB], 7);
    assert_int_equal(a.pmu.sum[PMU_TOTAL_SLOTS], 44);
    assert_int_equal(a.pmu.sum[PMU_SLOTS_ISSUED], 1);
    /* TD-7 by counters: what is left of the slots are the back end's. */
    assert_int_equal(44 - a.pmu.sum[PMU_FETCH_BUBBLES] - a.pmu.sum[PMU_RECOVERY_BUBBLES] - 1, 28);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

static void test_pmu_memory_stalls(void **state)
{
    struct accounts a;
    struct cycle_report r[6];

    (void)state;
    accounts__init(&a);
    for (unsigned i = 0; i < 6; i++)
        r[i] = report__idle(1, STALL_BE_DRAM, 0);
    r[0].loads_pending = r[0].l1_miss_pending = r[0].l2_miss_pending = r[0].l3_miss_pending = 2;
    r[0].cycles = 30;
    r[0].mem_outstanding = 100; /* beyond the histogram: the sum stays exact */
    r[1].loads_pending = r[1].l1_miss_pending = 1;
    r[1].flags = REPORT_SB_FULL; /* AnyLoad is set: not a store stall */
    r[2].loads_pending = r[2].l1_miss_pending = 1;
    r[2].executed = 2; /* something executed: no load stall, but few, and the store buffer is full */
    r[2].flags = REPORT_SB_FULL;
    r[3].executed = 3; /* not few */
    r[3].flags = REPORT_SB_FULL;
    r[4].flags = REPORT_SB_FULL;
    r[5].loads_pending = 1;
    accounts__consume(&a, r, 6);
    assert_int_equal(a.pmu.sum[PMU_MEM_STALLS_ANY_LOAD], 32);
    assert_int_equal(a.pmu.sum[PMU_MEM_STALLS_L1_MISS], 31);
    assert_int_equal(a.pmu.sum[PMU_MEM_STALLS_L2_MISS], 30);
    assert_int_equal(a.pmu.sum[PMU_MEM_STALLS_L3_MISS], 30);
    assert_int_equal(a.pmu.sum[PMU_MEM_STALLS_STORES], 2);
    assert_int_equal(a.pmu.sum[PMU_EXT_MEM_OUTSTANDING], 3000);
    assert_int_equal(pmu__read(&a.pmu, PMU_EXT_MEM_OUTSTANDING, 63, 0), 30);
    assert_int_equal(pmu__read(&a.pmu, PMU_OPS_EXECUTED, 3, 1), 34);
    assert_int_equal(a.pmu.machine.ext_mem_threshold, 23); /* 70 % of 32, rounded up */
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

static void test_pmu_counts_what_retires_and_is_delivered(void **state)
{
    struct accounts a;
    struct cycle_report r[3];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(1, STALL_NONE, 0);
    r[0].issued = 4;
    r[0].delivered = 4;
    r[0].delivered_ms = 1;
    r[0].source = FETCH_MITE;
    r[0].flags = REPORT_MS_SWITCH | REPORT_LCP | REPORT_BACLEAR | REPORT_DIVIDER | REPORT_ICACHE;
    r[1] = report__idle(1, STALL_FE_DSB, 0);
    report__retire(&r[1], 4, 0);
    r[1].retired_insns = 3;
    r[1].retired_uops = 6;
    r[1].retired_ms = 1 | 4; /* the first and the third */
    r[1].branches = 2;
    r[1].mispredicts = 1;
    r[1].clears = 1;
    r[1].flush_kind = FLUSH_SELF_MODIFYING;
    r[1].load_level[0] = 1;
    r[1].load_level[4] = 2;
    r[1].executed = 5;
    r[1].delivered = 4;
    r[1].source = FETCH_DSB;
    r[2] = report__idle(1, STALL_FE_MS, 0);
    r[2].delivered = r[2].delivered_ms = 4;
    r[2].source = FETCH_MS;
    accounts__consume(&a, r, 3);
    assert_int_equal(a.pmu.sum[PMU_CYCLES], 3);
    assert_int_equal(a.pmu.sum[PMU_INSTRUCTIONS], 3);
    assert_int_equal(a.pmu.sum[PMU_UOPS_RETIRED], 6);
    assert_int_equal(a.pmu.sum[PMU_SLOTS_RETIRED], 4);
    assert_int_equal(a.pmu.sum[PMU_MS_SLOTS_RETIRED], 2);
    assert_int_equal(a.truth.retired_ms, 2);
    assert_int_equal(a.pmu.sum[PMU_BR_RETIRED], 2);
    assert_int_equal(a.pmu.sum[PMU_BR_MISPRED_RETIRED], 1);
    assert_int_equal(a.pmu.sum[PMU_MACHINE_CLEARS], 1);
    assert_int_equal(a.pmu.sum[PMU_CLEARS_SMC], 1);
    assert_int_equal(a.pmu.sum[PMU_CLEARS_MEMORY_ORDERING], 0);
    assert_int_equal(a.pmu.sum[PMU_LOADS_L1], 1);
    assert_int_equal(a.pmu.sum[PMU_LOADS_DRAM], 2);
    assert_int_equal(a.pmu.sum[PMU_OPS_EXECUTED], 5);
    assert_int_equal(a.pmu.sum[PMU_IDQ_MITE_UOPS], 3);
    assert_int_equal(a.pmu.sum[PMU_IDQ_DSB_UOPS], 4);
    assert_int_equal(a.pmu.sum[PMU_IDQ_MS_UOPS], 5);
    for (unsigned e = PMU_MS_SWITCHES; e <= PMU_ICACHE_STALLS; e++)
        assert_int_equal(a.pmu.sum[e], 1);
    assert_int_equal(a.pmu.sum[PMU_DIVIDER_ACTIVE], 1);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

/* The counts of the fast path are those of the definition, increment by increment. */
static void check_increments(const struct pmu *pmu, const struct cycle_report *r, unsigned n)
{
    for (unsigned e = 0; e < PMU_EVENTS; e++) {
        uint64_t sum = 0, cycles[PMU_HISTOGRAM] = {0};

        for (unsigned i = 0; i < n; i++) {
            unsigned increment = pmu__increment(pmu, (enum pmu_event)e, &r[i]);

            sum += (uint64_t)increment * r[i].cycles;
            cycles[increment < PMU_HISTOGRAM ? increment : PMU_HISTOGRAM - 1] += r[i].cycles;
        }
        if (pmu->sum[e] != sum || memcmp(pmu->cycles_with[e], cycles, sizeof cycles) != 0)
            fail_msg("%s: counted %llu, increments sum up to %llu", pmu__event_name((enum pmu_event)e),
                     (unsigned long long)pmu->sum[e], (unsigned long long)sum);
    }
}

/* Batches of random but legal reports: every sum holds, and batch boundaries do not matter. */
static void test_sums_hold_for_any_reports(void **state)
{
    enum { REPORTS = 5000 };
    struct cycle_report *r = calloc(REPORTS, sizeof *r);
    struct accounts whole, parts;
    unsigned seed = 1, in_flight = 0, executed = 0;

    (void)state;
    assert_non_null(r);
    for (unsigned i = 0; i < REPORTS; i++) {
        bool idle = rand_r(&seed) % 4 == 0;
        unsigned stall = STALL_NONE + 1 + (unsigned)rand_r(&seed) % (STALL_COUNT - 1);

        r[i] = report__idle(idle ? (uint32_t)(rand_r(&seed) % 500 + 1) : 1, (enum stall)stall,
                            rand_r(&seed) % 8 ? (uint32_t)(rand_r(&seed) % 3000) : REPORT_NO_SITE);
        r[i].wait = (uint8_t)(rand_r(&seed) % WAIT_COUNT);
        r[i].execute_wait = (uint8_t)(rand_r(&seed) % WAIT_COUNT);
        r[i].retire_wait = (uint8_t)(rand_r(&seed) % WAIT_COUNT);
        r[i].mem_outstanding = (uint8_t)rand_r(&seed);
        r[i].flags = (uint8_t)rand_r(&seed);
        r[i].resource = (uint8_t)(rand_r(&seed) % RES_COUNT);
        if (STALL_IS_RECOVERY(stall))
            r[i].flush_kind =
                (uint8_t)(stall == STALL_RECOVERY_CLEAR ? FLUSH_MEMORY_ORDERING + rand_r(&seed) % 3
                                                        : FLUSH_CONDITIONAL + rand_r(&seed) % 3);
        r[i].state = (uint8_t)rand_r(&seed);
        r[i].offcore_reads = (uint8_t)rand_r(&seed);
        r[i].loads_pending = (uint8_t)(rand_r(&seed) % 3);
        r[i].l1_miss_pending = (uint8_t)(rand_r(&seed) % 100);
        r[i].l2_miss_pending = (uint8_t)(rand_r(&seed) % 2);
        r[i].l3_miss_pending = (uint8_t)(rand_r(&seed) % 2);
        if (idle)
            continue;
        r[i].ports = (uint16_t)(rand_r(&seed) % 65536);
        r[i].lfb_waits = (uint8_t)(rand_r(&seed) % 3);
        r[i].decoded = (uint8_t)(rand_r(&seed) % 5);
        r[i].retired_stores = (uint8_t)(rand_r(&seed) % 5);
        r[i].retired_memory = (uint8_t)(rand_r(&seed) % 5);
        r[i].retired_pair = (uint8_t)(rand_r(&seed) % 16);
        r[i].mispredicts = (uint8_t)(rand_r(&seed) % 2);
        r[i].clears = (uint8_t)(rand_r(&seed) % 2);
        r[i].source = (uint8_t)(FETCH_MITE + rand_r(&seed) % 4);
        r[i].delivered = (uint8_t)(rand_r(&seed) % 7);
        r[i].delivered_ms = (uint8_t)(r[i].delivered ? rand_r(&seed) % (r[i].delivered + 1) : 0);
        if (r[i].source == FETCH_MS)
            r[i].delivered_ms = r[i].delivered;
        for (unsigned level = 0; level < 5; level++)
            r[i].load_level[level] = (uint8_t)(rand_r(&seed) % 3);
        if (rand_r(&seed) % 4 == 0) {
            r[i].memory_events = (uint64_t)rand_r(&seed) << 32 | (unsigned)rand_r(&seed);
            r[i].uop_events = (uint64_t)rand_r(&seed) << 32 | (unsigned)rand_r(&seed);
            r[i].insn_counts = ((uint64_t)rand_r(&seed) << 32 | (unsigned)rand_r(&seed)) & 0x0f0f0f0f0f0f0f0f;
        }
        r[i].issued = (uint8_t)(rand_r(&seed) % (WIDTH + 1));
        if (r[i].issued == WIDTH)
            r[i].stall = STALL_NONE;
        in_flight += r[i].issued;
        report__retire(&r[i], (unsigned)rand_r(&seed) % 9 % (in_flight + 1),
                       (uint32_t)(rand_r(&seed) % 3000));
        in_flight -= r[i].retired;
        r[i].executed = (uint8_t)(rand_r(&seed) % 9);
        r[i].executed_fused = (uint8_t)((unsigned)rand_r(&seed) % (r[i].executed + 1U));
        executed += r[i].executed_fused;
        if (rand_r(&seed) % 20 == 0) {
            r[i].squashed = (uint16_t)in_flight;
            r[i].squashed_executed = (uint16_t)(executed < in_flight ? executed : in_flight);
            executed = 0;
            if (!r[i].flush_kind)
                r[i].flush_kind = (uint8_t)(1 + rand_r(&seed) % (FLUSH_KINDS - 1));
            in_flight = 0;
        }
    }
    accounts__init(&whole);
    accounts__init(&parts);
    accounts__consume(&whole, r, REPORTS);
    for (unsigned i = 0, n; i < REPORTS; i += n) {
        n = (unsigned)rand_r(&seed) % 1024 + 1;
        n = n < REPORTS - i ? n : REPORTS - i;
        accounts__consume(&parts, r + i, n);
    }
    accounts__check_sums(&whole);
    check_increments(&whole.pmu, r, REPORTS);
    assert_int_equal(whole.truth.in_flight, in_flight);
    assert_memory_equal(&whole.truth, &parts.truth, sizeof whole.truth);
    assert_memory_equal(&whole.pmu, &parts.pmu, sizeof whole.pmu);
    assert_memory_equal(&whole.stack, &parts.stack, sizeof whole.stack);
    assert_memory_equal(&whole.stages, &parts.stages, sizeof whole.stages);
    assert_int_equal(whole.tip.n_sites, parts.tip.n_sites);
    assert_memory_equal(whole.tip.site, parts.tip.site, whole.tip.n_sites * sizeof *whole.tip.site);
    tip__free(&whole.tip);
    tip__free(&parts.tip);
    free(r);
}

static void check_stage(const struct accounts *a, enum stage stage, enum wait w, uint64_t slots)
{
    if (a->stages.slots[stage][w] != slots)
        fail_msg("%s: %s has %llu slots, not %llu", stage_stacks__name(stage), cpi_stack__component_name(w),
                 (unsigned long long)a->stages.slots[stage][w], (unsigned long long)slots);
}

/* The rest of a cycle goes to what each stage waits for; uops thrown away were Branch. */
static void test_stages_wait_for_different_things(void **state)
{
    struct accounts a;
    struct cycle_report r[3];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(1, STALL_FE_MITE, 0); /* three come, none is there yet further down */
    r[0].issued = 3;
    r[0].execute_wait = r[0].retire_wait = WAIT_L2;
    r[1] = report__idle(1, STALL_BE_DRAM, 0); /* all three execute; one retires, two are thrown away */
    r[1].executed_fused = 3;
    r[1].execute_wait = WAIT_PORTS;
    report__retire(&r[1], 1, 0);
    r[1].retire_wait = WAIT_DIVIDE;
    r[1].squashed = 2;
    r[1].squashed_executed = 2;
    r[1].flush_kind = FLUSH_RETURN;
    r[2] = report__idle(10, STALL_BE_STORE, 0);
    r[2].execute_wait = WAIT_DTLB;
    r[2].retire_wait = WAIT_L3;
    accounts__consume(&a, r, 3);
    check_stage(&a, STAGE_RENAME, WAIT_BASE, 1);
    check_stage(&a, STAGE_RENAME, WAIT_FRONTEND, 1);
    check_stage(&a, STAGE_RENAME, WAIT_DRAM, 4);
    check_stage(&a, STAGE_RENAME, WAIT_BRANCH, 2);
    check_stage(&a, STAGE_RENAME, WAIT_STORE, 40);
    check_stage(&a, STAGE_EXECUTE, WAIT_BASE, 1);
    check_stage(&a, STAGE_EXECUTE, WAIT_L2, 4);
    check_stage(&a, STAGE_EXECUTE, WAIT_PORTS, 1);
    check_stage(&a, STAGE_EXECUTE, WAIT_BRANCH, 2);
    check_stage(&a, STAGE_EXECUTE, WAIT_DTLB, 40);
    check_stage(&a, STAGE_RETIRE, WAIT_BASE, 1);
    check_stage(&a, STAGE_RETIRE, WAIT_L2, 4);
    check_stage(&a, STAGE_RETIRE, WAIT_DIVIDE, 3);
    check_stage(&a, STAGE_RETIRE, WAIT_L3, 40);
    assert_true(stage_stacks__cycles(&a.stages, STAGE_RETIRE, WAIT_L3) == 10);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

/* Further down, an empty stage lacks what rename lacked earlier: by 5 cycles for execution, 8 for retirement.
 */
static void test_stages_starve_later(void **state)
{
    struct accounts a;
    struct cycle_report r[3];

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(20, STALL_FE_ICACHE, 0);
    r[1] = report__idle(6, STALL_FE_ITLB, 0);
    r[2] = report__idle(30, STALL_FE_DSB, 0);
    accounts__consume(&a, r, 3);
    check_stage(&a, STAGE_RENAME, WAIT_ICACHE, 80);
    check_stage(&a, STAGE_RENAME, WAIT_ITLB, 24);
    check_stage(&a, STAGE_RENAME, WAIT_FRONTEND, 120);
    check_stage(&a, STAGE_EXECUTE, WAIT_ICACHE, 80);
    check_stage(&a, STAGE_EXECUTE, WAIT_ITLB, 24);
    check_stage(&a, STAGE_EXECUTE, WAIT_FRONTEND, 120); /* 5 cycles before the first, 5 fewer at the end */
    check_stage(&a, STAGE_RETIRE, WAIT_ICACHE, 80);
    accounts__check_sums(&a);
    tip__free(&a.tip);

    accounts__init(&a);
    r[0] = report__idle(7, STALL_FE_ICACHE, 0);
    r[1] = report__idle(7, STALL_FE_ITLB, 0);
    accounts__consume(&a, r, 2);
    check_stage(&a, STAGE_EXECUTE, WAIT_FRONTEND, 20);
    check_stage(&a, STAGE_EXECUTE, WAIT_ICACHE, 28);
    check_stage(&a, STAGE_EXECUTE, WAIT_ITLB, 8);
    check_stage(&a, STAGE_RETIRE, WAIT_FRONTEND, 32);
    check_stage(&a, STAGE_RETIRE, WAIT_ICACHE, 24);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

/* Ports and retirement may handle more than are issued in a cycle: the rest counts in the next ones. */
static void test_stages_carry_what_does_not_fit(void **state)
{
    struct accounts a;
    struct cycle_report r[3];

    (void)state;
    accounts__init(&a);
    for (unsigned i = 0; i < 3; i++) {
        r[i] = report__idle(1, STALL_NONE, 0);
        r[i].issued = WIDTH;
        r[i].execute_wait = r[i].retire_wait = WAIT_L1D;
    }
    r[1].executed_fused = 7;
    report__retire(&r[2], 8, 0);
    accounts__consume(&a, r, 3);
    check_stage(&a, STAGE_RENAME, WAIT_BASE, 12);
    check_stage(&a, STAGE_EXECUTE, WAIT_BASE, 7);
    check_stage(&a, STAGE_EXECUTE, WAIT_L1D, 5);
    check_stage(&a, STAGE_RETIRE, WAIT_BASE, 4);
    check_stage(&a, STAGE_RETIRE, WAIT_L1D, 8);
    assert_int_equal(a.stages.carry[STAGE_RETIRE], 4);
    accounts__check_sums(&a);
    tip__free(&a.tip);
}

static void check_lookup(struct pmu *pmu, const char *name, double expected)
{
    double value = -1;

    if (!pmu__lookup(pmu, name, &value))
        fail_msg("%s is not known", name);
    assert_true(value == expected);
}

static void test_pmu_lookup(void **state)
{
    static const char *const unknown[] = {
        "NoSuchEvent",
        "FetchBubbles:c64",
        "FetchBubbles:c",
        "cpu@FetchBubbles",
        "cpu@FetchBubbles,edge@",
        "cpu@FetchBubbles,cmask@",
        "cpu@FetchBubbles,inv@",
        "FetchBubbles[4]",
        "FetchBubbles[>=]",
        "#no_such_literal",
        "FetchBubbles:k",
        "cpu@FetchBubbles,cmask=#nothing@",
        "",
        ":",
        "@@",
        "cpu@event=0xc4@",
        "cpu@IDQ_UOPS_NOT_DELIVERED.CYCLES_FE_WAS_OK,cmask=2@",
    };
    struct accounts a;
    struct cycle_report r[3];
    double value;

    (void)state;
    accounts__init(&a);
    r[0] = report__idle(2, STALL_FE_ITLB, 0);
    r[1] = report__idle(1, STALL_FE_DSB, 0);
    r[1].issued = 1;
    r[1].executed = 1;
    r[2] = report__idle(7, STALL_BE_L1, 0);
    accounts__consume(&a, r, 3);
    check_lookup(&a.pmu, "FetchBubbles", 11);
    check_lookup(&a.pmu, "FetchBubbles:u", 11);
    check_lookup(&a.pmu, "FetchBubbles:c4", 2);
    check_lookup(&a.pmu, "FetchBubbles:c1:i1", 7);
    check_lookup(&a.pmu, "FetchBubbles[>=3]", 3);
    check_lookup(&a.pmu, "FetchBubbles[>=#issue_width]", 2);
    check_lookup(&a.pmu, "FetchBubbles[<1]", 7);
    check_lookup(&a.pmu, "cpu@FetchBubbles\\,cmask\\=4@", 2);
    check_lookup(&a.pmu, "cpu@FetchBubbles,cmask=0x1,inv@", 7);
    check_lookup(&a.pmu, "cpu@FetchBubbles,cmask=#issue_width@", 2);
    check_lookup(&a.pmu, "cpu/FetchBubbles,cmask=1,edge=0/", 3);
    check_lookup(&a.pmu, "cpu@FetchBubbles@:u", 11);
    check_lookup(&a.pmu, "IDQ_UOPS_NOT_DELIVERED.CORE", 11);
    check_lookup(&a.pmu, "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 2);
    check_lookup(&a.pmu, "IDQ_UOPS_NOT_DELIVERED.CYCLES_FE_WAS_OK", 7);
    check_lookup(&a.pmu, "EXE_ACTIVITY.1_PORTS_UTIL", 1);
    check_lookup(&a.pmu, "CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", 9);
    check_lookup(&a.pmu, "cpu_clk_unhalted.thread", 10);
    check_lookup(&a.pmu, "#issue_width", 4);
    check_lookup(&a.pmu, "#slots", 4);
    check_lookup(&a.pmu, "#SMT_on", 0);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        if (pmu__lookup(&a.pmu, unknown[i], &value))
            fail_msg("%s must not be known", unknown[i]);
    tip__free(&a.tip);
}

/* Transitions of a condition to true; a report of several cycles is one condition. */
static void test_pmu_edges(void **state)
{
    static const unsigned bubbles[] = {0, 2, 4, 4, 0, 1, 4, 0};
    static const struct {
        const char *name;
        double count;
    } edges[] = {
        {"FetchBubbles:e1", 2},
        {"cpu@FetchBubbles,edge@", 2},
        {"FetchBubbles:c1:e1", 2},
        {"FetchBubbles:c2:e1", 2},
        {"cpu@FetchBubbles,cmask=4,edge=1@", 2},
        {"cpu@IDQ_UOPS_NOT_DELIVERED.CORE\\,cmask\\=0x3\\,edge\\=0x1@", 2},
        {"FetchBubbles:c1:i1:e1", 3},
        {"cpu@FetchBubbles,cmask=2,inv,edge@", 3},
        {"RS_EVENTS.EMPTY_END", 3}, /* not empty at first either */
    };
    struct accounts a;
    struct cycle_report r[8];
    double value;

    (void)state;
    accounts__init(&a);
    for (unsigned i = 0; i < 8; i++) {
        r[i] = report__idle(bubbles[i] == 4 ? 5 : 1, bubbles[i] ? STALL_FE_DSB : STALL_NONE, 0);
        r[i].issued = (uint8_t)(WIDTH - bubbles[i]);
        r[i].flags = bubbles[i] == 4 ? REPORT_RS_EMPTY : 0;
    }
    assert_false(pmu__lookup(&a.pmu, "FetchBubbles:e1", &value)); /* nobody asked before */
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        assert_true(pmu__prepare(&a.pmu, edges[i].name));
    assert_true(pmu__prepare(&a.pmu, "tma_no_event"));
    assert_int_equal(a.pmu.n_edges, 7); /* equal conditions share a counter */
    accounts__consume(&a, r, 3);
    accounts__consume(&a, r + 3, 5);
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_lookup(&a.pmu, edges[i].name, edges[i].count);
    assert_false(pmu__lookup(&a.pmu, "FetchBubbles:c3:i1:e1", &value));
    pmu__free(&a.pmu);
    tip__free(&a.tip);
}

/* --- few counters ------------------------------------------------------------------------------ */

static void mux__open(struct pmu_mux *mux, unsigned counters, uint32_t turn_cycles, const char *const *names)
{
    struct core core = {.issue_width = WIDTH, .retire_width = 4, .mem_queue_entries = 32};

    pmu_mux__init(mux, &core, counters, turn_cycles);
    for (size_t metric = 0; names[metric]; metric++) {
        char list[256], *save = NULL;

        snprintf(list, sizeof list, "%s", names[metric]);
        for (char *n = strtok_r(list, " ", &save); n; n = strtok_r(NULL, " ", &save))
            assert_true(pmu_mux__add(mux, metric, n));
    }
    assert_true(pmu_mux__pack(mux));
}

static double mux__count(struct pmu_mux *mux, size_t metric, const char *name)
{
    double value = -1;

    if (!pmu_mux__lookup(mux, metric, name, &value))
        fail_msg("%s of metric %zu is not counted", name, metric);
    return value;
}

/* `cycles` cycles: in the first `busy` of them four uops retire, in the others none. */
static void mux__run(struct pmu_mux *mux, unsigned cycles, unsigned busy)
{
    struct cycle_report r[50];

    for (unsigned done = 0; done < cycles; done += 50) {
        for (unsigned i = 0; i < 50; i++) {
            r[i] = report__idle(1, STALL_BE_DEPENDENCY, 0);
            if (done + i < busy)
                report__retire(&r[i], 4, 0);
            r[i].executed = done + i < busy ? 3 : 0;
        }
        mux->listener.consume(&mux->listener, r, 50);
    }
    pmu_mux__finish(mux);
}

static void test_multiplexing_of_a_constant_rate_is_exact(void **state)
{
    static const char *const names[] = {"SlotsRetired Clocks", "OpsExecuted:c3", "UopsRetired Instructions",
                                        NULL};
    struct pmu_mux mux;
    uint64_t enabled = 0;

    (void)state;
    mux__open(&mux, 1, 37, names);
    assert_int_equal(mux.n_groups, 3);
    mux__run(&mux, 2000, 2000);
    for (size_t g = 0; g < mux.n_groups; g++)
        enabled += mux.group[g].enabled_cycles;
    assert_int_equal(enabled, 2000);
    assert_int_equal(mux.n_turns, 2000 / 37 + 1);
    assert_true(mux__count(&mux, 0, "SlotsRetired") == 8000);
    assert_true(mux__count(&mux, 0, "Clocks") == 2000);
    assert_true(mux__count(&mux, 1, "OpsExecuted:c3") == 2000);
    assert_true(mux__count(&mux, 2, "UopsRetired") == 8000);
    assert_true(mux__count(&mux, 2, "Instructions") == 8000);
    assert_true(mux__count(&mux, 1, "#issue_width") == WIDTH);
    pmu_mux__free(&mux);
}

/* With long turns a group sees one phase only; with short ones all of them see both. */
static void test_multiplexing_of_phases_errs(void **state)
{
    static const char *const names[] = {"SlotsRetired", "OpsExecuted", NULL};
    struct pmu_mux mux;
    double slots, ops;

    (void)state;
    mux__open(&mux, 1, 1000, names);
    mux__run(&mux, 2000, 1000);
    assert_true(mux__count(&mux, 0, "SlotsRetired") == 8000); /* truth: 4000 */
    assert_true(mux__count(&mux, 1, "OpsExecuted") == 0);     /* truth: 3000 */
    pmu_mux__free(&mux);

    mux__open(&mux, 1, 30, names);
    mux__run(&mux, 2000, 1000);
    slots = mux__count(&mux, 0, "SlotsRetired");
    ops = mux__count(&mux, 1, "OpsExecuted");
    assert_true(slots != 4000 && slots > 3700 && slots < 4300);
    assert_true(ops != 3000 && ops > 2700 && ops < 3300);
    pmu_mux__free(&mux);

    mux__open(&mux, 2, 30, names); /* room for both: nothing takes turns */
    mux__run(&mux, 2000, 1000);
    assert_int_equal(mux.n_groups, 1);
    assert_true(mux__count(&mux, 0, "SlotsRetired") == 4000);
    assert_true(mux__count(&mux, 1, "OpsExecuted") == 3000);
    pmu_mux__free(&mux);
}

static void test_packing_of_groups(void **state)
{
    static const char *const names[] = {
        "SlotsRetired SlotsIssued Clocks", /* group 0 */
        "BrRetired Port0 Port1",           /* does not fit: group 1 */
        "OpsExecuted",                     /* room in group 0 */
        "Port1 BrRetired TotalSlots",      /* all there: group 1 */
        "Port2 Port3 Port4 Port5",         /* more than there are counters: groups 2 and 3 */
        "NoSuchEvent #issue_width",        /* nothing to count */
        "OpsExecuted:c1:e1 OpsExecuted",   /* an edge is an event of its own: group 3 */
        NULL,
    };
    struct pmu_mux mux;
    double value;

    (void)state;
    mux__open(&mux, 3, 100, names);
    assert_int_equal(mux.n_groups, 4);
    for (size_t g = 0; g < mux.n_groups; g++)
        assert_int_equal(mux.group[g].n_counters, 3);
    assert_int_equal(mux.group[0].n_events, 4);
    assert_int_equal(mux.group[1].n_events, 4);
    mux__run(&mux, 400, 350); /* a turn for each group; the last sees half of its turn busy */
    assert_true(mux__count(&mux, 0, "SlotsRetired") == 400 * 4);
    assert_true(mux__count(&mux, 2, "OpsExecuted") == 400 * 3);
    assert_true(mux__count(&mux, 6, "OpsExecuted") == 200 * 3); /* the same event in another group */
    assert_false(pmu_mux__lookup(&mux, 0, "OpsExecuted", &value));
    assert_false(pmu_mux__lookup(&mux, 5, "NoSuchEvent", &value));
    pmu_mux__free(&mux);

    mux__open(&mux, 3, 1000, names);
    mux__run(&mux, 400, 350);
    assert_true(mux__count(&mux, 0, "SlotsRetired") == 350 * 4);
    assert_false(pmu_mux__lookup(&mux, 4, "Port5", &value)); /* its turn never came */
    pmu_mux__free(&mux);
}

static void test_names(void **state)
{
    (void)state;
    for (int e = 0; e < PMU_EVENTS; e++)
        assert_int_equal(pmu__event_by_name(pmu__event_name((enum pmu_event)e)), e);
    assert_int_equal(pmu__event_by_name("fetchbubbles"), -1);
    assert_string_equal(pmu__event_name(PMU_MEM_STALLS_L1_MISS), "MemStalls.L1miss");
    for (int w = 0; w < WAIT_COUNT; w++)
        assert_non_null(cpi_stack__component_name((enum wait)w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth_owns_every_slot),
        cmocka_unit_test(test_tip_shares_cycles),
        cmocka_unit_test(test_retired_slots_by_work),
        cmocka_unit_test(test_recovery_without_branch_blames_the_stall_site),
        cmocka_unit_test(test_pmu_fetch_bubbles_exclude_other_stalls),
        cmocka_unit_test(test_pmu_memory_stalls),
        cmocka_unit_test(test_pmu_counts_what_retires_and_is_delivered),
        cmocka_unit_test(test_sums_hold_for_any_reports),
        cmocka_unit_test(test_stages_wait_for_different_things),
        cmocka_unit_test(test_stages_starve_later),
        cmocka_unit_test(test_stages_carry_what_does_not_fit),
        cmocka_unit_test(test_pmu_lookup),
        cmocka_unit_test(test_pmu_edges),
        cmocka_unit_test(test_multiplexing_of_a_constant_rate_is_exact),
        cmocka_unit_test(test_multiplexing_of_phases_errs),
        cmocka_unit_test(test_packing_of_groups),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
