/* SPDX-License-Identifier: Apache-2.0 */
/* Reservation station: port binding (section 7), wake-up, and each port's choice of the oldest ready
 * uop (EX-1 to EX-4, EX-14 to EX-17). */
#include "pipe/state.h"

enum { PORTS_23 = 1 << 2 | 1 << 3, PORTS_015 = 1 << 0 | 1 << 1 | 1 << 5, DIVIDER = MAX_PORTS };

static unsigned slot_of(const struct duop *u)
{
    return u->seq & (UOP_RING - 1);
}

/* --- sets of uops by age ---------------------------------------------------------------------- */

static void queue_add(struct pipe *p, unsigned q, unsigned slot)
{
    p->ready[q][slot / 64] |= 1ull << slot % 64;
    p->ready_words[q] |= 1u << slot / 64;
    p->ready_ports |= 1u << q;
}

static void queue_remove(struct pipe *p, unsigned q, unsigned slot)
{
    p->ready[q][slot / 64] &= ~(1ull << slot % 64);
    if (p->ready[q][slot / 64])
        return;
    p->ready_words[q] &= ~(1u << slot / 64);
    if (!p->ready_words[q])
        p->ready_ports &= ~(1u << q);
}

/* Slot of the oldest uop in queue `q`, -1 if there is none: the first bit at or after the head's. */
static int queue_oldest(const struct pipe *p, unsigned q)
{
    if (!p->ready_words[q])
        return -1;
    unsigned head = p->uop_head & (UOP_RING - 1), w = head / 64;
    uint64_t bits = p->ready[q][w] & ~0ull << head % 64;
    if (bits)
        return (int)(w * 64 + (unsigned)__builtin_ctzll(bits));
    unsigned turn = (w + 1) % UOP_WORDS;
    uint32_t words = (p->ready_words[q] >> turn | p->ready_words[q] << (UOP_WORDS - turn)) & 0xffff;
    w = (turn + (unsigned)__builtin_ctz(words)) % UOP_WORDS;
    return (int)(w * 64 + (unsigned)__builtin_ctzll(p->ready[q][w]));
}

/* --- port binding ----------------------------------------------------------------------------- */

/* A port's use at the start of the cycle, then its place among equals. Compared without branches: which port
 * is less used cannot be predicted. */
static unsigned rank(const struct pipe *p, unsigned port, unsigned place)
{
    return p->snapshot[port] * MAX_PORTS + place;
}

/* PA-5: eight ports. Least used, ties to the highest number; odd slots take the second. */
static unsigned bind8(const struct pipe *p, unsigned ports, unsigned slot)
{
    unsigned best = ~0u, second = ~0u;
    for (unsigned m = ports; m; m &= m - 1) {
        unsigned port = (unsigned)__builtin_ctz(m), key = rank(p, port, MAX_PORTS - 1 - port);
        unsigned worse = key > best ? key : best;
        best = key < best ? key : best;
        second = worse < second ? worse : second;
    }
    unsigned key = slot % 2 == 0 || second / MAX_PORTS >= best / MAX_PORTS + 3 ? best : second;
    return MAX_PORTS - 1 - key % MAX_PORTS;
}

