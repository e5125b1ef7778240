/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated PMU (PIPELINE.md 13.2, 13.3). Invariant, after every batch and for every event:
 *     sum over bins of cycles_with == cycles
 *
 * What happens in most cycles must not be decided by branches, which would be mispredicted: each such
 * field, or small group of fields, is an index into a count of cycles. The counts of groups live for one
 * batch and are turned into events at its end.
 */
#include "fathom/account.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/memory.h"

/* "Few" executed uops: cycles with 0, 1 or 2 (paper, section 4.2). */
enum { PMU_FEW_LIMIT = 3 };

/* Why a group could not be filled, by what had been issued: 64 stalls, 16 widths. */
enum { SLOT_STALLS = 64, SLOT_ISSUED = 16 };
/* enum fetch_source, to a power of two. */
enum { SOURCES = 8 };
/* Bits of a count of memory situations; 0 to 2 uops executed above them, 3: more. */
enum { SEEN_LOAD = 1, SEEN_L1 = 2, SEEN_L2 = 4, SEEN_L3 = 8, SEEN_SB_FULL = 16, SEEN_EXECUTED = 32 };
_Static_assert((int)STALL_COUNT <= (int)SLOT_STALLS, "stalls must fit");

/* Cycles of one batch by groups of fields. */
struct pmu_batch {
    uint64_t cycles;
    uint64_t outstanding; /* sum of the increments that may be beyond the histogram */
    uint64_t slots[SLOT_STALLS * SLOT_ISSUED];
    uint64_t memory[(PMU_FEW_LIMIT + 1) * SEEN_EXECUTED];
    uint64_t flags[256];
    uint64_t state[256];
    uint64_t ports[1 << PMU_PORTS];
    uint64_t exe_bound_0;
    uint64_t delivered[SOURCES * PMU_HISTOGRAM];
    uint64_t resource[RES_COUNT];
};

static inline unsigned pmu__bin(unsigned increment)
{
    return increment < PMU_HISTOGRAM ? increment : PMU_HISTOGRAM - 1;
}

/* An event that is counted in every report, zero increments included; its sum is taken from the bins. */
static inline void pmu__every(struct pmu *pmu, enum pmu_event event, unsigned increment, uint64_t cycles)
{
    assert(increment < PMU_HISTOGRAM);
    pmu->cycles_with[event][increment % PMU_HISTOGRAM] += cycles;
}

/* An event that is counted only where it happens. Bin 0 gets all cycles of the batch at its end. */
static inline void pmu__some(struct pmu *pmu, enum pmu_event event, unsigned increment, uint64_t cycles)
{
    pmu->sum[event] += increment * cycles;
    pmu->cycles_with[event][0] -= cycles;
    pmu->cycles_with[event][pmu__bin(increment)] += cycles;
}

static void pmu__clears(struct pmu *pmu, const struct cycle_report *r)
{
    pmu__some(pmu, PMU_MACHINE_CLEARS, r->clears, r->cycles);
    if (r->flush_kind == FLUSH_MEMORY_ORDERING)
        pmu__some(pmu, PMU_CLEARS_MEMORY_ORDERING, r->clears, r->cycles);
    if (r->flush_kind == FLUSH_SELF_MODIFYING)
        pmu__some(pmu, PMU_CLEARS_SMC, r->clears, r->cycles);
}

/* What few cycles have. */
static void pmu__seldom(struct pmu *pmu, const struct cycle_report *r)
{
    if (r->mispredicts)
        pmu__some(pmu, PMU_BR_MISPRED_RETIRED, r->mispredicts, r->cycles);
    if (r->clears)
        pmu__clears(pmu, r);
    if (r->delivered_ms)
        pmu__some(pmu, PMU_IDQ_MS_UOPS, r->delivered_ms, r->cycles);
    if (r->retired_ms)
        pmu__some(pmu, PMU_MS_SLOTS_RETIRED, (unsigned)__builtin_popcount(r->retired_ms), r->cycles);
    for (unsigned level = 1; level < 5; level++)
        if (r->load_level[level])
            pmu__some(pmu, (enum pmu_event)(PMU_LOADS_L1 + level), r->load_level[level], r->cycles);
    if (r->load_level[MEM_L2] + r->load_level[MEM_L3] + r->load_level[MEM_DRAM])
        pmu__some(pmu, PMU_LOADS_L1_MISS,
                  0U + r->load_level[MEM_L2] + r->load_level[MEM_L3] + r->load_level[MEM_DRAM], r->cycles);
    if (r->load_level[MEM_L3] + r->load_level[MEM_DRAM])
        pmu__some(pmu, PMU_LOADS_L2_MISS, 0U + r->load_level[MEM_L3] + r->load_level[MEM_DRAM], r->cycles);
    if (r->mispredicts + r->clears)
        pmu__some(pmu, PMU_FLUSHES, r->mispredicts + (unsigned)r->clears, r->cycles);
}

