/* SPDX-License-Identifier: Apache-2.0 */
/* The published rules of uop flow simulation in place of the detailed front end, of un-lamination and of
 * the resource checks (PIPELINE.md 4.1, 8.7, 9.3; Palomares et al. 2015). Everything else is shared. */
#include "pipe/state.h"

/* UFS-FE-1: all uops come from the uop cache; decoders, microcode and alignment play no part. */
void ufs__frontend(struct pipe *p)
{
    p->cur->source = FETCH_DSB;
    while (idq__used(p) + 8 <= p->core->idq_entries && fetch__ensure(p, p->delivered)) {
        const struct fetched *f = pipe__fetched(p, p->delivered);
        unsigned n = pipe__lams(p, f->insn), room = IDQ_RING - 8 - idq__used(p);
        unsigned end = n - p->dsb_lam > room ? p->dsb_lam + room : n;
        idq__deliver(p, p->delivered, p->dsb_lam, end, false);
        p->dsb_lam = end < n ? end : 0; /* microcode longer than the queue goes on in a later cycle */
        if (end < n)
            break;
        p->delivered += f->flags & F_PAIR ? 2 : 1;
    }
    p->fe_cause = STALL_FE_LSD;
    p->fe_next = p->cur->delivered ? p->now + 1 : CYCLE_NEVER;
}

static unsigned count_registers(const struct recipe *r, bool outputs)
{
    uint64_t regs = 0;
    for (unsigned k = 0; k < r->n_uops; k++) {
        const struct uop *t = &r->uops[k];
        for (unsigned i = 0; !outputs && i < t->n_src; i++)
            regs |= t->src[i] < 64 ? 1ull << t->src[i] : 0;
        for (unsigned i = 0; outputs && i < t->n_dst; i++)
            regs |= t->dst[i] < 64 ? 1ull << t->dst[i] : 0;
    }
    regs &= ~(1ull << R_FLAG_C | 1ull << R_FLAG_SPAZO);
    return (unsigned)__builtin_popcountll(regs);
}

static bool is_vex(const struct insn *insn)
{
    return insn->bytes[0] == 0xc4 || insn->bytes[0] == 0xc5;
}

/* UFS-FE-4: does a micro-fused uop split in the uop queue? */
static bool splits(const struct pipe *p, const struct insn *insn, const struct recipe *r)
{
    unsigned inputs = count_registers(r, false);
    if (p->n_ports < 8)
        return inputs > 2;
    return is_vex(insn) && inputs + count_registers(r, true) > 3;
}

/* Slots of a laminated uop: its uops if it splits, else one. */
unsigned ufs__slots(const struct pipe *p, const struct insn *insn, const struct recipe *r,
                    const struct lam *lam)
{
    return lam->n_uops > 1 && splits(p, insn, r) ? lam->n_uops : 1;
}

/* UFS-RT-1, UFS-RT-2: the resource that the next laminated uop lacks. */
uint8_t ufs__lacking(const struct pipe *p, const struct recipe *r, const struct lam *lam, unsigned slots,
                     bool first)
{
    const struct core *c = p->core;
    if (p->rob_tail - p->rob_head + slots > c->rob_entries)
        return RES_ROB;
    if (p->rs_used + lam->n_uops > c->rs_entries)
        return RES_RS;
    if (!first)
        return RES_NONE;
    if (p->loads_used + r->n_loads > c->load_buffer ||
        p->loads_waiting + (unsigned)p->pending.any + r->n_loads > c->load_matrix)
        return RES_LOAD_BUFFER;
    return p->stores_used + r->n_stores > c->store_buffer ? RES_STORE_BUFFER : RES_NONE;
}

/* PA-10: the allowed port with the fewest uops in flight, older ones of the same cycle included. */
unsigned ufs__port(const struct pipe *p, unsigned ports)
{
    unsigned best = (unsigned)__builtin_ctz(ports);
    for (unsigned m = ports & (ports - 1); m; m &= m - 1) {
        unsigned port = (unsigned)__builtin_ctz(m);
        if (p->usage[port] < p->usage[best])
            best = port;
    }
    return best;
}
