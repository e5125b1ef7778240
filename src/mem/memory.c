/* SPDX-License-Identifier: Apache-2.0 */
/* The memory system's face towards the pipeline: loads, stores, fetches, hints. */
#include "fathom/memory.h"

#include <assert.h>
#include <stdlib.h>

#include "fathom/core.h"
#include "fathom/status.h"
#include "mem/mem.h"

/* ME-3: the widths of a core are peaks; this share of them is sustained. */
#define L2_SUSTAINED 0.625
#define L3_SUSTAINED 0.5

/* Nothing is published on the replacement of TLBs; a tree needs a power of two to be even. */
static uint32_t stlb__replacement(const struct core *core)
{
    return (core->stlb.ways & (core->stlb.ways - 1)) == 0 ? REPLACEMENT_PLRU : REPLACEMENT_QLRU;
}

static int caches__init(struct memory *mem, const struct core *core, struct status *st)
{
    struct {
        struct tags *tags;
        uint64_t n;
        uint32_t ways;
        uint32_t replacement;
        const char *name;
    } table[] = {
        {&mem->l1i, core->l1i.size_bytes / 64, core->l1i.ways, core->l1i.replacement, "l1i"},
        {&mem->l1d, core->l1d.size_bytes / 64, core->l1d.ways, core->l1d.replacement, "l1d"},
        {&mem->l2, core->l2.size_bytes / 64, core->l2.ways, core->l2.replacement, "l2"},
        {&mem->itlb, core->itlb.entries, core->itlb.ways, REPLACEMENT_PLRU, "itlb"},
        {&mem->dtlb, core->dtlb.entries, core->dtlb.ways, REPLACEMENT_PLRU, "dtlb"},
        {&mem->stlb, core->stlb.entries, core->stlb.ways, stlb__replacement(core), "stlb"},
        {&mem->upper[0], 32, 4, REPLACEMENT_PLRU, "2 MiB paging-structure cache"},
        {&mem->upper[1], 8, 4, REPLACEMENT_PLRU, "1 GiB paging-structure cache"},
        {&mem->upper[2], 4, 4, REPLACEMENT_PLRU, "512 GiB paging-structure cache"},
    };

    for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
        char what[96];
        snprintf(what, sizeof what, "core %s: %s", core->name, table[k].name);
        if (tags__init(table[k].tags, table[k].n, table[k].ways, false,
                       (enum replacement)table[k].replacement, what, st) != 0)
            return -1;
    }
    mem->l1d_start = calloc(core->l1d.size_bytes / 64, sizeof *mem->l1d_start);
    mem->mapped = calloc((1U << MAPPED_LOG2) / 64, sizeof *mem->mapped);
    mem->reads = calloc(1, sizeof *mem->reads);
    if (mem->shared)
        mem->outstanding = calloc(1, sizeof *mem->outstanding);
    if (mem->l1d_start == NULL || mem->mapped == NULL || mem->outstanding == NULL || mem->reads == NULL)
        return status__fail(st, "core %s: no memory for the cache model; use smaller caches", core->name);
    return 0;
}

static int pools__init(struct memory *mem, const struct core *core, struct status *st)
{
    struct {
        struct pool *pool;
        uint32_t n;
        const char *key;
    } table[] = {
        {&mem->lfb, core->lfb_entries, "lfb_entries"},
        {&mem->sq, core->sq_entries, "sq_entries"},
        {&mem->walkers, core->page_walkers, "page_walkers"},
    };

    for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
        if (table[k].n == 0 || table[k].n > POOL_MAX)
            return status__fail(st, "core %s: %s is %u; the memory model takes 1 to %d", core->name,
                                table[k].key, table[k].n, POOL_MAX);
        table[k].pool->n = table[k].n;
    }
    return 0;
}

