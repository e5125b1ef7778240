/* SPDX-License-Identifier: Apache-2.0 */
/* Cycle reports: what the pipeline did, cycle by cycle, for the accounts. The pipeline keeps no
 * statistics; the accounts never see the pipeline. */
#ifndef FATHOM_REPORT_H
#define FATHOM_REPORT_H

#include <stdint.h>

/* Why issue slots of a cycle stayed empty (TD-3). One class, one cause a cycle. */
enum stall {
    STALL_NONE, /* all slots used */

    /* RecoveryBubbles: allocator blocked after a flush */
    STALL_RECOVERY_MISPREDICT,
    STALL_RECOVERY_CLEAR,

    /* FetchBubbles: the back end would have accepted more */
    STALL_FE_ICACHE,
    STALL_FE_ITLB,
    STALL_FE_RESTEER_MISPREDICT,
    STALL_FE_RESTEER_CLEAR,
    STALL_FE_UNKNOWN_BRANCH, /* BACLEAR */
    STALL_FE_DSB_SWITCH,
    STALL_FE_LCP,
    STALL_FE_MS_SWITCH,
    STALL_FE_MITE, /* the source that delivered too little */
    STALL_FE_DSB,
    STALL_FE_LSD,
    STALL_FE_MS,
    STALL_FE_DRAIN, /* end of the program: nothing left to fetch */

    /* back-end stalls, by the resource that closed the gate and what the oldest uop waits for */
    /* memory */
    STALL_BE_L1,         /* oldest uop: load served by L1 or by store forwarding */
    STALL_BE_L1_FORWARD, /* load blocked by a store it overlaps only in part (EX-22) */
    STALL_BE_L1_SPLIT,   /* load across a line or page (EX-12) */
    STALL_BE_L1_ALIAS,   /* 4K aliasing with a store (EX-23) */
    STALL_BE_L1_LOCK,    /* locked operation (EX-24) */
    STALL_BE_L1_FB_FULL, /* no fill buffer free (ME-4) */
    STALL_BE_DTLB,
    STALL_BE_L2,
    STALL_BE_L3,
    STALL_BE_DRAM,           /* up to the idle latency */
    STALL_BE_DRAM_BANDWIDTH, /* beyond it: queueing */
    STALL_BE_STORE,          /* store buffer full: the oldest store's line is not owned yet */
    STALL_BE_STORE_SPLIT,
    STALL_BE_STORE_DTLB,
    /* core */
    STALL_BE_DIVIDER,
    STALL_BE_SERIAL, /* serialising instruction, fence, non-pipelined instruction */
    STALL_BE_PORTS,  /* oldest uop ready but its port was taken, by uops executed in the cycle: 0 */
    STALL_BE_PORTS_1,
    STALL_BE_PORTS_2,
    STALL_BE_PORTS_3,    /* 3 and more */
    STALL_BE_DEPENDENCY, /* oldest uop executing or waiting for a short-latency producer */
    STALL_COUNT
};
#define STALL_IS_RECOVERY(s) ((s) >= STALL_RECOVERY_MISPREDICT && (s) <= STALL_RECOVERY_CLEAR)
#define STALL_IS_FRONTEND(s) ((s) >= STALL_FE_ICACHE && (s) <= STALL_FE_DRAIN)
#define STALL_IS_MEMORY(s) ((s) >= STALL_BE_L1 && (s) <= STALL_BE_STORE_DTLB)
#define STALL_IS_BACKEND(s) ((s) >= STALL_BE_L1 && (s) <= STALL_BE_DEPENDENCY)

/* The back-end resource without which the next group could not issue. */
enum resource {
    RES_NONE,
    RES_ROB,
    RES_RS,
    RES_LOAD_BUFFER,
    RES_STORE_BUFFER,
    RES_PRF,
    RES_SERIAL,
    RES_COUNT
};

