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
    uint8_t reserved;
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
/* Software prefetch, clflush: hints; never fail. */
void memory__prefetch(struct memory *mem, uint64_t addr, uint64_t now);
void memory__flush_line(struct memory *mem, uint64_t addr, uint64_t now);
/* Requests waiting at the memory controller at `now` (ExtMemOutstanding of the paper), of all that share it.
 */
unsigned memory__outstanding(const struct memory *mem, uint64_t now);
/* Those of this memory alone. */
unsigned memory__outstanding_own(const struct memory *mem, uint64_t now);
/* Next time after `now` at which one of both changes; UINT64_MAX: never. In a shared uncore others may
 * change the first before that. */
uint64_t memory__next_change(const struct memory *mem, uint64_t now);

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