/* Counts of one byte each, for the events from `first` on. */
static void pmu__packed(struct pmu *pmu, unsigned first, uint64_t counts, uint64_t cycles)
{
    while (counts) {
        const unsigned byte = (unsigned)__builtin_ctzll(counts) / 8;

        pmu__some(pmu, (enum pmu_event)(first + byte), counts >> 8 * byte & 255, cycles);
        counts &= ~(255ull << 8 * byte);
    }
}

/* Retired instructions of the kinds with counters of their own, and sums of these kinds. */
static void pmu__insns(struct pmu *pmu, uint64_t counts, uint64_t cycles)
{
    uint8_t n[INSN_COUNTS];
    unsigned scalar, vector, four;

    memcpy(n, &counts, sizeof n); /* least significant byte first, as in the packed word */
    scalar = 0U + n[INSN_COUNT_SCALAR_SINGLE] + n[INSN_COUNT_SCALAR_DOUBLE];
    four = 0U + n[INSN_COUNT_128_SINGLE] + n[INSN_COUNT_256_DOUBLE];
    vector = four + n[INSN_COUNT_128_DOUBLE] + n[INSN_COUNT_256_SINGLE];
    pmu__packed(pmu, PMU_FP_SCALAR_SINGLE, counts, cycles);
    if (scalar)
        pmu__some(pmu, PMU_FP_SCALAR, scalar, cycles);
    if (vector)
        pmu__some(pmu, PMU_FP_VECTOR, vector, cycles);
    if (four)
        pmu__some(pmu, PMU_FP_4_FLOPS, four, cycles);
}

static inline void pmu__report(struct pmu *pmu, struct pmu_batch *batch, const struct cycle_report *r)
{
    const uint64_t c = r->cycles;
    const bool refused = STALL_IS_BACKEND(r->stall) & (r->issued < pmu->width);
    const unsigned few = r->executed < PMU_FEW_LIMIT ? r->executed : PMU_FEW_LIMIT;
    const unsigned memory = (r->loads_pending ? SEEN_LOAD : 0U) | (r->l1_miss_pending ? SEEN_L1 : 0U) |
                            (r->l2_miss_pending ? SEEN_L2 : 0U) | (r->l3_miss_pending ? SEEN_L3 : 0U) |
                            (r->flags & REPORT_SB_FULL ? SEEN_SB_FULL : 0U);
    const unsigned from_source = (unsigned)r->delivered - r->delivered_ms;
    static const uint8_t bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    const bool starved = !r->executed & !(r->flags & REPORT_RS_EMPTY);
    uint32_t beyond_l1;

    assert(r->issued <= pmu->width && r->stall < STALL_COUNT && r->resource < RES_COUNT);
    assert(r->delivered_ms <= r->delivered && r->delivered < PMU_HISTOGRAM && r->source <= FETCH_MS);
    assert((from_source == 0 || r->source != FETCH_NONE) && "uops delivered from nowhere");
    batch->cycles += c;
    batch->slots[r->stall % SLOT_STALLS * SLOT_ISSUED + r->issued % SLOT_ISSUED] += c;
    batch->memory[few * SEEN_EXECUTED + memory] += c;
    batch->flags[r->flags] += c;
    batch->delivered[r->source % SOURCES * PMU_HISTOGRAM + from_source % PMU_HISTOGRAM] += c;
    batch->resource[refused ? r->resource : RES_NONE] += c;
    batch->ports[r->ports % (1U << PMU_PORTS)] += c;
    batch->outstanding += r->mem_outstanding * c;
    batch->exe_bound_0 += starved ? c : 0;
    pmu__every(pmu, PMU_INSTRUCTIONS, r->retired_insns, c);
    pmu__every(pmu, PMU_SLOTS_RETIRED, r->retired, c);
    pmu__every(pmu, PMU_UOPS_RETIRED, r->retired_uops, c);
    pmu__every(pmu, PMU_OPS_EXECUTED, r->executed, c);
    pmu__every(pmu, PMU_BR_RETIRED, r->branches, c);
    pmu__every(pmu, PMU_LOADS_L1, r->load_level[0], c);
    pmu__every(pmu, PMU_STORES_RETIRED, r->retired_stores, c);
    pmu__every(pmu, PMU_MEMORY_RETIRED, r->retired_memory, c);
    pmu__every(pmu, PMU_FUSED_RETIRED, 0U + bits[r->retired_pair & 15] + bits[r->retired_pair >> 4], c);
    pmu__every(pmu, PMU_EXT_MEM_OUTSTANDING, pmu__bin(r->mem_outstanding), c);
    memcpy(&beyond_l1, &r->load_level[1], sizeof beyond_l1);
    pmu__every(pmu, PMU_LOADS_RETIRED, r->load_level[0] + (beyond_l1 * 0x01010101U >> 24),
               c); /* sum of bytes */
    if (beyond_l1 | r->mispredicts | r->clears | r->delivered_ms | r->retired_ms)
        pmu__seldom(pmu, r);
    /* What holds for many cycles on end, or for none, is left to the branch predictor. */
    if (r->decoded)
        pmu__some(pmu, PMU_DECODED, r->decoded, c);
    if (r->state)
        batch->state[r->state] += c;
    if (r->l1_miss_pending | r->offcore_reads) {
        pmu__some(pmu, PMU_PENDING_L1_MISS, r->l1_miss_pending, c);
        pmu__some(pmu, PMU_OFFCORE_READS, r->offcore_reads, c);
    }
    if (r->lfb_waits)
        pmu__some(pmu, PMU_LFB_WAITS, r->lfb_waits, c);
    if (r->memory_events | r->uop_events) {
        pmu__packed(pmu, PMU_LOAD_STLB_HIT, r->memory_events, c);
        pmu__packed(pmu, PMU_FORWARD_BLOCKED, r->uop_events, c);
    }
    if (r->insn_counts)
        pmu__insns(pmu, r->insn_counts, c);
}

