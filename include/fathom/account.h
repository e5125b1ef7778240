/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: listeners to cycle reports. */
#ifndef FATHOM_ACCOUNT_H
#define FATHOM_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/insn.h"
#include "fathom/report.h"

struct core;
struct status;

/* The exact slot truth: every issue slot has one owner (TD-7). */
struct truth {
    struct listener listener; /* first member */
    uint32_t width;
    uint64_t cycles, slots;
    uint64_t retired, retired_ms;        /* slots of uops that retired */
    uint64_t squashed[FLUSH_KINDS];      /* slots of uops that were thrown away */
    uint64_t blocked[FLUSH_KINDS];       /* of `empty`: slots in which the allocator recovered */
    uint64_t in_flight;                  /* issued, neither retired nor squashed yet */
    uint64_t empty[STALL_COUNT];         /* slots by cause */
    uint64_t empty_latency[STALL_COUNT]; /* of those, in cycles without any issue (front end: latency) */
};
void truth__init(struct truth *truth, const struct core *core);
/* Uops whose slots are counted leave without a report: of `retired`, `retired_ms` from the microcode
 * sequencer; `squashed` by a flush of that kind. */
void truth__leave(struct truth *truth, unsigned retired, unsigned retired_ms, unsigned squashed,
                  enum flush_kind kind);
/* Asserts that the sums are exact and that nothing is in flight. */
void truth__check(const struct truth *truth);

/* Time-proportional attribution: cycles and slots for each site. */
enum place_slots {
    PLACE_RETIRING,
    PLACE_BAD_SPECULATION,
    PLACE_FRONTEND,
    PLACE_BACKEND_MEMORY,
    PLACE_BACKEND_CORE,
    PLACE_SLOTS
};
enum { TIP_UNIT = 840 }; /* units in a cycle, divisible by 1..8 retired uops */
struct site_weight {
    uint64_t cycles_tip; /* TIP_UNITs */
    uint64_t insns;
    uint64_t slots[PLACE_SLOTS];
};
struct site_slots { /* of the retired ones */
    uint64_t ms;    /* from the microcode sequencer */
    uint64_t pairs; /* macro-fused */
};
struct tip {
    struct listener listener;
    uint32_t width;
    struct site_weight *site;   /* by site id; n_sites valid */
    struct site_slots *special; /* likewise */
    size_t n_sites, cap_sites;
    uint64_t cycles_tip_unplaced;
    uint64_t slots_unplaced[PLACE_SLOTS];
};
void tip__init(struct tip *tip, const struct core *core);
void tip__free(struct tip *tip);
/* Moves `n` slots of uops thrown away to a site (REPORT_NO_SITE: unplaced), or away from it when negative. */
void tip__credit_squashed(struct tip *tip, uint32_t site, int64_t n);
/* The same for the one slot of the report's k-th retired uop; n is 1 or -1. */
void tip__credit_retired(struct tip *tip, const struct cycle_report *report, unsigned k, int n);

/* Retired slots by what they did; the rest of them came from the microcode sequencer. */
struct retired_work {
    uint64_t slots[WORK_KINDS];
};
/* Adds what has retired at site `id`, an instruction that does `work`. Sums over all sites to the truth's
 * retired - retired_ms, in a run of which tip has seen everything. */
void retired_work__add(struct retired_work *sum, const struct tip *tip, uint32_t id, enum work work);

/* The simulated PMU: the paper's Table 1 with counter masks, and what the deeper levels need
 * (docs/accounting.md, section 5, has each event's increment). */
