/* SPDX-License-Identifier: Apache-2.0 */
/* Cycle reports: why slots stayed empty (TD-3) and what the core waited for. */
#include "pipe/state.h"

enum { SOURCES_BACK = 4 }; /* how far back a delay is looked for */

struct reason {
    uint8_t stall, wait;
    const struct duop *load; /* a load before it is to blame; NULL: the uop itself */
};

/* When others can use the result of a uop; retirement sees it later. */
static int64_t result_at(const struct duop *u)
{
    if (!(u->flags & DUOP_KNOWN))
        return CYCLE_NEVER;
    if (u->tp_cyc || u->t->kind == UOP_LOAD)
        return u->done_at;
    if (u->t->kind == UOP_COMPUTE)
        return u->base + (u->t->max_lat ? u->t->max_lat : 1);
    return u->tlb_until ? u->done_at : u->base + 1;
}

/* The part of [from, from + cycles) before the uop was the oldest: nobody has been charged for it. */
static int64_t uncharged(const struct duop_delay *d, uint32_t from, int64_t cycles)
{
    int64_t before = (int32_t)(d->head_at - from);

    return d->head_at && before < cycles ? max_cycle(before, 0) : cycles;
}

/* How long a dispatched uop waited for its port, a complete load longer than a hit takes. */
static int64_t port_delay(struct pipe *p, const struct duop *u)
{
    const struct duop_delay *d = pipe__delay(p, u);

    return u->t->div_cyc ? 0 : uncharged(d, d->queued_at, u->port_wait);
}

static int64_t load_delay(struct pipe *p, const struct duop *u)
{
    const struct duop_delay *d = pipe__delay(p, u);

    return uncharged(d, d->queued_at, (int32_t)((uint32_t)(u->done_at - LOAD_LATENCY) - d->queued_at));
}

static bool is_plain_hit(const struct duop *u)
{
    return u->waits_for == MEM_L1 && u->l1_cause == STALL_BE_L1 && !u->tlb_until;
}

/* May the delay of `o` be charged to `u`? */
static bool inherits(struct pipe *p, const struct duop *u, const struct duop *o)
{
    uint32_t heir = pipe__delay(p, o)->heir;

    return heir == 0 || heir == (uint32_t)(u->seq + 1);
}

/* Why a load is not complete at `now`. */
static struct reason load_reason(struct pipe *p, const struct duop *u, int64_t now)
{
    if (u->tlb_until > now)
        return (struct reason){STALL_BE_DTLB, WAIT_DTLB, NULL};
    if (u->lfb_until > now)
        return (struct reason){STALL_BE_L1_FB_FULL, WAIT_L1D, NULL};
    switch (u->waits_for) {
    case MEM_L1:
        if (is_plain_hit(u) && u->flags & DUOP_KNOWN && inherits(p, u, u) &&
            port_delay(p, u) >= u->done_at - now)
            return (struct reason){STALL_BE_PORTS, WAIT_PORTS, NULL};
        return (struct reason){u->l1_cause, WAIT_L1D, NULL};
    case MEM_L3:
        return (struct reason){STALL_BE_L3, WAIT_L3, NULL};
    case MEM_DRAM: /* ME-6: many requests under way, or waiting longer than when idle */
        if (p->own_outstanding >= p->core->mem_bandwidth_requests ||
            u->done_at - now > p->level_cyc[MEM_DRAM])
            return (struct reason){STALL_BE_DRAM_BANDWIDTH, WAIT_DRAM, NULL};
        return (struct reason){STALL_BE_DRAM, WAIT_DRAM, NULL};
    default:
        return (struct reason){STALL_BE_L2, WAIT_L2, NULL};
    }
}

/* A non-pipelined instruction: a division in microcode has uops for the divider among others. */
static struct reason unit_reason(struct pipe *p, const struct duop *u)
{
    const struct recipe *r = pipe__fetched(p, u->fetched)->recipe;

    for (unsigned k = 0; r && k < r->n_uops; k++)
        if (r->uops[k].div_cyc)
            return (struct reason){STALL_BE_DIVIDER, WAIT_DIVIDE, NULL};
    return (struct reason){STALL_BE_SERIAL, WAIT_OTHER, NULL};
}