/* SlotsIssued, FetchBubbles and RecoveryBubbles from the count of slots (TD-2, TD-3). */
static void pmu__finish_slots(struct pmu *pmu, const struct pmu_batch *batch)
{
    for (unsigned stall = 0; stall < STALL_COUNT; stall++) {
        for (unsigned issued = 0; issued <= pmu->width; issued++) {
            const uint64_t c = batch->slots[stall * SLOT_ISSUED + issued];
            const unsigned empty = pmu->width - issued;

            if (c == 0)
                continue;
            pmu__some(pmu, PMU_SLOTS_ISSUED, issued, c);
            if (STALL_IS_FRONTEND(stall) && empty)
                pmu__some(pmu, PMU_FETCH_BUBBLES, empty, c);
            if (STALL_IS_RECOVERY(stall) && empty)
                pmu__some(pmu, PMU_RECOVERY_BUBBLES, empty, c);
        }
    }
}

/* MemStalls.* need no uops executed, or few for Stores, which AnyLoad excludes (13.2). */
static void pmu__finish_memory(struct pmu *pmu, const struct pmu_batch *batch)
{
    static const struct {
        uint8_t bit, stalls, pending; /* the number of pending L1 misses is counted in every report */
    } of[] = {
        {SEEN_LOAD, PMU_MEM_STALLS_ANY_LOAD, PMU_PENDING_ANY},
        {SEEN_L1, PMU_MEM_STALLS_L1_MISS, PMU_NEVER},
        {SEEN_L2, PMU_MEM_STALLS_L2_MISS, PMU_PENDING_L2_MISS},
        {SEEN_L3, PMU_MEM_STALLS_L3_MISS, PMU_PENDING_L3_MISS},
    };

    for (unsigned i = 0; i < (PMU_FEW_LIMIT + 1) * SEEN_EXECUTED; i++) {
        const uint64_t c = batch->memory[i];
        const bool any_load = i < SEEN_EXECUTED && (i & SEEN_LOAD);

        if (c == 0)
            continue;
        for (unsigned k = 0; k < sizeof of / sizeof of[0]; k++) {
            if (any_load && (i & of[k].bit))
                pmu__some(pmu, of[k].stalls, 1, c);
            if (of[k].pending != PMU_NEVER && (i & of[k].bit))
                pmu__some(pmu, of[k].pending, 1, c);
        }
        if (!any_load && i < PMU_FEW_LIMIT * SEEN_EXECUTED && (i & SEEN_SB_FULL))
            pmu__some(pmu, PMU_MEM_STALLS_STORES, 1, c);
    }
}