/* PA-6: six ports. Ties to the lowest number; fixed orders for {0,1,5}. */
static unsigned bind6(const struct pipe *p, unsigned ports, unsigned slot)
{
    static const uint8_t order0[] = {0, 5, 1, 0}, order1[] = {1, 5, 0, 1}, order5[] = {5, 1, 0, 5};
    unsigned low = ~0u, high = 0;
    for (unsigned m = ports; m; m &= m - 1) {
        unsigned port = (unsigned)__builtin_ctz(m), key = rank(p, port, port);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    unsigned least = low % MAX_PORTS, most = high % MAX_PORTS;
    if (high / MAX_PORTS >= low / MAX_PORTS + 3)
        return least;
    if (ports == PORTS_015)
        return (least == 0 ? order0 : least == 1 ? order1 : order5)[slot & 3];
    return slot % 2 == 0 ? least : most;
}

/* PA-1 to PA-6: the port is chosen at issue, for good. */
void schedule__bind(struct pipe *p, struct duop *u, unsigned slot)
{
    unsigned ports = u->t->ports, port;
    if (p->ufs) {
        port = ufs__port(p, ports);
    } else if ((ports & (ports - 1)) == 0) {
        port = (unsigned)__builtin_ctz(ports);
    } else if (ports == PORTS_23) { /* PA-4 */
        port = 2u + p->toggle23;
        p->toggle23 ^= 1;
    } else {
        port = p->n_ports < 8 ? bind6(p, ports, slot) : bind8(p, ports, slot);
    }
    u->port = (uint8_t)port;
    p->usage[port]++;
}

/* --- wake-up ---------------------------------------------------------------------------------- */

/* What is further away than the wheel goes round comes back and is added again. */
static void wheel_add(struct pipe *p, struct duop *u, int64_t when)
{
    if (when - p->now >= WHEEL)
        when = p->now + WHEEL - 1;
    unsigned b = (unsigned)when & (WHEEL - 1);
    assert(when > p->now);
    u->next = p->wheel[b];
    p->wheel[b] = (uint16_t)(slot_of(u) + 1);
    p->wheel_used[b / 64] |= 1ull << b % 64;
}

/* EX-3: all operands known. */
void schedule__set_ready(struct pipe *p, struct duop *u)
{
    int64_t i = u->issued_at, r = u->ready, when, D = p->core->issue_to_dispatch_cyc;
    if (p->ufs) /* no pipeline depth */
        when = r;
    else
        when = r < i + D ? i + D : r + (r <= i + D + 1);
    when = max_cycle(when, p->now + 1);
    if (p->trace)
        trace__of(p, u)->queued_at = when;
    wheel_add(p, u, when);
}

void schedule__wake(struct pipe *p, struct duop *u)
{
    for (unsigned e = u->waiters; e;) {
        struct duop *c = &p->uop[(e - 1) / UOP_MAX_SRC];
        const struct edge *edge = &c->edge[(e - 1) % UOP_MAX_SRC];
        e = edge->next;
        if (c->flags & DUOP_DEAD) /* its slot is still its own: I3 */
            continue;
        int64_t at = u->base + edge->lat_cyc;
        if (at > c->ready) {
            c->ready = at;
            pipe__delay(p, c)->last = (uint32_t)(u->seq + 1);
            if (p->trace)
                trace__of(p, c)->producer = u->seq;
        }
        if (--c->pending == 0 && c->flags & DUOP_ISSUED)
            schedule__set_ready(p, c);
    }
    u->waiters = 0;
}

/* --- ready uops join their queue -------------------------------------------------------------- */

static void enqueue(struct pipe *p, struct duop *u)
{
    u->state = DUOP_QUEUED;
    u->issued_at = p->now; /* from here on: since when it waits for its port */
    queue_add(p, u->t->div_cyc ? DIVIDER : u->port, slot_of(u));
}

/* EX-16: is an older fence pending, or, for a fence, an older access or fence not complete? */
static bool fenced(struct pipe *p, const struct duop *u)
{
    unsigned mine = u->t->kind == UOP_LOAD ? 1 : u->t->kind == UOP_COMPUTE ? 0 : 2;
    if (!mine && !u->fence)
        return false;
    if (u->flags & DUOP_DRAINS && p->store_head < p->store_tail &&
        pipe__store(p, p->store_head)->uop < u->seq)
        return true;
    for (uint64_t s = p->uop_head; s < u->seq; s++) {
        const struct duop *o = pipe__uop(p, s);
        if (o->flags & DUOP_DEAD || o->done_at <= p->now || o->fetched == u->fetched)
            continue;
        if (o->fence & mine || (u->fence && o->fence))
            return true;
        unsigned kind = o->t->kind == UOP_LOAD ? 1 : o->t->kind == UOP_COMPUTE ? 0 : 2;
        if (u->fence & kind)
            return true;
    }
    return false;
}

static bool kept_back(struct pipe *p, struct duop *u)
{
    if (p->fences_in_flight && fenced(p, u))
        return true;
    if (p->memory && u->t->kind == UOP_LOAD && execute__must_wait(p, u))
        return true;
    if (!u->tp_cyc)
        return false;
    if (p->tp_free_at[u->form] > p->now) /* EX-15 */
        return true;
    p->tp_used = true;
    p->tp_free_at[u->form] = p->now + u->tp_cyc;
    return false;
}

static void hold(struct pipe *p, struct duop *u)
{
    uint32_t i = p->n_held++;
    for (; i && pipe__uop(p, p->held[i - 1])->seq > u->seq; i--)
        p->held[i] = p->held[i - 1];
    p->held[i] = (uint16_t)slot_of(u);
}

static void retry_held(struct pipe *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_held; i++) {
        struct duop *u = pipe__uop(p, p->held[i]);
        if (u->flags & DUOP_DEAD)
            continue;
        if (kept_back(p, u))
            p->held[n++] = p->held[i];
        else
            enqueue(p, u);
    }
    p->n_held = n;
}

