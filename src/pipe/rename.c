/* SPDX-License-Identifier: Apache-2.0 */
/* Rename and issue: groups (CY-1, RN-1 to RN-3), uops of an instruction (section 6.2), zero idioms,
 * move elimination (RN-8 to RN-13), sync and merge uops (RN-15, RN-17). */
#include <string.h>

#include "pipe/state.h"

enum { MERGE_PORTS = 1 << 1 | 1 << 5 };
enum { LONG_AGO = -1000 }; /* cycle */

void rename__init(struct pipe *p)
{
    uint16_t alu = p->n_ports < 8 ? 1 << 0 | 1 << 1 | 1 << 5 : 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6;
    struct uop one = {.kind = UOP_COMPUTE, .n_src = 1, .n_dst = 1, .max_lat = 1, .access = 255};

    one.flags = UOP_FUSED_HEAD;
    one.dst_lat[0] = 1;
    one.ports = alu;
    one.src[0] = one.dst[0] = R_RSP;
    p->sync_uop = one;
    for (uint8_t r = 0; r < 4; r++) {
        one.ports = MERGE_PORTS;
        one.src[0] = one.dst[0] = r;
        p->merge_uop[r] = one;
    }
    p->retired.flags = DUOP_KNOWN;
    p->retired.base = LONG_AGO - UINT16_MAX;
    p->ren.elim[0].slots = p->core->elim_slots_gpr;
    p->ren.elim[1].slots = p->core->elim_slots_vec;
    p->flush_at = CYCLE_NEVER;
}

/* --- move elimination ------------------------------------------------------------------------- */

static struct elim_class *class_of(struct pipe *p, unsigned reg)
{
    return &p->ren.elim[reg >= R_VEC0];
}

static bool can_eliminate(struct pipe *p, const struct elim_class *e)
{
    const uint32_t older = 8 * (p->core->elim_history - 1); /* RN-11 */
    if (p->ufs)
        return true;
    uint64_t in_between = e->history_n & ((1ull << older) - 1);
    uint64_t taken = e->now + (e->history_used >> older & 0xff) + (in_between * 0x0101010101010101 >> 56);
    return e->slots > taken;
}

static void note_names(struct elim_class *e, unsigned s)
{
    const uint64_t names = e->names[s];
    const uint32_t bit = 1u << s;
    e->empty = names ? e->empty & ~bit : e->empty | bit;
    e->lone = names & (names - 1) ? e->lone & ~bit : e->lone | bit;
}

/* A name gets a new value: it leaves the set that shared the old one. */
static void leave_set(struct pipe *p, unsigned reg)
{
    if (!(p->ren.shared >> reg & 1))
        return;
    struct elim_class *e = class_of(p, reg);
    unsigned s = p->ren.set_of[reg];
    e->names[s] &= ~(1ull << reg);
    note_names(e, s);
    p->ren.shared &= ~(1ull << reg);
}

static void join_set(struct pipe *p, unsigned src, unsigned dst)
{
    struct elim_class *e = class_of(p, dst);
    unsigned s = p->ren.set_of[src];
    leave_set(p, dst);
    if (!(p->ren.shared >> src & 1)) {
        s = (unsigned)__builtin_ctz(~e->in_use);
        assert(s < ELIM_SETS);
        e->in_use |= 1u << s;
        e->n_in_use++;
        e->was_lone &= ~(1u << s);
        e->names[s] = 1ull << src;
        p->ren.set_of[src] = (uint8_t)s;
    }
    e->names[s] |= 1ull << dst;
    note_names(e, s);
    p->ren.shared |= 1ull << src | 1ull << dst;
    e->quiet = 0;
    p->ren.set_of[dst] = (uint8_t)s;
    e->now++;
}

static void release_sets(struct pipe *p, struct elim_class *e, uint32_t sets)
{
    e->in_use &= ~sets;
    for (; sets; sets &= sets - 1, e->n_in_use--)
        p->ren.shared &= ~e->names[__builtin_ctz(sets)];
}