/* A count of cycles by a set of 8 bits, for the 8 events from `first` on. */
static void pmu__finish_bits(struct pmu *pmu, unsigned first, const uint64_t cycles[256])
{
    for (unsigned set = 1; set < 256; set++)
        for (unsigned rest = cycles[set] ? set : 0; rest; rest &= rest - 1)
            pmu__some(pmu, (enum pmu_event)(first + (unsigned)__builtin_ctz(rest)), 1, cycles[set]);
}

static void pmu__finish_flags(struct pmu *pmu, const struct pmu_batch *batch)
{
    static const struct {
        uint8_t flag, event;
    } of[] = {
        {REPORT_DIVIDER, PMU_DIVIDER_ACTIVE}, {REPORT_RS_EMPTY, PMU_RS_EMPTY},
        {REPORT_MS_SWITCH, PMU_MS_SWITCHES},  {REPORT_BACLEAR, PMU_BACLEARS},
        {REPORT_LCP, PMU_LCP_STALLS},         {REPORT_ICACHE, PMU_ICACHE_STALLS},
        {REPORT_ITLB, PMU_ITLB_STALLS},
    };

    for (unsigned flags = 1; flags < 256; flags++) {
        if (batch->flags[flags] == 0)
            continue;
        for (unsigned i = 0; i < sizeof of / sizeof of[0]; i++)
            if (flags & of[i].flag)
                pmu__some(pmu, of[i].event, 1, batch->flags[flags]);
        if (flags & (REPORT_ICACHE | REPORT_ITLB))
            pmu__some(pmu, PMU_FETCH_STALLS, 1, batch->flags[flags]);
    }
}

/* Uops that entered the IDQ, by source; those that the MS adds to a source's are counted as they come. */
static void pmu__finish_delivered(struct pmu *pmu, const struct pmu_batch *batch)
{
    for (unsigned n = 1; n < PMU_HISTOGRAM; n++) {
        pmu__some(pmu, PMU_IDQ_MITE_UOPS, n, batch->delivered[FETCH_MITE * PMU_HISTOGRAM + n]);
        pmu__some(pmu, PMU_IDQ_DSB_UOPS, n, batch->delivered[FETCH_DSB * PMU_HISTOGRAM + n]);
        pmu__some(pmu, PMU_IDQ_LSD_UOPS, n, batch->delivered[FETCH_LSD * PMU_HISTOGRAM + n]);
        pmu__some(pmu, PMU_IDQ_MS_UOPS, n, batch->delivered[FETCH_MS * PMU_HISTOGRAM + n]);
    }
}

/* Cycles in which the back end refused, by the resource that was missing. */
static void pmu__finish_resources(struct pmu *pmu, const struct pmu_batch *batch)
{
    uint64_t any = 0;

    for (unsigned resource = RES_NONE + 1; resource < RES_COUNT; resource++)
        any += batch->resource[resource];
    pmu__some(pmu, PMU_STALLS_ANY, 1, any);
    pmu__some(pmu, PMU_STALLS_SERIAL, 1, batch->resource[RES_SERIAL]);
    pmu__some(pmu, PMU_STALLS_ROB, 1, batch->resource[RES_ROB]);
    pmu__some(pmu, PMU_STALLS_RS, 1, batch->resource[RES_RS]);
    pmu__some(pmu, PMU_STALLS_LB, 1, batch->resource[RES_LOAD_BUFFER]);
    pmu__some(pmu, PMU_STALLS_SB, 1, batch->resource[RES_STORE_BUFFER]);
}

/* Bin 0 of the events that were counted only where they happened, and the sums of the others. */
static void pmu__finish_every(struct pmu *pmu, const struct pmu_batch *batch)
{
    static const uint8_t every[] = {
        PMU_INSTRUCTIONS,   PMU_SLOTS_RETIRED,  PMU_UOPS_RETIRED,        PMU_OPS_EXECUTED,
        PMU_BR_RETIRED,     PMU_LOADS_L1,       PMU_EXT_MEM_OUTSTANDING, PMU_LOADS_RETIRED,
        PMU_STORES_RETIRED, PMU_MEMORY_RETIRED, PMU_FUSED_RETIRED,
    };
    const uint64_t outstanding = pmu->sum[PMU_EXT_MEM_OUTSTANDING] + batch->outstanding;

    for (unsigned e = 0; e < PMU_EVENTS; e++)
        pmu->cycles_with[e][0] += batch->cycles;
    for (unsigned i = 0; i < sizeof every / sizeof every[0]; i++) {
        uint64_t sum = 0;

        for (unsigned bin = 1; bin < PMU_HISTOGRAM; bin++)
            sum += bin * pmu->cycles_with[every[i]][bin];
        pmu->sum[every[i]] = sum;
        pmu->cycles_with[every[i]][0] -= batch->cycles;
    }
    pmu->sum[PMU_EXT_MEM_OUTSTANDING] = outstanding;
}