/* The uop whose result was the last that `u` needed, NULL if it was long ago. */
static struct duop *last_source(struct pipe *p, const struct duop *u)
{
    uint32_t last = pipe__delay(p, u)->last;
    struct duop *o = last ? pipe__uop(p, last - 1) : NULL;

    return o && (uint32_t)(o->seq + 1) == last && o->state == DUOP_DISPATCHED ? o : NULL;
}

/* The delays from `u` back to `from` are charged to `u` and to no other. */
static void inherit(struct pipe *p, struct duop *u, const struct duop *from)
{
    struct duop *o = u;

    for (; o != from; o = last_source(p, o))
        if (inherits(p, u, o))
            pipe__delay(p, o)->heir = (uint32_t)(u->seq + 1);
    pipe__delay(p, o)->heir = (uint32_t)(u->seq + 1);
}

/*
 * A uop that executes. Would it be complete, had it and those whose results it waited for found their ports
 * free, had a load among them been a plain hit? Then it is late for that reason, else for its own latency.
 * Delays count once: not what was charged while a uop was itself the oldest, and only for one that comes
 * after.
 */
static struct reason executing_reason(struct pipe *p, struct duop *u)
{
    int64_t left = result_at(u) - p->now;
    struct duop *o = u;
    struct reason r;

    for (unsigned k = 0; o && k < SOURCES_BACK; k++, o = last_source(p, o)) {
        if (!inherits(p, u, o))
            continue;
        if (o != u && o->t->kind == UOP_LOAD && !is_plain_hit(o) && load_delay(p, o) >= left) {
            inherit(p, u, o);
            r = load_reason(p, o, o->done_at - (o->waits_for == MEM_L1 ? LOAD_LATENCY + left : 1));
            r.load = o;
            return r;
        }
        left -= port_delay(p, o);
        if (left <= 0) {
            inherit(p, u, o);
            return (struct reason){STALL_BE_PORTS, WAIT_PORTS, NULL};
        }
    }
    return (struct reason){STALL_BE_DEPENDENCY, WAIT_DEPENDENCY, NULL};
}

static struct reason uop_reason(struct pipe *p, struct duop *u)
{
    if (u->state == DUOP_QUEUED)
        return u->t->div_cyc ? (struct reason){STALL_BE_DIVIDER, WAIT_DIVIDE, NULL}
                             : (struct reason){STALL_BE_PORTS, WAIT_PORTS, NULL};
    if (u->state == DUOP_WAITING && u->pending == 0 && (u->tp_cyc || u->fence))
        return u->flags & DUOP_DRAINS ? (struct reason){STALL_BE_L1_LOCK, WAIT_L1D, NULL} : unit_reason(p, u);
    if (u->state == DUOP_DISPATCHED) {
        if (u->t->kind == UOP_LOAD) {
            struct reason r = load_reason(p, u, p->now);
            if (r.stall == STALL_BE_PORTS)
                inherit(p, u, u);
            return r;
        }
        if (u->t->kind == UOP_STA && u->tlb_until > p->now)
            return (struct reason){STALL_BE_STORE_DTLB, WAIT_DTLB, NULL};
        if (u->t->div_cyc)
            return (struct reason){STALL_BE_DIVIDER, WAIT_DIVIDE, NULL};
        if (u->tp_cyc)
            return unit_reason(p, u);
        return executing_reason(p, u);
    }
    return (struct reason){STALL_BE_DEPENDENCY, WAIT_DEPENDENCY, NULL};
}

/* The oldest uop without a result, and its instruction. Those before it retire as soon as retirement sees
 * theirs. */
static struct duop *oldest_incomplete(struct pipe *p, const struct rob_entry **entry)
{
    uint64_t end =
        p->rob_head + 2 * p->retire_width < p->rob_tail ? p->rob_head + 2 * p->retire_width : p->rob_tail;
    for (uint64_t i = p->rob_head; i < end; i++) {
        *entry = pipe__rob(p, i);
        for (unsigned k = 0; k < (*entry)->n_uops; k++) {
            struct duop *u = pipe__uop(p, (*entry)->first_uop + k);
            if (result_at(u) > p->now)
                return u;
        }
    }
    *entry = pipe__rob(p, p->rob_head);
    return NULL;
}