/* RN-10 as 17.1 reads it: at the end of a cycle in which the renamer ran. */
static void end_of_active_cycle(struct pipe *p)
{
    for (int c = 0; c < 2; c++) {
        struct elim_class *e = &p->ren.elim[c];
        if (e->quiet > ELIM_CYCLES) /* the history holds zeros only */
            continue;
        bool lone_go = e->now == 0 && (c == 1 || !p->core->elim_gpr_all_aliases);
        uint32_t go = e->in_use & (e->empty | (lone_go ? e->lone & e->was_lone : 0));
        if (go)
            release_sets(p, e, go);
        e->was_lone = e->lone;
        e->quiet = e->in_use || e->now ? 0 : e->quiet + 1;
        e->history_n = e->history_n << 8 | e->now;
        e->history_used = e->history_used << 8 | e->n_in_use;
        e->now = 0;
    }
}

void rename__idle_cycles(struct pipe *p, int64_t n)
{
    if (p->gate_closed || !p->core->elim_history)
        return;
    for (int64_t i = 0; i < n && i < ELIM_CYCLES + 2; i++)
        end_of_active_cycle(p);
}

/* --- uops of an instruction ------------------------------------------------------------------- */

static void add_edge(struct duop *u, unsigned operand, struct duop *producer, uint32_t lat)
{
    unsigned slot = u->seq & (UOP_RING - 1);
    u->edge[operand] = (struct edge){.lat_cyc = (uint16_t)lat, .next = producer->waiters};
    producer->waiters = (uint16_t)(slot * UOP_MAX_SRC + operand + 1);
    u->pending++;
}

/* Which operand comes last, and whether a producer has retired, cannot be predicted: no branches for that. */
static void read_sources(struct pipe *p, struct duop *u, const struct uop *t)
{
    const uint64_t head = p->uop_head;
    int64_t ready = LONG_AGO;
    uint64_t last = 0; /* seq + 1 */

    u->pending = 0;
    for (unsigned k = 0; k < t->n_src; k++) {
        const struct value v = p->ren.map[t->src[k]];
        struct duop *producer = v.uop < head ? &p->retired : pipe__uop(p, v.uop);
        if (!(producer->flags & DUOP_KNOWN)) {
            add_edge(u, k, producer, v.lat_cyc);
            continue;
        }
        int64_t at = producer->base + v.lat_cyc;
        last = at > ready ? producer->seq + 1 : last;
        ready = at > ready ? at : ready;
    }
    u->ready = ready;
    *pipe__delay(p, u) = (struct duop_delay){.last = (uint32_t)last};
    if (p->trace && last)
        trace__of(p, u)->producer = last - 1;
}

static struct value value_of(const struct duop *u, uint16_t lat_cyc)
{
    return (struct value){.uop = u->seq & ((1ull << 48) - 1), .lat_cyc = lat_cyc};
}

/* Results that only younger uops of the same instruction read. */
static void write_temps(struct pipe *p, const struct duop *u)
{
    const struct uop *t = u->t;
    for (unsigned k = 0; k < t->n_dst; k++)
        if (t->dst[k] >= R_TEMP0)
            p->ren.map[t->dst[k]] = value_of(u, t->dst_lat[k]);
}

static void write_registers(struct pipe *p, const struct duop *u)
{
    const struct uop *t = u->t;
    for (unsigned k = 0; k < t->n_dst; k++)
        if (t->dst[k] < R_TEMP0)
            p->ren.map[t->dst[k]] = value_of(u, t->dst_lat[k]);
}

static struct duop *new_uop(struct pipe *p, const struct uop *t, unsigned index, uint64_t fetched)
{
    uint64_t seq = p->uop_tail++;
    struct duop *u = pipe__uop(p, seq);
    __builtin_prefetch(pipe__uop(p, seq + 8), 1); /* the ring is larger than the host's first cache */
    u->t = t;
    u->seq = seq;
    u->done_at = CYCLE_NEVER;
    u->fetched = (uint32_t)fetched;
    u->waiters = 0;
    u->tp_cyc = 0;
    u->state = DUOP_WAITING;
    u->flags = 0;
    u->fence = 0;
    u->counts = 0;
    if (p->trace)
        *trace__of(p, u) = (struct duop_trace){.queued_at = -1, .dispatched_at = -1, .index = (uint8_t)index};
    read_sources(p, u, t);
    return u;
}

