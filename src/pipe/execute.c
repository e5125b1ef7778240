/* SPDX-License-Identifier: Apache-2.0 */
/* Execution: completion times (EX-5), loads, stores and forwarding (EX-13, EX-21, EX-22), commit of
 * senior stores (ME-11). */
#include "pipe/state.h"

/* --- loads in flight, for the MemStalls events ------------------------------------------------- */

static void change(struct pipe *p, int64_t when, int any, int l1, int l2, int l3)
{
    if (when - p->now >= WHEEL)
        when = p->now + WHEEL - 1;
    unsigned b = (unsigned)when & (WHEEL - 1);
    if (when <= p->now) {
        p->pending.any = (int16_t)(p->pending.any + any);
        p->pending.l1 = (int16_t)(p->pending.l1 + l1);
        p->pending.l2 = (int16_t)(p->pending.l2 + l2);
        p->pending.l3 = (int16_t)(p->pending.l3 + l3);
        return;
    }
    p->pending_change[b].any = (int16_t)(p->pending_change[b].any + any);
    p->pending_change[b].l1 = (int16_t)(p->pending_change[b].l1 + l1);
    p->pending_change[b].l2 = (int16_t)(p->pending_change[b].l2 + l2);
    p->pending_change[b].l3 = (int16_t)(p->pending_change[b].l3 + l3);
    p->pending_used[b / 64] |= 1ull << b % 64;
}

void execute__tick(struct pipe *p)
{
    unsigned b = (unsigned)p->now & (WHEEL - 1);
    if (!(p->pending_used[b / 64] >> b % 64 & 1))
        return;
    p->pending_used[b / 64] &= ~(1ull << b % 64);
    p->pending.any = (int16_t)(p->pending.any + p->pending_change[b].any);
    p->pending.l1 = (int16_t)(p->pending.l1 + p->pending_change[b].l1);
    p->pending.l2 = (int16_t)(p->pending.l2 + p->pending_change[b].l2);
    p->pending.l3 = (int16_t)(p->pending.l3 + p->pending_change[b].l3);
    p->pending_change[b].any = p->pending_change[b].l1 = p->pending_change[b].l2 = p->pending_change[b].l3 =
        0;
}

/* A demand load is outstanding until `ready`, and known to have missed a level from that level's
 * lookup on, which needs its translation. Wrong-path and forwarded loads have missed nothing. */
static void note_load(struct pipe *p, int64_t ready, const struct mem_result *r)
{
    change(p, ready, -1, 0, 0, 0);
    if (!r || r->level == MEM_L1)
        return;
    int64_t l1 = max_cycle(p->now, (int64_t)r->tlb_until) + LOAD_LATENCY;
    if (l1 < ready) {
        change(p, l1, 0, 1, 0, 0);
        change(p, ready, 0, -1, 0, 0);
    }
    if (r->l2_miss_at && (int64_t)r->l2_miss_at < ready) {
        change(p, (int64_t)r->l2_miss_at, 0, 0, 1, 0);
        change(p, ready, 0, 0, -1, 0);
    }
    if (r->l3_miss_at && (int64_t)r->l3_miss_at < ready) {
        change(p, (int64_t)r->l3_miss_at, 0, 0, 0, 1);
        change(p, ready, 0, 0, 0, -1);
    }
}

/* --- stores in flight ------------------------------------------------------------------------- */

static unsigned granules(uint64_t addr, unsigned size, uint64_t *first)
{
    *first = addr / 8;
    return (unsigned)((addr + (size ? size : 1) - 1) / 8 - addr / 8 + 1);
}

static void filter_add(struct pipe *p, const struct store_entry *s, int n)
{
    uint64_t g;
    for (unsigned k = granules(s->addr, s->size, &g); s->known && k; k--, g++)
        p->store_filter[g % STORE_FILTER] = (uint16_t)(p->store_filter[g % STORE_FILTER] + n);
}

