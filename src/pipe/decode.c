/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders and microcode sequencer. */
#include "pipe/state.h"

static struct fetched *iq_at(struct pipe *p, uint32_t i)
{
    return pipe__fetched(p, p->iq[(p->iq_head + i) % IQ_RING]);
}

static bool visible(const struct pipe *p, const struct fetched *f)
{
    return f->predecoded_at + (int64_t)p->core->predecode_delay_cyc <= p->now; /* FE-12 */
}

/* DE-8: an instruction that could fuse waits until the next one can be seen. */
static bool partner_seen(struct pipe *p, unsigned n)
{
    if (!p->core->fuse_on_last_decoder && n == p->core->decoders - 1)
        return false;
    if (predecode__iq_used(p) >= 2)
        return visible(p, iq_at(p, 1));
    uint64_t next = p->iq[p->iq_head % IQ_RING] + 1;
    return !fetch__ensure(p, next) && p->source_ended && !p->on_wrong_path;
}

static void start_ms(struct pipe *p, uint64_t fetched, unsigned lam)
{
    p->ms_busy = true;
    p->ms_stall = p->ms_tail = p->core->ms_stall_mite_cyc;
    p->ms_fetched = fetched;
    p->ms_lam = lam;
    p->cur->flags |= REPORT_MS_SWITCH;
}

void decode__step(struct pipe *p)
{
    unsigned n = 0, simple = p->core->decoders - 1;

    if (predecode__iq_used(p) && p->iq[p->iq_head % IQ_RING] < p->delivered) /* FE-16: a second half */
        p->iq_head++;
    while (n < p->core->decoders && predecode__iq_used(p)) {
        uint64_t i = p->iq[p->iq_head % IQ_RING];
        struct fetched *f = pipe__fetched(p, i);
        const struct insn *insn = f->insn;
        if (i != p->delivered || !visible(p, f))
            break;
        if (insn->fuses_with && !partner_seen(p, n))
            break;
        if (n > 0) {
            if (insn->flags & INSN_COMPLEX || simple == 0) /* DE-2, DE-4 */
                break;
            simple--;
        } else if (insn->flags & INSN_COMPLEX) {
            simple = insn->simple_after;
        }
        p->iq_head++;
        n++;
        unsigned lams = f->insn->mite_lams;
        idq__deliver(p, i, 0, lams, false);
        dsb__build(p, f, f->flags & F_PAIR ? pipe__fetched(p, i + 1) : NULL);
        p->delivered += f->flags & F_PAIR ? 2 : 1;
        if (insn->has_ms)
            start_ms(p, i, lams);
        fetch__delivered(p, f);
        if (insn->branch != BRANCH_NONE || f->flags & (F_PAIR | F_TAKEN) || insn->has_ms) /* DE-7 */
            break;
        if (insn->flags & INSN_POP5C && p->core->pop5c_ends_group) /* DE-6 */
            break;
    }
    p->cur->decoded = (uint8_t)n;
}

/* MS-1, MS-2 */
void decode__ms_step(struct pipe *p)
{
    if (p->ms_stall > 0) {
        p->ms_stall--;
        return;
    }
    const struct fetched *f = pipe__fetched(p, p->ms_fetched);
    unsigned n = f->recipe->n_lams;
    if (p->ms_lam < n) {
        unsigned end = p->ms_lam + p->core->ms_width < n ? p->ms_lam + p->core->ms_width : n;
        idq__deliver(p, p->ms_fetched, p->ms_lam, end, true);
        p->ms_lam = end;
        if (end == n && p->ms_tail == 0)
            p->ms_busy = false;
        return;
    }
    if (p->ms_tail == 0 || --p->ms_tail == 0)
        p->ms_busy = false;
}