/* EX-9 */
static bool fast_load(struct pipe *p, const struct insn *insn, const struct uop *t)
{
    if (!p->ren.from_pointer || !insn->n_mem || !p->core->fast_pointer_chasing)
        return false;
    const struct mem_operand *m = &insn->mem[t->access < insn->n_mem ? t->access : 0];
    return m->disp >= 0 && m->disp <= 2047 && m->base < 64 && p->ren.from_pointer >> m->base & 1 &&
           (m->index == R_NONE || (m->index < 64 && p->ren.from_zero >> m->index & 1));
}

static const struct access *access_of(struct pipe *p, const struct step *s, const struct uop *t)
{
    if (!s->n_access || t->access == 255)
        return NULL;
    unsigned k = t->access < s->n_access ? t->access : s->n_access - 1u;
    const struct access *a = &p->buffer->access[(s->first_access + k) % ACCESS_RING];
    return a->known ? a : NULL;
}

static void memory_uop(struct pipe *p, struct duop *u, const struct fetched *f, uint64_t *sta_store)
{
    const struct access *a = f->flags & F_WRONG ? NULL : access_of(p, f->step, u->t);
    u->access = a;
    u->tlb_until = u->lfb_until = 0;
    if (u->t->kind == UOP_LOAD) {
        if (fast_load(p, f->insn, u->t))
            u->flags |= DUOP_FAST_LOAD;
        bool alias = false;
        u->store = a && !p->ufs ? execute__match_store(p, a, &alias) : 0;
        if (alias && p->memory)
            u->flags |= DUOP_ALIAS;
        p->loads_used++;
        p->loads_waiting++;
    } else if (u->t->kind == UOP_STA && f->insn->flags & INSN_FLUSH) { /* writes nothing a load could read */
        const struct step *s = f->step;
        u->access = NULL;
        u->store = *sta_store = execute__new_store(p, u, NULL, f->addr, false);
        if (!(f->flags & F_WRONG) && s->n_access) {
            a = &p->buffer->access[s->first_access % ACCESS_RING];
            pipe__store(p, u->store)->addr = a->addr;
            pipe__store(p, u->store)->flushes = a->known;
        }
    } else if (u->t->kind == UOP_STA) {
        u->store = *sta_store = execute__new_store(p, u, a, f->addr, f->insn->flags & INSN_NON_TEMPORAL);
    } else {
        u->store = *sta_store;
    }
}

static void zero_registers(struct pipe *p, const struct insn *insn)
{
    for (int w = 0; w < 2; w++)
        for (uint64_t bits = insn->written[w]; bits; bits &= bits - 1)
            p->ren.map[64 * w + __builtin_ctzll(bits)] = (struct value){0};
}

static void written_registers(struct pipe *p, const struct insn *insn, const struct recipe *r)
{
    uint64_t written = insn->written[0];
    p->ren.from_pointer &= ~written;
    p->ren.from_zero &= ~written;
    if (insn->ptr_dst != R_NONE)
        p->ren.from_pointer |= 1ull << insn->ptr_dst;
    if (r->zero_idiom)
        p->ren.from_zero |= written;
    for (uint64_t bits = written & p->ren.shared; bits; bits &= bits - 1)
        leave_set(p, (unsigned)__builtin_ctzll(bits));
    if (r->zero)
        zero_registers(p, insn);
}

static void eliminate(struct pipe *p, const struct insn *insn)
{
    unsigned src = insn->elim_src, dst = insn->elim_dst;
    join_set(p, src, dst);
    p->ren.map[dst] = p->ren.map[src];
    p->ren.from_pointer &= ~(1ull << dst);
    p->ren.from_zero &= ~(1ull << dst);
    if (insn->flags & INSN_MOVE32) /* RN-13 */
        return;
    p->ren.from_pointer |= (p->ren.from_pointer >> src & 1) << dst;
    p->ren.from_zero |= (p->ren.from_zero >> src & 1) << dst;
}

