/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole state of the core. One file a stage works on it, in the order of the hardware:
 *
 *   fetch.c ─► predecode.c ─► decode.c ─┐
 *      └─────► dsb.c ──────────────────►├─► idq.c ─► rename.c ─► schedule.c ─► execute.c ─► retire.c
 *      └─────► lsd.c ──────────────────►┘                                     flush.c, report.c
 *
 * Everything in flight lives in rings; an index counts up for ever and its slot is index modulo size.
 *
 * Invariants
 *  I1  fetch:  delivered <= planned; [delivered, planned) is the predicted path in program order; the
 *      predecoder has passed everything before pre_first.
 *  I2  uops:   [uop_head, uop_tail) are the uops with a port of instructions renamed and not retired, oldest
 *      first; the slot number is the age, so oldest-first is a find-first-set from uop_head's slot.
 *  I3  a squashed uop keeps its slot (dead) until the head passes it: whatever refers to it, the wheel or a
 *      wake-up list of an older uop, has been worked off by then.
 *  I4  rs_used = uops in [uop_head, uop_tail) that are issued, not dispatched and not dead.
 *  I5  usage[p] = uops bound to p and not yet one cycle past their dispatch (PA-2).
 *  I6  at most one mispredicted branch is unresolved: what is fetched after it is the wrong path.
 */
#ifndef PIPE_STATE_H
#define PIPE_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/memory.h"
#include "fathom/pipe.h"
#include "fathom/predict.h"
#include "fathom/report.h"
#include "fathom/source.h"

#define CYCLE_NEVER INT64_MAX

enum {
    UOP_RING = 1024, /* bit masks of 16 words */
    UOP_WORDS = UOP_RING / 64,
    ROB_RING = 1024,
    IDQ_RING = 256,
    IQ_RING = 64,
    STORE_RING = 1024,
    STORE_FILTER = 512, /* 8-byte granules of a 4 KiB page: aliases share an entry */
    WHEEL = 4096,       /* cycles ahead that can be scheduled */
    WHEEL_WORDS = WHEEL / 64,
    REPORT_BATCH = 512,
    MAX_PORTS = 16,
    LSD_BODY = 64,
    RECENT_STORES = 512,
    DISAMBIGUATION = 1024,
    DISAMBIGUATION_SURE = 15,
    CONFLICT_NOW = 2,  /* the address of the store that it needs is not known when a load could begin */
    CONFLICT_LAST = 1, /* so it was when it was last supplied by a store in flight */
    LOAD_LATENCY = 5,  /* EX-8: latency of a load's results in the recipes */
};

enum fetched_flag {
    F_TAKEN = 1 << 0,      /* predicted taken (or control moves away): the next one starts a new block */
    F_MISPREDICT = 1 << 1, /* the wrong path starts after it */
    F_WRONG = 1 << 2,      /* on the wrong path */
    F_PAIR = 1 << 3,       /* first half of a macro-fused pair */
    F_ABSORBED = 1 << 4,   /* second half */
    F_LINE_START = 1 << 5, /* first of a DSB line */
    F_BREAK = 1 << 6,      /* does not follow the previous MITE instruction in memory */
    F_HOLD = 1 << 7,       /* fetch stops until it is decoded (BACLEAR) */
    F_BUBBLE = 1 << 8,     /* taken, target from the slower BTB level (FE-20) */
    F_PASS_START = 1 << 9, /* LSD: first of a replicated pass */
    F_PLAIN = 1 << 11,     /* its recipe is `plain` and it starts no wrong path: issued in one go */
    F_NOT_TAKEN = 1 << 10, /* conditional branch (or its pair) predicted not taken */
};

struct stack_state { /* IDQ fill time, RN-17, RN-15; saved at a mispredicted branch */
    int32_t offset;
    uint8_t dirty; /* AH..DH written and not merged */
};