static void join_queues(struct pipe *p)
{
    unsigned b = (unsigned)p->now & (WHEEL - 1);
    unsigned i = p->wheel[b];
    bool order = p->fences_in_flight;
    if (i) {
        p->wheel[b] = 0;
        p->wheel_used[b / 64] &= ~(1ull << b % 64);
    }
    while (i) {
        struct duop *u = &p->uop[i - 1];
        i = u->next;
        if (u->flags & DUOP_DEAD)
            continue;
        if (u->ready > p->now) {
            wheel_add(p, u, u->ready);
            continue;
        }
        if (order || u->tp_cyc || (p->memory && u->t->kind == UOP_LOAD && execute__must_wait(p, u)))
            hold(p, u); /* oldest first */
        else
            enqueue(p, u);
    }
    if (p->n_held)
        retry_held(p);
}

/* --- dispatch --------------------------------------------------------------------------------- */

/* EX-17: 256-bit accesses of SNB and IVB. Returns the ports that may not dispatch. */
static unsigned busy_256(const struct pipe *p)
{
    unsigned skip = p->p4_blocked_at == p->now ? 1u << 4 : 0;
    int a = queue_oldest(p, 2), b = queue_oldest(p, 3);
    if (a < 0 || b < 0)
        return skip;
    const struct duop *x = &p->uop[a], *y = &p->uop[b];
    if (x->t->kind == UOP_LOAD && y->t->kind == UOP_LOAD && (x->t->flags | y->t->flags) & UOP_WIDE256)
        skip |= x->seq < y->seq ? 1u << 3 : 1u << 2;
    return skip;
}

/* EX-11: two loads of a cycle in the same bank of different lines; the younger one waits. */
static unsigned bank_conflict(const struct pipe *p)
{
    int a = queue_oldest(p, 2), b = queue_oldest(p, 3);
    if (a < 0 || b < 0)
        return 0;
    const struct duop *x = &p->uop[a], *y = &p->uop[b];
    if (x->t->kind != UOP_LOAD || y->t->kind != UOP_LOAD || !x->access || !y->access)
        return 0;
    bool narrow = x->access->size_bytes <= 8 && y->access->size_bytes <= 8;
    unsigned shift = narrow ? 2 : 4, mask = narrow ? 15 : 7; /* Intel's and Agner's bank functions, Q-16 */
    if (((x->access->addr ^ y->access->addr) >> shift & mask) || x->access->addr / 64 == y->access->addr / 64)
        return 0;
    return x->seq < y->seq ? 1u << 3 : 1u << 2;
}

/* EX-12, EX-23: a load across lines, or that met a store at its page offset, goes through its port again. */
static void occupy_twice(struct pipe *p, const struct duop *u, unsigned port)
{
    if (u->t->kind != UOP_LOAD || !u->access)
        return;
    if (u->l1_cause != STALL_BE_L1_ALIAS && u->access->addr % 64 + u->access->size_bytes <= 64)
        return;
    p->twice_ports = (p->twice_at == p->now ? p->twice_ports : 0) | 1u << port;
    p->twice_at = p->now;
}

