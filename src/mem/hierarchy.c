/* SPDX-License-Identifier: Apache-2.0 */
/* From the L1 data cache down to memory: lookups, fills, write-backs, the prefetchers of both levels. */
#include <stddef.h>

#include "mem/mem.h"

static bool is_demand(enum request why)
{
    return why == REQ_LOAD || why == REQ_RFO || why == REQ_CODE;
}

bool l1i__drop(struct memory *mem, uint64_t line)
{
    bool was_there = tags__remove(&mem->l1i, line) != 0;

    if (was_there)
        mem->evicted_code.line[mem->evicted_code.n++ % EVICTED_CODE] = line;
    mem->last_fetch = NO_KEY;
    return was_there;
}

static uint64_t l3__key(const struct memory *mem, uint64_t line)
{
    return line ^ mem->member_key;
}

/* Takes the line out of the private caches; true if it was dirty. */
static bool core__drop(struct memory *mem, uint64_t line)
{
    uint64_t words = tags__remove(&mem->l1d, line) | tags__remove(&mem->l2, line);

    l1i__drop(mem, line);
    mem->last_line = NO_KEY;
    return (words & TAG_DIRTY) != 0;
}

bool hierarchy__drop(struct memory *mem, uint64_t line)
{
    bool dirty = core__drop(mem, line);

    return (tags__remove(&mem->uncore->l3, l3__key(mem, line)) & TAG_DIRTY) != 0 || dirty;
}

uint64_t dram__transfer(struct memory *mem, uint64_t t)
{
    return lane__take(&mem->uncore->dram_lane, t + mem->starts_at) - mem->starts_at;
}

/* What goes out of an inclusive L3 goes out of the whole core that had it (ME-2); true if it was dirty there.
 */
static bool l3__recall(struct uncore *uncore, uint64_t key)
{
    unsigned owner = uncore__owner(key);
    struct memory *mem = owner < UNCORE_MAX_MEMBERS ? uncore->member[owner] : NULL;

    return mem != NULL && core__drop(mem, key ^ mem->member_key);
}

/* Puts a line into the L3. */
static void l3__insert(struct memory *mem, uint64_t line, unsigned flags, uint64_t ready, uint64_t t)
{
    uint64_t evicted;

    tags__insert(&mem->uncore->l3, l3__key(mem, line), flags, ready, &evicted);
    if (evicted == 0)
        return;
    bool dirty = (evicted & TAG_DIRTY) != 0;
    if (mem->l3_inclusive && l3__recall(mem->uncore, evicted & ~(uint64_t)TAG_FLAGS))
        dirty = true;
    if (dirty)
        dram__transfer(mem, t);
}

/* A line leaves the L2: dirty ones go to the L3, all of them if it is a victim cache. */
static void l2__evicted(struct memory *mem, uint64_t word, uint64_t t)
{
    bool dirty = (word & TAG_DIRTY) != 0;
    uint64_t line = word & ~(uint64_t)TAG_FLAGS;

    if (word == 0 || (!dirty && mem->l3_inclusive))
        return;
    lane__take(&mem->l3_lane, t);
    struct tags *l3 = &mem->uncore->l3;
    int64_t pos = tags__find(l3, l3__key(mem, line));
    if (pos < 0)
        l3__insert(mem, line, dirty ? TAG_DIRTY : 0, 0, t);
    else if (dirty)
        l3->word[pos] |= TAG_DIRTY;
}

static void l2__insert(struct memory *mem, uint64_t line, unsigned flags, uint64_t ready, uint64_t t)
{
    uint64_t evicted;

    tags__insert(&mem->l2, line, flags, ready, &evicted);
    l2__evicted(mem, evicted, t);
}

/* A line leaves the L1D. The L2 need not have it: then it is allocated there. */
static void l1d__evicted(struct memory *mem, uint64_t word, uint64_t t)
{
    uint64_t line = word & ~(uint64_t)TAG_FLAGS;

    if ((word & TAG_DIRTY) == 0)
        return;
    lane__take(&mem->l2_lane, t);
    int64_t pos = tags__find(&mem->l2, line);
    if (pos >= 0)
        mem->l2.word[pos] |= TAG_DIRTY;
    else
        l2__insert(mem, line, TAG_DIRTY, 0, t);
}