/* An instruction on the predicted path. */
struct fetched {
    const struct step *step;
    struct insn *insn;
    const struct recipe *recipe; /* chosen when delivered */
    uint64_t addr;
    uint64_t next_step;       /* index of the first step after it on the correct path */
    struct stack_state stack; /* before it */
    int64_t predecoded_at, delivered_at;
    uint32_t site;
    uint16_t flags;
    uint8_t source;  /* enum fetch_source: MITE, DSB or LSD */
    uint8_t n_insns; /* 2 for a pair, 0 for REP bodies and absorbed halves */
};

/* A laminated uop in the IDQ. */
enum idq_kind { IDQ_NORMAL, IDQ_SYNC, IDQ_MERGE };
struct idq_entry {
    uint64_t fetched;
    uint8_t lam;
    uint8_t kind; /* enum idq_kind */
    uint8_t reg;  /* IDQ_MERGE */
    uint8_t from_ms;
};

/* Where the value of a register comes from. uop < uop_head: ready long ago. */
struct value {
    uint64_t uop : 48;
    uint64_t lat_cyc : 16;
};

enum duop_state { DUOP_WAITING, DUOP_QUEUED, DUOP_DISPATCHED };
enum duop_flag {
    DUOP_KNOWN = 1,
    DUOP_DEAD = 2,
    DUOP_RESOLVES = 4,
    DUOP_ISSUED = 8,
    DUOP_FAST_LOAD = 16,
    DUOP_ALIAS = 32,     /* shares its page offset with a store in flight (EX-23) */
    DUOP_VIOLATES = 128, /* passed the store it depends on: machine clear when it retires (EX-20) */
    DUOP_DRAINS = 64,    /* waits for an empty store buffer too: LOCK, MFENCE (EX-24) */
};

/* An operand of which the producer's results are not known yet, in the list of the producer's consumers. */
struct edge {
    uint16_t next; /* slot of the next consumer x UOP_MAX_SRC + its operand + 1, 0: the last */
    uint16_t lat_cyc;
};

/* An unfused uop in flight: two cache lines, of which most uops need little more than the first. */
struct duop {
    const struct uop *t;
    uint64_t seq;
    int64_t ready; /* latest known operand */
    union {
        int64_t issued_at; /* until dispatch; once in its port's queue, when it joined */
        int64_t base;      /* results are ready at base + latency; valid with DUOP_KNOWN */
    };
    int64_t done_at;    /* completion, EX-5; CYCLE_NEVER until known */
    uint32_t fetched;   /* instruction: the low bits of its index */
    uint16_t waiters;   /* first consumer's edge, as in struct edge */
    uint16_t pending;   /* operands not known */
    uint16_t next;      /* in a wheel bucket or a store's list of waiting loads: slot + 1 */
    uint16_t port_wait; /* cycles between ready and dispatched */
    uint16_t tp_cyc;    /* EX-15, first uop only */
    uint16_t form;      /* with tp_cyc */
    uint8_t port;
    uint8_t state;     /* enum duop_state */
    uint8_t flags;     /* enum duop_flag */
    uint8_t fence;     /* first uop of a fence or locked instruction: 1 loads, 2 stores */
    uint8_t level;     /* loads: enum mem_level */
    uint8_t waits_for; /* loads: level whose latency they pay (a merged miss: the first miss's) */
    uint8_t l1_cause;  /* loads: enum stall for the time they wait in L1 */
    uint8_t counts;    /* loads: set of report_event to count at retirement; STA: 1: its page was walked */

    /* loads, STA and STD only */
    _Alignas(64) uint64_t store; /* STA, STD: own entry; load: entry it depends on, or 0 */
    const struct access *access;
    int64_t tlb_until, lfb_until; /* loads: waiting for a translation, a fill buffer until then */

    struct edge edge[UOP_MAX_SRC]; /* by operand; valid while it is pending */
};
_Static_assert(sizeof(struct duop) == 128, "the slot of a uop is found by a shift");

/* What it takes to say for whose sake slots were lost: low bits of numbers that are never far away, 0: none.
 */
struct duop_delay {
    uint32_t last;      /* seq + 1 of the uop whose result it got last */
    uint32_t queued_at; /* cycle in which it joined its port's queue; valid once dispatched */
    uint32_t head_at;   /* cycle since when slots were lost to it as the oldest */
    uint32_t heir;      /* seq + 1 of the uop to which its delay was charged */
};

