/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of the simulated PMU counts in a cycle: the table of docs/accounting.md, section 5. */
#include <assert.h>

#include "fathom/account.h"
#include "fathom/insn.h"
#include "fathom/memory.h"

enum { PMU_FEW_LIMIT = 3 }; /* "few" executed uops: 0, 1 or 2 */

static unsigned packed(uint64_t counts, unsigned byte)
{
    return counts >> 8 * byte & 255;
}

/* A back-end stall with empty slots, for lack of `resource` (RES_NONE: of any). */
static bool refused(const struct pmu *pmu, const struct cycle_report *r, enum resource resource)
{
    if (!STALL_IS_BACKEND(r->stall) || r->issued >= pmu->width)
        return false;
    return resource == RES_NONE ? r->resource != RES_NONE : r->resource == resource;
}

/* The front end's counts of the paper, and what the other front-end counts stand for. */
static unsigned increment__frontend(const struct pmu *pmu, enum pmu_event event, const struct cycle_report *r)
{
    const unsigned empty = pmu->width - r->issued, from_source = (unsigned)r->delivered - r->delivered_ms;

    switch (event) {
    case PMU_FETCH_BUBBLES:
        return STALL_IS_FRONTEND(r->stall) ? empty : 0;
    case PMU_RECOVERY_BUBBLES:
        return STALL_IS_RECOVERY(r->stall) ? empty : 0;
    case PMU_IDQ_MITE_UOPS:
        return r->source == FETCH_MITE ? from_source : 0;
    case PMU_IDQ_DSB_UOPS:
        return r->source == FETCH_DSB ? from_source : 0;
    case PMU_IDQ_LSD_UOPS:
        return r->source == FETCH_LSD ? from_source : 0;
    case PMU_IDQ_MS_UOPS:
        return r->delivered_ms + (r->source == FETCH_MS ? from_source : 0);
    case PMU_MS_SWITCHES:
        return (r->flags & REPORT_MS_SWITCH) != 0;
    case PMU_BACLEARS:
        return (r->flags & REPORT_BACLEAR) != 0;
    case PMU_LCP_STALLS:
        return (r->flags & REPORT_LCP) != 0;
    case PMU_ICACHE_STALLS:
        return (r->flags & REPORT_ICACHE) != 0;
    case PMU_ITLB_STALLS:
        return (r->flags & REPORT_ITLB) != 0;
    case PMU_FETCH_STALLS:
        return (r->flags & (REPORT_ICACHE | REPORT_ITLB)) != 0;
    default:
        assert(event == PMU_DECODED);
        return r->decoded;
    }
}

static unsigned increment__stalls(const struct pmu *pmu, enum pmu_event event, const struct cycle_report *r)
{
    const bool waits = r->executed == 0 && r->loads_pending > 0;

    switch (event) {
    case PMU_MEM_STALLS_ANY_LOAD:
        return waits;
    case PMU_MEM_STALLS_L1_MISS:
        return waits && r->l1_miss_pending > 0;
    case PMU_MEM_STALLS_L2_MISS:
        return waits && r->l2_miss_pending > 0;
    case PMU_MEM_STALLS_L3_MISS:
        return waits && r->l3_miss_pending > 0;
    case PMU_MEM_STALLS_STORES:
        return r->executed < PMU_FEW_LIMIT && (r->flags & REPORT_SB_FULL) && !waits;
    case PMU_EXE_BOUND_0:
        return r->executed == 0 && !(r->flags & REPORT_RS_EMPTY);
    case PMU_STALLS_ROB:
        return refused(pmu, r, RES_ROB);
    case PMU_STALLS_RS:
        return refused(pmu, r, RES_RS);
    case PMU_STALLS_LB:
        return refused(pmu, r, RES_LOAD_BUFFER);
    case PMU_STALLS_SB:
        return refused(pmu, r, RES_STORE_BUFFER);
    case PMU_STALLS_SERIAL:
        return refused(pmu, r, RES_SERIAL);
    default:
        assert(event == PMU_STALLS_ANY);
        return refused(pmu, r, RES_NONE);
    }
}

