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
 *     last_ipage likewise in their TLB: to touch them again changes nothing. NO_KEY: none. */
#ifndef FATHOM_MEM_MEM_H
#define FATHOM_MEM_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "fathom/memory.h"
#include "mem/prefetch.h"
#include "mem/queue.h"
#include "mem/tags.h"
#include "mem/uncore.h"

enum { WC_LINES = 8, WALK_LEVELS = 4 };

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

struct memory {
    /* hot: the hit path */
    uint64_t now; /* of the latest request */
    uint64_t last_line, last_dpage;
    uint64_t last_fetch, last_ipage;
    bool no_data_miss, no_icache_miss, no_dtlb, no_itlb;
    bool l1_next, l1_ip, l2_adjacent, l2_streamer;
    bool l3_inclusive;
    uint32_t base_lat; /* L1D */
    uint32_t l2_lat, l3_lat;
    uint32_t stlb_hit_cyc, split_load_cyc, split_page_cyc;
    struct memory_counts counts;
    struct tags l1d, dtlb;
    struct stride_table strides;
    struct recent_table recent;

    /* behind it */
    struct tags l1i, l2, itlb, stlb;
    struct tags upper[WALK_LEVELS - 1]; /* paging-structure caches, [0] maps 2 MiB */
    uint64_t *l1d_start;                /* when the miss of a pending L1D entry left the L1 */
    struct pool lfb, sq, walkers;
    struct lane l2_lane, l3_lane; /* the link to the L3 is the core's own (ME-3: a slice for each core) */
    struct stream_table streams;
    struct uncore *uncore;
    bool shared; /* it is not its own */
    uint64_t member_key, starts_at;
    struct outstanding *outstanding; /* its own requests; not apart from the uncore's if that is its own */
    uint64_t wc_line[WC_LINES];      /* lines of non-temporal stores in write-combining buffers */
    struct warm_hints *warm;         /* NULL until something is warmed */
    uint32_t wc_next;
};

/* One access of the L1D from `t` on. */
void l1d__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f);
/* One request of an L1 to the L2. */
void l2__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f);
/* Lets the L2 prefetchers see that request. To be called after the line is in the L1: a prefetch may
 * push any line out of an inclusive L3, and then out of the L1. */
void l2__train(struct memory *mem, uint64_t line, uint64_t t, const struct fill *f);
/* Prefetch into L1D if the line is missing and there are buffers. */
void l1d__prefetch(struct memory *mem, uint64_t line, uint64_t t);
/* Takes the line out of every cache; true if it was dirty. */
bool hierarchy__drop(struct memory *mem, uint64_t line);
/* The channel to memory transfers a line from `t` on; when it begins. */
uint64_t dram__transfer(struct memory *mem, uint64_t t);
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
