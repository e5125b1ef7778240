/* SPDX-License-Identifier: Apache-2.0 */
/* The memory system as the pipeline sees it: when does an access that starts now finish, and where
 * was the data. Requests arrive in non-decreasing time; contention (fill buffers, queues, bandwidth)
 * is resolved at the moment of the request, by time stamps. */
#ifndef FATHOM_MEMORY_H
#define FATHOM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct status;
struct memory;
struct uncore;

enum mem_level { MEM_L1, MEM_LFB, MEM_L2, MEM_L3, MEM_DRAM, MEM_LEVELS };

/* What an access met. Times are absolute cycles. */
struct mem_result {
    uint64_t ready;      /* data usable by a dependent (loads), line owned (stores), bytes fetched (code) */
    uint64_t l2_miss_at; /* moment at which the L2 miss was known; 0: none */
    uint64_t l3_miss_at; /* likewise L3; 0: none */
    uint64_t tlb_until;  /* DTLB/ITLB miss served until then; 0: hit */
    uint8_t level;       /* enum mem_level: where the data was (MEM_LFB: merged with an earlier miss) */
    uint8_t split;       /* 1 line split, 2 page split */
    uint8_t lfb_full;    /* the request waited for a fill buffer */
    uint8_t code;        /* stores: the line was in the L1I, and has left it (ME-15) */
    uint8_t changed;     /* loads: memory__activity would answer anew */
};

/* Switches that are not part of a core. */
struct memory_options {
    bool no_prefetch;
    bool no_tlb;
    bool no_dtlb;        /* translations of data cost nothing */
    bool no_data_miss;   /* every load and store hits L1D; translations are not included */
    bool no_icache_miss; /* every fetch hits L1I, likewise */
    bool perfect;        /* all of it */
    /* One of several memories with a common L3, controller and channel; NULL: those are its own. */
    struct uncore *uncore; /* lives longer than the memory; of the same core */
    unsigned member;       /* its number there, below UNCORE_MAX_MEMBERS; every number once */
    uint64_t starts_at;    /* the uncore's cycle at the memory's cycle 0 */
};

/*
 * The part of the memory system that several cores of a chip share. Their clocks must stay within
 * UNCORE_SLACK_CYC of each other.
 */
enum { UNCORE_MAX_MEMBERS = 16, UNCORE_SLACK_CYC = 256 };
struct uncore *uncore__new(const struct core *core, struct status *st);
void uncore__free(struct uncore *uncore);
/* Memory that they take: a memory without its uncore, an uncore. */
size_t memory__bytes(const struct core *core);
size_t uncore__bytes(const struct core *core);

struct memory *memory__new(const struct core *core, const struct memory_options *opt, struct status *st);
void memory__free(struct memory *mem);

/* Demand load of `size` bytes by the instruction at `ip`, dispatched at `now`. An L1 hit is ready at
 * now + core->l1d latency as given by the pipeline (EX-8): `ready` is then exactly now + l1_lat. */
void memory__load(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size, uint64_t now,
                  unsigned l1_lat, struct mem_result *res);
/* Translates a store's address when its address uop executes at `now` (RT-6); returns when it is known. */
uint64_t memory__translate_store(struct memory *mem, uint64_t addr, unsigned size, uint64_t now);
/* A senior store's line must be owned; called once for each store when it retires (RFO, ME-11). */
void memory__store(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size, bool non_temporal,
                   uint64_t now, struct mem_result *res);
/* Instruction fetch of the 64-byte line of `addr`. */
void memory__fetch(struct memory *mem, uint64_t addr, uint64_t now, struct mem_result *res);
/* Log of the lines that left the L1I: the n-th one since the start is line[n % EVICTED_CODE]. Owned by the
 * memory system; a reader that is further behind has to take all lines as gone. */
enum { EVICTED_CODE = 64 };
struct evicted_code {
    uint64_t n;
    uint64_t line[EVICTED_CODE]; /* addresses */
};
const struct evicted_code *memory__evicted_code(const struct memory *mem);
/* Software prefetch, clflush: hints; never fail. */
void memory__prefetch(struct memory *mem, uint64_t addr, uint64_t now);
void memory__flush_line(struct memory *mem, uint64_t addr, uint64_t now);
/* Requests waiting at the memory controller (ExtMemOutstanding of the paper). */
struct memory_requests {
    unsigned all; /* of all memories that share it */
    unsigned own; /* of this one */
    uint64_t
        until; /* the next time at which one of both changes, unless others send more; UINT64_MAX: never */
};
void memory__requests(const struct memory *mem, uint64_t now, struct memory_requests *requests);
/* Whether others send requests to the same controller. */
bool memory__has_company(const struct memory *mem);

/*
 * What performance counters see of the memory system, besides the results of the requests themselves.
 * Events are counts of one byte each, packed: byte MEMORY_RFO of `events` are the RFOs. States hold in a
 * cycle or not. Translations of loads, stores and code come in pairs: found in the second-level TLB, or
 * walked.
 */
enum memory_event {
    MEMORY_LOAD_STLB_HIT,
    MEMORY_LOAD_WALK,
    MEMORY_STORE_STLB_HIT,
    MEMORY_STORE_WALK,
    MEMORY_CODE_STLB_HIT,
    MEMORY_CODE_WALK,
    MEMORY_RFO,        /* requests for ownership of L1D to L2 */
    MEMORY_RFO_L2_HIT, /* of those, found in L2 */
    MEMORY_EVENTS
};
enum memory_state {
    MEMORY_WALKING_LOAD = 1, /* a page walk is under way (or waits for a walker) for a load */
    MEMORY_WALKING_STORE = 2,
    MEMORY_WALKING_CODE = 4,
    MEMORY_LFB_FULL = 8,     /* a load, store or software prefetch waits for a fill buffer (ME-4) */
    MEMORY_SQ_FULL = 16,     /* a request waits for a super-queue entry (ME-5) */
    MEMORY_RFO_OFFCORE = 32, /* an RFO that missed L2 is under way */
};
struct memory_activity {
    uint64_t events;      /* since the previous call */
    uint64_t next_change; /* of the other fields; UINT64_MAX: never */
    struct memory_requests requests;
    uint32_t reads;    /* data reads beyond L2 under way, prefetches and page walks included */
    uint8_t state;     /* enum memory_state */
    uint8_t lfb_waits; /* since the previous call: demands that found no free fill buffer */
};
void memory__activity(struct memory *mem, uint64_t now, struct memory_activity *activity);

/*
 * Functional warming (docs/sample.md): loads, stores and fetches that take no time. Tags, replacement,
 * translations, prefetchers and counts become what they would be if each access began after everything
 * before it had finished; memory__now moves on accordingly. Prefetches and flushes: the functions above,
 * at memory__now.
 */
void memory__warm_load(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size);
void memory__warm_store(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size, bool non_temporal);
void memory__warm_fetch(struct memory *mem, uint64_t addr);
/* Cycle from which on requests may arrive. */
uint64_t memory__now(const struct memory *mem);

/* Plain counts for comparison with cachegrind and for reports. */
struct memory_counts {
    uint64_t loads, stores, fetches;
    uint64_t l1d_load_miss, l1d_store_miss, l1i_miss, l2_miss, l3_miss;
    uint64_t dtlb_miss, itlb_miss, walks, prefetches;
};
void memory__counts(const struct memory *mem, struct memory_counts *counts);

#endif