static unsigned increment__retired(const struct pmu *pmu, enum pmu_event event, const struct cycle_report *r)
{
    const uint8_t *served = r->load_level;
    const uint64_t fp = r->insn_counts;
    unsigned loads = 0;

    (void)pmu;
    switch (event) {
    case PMU_INSTRUCTIONS:
        return r->retired_insns;
    case PMU_SLOTS_RETIRED:
        return r->retired;
    case PMU_BR_RETIRED:
        return r->branches;
    case PMU_BR_MISPRED_RETIRED:
        return r->mispredicts;
    case PMU_MACHINE_CLEARS:
        return r->clears;
    case PMU_CLEARS_MEMORY_ORDERING:
        return r->flush_kind == FLUSH_MEMORY_ORDERING ? r->clears : 0;
    case PMU_CLEARS_SMC:
        return r->flush_kind == FLUSH_SELF_MODIFYING ? r->clears : 0;
    case PMU_FLUSHES:
        return (unsigned)r->mispredicts + r->clears;
    case PMU_MS_SLOTS_RETIRED:
        return (unsigned)__builtin_popcount(r->retired_ms);
    case PMU_UOPS_RETIRED:
        return r->retired_uops;
    case PMU_LOADS_RETIRED:
        for (unsigned level = 0; level < MEM_LEVELS; level++)
            loads += served[level];
        return loads;
    case PMU_LOADS_L1_MISS:
        return 0U + served[MEM_L2] + served[MEM_L3] + served[MEM_DRAM];
    case PMU_LOADS_L2_MISS:
        return 0U + served[MEM_L3] + served[MEM_DRAM];
    case PMU_FP_SCALAR:
        return packed(fp, INSN_COUNT_SCALAR_SINGLE) + packed(fp, INSN_COUNT_SCALAR_DOUBLE);
    case PMU_FP_VECTOR:
        return packed(fp, INSN_COUNT_128_SINGLE) + packed(fp, INSN_COUNT_128_DOUBLE) +
               packed(fp, INSN_COUNT_256_SINGLE) + packed(fp, INSN_COUNT_256_DOUBLE);
    case PMU_FP_4_FLOPS:
        return packed(fp, INSN_COUNT_128_SINGLE) + packed(fp, INSN_COUNT_256_DOUBLE);
    case PMU_STORES_RETIRED:
        return r->retired_stores;
    case PMU_MEMORY_RETIRED:
        return r->retired_memory;
    default:
        assert(event == PMU_FUSED_RETIRED);
        return (unsigned)__builtin_popcount(r->retired_pair);
    }
}

static unsigned increment__machine(const struct pmu *pmu, enum pmu_event event, const struct cycle_report *r)
{
    switch (event) {
    case PMU_CYCLES:
        return 1;
    case PMU_LFB_WAITS:
        return r->lfb_waits;
    case PMU_TOTAL_SLOTS:
        return pmu->width;
    case PMU_SLOTS_ISSUED:
        return r->issued;
    case PMU_OPS_EXECUTED:
        return r->executed;
    case PMU_EXT_MEM_OUTSTANDING:
        return r->mem_outstanding;
    case PMU_RS_EMPTY:
        return (r->flags & REPORT_RS_EMPTY) != 0;
    case PMU_DIVIDER_ACTIVE:
        return (r->flags & REPORT_DIVIDER) != 0;
    case PMU_PENDING_ANY:
        return r->loads_pending > 0;
    case PMU_PENDING_L1_MISS:
        return r->l1_miss_pending;
    case PMU_PENDING_L2_MISS:
        return r->l2_miss_pending > 0;
    case PMU_PENDING_L3_MISS:
        return r->l3_miss_pending > 0;
    default:
        assert(event == PMU_OFFCORE_READS);
        return r->offcore_reads;
    }
}

