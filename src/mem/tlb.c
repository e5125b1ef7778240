/* SPDX-License-Identifier: Apache-2.0 */
/* Translation: first-level TLBs, the second level, and page walks that load page-table entries
 * through the caches (ME-7). Pages are 4 KiB; tables are made up from the virtual address. */
#include "mem/mem.h"

enum { PAGE_KEY_SHIFT = 6, WALK_FIXED_CYC = 5, PAGE_NUMBER_BITS = 36 };

/* Address of the entry of `page` in its table of `level` (0: page table). Entries of neighbouring
 * pages share a line as they do in reality; user addresses never come near. */
static uint64_t walk__entry(uint64_t page, unsigned level)
{
    uint64_t walked = page & (((uint64_t)1 << PAGE_NUMBER_BITS) - 1); /* of an address of 48 bits */

    return ((uint64_t)0x80 + level) << 56 | (walked >> (9 * level)) << 3;
}

/* How many tables must be read: the paging-structure caches know the upper ones. */
static unsigned walk__depth(struct memory *mem, uint64_t page)
{
    unsigned depth = 1;

    for (unsigned k = 0; k < WALK_LEVELS - 1; ++k, ++depth) {
        uint64_t key = (page >> (9 * (k + 1))) << PAGE_KEY_SHIFT;
        int64_t pos = tags__find(&mem->upper[k], key);
        if (pos >= 0) {
            tags__touch(&mem->upper[k], key, pos);
            return depth;
        }
    }
    return depth;
}

/* The first access to a page is a page fault, which is not simulated, but what it leaves behind is: the
 * operating system has just written the page's entry. Pages that share a bit count as walked to before. */
static void walk__map(struct memory *mem, uint64_t page, uint64_t t)
{
    uint64_t bit = (page ^ page >> MAPPED_LOG2) & ((1U << MAPPED_LOG2) - 1);
    uint64_t *word = &mem->mapped[bit / 64];

    if ((*word >> bit % 64 & 1) != 0)
        return;
    *word |= (uint64_t)1 << bit % 64;
    hierarchy__written(mem, walk__entry(page, 0) & ~(uint64_t)63, t);
}

static uint64_t walk__run(struct memory *mem, uint64_t page, uint64_t t)
{
    uint64_t at, evicted;
    uint32_t walker = pool__take(&mem->walkers, t, &at);
    unsigned depth = walk__depth(mem, page);

    ++mem->counts.walks;
    walk__map(mem, page, at);
    at += WALK_FIXED_CYC;
    for (unsigned level = depth; level-- > 0;) {
        struct fill f;
        l1d__access(mem, walk__entry(page, level) & ~(uint64_t)63, at, REQ_WALK, &f);
        at = f.ready;
        if (level > 0 && level < depth)
            tags__insert(&mem->upper[level - 1], (page >> (9 * level)) << PAGE_KEY_SHIFT, 0, 0, &evicted);
    }
    mem->walkers.free_at[walker] = at;
    return at;
}

static uint64_t stlb__translate(struct memory *mem, uint64_t page, uint64_t t)
{
    uint64_t key = page << PAGE_KEY_SHIFT;
    int64_t pos = tags__find(&mem->stlb, key);
    uint64_t evicted;

    t += mem->stlb_hit_cyc;
    memory__count(mem, mem->translating + (pos < 0));
    if (pos >= 0) {
        uint64_t arrival = tags__pending(&mem->stlb, pos, t);
        tags__settle(&mem->stlb, pos, mem->now);
        tags__touch(&mem->stlb, key, pos);
        return arrival > t ? arrival : t;
    }
    uint64_t done = walk__run(mem, page, t);
    memory__busy(mem, (enum memory_state)(1U << mem->translating / 2), t, done);
    tags__insert(&mem->stlb, key, TAG_PENDING, done, &evicted);
    return done;
}

uint64_t tlb__translate(struct memory *mem, struct tags *tlb, uint64_t page, uint64_t t, uint64_t *n_misses)
{
    uint64_t key = page << PAGE_KEY_SHIFT;
    int64_t pos = tags__find(tlb, key);
    uint64_t evicted, arrival;

    if (pos >= 0) {
        arrival = tags__pending(tlb, pos, t);
        tags__settle(tlb, pos, mem->now);
        tags__touch(tlb, key, pos);
        return arrival > t ? arrival : t;
    }
    ++*n_misses;
    arrival = stlb__translate(mem, page, t);
    tags__insert(tlb, key, TAG_PENDING, arrival, &evicted);
    if (evicted != 0 && (evicted >> PAGE_KEY_SHIFT) == mem->last_dpage)
        mem->last_dpage = NO_KEY;
    if (evicted != 0 && (evicted >> PAGE_KEY_SHIFT) == mem->last_ipage)
        mem->last_ipage = NO_KEY;
    return arrival;
}