static void mark_resolver(struct pipe *p, uint64_t first)
{
    for (uint64_t s = p->uop_tail; s-- > first;)
        if (pipe__uop(p, s)->t->flags & UOP_BRANCH) {
            pipe__uop(p, s)->flags |= DUOP_RESOLVES;
            return;
        }
    if (p->uop_tail > first)
        pipe__uop(p, p->uop_tail - 1)->flags |= DUOP_RESOLVES;
    else
        p->flush_at = p->now + 1;
}

static void special_flags(struct duop *u, const struct insn *insn, const struct recipe *r, bool locks)
{
    if (!(u->t->flags & UOP_FIRST))
        return;
    u->tp_cyc = r->tp_cyc;
    u->form = insn->form;
    u->fence = (uint8_t)((insn->flags & INSN_FENCE_LOAD ? 1 : 0) | (insn->flags & INSN_FENCE_STORE ? 2 : 0));
    if (insn->flags & INSN_LOCKED && locks) /* EX-24 */
        u->fence = 3;
    if (locks && u->fence == 3)
        u->flags |= DUOP_DRAINS;
}

/* All uops of the instruction are made when its first laminated uop issues. */
static void rename_insn(struct pipe *p, uint64_t index)
{
    struct fetched *f = pipe__fetched(p, index);
    const struct recipe *r = f->recipe;
    uint64_t first = p->uop_tail, store = 0;
    bool special = r->tp_cyc || f->insn->flags & (INSN_FENCE_LOAD | INSN_FENCE_STORE | INSN_LOCKED);

    p->ren_uop = 0;
    p->ren_seq = first;
    if (r->eliminated) {
        if (can_eliminate(p, class_of(p, f->insn->elim_dst))) {
            eliminate(p, f->insn);
            p->ren_recipe = r;
            return;
        }
        r = isa__recipe(p->isa, f->insn, RECIPE_MOVE);
    }
    p->ren_recipe = r;
    for (unsigned k = 0; k < r->n_uops; k++) {
        const struct uop *t = &r->uops[k];
        if (!t->ports)
            continue;
        struct duop *u = new_uop(p, t, k, index);
        if (t->kind != UOP_COMPUTE)
            memory_uop(p, u, f, &store);
        if (special) {
            special_flags(u, f->insn, r, p->memory != NULL);
            p->fences_in_flight += u->fence != 0;
        }
        if (r->n_uops > 1)
            write_temps(p, u);
    }
    written_registers(p, f->insn, r);
    for (uint64_t s = first; s < p->uop_tail; s++)
        write_registers(p, pipe__uop(p, s));
    if (f->flags & F_MISPREDICT && !(f->flags & F_WRONG)) {
        mark_resolver(p, first);
        p->ren_saved = p->ren;
        p->saved_uop_tail = p->uop_tail;
        p->saved_fetched = index + (f->flags & F_PAIR ? 2 : 1);
    }
}

/* --- issue ------------------------------------------------------------------------------------ */

static void issue_uop(struct pipe *p, struct duop *u, unsigned slot)
{
    u->issued_at = p->now;
    u->flags |= DUOP_ISSUED;
    schedule__bind(p, u, slot);
    if (u->pending == 0)
        schedule__set_ready(p, u);
}

static void add_to_rob_entry(struct pipe *p, struct rob_entry *e, const struct uop *t)
{
    const unsigned writes_int = t->results & 1, writes_vec = t->results >> 1;
    e->n_uops++;
    e->n_loads = (uint8_t)(e->n_loads + (t->kind == UOP_LOAD));
    e->n_stores = (uint8_t)(e->n_stores + (t->kind == UOP_STA));
    e->n_int = (uint8_t)(e->n_int + writes_int);
    e->n_vec = (uint8_t)(e->n_vec + writes_vec);
    p->prf_int_free -= (int32_t)writes_int;
    p->prf_vec_free -= (int32_t)writes_vec;
}