/* Reads a line from memory; it is at the controller from when the L3 miss is known (paper 3.7). */
static void dram__read(struct memory *mem, uint64_t t, struct fill *f)
{
    uint64_t at = mem->starts_at;

    f->l3_miss_at = t + mem->l3_lat;
    f->ready = uncore__read(mem->uncore, f->l3_miss_at + at, mem->now + at) - at;
    f->level = MEM_DRAM;
    if (mem->shared)
        outstanding__add(mem->outstanding, f->l3_miss_at, f->ready, mem->now);
    mem->changed = true;
}

/* The part beyond the L2, from `t` on. Returns flags the line brings along. */
static unsigned l3__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f)
{
    struct tags *l3 = &mem->uncore->l3;
    uint64_t key = l3__key(mem, line);
    int64_t pos = tags__find(l3, key);

    if (pos < 0) {
        if (is_demand(why))
            ++mem->counts.l3_miss;
        dram__read(mem, t, f);
        if (mem->l3_inclusive)
            l3__insert(mem, line, TAG_PENDING | TAG_FROM_DRAM, f->ready, t);
        return 0;
    }
    f->ready = lane__take(&mem->l3_lane, t) + mem->l3_lat;
    f->level = MEM_L3;
    uint64_t arrival = tags__pending(l3, pos, mem->now);
    if (arrival > f->ready) {
        f->l3_miss_at = t + mem->l3_lat;
        f->ready = arrival;
        f->level = MEM_DRAM;
    }
    tags__settle(l3, pos, mem->now);
    tags__touch(l3, key, pos);
    if (mem->l3_inclusive)
        return 0;
    return (unsigned)tags__remove(l3, key) & TAG_DIRTY; /* a victim cache gives the line away */
}

static unsigned pending_flags(const struct fill *f)
{
    return TAG_PENDING | (f->level == MEM_DRAM ? TAG_FROM_DRAM : f->level == MEM_L3 ? TAG_FROM_L3 : 0U);
}

/* Brings a line that is missing into the L2; waits for a super-queue entry. */
static void l2__miss(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f)
{
    uint64_t start;
    uint32_t slot = pool__take(&mem->sq, t, &start);
    unsigned flags = l3__access(mem, line, start, why, f);

    f->l2_miss_at = t + mem->l2_lat;
    mem->sq.free_at[slot] = f->ready;
    if (start > t)
        memory__busy(mem, MEMORY_SQ_FULL, t, start);
    mem->changed = true;
    if (why == REQ_RFO)
        memory__busy(mem, MEMORY_RFO_OFFCORE, f->l2_miss_at, f->ready);
    else if (why != REQ_CODE)
        outstanding__add(mem->reads, f->l2_miss_at, f->ready, mem->now);
    l2__insert(mem, line, flags | pending_flags(f), f->ready, t);
}

static void l2__hit(struct memory *mem, uint64_t line, int64_t pos, uint64_t t, struct fill *f)
{
    uint64_t arrival = tags__pending(&mem->l2, pos, mem->now);

    f->ready = lane__take(&mem->l2_lane, t) + mem->l2_lat;
    f->level = MEM_L2;
    if (arrival > f->ready) { /* a prefetch on its way: the rest of its time is paid (ME-10) */
        bool dram = (mem->l2.word[pos] & TAG_FROM_DRAM) != 0;
        f->ready = arrival;
        f->level = dram ? MEM_DRAM : MEM_L3;
        f->l2_miss_at = t + mem->l2_lat;
        f->l3_miss_at = dram && arrival > t + mem->l3_lat ? t + mem->l3_lat : 0;
    }
    tags__settle(&mem->l2, pos, mem->now);
    tags__touch(&mem->l2, line, pos);
}

void hierarchy__written(struct memory *mem, uint64_t line, uint64_t t)
{
    uint64_t key = l3__key(mem, line);

    if (tags__find(&mem->l1d, line) >= 0 || tags__find(&mem->l2, line) >= 0)
        return;
    if (!mem->l3_inclusive)
        tags__remove(&mem->uncore->l3, key);
    else if (tags__find(&mem->uncore->l3, key) < 0)
        l3__insert(mem, line, 0, 0, t);
    l2__insert(mem, line, TAG_DIRTY, 0, t);
}

