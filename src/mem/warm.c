/* SPDX-License-Identifier: Apache-2.0 */
/* Functional warming. What hits in TLB and L1 is done here, by the same changes that a timed hit makes;
 * everything else takes the timed way, with a clock that then passes over all that was started.
 *
 * Where a key was found last is remembered in small tables: a hint is believed only if the entry it
 * names holds the key. */
#include <stdlib.h>

#include "mem/mem.h"
#include "mem/uncore.h"

enum { HINTS = 512, KEY_BITS = 6 };

struct warm_hints {
    uint32_t l1d[HINTS], l1i[HINTS], dtlb[HINTS], itlb[HINTS];
};

/* Position of an entry that has arrived, or -1. */
static inline __attribute__((always_inline)) int64_t warm__find(struct tags *t, uint32_t *hints, uint64_t key)
{
    uint32_t *hint = &hints[(key >> KEY_BITS) % HINTS];
    int64_t pos = *hint;

    if (((t->word[pos] ^ (key | TAG_VALID)) & ~(uint64_t)TAG_DIRTY) == 0)
        return pos;
    pos = tags__find(t, key);
    if (pos < 0 || (t->word[pos] & TAG_PENDING) != 0)
        return -1;
    *hint = (uint32_t)pos;
    return pos;
}

/* Everything started so far has finished. */
static void warm__settle(struct memory *mem, uint64_t ready)
{
    if (ready > mem->now)
        mem->now = ready;
    mem->now += 2 * (mem->l3_lat + mem->uncore->dram_after_l3_cyc);
}

static bool warm__has_hints(struct memory *mem)
{
    if (mem->warm == NULL)
        mem->warm = calloc(1, sizeof *mem->warm);
    return mem->warm != NULL; /* else everything takes the timed way */
}

/* A hit in the TLB (its latest page known in *last) and in the L1; false: nothing has been changed. */
static inline __attribute__((always_inline)) bool warm__hit(struct tags *tlb, uint32_t *tlb_hints,
                                                            uint64_t *last_page, bool no_tlb, struct tags *l1,
                                                            uint32_t *l1_hints, uint64_t addr, int64_t *pos)
{
    uint64_t page = addr >> PAGE_SHIFT;
    int64_t entry = 0;

    if (page != *last_page && !no_tlb && (entry = warm__find(tlb, tlb_hints, page << KEY_BITS)) < 0)
        return false;
    *pos = warm__find(l1, l1_hints, addr & ~(uint64_t)63);
    if (*pos < 0)
        return false;
    if (page != *last_page && !no_tlb) {
        tags__touch(tlb, page << KEY_BITS, entry);
        *last_page = page; /* TLBs are never QLRU */
    }
    tags__touch(l1, addr & ~(uint64_t)63, *pos);
    return true;
}

static inline __attribute__((always_inline)) bool warm__hit_data(struct memory *mem, uint64_t addr,
                                                                 unsigned size, int64_t *pos)
{
    return (addr & 63) + size <= 64 && warm__has_hints(mem) && !mem->no_data_miss &&
           warm__hit(&mem->dtlb, mem->warm->dtlb, &mem->last_dpage, mem->no_dtlb, &mem->l1d, mem->warm->l1d,
                     addr, pos);
}

void memory__warm_load(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size)
{
    uint64_t line = addr & ~(uint64_t)63, prefetches = mem->counts.prefetches;
    bool same = line == mem->last_line && (addr & 63) + size <= 64 &&
                (addr >> PAGE_SHIFT == mem->last_dpage || mem->no_dtlb);
    int64_t pos;

    if (same || warm__hit_data(mem, addr, size, &pos)) {
        ++mem->counts.loads;
        mem->last_line = tags__touch_repeats(&mem->l1d) ? line : NO_KEY;
        mem->untimed = true;
        load__train(mem, ip, addr, line, mem->now);
        mem->untimed = false;
        if (mem->counts.prefetches != prefetches)
            warm__settle(mem, 0);
    } else {
        struct mem_result r;
        mem->untimed = true;
        memory__load(mem, ip, addr, size, mem->now, mem->base_lat, &r);
        mem->untimed = false;
        warm__settle(mem, r.ready);
    }
}

void memory__warm_store(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size, bool non_temporal)
{
    int64_t pos;

    if (!non_temporal && !code_page__has(mem, addr) && warm__hit_data(mem, addr, size, &pos)) {
        ++mem->counts.stores;
        mem->l1d.word[pos] |= TAG_DIRTY;
        mem->last_line = tags__touch_repeats(&mem->l1d) ? addr & ~(uint64_t)63 : NO_KEY;
    } else {
        struct mem_result r;
        mem->untimed = true;
        uint64_t known = memory__translate_store(mem, addr, size, mem->now);
        if (known > mem->now)
            warm__settle(mem, known);
        memory__store(mem, ip, addr, size, non_temporal, mem->now, &r);
        mem->untimed = false;
        warm__settle(mem, r.ready);
    }
}

void memory__warm_fetch(struct memory *mem, uint64_t addr)
{
    uint64_t line = addr & ~(uint64_t)63;
    int64_t pos;

    if (line == mem->last_fetch && (addr >> PAGE_SHIFT == mem->last_ipage || mem->no_itlb)) {
        ++mem->counts.fetches;
    } else if (warm__has_hints(mem) && !mem->no_icache_miss &&
               warm__hit(&mem->itlb, mem->warm->itlb, &mem->last_ipage, mem->no_itlb, &mem->l1i,
                         mem->warm->l1i, addr, &pos)) {
        ++mem->counts.fetches;
        mem->last_fetch = tags__touch_repeats(&mem->l1i) ? line : NO_KEY;
    } else {
        struct mem_result r;
        mem->untimed = true;
        memory__fetch(mem, addr, mem->now, &r);
        mem->untimed = false;
        warm__settle(mem, r.ready);
    }
}

uint64_t memory__now(const struct memory *mem)
{
    return mem->now;
}
