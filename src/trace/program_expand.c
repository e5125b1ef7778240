/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_expand.h"
#include "trace/program_hints.h"
#include "trace/ring.h"

#include <signal.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_STEPS = 8, ROOM_ACCESSES = 32, MAX_ACCESSES = BLOCK_MAX_INSNS * 4 };

enum { LINE_BYTES = 64 };

static uint64_t record_addr(uint64_t record)
{
    return (uint64_t)((int64_t)(record << 16) >> 16);
}

static unsigned record_insn(uint64_t record)
{
    return (unsigned)(record >> RING_INSN_SHIFT) & RING_INSN_MASK;
}

static bool record_is_store(uint64_t record)
{
    return record >> RING_STORE_SHIFT & 1;
}

static unsigned record_bytes(uint64_t record)
{
    return 1u << (record >> RING_SIZE_SHIFT & 7);
}

/* ---- writing steps ---- */

bool expand__has_room(const struct expander *e, const struct step_buffer *out, const struct block *block)
{
    uint32_t oldest = out->access_end;

    if (out->end != out->begin || e->pending)
        oldest = out->step[out->begin % STEP_RING].first_access;
    return out->end - out->begin + block->n + ROOM_STEPS <= STEP_RING &&
           out->access_end - oldest + block->max_access + ROOM_ACCESSES <= ACCESS_RING;
}

void expand__commit(struct expander *e, uint64_t next, bool rep_body)
{
    struct step *step = &e->out->step[e->out->end % STEP_RING];

    if (!e->pending)
        return;
    step->next_addr = next;
    if (next && !rep_body && next != step->site->addr + step->site->insn->len)
        step->flags |= STEP_TAKEN;
    e->out->end++;
    e->pending = false;
}

static struct step *new_step(struct expander *e, struct site *site, unsigned flags)
{
    struct step *step;

    expand__commit(e, site->addr, (flags & STEP_REP_BODY) != 0);
    step = &e->out->step[e->out->end % STEP_RING];
    *step = (struct step){.site = site, .flags = (uint8_t)flags, .first_access = e->out->access_end};
    e->pending = true;
    return step;
}

static void add_access(struct expander *e, struct step *step, struct access access)
{
    e->out->access[e->out->access_end++ % ACCESS_RING] = access;
    step->n_access++;
}

void expand__copy(struct expander *e, const struct step_buffer *from, const struct step *step)
{
    struct step *copy = new_step(e, step->site, step->flags & (unsigned)~STEP_TAKEN);

    for (uint32_t i = 0; i < step->n_access; i++)
        add_access(e, copy, from->access[(step->first_access + i) % ACCESS_RING]);
}

/* ---- records of one instruction to its operands ---- */

struct records {
    const uint64_t *record;
    unsigned n;
    unsigned load, store; /* next to look at, by direction */
};

/* Takes the pieces of one access of `bytes`; the lowest address stands for it (qemu splits vectors into
 * eight-byte pieces). Returns the piece's number, -1 if there is none. */
static int take(struct records *r, bool store, unsigned bytes)
{
    unsigned *at = store ? &r->store : &r->load, taken = 0;
    int best = -1;

    while (*at < r->n && (taken < bytes || best < 0)) {
        unsigned i = (*at)++;

        if (record_is_store(r->record[i]) != store)
            continue;
        taken += record_bytes(r->record[i]);
        if (best < 0 || record_addr(r->record[i]) < record_addr(r->record[best]))
            best = (int)i;
    }
    return best;
}

static int take_operand(struct records *r, const struct mem_operand *m)
{
    int load = -1, store = -1;

    if (m->read)
        load = take(r, false, m->size_bytes);
    if (m->write)
        store = take(r, true, m->size_bytes);
    return load >= 0 ? load : store; /* a lone store record: LOCK or XCHG beside other threads */
}

struct match {
    struct slot slot[STEP_MAX_ACCESS];
    unsigned n;
    bool missing; /* an operand that must be accessed was not */
};

static void match_gather(struct match *m, const struct recipe *recipe, const struct insn *insn, unsigned n)
{
    unsigned elements = recipe->n_loads > n ? recipe->n_loads : n;

    if (elements > STEP_MAX_ACCESS)
        elements = STEP_MAX_ACCESS;
    for (unsigned i = 0; i < elements; i++)
        m->slot[m->n++] = (struct slot){
            .record = i < n ? i : 0, .size_bytes = insn->n_mem ? insn->mem[0].size_bytes : 4, .known = i < n};
}