/* The store buffer is full of stores that have retired: the oldest waits for its line, or for its turn. */
static uint8_t store_reason(const struct pipe *p, const struct store_entry *s)
{
    if (s->tlb_until > p->now)
        return STALL_BE_STORE_DTLB;
    if (s->owned_at > p->now)
        return STALL_BE_STORE;
    return s->split ? STALL_BE_STORE_SPLIT : STALL_BE_PORTS;
}

static bool waits_beyond_l2(const struct pipe *p, const struct duop *u)
{
    return u->state == DUOP_DISPATCHED && u->t->kind == UOP_LOAD &&
           (u->waits_for == MEM_L3 || u->waits_for == MEM_DRAM) && u->tlb_until <= p->now;
}

/* Why the back end did not accept more, at the end of the cycle. A queue fills up before what is slow: a
 * full store buffer is the stores' doing when most of them have retired, and no load from L3 or memory is
 * what retirement waits for: stores behind a miss are hidden by it (13.2: MemStalls.Stores without AnyLoad).
 */
static void backend_stall(struct pipe *p)
{
    struct cycle_report *c = p->cur;
    const struct rob_entry *e;
    struct duop *u = oldest_incomplete(p, &e);
    uint64_t senior = p->store_retired - p->store_head;

    if (c->resource == RES_STORE_BUFFER && senior && (!u || 2 * senior >= p->stores_used) &&
        !(u && waits_beyond_l2(p, u))) {
        c->stall = store_reason(p, pipe__store(p, p->store_head));
        return;
    }
    if (p->rob_head < p->rob_tail)
        c->stall_site = e->site;
    if (!u)
        return;
    struct reason r = uop_reason(p, u);
    c->stall = r.stall;
    if (r.load && (uint32_t)p->planned - r.load->fetched <= p->fetched_mask) /* it may have left the ring */
        c->stall_site = pipe__fetched(p, r.load->fetched)->site;
    if (!pipe__delay(p, u)->head_at)
        pipe__delay(p, u)->head_at = (uint32_t)p->now;
}

static int64_t change_at(const struct pipe *p, int64_t t, int64_t at)
{
    return at > p->now && at < t ? at : t;
}

/* The first later cycle in which another reason may be given, if nothing else happens. */
int64_t report__next_change(struct pipe *p)
{
    const struct rob_entry *e;
    const struct duop *u = oldest_incomplete(p, &e);
    int64_t t = CYCLE_NEVER;

    if (p->store_head < p->store_retired) {
        const struct store_entry *s = pipe__store(p, p->store_head);
        t = change_at(p, t, s->owned_at);
    }
    if (!u || result_at(u) == CYCLE_NEVER)
        return t;
    int64_t at = result_at(u);
    const struct duop *o = u;
    t = change_at(p, t, at);
    if (u->t->kind != UOP_COMPUTE)
        t = change_at(p, change_at(p, t, u->tlb_until), u->lfb_until);
    if (u->t->kind == UOP_LOAD)
        t = change_at(p, t, u->done_at - p->level_cyc[u->waits_for]);
    for (unsigned k = 0; o && k < SOURCES_BACK; k++, o = last_source(p, o)) {
        if (!inherits(p, u, o))
            continue;
        if (o->t->kind == UOP_LOAD)
            t = change_at(p, t, at - load_delay(p, o));
        at -= port_delay(p, o);
        t = change_at(p, t, at);
    }
    return t;
}

static uint32_t next_site(struct pipe *p)
{
    if (idq__used(p))
        return pipe__fetched(p, p->idq[p->idq_head % IDQ_RING].fetched)->site;
    if (p->delivered < p->planned)
        return pipe__fetched(p, p->delivered)->site;
    return REPORT_NO_SITE;
}

static void backend(struct pipe *p, uint8_t resource)
{
    bool empty = p->rob_head == p->rob_tail;
    p->cur->resource = resource;
    bool serial = resource == RES_SERIAL || (empty && resource != RES_STORE_BUFFER);
    p->cur->stall = serial ? STALL_BE_SERIAL : STALL_BE_DEPENDENCY;
    p->judge_stall = !serial;
    if (resource == RES_STORE_BUFFER)
        p->cur->flags |= REPORT_SB_FULL;
    p->cur->stall_site = empty ? next_site(p) : pipe__rob(p, p->rob_head)->site;
}