static int latencies__init(struct memory *mem, const struct core *core, struct status *st)
{
    if (core->l1d.lat_cyc == 0 || core->l2.lat_cyc <= core->l1d.lat_cyc ||
        core->l3.lat_cyc <= core->l2.lat_cyc)
        return status__fail(st,
                            "core %s: latencies of l1d (%u), l2 (%u) and l3 (%u) must rise from level to "
                            "level",
                            core->name, core->l1d.lat_cyc, core->l2.lat_cyc, core->l3.lat_cyc);
    if (core->l2_l1_bytes_cyc == 0 || core->l3_l2_bytes_cyc == 0)
        return status__fail(st, "core %s: l2_l1_bytes_cyc and l3_l2_bytes_cyc must be above 0", core->name);
    mem->base_lat = core->l1d.lat_cyc;
    mem->l2_lat = core->l2.lat_cyc;
    mem->l3_lat = core->l3.lat_cyc;
    mem->stlb_hit_cyc = core->stlb_hit_cyc;
    mem->split_load_cyc = core->split_load_cyc;
    mem->split_page_cyc = core->split_page_cyc;
    lane__init(&mem->l2_lane, 64.0 / (L2_SUSTAINED * core->l2_l1_bytes_cyc));
    lane__init(&mem->l3_lane, 64.0 / (L3_SUSTAINED * core->l3_l2_bytes_cyc));
    return 0;
}

static int uncore__join(struct memory *mem, const struct core *core, const struct memory_options *opt,
                        struct status *st)
{
    mem->shared = opt->uncore != NULL;
    mem->uncore = mem->shared ? opt->uncore : uncore__new(core, st);
    if (mem->uncore == NULL)
        return -1;
    assert(opt->member < UNCORE_MAX_MEMBERS && mem->uncore->member[opt->member] == NULL);
    mem->uncore->member[opt->member] = mem;
    ++mem->uncore->n_members;
    mem->member_key = uncore__member_key(opt->member);
    mem->starts_at = opt->starts_at;
    if (mem->shared)
        mem->uncore->outstanding.slack = UNCORE_SLACK_CYC;
    else
        mem->outstanding = &mem->uncore->outstanding;
    return 0;
}

struct memory *memory__new(const struct core *core, const struct memory_options *opt, struct status *st)
{
    static const struct memory_options none;
    struct memory *mem = calloc(1, sizeof *mem);
    int failed = -1;

    if (opt == NULL)
        opt = &none;
    if (mem == NULL) {
        status__fail(st, "core %s: no memory for the cache model; free some", core->name);
        return NULL;
    }
    mem->last_line = mem->last_dpage = mem->last_fetch = mem->last_ipage = NO_KEY;
    for (unsigned k = 0; k < WC_LINES; ++k)
        mem->wc_line[k] = NO_KEY;
    mem->no_data_miss = opt->no_data_miss || opt->perfect;
    mem->no_icache_miss = opt->no_icache_miss || opt->perfect;
    mem->no_dtlb = opt->no_dtlb || opt->no_tlb || opt->perfect;
    mem->no_itlb = opt->no_tlb || opt->perfect;
    mem->l1_next = core->prefetch_l1_next && !opt->no_prefetch && !mem->no_data_miss;
    mem->l1_ip = core->prefetch_l1_ip && !opt->no_prefetch && !mem->no_data_miss;
    mem->l2_adjacent = core->prefetch_l2_adjacent && !opt->no_prefetch;
    mem->l2_streamer = core->prefetch_l2_streamer && !opt->no_prefetch;
    mem->next_page = core->prefetch_next_page && !opt->no_prefetch && !mem->no_data_miss;
    mem->l3_inclusive = core->l3_inclusive;
    if (uncore__join(mem, core, opt, st) != 0 || caches__init(mem, core, st) != 0 ||
        pools__init(mem, core, st) != 0 || latencies__init(mem, core, st) != 0)
        goto out;
    failed = 0;
out:
    if (failed != 0) {
        memory__free(mem);
        mem = NULL;
    }
    return mem;
}

size_t memory__bytes(const struct core *core)
{
    return sizeof(struct memory) + sizeof(struct outstanding) +
           core->l1d.size_bytes / 64 * sizeof(uint64_t) + /* l1d_start */
           (1U << MAPPED_LOG2) / 8 +                      /* mapped */
           tags__bytes(core->l1i.size_bytes / 64, core->l1i.ways) +
           tags__bytes(core->l1d.size_bytes / 64, core->l1d.ways) +
           tags__bytes(core->l2.size_bytes / 64, core->l2.ways) +
           tags__bytes(core->itlb.entries, core->itlb.ways) +
           tags__bytes(core->dtlb.entries, core->dtlb.ways) +
           tags__bytes(core->stlb.entries, core->stlb.ways);
}

static void uncore__leave(struct memory *mem)
{
    if (!mem->shared) {
        uncore__free(mem->uncore);
        return;
    }
    free(mem->outstanding);
    for (unsigned k = 0; k < UNCORE_MAX_MEMBERS; ++k)
        if (mem->uncore->member[k] == mem) {
            mem->uncore->member[k] = NULL;
            --mem->uncore->n_members;
        }
}

