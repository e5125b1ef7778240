/* SPDX-License-Identifier: Apache-2.0 */
/* Fetch: lays out the predicted path, instruction by instruction, and says which part of the front end
 * will deliver each (WP-1, DSB-6, DSB-14). Runs ahead of delivery as far as predecoder and DSB ask. */
#include <stdlib.h>
#include <string.h>

#include "pipe/state.h"

enum { PLAN_AHEAD = 64 }; /* instructions planned and not delivered, whole programs: a full IQ and a block */

void fetch__init(struct pipe *p)
{
    p->plan_window = UINT64_MAX;
    p->after_taken = true;
    p->pre_block = UINT64_MAX;
    p->fetch_line = UINT64_MAX;
    p->step_limit = UINT64_MAX;
}

/* --- steps of the correct and of the wrong path ------------------------------------------------ */

__attribute__((noinline)) static const struct step *correct_step(struct pipe *p, struct step_buffer *buf,
                                                                 uint64_t i)
{
    while (i >= p->step_end) {
        if (p->source_ended)
            return NULL;
        int n = p->step_end == p->step_limit ? 0 : p->source->fill(p->source, buf, 1);
        if (n <= 0) {
            p->source_ended = true;
            p->failed = n < 0;
        }
        p->step_end = buf->end < p->step_limit ? buf->end : p->step_limit;
    }
    return &buf->step[i % STEP_RING];
}

static struct site *wrong_site(struct pipe *p)
{
    struct site *last = p->wrong_last;
    if (!p->core->wrong_path)
        return NULL;
    if (last && last->next && last->next->addr == p->wrong_pc)
        return last->next;
    struct site *site = p->wrong_pc ? code__find(p->source->code, p->wrong_pc) : NULL;
    if (site && last && last->addr + last->insn->len == site->addr)
        last->next = site;
    return site;
}

/* WP-6: the code that the front end would meet, as far as it has been seen. Loads have no address. */
__attribute__((noinline)) static const struct step *wrong_step(struct pipe *p, uint64_t i)
{
    while (i >= p->wrong_end) {
        struct site *site = wrong_site(p);
        if (!site)
            return NULL;
        p->wrong_last = site;
        struct step *s = &p->wrong[p->wrong_end++ & p->fetched_mask];
        uint64_t next = site->addr + site->insn->len;
        *s = (struct step){.site = site};
        if (site->insn->branch != BRANCH_NONE) {
            struct branch b = branch__at(site->insn, site->addr);
            struct prediction pr;
            predictor__wrong_path(p->predictor, &b, &pr);
            if (pr.taken) {
                s->flags = STEP_TAKEN;
                next = pr.target;
            }
        }
        s->next_addr = next;
        p->wrong_pc = next;
    }
    return &p->wrong[i & p->fetched_mask];
}

static inline const struct step *peek_step(struct pipe *p, struct step_buffer *buf, unsigned ahead)
{
    uint64_t i;
    if (p->on_wrong_path) {
        i = p->wrong_next + ahead;
        return i < p->wrong_end ? &p->wrong[i & p->fetched_mask] : wrong_step(p, i);
    }
    i = p->step_next + ahead;
    return i < p->step_end ? &buf->step[i % STEP_RING] : correct_step(p, buf, i);
}

/* --- prediction ------------------------------------------------------------------------------- */

/* Flags of a branch on the correct path; a wrong prediction starts the wrong path (BP-2). */
static uint16_t predict(struct pipe *p, const struct step *s)
{
    bool taken = s->flags & STEP_TAKEN;
    struct branch b = branch__at(s->site->insn, s->site->addr);
    struct prediction pr;

    predictor__step(p->predictor, &b, taken, s->next_addr, &pr);

    uint16_t flags = pr.taken ? F_TAKEN : 0;
    bool wrong = pr.taken != taken || (taken && pr.target != s->next_addr);
    if (b.kind == BRANCH_OTHER) /* SYSCALL and the like: control leaves, nothing was guessed */
        return taken ? F_TAKEN : 0;
    if (wrong && s->next_addr) {
        flags |= F_MISPREDICT;
        p->wrong_pc = pr.taken ? pr.target : b.fallthrough;
        predictor__wrong_path_begin(p->predictor, &b, pr.taken, pr.target);
        p->wrong_next = p->wrong_end;
        p->wrong_last = NULL;
    } else if (pr.taken && !pr.btb_hit && b.direct && !p->ideal_frontend) {
        flags |= F_HOLD; /* BP-5 */
    } else if (pr.taken && !pr.fast_btb) {
        flags |= F_BUBBLE;
    }
    return flags;
}