/* Kept only while somebody listens to uops. */
struct duop_trace {
    uint64_t producer;
    int64_t queued_at, dispatched_at;
    uint8_t index; /* of its template, or UOP_RECORD_SYNC, _MERGE */
};

enum rob_flag {
    ROB_ENDS = 1,
    ROB_MS = 2,
    ROB_MISPREDICT = 4,
    ROB_BRANCH = 8,
    ROB_WRONG = 16,
    ROB_MEMORY = 32
};
struct rob_entry {
    uint64_t first_uop;
    uint64_t next_step;
    int64_t issued_at;
    uint64_t fetched;
    uint32_t site;
    uint16_t n_uops;
    uint8_t flags; /* enum rob_flag */
    uint8_t n_insns;
    uint8_t n_loads, n_int, n_vec, n_stores;
    uint8_t counted; /* of its instruction, with ROB_ENDS */
};

struct store_entry {
    uint64_t addr;
    uint64_t uop; /* its STA */
    uint64_t ip;
    int64_t addr_ready, data_ready; /* EX-13; CYCLE_NEVER: not yet */
    int64_t commit_at;              /* CYCLE_NEVER until retired */
    int64_t owned_at;               /* its lines are there; valid once retired */
    uint16_t size;
    uint16_t waiting; /* loads that wait for it: slot + 1 */
    bool known, non_temporal, split;
    bool flushes; /* CLFLUSH: its line leaves the caches when it retires */
    int64_t tlb_until;
};

/* Move elimination, RN-9 to RN-11. Physical registers are small ids: the architectural register that
 * first held the value, renewed at each write. */
enum { ELIM_SETS = 8, ELIM_CYCLES = 8 };
struct elim_class {
    uint32_t slots;
    uint32_t now;              /* eliminations in this cycle */
    uint32_t quiet;            /* active cycles in a row without a set or an elimination */
    uint32_t n_in_use;         /* sets */
    uint64_t names[ELIM_SETS]; /* architectural registers that share the register of a set */
    /* sets, bit = number; the others count only for those in use */
    uint32_t in_use;
    uint32_t empty, lone; /* without a name; with one at most */
    uint32_t was_lone;    /* at the end of the last active cycle */
    /* eliminations and sets in use of the last active cycles: a byte each, the lowest is the newest */
    uint64_t history_n, history_used;
};

struct rename_state { /* saved at a mispredicted branch */
    struct value map[R_COUNT];
    /* sets of registers, bit = id; general and vector registers are below 64 */
    uint64_t from_pointer, from_zero; /* EX-9: last written by a pointer load, by a zero idiom */
    uint64_t shared;                  /* in an elimination set: set_of is valid */
    uint8_t set_of[64];
    struct elim_class elim[2]; /* 0 GPR, 1 vector */
};

struct dsb_record {      /* a cached entry point of a 32-byte window */
    uint64_t entry, end; /* first address, first address not covered */
    uint64_t used;       /* replacement */
    uint32_t run;        /* of pipe.run: older records do not count */
    uint8_t lines;
};

struct dsb_build { /* the window that the decoders are filling */
    bool open;
    uint64_t window, entry, end;
    uint32_t lines, slots;
    bool closed;
    uint64_t last_start, last_end; /* of the last instruction, for FE-17 */
    bool last_is_branch;
    bool lcp_first_hit; /* DSB-7 */
    uint32_t lcp_second_hits;
};

/* Warming: who wrote these 8 bytes last, by step. */
struct recent_store {
    uint64_t granule, step;
};

struct pending_loads { /* loads in flight: all, and those known to have missed a level */
    int16_t any, l1, l2, l3;
};

