/* SPDX-License-Identifier: Apache-2.0 */
/* Loop stream detector: locks a loop in the IDQ and replays it (LSD-1 to LSD-7). */
#include "pipe/state.h"

static void observe_reset(struct pipe *p)
{
    p->lsd_candidate_len = p->lsd_candidate_lams = 0;
    p->lsd_candidate_ok = true;
    p->lsd_hash = 0;
}

static bool lockable(const struct insn *insn)
{
    return !insn->has_ms && insn->rsp_delta == 0 && !(insn->flags & INSN_WRITES_HIGH) &&
           insn->branch != BRANCH_CALL && insn->branch != BRANCH_CALL_INDIRECT && insn->branch != BRANCH_RET;
}

static void lock(struct pipe *p)
{
    p->lsd_active = true;
    p->lsd_len = p->lsd_candidate_len;
    p->lsd_pos = p->lsd_pass = 0;
    uint32_t n = p->lsd_candidate_lams;
    p->lsd_unroll = n < CORE_LSD_SIZES ? p->core->lsd_unroll[n] : 1;
    for (uint32_t i = 0; i < p->lsd_len; i++)
        p->lsd_body[i] = p->lsd_candidate[i];
}

/* Watches the planned path for the same taken backward branch with the same body (LSD-7). */
void lsd__observe(struct pipe *p, const struct fetched *f)
{
    if (p->lsd_active)
        return;
    if (p->lsd_candidate_len < LSD_BODY)
        p->lsd_candidate[p->lsd_candidate_len++] = f->step->site;
    else
        p->lsd_candidate_ok = false;
    p->lsd_candidate_lams += pipe__lams(p, f->insn);
    p->lsd_candidate_ok = p->lsd_candidate_ok && lockable(f->insn) && f->source == FETCH_DSB;
    p->lsd_hash = (p->lsd_hash ^ f->site) * 0x9e3779b97f4a7c15u;

    if (!(f->flags & F_TAKEN))
        return;
    const struct fetched *last = f->flags & F_PAIR ? pipe__fetched(p, p->planned - 1) : f;
    if (last->step->next_addr > f->addr)
        return; /* forward: part of a body */
    bool same = p->lsd_branch == f->addr && p->lsd_last_hash == p->lsd_hash && p->lsd_candidate_ok &&
                p->lsd_candidate_lams <= p->core->idq_entries;
    p->lsd_repeats = same ? p->lsd_repeats + 1 : 0;
    p->lsd_branch = f->addr;
    p->lsd_last_hash = p->lsd_hash;
    if (p->lsd_repeats >= p->core->lsd_detect_iterations)
        lock(p);
    observe_reset(p);
}

/* While locked: does the path stay in the loop? Marks the start of each replicated pass (LSD-2). */
bool lsd__follow(struct pipe *p, struct fetched *f)
{
    if (!p->lsd_active)
        return false;
    if (p->endless) {
        if (f->step->iteration % p->lsd_unroll == 0 && p->after_taken)
            f->flags |= F_PASS_START;
        return true;
    }
    if (p->lsd_body[p->lsd_pos] != f->step->site) {
        p->lsd_active = false;
        p->lsd_repeats = 0;
        p->after_taken = true; /* the DSB is looked up anew */
        observe_reset(p);
        return false;
    }
    if (p->lsd_pos == 0 && p->lsd_pass == 0)
        f->flags |= F_PASS_START;
    if (++p->lsd_pos == p->lsd_len) {
        p->lsd_pos = 0;
        p->lsd_pass = (p->lsd_pass + 1) % p->lsd_unroll;
    }
    return true;
}

/* LSD-3: the next pass is in the IDQ as soon as the previous one has left it. */
void lsd__step(struct pipe *p)
{
    if (idq__used(p))
        return;
    bool first = true;
    while (fetch__ensure(p, p->delivered)) {
        struct fetched *f = pipe__fetched(p, p->delivered);
        if (f->source != FETCH_LSD || (f->flags & F_PASS_START && !first))
            break;
        unsigned lams = pipe__lams(p, f->insn);
        if (idq__used(p) + lams > IDQ_RING - 8)
            break;
        first = false;
        idq__deliver(p, p->delivered, 0, lams, false);
        fetch__delivered(p, f);
        p->delivered += f->flags & F_PAIR ? 2 : 1;
    }
}