enum prefetch_outcome { PREFETCH_PRESENT, PREFETCH_REFUSED, PREFETCH_ISSUED };

enum { FATES = 1024 };

enum fate { FATE_L2, FATE_L3_ONLY, FATE_REFUSED };

static void fates__count(struct fates *f, enum fate fate)
{
    f->asked++;
    f->l3_only += fate == FATE_L3_ONLY;
    f->refused += fate == FATE_REFUSED;
    if (f->asked == FATES) {
        f->asked /= 2;
        f->l3_only /= 2;
        f->refused /= 2;
    }
}

static bool is_due(uint32_t *owed, uint32_t part, uint32_t whole)
{
    *owed += part;
    if (part == 0 || *owed < whole)
        return false;
    *owed -= whole;
    return true;
}

static enum fate fates__repeat(struct fates *f)
{
    bool refused = is_due(&f->owed_refused, f->refused, f->asked);
    bool l3_only = is_due(&f->owed_l3_only, f->l3_only, f->asked);

    return refused ? FATE_REFUSED : l3_only ? FATE_L3_ONLY : FATE_L2;
}

static enum fate prefetch_fate(struct memory *mem, uint64_t t)
{
    uint32_t busy = pool__busy(&mem->sq, t);
    enum fate fate = FATE_L2, other;

    if (busy == mem->sq.n)
        fate = FATE_REFUSED;
    else if (2 * busy > mem->sq.n && mem->l3_inclusive)
        fate = FATE_L3_ONLY;
    if (!mem->untimed) {
        fates__count(&mem->fates, fate);
        return fate;
    }
    other = fates__repeat(&mem->fates);
    return other > fate ? other : fate;
}

/* L2 prefetch: only with a free super-queue entry; into the L3 alone when many are in use (ME-9). */
static enum prefetch_outcome l2__prefetch(struct memory *mem, uint64_t line, uint64_t t)
{
    struct fill f = {0};
    uint64_t start;

    if (tags__find(&mem->l2, line) >= 0)
        return PREFETCH_PRESENT;
    enum fate fate = prefetch_fate(mem, t);
    if (fate == FATE_REFUSED)
        return PREFETCH_REFUSED;
    if (fate == FATE_L2) {
        l2__miss(mem, line, t, REQ_PREFETCH, &f);
    } else {
        if (tags__find(&mem->uncore->l3, l3__key(mem, line)) >= 0)
            return PREFETCH_PRESENT;
        if (!pool__has_free(&mem->uncore->controller, t + mem->l3_lat + mem->starts_at))
            return PREFETCH_REFUSED;
        uint32_t slot = pool__take(&mem->sq, t, &start);
        l3__access(mem, line, start, REQ_PREFETCH, &f);
        mem->sq.free_at[slot] = start + (mem->l3_lat - mem->l2_lat) / 2; /* no data come back: half the way */
    }
    ++mem->counts.prefetches;
    return PREFETCH_ISSUED;
}

void l2__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f)
{
    int64_t pos = tags__find(&mem->l2, line);

    f->l2_miss_at = 0;
    f->l3_miss_at = 0;
    if (pos >= 0) {
        l2__hit(mem, line, pos, t, f);
    } else {
        if (is_demand(why))
            ++mem->counts.l2_miss;
        l2__miss(mem, line, t, why, f);
    }
}

/* A fill of the L2 completes its pair of lines. */
static void l2__adjacent(struct memory *mem, uint64_t line, uint64_t t)
{
    if (mem->l2_adjacent)
        l2__prefetch(mem, line ^ 64, t);
}

static void l2__stream(struct memory *mem, struct stream *s, uint64_t line, uint64_t t)
{
    uint64_t wanted;

    for (unsigned n = 0; n < STREAM_PER_ACCESS && stream__peek(s, line, &wanted);) {
        enum prefetch_outcome outcome = l2__prefetch(mem, wanted, t);
        if (outcome == PREFETCH_REFUSED)
            break;
        stream__advance(s);
        if (outcome == PREFETCH_ISSUED) {
            l2__adjacent(mem, wanted, t);
            ++n;
        }
    }
}