struct pipe {
    /* allocated once and kept by pipe__reset, which clears from `core` up to the rings at the end */
    struct fetched *fetched;
    struct step_buffer *buffer;
    struct step *wrong;                   /* ring of made-up steps, as large as `fetched` */
    struct dsb_record *dsb;               /* dsb_sets x dsb_records */
    uint64_t *uncacheable;                /* windows known not to fit, direct mapped */
    int64_t *tp_free_at;                  /* by form */
    struct duop_trace *trace;             /* NULL without a listener */
    struct pending_loads *pending_change; /* by cycle */
    struct recent_store *recent;          /* warming: the latest stores */
    struct teacher *teacher;              /* warming: teaches the predictor; NULL: nobody else does */
    bool warmed_before;
    uint32_t run; /* number of this run */

    /* configuration */
    const struct core *core;
    struct isa *isa;
    struct source *source;
    struct memory *memory;
    struct predictor *predictor;
    struct listener *listener[PIPE_MAX_LISTENERS];
    unsigned n_listeners;
    struct uop_listener *uops;
    bool endless, unrolled, ufs, ideal_frontend, every_cycle, stage_waits, accounts_apart;
    uint32_t width, retire_width, n_ports;

    int64_t now;
    bool failed;

    /* fetch.c: the predicted path */
    uint64_t fetched_mask;
    uint64_t planned, delivered;
    uint64_t step_next;  /* next step of the correct path to plan */
    uint64_t step_end;   /* steps before it may be fetched: those of the buffer, up to the limit */
    uint64_t step_limit; /* pipe__hold; UINT64_MAX: none */
    bool source_ended;
    bool on_wrong_path, wrong_dead_end;
    uint64_t wrong_next, wrong_end;
    uint64_t wrong_pc;
    struct site *wrong_last; /* site of the newest made-up step */
    bool plan_held;          /* waiting for F_HOLD to be decoded */
    bool after_taken;        /* next planned instruction follows a taken branch */
    bool plan_mite;          /* current run comes from MITE until a taken branch */
    bool last_was_mite;
    uint64_t plan_window, plan_record_end;
    uint32_t plan_slots;
    bool plan_line_closed;

    uint32_t ufs_iteration; /* of the instruction planned last */

    /* warm.c */
    bool warming, warm_near;
    uint64_t warm_at, warm_addr; /* the next step, and its address */
    uint64_t warm_limit; /* instructions before this address come from the uop cache, the current window */
    uint64_t warm_line;  /* of the L1I asked for last */
    uint64_t warm_forward_steps;
    bool warm_absorbed; /* the next one is the second half of a pair that has been decoded */

    /* LSD */
    bool lsd_active;
    uint32_t lsd_unroll, lsd_pass, lsd_pos, lsd_len, lsd_lams;
    struct site *lsd_body[LSD_BODY];
    uint64_t lsd_branch; /* address of the backward branch that may close a loop */
    uint64_t lsd_hash, lsd_last_hash;
    uint32_t lsd_repeats, lsd_candidate_len, lsd_candidate_lams;
    bool lsd_candidate_ok;
    struct site *lsd_candidate[LSD_BODY];

    /* predecode.c */
    uint32_t iq_head, iq_tail;
    uint64_t pre_block; /* 16-byte block, UINT64_MAX: start anew */
    uint64_t pre_first; /* next instruction of the current block to enter the IQ */
    uint32_t pre_count; /* instructions of the current block left */
    bool pre_active, pre_cross, pre_extra;
    int32_t pre_stall, pre_steps, pre_previous;
    const struct evicted_code *evicted_code; /* NULL without memory */
    uint64_t evicted_seen;                   /* of them: not in the DSB any more */
    uint64_t fetch_line;                     /* 64-byte line last fetched */
    int64_t fetch_ready_at;                  /* its bytes are there */
    bool fetch_tlb;

    /* decode.c */
    struct dsb_build build;
    uint64_t dsb_clock;
    uint32_t dsb_sets, dsb_records;
    bool tp_used;
    bool any_uncacheable;

    /* dsb.c */
    uint32_t dsb_lam, dsb_pos;
    bool dsb_cut;
    int64_t bubble_until;

    /* microcode sequencer */
    bool ms_busy;
    uint32_t ms_stall, ms_tail;
    uint64_t ms_fetched;
    uint32_t ms_lam;