/* One laminated uop into the ROB: one entry for each fused-domain uop. */
static unsigned issue_lam(struct pipe *p, const struct idq_entry *q, unsigned slot)
{
    const struct fetched *f = pipe__fetched(p, q->fetched);
    const struct recipe *r = p->ren_recipe;
    const struct lam *lam = &r->lams[q->lam];
    struct rob_entry *e = NULL;
    unsigned fused = 0;
    bool split = p->ufs && ufs__slots(p, f->insn, r, lam) > 1;

    for (unsigned k = 0; k < lam->n_uops; k++) {
        const struct uop *t = &r->uops[p->ren_uop++];
        if (p->ufs ? split || !e : t->flags & UOP_FUSED_HEAD) {
            e = pipe__rob(p, p->rob_tail++);
            *e = (struct rob_entry){
                .first_uop = p->ren_seq,
                .fetched = q->fetched,
                .next_step = f->next_step,
                .issued_at = p->now,
                .site = f->site,
                .flags = (uint8_t)((q->from_ms ? ROB_MS : 0) | (f->flags & F_WRONG ? ROB_WRONG : 0))};
            fused++;
            p->cur->executed_fused = (uint8_t)(p->cur->executed_fused + (!t->ports || r->eliminated));
        }
        if (!t->ports || r->eliminated)
            continue;
        struct duop *u = pipe__uop(p, p->ren_seq++);
        assert(u->t == t);
        add_to_rob_entry(p, e, t);
        issue_uop(p, u, slot + fused - 1);
        p->rs_used++;
    }
    if (q->lam == r->n_lams - 1) {
        e->flags |= ROB_ENDS;
        if (f->flags & F_PAIR || f->insn->branch != BRANCH_NONE)
            e->flags |= ROB_BRANCH;
        if (f->flags & F_MISPREDICT && !(f->flags & F_WRONG))
            e->flags |= ROB_MISPREDICT;
        if (r->n_loads | r->n_stores)
            e->flags |= ROB_MEMORY;
        e->n_insns = f->n_insns;
        e->counted = f->insn->counted;
    }
    return fused;
}

static unsigned rob_flags(const struct idq_entry *q, const struct fetched *f)
{
    return (f->flags & F_WRONG ? ROB_WRONG : 0) | (q->from_ms ? ROB_MS : 0);
}

/* Makes the ROB entry of the k-th fused-domain uop of a plain recipe, from `first_uop` on. */
static struct rob_entry *plain_rob_entry(struct pipe *p, const struct idq_entry *q, const struct fetched *f,
                                         unsigned k, uint64_t first_uop, unsigned flags)
{
    const struct fused_counts n = f->recipe->plain_fused[k];
    struct rob_entry *e = pipe__rob(p, p->rob_tail++);
    e->first_uop = first_uop;
    e->fetched = q->fetched;
    e->next_step = f->next_step;
    e->issued_at = p->now;
    e->site = f->site;
    e->n_uops = n.uops;
    e->n_loads = n.loads;
    e->n_int = n.ints;
    e->n_vec = n.vecs;
    e->n_stores = n.stores;
    e->flags = (uint8_t)flags;
    e->n_insns = 0;
    p->prf_int_free -= n.ints;
    p->prf_vec_free -= n.vecs;
    return e;
}

static void end_insn(struct rob_entry *e, const struct fetched *f, unsigned flags)
{
    if (f->flags & F_PAIR || f->insn->branch != BRANCH_NONE)
        flags |= ROB_BRANCH;
    if (f->recipe->n_loads | f->recipe->n_stores)
        flags |= ROB_MEMORY;
    e->flags = (uint8_t)(flags | ROB_ENDS);
    e->n_insns = f->n_insns;
    e->counted = f->insn->counted;
}

/* The usual instruction in one go: what rename_insn and issue_lam do, for a recipe that is `plain`. First
 * those without a port: NOP, zero idioms. */
static void issue_empty(struct pipe *p, const struct idq_entry *q, const struct fetched *f)
{
    const unsigned flags = rob_flags(q, f);
    written_registers(p, f->insn, f->recipe);
    end_insn(plain_rob_entry(p, q, f, 0, p->uop_tail, flags), f, flags);
    p->cur->executed_fused++;
}

