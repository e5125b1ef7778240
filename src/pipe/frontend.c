/* SPDX-License-Identifier: Apache-2.0 */
/* The front end as a whole: which of its sources is active in this cycle (CY-4, CY-5), and why it
 * delivers less than the back end would take. */
#include "pipe/state.h"

/* Why the front end has delivered nothing: the reason stands until the first uop after it (TD-8). */
static void latency(struct pipe *p, uint8_t stall)
{
    p->latency_cause = stall;
    p->latency_new = true;
}

static void cause(struct pipe *p, uint8_t stall, int64_t next)
{
    if (p->cur->delivered && !p->latency_new)
        p->latency_cause = 0;
    p->latency_new = false;
    p->fe_cause = p->latency_cause ? p->latency_cause : stall;
    p->fe_next = next;
}

static void mite_cause(struct pipe *p)
{
    int64_t next = p->now + 1;
    bool iq_empty = predecode__iq_used(p) == 0;

    if (p->memory && p->fetch_ready_at > p->now) {
        p->cur->flags |= p->fetch_tlb ? REPORT_ITLB : REPORT_ICACHE;
        latency(p, p->fetch_tlb ? STALL_FE_ITLB : STALL_FE_ICACHE);
        cause(p, p->latency_cause, iq_empty ? p->fetch_ready_at : next);
        return;
    }
    if (p->cur->flags & REPORT_LCP) {
        cause(p, STALL_FE_LCP, next);
        return;
    }
    if (p->cur->delivered)
        p->dsb_switch = false;
    if (p->dsb_switch)
        p->cur->state |= REPORT_STATE_DSB_SWITCH;
    cause(p, p->dsb_switch ? STALL_FE_DSB_SWITCH : STALL_FE_MITE, next);
}

/* Nothing can be planned: fetch waits for a decode, for the flush, or the program is over. */
static bool nothing_to_fetch(struct pipe *p)
{
    if (fetch__ensure(p, p->delivered))
        return false;
    p->cur->source = FETCH_NONE;
    if (p->source_ended && !p->on_wrong_path)
        cause(p, STALL_FE_DRAIN, CYCLE_NEVER);
    else
        cause(p, p->on_wrong_path ? STALL_FE_RESTEER_MISPREDICT : STALL_FE_UNKNOWN_BRANCH, CYCLE_NEVER);
    return true;
}

static void ms(struct pipe *p)
{
    bool stalled = p->ms_stall > 0;
    p->cur->source = FETCH_MS;
    decode__ms_step(p);
    cause(p, stalled || !p->cur->delivered ? STALL_FE_MS_SWITCH : STALL_FE_MS, p->now + 1);
}

void frontend__step(struct pipe *p)
{
    if (p->evicted_code && p->evicted_code->n != p->evicted_seen)
        dsb__follow_evictions(p);
    if (p->ideal_frontend) {
        ufs__frontend(p);
        return;
    }
    /* Fetch may have left the loop already; what was planned from the LSD still comes from there. */
    if (!p->ms_busy && p->core->lsd && fetch__ensure(p, p->delivered) &&
        pipe__fetched(p, p->delivered)->source == FETCH_LSD) {
        p->cur->source = FETCH_LSD;
        lsd__step(p);
        cause(p, STALL_FE_LSD, p->cur->delivered ? p->now + 1 : CYCLE_NEVER);
        return;
    }
    if (idq__used(p) + p->core->dsb_width > p->core->idq_entries) { /* CY-4 */
        p->fe_next = CYCLE_NEVER;
        return;
    }
    if (p->now < p->resume_at) { /* resteer, BACLEAR: the cause is set where it began */
        p->fe_next = p->resume_at;
        return;
    }
    if (p->ms_busy) {
        ms(p);
        return;
    }
    if (nothing_to_fetch(p))
        return;
    if (p->now < p->bubble_until) {
        cause(p, STALL_FE_DSB, p->bubble_until);
        return;
    }
    if (pipe__fetched(p, p->delivered)->source == FETCH_DSB) {
        p->cur->source = FETCH_DSB;
        dsb__step(p);
        cause(p, STALL_FE_DSB, p->now + 1);
    } else {
        p->cur->source = FETCH_MITE;
        predecode__step(p);
        decode__step(p);
        mite_cause(p);
    }
}