    /* front end as a whole */
    int64_t resume_at; /* nothing is fetched before */
    int64_t fe_next;   /* when the front end can do something next */
    uint8_t fe_cause;  /* enum stall: why it delivers too little */
    uint8_t resteer;   /* enum stall while the first correct-path uop is awaited, else 0 */
    bool dsb_switch;
    uint8_t latency_cause; /* enum stall: why nothing comes, until the first uop after it, else 0 */
    bool latency_new;      /* set in this cycle */

    /* idq.c */
    uint32_t idq_head, idq_tail;
    struct stack_state stack, stack_saved;

    /* rename.c */
    struct rename_state ren, ren_saved;
    uint64_t ren_insn; /* fetched index of the instruction being issued + 1 */
    uint32_t ren_uop;  /* its next template */
    uint64_t ren_seq;  /* its next uop */
    const struct recipe *ren_recipe;
    uint64_t saved_uop_tail;
    uint64_t saved_fetched;
    int64_t flush_at;      /* misprediction known; CYCLE_NEVER: none */
    int64_t blocked_until; /* allocator recovers, BP-4 */
    uint32_t recovery_site;
    uint8_t recovery_kind; /* enum flush_kind of the last flush */
    struct uop sync_uop, merge_uop[4];
    struct duop retired; /* stands for whatever produced a value that has been ready long since */

    /* schedule.c */
    uint64_t uop_head, uop_tail;
    uint32_t rs_used;
    uint64_t oldest_waiting; /* no uop before it waits for its dispatch */
    uint16_t usage[MAX_PORTS], snapshot[MAX_PORTS];
    uint32_t left_ports; /* ports whose uop of the previous cycle leaves the count (PA-2) */
    uint8_t toggle23;
    uint64_t ready[MAX_PORTS + 1][UOP_WORDS]; /* last: divider */
    uint32_t ready_words[MAX_PORTS + 1];
    uint32_t ready_ports;
    uint16_t wheel[WHEEL];
    uint64_t wheel_used[WHEEL_WORDS];
    int64_t divider_free_at;
    int64_t p4_blocked_at;
    int64_t twice_at; /* last cycle in which a load was sent that needs its port twice (EX-12, EX-23) */
    uint32_t twice_ports;
    uint32_t n_held;
    uint32_t fences_in_flight;

    /* execute.c */
    uint64_t store_head, store_tail; /* from 1; [head, tail) not committed */
    uint64_t store_unknown;          /* stores before it have their address */
    uint64_t store_retired;          /* first store not retired */
    int64_t last_commit;
    uint8_t disambiguation[DISAMBIGUATION]; /* by load: successes in a row, EX-20 */
    uint8_t conflicts[DISAMBIGUATION];      /* by load: could pass the store it needs, for warming only */
    uint16_t store_filter[STORE_FILTER];
    uint32_t loads_used, stores_used;
    int64_t level_cyc[MEM_LEVELS]; /* idle latency of a request by level */
    uint32_t loads_waiting;        /* renamed, not dispatched */
    int32_t prf_int_free, prf_vec_free;
    struct pending_loads pending;
    uint64_t pending_used[WHEEL_WORDS];
    uint8_t mem_outstanding, own_outstanding, mem_reads, mem_state;
    int64_t mem_change_at;

    /* retire.c */
    uint64_t rob_head, rob_tail;
    uint64_t instructions;

    /* report.c */
    struct cycle_report *cur;    /* of this cycle, in `report`; of the last one between cycles */
    struct cycle_report *report; /* room for REPORT_BATCH: own_report or the relay's */
    struct relay *relay;         /* pipe__run, if accounts have a thread of their own; else NULL */
    unsigned n_reports, batch;
    const struct duop *blocker; /* load whose result the oldest waiting uop needs, NULL: none */
    bool gate_closed;
    bool judge_stall;    /* the reason is found at the end of the cycle */
    bool was_idle;       /* the last cycle changed nothing */
    int64_t idle_until;  /* nor does any before this one: where a run ended inside idle cycles */
    int64_t progress_at; /* last cycle in which something retired or nothing waited to */
    bool roomy;          /* rings and buffers have room for any ordinary group */