enum pmu_event {
    PMU_CYCLES,
    PMU_INSTRUCTIONS,
    PMU_TOTAL_SLOTS,
    PMU_SLOTS_ISSUED,
    PMU_SLOTS_RETIRED,
    PMU_FETCH_BUBBLES,
    PMU_RECOVERY_BUBBLES,
    PMU_BR_RETIRED,
    PMU_BR_MISPRED_RETIRED,
    PMU_MACHINE_CLEARS,
    PMU_MS_SLOTS_RETIRED,
    PMU_OPS_EXECUTED,
    PMU_UOPS_RETIRED,
    PMU_MEM_STALLS_ANY_LOAD,
    PMU_MEM_STALLS_L1_MISS,
    PMU_MEM_STALLS_L2_MISS,
    PMU_MEM_STALLS_L3_MISS,
    PMU_MEM_STALLS_STORES,
    PMU_EXT_MEM_OUTSTANDING,
    PMU_RS_EMPTY,
    PMU_DIVIDER_ACTIVE,
    PMU_IDQ_MITE_UOPS,
    PMU_IDQ_DSB_UOPS,
    PMU_IDQ_LSD_UOPS,
    PMU_IDQ_MS_UOPS,
    PMU_MS_SWITCHES,
    PMU_BACLEARS,
    PMU_LCP_STALLS,
    PMU_ICACHE_STALLS,
    PMU_ITLB_STALLS,
    PMU_STALLS_ROB,
    PMU_STALLS_RS,
    PMU_STALLS_LB,
    PMU_STALLS_SB,
    PMU_LOADS_L1,
    PMU_LOADS_LFB,
    PMU_LOADS_L2,
    PMU_LOADS_L3,
    PMU_LOADS_DRAM,
    PMU_LOADS_RETIRED,
    PMU_STORES_RETIRED,
    PMU_MEMORY_RETIRED,
    PMU_FUSED_RETIRED,
    PMU_LOADS_L1_MISS,
    PMU_LOADS_L2_MISS,
    PMU_FLUSHES,
    PMU_CLEARS_MEMORY_ORDERING,
    PMU_CLEARS_SMC,
    PMU_FP_SCALAR,
    PMU_FP_VECTOR,
    PMU_FP_4_FLOPS,
    PMU_FETCH_STALLS,
    PMU_LFB_WAITS,
    PMU_DECODED,
    PMU_EXE_BOUND_0,
    PMU_STALLS_SERIAL,
    PMU_STALLS_ANY,
    PMU_PENDING_ANY,
    PMU_PENDING_L1_MISS,
    PMU_PENDING_L2_MISS,
    PMU_PENDING_L3_MISS,
    PMU_OFFCORE_READS,
    PMU_PORT_0, /* one for each of PMU_PORTS ports */
    PMU_PORT_LAST = PMU_PORT_0 + 7,
    /* enum memory_state and enum report_state, by bit */
    PMU_WALKING_LOAD,
    PMU_WALKING_STORE,
    PMU_WALKING_CODE,
    PMU_LFB_FULL,
    PMU_SQ_FULL,
    PMU_RFO_OFFCORE,
    PMU_CLEAR_RESTEER,
    PMU_DSB_SWITCH,
    /* enum memory_event */
    PMU_LOAD_STLB_HIT,
    PMU_LOAD_WALK,
    PMU_STORE_STLB_HIT,
    PMU_STORE_WALK,
    PMU_CODE_STLB_HIT,
    PMU_CODE_WALK,
    PMU_RFO,
    PMU_RFO_L2_HIT,
    /* enum report_event */
    PMU_FORWARD_BLOCKED,
    PMU_ALIASED,
    PMU_DIVISIONS,
    PMU_SPLIT_LOADS,
    PMU_SPLIT_STORES,
    PMU_LOCKED_LOADS,
    PMU_WALKED_LOADS,
    PMU_WALKED_STORES,
    /* enum insn_count */
    PMU_FP_SCALAR_SINGLE,
    PMU_FP_SCALAR_DOUBLE,
    PMU_FP_128_SINGLE,
    PMU_FP_128_DOUBLE,
    PMU_FP_256_SINGLE,
    PMU_FP_256_DOUBLE,
    PMU_X87,
    PMU_NOPS,
    PMU_EVENTS,
    PMU_NEVER = PMU_EVENTS /* what cannot happen in the simulated machine: always 0 */
};
enum { PMU_HISTOGRAM = 64, PMU_PORTS = 8 };

/* How a count is read: E, E[>=n], E[<n], E[=n] (TD-9). */
enum pmu_mask { PMU_MASK_NONE, PMU_MASK_AT_LEAST, PMU_MASK_BELOW, PMU_MASK_EQUAL };
/* One event with its masks, as asked for. With `edge`: the number of times the condition became true. */
struct pmu_query {
    uint8_t event; /* enum pmu_event, PMU_NEVER included */
    uint8_t cmask;
    uint8_t mask; /* enum pmu_mask */
    bool edge;
};
/* Edges are counted only where somebody asked before the run. */
struct pmu_edge {
    struct pmu_query query;
    bool last;
    uint64_t count;
};
/* Numbers of the machine that metric expressions name ("#stlb_hit_cyc"), besides the issue width. */
struct pmu_machine {
    double freq_ghz;
    uint32_t ext_mem_threshold; /* ExtMemOutstanding from which the memory controller counts as busy */
    uint32_t stlb_hit_cyc, baclear_cyc, ms_switch_cyc, store_forward_blocked_cyc, split_load_cyc;
};
/* Every increment of every event is kept as a histogram, so that any counter mask (TD-9) can be
 * answered afterwards: E[>=c] = cycles in which the increment was at least c. */
