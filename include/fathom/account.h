/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: listeners to cycle reports. */
#ifndef FATHOM_ACCOUNT_H
#define FATHOM_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/report.h"

struct core;
struct status;

/* The exact slot truth: every issue slot has one owner (TD-7). */
struct truth {
    struct listener listener; /* first member */
    uint32_t width;
    uint64_t cycles, slots;
    uint64_t retired, retired_ms;        /* slots of uops that retired */
    uint64_t squashed, squashed_clear;   /* slots of uops that were thrown away */
    uint64_t in_flight;                  /* issued, neither retired nor squashed yet */
    uint64_t empty[STALL_COUNT];         /* slots by cause */
    uint64_t empty_latency[STALL_COUNT]; /* of those, in cycles without any issue (front end: latency) */
};
void truth__init(struct truth *truth, const struct core *core);
/* Uops whose slots are counted leave without a report: of `retired`, `retired_ms` from the microcode
 * sequencer; of `squashed`, `squashed_clear` by machine clears. */
void truth__leave(struct truth *truth, unsigned retired, unsigned retired_ms, unsigned squashed,
                  unsigned squashed_clear);
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
struct tip {
    struct listener listener;
    uint32_t width;
    struct site_weight *site; /* by site id; n_sites valid */
    size_t n_sites, cap_sites;
    uint64_t cycles_tip_unplaced;
    uint64_t slots_unplaced[PLACE_SLOTS];
};
void tip__init(struct tip *tip, const struct core *core);
void tip__free(struct tip *tip);
/* Moves `n` slots of a class to a site (REPORT_NO_SITE: unplaced), or away from it when negative. */
void tip__credit(struct tip *tip, uint32_t site, enum place_slots class, int64_t n);

/* The simulated PMU: the paper's Table 1 with counter masks. */
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
    PMU_EVENTS
};
enum { PMU_HISTOGRAM = 64 };
/* Every increment of every event is kept as a histogram, so that any counter mask (TD-9) can be
 * answered afterwards: E[>=c] = cycles in which the increment was at least c. */
struct pmu {
    struct listener listener;
    uint32_t width;
    uint32_t ext_mem_threshold; /* ExtMemOutstanding from which the memory controller counts as busy */
    uint64_t sum[PMU_EVENTS];
    uint64_t cycles_with[PMU_EVENTS][PMU_HISTOGRAM]; /* cycles by increment; the last bin takes the rest */
};
void pmu__init(struct pmu *pmu, const struct core *core);
/* Names as in the paper's Table 1: "SlotsIssued", "MemStalls.L1miss", ... */
const char *pmu__event_name(enum pmu_event event);
/* -1 if there is no such event. */
int pmu__event_by_name(const char *name);
/* E (cmask 0) or E[>=cmask]; inverted: E[<cmask]. */
uint64_t pmu__read(const struct pmu *pmu, enum pmu_event event, unsigned cmask, int invert);
/*
 * A metric_lookup (tree.h) over a `struct pmu *`: event names of pmu__event_name and Intel's names
 * for the same signals, with masks as "E:c4", "E:c4:i1", "cpu@E,cmask=4,inv@" (backslashes are
 * skipped, "cmask=#issue_width" is understood) or "E[>=4]"; the literals #issue_width, #slots (slots
 * a cycle) and what is fixed in the simulated machine (#SMT_on, #core_wide, #num_cpus, ...).
 * False for anything that is not counted, such as edge detection.
 */
bool pmu__lookup(void *pmu, const char *name, double *value);

/* The exact CPI stack: every cycle has one component (CS-22 refined to the reports' wait reason). */
struct cpi_stack {
    struct listener listener;
    uint64_t cycles[WAIT_COUNT];
};
void cpi_stack__init(struct cpi_stack *stack);
const char *cpi_stack__component_name(enum wait component);

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
 * those of a part: every figure is rounded so that what must add up does (docs/sample.md).
 */
void account_set__blend(struct account_set *whole, const struct account_set *part, const double *scale,
                        unsigned n, uint64_t cycles, uint64_t instructions);

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