static uint16_t branch_flags(struct pipe *p, const struct step *s)
{
    uint16_t flags = 0;

    if (s->site->insn->branch == BRANCH_NONE)
        return s->flags & STEP_TAKEN ? F_TAKEN : 0;
    if (!p->predictor)
        flags = s->flags & STEP_TAKEN ? F_TAKEN : 0;
    else if (p->on_wrong_path)
        flags = s->flags & STEP_TAKEN ? F_TAKEN : 0;
    else
        flags = predict(p, s);
    if (s->site->insn->branch == BRANCH_COND && (p->predictor || !p->endless) && !(flags & F_TAKEN))
        flags |= F_NOT_TAKEN;
    return flags;
}

/* --- DSB or MITE ------------------------------------------------------------------------------ */

static bool same_half_uncacheable(const struct pipe *p, uint64_t window)
{
    uint64_t other = window ^ 1;
    return p->core->dsb_both_halves && p->uncacheable[other & 4095] == other;
}

/* DSB-2 to DSB-4: place the instruction in a line of its window. */
static void place_in_line(struct pipe *p, struct fetched *f, bool first)
{
    const struct insn *insn = f->insn;
    if (insn->has_ms) {
        f->flags |= F_LINE_START;
        p->plan_line_closed = true;
        return;
    }
    if (first || p->plan_line_closed || p->plan_slots + insn->dsb_slots > p->core->dsb_line_uops) {
        f->flags |= F_LINE_START;
        p->plan_slots = 0;
        p->plan_line_closed = false;
    }
    p->plan_slots += insn->dsb_slots;
}

static uint8_t choose_source(struct pipe *p, struct fetched *f)
{
    if (p->unrolled)
        return FETCH_MITE;
    uint64_t window = pipe__window(f->addr);
    bool entry = p->after_taken || (!p->plan_mite && window != p->plan_window);
    if (p->after_taken)
        p->plan_mite = false;
    if (entry) {
        p->plan_window = window;
        p->plan_line_closed = true;
        if (!dsb__lookup(p, f->addr, &p->plan_record_end) || same_half_uncacheable(p, window))
            p->plan_mite = true;
    } else if (!p->plan_mite && f->addr >= p->plan_record_end) {
        p->plan_mite = true;
    }
    if (p->plan_mite)
        return FETCH_MITE;
    place_in_line(p, f, entry);
    return FETCH_DSB;
}

/* --- planning --------------------------------------------------------------------------------- */

static void fill_entry(struct pipe *p, struct fetched *f, const struct step *s)
{
    const struct site *site = s->site;
    f->step = s;
    f->insn = site->insn;
    f->addr = site->addr;
    f->site = site->id;
    f->n_insns = s->flags & STEP_REP_BODY ? 0 : 1;
    f->flags = p->on_wrong_path ? F_WRONG : 0;
}

static bool fuses(const struct step *a, const struct step *b)
{
    const struct insn *x = a->site->insn, *y = b->site->insn;
    return y->cond < 16 && x->fuses_with >> y->cond & 1 && b->site->addr == a->site->addr + x->len &&
           b->site->addr % 64 != 0; /* MF-4 */
}

static void advance(struct pipe *p, unsigned n)
{
    if (p->on_wrong_path)
        p->wrong_next += n;
    else
        p->step_next += n;
}