static void match_operands(struct match *m, struct isa *isa, struct insn *insn, const uint64_t *record,
                           unsigned n)
{
    struct records r = {.record = record, .n = n};

    m->n = 0;
    m->missing = false;
    if (insn->flags & INSN_GATHER) {
        match_gather(m, isa__recipe(isa, insn, RECIPE_BASE), insn, n);
        return;
    }
    for (unsigned k = 0; k < insn->n_mem; k++) {
        int found = take_operand(&r, &insn->mem[k]);

        m->slot[m->n++] = (struct slot){.record = found < 0 ? 0 : (uint32_t)found,
                                        .size_bytes = insn->mem[k].size_bytes,
                                        .store = insn->mem[k].write,
                                        .known = found >= 0};
        if (found < 0 && !(insn->flags & (INSN_CONDITIONAL_MEM | INSN_PREFETCH)) && !hint__is_one(insn))
            m->missing = true;
    }
}

/* ---- REP string instructions: one head, then bodies of merged iterations ---- */

static void rep_flush(struct expander *e)
{
    const struct insn *body = e->rep.site->body->insn;
    struct step *step;

    if (!e->rep.chunk)
        return;
    e->rep.chunk = false;
    step = new_step(e, e->rep.site->body, STEP_REP_BODY);
    for (unsigned k = 0; k < body->n_mem; k++) {
        bool known = k < e->rep.site->insn->n_mem;

        add_access(e, step,
                   (struct access){.addr = known ? e->rep.low[k] : 0,
                                   .size_bytes = (uint16_t)(known ? e->rep.high[k] - e->rep.low[k]
                                                                  : body->mem[k].size_bytes),
                                   .store = body->mem[k].write,
                                   .known = known});
    }
}

/* Does the chunk stay in one piece and within the body's size with this iteration? */
static bool rep_extends(const struct rep_state *rep, const uint64_t *addr)
{
    const struct insn *insn = rep->site->insn, *body = rep->site->body->insn;

    for (unsigned k = 0; k < insn->n_mem; k++) {
        unsigned size = insn->mem[k].size_bytes;

        if (k >= body->n_mem || rep->high[k] - rep->low[k] + size > body->mem[k].size_bytes)
            return false;
        if (addr[k] != rep->high[k] && addr[k] + size != rep->low[k])
            return false;
        if (insn->mem[k].write &&
            (addr[k] ^ rep->low[k]) / LINE_BYTES) /* WP-7: microcode aligns what it writes */
            return false;
    }
    return true;
}

static void rep_iterate(struct expander *e, const uint64_t *record, unsigned n)
{
    struct rep_state *rep = &e->rep;
    const struct insn *insn = rep->site->insn;
    struct records r = {.record = record, .n = n};
    uint64_t addr[INSN_MAX_MEM];
    bool extends;

    if (n == 0)
        return; /* the execution that finds the count used up */
    for (unsigned k = 0; k < insn->n_mem; k++) {
        int found = take_operand(&r, &insn->mem[k]);

        if (found < 0)
            return; /* faulted half way: not an iteration */
        addr[k] = record_addr(record[found]);
    }
    extends = rep->chunk && rep_extends(rep, addr);
    if (!extends)
        rep_flush(e);
    for (unsigned k = 0; k < insn->n_mem; k++) {
        uint64_t end = addr[k] + insn->mem[k].size_bytes;

        if (!extends || addr[k] < rep->low[k])
            rep->low[k] = addr[k];
        if (!extends || end > rep->high[k])
            rep->high[k] = end;
    }
    rep->chunk = true;
}

static bool is_rep_again(const struct expander *e, const struct block *next)
{
    return next && next->rep && next->n == 1 && next->vaddr == e->rep.addr;
}

static void rep_begin(struct expander *e, const struct execution *x, struct site *head,
                      const uint64_t *record, unsigned n)
{
    e->rep.addr = head->addr;
    /* Nothing accessed, and neither repeated nor passed: it faulted. */
    if (n == 0 && !is_rep_again(e, x->next) && (x->next ? x->next->vaddr != x->block->end : x->killed))
        return;
    e->rep.active = true;
    e->rep.chunk = false;
    e->rep.site = blocks__rep(e->blocks, head);
    new_step(e, head, 0);
    e->n_insns++;
    rep_iterate(e, record, n);
}

