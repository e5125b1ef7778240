/* SPDX-License-Identifier: Apache-2.0 */
/* The whole state of the memory system.
 *
 * A request changes all tags at the moment it is made and gets time stamps for when the data are
 * there: an entry whose data are on their way is TAG_PENDING. Fill times are load-to-use times of a
 * load with the L1 latency of the core description ("base").
 *
 * Invariants:
 *  1. an inclusive L3 holds every line that an L1 or the L2 holds (ME-2), under the key
 *     line ^ member_key (uncore.h);
 *  2. last_line, last_fetch are the latest entries touched in their L1 and not pending; last_dpage,
 *     last_ipage likewise in their TLB: to touch them again changes nothing. NO_KEY: none;
 *  3. the page of every line in the L1I has its bit in code_page; more bits may be set. */
#ifndef FATHOM_MEM_MEM_H
#define FATHOM_MEM_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "fathom/memory.h"
#include "mem/prefetch.h"
#include "mem/queue.h"
#include "mem/tags.h"
#include "mem/uncore.h"

enum { WC_LINES = 8, WALK_LEVELS = 4, CODE_PAGES = 4096, PAGE_SHIFT = 12, MAPPED_LOG2 = 20 };

#define NO_KEY UINT64_MAX

enum request {
    REQ_LOAD,
    REQ_RFO,
    REQ_CODE,
    REQ_WALK,
    REQ_SOFTWARE, /* software prefetch */
    REQ_PREFETCH, /* hardware prefetch into L1 */
};

/* What became of a request at one line. */
struct fill {
    uint64_t ready;
    uint64_t l2_miss_at, l3_miss_at;
    uint8_t level; /* enum mem_level */
    bool lfb_full;
};

/* What becomes of the prefetches that an L2 would have to fetch: counted in time, and repeated in the same
 * proportions while warming, when nothing is ever busy. */
struct fates {
    uint32_t asked, l3_only, refused; /* the latest ones count most */
    uint32_t owed_l3_only, owed_refused;
};

/* A condition that holds in [from, until); one that begins before the last has ended prolongs it. */
struct busy {
    uint64_t from, until;
};
enum { BUSY_STATES = 6 }; /* enum memory_state, by bit */

struct memory {
    /* hot: the hit path */
    uint64_t now; /* of the latest request */
    uint64_t last_line, last_dpage;
    uint64_t last_fetch, last_ipage;
    bool no_data_miss, no_icache_miss, no_dtlb, no_itlb;
    bool l1_next, l1_ip, l2_adjacent, l2_streamer, next_page;
    bool l3_inclusive;
    uint32_t base_lat; /* L1D */
    uint32_t l2_lat, l3_lat;
    uint32_t stlb_hit_cyc, split_load_cyc, split_page_cyc;
    struct memory_counts counts;
    struct tags l1d, dtlb;
    struct stride_table strides;
    struct recent_table recent;
    uint64_t code_page[CODE_PAGES / 64];
    struct evicted_code evicted_code;

    /* behind it */
    struct tags l1i, l2, itlb, stlb;
    struct tags upper[WALK_LEVELS - 1]; /* paging-structure caches, [0] maps 2 MiB */
    uint64_t *mapped;                   /* pages that have been walked to, a bit each */
    uint64_t *l1d_start;                /* when the miss of a pending L1D entry left the L1 */
    struct pool lfb, sq, walkers;
    struct lane l2_lane, l3_lane; /* the link to the L3 is the core's own (ME-3: a slice for each core) */
    struct stream_table streams;
    struct uncore *uncore;
    bool shared; /* it is not its own */
    uint64_t member_key, starts_at;
    struct outstanding *outstanding; /* its own requests; not apart from the uncore's if that is its own */
    struct outstanding *reads;       /* beyond L2 */
    uint64_t events;                 /* enum memory_event, packed */
    bool changed;                    /* since the last memory__activity */
    uint8_t lfb_waits;
    uint8_t translating; /* MEMORY_LOAD_STLB_HIT, _STORE_ or _CODE_ */
    struct busy busy[BUSY_STATES];
    uint64_t wc_line[WC_LINES]; /* lines of non-temporal stores in write-combining buffers */
    struct warm_hints *warm;    /* NULL until something is warmed */
    struct fates fates;
    bool untimed; /* warming */
    uint32_t wc_next;
};

/* One access of the L1D from `t` on. */
void l1d__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f);
/* One request of an L1 to the L2. */
void l2__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f);
/* Lets the L2 prefetchers see that request. To be called after the line is in the L1: a prefetch may
 * push any line out of an inclusive L3, and then out of the L1. */
void l2__train(struct memory *mem, uint64_t line, uint64_t t, enum request why, const struct fill *f);
/* Prefetch into L1D if the line is missing and there are buffers. */
void l1d__prefetch(struct memory *mem, uint64_t line, uint64_t t);
/* Takes the line out of the L1I; true if it was there. */
bool l1i__drop(struct memory *mem, uint64_t line);
/* Takes the line out of every cache; true if it was dirty. */
bool hierarchy__drop(struct memory *mem, uint64_t line);
/* The operating system has just written the line: it is in the L2 if it was in no cache of the core. */
void hierarchy__written(struct memory *mem, uint64_t line, uint64_t t);
/* The channel to memory transfers a line from `t` on; when it begins. */
uint64_t dram__transfer(struct memory *mem, uint64_t t);
static inline void memory__count(struct memory *mem, enum memory_event event)
{
    mem->events += 1ull << 8 * event;
    mem->changed = true;
}

/* Pages that may have lines in the L1I: what a store must look at (ME-15). */
static inline uint64_t *code_page__word(struct memory *mem, uint64_t addr)
{
    return &mem->code_page[(addr >> PAGE_SHIFT) % CODE_PAGES / 64];
}

static inline uint64_t code_page__bit(uint64_t addr)
{
    return 1ull << (addr >> PAGE_SHIFT) % 64;
}

static inline bool code_page__has(struct memory *mem, uint64_t addr)
{
    return (*code_page__word(mem, addr) & code_page__bit(addr)) != 0;
}

void memory__wait_for_buffer(struct memory *mem, uint64_t from, uint64_t until);

/* `state` holds in [from, until), known at `now`. */
static inline void memory__busy(struct memory *mem, enum memory_state state, uint64_t from, uint64_t until)
{
    struct busy *b = &mem->busy[__builtin_ctz(state)];

    if (b->until <= mem->now || from < b->from)
        b->from = from;
    if (until > b->until)
        b->until = until;
    mem->changed = true;
}

/* When the translation of `page` is there; `t` on a hit. */
uint64_t tlb__translate(struct memory *mem, struct tags *tlb, uint64_t page, uint64_t t, uint64_t *n_misses);

/* The L1 prefetchers see every load (ME-8). */
static inline void load__train(struct memory *mem, uint64_t ip, uint64_t addr, uint64_t line, uint64_t now)
{
    if (mem->l1_ip) {
        uint64_t target = stride__train(&mem->strides, ip, addr) & ~(uint64_t)63;
        if (target != line)
            l1d__prefetch(mem, target, now);
    }
    if (mem->l1_next && recent__train(&mem->recent, line))
        l1d__prefetch(mem, line + 64, now);
}

#endif