void memory__free(struct memory *mem)
{
    if (mem == NULL)
        return;
    struct tags *all[] = {&mem->l1i,  &mem->l1d,      &mem->l2,       &mem->itlb,    &mem->dtlb,
                          &mem->stlb, &mem->upper[0], &mem->upper[1], &mem->upper[2]};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        tags__fini(all[k]);
    free(mem->mapped);
    free(mem->l1d_start);
    uncore__leave(mem);
    free(mem->reads);
    free(mem->warm);
    free(mem);
}

/* Every entry point: time never goes back. */
static inline void memory__clock(struct memory *mem, uint64_t now)
{
    if (now > mem->now)
        mem->now = now;
}

static inline uint64_t data__translate(struct memory *mem, uint64_t addr, uint64_t now)
{
    uint64_t page = addr >> PAGE_SHIFT;

    if (page == mem->last_dpage || mem->no_dtlb)
        return now;
    uint64_t t = tlb__translate(mem, &mem->dtlb, page, now, &mem->counts.dtlb_miss);
    mem->last_dpage = t == now ? page : NO_KEY;
    return t;
}

/* The part of a load or store in one line. */
static void data__access(struct memory *mem, uint64_t addr, uint64_t now, enum request why,
                         struct mem_result *res)
{
    uint64_t t = data__translate(mem, addr, now);
    struct fill f;

    l1d__access(mem, addr & ~(uint64_t)63, t, why, &f);
    *res = (struct mem_result){.ready = f.ready,
                               .l2_miss_at = f.l2_miss_at,
                               .l3_miss_at = f.l3_miss_at,
                               .tlb_until = t > now ? t : 0,
                               .level = f.level,
                               .lfb_full = f.lfb_full};
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Both halves of a split access: the whole is as late and as far away as the worse half. */
static void result__merge(struct mem_result *res, const struct mem_result *other)
{
    res->ready = later(res->ready, other->ready);
    res->l2_miss_at = later(res->l2_miss_at, other->l2_miss_at);
    res->l3_miss_at = later(res->l3_miss_at, other->l3_miss_at);
    res->tlb_until = later(res->tlb_until, other->tlb_until);
    res->lfb_full |= other->lfb_full;
    if (other->level > res->level)
        res->level = other->level;
}

/* 0: inside a line, 1: two lines, 2: two pages. */
static unsigned split_of(uint64_t addr, unsigned size)
{
    if ((addr & 63) + size <= 64)
        return 0;
    return ((addr ^ (addr + size - 1)) >> PAGE_SHIFT) != 0 ? 2 : 1;
}

static void result__hit(struct mem_result *res, uint64_t ready)
{
    *res = (struct mem_result){.ready = ready, .level = MEM_L1};
}

/* When every page of an access is translated. */
static uint64_t access__translate(struct memory *mem, uint64_t addr, unsigned size, uint64_t now)
{
    if (mem->no_dtlb)
        return now;
    uint64_t t = data__translate(mem, addr, now);
    return split_of(addr, size) == 2 ? later(t, data__translate(mem, (addr | 63) + 1, now)) : t;
}

/* Any load that is not a plain repeat of the line before. */
static void load__slow(struct memory *mem, uint64_t addr, unsigned size, uint64_t now, unsigned l1_lat,
                       struct mem_result *res)
{
    unsigned split = split_of(addr, size);