/* What the core waited for this cycle, for CPI stacks (CS-22) and time-proportional attribution. */
enum wait {
    WAIT_BASE, /* something retired */
    WAIT_ICACHE,
    WAIT_ITLB,
    WAIT_BRANCH,
    WAIT_FRONTEND, /* ROB empty */
    WAIT_L1D,
    WAIT_DTLB,
    WAIT_L2,
    WAIT_L3,
    WAIT_DRAM,
    WAIT_STORE,
    WAIT_DIVIDE,
    WAIT_DEPENDENCY,
    WAIT_PORTS,
    WAIT_OTHER,
    WAIT_COUNT
};

/* What a stage waited for when its uops were kept back for this reason. */
static inline enum wait stall__wait(unsigned stall)
{
    if (STALL_IS_RECOVERY(stall) ||
        (stall >= STALL_FE_RESTEER_MISPREDICT && stall <= STALL_FE_UNKNOWN_BRANCH))
        return WAIT_BRANCH;
    if (STALL_IS_FRONTEND(stall))
        return stall == STALL_FE_ICACHE ? WAIT_ICACHE : stall == STALL_FE_ITLB ? WAIT_ITLB : WAIT_FRONTEND;
    if (stall >= STALL_BE_L1 && stall <= STALL_BE_L1_FB_FULL)
        return WAIT_L1D;
    if (stall >= STALL_BE_STORE && stall <= STALL_BE_STORE_DTLB)
        return WAIT_STORE;
    if (stall >= STALL_BE_PORTS && stall <= STALL_BE_PORTS_3)
        return WAIT_PORTS;
    switch (stall) {
    case STALL_BE_DTLB:
        return WAIT_DTLB;
    case STALL_BE_L2:
        return WAIT_L2;
    case STALL_BE_L3:
        return WAIT_L3;
    case STALL_BE_DRAM:
    case STALL_BE_DRAM_BANDWIDTH:
        return WAIT_DRAM;
    case STALL_BE_DIVIDER:
        return WAIT_DIVIDE;
    case STALL_BE_DEPENDENCY:
        return WAIT_DEPENDENCY;
    default:
        return WAIT_OTHER;
    }
}

/* Why uops were thrown away and the allocator recovers: what the oldest surviving instruction did. */
enum flush_kind {
    FLUSH_NONE,
    /* mispredicted branches */
    FLUSH_CONDITIONAL, /* Jcc, LOOP, JRCXZ */
    FLUSH_INDIRECT,    /* wrong target: through a register or memory, or a direct branch that was rewritten */
    FLUSH_RETURN,
    /* machine clears */
    FLUSH_MEMORY_ORDERING, /* a load passed an older store it depends on (EX-20) */
    FLUSH_SELF_MODIFYING,  /* a store to a line that was fetched as code (ME-15) */
    FLUSH_OTHER,           /* none of them is modelled */
    FLUSH_KINDS
};
#define FLUSH_IS_CLEAR(k) ((k) >= FLUSH_MEMORY_ORDERING)

enum fetch_source { FETCH_NONE, FETCH_MITE, FETCH_DSB, FETCH_LSD, FETCH_MS };

enum report_flag {
    REPORT_DIVIDER = 1, /* divider busy */
    REPORT_SB_FULL = 2, /* no store could be allocated */
    REPORT_RS_EMPTY = 4,
    REPORT_MS_SWITCH = 8, /* the microcode sequencer took over in this cycle */
    REPORT_BACLEAR = 16,
    REPORT_LCP = 32,    /* predecoder stalled by a length-changing prefix */
    REPORT_ICACHE = 64, /* fetch stalled by an L1I miss */
    REPORT_ITLB = 128,
};

/* More conditions of a cycle: enum memory_state (memory.h), and these. */
enum report_state {
    REPORT_STATE_RESTEER = 64,     /* after a flush, no uop has issued yet */
    REPORT_STATE_DSB_SWITCH = 128, /* nothing delivered because decoding took over from the DSB */
};

/* Counts of one byte each, packed into a word: byte k of `uop_events` is event k. */
enum report_event {
    REPORT_FORWARD_BLOCKED, /* loads dispatched that an older store blocks (EX-22) */
    REPORT_ALIASED,         /* loads delayed by 4K aliasing (EX-23) */
    REPORT_DIVISIONS,       /* uops that started the divider */
    REPORT_SPLIT_LOADS,     /* these retired */
    REPORT_SPLIT_STORES,
    REPORT_LOCKED_LOADS,
    REPORT_WALKED_LOADS, /* missed the second-level TLB */
    REPORT_WALKED_STORES,
    REPORT_EVENTS
};