/* ---- blocks ---- */

/* Can `next` follow the whole block in program order? Otherwise a signal handler or a restart follows. */
static bool is_successor(const struct block *block, const struct block *next)
{
    if (!next)
        return false;
    switch (block->last_branch) {
    case BRANCH_NONE:
        return next->vaddr == block->end ||
               (block->rep && next->vaddr == block->insn[block->n - 1].site->addr);
    case BRANCH_COND:
        return next->vaddr == block->end || next->vaddr == block->target;
    case BRANCH_JUMP:
    case BRANCH_CALL:
        return next->vaddr == block->target;
    default:
        return true;
    }
}

static bool must_access(const struct template *t)
{
    return t->site->insn->n_mem > 0 && !(t->flags & (TEMPLATE_VARIES | TEMPLATE_HINT)) &&
           !(t->site->insn->flags & INSN_PREFETCH);
}

/* Instruction `i` had no record where it must have one: did it not execute, or is it one that qemu runs
 * without touching memory? `next_record` is the first of later instructions. */
static bool was_cut(const struct expander *e, const struct execution *x, unsigned i, unsigned next_record)
{
    const struct block *block = x->block, *next = x->next;

    /* First: building the handler's frame can leave records behind the block's own. */
    if (next && (next->vaddr == e->handler[SIGSEGV] || next->vaddr == e->handler[SIGBUS]))
        return true;
    if (next_record < x->n_records)
        return false; /* later instructions did run */
    if (!next)
        return x->killed;
    if (next->n == 1 && next->vaddr == block->insn[i].site->addr)
        return true; /* it changed code of its own block and is run again alone */
    for (unsigned k = i + 1; k < block->n; k++)
        if (must_access(&block->insn[k]))
            return true; /* that one did not run either */
    return !is_successor(block, next);
}

/* A division fault leaves no trace but what runs next. */
static bool divided_by_zero(const struct expander *e, const struct execution *x, unsigned next_record)
{
    if (x->next)
        return x->next->vaddr == e->handler[SIGFPE];
    return next_record == x->n_records && x->killed && x->signal == SIGFPE;
}

static bool has_plain_accesses(const struct insn *insn, const struct slot *slot, unsigned n)
{
    bool plain = !(insn->flags & (INSN_PREFETCH | INSN_FLUSH | INSN_NON_TEMPORAL | INSN_REP));

    for (unsigned k = 0; k < n; k++)
        plain = plain && !(slot[k].store && k < insn->n_mem && insn->mem[k].read);
    return plain;
}

static bool stays_in_line(const struct block *block, unsigned i)
{
    const struct site *site = block->insn[i].site, *last = i ? block->insn[i - 1].site : NULL;

    return last && (site->addr + site->insn->len - 1) / 64 == (last->addr + last->insn->len - 1) / 64;
}

/* What saves a look at the instruction. */
static void describe(struct step *step, const struct block *block, unsigned i, const struct slot *slot)
{
    const struct insn *insn = step->site->insn;

    if (!has_plain_accesses(insn, slot + step->first_access, step->n_access))
        return;
    step->len = insn->len;
    step->branch = insn->branch;
    if (insn->branch == BRANCH_NONE && stays_in_line(block, i))
        step->flags = STEP_PLAIN;
}

/* Makes the block fast: what this complete execution showed holds for the next ones. */
static void learn(struct block *block, const struct slot *slot, const uint8_t *n_access, uint32_t n_slots,
                  uint32_t n_records)
{
    uint32_t first = 0;

    block->fast = false;
    if (!block->step)
        block->step = calloc(block->n, sizeof *block->step);
    if (!block->slot)
        block->slot = calloc(block->max_access + 1u, sizeof *block->slot);
    if (!block->step || !block->slot)
        return; /* slow is right, too */
    for (unsigned i = 0; i < block->n; i++) {
        struct site *site = block->insn[i].site;

        block->step[i] = (struct step){.site = site,
                                       .next_addr = site->addr + site->insn->len,
                                       .n_access = n_access[i],
                                       .first_access = first};
        describe(&block->step[i], block, i, slot);
        first += n_access[i];
    }
    memcpy(block->slot, slot, n_slots * sizeof *slot);
    block->n_slots = n_slots;
    block->n_records = n_records;
    block->fast = true;
}