void report__stall(struct pipe *p, unsigned issued, uint8_t resource)
{
    struct cycle_report *c = p->cur;
    if (p->now < p->blocked_until) {
        c->stall = FLUSH_IS_CLEAR(p->recovery_kind) ? STALL_RECOVERY_CLEAR : STALL_RECOVERY_MISPREDICT;
        c->flush_kind = p->recovery_kind;
        c->stall_site = p->recovery_site;
    } else if (issued >= p->width) {
        c->stall = STALL_NONE;
    } else if (resource != RES_NONE) {
        backend(p, resource);
    } else if (p->resteer || (p->on_wrong_path && !idq__used(p) && p->wrong_dead_end)) {
        c->stall = p->resteer ? p->resteer : STALL_FE_RESTEER_MISPREDICT;
        c->stall_site = p->resteer ? p->recovery_site : next_site(p);
    } else {
        c->stall = p->fe_cause ? p->fe_cause : STALL_FE_MITE;
        c->stall_site = next_site(p);
    }
}

/* Issued, and not in the scheduler yet for nothing but the depth of the pipeline (EX-3). */
static bool on_its_way(const struct pipe *p, const struct duop *u)
{
    if (u->state != DUOP_WAITING)
        return false;
    int64_t enters = u->issued_at + p->core->issue_to_dispatch_cyc;
    return !(u->flags & DUOP_ISSUED) || (!u->pending && u->ready <= enters && p->now < enters);
}

/* The oldest uop in the scheduler; NULL: it is empty. */
static struct duop *oldest_waiting(struct pipe *p)
{
    if (!p->rs_used)
        return NULL;
    uint64_t seq = p->oldest_waiting > p->uop_head ? p->oldest_waiting : p->uop_head;
    struct duop *u = pipe__uop(p, seq);
    const struct duop *end = p->uop + UOP_RING;
    while (u->state == DUOP_DISPATCHED || u->flags & DUOP_DEAD) { /* there is one: rs_used */
        seq++;
        if (++u == end)
            u = p->uop;
    }
    p->oldest_waiting = seq;
    return u->flags & DUOP_ISSUED ? u : NULL;
}

/* Operands known, and it could have been dispatched by now: something else keeps it back. */
static uint8_t held_wait(struct pipe *p, struct duop *u)
{
    if (u->tp_cyc || u->fence)
        return uop_reason(p, u).wait;
    return p->fences_in_flight ? WAIT_OTHER : WAIT_DEPENDENCY;
}

/* What the producer of its last operand does. All older uops have been dispatched. */
static uint8_t producer_wait(struct pipe *p, const struct duop *u, const struct duop *head)
{
    const struct duop *producer = last_source(p, u);

    if (u->pending) /* a load that waits for a store */
        return WAIT_L1D;
    if (!producer) /* retired long ago */
        return WAIT_DEPENDENCY;
    if (producer == head)
        return p->cur->retire_wait;
    if (producer->t->kind != UOP_LOAD)
        return producer->t->div_cyc ? WAIT_DIVIDE : WAIT_DEPENDENCY;
    p->blocker = producer;
    return load_reason(p, producer, p->now).wait;
}

/* What the scheduler waits for. */
static uint8_t execute_wait(struct pipe *p, const struct duop *head)
{
    struct duop *u = oldest_waiting(p);

    if (!u)
        return WAIT_BASE;
    if (p->on_wrong_path && pipe__fetched(p, u->fetched)->flags & F_WRONG)
        return WAIT_BRANCH;
    if (u->state == DUOP_QUEUED)
        return u->t->div_cyc ? WAIT_DIVIDE : WAIT_PORTS;
    if (on_its_way(p, u))
        return WAIT_BASE;
    return !u->pending && u->ready < p->now ? held_wait(p, u) : producer_wait(p, u, head);
}

/* The oldest uop: what retirement waits for. */
static const struct duop *head_wait(struct pipe *p)
{
    struct cycle_report *c = p->cur;
    const struct rob_entry *e;
    struct duop *u = oldest_incomplete(p, &e);
    uint8_t wait = u ? uop_reason(p, u).wait : WAIT_DEPENDENCY;

    c->retire_wait = !u || on_its_way(p, u) ? WAIT_BASE : wait;
    if (!c->retired) {
        c->wait = wait;
        c->wait_site = e->site;
    }
    return u;
}