    /* rings, last: pipe__reset does not clear them, their heads and tails say what counts */
    struct idq_entry idq[IDQ_RING];
    struct duop uop[UOP_RING];
    struct duop_delay delay[UOP_RING]; /* by slot */
    struct store_entry store[STORE_RING];
    struct rob_entry rob[ROB_RING];
    struct cycle_report own_report[REPORT_BATCH];
    uint64_t iq[IQ_RING];    /* fetched indices */
    uint16_t held[UOP_RING]; /* ready but kept back by EX-15 or EX-16, oldest first */
};

static inline struct fetched *pipe__fetched(struct pipe *p, uint64_t i)
{
    return &p->fetched[i & p->fetched_mask];
}
static inline struct duop *pipe__uop(struct pipe *p, uint64_t seq)
{
    return &p->uop[seq & (UOP_RING - 1)];
}

static inline struct duop_delay *pipe__delay(struct pipe *p, const struct duop *u)
{
    return &p->delay[u->seq & (UOP_RING - 1)];
}
static inline struct rob_entry *pipe__rob(struct pipe *p, uint64_t i)
{
    return &p->rob[i & (ROB_RING - 1)];
}
static inline struct store_entry *pipe__store(struct pipe *p, uint64_t i)
{
    return &p->store[i & (STORE_RING - 1)];
}
/* Laminated uops of an instruction; those that come from decoders or DSB are its mite_lams (MS-1) */
static inline unsigned pipe__lams(struct pipe *p, struct insn *insn)
{
    const struct recipe *r = insn->recipe[RECIPE_BASE];
    return (r ? r : isa__recipe(p->isa, insn, RECIPE_BASE))->n_lams;
}
/* DSB window, DSB-1 */
static inline uint64_t pipe__window(uint64_t addr)
{
    return addr / 32;
}
static inline int64_t max_cycle(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* fetch.c */
void fetch__init(struct pipe *p);
/* Makes instruction `i` planned; false if fetch cannot tell yet (hold, dead end, end of the program). */
bool fetch__plan(struct pipe *p, uint64_t i);
static inline bool fetch__ensure(struct pipe *p, uint64_t i)
{
    return p->planned > i || fetch__plan(p, i);
}
void fetch__delivered(struct pipe *p, const struct fetched *f);
void fetch__warm(struct pipe *p); /* endless: DSB and LSD state of a loop that has run for ever */

/* predecode.c: one predecoder step, FE-5 to FE-14 */
void predecode__step(struct pipe *p);
void predecode__reset(struct pipe *p);
static inline uint32_t predecode__iq_used(const struct pipe *p)
{
    return p->iq_tail - p->iq_head;
}

/* decode.c: the decoders, DE-1 to DE-9, and the microcode sequencer, MS-1, MS-2 */
void decode__step(struct pipe *p);
void decode__ms_step(struct pipe *p);

/* dsb.c */
bool dsb__lookup(struct pipe *p, uint64_t entry, uint64_t *end);
void dsb__build(struct pipe *p, const struct fetched *f, const struct fetched *second);
void dsb__build_close(struct pipe *p);
void dsb__step(struct pipe *p);
/* FE-21: what left the L1I leaves the DSB. */
void dsb__follow_evictions(struct pipe *p);

/* lsd.c */
void lsd__observe(struct pipe *p, const struct fetched *f);
bool lsd__follow(struct pipe *p, struct fetched *f);
void lsd__step(struct pipe *p);

/* idq.c */
void idq__deliver(struct pipe *p, uint64_t fetched, unsigned first_lam, unsigned end_lam, bool from_ms);
static inline uint32_t idq__used(const struct pipe *p)
{
    return p->idq_tail - p->idq_head;
}

/* frontend.c: CY-4, CY-5 */
void frontend__step(struct pipe *p);

/* ufs.c */
void ufs__frontend(struct pipe *p);
unsigned ufs__slots(const struct pipe *p, const struct insn *insn, const struct recipe *r,
                    const struct lam *lam);
uint8_t ufs__lacking(const struct pipe *p, const struct recipe *r, const struct lam *lam, unsigned slots,
                     bool first);
unsigned ufs__port(const struct pipe *p, unsigned ports);

/* rename.c: CY-1; the group of this cycle */
void rename__init(struct pipe *p);
void rename__step(struct pipe *p);
void rename__idle_cycles(struct pipe *p, int64_t n);

/* schedule.c */
void schedule__bind(struct pipe *p, struct duop *u, unsigned slot);
void schedule__set_ready(struct pipe *p, struct duop *u);
void schedule__wake(struct pipe *p, struct duop *u); /* results known: tell the consumers */
void schedule__step(struct pipe *p);
int64_t schedule__next_event(const struct pipe *p, const uint64_t *used);
void schedule__drop(struct pipe *p, struct duop *u); /* squashed before dispatch */

/* execute.c */
void execute__dispatch(struct pipe *p, struct duop *u);
uint64_t execute__match_store(struct pipe *p, const struct access *a, bool *alias);
uint64_t execute__new_store(struct pipe *p, struct duop *sta, const struct access *a, uint64_t ip, bool nt);
void execute__drop_stores(struct pipe *p, uint64_t first);
void execute__commit(struct pipe *p);
/* Returns whether it wrote to code that was fetched (ME-15). */
bool execute__retire_store(struct pipe *p, struct store_entry *s);
/* EX-20: must this ready load wait for older stores' addresses? */
bool execute__must_wait(struct pipe *p, struct duop *load);
void execute__learn(struct pipe *p, const struct duop *load);
static inline unsigned disambiguation__index(uint64_t ip)
{
    return (ip ^ ip >> 10) % DISAMBIGUATION;
}
void execute__tick(struct pipe *p); /* pending-load counts of this cycle */

/* trace.c: the lives of uops, for those who ask */
static inline struct duop_trace *trace__of(struct pipe *p, const struct duop *u)
{
    return &p->trace[u->seq & (UOP_RING - 1)];
}
void trace__retired(struct pipe *p, const struct rob_entry *e);

/* teach.c */
struct teacher *teacher__new(struct predictor *predictor, const struct step_buffer *buffer);
void teacher__free(struct teacher *t);
/* The steps from `step` on are given next; the first is at `addr`. Everything given before is done. */
void teacher__start(struct teacher *t, uint64_t step, uint64_t addr);
void teacher__give(struct teacher *t, uint64_t step); /* up to there, without waiting */
void teacher__wait(struct teacher *t, uint64_t step);
uint64_t teacher__done(const struct teacher *t);

/* relay.c: listeners on a thread of their own. NULL: there is none, no CPU for it or no memory. */
struct relay *relay__new(struct listener *const *listener, unsigned n_listeners);
struct cycle_report *relay__buffer(struct relay *r); /* of the next batch; waits until it may be written */
void relay__give(struct relay *r, unsigned n_reports);
void relay__finish(struct relay *r); /* everything given has been consumed; frees it */

/* warm.c: what pipe__warm began is complete, and the buffer begins after it */
void warm__end(struct pipe *p);

/* retire.c */
void retire__step(struct pipe *p);

/* flush.c: BP-3, BP-7 */
void flush__step(struct pipe *p);
/* The instruction of `e`, the oldest, read memory too early: it is executed again. */
void flush__memory_ordering(struct pipe *p, const struct rob_entry *e);
/* The instruction whose last entry is `e` has retired and wrote to code: what follows it is fetched again. */
void flush__self_modifying(struct pipe *p, const struct rob_entry *e);
/* Nothing is in flight and fetch starts anew (pipe__resume). */
void flush__restart(struct pipe *p);

/* report.c */
void report__stall(struct pipe *p, unsigned issued, uint8_t resource);
void report__finish(struct pipe *p);
/* Brings up to date what is known of the memory system; reasons for stalls depend on it. */
void report__memory(struct pipe *p);
/* A count as reports have it. */
static inline uint8_t report__count(unsigned n)
{
    return n > 255 ? 255 : (uint8_t)n;
}
void report__send(struct pipe *p);
int64_t report__next_change(struct pipe *p);

#endif