static const enum {
    OTHER,
    FRONTEND,
    STALLS,
    RETIRED
} increment__part[PMU_EVENTS] = {
    [PMU_FETCH_BUBBLES] = FRONTEND,
    [PMU_RECOVERY_BUBBLES] = FRONTEND,
    [PMU_IDQ_MITE_UOPS] = FRONTEND,
    [PMU_IDQ_DSB_UOPS] = FRONTEND,
    [PMU_IDQ_LSD_UOPS] = FRONTEND,
    [PMU_IDQ_MS_UOPS] = FRONTEND,
    [PMU_MS_SWITCHES] = FRONTEND,
    [PMU_BACLEARS] = FRONTEND,
    [PMU_LCP_STALLS] = FRONTEND,
    [PMU_ICACHE_STALLS] = FRONTEND,
    [PMU_ITLB_STALLS] = FRONTEND,
    [PMU_DECODED] = FRONTEND,
    [PMU_MEM_STALLS_ANY_LOAD] = STALLS,
    [PMU_MEM_STALLS_L1_MISS] = STALLS,
    [PMU_MEM_STALLS_L2_MISS] = STALLS,
    [PMU_MEM_STALLS_L3_MISS] = STALLS,
    [PMU_MEM_STALLS_STORES] = STALLS,
    [PMU_EXE_BOUND_0] = STALLS,
    [PMU_STALLS_ROB] = STALLS,
    [PMU_STALLS_RS] = STALLS,
    [PMU_STALLS_LB] = STALLS,
    [PMU_STALLS_SB] = STALLS,
    [PMU_STALLS_SERIAL] = STALLS,
    [PMU_STALLS_ANY] = STALLS,
    [PMU_INSTRUCTIONS] = RETIRED,
    [PMU_SLOTS_RETIRED] = RETIRED,
    [PMU_BR_RETIRED] = RETIRED,
    [PMU_BR_MISPRED_RETIRED] = RETIRED,
    [PMU_MACHINE_CLEARS] = RETIRED,
    [PMU_FLUSHES] = RETIRED,
    [PMU_CLEARS_MEMORY_ORDERING] = RETIRED,
    [PMU_CLEARS_SMC] = RETIRED,
    [PMU_MS_SLOTS_RETIRED] = RETIRED,
    [PMU_UOPS_RETIRED] = RETIRED,
    [PMU_LOADS_RETIRED] = RETIRED,
    [PMU_STORES_RETIRED] = RETIRED,
    [PMU_MEMORY_RETIRED] = RETIRED,
    [PMU_FUSED_RETIRED] = RETIRED,
    [PMU_LOADS_L1_MISS] = RETIRED,
    [PMU_LOADS_L2_MISS] = RETIRED,
    [PMU_FP_SCALAR] = RETIRED,
    [PMU_FP_VECTOR] = RETIRED,
    [PMU_FP_4_FLOPS] = RETIRED,
    [PMU_FETCH_STALLS] = FRONTEND,
};

unsigned pmu__increment(const struct pmu *pmu, enum pmu_event event, const struct cycle_report *r)
{
    const unsigned e = event;

    assert(e <= PMU_NEVER);
    if (e == PMU_NEVER)
        return 0;
    if (e >= PMU_FP_SCALAR_SINGLE)
        return packed(r->insn_counts, e - PMU_FP_SCALAR_SINGLE);
    if (e >= PMU_FORWARD_BLOCKED)
        return packed(r->uop_events, e - PMU_FORWARD_BLOCKED);
    if (e >= PMU_LOAD_STLB_HIT)
        return packed(r->memory_events, e - PMU_LOAD_STLB_HIT);
    if (e >= PMU_WALKING_LOAD)
        return r->state >> (e - PMU_WALKING_LOAD) & 1;
    if (e >= PMU_PORT_0 && e <= PMU_PORT_LAST)
        return r->ports >> (e - PMU_PORT_0) & 1;
    if (e >= PMU_LOADS_L1 && e <= PMU_LOADS_DRAM)
        return r->load_level[e - PMU_LOADS_L1];
    switch (increment__part[e]) {
    case FRONTEND:
        return increment__frontend(pmu, event, r);
    case STALLS:
        return increment__stalls(pmu, event, r);
    case RETIRED:
        return increment__retired(pmu, event, r);
    default:
        return increment__machine(pmu, event, r);
    }
}