static void dispatch_from(struct pipe *p, unsigned queue, unsigned port, int slot)
{
    struct duop *u = &p->uop[slot];
    queue_remove(p, queue, (unsigned)slot);
    p->rs_used--;
    if (p->ufs)
        p->usage[port]--;
    else
        p->left_ports |= 1u << port;
    p->cur->ports = (uint16_t)(p->cur->ports | 1u << port);
    p->cur->executed++;
    p->cur->executed_fused = (uint8_t)(p->cur->executed_fused + !!(u->t->flags & UOP_FUSED_HEAD));
    u->state = DUOP_DISPATCHED;
    pipe__delay(p, u)->queued_at = (uint32_t)u->issued_at;
    u->port_wait = (uint16_t)(p->now - u->issued_at < UINT16_MAX ? p->now - u->issued_at : UINT16_MAX);
    if (p->trace)
        trace__of(p, u)->dispatched_at = p->now;
    if (p->core->slow_256bit_memory && port == 4 && u->t->flags & UOP_WIDE256)
        p->p4_blocked_at = p->now + 1;
    execute__dispatch(p, u);
    if (p->memory)
        occupy_twice(p, u, port);
}

/* EX-14: the divider competes with the head of port 0. Returns true if it dispatched. */
static bool dispatch_divider(struct pipe *p)
{
    int d = p->divider_free_at <= p->now ? queue_oldest(p, DIVIDER) : -1;
    if (d < 0)
        return false;
    int other = queue_oldest(p, 0);
    if (other >= 0 && p->uop[other].seq < p->uop[d].seq)
        return false;
    p->divider_free_at = p->now + p->uop[d].t->div_cyc;
    p->cur->uop_events += 1ull << 8 * REPORT_DIVISIONS;
    dispatch_from(p, DIVIDER, p->uop[d].port, d);
    return true;
}

void schedule__step(struct pipe *p)
{
    join_queues(p);
    uint32_t left = p->left_ports;
    p->left_ports = 0;
    for (; left; left &= left - 1) /* PA-2: after this cycle's bindings */
        p->usage[__builtin_ctz(left)]--;
    if (!p->ready_ports)
        return;
    unsigned skip = p->core->slow_256bit_memory ? busy_256(p) : 0;
    if (p->memory && p->core->bank_conflicts)
        skip |= bank_conflict(p);
    if (p->ready_words[DIVIDER] && dispatch_divider(p))
        skip |= 1;
    if (p->twice_at == p->now - 1)
        skip |= p->twice_ports;
    for (unsigned m = p->ready_ports & ((1u << MAX_PORTS) - 1) & ~skip; m; m &= m - 1) {
        unsigned port = (unsigned)__builtin_ctz(m);
        int slot = queue_oldest(p, port);
        if (slot >= 0)
            dispatch_from(p, port, port, slot);
    }
}

/* A squashed uop leaves the RS and its port's count. */
void schedule__drop(struct pipe *p, struct duop *u)
{
    if (u->state == DUOP_QUEUED)
        queue_remove(p, u->t->div_cyc ? DIVIDER : u->port, slot_of(u));
    if (u->flags & DUOP_ISSUED && u->state != DUOP_DISPATCHED) {
        p->rs_used--;
        p->usage[u->port]--;
    }
}

/* The first cycle after now with a bit in a wheel's bitmap; CYCLE_NEVER: none. */
int64_t schedule__next_event(const struct pipe *p, const uint64_t *used)
{
    unsigned start = (unsigned)(p->now + 1) & (WHEEL - 1);
    for (unsigned k = 0; k <= WHEEL_WORDS; k++) {
        unsigned w = (start / 64 + k) % WHEEL_WORDS;
        uint64_t bits = used[w];
        if (k == 0)
            bits &= ~0ull << start % 64;
        if (k == WHEEL_WORDS)
            bits &= ~(~0ull << start % 64);
        if (!bits)
            continue;
        unsigned b = w * 64 + (unsigned)__builtin_ctzll(bits);
        return p->now + 1 + (int64_t)((b - start) & (WHEEL - 1));
    }
    return CYCLE_NEVER;
}