static bool plan_one(struct pipe *p)
{
    struct step_buffer *buf = p->buffer;
    if (p->plan_held || (p->planned - p->delivered > p->fetched_mask / 2))
        return false;
    const struct step *s = peek_step(p, buf, 0);
    if (!s) {
        p->wrong_dead_end = p->on_wrong_path;
        return false;
    }
    const struct step *second = s->site->insn->fuses_with ? peek_step(p, buf, 1) : NULL;
    if (second && !fuses(s, second))
        second = NULL;

    struct fetched *f = pipe__fetched(p, p->planned);
    fill_entry(p, f, s);
    bool wrong_before = p->on_wrong_path;
    uint16_t flags = branch_flags(p, second ? second : s);
    f->flags |= flags;
    if (second) {
        f->flags |= F_PAIR;
        f->n_insns = 2;
    }
    if (p->ideal_frontend) { /* UFS-FE-2, UFS-FE-3: iterations do not share a cycle on six-port cores */
        f->source = FETCH_DSB;
        if (p->ufs && p->n_ports < 8 && s->iteration != p->ufs_iteration)
            f->flags |= F_PASS_START;
        p->ufs_iteration = s->iteration;
    } else {
        f->source = lsd__follow(p, f) ? FETCH_LSD : choose_source(p, f);
    }
    if (f->source == FETCH_MITE && (p->after_taken || !p->last_was_mite))
        f->flags |= F_BREAK;
    advance(p, second ? 2 : 1);
    f->next_step = p->step_next;
    p->planned++;
    if (second) {
        struct fetched *g = pipe__fetched(p, p->planned++);
        fill_entry(p, g, second);
        g->flags |= F_ABSORBED | flags;
        g->n_insns = 0;
        g->source = f->source;
        g->next_step = p->step_next;
    }
    p->last_was_mite = f->source == FETCH_MITE;
    p->after_taken = flags & F_TAKEN;
    p->plan_held = flags & F_HOLD;
    if (flags & F_MISPREDICT && !wrong_before)
        p->on_wrong_path = true;
    if (!p->endless && !p->on_wrong_path && p->core->lsd)
        lsd__observe(p, f);
    return true;
}

bool fetch__plan(struct pipe *p, uint64_t i)
{
    if (!p->endless && i > p->delivered + PLAN_AHEAD)
        return false;
    while (p->planned <= i)
        if (!plan_one(p))
            return false;
    return true;
}

/* An unknown taken branch is recognised when it is decoded, and fetch redirected (BP-5). */
void fetch__delivered(struct pipe *p, const struct fetched *f)
{
    if (!(f->flags & F_HOLD))
        return;
    p->plan_held = false;
    p->resume_at = p->now + (int64_t)p->core->baclear_cyc;
    p->latency_cause = STALL_FE_UNKNOWN_BRANCH;
    p->latency_new = true;
    p->cur->flags |= REPORT_BACLEAR;
}

/* DSB-9, TP-7: one iteration goes through the builder, so that every later one finds it cached. The
 * state of AH..DH is carried over the back edge (RN-15). */
void fetch__warm(struct pipe *p)
{
    struct step_buffer *buf = p->buffer;
    uint32_t lams = 0;
    bool lsd = p->core->lsd;

    for (uint64_t i = 0;; i++) {
        const struct step *s = correct_step(p, buf, i);
        if (!s)
            return;
        struct insn *insn = s->site->insn;
        const struct step *second = insn->fuses_with ? correct_step(p, buf, i + 1) : NULL;
        struct fetched f = {
            .insn = insn, .addr = s->site->addr, .flags = s->flags & STEP_TAKEN ? F_TAKEN : 0};
        struct fetched g = {0};
        bool pair = second && fuses(s, second);
        if (pair) {
            g = (struct fetched){.insn = second->site->insn, .addr = second->site->addr};
            f.flags |= F_PAIR | (second->flags & STEP_TAKEN ? F_TAKEN : 0);
            i++;
        }
        dsb__build(p, &f, pair ? &g : NULL);
        lams += pipe__lams(p, insn);
        lsd = lsd && !insn->has_ms && insn->rsp_delta == 0 && !(insn->flags & INSN_WRITES_HIGH) &&
              insn->branch != BRANCH_CALL && insn->branch != BRANCH_CALL_INDIRECT &&
              insn->branch != BRANCH_RET;
        p->stack.dirty &= (uint8_t) ~(insn->wide_read | insn->wide_write);
        p->stack.dirty |= insn->high_write;
        if (f.flags & F_TAKEN)
            break;
    }
    dsb__build_close(p);
    if (!lsd || lams > p->core->idq_entries || p->any_uncacheable)
        return;
    p->lsd_active = true; /* LSD-1 */
    p->lsd_unroll = lams < CORE_LSD_SIZES ? p->core->lsd_unroll[lams] : 1;
}
