/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of uops, for timelines and explanations. */
#include "pipe/state.h"

static void hand_out(struct pipe *p, struct uop_record *r, const struct duop *u)
{
    const struct duop_trace *t = trace__of(p, u);
    r->seq = u->seq;
    r->producer = t->producer;
    r->kind = u->t->kind;
    r->index = t->index;
    r->port = u->port;
    r->divides = u->t->div_cyc != 0;
    r->operands = u->ready;
    r->ready = t->queued_at;
    r->dispatched = t->dispatched_at;
    r->done = u->done_at;
    p->uops->retired(p->uops, r);
}

void trace__retired(struct pipe *p, const struct rob_entry *e)
{
    const struct fetched *f = pipe__fetched(p, e->fetched);
    struct uop_record r = {
        .site = e->site,
        .iteration = f->step->iteration,
        .fetched = e->fetched,
        .kind = UOP_EMPTY,
        .port = UOP_RECORD_NO_PORT,
        .from = f->source,
        .predecoded = f->source == FETCH_MITE ? f->predecoded_at : -1,
        .delivered = f->delivered_at,
        .issued = e->issued_at,
        .operands = -1,
        .ready = -1,
        .dispatched = -1,
        .done = e->issued_at,
        .retired = p->now,
        .fused_head = 1,
    };
    for (unsigned k = 0; k < e->n_uops; k++, r.fused_head = 0) {
        r.ends = e->flags & ROB_ENDS && k + 1u == e->n_uops;
        hand_out(p, &r, pipe__uop(p, e->first_uop + k));
    }
    if (!e->n_uops) {
        r.ends = (e->flags & ROB_ENDS) != 0;
        p->uops->retired(p->uops, &r);
    }
}
