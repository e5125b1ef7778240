/* SPDX-License-Identifier: Apache-2.0 */
/* Set-associative tag arrays: caches, TLBs and paging-structure caches are the same thing with other
 * keys. A key is a 64-byte line address, or a page number shifted left by 6: its low 6 bits are free
 * and hold the state of the entry.
 *
 * Invariants: a key is in at most one way of its set; ready[] is meaningful only while TAG_PENDING
 * is set. */
#ifndef FATHOM_MEM_TAGS_H
#define FATHOM_MEM_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "fathom/core.h"

struct status;

enum { TAG_WAYS_MAX = 64 };

enum tag_flag {
    TAG_VALID = 1,
    TAG_DIRTY = 2,
    TAG_PENDING = 4, /* allocated, data arrives at ready[] */
    TAG_FROM_L3 = 8, /* who serves the pending fill */
    TAG_FROM_DRAM = 16,
    TAG_FLAGS = 63,
};

struct tags {
    uint64_t *word;   /* key | flags, sets x ways */
    uint64_t *ready;  /* fill time of a pending entry */
    uint64_t *policy; /* replacement state of a set: tree bits, or ages of 2 bits, those of ways from 32 on
                         behind all others */
    uint64_t *used;   /* LRU: clock at the latest use of an entry */
    uint64_t clock;
    uint32_t sets, ways;
    uint32_t low_bits; /* sets = odd << low_bits */
    uint32_t odd;
    bool hashed; /* upper key bits are folded into the set number (L3 slices) */
    enum replacement replacement;
    uint64_t tree_keep[TAG_WAYS_MAX]; /* tree-PLRU: a touched way rewrites the bits on its path */
    uint64_t tree_set[TAG_WAYS_MAX];
};

/* `n_entries` must be a multiple of `ways` (1 to TAG_WAYS_MAX); any number of sets is allowed. `what`
 * names the array in the message of a failure. */
int tags__init(struct tags *t, uint64_t n_entries, uint32_t ways, bool hashed, enum replacement replacement,
               const char *what, struct status *st);
void tags__fini(struct tags *t);
/* Memory that it takes, besides struct tags. */
static inline uint64_t tags__bytes(uint64_t n_entries, uint32_t ways)
{
    return n_entries * 2 * sizeof(uint64_t) + n_entries / (ways ? ways : 1) * sizeof(uint64_t);
}

static inline uint32_t tags__set(const struct tags *t, uint64_t key)
{
    uint64_t line = key >> 6;
    uint64_t low = line & ((1U << t->low_bits) - 1U);

    if (!t->hashed && t->odd == 1)
        return (uint32_t)low;
    uint64_t high = line >> t->low_bits;
    if (t->hashed) /* a permutation of the sets for each value of the upper bits: contiguous data stay even */
        low = (low ^ high * 0x9e3779b97f4a7c15U >> 32) & ((1U << t->low_bits) - 1U);
    return (uint32_t)(((high % t->odd) << t->low_bits) | low);
}

/* Position of `key`, or -1. */
static inline int64_t tags__find(const struct tags *t, uint64_t key)
{
    uint32_t first = tags__set(t, key) * t->ways;
    const uint64_t *word = t->word + first;

    for (uint32_t way = 0; way < t->ways; ++way)
        if (((word[way] ^ (key | TAG_VALID)) & ~(uint64_t)(TAG_FLAGS & ~TAG_VALID)) == 0)
            return (int64_t)first + way;
    return -1;
}

void tags__touch_qlru(struct tags *t, uint32_t set, uint32_t way);

static inline void tags__touch(struct tags *t, uint64_t key, int64_t pos)
{
    uint32_t set = tags__set(t, key);
    uint32_t way = (uint32_t)pos - set * t->ways;

    if (t->replacement == REPLACEMENT_PLRU)
        t->policy[set] = (t->policy[set] & t->tree_keep[way]) | t->tree_set[way];
    else if (t->replacement == REPLACEMENT_LRU)
        t->used[pos] = ++t->clock;
    else
        tags__touch_qlru(t, set, way);
}

/* Whether touching the entry that was touched last would change nothing. */
static inline bool tags__touch_repeats(const struct tags *t)
{
    return t->replacement != REPLACEMENT_QLRU;
}

/* Fill time of the entry if it is still on its way at `now`, else 0. */
static inline uint64_t tags__pending(struct tags *t, int64_t pos, uint64_t now)
{
    if ((t->word[pos] & TAG_PENDING) == 0)
        return 0;
    if (t->ready[pos] > now)
        return t->ready[pos];
    return 0;
}

/* Time only moves forward: forget a fill that has arrived by `now`. */
static inline void tags__settle(struct tags *t, int64_t pos, uint64_t now)
{
    if ((t->word[pos] & TAG_PENDING) != 0 && t->ready[pos] <= now)
        t->word[pos] &= ~(uint64_t)(TAG_PENDING | TAG_FROM_L3 | TAG_FROM_DRAM);
}

/* Allocates `key` (which must be absent) with `flags`; returns its position. *evicted is the word
 * that had to go, 0 if none. */
int64_t tags__insert(struct tags *t, uint64_t key, unsigned flags, uint64_t ready, uint64_t *evicted);
/* Removes `key`; returns its word, 0 if it was absent. */
uint64_t tags__remove(struct tags *t, uint64_t key);

#endif