static void pmu__edges(const struct pmu *pmu, struct pmu_edge *edge, const struct cycle_report *reports,
                       unsigned n)
{
    const struct pmu_query q = edge->query;

    for (unsigned i = 0; i < n; i++) {
        const unsigned increment = pmu__increment(pmu, (enum pmu_event)q.event, &reports[i]);
        const bool now = q.mask == PMU_MASK_BELOW   ? increment < q.cmask
                         : q.mask == PMU_MASK_EQUAL ? increment == q.cmask
                                                    : increment >= q.cmask;

        edge->count += now & !edge->last;
        edge->last = now;
    }
}

static void pmu__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct pmu *pmu = (struct pmu *)self;
    struct pmu_batch batch = {0};

    for (unsigned i = 0; i < n; i++)
        pmu__report(pmu, &batch, &reports[i]);
    pmu__some(pmu, PMU_CYCLES, 1, batch.cycles);
    pmu__some(pmu, PMU_TOTAL_SLOTS, pmu->width, batch.cycles);
    pmu__finish_slots(pmu, &batch);
    pmu__finish_memory(pmu, &batch);
    pmu__finish_flags(pmu, &batch);
    pmu__finish_bits(pmu, PMU_WALKING_LOAD, batch.state);
    pmu__finish_bits(pmu, PMU_PORT_0, batch.ports);
    pmu__some(pmu, PMU_EXE_BOUND_0, 1, batch.exe_bound_0);
    pmu__finish_delivered(pmu, &batch);
    pmu__finish_resources(pmu, &batch);
    pmu__finish_every(pmu, &batch);
    for (size_t i = 0; i < pmu->n_edges; i++)
        pmu__edges(pmu, &pmu->edge[i], reports, n);
}

void pmu__init(struct pmu *pmu, const struct core *core)
{
    uint32_t threshold = (core->mem_queue_entries * 7 + 9) / 10; /* 70 %, paper section 3.7 */

    assert(core->issue_width > 0 && core->issue_width < SLOT_ISSUED);
    memset(pmu, 0, sizeof *pmu);
    pmu->listener.consume = pmu__consume;
    pmu->width = core->issue_width;
    _Static_assert(PMU_WALKING_LOAD + 8 == PMU_LOAD_STLB_HIT &&
                       PMU_FORWARD_BLOCKED + 8 == PMU_FP_SCALAR_SINGLE &&
                       PMU_PORT_LAST + 1 - PMU_PORT_0 == PMU_PORTS,
                   "eight events each");
    if (threshold < 1)
        threshold = 1;
    pmu->machine = (struct pmu_machine){
        .freq_ghz = core->freq_ghz,
        .ext_mem_threshold = threshold < PMU_HISTOGRAM ? threshold : PMU_HISTOGRAM - 1,
        .stlb_hit_cyc = core->stlb_hit_cyc,
        .baclear_cyc = core->baclear_cyc,
        .ms_switch_cyc = core->ms_stall_dsb_cyc,
        .store_forward_blocked_cyc = core->store_forward_blocked_cyc,
        .split_load_cyc = core->split_load_cyc,
    };
}

void pmu__free(struct pmu *pmu)
{
    free(pmu->edge);
    pmu->edge = NULL;
    pmu->n_edges = 0;
}

uint64_t pmu__read(const struct pmu *pmu, enum pmu_event event, unsigned cmask, int invert)
{
    uint64_t cycles = 0;

    assert((unsigned)event <= PMU_NEVER && cmask < PMU_HISTOGRAM);
    if (event == PMU_NEVER) /* an increment of 0 in every cycle */
        return cmask > 0 && invert ? pmu->sum[PMU_CYCLES] : 0;
    if (cmask == 0)
        return pmu->sum[event];
    for (unsigned bin = invert ? 0 : cmask; bin < (invert ? cmask : (unsigned)PMU_HISTOGRAM); bin++)
        cycles += pmu->cycles_with[event][bin];
    return cycles;
}