enum { REPORT_RETIRE_MAX = 8, REPORT_NO_SITE = 0xffffffff };

/*
 * One cycle, or `cycles` identical ones (then nothing issued, executed, retired or was delivered).
 * Sites are struct site ids. Fused-domain uops unless said otherwise. execute_wait and retire_wait are
 * told only where the pipeline was asked for stage_waits.
 */
struct cycle_report {
    uint32_t cycles;     /* >= 1 */
    uint32_t stall_site; /* instruction to blame for the empty slots; REPORT_NO_SITE: none */
    uint32_t wait_site;  /* instruction the core waits for when nothing retired (TIP) */
    uint32_t retired_site[REPORT_RETIRE_MAX]; /* site of each retired fused uop; `retired` are valid */
    uint16_t squashed;                        /* issued uops thrown away in this cycle */
    uint16_t squashed_executed;               /* of those, counted in executed_fused before */
    uint8_t issued;                           /* 0..issue width */
    uint8_t retired;                          /* 0..retire width */
    uint8_t retired_ms;    /* of those, bit k: retired_site[k] is from the microcode sequencer */
    uint8_t retired_insns; /* instructions whose last uop retired */
    uint8_t retired_uops;  /* unfused */
    uint8_t executed;      /* unfused uops dispatched */
    uint8_t
        executed_fused; /* fused-domain uops whose first uop was dispatched, or issued if none needs a port */
    uint16_t ports;     /* ports that dispatched, bit set */
    uint8_t delivered;  /* laminated uops into the IDQ */
    uint8_t delivered_ms; /* of those, from the MS (the rest from `source`) */
    uint8_t source;       /* enum fetch_source active in this cycle */
    uint8_t stall;        /* enum stall */
    uint8_t resource;     /* enum resource that closed the gate */
    uint8_t wait;         /* enum wait */
    uint8_t execute_wait; /* enum wait: what the oldest uop in the scheduler waits for; WAIT_BASE: likewise */
    uint8_t retire_wait;  /* enum wait: what the oldest uop waits for; WAIT_BASE: there is none, or it is on
                             its way */
    uint8_t flags;        /* enum report_flag */
    uint8_t mispredicts;  /* mispredicted branches retired */
    uint8_t branches;     /* branches retired */
    uint8_t clears;       /* machine clears: 0 or 1 */
    uint8_t loads_pending;   /* loads dispatched and not complete (255 at most) */
    uint8_t l1_miss_pending; /* of those, demand loads known to have missed L1 */
    uint8_t l2_miss_pending;
    uint8_t l3_miss_pending;
    uint8_t flush_kind; /* enum flush_kind of `squashed` and of slots blocked by recovery, else FLUSH_NONE */
    uint8_t mem_outstanding;  /* requests at the memory controller */
    uint8_t load_level[5];    /* retired load uops by enum mem_level */
    uint8_t retired_high;     /* sites in retired_site whose instruction ended: bit k = its last uop */
    uint8_t retired_pair;     /* of those, macro-fused pairs: two instructions */
    uint32_t mispredict_site; /* branch that caused `squashed` or the recovery; REPORT_NO_SITE */
    uint8_t state;            /* enum memory_state, enum report_state */
    uint8_t offcore_reads;    /* data reads beyond L2 under way (255 at most) */
    uint8_t lfb_waits;        /* demands that found no free fill buffer */
    uint8_t decoded;          /* instructions decoded (pairs are one) */
    uint8_t retired_stores;   /* stores retired */
    uint8_t retired_memory;   /* instructions with loads or stores retired */
    uint64_t memory_events;   /* enum memory_event, packed */
    uint64_t uop_events;      /* enum report_event, packed */
    uint64_t insn_counts;     /* retired instructions by enum insn_count (insn.h), packed */
};

/* A listener: gets every report of a run exactly once, in order, in batches. */
struct listener {
    void (*consume)(struct listener *self, const struct cycle_report *reports, unsigned n);
};

#endif