static void issue_single(struct pipe *p, const struct idq_entry *q, const struct fetched *f, unsigned slot)
{
    const struct recipe *r = f->recipe;
    const struct uop *t = r->uops;
    const unsigned flags = rob_flags(q, f);
    struct duop *u = new_uop(p, t, 0, q->fetched);
    uint64_t no_store = 0;

    if (t->kind != UOP_COMPUTE)
        memory_uop(p, u, f, &no_store);
    written_registers(p, f->insn, r);
    write_registers(p, u);
    end_insn(plain_rob_entry(p, q, f, 0, u->seq, flags), f, flags);
    issue_uop(p, u, slot);
    p->rs_used++;
}

static void issue_plain(struct pipe *p, const struct idq_entry *q, const struct fetched *f, unsigned slot)
{
    const struct recipe *r = f->recipe;
    const unsigned n = r->n_uops, flags = rob_flags(q, f);
    const uint64_t first = p->uop_tail;
    struct rob_entry *e = NULL;
    uint64_t store = 0;

    for (unsigned k = 0; k < n; k++) {
        struct duop *u = new_uop(p, &r->uops[k], k, q->fetched);
        if (u->t->kind != UOP_COMPUTE)
            memory_uop(p, u, f, &store);
        write_temps(p, u);
    }
    written_registers(p, f->insn, r);
    for (unsigned k = 0, fused = 0; k < n; k++) {
        struct duop *u = pipe__uop(p, first + k);
        write_registers(p, u);
        if (u->t->flags & UOP_FUSED_HEAD)
            e = plain_rob_entry(p, q, f, fused++, first + k, flags);
        issue_uop(p, u, slot + fused - 1);
    }
    end_insn(e, f, flags);
    p->rs_used += n;
}

static void issue_special(struct pipe *p, const struct idq_entry *q, unsigned slot)
{
    const struct fetched *f = pipe__fetched(p, q->fetched);
    const struct uop *t = q->kind == IDQ_SYNC ? &p->sync_uop : &p->merge_uop[q->reg];
    struct duop *u = new_uop(p, t, q->kind == IDQ_SYNC ? UOP_RECORD_SYNC : UOP_RECORD_MERGE, q->fetched);
    write_registers(p, u);
    struct rob_entry *e = pipe__rob(p, p->rob_tail++);
    *e = (struct rob_entry){.first_uop = u->seq,
                            .fetched = q->fetched,
                            .next_step = 0,
                            .issued_at = p->now,
                            .site = f->site,
                            .n_uops = 1,
                            .n_int = 1,
                            .flags = f->flags & F_WRONG ? ROB_WRONG : 0};
    p->prf_int_free--;
    issue_uop(p, u, slot);
    p->rs_used++;
}

/* Buffers of which an instruction takes entries, whole programs only (RT-5, RT-7). */
static uint8_t lacking(struct pipe *p, const struct recipe *r)
{
    if (p->uop_tail - p->uop_head + r->n_uops + 8 > UOP_RING)
        return RES_RS;
    if (p->store_tail - p->store_head + r->n_stores > STORE_RING - 8)
        return RES_STORE_BUFFER;
    if (p->endless)
        return RES_NONE;
    if (r->n_loads && p->loads_used + r->n_loads > p->core->load_buffer && p->loads_used)
        return RES_LOAD_BUFFER;
    if (r->n_stores && p->stores_used + r->n_stores > p->core->store_buffer && p->stores_used)
        return RES_STORE_BUFFER;
    if ((p->prf_int_free < (int32_t)p->width || p->prf_vec_free < (int32_t)p->width) &&
        p->rob_tail > p->rob_head)
        return RES_PRF;
    return RES_NONE;
}