struct pmu {
    struct listener listener;
    uint32_t width;
    struct pmu_machine machine;
    uint64_t sum[PMU_EVENTS];
    uint64_t cycles_with[PMU_EVENTS][PMU_HISTOGRAM]; /* cycles by increment; the last bin takes the rest */
    struct pmu_edge *edge;
    size_t n_edges;
};
void pmu__init(struct pmu *pmu, const struct core *core);
void pmu__free(struct pmu *pmu); /* what pmu__prepare allocated */
/* The definition of the events: the increment of `event` in each of the report's cycles. Everything that is
 * counted is a function of these. */
unsigned pmu__increment(const struct pmu *pmu, enum pmu_event event, const struct cycle_report *report);
/* Names as in the paper's Table 1: "SlotsIssued", "MemStalls.L1miss", ... */
const char *pmu__event_name(enum pmu_event event);
/* -1 if there is no such event. */
int pmu__event_by_name(const char *name);
/* E (cmask 0) or E[>=cmask]; inverted: E[<cmask]. */
uint64_t pmu__read(const struct pmu *pmu, enum pmu_event event, unsigned cmask, int invert);
/*
 * The event that `name` stands for: event names of pmu__event_name and Intel's names for the same signals,
 * with masks and edges as "E:c4", "E:c4:i1:e1", "cpu@E,cmask=4,inv,edge@" (backslashes are skipped,
 * "cmask=#issue_width" is understood) or "E[>=4]". False: there is no such event.
 */
bool pmu__find(const struct pmu *pmu, const char *name, struct pmu_query *query);
/* Before the run: what `name` needs is counted; of names that are no event nothing. False: out of memory. */
bool pmu__prepare(struct pmu *pmu, const char *name);
/* Everything that has been prepared in `other`, in `pmu`, in which nothing has. False: out of memory. */
bool pmu__prepare_like(struct pmu *pmu, const struct pmu *other);
/* False: an edge that was not prepared. */
bool pmu__value(const struct pmu *pmu, const struct pmu_query *query, uint64_t *value);
/* A name that is no event: "#issue_width" and other literals, "duration_time" (seconds). */
bool pmu__constant(const struct pmu *pmu, const char *name, double *value);
/* A metric_lookup (tree.h) over a `struct pmu *`: the three above. */
bool pmu__lookup(void *pmu, const char *name, double *value);

/*
 * A PMU with few counters, as in hardware: the events of each metric are packed into groups that fit the
 * counters; one group counts at a time, in turns; each count is scaled by total over enabled cycles. Cycles,
 * slots and instructions have counters of their own (fixed counters) and take none of the others.
 *
 * Order of calls: init, add for every name of every metric, pack; then it listens to the run; finish; lookup.
 */
enum { PMU_MUX_MAX_COUNTERS = 64 };
struct pmu_mux_event {
    struct pmu_query query;
    uint64_t base, count; /* when its group's turn began; in all its turns */
};
struct pmu_mux_group {
    struct pmu_mux_event *event;
    size_t n_events;
    unsigned n_counters; /* of them, those that need a general counter */
    uint64_t enabled_cycles;
};
struct pmu_mux_use { /* metric `metric` needs `query`, and has it from `group` */
    size_t metric, group;
    struct pmu_query query;
};
struct pmu_mux {
    struct listener listener;
    struct pmu pmu; /* counts everything; the groups take differences */
    unsigned counters;
    uint32_t turn_cycles;
    struct pmu_mux_use *use; /* by metric */
    size_t n_uses, cap_uses;
    struct pmu_mux_group *group;
    size_t n_groups;
    size_t active;
    uint64_t turn_used, n_turns; /* cycles of the running turn; turns begun */
};
void pmu_mux__init(struct pmu_mux *mux, const struct core *core, unsigned counters, uint32_t turn_cycles);
/* Metrics in ascending order. Names that are no event need nothing. False: out of memory. */
bool pmu_mux__add(struct pmu_mux *mux, size_t metric, const char *name);
bool pmu_mux__pack(struct pmu_mux *mux);
void pmu_mux__finish(struct pmu_mux *mux);
/* A metric_lookup_for (tree.h) over a `struct pmu_mux *`. False also for what never had a turn. */
bool pmu_mux__lookup(void *mux, size_t metric, const char *name, double *value);
void pmu_mux__free(struct pmu_mux *mux);

