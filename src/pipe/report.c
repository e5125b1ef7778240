/* SPDX-License-Identifier: Apache-2.0 */
/* Cycle reports: why slots stayed empty (TD-3) and what the core waited for. */
#include "pipe/state.h"

struct reason {
    uint8_t stall, wait;
};

static struct reason load_reason(const struct pipe *p, const struct duop *u)
{
    if (u->tlb_until > p->now)
        return (struct reason){STALL_BE_DTLB, WAIT_DTLB};
    if (u->lfb_until > p->now)
        return (struct reason){STALL_BE_L1_FB_FULL, WAIT_L1D};
    switch (u->waits_for) {
    case MEM_L1:
        if (u->l1_cause == STALL_BE_L1 && u->port_wait > LOAD_LATENCY)
            return (struct reason){STALL_BE_PORTS, WAIT_PORTS};
        return (struct reason){u->l1_cause, WAIT_L1D};
    case MEM_L3:
        return (struct reason){STALL_BE_L3, WAIT_L3};
    case MEM_DRAM: /* ME-6: many requests under way, or waiting longer than when idle */
        if (p->own_outstanding >= p->core->mem_bandwidth_requests ||
            u->done_at - p->now > p->level_cyc[MEM_DRAM])
            return (struct reason){STALL_BE_DRAM_BANDWIDTH, WAIT_DRAM};
        return (struct reason){STALL_BE_DRAM, WAIT_DRAM};
    default:
        return (struct reason){STALL_BE_L2, WAIT_L2};
    }
}

static struct reason uop_reason(const struct pipe *p, const struct duop *u)
{
    if (u->state == DUOP_QUEUED)
        return u->t->div_cyc ? (struct reason){STALL_BE_DIVIDER, WAIT_DIVIDE}
                             : (struct reason){STALL_BE_PORTS, WAIT_PORTS};
    if (u->state == DUOP_WAITING && u->pending == 0 && (u->tp_cyc || u->fence))
        return u->flags & DUOP_DRAINS ? (struct reason){STALL_BE_L1_LOCK, WAIT_L1D}
                                      : (struct reason){STALL_BE_SERIAL, WAIT_OTHER};
    if (u->state == DUOP_DISPATCHED) {
        if (u->t->kind == UOP_LOAD)
            return load_reason(p, u);
        if (u->t->kind == UOP_STA && u->tlb_until > p->now)
            return (struct reason){STALL_BE_STORE_DTLB, WAIT_DTLB};
        if (u->t->div_cyc)
            return (struct reason){STALL_BE_DIVIDER, WAIT_DIVIDE};
        if (u->tp_cyc)
            return (struct reason){STALL_BE_SERIAL, WAIT_OTHER};
        if (u->port_wait > u->t->max_lat) /* it waited longer for its port than it executes */
            return (struct reason){STALL_BE_PORTS, WAIT_PORTS};
    }
    return (struct reason){STALL_BE_DEPENDENCY, WAIT_DEPENDENCY};
}

/* The oldest uop that is not complete; those before it retire in this cycle. */
static const struct duop *oldest_incomplete(struct pipe *p)
{
    uint64_t end =
        p->rob_head + 2 * p->retire_width < p->rob_tail ? p->rob_head + 2 * p->retire_width : p->rob_tail;
    for (uint64_t i = p->rob_head; i < end; i++) {
        const struct rob_entry *e = pipe__rob(p, i);
        for (unsigned k = 0; k < e->n_uops; k++) {
            const struct duop *u = pipe__uop(p, e->first_uop + k);
            if (u->done_at >= p->now)
                return u;
        }
    }
    return NULL;
}

/* What the oldest instruction waits for. */
static struct reason head_reason(struct pipe *p)
{
    const struct duop *u = oldest_incomplete(p);
    return u ? uop_reason(p, u) : (struct reason){STALL_BE_DEPENDENCY, WAIT_DEPENDENCY};
}

/* The store buffer is full: of senior stores, or because the oldest store cannot retire. */
static uint8_t store_reason(struct pipe *p)
{
    const struct store_entry *s = pipe__store(p, p->store_head);
    const struct duop *u = oldest_incomplete(p);
    if (u && u->t->kind == UOP_STA && u->tlb_until > p->now)
        return STALL_BE_STORE_DTLB; /* stores retire no faster than their pages are walked */
    if (p->store_head >= p->store_retired)
        return u ? uop_reason(p, u).stall : STALL_BE_STORE;
    return s->tlb_until > p->now ? STALL_BE_STORE_DTLB : s->split ? STALL_BE_STORE_SPLIT : STALL_BE_STORE;
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
    p->cur.resource = resource;
    if (resource == RES_STORE_BUFFER)
        p->cur.stall = store_reason(p);
    else if (resource == RES_SERIAL || empty)
        p->cur.stall = STALL_BE_SERIAL;
    else
        p->cur.stall = head_reason(p).stall;
    if (resource == RES_STORE_BUFFER)
        p->cur.flags |= REPORT_SB_FULL;
    p->cur.stall_site = empty ? next_site(p) : pipe__rob(p, p->rob_head)->site;
}