/* Takes the next laminated uop if it fits. Returns false when the group ends; *why says what lacked. */
static bool take(struct pipe *p, unsigned *slots, uint8_t *why, bool *merge_done)
{
    struct idq_entry *q = &p->idq[p->idq_head % IDQ_RING];
    struct fetched *f = pipe__fetched(p, q->fetched);

    if (*merge_done)
        return false;
    if (q->kind != IDQ_NORMAL) {
        if (q->kind == IDQ_MERGE ? *slots > 0 : *slots + 1 > p->width)
            return false;
        issue_special(p, q, *slots);
        *merge_done = q->kind == IDQ_MERGE; /* RN-15: alone in its cycle */
        *slots += 1;
        p->idq_head++;
        return true;
    }
    if (f->flags & F_PLAIN && p->roomy) {
        if (*slots && (*slots + f->recipe->n_fused > p->width || f->flags & F_PASS_START)) /* ID-3, LSD-2 */
            return false;
        if (*slots >= p->width)
            return false;
        if (!f->recipe->plain_fused[0].uops)
            issue_empty(p, q, f);
        else if (f->recipe->n_uops == 1)
            issue_single(p, q, f, *slots);
        else
            issue_plain(p, q, f, *slots);
        *slots += f->recipe->n_fused;
        p->idq_head++;
        return true;
    }
    bool first = p->ren_insn != q->fetched + 1;
    if (first && f->insn->flags & INSN_SERIALIZING && (p->rob_tail > p->rob_head || *slots)) {
        *why = *slots ? RES_NONE : RES_SERIAL;
        return false;
    }
    const struct recipe *r = first ? f->recipe : p->ren_recipe;
    unsigned n = p->ufs ? ufs__slots(p, f->insn, r, &r->lams[q->lam]) : r->lams[q->lam].n_fused;
    if (*slots >= p->width || (*slots && *slots + n > p->width)) /* ID-3 */
        return false;
    if (*slots && q->lam == 0 && f->flags & F_PASS_START) /* LSD-2 */
        return false;
    if (p->ufs && (*why = ufs__lacking(p, r, &r->lams[q->lam], n, first)) != RES_NONE)
        return false;
    if (first && (!p->roomy || r->n_uops > 6) && (*why = lacking(p, r)) != RES_NONE)
        return false;
    if (first) {
        rename_insn(p, q->fetched);
        p->ren_insn = q->fetched + 1;
    }
    *slots += issue_lam(p, q, *slots);
    p->idq_head++;
    return true;
}

/* Whatever four ordinary instructions take fits for sure: lacking() need not be asked for each. */
static bool is_roomy(const struct pipe *p)
{
    bool rings =
        p->uop_tail - p->uop_head < UOP_RING - 128 && p->store_tail - p->store_head < STORE_RING - 80;
    if (p->endless || !rings)
        return rings;
    return p->loads_used + 24 <= p->core->load_buffer && p->stores_used + 12 <= p->core->store_buffer &&
           p->prf_int_free >= 80 && p->prf_vec_free >= 80;
}

static uint8_t closed_by(const struct pipe *p)
{
    if (p->core->rob_entries - (p->rob_tail - p->rob_head) < p->width ||
        p->rob_tail - p->rob_head > p->core->rob_entries)
        return RES_ROB;
    if (p->rs_used + p->width > p->core->rs_entries)
        return RES_RS;
    return RES_NONE;
}

void rename__step(struct pipe *p)
{
    unsigned slots = 0;
    uint8_t why = RES_NONE;
    bool merge_done = false;

    p->gate_closed = true;
    if (p->now < p->blocked_until) { /* BP-4 */
        report__stall(p, 0, RES_NONE);
        return;
    }
    why = p->ufs ? RES_NONE : closed_by(p);
    if (why == RES_NONE) {
        p->gate_closed = false;
        p->roomy = is_roomy(p);
        memcpy(p->snapshot, p->usage, sizeof p->snapshot); /* PA-3 */
        while (idq__used(p) && take(p, &slots, &why, &merge_done))
            ;
        if (p->core->elim_history)
            end_of_active_cycle(p);
    }
    if (slots)
        p->resteer = 0;
    p->cur->issued = (uint8_t)slots;
    report__stall(p, slots, why);
}