/* The exact CPI stack: every cycle has one component (CS-22 refined to the reports' wait reason). */
struct cpi_stack {
    struct listener listener;
    uint64_t cycles[WAIT_COUNT];
};
void cpi_stack__init(struct cpi_stack *stack);
const char *cpi_stack__component_name(enum wait component);

/*
 * Stacks of three stages side by side (Eyerman, Heirman, Du Bois, Hur: multi-stage CPI stacks, 2018; there:
 * dispatch, issue and commit). Each cycle is as many slots as the core issues uops; a stage that handles n of
 * them gives n to Base and the rest to what held it up. Invariant, after every batch and for every stage:
 *     sum over components of slots == width x cycles
 */
enum stage { STAGE_RENAME, STAGE_EXECUTE, STAGE_RETIRE, STAGES };
enum { STAGE_PAST = 64 };
struct stage_stacks {
    struct listener listener; /* first member */
    uint32_t width;
    uint64_t cycles;
    uint64_t slots[STAGES][WAIT_COUNT]; /* Base: of uops that retired or may still; squashed ones: Branch */
    uint64_t carry[STAGES];             /* uops beyond the width, which count in later cycles */
    uint8_t supply;                     /* enum wait: why rename last had too little */
    uint8_t past[STAGE_PAST];           /* enum wait: what it lacked in the last cycles */
    uint32_t delay_cyc[STAGES];         /* cycles a uop takes at least from rename to the stage */
};
void stage_stacks__init(struct stage_stacks *stacks, const struct core *core);
/* "rename", "execute", "retire" */
const char *stage_stacks__name(enum stage stage);
/* Core cycles of a component. */
double stage_stacks__cycles(const struct stage_stacks *stacks, enum stage stage, enum wait component);

/* One of each, over the same reports. */
struct account_set {
    struct truth truth;
    struct tip tip;
    struct pmu pmu;
    struct cpi_stack stack;
};
void account_set__init(struct account_set *set, const struct core *core);
void account_set__free(struct account_set *set);
/*
 * Adds up `n` parts of an execution into `whole`, which has been initialised: part k counts scale[k]
 * times. The whole has exactly `cycles` cycles and `instructions` instructions, and its sums are as exact as
 * those of a part: every figure is rounded so that what must add up does (docs/sample.md). The parts' PMUs
 * were prepared like the whole's.
 */
void account_set__blend(struct account_set *whole, struct account_set *part, const double *scale, unsigned n,
                        uint64_t cycles, uint64_t instructions);

/*
 * Lets the measured part of a window through to a set of accounts: whole cycles, from the one after that in
 * which instruction `skip` of the window retired to that in which instruction `skip` + `count` did. Cycles,
 * and everything that happens in them, are counted if they are inside. A slot is counted if its uop was
 * issued inside, and is followed until that uop has left, inside or later; so nothing stays in flight.
 * Retirement takes the oldest uops and squashing the youngest, so counts tell which ones left. The pipeline
 * is empty when the gate is opened and must have drained before it is opened again.
 */
enum gate_phase { GATE_BEFORE, GATE_INSIDE, GATE_AFTER, GATE_PHASES };
struct gate {
    struct listener listener;
    struct account_set *set;
    uint64_t skip, end;              /* instructions of the window */
    uint64_t seen;                   /* retired since it was opened */
    uint64_t cycles, instructions;   /* measured */
    uint64_t in_flight[GATE_PHASES]; /* uops by the phase in which they were issued */
    enum gate_phase phase;
};
void gate__init(struct gate *gate);
/* A window begins: its measured part is reported to `set`. */
void gate__open(struct gate *gate, struct account_set *set, uint64_t skip, uint64_t count);
/* The measured part is over: no later cycle belongs to it. */
static inline bool gate__is_measured(const struct gate *gate)
{
    return gate->phase == GATE_AFTER;
}
/* Asserts that no counted uop is in flight any more. */
void gate__check(const struct gate *gate);

#endif
