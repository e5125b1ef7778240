/* SPDX-License-Identifier: Apache-2.0 */
/* What the hardware prefetchers have learned, and the lines they would like to have (ME-8, ME-9).
 * Whether a prefetch can be issued is for the memory system to say. */
#ifndef FATHOM_MEM_PREFETCH_H
#define FATHOM_MEM_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STRIDE_ENTRIES = 256,
    STRIDE_LIMIT_BYTES = 2048,
    STRIDE_CONFIDENT = 2,
    RECENT_ENTRIES = 16,
    STREAMS = 32,
    STREAM_HINTS = 64,
    STREAM_CONFIDENT = 2, /* steps in one direction: three accesses */
    STREAM_STEP_MAX = 8,  /* lines; a longer jump is no stream */
    STREAM_AHEAD_MAX = 20,
    STREAM_PER_ACCESS = 2,
    NEXT_PAGE_LINES = 8, /* this near the boundary the next page is prefetched */
};

/* L1: stride of each load instruction, by its low address bits (no tags: loads may share). */
struct stride_table {
    struct stride {
        uint64_t last;
        int32_t stride;
        uint32_t confidence;
    } entry[STRIDE_ENTRIES];
};

/* L1: the last line loaded from a page, for the next-line prefetcher. */
struct recent_table {
    uint64_t line[RECENT_ENTRIES];
};

/* L2: one stream for a page. */
struct stream_table {
    uint64_t page[STREAMS];
    uint64_t used[STREAMS]; /* for replacement of the least recently used */
    struct stream {
        int8_t last, next; /* line in page: last access, next prefetch */
        int8_t direction;  /* +1, -1, 0: unknown */
        uint8_t confidence;
        bool left; /* its next page has been asked for */
    } stream[STREAMS];
    uint64_t clock;
    uint8_t hint[STREAM_HINTS]; /* where a page was last found */
};

static inline bool same_page(uint64_t a, uint64_t b)
{
    return ((a ^ b) >> 12) == 0;
}

/* Learns a load; returns the address to prefetch, or `addr` itself for none. */
static inline uint64_t stride__train(struct stride_table *t, uint64_t ip, uint64_t addr)
{
    struct stride *e = &t->entry[ip % STRIDE_ENTRIES];
    int64_t delta = (int64_t)(addr - e->last);

    if (delta == 0)
        return addr;
    e->last = addr;
    if (delta == e->stride) {
        if (e->confidence < STRIDE_CONFIDENT)
            ++e->confidence;
    } else {
        bool usable = delta >= -STRIDE_LIMIT_BYTES && delta <= STRIDE_LIMIT_BYTES;
        e->stride = usable ? (int32_t)delta : 0;
        e->confidence = usable ? 1 : 0;
    }
    if (e->confidence < STRIDE_CONFIDENT)
        return addr;
    uint64_t target = addr + (uint64_t)delta;
    return same_page(target, addr) ? target : addr;
}

/* Learns a load's line; true when it ascends and the next line is wanted. */
static inline bool recent__train(struct recent_table *t, uint64_t line)
{
    uint64_t *last = &t->line[(line >> 12) % RECENT_ENTRIES];
    bool ascends = line == *last + 64;

    *last = line;
    return ascends && same_page(line, line + 64);
}

/* Learns an access of the L1 to the L2; the stream if it is sure of its direction, else NULL. */
struct stream *stream__train(struct stream_table *t, uint64_t line);
/* The next line of the page of `line` that stream `s` wants; false if it is far enough ahead. The
 * caller steps over it with stream__advance once it is asked for or known to be there. */
bool stream__peek(const struct stream *s, uint64_t line, uint64_t *wanted);

/* True once for a stream that has come near the boundary of its page: *first is the line beyond. */
bool stream__leaves_page(struct stream *s, uint64_t line, uint64_t *first);

static inline void stream__advance(struct stream *s)
{
    s->next = (int8_t)(s->next + s->direction);
}

#endif
