/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery from a mispredicted branch, BP-3, BP-4: everything younger goes, the rename map comes back
 * from the checkpoint, fetch restarts at the right address. */
#include <string.h>

#include "pipe/state.h"

static void squash_uops(struct pipe *p, uint64_t first)
{
    for (uint64_t s = first; s < p->uop_tail; s++) {
        struct duop *u = pipe__uop(p, s);
        if (u->flags & DUOP_DEAD || s < p->uop_head)
            continue;
        schedule__drop(p, u);
        if (u->state == DUOP_DISPATCHED && u->t->flags & UOP_FUSED_HEAD)
            p->cur->squashed_executed++;
        u->flags |= DUOP_DEAD;
        p->fences_in_flight -= u->fence != 0;
        if (u->t->kind == UOP_LOAD) {
            p->loads_used--;
            p->loads_waiting -= u->state != DUOP_DISPATCHED;
            if (u->state == DUOP_DISPATCHED && !(u->flags & DUOP_KNOWN))
                p->pending.any--;
        }
    }
    while (p->store_tail > p->store_retired && pipe__store(p, p->store_tail - 1)->uop >= first)
        execute__drop_stores(p, p->store_tail - 1);
}

static void squash_rob(struct pipe *p, bool all)
{
    while (p->rob_tail > p->rob_head) {
        const struct rob_entry *e = pipe__rob(p, p->rob_tail - 1);
        if (!all && !(e->flags & ROB_WRONG))
            break;
        p->prf_int_free += e->n_int;
        p->prf_vec_free += e->n_vec;
        p->cur->squashed++;
        p->cur->squashed_executed = (uint16_t)(p->cur->squashed_executed + !e->n_uops);
        p->rob_tail--;
    }
}

static void squash_frontend(struct pipe *p, uint64_t first)
{
    while (predecode__iq_used(p) && p->iq[(p->iq_tail - 1) % IQ_RING] >= first)
        p->iq_tail--;
    while (idq__used(p) && p->idq[(p->idq_tail - 1) % IDQ_RING].fetched >= first)
        p->idq_tail--;
    p->planned = p->delivered = p->pre_first = first;
    predecode__reset(p);
    p->ms_busy = false;
    p->dsb_lam = 0;
    p->dsb_cut = p->dsb_switch = false;
    p->bubble_until = 0;
    p->latency_cause = 0;
    p->latency_new = false;
    p->build.open = false;
    p->plan_held = p->wrong_dead_end = p->on_wrong_path = false;
    p->after_taken = true;
    p->lsd_active = false;
    p->lsd_repeats = 0;
    p->lsd_candidate_len = p->lsd_candidate_lams = 0;
    p->lsd_candidate_ok = true;
    p->lsd_hash = 0;
}

/* A direct branch is mispredicted only if it was rewritten: then its target is what was wrong. */
static uint8_t mispredict_kind(const struct insn *branch)
{
    if (branch->branch == BRANCH_RET)
        return FLUSH_RETURN;
    return branch->branch == BRANCH_COND ? FLUSH_CONDITIONAL : FLUSH_INDIRECT;
}

/* Everything older has retired: every register is ready. */
static void forget_registers(struct pipe *p)
{
    p->uop_head = p->uop_tail;
    memset(p->ren.map, 0, sizeof p->ren.map);
    for (unsigned c = 0; c < 2; c++)
        p->ren.elim[c].in_use = p->ren.elim[c].n_in_use = 0;
    p->ren.shared = p->ren.from_pointer = p->ren.from_zero = 0;
    p->ren_insn = 0;
}

void flush__step(struct pipe *p)
{
    if (p->now < p->flush_at)
        return;
    p->flush_at = CYCLE_NEVER;
    assert(p->on_wrong_path); /* I6 */
    const struct fetched *branch = pipe__fetched(p, p->saved_fetched - 1);
    p->recovery_site = branch->site;
    p->recovery_kind = p->cur->flush_kind = mispredict_kind(branch->insn);
    squash_uops(p, p->saved_uop_tail);
    squash_rob(p, false);
    squash_frontend(p, p->saved_fetched);
    p->stack = p->stack_saved;
    p->ren = p->ren_saved;
    if (p->ren_insn > p->saved_fetched) /* the branch itself may still have uops to issue */
        p->ren_insn = 0;
    p->resume_at = p->now + 1 + (int64_t)p->core->resteer_cyc; /* BP-6 */
    p->blocked_until = p->now + (int64_t)p->core->recovery_cyc;
    p->resteer = STALL_FE_RESTEER_MISPREDICT;
}

/* Where a machine clear takes up execution again. */
struct restart {
    uint64_t uop, fetched, step; /* the first that goes */
    struct stack_state stack;
    uint32_t site;
    uint8_t kind; /* enum flush_kind */
};

/* BP-7: everything from there on goes; everything older has retired, so every register is ready. */
static void machine_clear(struct pipe *p, const struct restart *at)
{
    p->recovery_site = at->site;
    p->recovery_kind = p->cur->flush_kind = at->kind;
    if (STALL_IS_RECOVERY(p->cur->stall)) /* from a misprediction: one kind a cycle */
        p->cur->stall = STALL_RECOVERY_CLEAR;
    p->step_next = at->step;
    p->stack = at->stack;
    squash_uops(p, at->uop);
    squash_rob(p, true);
    squash_frontend(p, at->fetched);
    p->cur->clears++;
    forget_registers(p);
    p->flush_at = CYCLE_NEVER;
    p->resteer = STALL_FE_RESTEER_CLEAR;
}

void flush__memory_ordering(struct pipe *p, const struct rob_entry *e)
{
    const struct fetched *f = pipe__fetched(p, e->fetched);
    const struct restart at = {.uop = e->first_uop,
                               .fetched = e->fetched,
                               .step = f->next_step - (f->flags & F_PAIR ? 2 : 1),
                               .stack = f->stack,
                               .site = e->site,
                               .kind = FLUSH_MEMORY_ORDERING};

    execute__learn(p, pipe__uop(p, e->first_uop));
    machine_clear(p, &at);
    p->resume_at = p->now + 1 + (int64_t)(p->core->resteer_cyc + p->core->machine_clear_cyc);
    p->blocked_until = p->now + (int64_t)p->core->recovery_cyc + 1;
}

/* ME-15: the store must have left before its line is fetched again. */
void flush__self_modifying(struct pipe *p, const struct rob_entry *e)
{
    uint64_t next = e->fetched + (pipe__fetched(p, e->fetched)->flags & F_PAIR ? 2 : 1);
    const struct fetched *f = pipe__fetched(p, next);
    bool delivered = next < p->delivered;
    const struct restart at = {.uop = p->uop_head,
                               .fetched = next,
                               .step = e->next_step,
                               .stack = delivered ? f->stack : p->stack,
                               .site = e->site,
                               .kind = FLUSH_SELF_MODIFYING};

    machine_clear(p, &at);
    int64_t cleared = max_cycle(p->now, p->last_commit) + (int64_t)p->core->smc_clear_cyc;
    p->resume_at = cleared + 1 + (int64_t)p->core->resteer_cyc;
    p->blocked_until = cleared + (int64_t)p->core->recovery_cyc + 1;
}

void flush__restart(struct pipe *p)
{
    squash_frontend(p, p->planned);
    forget_registers(p);
    p->stack = (struct stack_state){0};
    p->resume_at = p->blocked_until = p->now;
    p->resteer = 0;
    p->recovery_site = REPORT_NO_SITE;
    p->fe_cause = STALL_FE_MITE;
}