void report__stall(struct pipe *p, unsigned issued, uint8_t resource)
{
    struct cycle_report *c = &p->cur;
    if (p->now < p->blocked_until) {
        c->stall = p->recovery_clear ? STALL_RECOVERY_CLEAR : STALL_RECOVERY_MISPREDICT;
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

static void wait_reason(struct pipe *p)
{
    struct cycle_report *c = &p->cur;
    if (c->retired) {
        c->wait = WAIT_BASE;
        return;
    }
    if (p->rob_head < p->rob_tail) {
        c->wait = head_reason(p).wait;
        c->wait_site = pipe__rob(p, p->rob_head)->site;
        return;
    }
    c->wait_site = c->stall_site;
    if (STALL_IS_RECOVERY(c->stall))
        c->wait = WAIT_BRANCH;
    else if (c->stall >= STALL_FE_RESTEER_MISPREDICT && c->stall <= STALL_FE_UNKNOWN_BRANCH)
        c->wait = WAIT_BRANCH;
    else if (c->stall == STALL_FE_ICACHE)
        c->wait = WAIT_ICACHE;
    else if (c->stall == STALL_FE_ITLB)
        c->wait = WAIT_ITLB;
    else if (c->stall >= STALL_BE_STORE && c->stall <= STALL_BE_STORE_DTLB)
        c->wait = WAIT_STORE;
    else
        c->wait = STALL_IS_FRONTEND(c->stall) ? WAIT_FRONTEND : WAIT_OTHER;
}

static uint8_t clip(int16_t n)
{
    return (uint8_t)(n < 0 ? 0 : n > 255 ? 255 : n);
}

void report__finish(struct pipe *p)
{
    struct cycle_report *c = &p->cur;
    wait_reason(p);
    if (c->stall == STALL_BE_DEPENDENCY && !c->executed && p->pending.l1 > 0)
        c->stall = p->pending.l3 > 0   ? p->own_outstanding >= p->core->mem_bandwidth_requests
                                             ? STALL_BE_DRAM_BANDWIDTH
                                             : STALL_BE_DRAM
                   : p->pending.l2 > 0 ? STALL_BE_L3
                                       : STALL_BE_L2;
    if (c->stall == STALL_BE_PORTS)
        c->stall = (uint8_t)(STALL_BE_PORTS + (c->executed < 3 ? c->executed : 3));
    if (p->pending.any | p->pending.l1 | p->pending.l2 | p->pending.l3) {
        c->loads_pending = clip(p->pending.any);
        c->l1_miss_pending = clip(p->pending.l1);
        c->l2_miss_pending = clip(p->pending.l2);
        c->l3_miss_pending = clip(p->pending.l3);
    }
    c->mispredict_site = p->recovery_site;
    if (p->divider_free_at > p->now)
        c->flags |= REPORT_DIVIDER;
    if (p->rs_used == 0)
        c->flags |= REPORT_RS_EMPTY;
    if (!p->endless && p->stores_used >= p->core->store_buffer)
        c->flags |= REPORT_SB_FULL;
    if (p->memory) {
        if (p->now >= p->mem_change_at) {
            unsigned n = memory__outstanding(p->memory, (uint64_t)p->now);
            uint64_t next = memory__next_change(p->memory, (uint64_t)p->now);
            unsigned own = memory__outstanding_own(p->memory, (uint64_t)p->now);
            p->mem_outstanding = n > 255 ? 255 : (uint8_t)n;
            p->own_outstanding = own > 255 ? 255 : (uint8_t)own;
            p->mem_change_at = next > (uint64_t)CYCLE_NEVER ? CYCLE_NEVER : (int64_t)next;
        }
        c->mem_outstanding = p->mem_outstanding;
    }
    p->report[p->n_reports++] = *c;
}

void report__send(struct pipe *p)
{
    if (!p->n_reports)
        return;
    for (unsigned i = 0; i < p->n_listeners; i++)
        p->listener[i]->consume(p->listener[i], p->report, p->n_reports);
    p->n_reports = 0;
}
