/* SPDX-License-Identifier: Apache-2.0 */
/* In-order retirement, RT-1, RT-2, RT-5. Counts are summed without branches, which would be mispredicted. */
#include "pipe/state.h"

static bool complete(struct pipe *p, const struct rob_entry *e)
{
    if (e->issued_at >= p->now)
        return false;
    for (unsigned k = 0; k < e->n_uops; k++)
        if (pipe__uop(p, e->first_uop + k)->done_at >= p->now)
            return false;
    return true;
}

static void count_uops(struct pipe *p, const struct rob_entry *e)
{
    struct cycle_report *c = p->cur;
    for (unsigned k = 0; k < e->n_uops; k++) {
        const struct duop *u = pipe__uop(p, e->first_uop + k);
        if (u->t->kind == UOP_LOAD) {
            c->load_level[u->level]++;
            if (p->memory)
                execute__learn(p, u);
            for (unsigned counts = u->counts; counts; counts &= counts - 1)
                c->uop_events += 1ull << 8 * __builtin_ctz(counts);
        }
        p->fences_in_flight -= u->fence != 0;
    }
}

/* Returns whether it wrote to code that was fetched. */
static bool retire_entry(struct pipe *p, struct rob_entry *e)
{
    struct cycle_report *c = p->cur;
    bool to_code = false;
    assert(!(e->flags & ROB_WRONG));
    c->retired_site[c->retired] = e->site;
    if (e->flags & ROB_MS)
        c->retired_ms = (uint8_t)(c->retired_ms | 1u << c->retired);
    c->retired_uops = (uint8_t)(c->retired_uops + e->n_uops);
    if (e->n_loads || p->fences_in_flight)
        count_uops(p, e);
    if (p->trace)
        trace__retired(p, e);
    p->uop_head = e->first_uop + e->n_uops;
    p->loads_used -= e->n_loads;
    c->retired_stores = (uint8_t)(c->retired_stores + e->n_stores);
    p->prf_int_free += e->n_int;
    p->prf_vec_free += e->n_vec;
    if (e->flags & ROB_ENDS) {
        c->retired_high = (uint8_t)(c->retired_high | (e->n_insns != 0) << c->retired);
        c->retired_pair = (uint8_t)(c->retired_pair | (e->n_insns == 2) << c->retired);
        if (e->n_insns) {
            c->insn_counts += (uint64_t)(e->counted >> 4) << 8 * (e->counted & 15);
            c->retired_memory = (uint8_t)(c->retired_memory + e->flags / ROB_MEMORY % 2);
        }
        c->retired_insns = (uint8_t)(c->retired_insns + e->n_insns);
        c->branches = (uint8_t)(c->branches + e->flags / ROB_BRANCH % 2);
        c->mispredicts = (uint8_t)(c->mispredicts + e->flags / ROB_MISPREDICT % 2);
        p->instructions += e->n_insns;
        p->buffer->begin = e->next_step;
        while (p->store_retired < p->store_tail && pipe__store(p, p->store_retired)->uop < p->uop_head)
            to_code |= execute__retire_store(p, pipe__store(p, p->store_retired++));
    }
    c->retired++;
    return to_code;
}

static bool violates(struct pipe *p, const struct rob_entry *e)
{
    return e->n_loads && pipe__uop(p, e->first_uop)->flags & DUOP_VIOLATES;
}

void retire__step(struct pipe *p)
{
    while (p->rob_head < p->rob_tail && p->cur->retired < p->retire_width) {
        struct rob_entry *e = pipe__rob(p, p->rob_head);
        if (!complete(p, e))
            return;
        if (p->memory && violates(p, e)) {
            flush__memory_ordering(p, e);
            return;
        }
        bool to_code = retire_entry(p, e);
        p->rob_head++;
        if (to_code) {
            flush__self_modifying(p, e);
            return;
        }
    }
}
