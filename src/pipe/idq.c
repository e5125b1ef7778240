/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the uop queue, in program order: stack engine (RN-17, RN-18) and AH..DH merges (RN-15). */
#include "pipe/state.h"

static void push(struct pipe *p, struct idq_entry e)
{
    assert(idq__used(p) < IDQ_RING);
    p->idq[p->idq_tail++ % IDQ_RING] = e;
}

static void track_stack(struct pipe *p, const struct insn *insn, uint64_t fetched)
{
    struct stack_state *s = &p->stack;
    if (insn->flags & INSN_RSP_EXPLICIT && s->offset != 0) {
        push(p, (struct idq_entry){.fetched = fetched, .kind = IDQ_SYNC});
        s->offset = 0;
    }
    if (insn->flags & INSN_RSP_WRITTEN)
        s->offset = 0;
    s->offset += insn->rsp_delta;
    if (s->offset > 192) {
        push(p, (struct idq_entry){.fetched = fetched, .kind = IDQ_SYNC});
        s->offset = 0;
    }
}

/* Returns whether the instruction reads a high byte that is not dirty. */
static bool track_high(struct pipe *p, const struct insn *insn, uint64_t fetched)
{
    struct stack_state *s = &p->stack;
    unsigned merge = insn->wide_read & s->dirty;
    for (unsigned r = 0; merge >> r; r++)
        if (merge >> r & 1)
            push(p, (struct idq_entry){.fetched = fetched, .kind = IDQ_MERGE, .reg = (uint8_t)r});
    s->dirty &= (uint8_t)~insn->wide_read;
    bool clean = insn->high_read & ~s->dirty;
    s->dirty &= (uint8_t)~insn->wide_write;
    s->dirty |= insn->high_write;
    return clean;
}

static void first_delivery(struct pipe *p, struct fetched *f, uint64_t i)
{
    unsigned variant = RECIPE_BASE;
    f->stack = p->stack;
    if (f->source != FETCH_LSD &&
        (f->insn->rsp_delta || f->insn->flags & (INSN_RSP_EXPLICIT | INSN_RSP_WRITTEN)))
        track_stack(p, f->insn, i);
    if (f->insn->high_read | f->insn->high_write | p->stack.dirty)
        if (track_high(p, f->insn, i))
            variant |= RECIPE_CLEAN_HIGH;
    if (f->flags & F_PAIR)
        variant |= RECIPE_FUSED;
    if (f->flags & F_NOT_TAKEN)
        variant |= RECIPE_NOT_TAKEN;
    const struct recipe *r = f->insn->recipe[variant];
    f->delivered_at = p->now;
    f->recipe = r ? r : isa__recipe(p->isa, f->insn, variant);
    bool resolves = f->flags & F_MISPREDICT && !(f->flags & F_WRONG);
    if (resolves)
        p->stack_saved = p->stack;
    else if (f->recipe->plain && !p->ufs)
        f->flags |= F_PLAIN;
}

void idq__deliver(struct pipe *p, uint64_t fetched, unsigned first_lam, unsigned end_lam, bool from_ms)
{
    struct fetched *f = pipe__fetched(p, fetched);
    if (first_lam == 0)
        first_delivery(p, f, fetched);
    for (unsigned k = first_lam; k < end_lam; k++)
        push(p, (struct idq_entry){.fetched = fetched, .lam = (uint8_t)k, .from_ms = from_ms});
    p->cur->delivered = (uint8_t)(p->cur->delivered + (end_lam - first_lam));
    if (from_ms)
        p->cur->delivered_ms = (uint8_t)(p->cur->delivered_ms + (end_lam - first_lam));
}