/* A stream of data comes near the end of its page: the next one is translated, its first line fetched. */
static void l2__next_page(struct memory *mem, struct stream *s, uint64_t line, uint64_t t)
{
    uint64_t first, not_counted = 0;

    if (!stream__leaves_page(s, line, &first))
        return;
    if (!mem->no_dtlb)
        t = tlb__translate(mem, &mem->dtlb, first >> PAGE_SHIFT, t, &not_counted);
    mem->last_dpage = NO_KEY;
    l2__prefetch(mem, first, t);
}

void l2__train(struct memory *mem, uint64_t line, uint64_t t, enum request why, const struct fill *f)
{
    struct stream *s = NULL;

    if (f->l2_miss_at != 0)
        l2__adjacent(mem, line, t);
    if (mem->l2_streamer || mem->next_page)
        s = stream__train(&mem->streams, line);
    if (s != NULL && mem->l2_streamer)
        l2__stream(mem, s, line, t);
    if (s != NULL && mem->next_page && why != REQ_CODE)
        l2__next_page(mem, s, line, t);
}

static void l1d__miss(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f)
{
    uint64_t start, evicted;
    uint32_t slot = pool__take(&mem->lfb, t, &start);

    l2__access(mem, line, start, why, f);
    f->lfb_full = start > t;
    if (f->lfb_full && why != REQ_PREFETCH && why != REQ_WALK)
        memory__wait_for_buffer(mem, t, start);
    if (why == REQ_RFO) {
        memory__count(mem, MEMORY_RFO);
        if (f->l2_miss_at == 0)
            memory__count(mem, MEMORY_RFO_L2_HIT);
    }
    mem->lfb.free_at[slot] = f->ready;
    unsigned flags = pending_flags(f) | (why == REQ_RFO ? TAG_DIRTY : 0U);
    int64_t pos = tags__insert(&mem->l1d, line, flags, f->ready, &evicted);
    mem->l1d_start[pos] = start;
    mem->last_line = NO_KEY;
    l1d__evicted(mem, evicted, t);
    if (why != REQ_WALK)
        l2__train(mem, line, start, why, f);
}

/* Merged with a miss on its way: known to have missed what that one missed (ME-4). */
static void l1d__merge(struct memory *mem, int64_t pos, uint64_t t, struct fill *f)
{
    uint64_t start = mem->l1d_start[pos];
    uint64_t l2_at = start + mem->l2_lat;
    uint64_t l3_at = start + mem->l3_lat;

    f->level = MEM_LFB;
    f->ready = mem->l1d.ready[pos];
    if ((mem->l1d.word[pos] & (TAG_FROM_L3 | TAG_FROM_DRAM)) != 0)
        f->l2_miss_at = l2_at > t ? l2_at : t;
    if ((mem->l1d.word[pos] & TAG_FROM_DRAM) != 0)
        f->l3_miss_at = l3_at > t ? l3_at : t;
}

void l1d__access(struct memory *mem, uint64_t line, uint64_t t, enum request why, struct fill *f)
{
    int64_t pos = tags__find(&mem->l1d, line);

    *f = (struct fill){.ready = t + mem->base_lat, .level = MEM_L1};
    if (pos < 0) {
        mem->counts.l1d_load_miss += why == REQ_LOAD;
        mem->counts.l1d_store_miss += why == REQ_RFO;
        l1d__miss(mem, line, t, why, f);
        return;
    }
    if (tags__pending(&mem->l1d, pos, mem->now) > f->ready)
        l1d__merge(mem, pos, t, f);
    tags__settle(&mem->l1d, pos, mem->now);
    tags__touch(&mem->l1d, line, pos);
    if (why == REQ_RFO)
        mem->l1d.word[pos] |= TAG_DIRTY;
    bool repeats = (mem->l1d.word[pos] & TAG_PENDING) == 0 && tags__touch_repeats(&mem->l1d);
    mem->last_line = repeats ? line : NO_KEY;
}

void l1d__prefetch(struct memory *mem, uint64_t line, uint64_t t)
{
    struct fill f = {0};

    if (tags__find(&mem->l1d, line) >= 0 || !pool__has_free(&mem->lfb, t))
        return;
    if (tags__find(&mem->l2, line) < 0 && !pool__has_free(&mem->sq, t))
        return;
    ++mem->counts.prefetches;
    l1d__miss(mem, line, t, REQ_PREFETCH, &f);
}