/* ---- prefetches and flushes ---- */

static bool is_handler(const struct expander *e, const struct block *next)
{
    for (unsigned i = 0; i < N_SIGNALS; i++)
        if (next && next->vaddr == e->handler[i])
            return true;
    return false;
}

static void resolve_hints(const struct expander *e, const struct execution *x)
{
    struct snapshots snapshots = {
        .at = x->snapshot, .n = x->n_snapshots, .end_is_next = !is_handler(e, x->next)};

    hints__resolve(x->block, &snapshots);
}

static void apply_hint(struct expander *e, const struct hint *hint, struct access *access)
{
    access->known = hint->known;
    access->addr = hint->known ? hint->addr : 0;
    e->observations->count[OBSERVED_UNKNOWN_HINT] += !hint->known;
}

static void run_slowly(struct expander *e, const struct execution *x)
{
    struct block *block = x->block;
    struct slot slot[MAX_ACCESSES];
    uint8_t n_access[BLOCK_MAX_INSNS];
    uint32_t n_slots = 0, at = 0;
    struct hint *hint = block->hint;
    struct match m;

    for (unsigned i = 0; i < block->n; i++) {
        struct template *t = &block->insn[i];
        uint32_t from = at;
        struct step *step;

        while (at < x->n_records && record_insn(x->record[at]) == i)
            at++;
        if (block->rep && i + 1u == block->n) {
            rep_begin(e, x, t->site, x->record + from, at - from);
            return;
        }
        match_operands(&m, e->blocks->isa, t->site->insn, x->record + from, at - from);
        if ((m.missing && was_cut(e, x, i, at)) || (t->flags & TEMPLATE_DIVIDES && divided_by_zero(e, x, at)))
            return;
        step = new_step(e, t->site, 0);
        for (unsigned k = 0; k < m.n; k++) {
            struct slot s = m.slot[k];

            s.record += from;
            add_access(e, step,
                       (struct access){.addr = s.known ? record_addr(x->record[s.record]) : 0,
                                       .size_bytes = s.size_bytes,
                                       .store = s.store,
                                       .known = s.known});
            if (!block->varies)
                slot[n_slots++] = s;
        }
        if (t->flags & TEMPLATE_HINT) {
            hint->access = n_slots - m.n;
            apply_hint(e, hint++, &e->out->access[step->first_access % ACCESS_RING]);
        }
        n_access[i] = (uint8_t)m.n;
        e->n_insns++;
        if (t->flags & TEMPLATE_OBSERVES)
            e->observations->count[t->observed]++;
    }
    if (!block->varies && at == x->n_records && block->n > 0)
        learn(block, slot, n_access, n_slots, x->n_records);
}

static void run_fast(struct expander *e, const struct execution *x)
{
    const struct block *block = x->block;
    struct step_buffer *out = e->out;
    uint32_t base;
    uint64_t end;

    expand__commit(e, block->vaddr, false);
    base = out->access_end;
    end = out->end;
    for (uint32_t i = 0; i < block->n; i++) {
        struct step *step = &out->step[(end + i) % STEP_RING];

        *step = block->step[i];
        step->first_access += base;
    }
    for (uint32_t i = 0; i < block->n_slots; i++) {
        const struct slot *s = &block->slot[i];
        uint64_t addr = s->known ? record_addr(x->record[s->record]) : 0;

        out->access[(base + i) % ACCESS_RING] =
            (struct access){.addr = addr, .size_bytes = s->size_bytes, .store = s->store, .known = s->known};
    }
    for (uint32_t i = 0; i < block->n_hints; i++)
        apply_hint(e, &block->hint[i], &out->access[(base + block->hint[i].access) % ACCESS_RING]);
    out->access_end = base + block->n_slots;
    out->end = end + block->n - 1u;
    e->pending = true;
    e->n_insns += block->n;
}

void expand__run(struct expander *e, const struct execution *x)
{
    const struct block *block = x->block;

    if (block->n_hints)
        resolve_hints(e, x);
    if (e->rep.active)
        rep_iterate(e, x->record, x->n_records);
    else if (block->fast && x->n_records == block->n_records &&
             (!block->divides || is_successor(block, x->next)))
        run_fast(e, x);
    else
        run_slowly(e, x);
    if (e->rep.active && !is_rep_again(e, x->next)) {
        rep_flush(e);
        e->rep.active = false;
    }
}