static bool overlap(uint64_t a, unsigned a_size, uint64_t b, unsigned b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* The youngest older store that overlaps, 0: none in flight; *alias: a younger one than that has the same
 * page offset at another address. */
uint64_t execute__match_store(struct pipe *p, const struct access *a, bool *alias)
{
    uint64_t g;
    bool maybe = false;
    *alias = false;
    for (unsigned k = granules(a->addr, a->size_bytes, &g); k; k--, g++)
        maybe |= p->store_filter[g % STORE_FILTER] != 0;
    if (!maybe)
        return 0;
    for (uint64_t i = p->store_tail; i-- > p->store_head;) {
        const struct store_entry *s = pipe__store(p, i);
        if (!s->known)
            continue;
        if (overlap(a->addr, a->size_bytes, s->addr, s->size))
            return i;
        *alias |= overlap(a->addr % 4096, a->size_bytes, s->addr % 4096, s->size);
    }
    return 0;
}

uint64_t execute__new_store(struct pipe *p, struct duop *sta, const struct access *a, uint64_t ip, bool nt)
{
    uint64_t i = p->store_tail++;
    struct store_entry *s = pipe__store(p, i);
    *s = (struct store_entry){.uop = sta->seq,
                              .ip = ip,
                              .addr_ready = CYCLE_NEVER,
                              .data_ready = CYCLE_NEVER,
                              .commit_at = CYCLE_NEVER,
                              .non_temporal = nt};
    if (a) {
        s->addr = a->addr;
        s->size = a->size_bytes;
        s->known = true;
    }
    filter_add(p, s, 1);
    p->stores_used++;
    return i;
}

void execute__drop_stores(struct pipe *p, uint64_t first)
{
    while (p->store_tail > first) {
        filter_add(p, pipe__store(p, --p->store_tail), -1);
        p->stores_used--;
    }
}

/* --- memory disambiguation, EX-20 --------------------------------------------------------------- */

/* From the end of a locked access: retirement, commit, the next one wakes and dispatches. */
enum { DRAIN_CYC = 4 };

static unsigned load_index(struct pipe *p, const struct duop *load)
{
    return disambiguation__index(pipe__fetched(p, load->fetched)->addr);
}

/* Stores get their addresses out of order: the first without one is found lazily. */
static bool unknown_store_before(struct pipe *p, uint64_t seq)
{
    if (p->store_unknown < p->store_head)
        p->store_unknown = p->store_head;
    while (p->store_unknown < p->store_tail && pipe__store(p, p->store_unknown)->addr_ready != CYCLE_NEVER)
        p->store_unknown++;
    return p->store_unknown < p->store_tail && pipe__store(p, p->store_unknown)->uop < seq;
}

bool execute__must_wait(struct pipe *p, struct duop *load)
{
    if (!unknown_store_before(p, load->seq))
        return false;
    bool conflict =
        load->store >= p->store_head && load->store && pipe__store(p, load->store)->addr_ready == CYCLE_NEVER;
    if (conflict)
        p->conflicts[load_index(p, load)] = CONFLICT_NOW;
    if (p->disambiguation[load_index(p, load)] < DISAMBIGUATION_SURE ||
        (conflict && !(load->t->flags & UOP_FIRST)))
        return true;
    if (conflict) {
        load->flags |= DUOP_VIOLATES;
        load->store = 0; /* it reads what the cache holds */
    }
    return false;
}

void execute__learn(struct pipe *p, const struct duop *load)
{
    unsigned index = load_index(p, load);
    uint8_t *c = &p->disambiguation[index];
    bool forwards = load->store != 0;
    if (load->flags & DUOP_VIOLATES)
        *c = 0;
    else if (forwards && *c < DISAMBIGUATION_SURE)
        *c = 0; /* a store in flight supplied it: passing would have been wrong */
    else if (*c < DISAMBIGUATION_SURE)
        ++*c;
    if (forwards && p->conflicts[index])
        p->conflicts[index]--;
}

/* --- loads ------------------------------------------------------------------------------------ */

static void load_done(struct pipe *p, struct duop *u, int64_t ready)
{
    /* EX-24: latency and throughput of a locked instruction are those from one to the next; what draining
     * takes longer than forwarding is part of them */
    int64_t drain = u->flags & DUOP_DRAINS ? DRAIN_CYC : 0;
    u->base = ready - LOAD_LATENCY - drain;
    u->flags |= DUOP_KNOWN;
    u->done_at = max_cycle(p->now + 2, ready);
    if (u->tp_cyc)
        u->done_at = max_cycle(u->done_at, p->now + u->tp_cyc - drain);
    schedule__wake(p, u);
}

static int64_t load_latency(const struct pipe *p, const struct duop *u)
{
    return p->core->load_latency_cyc - (u->flags & DUOP_FAST_LOAD ? 1 : 0);
}

static bool contains(const struct store_entry *s, const struct access *a)
{
    return s->addr <= a->addr && a->addr + a->size_bytes <= s->addr + s->size;
}

/* When the store's data reaches the load; CYCLE_NEVER: not known yet. */
static int64_t forwarded_at(const struct pipe *p, const struct duop *u, const struct store_entry *s)
{
    if (!contains(s, u->access)) /* EX-22 */
        return s->commit_at == CYCLE_NEVER ? CYCLE_NEVER : s->commit_at + p->core->store_forward_blocked_cyc;
    if (s->addr_ready == CYCLE_NEVER || s->data_ready == CYCLE_NEVER)
        return CYCLE_NEVER;
    return max_cycle(s->addr_ready, s->data_ready) + p->core->store_forward_cyc; /* EX-13 */
}

static void wake_loads(struct pipe *p, struct store_entry *s)
{
    unsigned i = s->waiting;
    s->waiting = 0;
    while (i) {
        struct duop *u = &p->uop[i - 1];
        i = u->next;
        if (u->flags & DUOP_DEAD)
            continue;
        int64_t t = forwarded_at(p, u, s);
        if (t == CYCLE_NEVER) {
            u->next = s->waiting;
            s->waiting = (uint16_t)((u->seq & (UOP_RING - 1)) + 1);
            continue;
        }
        /* u->ready keeps the earliest moment from the load's own dispatch */
        int64_t ready = max_cycle(u->ready, t);
        note_load(p, ready, NULL);
        load_done(p, u, ready);
    }
}

/* From the caches. A software prefetch is done when it has been sent. */
static int64_t read_memory(struct pipe *p, struct duop *u)
{
    const struct fetched *f = pipe__fetched(p, u->fetched);
    struct mem_result r;
    int64_t lat = load_latency(p, u);

    if (f->insn->flags & INSN_PREFETCH) {
        memory__prefetch(p->memory, u->access->addr, (uint64_t)p->now);
        p->mem_change_at = p->now;
        note_load(p, p->now + lat, NULL);
        return p->now + lat;
    }
    memory__load(p->memory, f->addr, u->access->addr, u->access->size_bytes, (uint64_t)p->now, (unsigned)lat,
                 &r);
    u->level = r.level;
    u->waits_for = r.l3_miss_at ? MEM_DRAM : r.l2_miss_at ? MEM_L3 : r.level;
    u->tlb_until = (int64_t)r.tlb_until;
    if (u->tlb_until > p->now + (int64_t)p->core->stlb_hit_cyc)
        u->counts |= 1 << REPORT_WALKED_LOADS;
    if (r.split) {
        u->l1_cause = STALL_BE_L1_SPLIT;
        u->counts |= 1 << REPORT_SPLIT_LOADS;
    }
    if (r.lfb_full) /* the request itself takes the level's latency */
        u->lfb_until = (int64_t)r.ready - p->level_cyc[u->waits_for];
    note_load(p, (int64_t)r.ready, &r);
    if (r.changed) /* perhaps by a prefetch that a hit has set off */
        p->mem_change_at = p->now;
    return (int64_t)r.ready;
}

static void load(struct pipe *p, struct duop *u)
{
    int64_t ready = p->now + load_latency(p, u);

    p->loads_waiting--;
    change(p, p->now, 1, 0, 0, 0);
    u->level = u->waits_for = MEM_L1;
    u->l1_cause = u->fence & 1 ? STALL_BE_L1_LOCK : STALL_BE_L1;
    if (u->flags & DUOP_DRAINS)
        u->counts |= 1 << REPORT_LOCKED_LOADS;
    if (u->store >= p->store_head && u->store) {
        struct store_entry *s = pipe__store(p, u->store);
        int64_t t = forwarded_at(p, u, s);
        if (!contains(s, u->access)) {
            u->l1_cause = STALL_BE_L1_FORWARD;
            p->cur->uop_events += 1ull << 8 * REPORT_FORWARD_BLOCKED;
        }
        if (t == CYCLE_NEVER) {
            u->ready = ready;
            u->next = s->waiting;
            s->waiting = (uint16_t)((u->seq & (UOP_RING - 1)) + 1);
            return;
        }
        ready = max_cycle(ready, t);
        note_load(p, ready, NULL);
    } else if (p->memory && u->access) {
        ready = read_memory(p, u);
        if (u->flags & DUOP_ALIAS && p->store_head < p->store_tail && ready <= p->now + LOAD_LATENCY) {
            u->l1_cause = STALL_BE_L1_ALIAS;
            p->cur->uop_events += 1ull << 8 * REPORT_ALIASED;
            ready += p->core->alias_4k_cyc;
        }
    } else {
        note_load(p, ready, NULL);
    }
    load_done(p, u, ready);
}

/* --- dispatch --------------------------------------------------------------------------------- */

void execute__dispatch(struct pipe *p, struct duop *u)
{
    if (u->t->kind == UOP_LOAD) {
        load(p, u);
        return;
    }
    u->base = p->now;
    u->flags |= DUOP_KNOWN;
    u->done_at = max_cycle(p->now + 2, p->now + u->t->max_lat);
    if (u->tp_cyc)
        u->done_at = max_cycle(u->done_at, p->now + u->tp_cyc);
    if (u->t->kind == UOP_STA) {
        int64_t known = p->now + 5;
        if (p->memory && u->access) { /* RT-6 */
            int64_t t = (int64_t)memory__translate_store(p->memory, u->access->addr, u->access->size_bytes,
                                                         (uint64_t)p->now);
            u->tlb_until = t > p->now ? t : 0;
            if (t > p->now) /* the walk may have gone to memory */
                p->mem_change_at = p->now;
            if (t > p->now + (int64_t)p->core->stlb_hit_cyc)
                u->counts = 1;
            known = max_cycle(known, t);
        }
        u->done_at = max_cycle(u->done_at, known);
        if (u->store) {
            pipe__store(p, u->store)->addr_ready = known;
            wake_loads(p, pipe__store(p, u->store));
        }
    } else if (u->t->kind == UOP_STD && u->store) {
        pipe__store(p, u->store)->data_ready = p->now + 1;
        wake_loads(p, pipe__store(p, u->store));
    }
    if (u->flags & DUOP_RESOLVES)
        p->flush_at = p->now + 1; /* BP-2 */
    schedule__wake(p, u);
}

/* --- commit ----------------------------------------------------------------------------------- */

/* The store becomes senior: it commits in order, one a cycle, once its line is owned. */
bool execute__retire_store(struct pipe *p, struct store_entry *s)
{
    int64_t owned = p->now + 1;
    bool to_code = false;
    if (p->memory && s->known) {
        struct mem_result r;
        memory__store(p->memory, s->ip, s->addr, s->size, s->non_temporal, (uint64_t)p->now, &r);
        owned = max_cycle(owned, (int64_t)r.ready);
        s->split = r.split;
        s->owned_at = (int64_t)r.ready - (r.split == 2 ? (int64_t)p->core->split_page_cyc : r.split);
        p->cur->uop_events += (uint64_t)(r.split != 0) << 8 * REPORT_SPLIT_STORES;
        p->cur->uop_events += (uint64_t)pipe__uop(p, s->uop)->counts << 8 * REPORT_WALKED_STORES;
        s->tlb_until = (int64_t)r.tlb_until;
        to_code = r.code;
        p->mem_change_at = p->now;
    }
    if (p->memory && s->flushes)
        memory__flush_line(p->memory, s->addr, (uint64_t)p->now);
    s->commit_at = max_cycle(owned, p->last_commit + (s->split ? 2 : 1)); /* EX-12: each line its cycle */
    p->last_commit = s->commit_at;
    if (s->waiting)
        wake_loads(p, s);
    return to_code;
}

void execute__commit(struct pipe *p)
{
    while (p->store_head < p->store_retired && pipe__store(p, p->store_head)->commit_at <= p->now) {
        filter_add(p, pipe__store(p, p->store_head), -1);
        p->store_head++;
        p->stores_used--;
    }
}