    mem->translating = MEMORY_LOAD_STLB_HIT;
    if (mem->no_data_miss) {
        uint64_t t = access__translate(mem, addr, size, now);
        result__hit(res, t + l1_lat);
        res->tlb_until = t > now ? t : 0;
    } else {
        data__access(mem, addr, now, REQ_LOAD, res);
        if (split != 0) {
            struct mem_result half;
            data__access(mem, (addr | 63) + 1, now, REQ_LOAD, &half);
            result__merge(res, &half);
        }
        res->ready = res->ready + l1_lat - mem->base_lat;
    }
    res->split = (uint8_t)split;
    if (split != 0) /* EX-12 */
        res->ready += split == 2 ? mem->split_page_cyc : mem->split_load_cyc;
}

void memory__load(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size, uint64_t now,
                  unsigned l1_lat, struct mem_result *res)
{
    uint64_t line = addr & ~(uint64_t)63;

    memory__clock(mem, now);
    ++mem->counts.loads;
    if (line == mem->last_line && (addr & 63) + size <= 64 &&
        (addr >> PAGE_SHIFT == mem->last_dpage || mem->no_dtlb))
        result__hit(res, now + l1_lat);
    else
        load__slow(mem, addr, size, now, l1_lat, res);
    load__train(mem, ip, addr, line, now);
    res->changed = mem->changed;
}

/* A non-temporal store fills a write-combining buffer, one of the fill buffers (ME-4); the line goes
 * to memory past the caches. The buffer is busy until the channel has taken the line. */
static void store__non_temporal(struct memory *mem, uint64_t line, uint64_t t, struct mem_result *res)
{
    uint64_t start;

    res->level = MEM_LFB;
    res->ready = t;
    for (unsigned k = 0; k < WC_LINES; ++k)
        if (mem->wc_line[k] == line)
            return;
    mem->wc_line[mem->wc_next++ % WC_LINES] = line;
    uint32_t slot = pool__take(&mem->lfb, t, &start);
    mem->lfb.free_at[slot] = dram__transfer(mem, start + mem->l3_lat);
    hierarchy__drop(mem, line);
    res->lfb_full = start > t;
    if (res->lfb_full)
        memory__wait_for_buffer(mem, t, start);
    res->ready = start;
    res->level = MEM_DRAM;
}

static void store__line(struct memory *mem, uint64_t addr, bool non_temporal, uint64_t now,
                        struct mem_result *res)
{
    if (non_temporal) {
        uint64_t t = data__translate(mem, addr, now);
        *res = (struct mem_result){.tlb_until = t > now ? t : 0};
        store__non_temporal(mem, addr & ~(uint64_t)63, t, res);
    } else {
        data__access(mem, addr, now, REQ_RFO, res);
        res->ready -= mem->base_lat; /* fill times count up to the use of a load */
    }
}

uint64_t memory__translate_store(struct memory *mem, uint64_t addr, unsigned size, uint64_t now)
{
    memory__clock(mem, now);
    mem->translating = MEMORY_STORE_STLB_HIT;
    return access__translate(mem, addr, size, now);
}

/* ME-15: code that is written must be fetched again. */
static inline bool store__hits_code(struct memory *mem, uint64_t addr)
{
    if (!code_page__has(mem, addr))
        return false;
    return l1i__drop(mem, addr & ~(uint64_t)63);
}

void memory__store(struct memory *mem, uint64_t ip, uint64_t addr, unsigned size, bool non_temporal,
                   uint64_t now, struct mem_result *res)
{
    unsigned split = split_of(addr, size);
    bool code = store__hits_code(mem, addr);

    if (split != 0)
        code |= store__hits_code(mem, (addr | 63) + 1);
    (void)ip;
    memory__clock(mem, now);
    ++mem->counts.stores;
    mem->translating = MEMORY_STORE_STLB_HIT;
    uint64_t last_dpage = mem->last_dpage;
    mem->last_dpage = addr >> PAGE_SHIFT; /* translated when its address uop executed (RT-6) */
    if (mem->no_data_miss) {
        result__hit(res, now);
    } else {
        store__line(mem, addr, non_temporal, now, res);
        if (split != 0) {
            struct mem_result half;
            store__line(mem, (addr | 63) + 1, non_temporal, now, &half);
            result__merge(res, &half);
        }
    }
    if (mem->last_dpage == addr >> PAGE_SHIFT) /* nothing else was translated meanwhile */
        mem->last_dpage = last_dpage;
    res->split = (uint8_t)split;
    res->code = code;
    if (split != 0) /* EX-12: two commit cycles; a page split costs as much as for a load */
        res->ready += split == 2 ? mem->split_page_cyc : 1;
}

static uint64_t code__translate(struct memory *mem, uint64_t addr, uint64_t now)
{
    uint64_t page = addr >> PAGE_SHIFT;

    if (page == mem->last_ipage || mem->no_itlb)
        return now;
    mem->translating = MEMORY_CODE_STLB_HIT;
    uint64_t t = tlb__translate(mem, &mem->itlb, page, now, &mem->counts.itlb_miss);
    mem->last_ipage = t == now ? page : NO_KEY;
    return t;
}

static void fetch__miss(struct memory *mem, uint64_t line, uint64_t t, struct mem_result *res)
{
    struct fill f = {0};
    uint64_t evicted;

    ++mem->counts.l1i_miss;
    l2__access(mem, line, t, REQ_CODE, &f);
    res->ready = f.ready - mem->base_lat;
    res->l2_miss_at = f.l2_miss_at;
    res->l3_miss_at = f.l3_miss_at;
    res->level = f.level;
    tags__insert(&mem->l1i, line, TAG_PENDING, res->ready, &evicted);
    if (evicted != 0)
        mem->evicted_code.line[mem->evicted_code.n++ % EVICTED_CODE] = evicted & ~(uint64_t)TAG_FLAGS;
    *code_page__word(mem, line) |= code_page__bit(line);
    mem->last_fetch = NO_KEY;
    l2__train(mem, line, t, REQ_CODE, &f);
}

void memory__fetch(struct memory *mem, uint64_t addr, uint64_t now, struct mem_result *res)
{
    uint64_t line = addr & ~(uint64_t)63;

    memory__clock(mem, now);
    ++mem->counts.fetches;
    result__hit(res, now);
    if (line == mem->last_fetch && (addr >> PAGE_SHIFT == mem->last_ipage || mem->no_itlb))
        return;
    uint64_t t = code__translate(mem, addr, now);
    res->tlb_until = t > now ? t : 0;
    res->ready = t;
    if (mem->no_icache_miss)
        return;
    int64_t pos = tags__find(&mem->l1i, line);
    if (pos < 0) {
        fetch__miss(mem, line, t, res);
        return;
    }
    uint64_t arrival = tags__pending(&mem->l1i, pos, now);
    if (arrival > t) {
        res->ready = arrival;
        res->level = MEM_LFB;
    }
    tags__settle(&mem->l1i, pos, now);
    tags__touch(&mem->l1i, line, pos);
    bool repeats = (mem->l1i.word[pos] & TAG_PENDING) == 0 && tags__touch_repeats(&mem->l1i);
    mem->last_fetch = repeats ? line : NO_KEY;
}

const struct evicted_code *memory__evicted_code(const struct memory *mem)
{
    return &mem->evicted_code;
}

void memory__prefetch(struct memory *mem, uint64_t addr, uint64_t now)
{
    struct mem_result res;

    memory__clock(mem, now);
    mem->translating = MEMORY_LOAD_STLB_HIT;
    if (!mem->no_data_miss)
        data__access(mem, addr, now, REQ_SOFTWARE, &res);
}

void memory__flush_line(struct memory *mem, uint64_t addr, uint64_t now)
{
    memory__clock(mem, now);
    if (hierarchy__drop(mem, addr & ~(uint64_t)63))
        dram__transfer(mem, now);
}

void memory__requests(const struct memory *mem, uint64_t now, struct memory_requests *requests)
{
    struct outstanding *all = &mem->uncore->outstanding;
    uint64_t at = mem->starts_at;

    requests->own = outstanding__count(mem->outstanding, now);
    requests->until = mem->outstanding->known_until;
    requests->all = requests->own;
    if (!mem->shared)
        return;
    requests->all = outstanding__count(all, now + at);
    if (all->known_until != UINT64_MAX && all->known_until - at < requests->until)
        requests->until = all->known_until - at;
}

bool memory__has_company(const struct memory *mem)
{
    return mem->uncore->n_members > 1;
}

void memory__wait_for_buffer(struct memory *mem, uint64_t from, uint64_t until)
{
    memory__busy(mem, MEMORY_LFB_FULL, from, until);
    if (mem->lfb_waits < 255)
        mem->lfb_waits++;
}

void memory__activity(struct memory *mem, uint64_t now, struct memory_activity *activity)
{
    *activity = (struct memory_activity){
        .events = mem->events, .lfb_waits = mem->lfb_waits, .reads = outstanding__count(mem->reads, now)};
    uint64_t next = mem->reads->known_until;
    memory__requests(mem, now, &activity->requests);
    mem->events = 0;
    mem->lfb_waits = 0;
    mem->changed = false;
    next = activity->requests.until < next ? activity->requests.until : next;
    for (unsigned k = 0; k < BUSY_STATES; k++) {
        const struct busy *b = &mem->busy[k];
        uint64_t change = b->from > now ? b->from : b->until;

        if (b->until <= now)
            continue;
        activity->state |= (uint8_t)((b->from <= now) << k);
        next = change < next ? change : next;
    }
    activity->next_change = next;
}

void memory__counts(const struct memory *mem, struct memory_counts *counts)
{
    *counts = mem->counts;
}
