/* SPDX-License-Identifier: Apache-2.0 */
/* Predecoder: finds instructions in aligned 16-byte blocks and fills the instruction queue. */
#include "pipe/state.h"

void predecode__reset(struct pipe *p)
{
    p->pre_block = UINT64_MAX;
    p->pre_count = 0;
    p->pre_active = p->pre_cross = p->pre_extra = false;
    p->pre_stall = 0;
    p->fetch_line = UINT64_MAX;
    p->fetch_ready_at = 0;
}

/* The next instruction for the MITE path at or after `i`; those of the DSB are passed over. */
static struct fetched *next_mite(struct pipe *p, uint64_t *i)
{
    while (fetch__ensure(p, *i)) {
        struct fetched *f = pipe__fetched(p, *i);
        if (f->source == FETCH_MITE)
            return f;
        ++*i;
    }
    return NULL;
}

/* FE-21: bytes come from the L1I a line at a time. */
static bool line_arrived(struct pipe *p, uint64_t addr)
{
    uint64_t line = addr / 64;
    if (!p->memory || line == p->fetch_line)
        return p->fetch_ready_at <= p->now;
    struct mem_result r;
    memory__fetch(p->memory, addr, (uint64_t)p->now, &r);
    p->mem_change_at = p->now;
    p->fetch_line = line;
    p->fetch_ready_at = (int64_t)r.ready;
    p->fetch_tlb = r.tlb_until > (uint64_t)p->now;
    return p->fetch_ready_at <= p->now;
}

/* FE-3, FE-5, FE-8, FE-9, FE-11, FE-13: what ends in the next block. False: nothing to predecode yet. */
static bool next_block(struct pipe *p)
{
    uint64_t i = p->pre_first > p->delivered ? p->pre_first : p->delivered;
    struct fetched *f = next_mite(p, &i);
    unsigned lcp = 0;

    p->pre_first = i;
    if (!f)
        return false;
    if (p->pre_block == UINT64_MAX)
        p->pre_block = f->addr / 16;
    uint64_t block = p->pre_block;
    if (!line_arrived(p, block * 16))
        return false;
    p->pre_block++;
    p->pre_cross = false;
    p->pre_count = 0;
    for (bool first = true;; first = false) {
        uint64_t j = i;
        f = next_mite(p, &j);
        if (!f || j != i || (!first && f->flags & F_BREAK)) {
            p->pre_block = UINT64_MAX;
            break;
        }
        uint64_t start = f->addr / 16, end = (f->addr + f->insn->len - 1) / 16;
        if (start > block)
            break;
        if (start == block && f->insn->flags & INSN_LCP)
            lcp++;
        if (end != block) {
            p->pre_cross = (f->addr + f->insn->opcode_off) / 16 == block;
            break;
        }
        p->pre_count++;
        i++;
    }
    p->pre_previous = p->pre_steps;
    p->pre_steps = 0;
    p->pre_active = true;
    int32_t hidden = p->pre_previous > 1 ? p->pre_previous - 1 : 0;
    int32_t stall = (int32_t)(p->core->lcp_stall_cyc * lcp) - hidden;
    p->pre_stall = lcp && stall > 0 ? stall : 0;
    return true;
}

/* FE-7. In a queue as short as the predecoder is wide, what waits alone for a partner (DE-8) would wait for
 * ever. */
static bool has_room(struct pipe *p)
{
    uint32_t used = predecode__iq_used(p);

    if (used + p->core->predecode_width <= p->core->iq_entries)
        return true;
    return used == 1 && p->core->iq_entries > 1 &&
           pipe__fetched(p, p->iq[p->iq_head % IQ_RING])->insn->fuses_with;
}

void predecode__step(struct pipe *p)
{
    const uint32_t width = p->core->predecode_width;

    if (p->pre_stall > 0) { /* FE-14 */
        if (--p->pre_stall > 0) {
            p->cur->flags |= REPORT_LCP;
            return;
        }
    } else {
        if (!has_room(p))
            return;
        if (!p->pre_active && !next_block(p))
            return;
        if (p->pre_stall > 0) {
            p->cur->flags |= REPORT_LCP;
            return;
        }
    }
    p->pre_steps++;
    if (p->pre_extra) { /* FE-9 */
        p->pre_extra = p->pre_active = false;
        return;
    }
    uint32_t room = p->core->iq_entries - predecode__iq_used(p);
    uint32_t n = p->pre_count < width ? p->pre_count : width;
    n = n < room ? n : room;
    for (uint32_t k = 0; k < n; k++) {
        pipe__fetched(p, p->pre_first)->predecoded_at = p->now;
        p->iq[p->iq_tail++ % IQ_RING] = p->pre_first++;
    }
    p->pre_count -= n;
    if (p->pre_count > 0)
        return;
    if (n == width && p->pre_cross)
        p->pre_extra = true;
    else
        p->pre_active = false;
}