/* Returns the oldest uop if it had to be looked at, else NULL. */
static const struct duop *wait_reason(struct pipe *p)
{
    struct cycle_report *c = p->cur;
    c->wait = WAIT_BASE;
    if (c->retired && (!p->stage_waits || c->retired >= p->retire_width))
        return NULL;
    if (p->rob_head < p->rob_tail)
        return head_wait(p);
    if (!c->retired) {
        c->wait_site = c->stall_site;
        c->wait = (uint8_t)stall__wait(c->stall);
    }
    return NULL;
}

static uint8_t clip(int16_t n)
{
    return (uint8_t)(n < 0 ? 0 : n > 255 ? 255 : n);
}

static void pending_loads(const struct pending_loads *n, struct cycle_report *c)
{
    bool fit = !((n->any | n->l1 | n->l2 | n->l3) & ~255); /* nearly always */
    c->loads_pending = fit ? (uint8_t)n->any : clip(n->any);
    c->l1_miss_pending = fit ? (uint8_t)n->l1 : clip(n->l1);
    c->l2_miss_pending = fit ? (uint8_t)n->l2 : clip(n->l2);
    c->l3_miss_pending = fit ? (uint8_t)n->l3 : clip(n->l3);
}

void report__memory(struct pipe *p)
{
    struct memory_activity a;

    memory__activity(p->memory, (uint64_t)p->now, &a);
    p->mem_outstanding = report__count(a.requests.all);
    p->own_outstanding = report__count(a.requests.own);
    p->mem_reads = report__count(a.reads);
    p->mem_state = a.state;
    p->mem_change_at = a.next_change > (uint64_t)CYCLE_NEVER ? CYCLE_NEVER : (int64_t)a.next_change;
    p->cur->memory_events += a.events;
    p->cur->lfb_waits = report__count((unsigned)p->cur->lfb_waits + a.lfb_waits);
}

void report__finish(struct pipe *p)
{
    struct cycle_report *c = p->cur;
    if (p->judge_stall)
        backend_stall(p);
    p->judge_stall = false;
    const struct duop *head = wait_reason(p);
    p->blocker = NULL;
    if (p->stage_waits && c->executed_fused < p->width) /* a head that waits is the oldest that does */
        c->execute_wait = head && head->state != DUOP_DISPATCHED ? c->retire_wait : execute_wait(p, head);
    if (c->stall == STALL_BE_DEPENDENCY && !c->executed && p->pending.l1 > 0)
        c->stall = p->pending.l3 > 0   ? p->own_outstanding >= p->core->mem_bandwidth_requests
                                             ? STALL_BE_DRAM_BANDWIDTH
                                             : STALL_BE_DRAM
                   : p->pending.l2 > 0 ? STALL_BE_L3
                                       : STALL_BE_L2;
    if (c->stall == STALL_BE_PORTS)
        c->stall = (uint8_t)(STALL_BE_PORTS + (c->executed < 3 ? c->executed : 3));
    if (p->pending.any | p->pending.l1 | p->pending.l2 | p->pending.l3)
        pending_loads(&p->pending, c);
    c->mispredict_site = p->recovery_site;
    if (p->resteer)
        c->state |= REPORT_STATE_RESTEER;
    if (p->divider_free_at > p->now)
        c->flags |= REPORT_DIVIDER;
    if (p->rs_used == 0)
        c->flags |= REPORT_RS_EMPTY;
    if (!p->endless && p->stores_used >= p->core->store_buffer)
        c->flags |= REPORT_SB_FULL;
    if (p->memory && p->now >= p->mem_change_at) /* sent in this cycle */
        report__memory(p);
    c->mem_outstanding = p->mem_outstanding;
    c->offcore_reads = p->mem_reads;
    c->state |= p->mem_state;
    p->n_reports++;
}

void report__send(struct pipe *p)
{
    if (!p->n_reports)
        return;
    if (p->relay) {
        relay__give(p->relay, p->n_reports);
        p->report = relay__buffer(p->relay);
    } else {
        for (unsigned i = 0; i < p->n_listeners; i++)
            p->listener[i]->consume(p->listener[i], p->report, p->n_reports);
    }
    p->n_reports = 0;
}
