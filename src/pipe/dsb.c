/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded stream buffer: which windows are cached (DSB-1 to DSB-8, DSB-16, DSB-17, FE-17) and how their
 * lines are delivered (DSB-10 to DSB-14). */
#include "pipe/state.h"

static struct dsb_record *set_of(struct pipe *p, uint64_t window)
{
    return &p->dsb[(window & (p->dsb_sets - 1)) * p->dsb_records];
}

static bool in_use(const struct pipe *p, const struct dsb_record *r)
{
    return r->end && r->run == p->run;
}

/* WP-2: a window is cached by entry point. */
bool dsb__lookup(struct pipe *p, uint64_t entry, uint64_t *end)
{
    struct dsb_record *set = set_of(p, pipe__window(entry));
    for (uint32_t i = 0; i < p->dsb_records; i++)
        if (set[i].entry == entry && in_use(p, &set[i])) {
            set[i].used = ++p->dsb_clock;
            *end = set[i].end;
            return true;
        }
    return false;
}

static void insert(struct pipe *p, const struct dsb_build *b)
{
    struct dsb_record *set = set_of(p, b->window), *slot = NULL;
    uint32_t ways = b->lines;

    for (uint32_t i = 0; i < p->dsb_records; i++)
        if (set[i].entry == b->entry && in_use(p, &set[i])) {
            if (b->end <= set[i].end)
                return;
            set[i].end = 0;
        }
    for (uint32_t i = 0; i < p->dsb_records; i++)
        ways += in_use(p, &set[i]) ? set[i].lines : 0;
    for (;;) { /* pseudo-LRU by age, until the lines of this window fit (DSB-16) */
        struct dsb_record *oldest = NULL;
        slot = NULL;
        for (uint32_t i = 0; i < p->dsb_records; i++) {
            if (!in_use(p, &set[i]))
                slot = &set[i];
            else if (!oldest || set[i].used < oldest->used)
                oldest = &set[i];
        }
        if (slot && ways <= p->dsb_records)
            break;
        assert(oldest);
        ways -= oldest->lines;
        oldest->end = 0;
    }
    *slot = (struct dsb_record){
        .entry = b->entry, .end = b->end, .used = ++p->dsb_clock, .run = p->run, .lines = (uint8_t)b->lines};
}

/* A window goes if any of its bytes were in the line: its own two windows, and what ran over from before. */
static void drop_line(struct pipe *p, uint64_t line)
{
    uint64_t first = pipe__window(line);
    for (uint64_t w = first - 1; w != first + 2; w++) {
        struct dsb_record *set = set_of(p, w);
        for (uint32_t i = 0; i < p->dsb_records; i++)
            if (in_use(p, &set[i]) && set[i].entry < line + 64 && set[i].end > line)
                set[i].end = 0;
    }
    if (p->build.open && p->build.entry < line + 64 && p->build.end > line)
        p->build.open = false;
}

void dsb__follow_evictions(struct pipe *p)
{
    const struct evicted_code *log = p->evicted_code;
    if (log->n - p->evicted_seen > EVICTED_CODE) {
        p->run++; /* all of them */
        p->build.open = false;
        p->evicted_seen = log->n;
    }
    while (p->evicted_seen != log->n)
        drop_line(p, log->line[p->evicted_seen++ % EVICTED_CODE]);
}

void dsb__build_close(struct pipe *p)
{
    struct dsb_build *b = &p->build;
    if (!b->open)
        return;
    b->open = false;
    bool fits = b->lines <= p->core->dsb_lines_per_window;
    if (p->core->jcc_erratum && b->last_is_branch && pipe__window(b->last_start) != pipe__window(b->last_end))
        fits = false; /* FE-17 */
    if (b->lcp_first_hit && b->lcp_second_hits >= 2)
        fits = false; /* DSB-7 */
    uint64_t *mark = &p->uncacheable[b->window & 4095];
    if (!fits) {
        *mark = b->window;
        p->any_uncacheable = true;
        return;
    }
    if (*mark == b->window)
        *mark = UINT64_MAX;
    if (b->end > b->entry && b->lines)
        insert(p, b);
}

static void open_window(struct pipe *p, uint64_t addr)
{
    p->build = (struct dsb_build){.open = true, .window = pipe__window(addr), .entry = addr, .closed = true};
}

/* DSB-7, LCP case: by the 16-byte half in which the nominal opcode lies. */
static void note_lcp(struct dsb_build *b, const struct fetched *f)
{
    bool hit = f->insn->flags & INSN_LCP && f->insn->fuses_with;
    uint64_t half = (f->addr + f->insn->opcode_off) / 16;
    if (half == 2 * b->window)
        b->lcp_first_hit = hit;
    else if (half == 2 * b->window + 1)
        b->lcp_second_hits += hit;
}

static void place(struct pipe *p, struct dsb_build *b, const struct insn *insn)
{
    if (insn->has_ms) {
        b->lines++;
        b->closed = true;
    } else if (b->closed || b->slots + insn->dsb_slots > p->core->dsb_line_uops) {
        b->lines++;
        b->slots = insn->dsb_slots;
        b->closed = false;
    } else {
        b->slots += insn->dsb_slots;
    }
}

/* The decoders pass every instruction through here; `second` is the absorbed half of a pair. */
void dsb__build(struct pipe *p, const struct fetched *f, const struct fetched *second)
{
    struct dsb_build *b = &p->build;
    if (p->unrolled)
        return;
    if (!b->open || b->window != pipe__window(f->addr) || b->end != f->addr) {
        dsb__build_close(p);
        open_window(p, f->addr);
    }
    note_lcp(b, f);
    place(p, b, f->insn);
    b->end = f->addr + f->insn->len;
    b->last_start = f->addr;
    b->last_end = b->end;
    b->last_is_branch = f->insn->branch != BRANCH_NONE;
    if (second) { /* FE-17: the pair counts as one branch */
        b->end = b->last_end = second->addr + second->insn->len;
        b->last_is_branch = true;
        note_lcp(b, second);
    }
    if (f->flags & F_TAKEN || pipe__window(b->end) != b->window)
        dsb__build_close(p);
}

/* DSB-13: uops allowed from the second line of a cycle after `k` from the first. */
static unsigned second_line(bool same_window, bool taken, bool cut_before, bool from_start, unsigned k,
                            unsigned last_slot, unsigned width)
{
    static const uint8_t after_start[] = {6, 4, 4, 2, 2, 1, 0};
    unsigned rest = width - k;
    if (same_window)
        return taken && !cut_before ? 0 : rest;
    if (from_start)
        return after_start[k];
    if (!taken)
        return rest;
    if (k == 1 || (k == 2 && last_slot >= 4))
        return 4;
    return rest < 2 ? rest : 2;
}

/* One line, or what is left of it. Returns true if the cycle may go on with the next line. */
struct line_end {
    bool finished;
    bool taken, bubble;
    uint64_t window;
    unsigned last_slot;
    bool ms;
};

static bool deliver_line(struct pipe *p, unsigned *got, unsigned limit, struct line_end *end)
{
    bool first = true, taken_before = end->taken;
    *end = (struct line_end){0};
    for (;;) {
        if (!fetch__ensure(p, p->delivered)) {
            end->finished = true;
            return !first;
        }
        struct fetched *f = pipe__fetched(p, p->delivered);
        if (f->source != FETCH_DSB || (!first && f->flags & F_LINE_START && p->dsb_lam == 0)) {
            end->finished = true;
            return true;
        }
        if (p->dsb_lam == 0 && f->flags & F_LINE_START)
            p->dsb_pos = 0;
        if ((p->predictor || !p->endless) && f->flags & F_TAKEN && taken_before) /* FE-20: one a cycle */
            return false;
        first = false;
        unsigned n = f->insn->mite_lams;
        while (p->dsb_lam < n) {
            unsigned slots = f->insn->flags & INSN_EXTRA_SLOT && p->dsb_lam == n - 1 ? 2 : 1;
            if (*got + slots > limit)
                return false;
            idq__deliver(p, p->delivered, p->dsb_lam, p->dsb_lam + 1, false);
            *got += 1;
            p->dsb_lam++;
            p->dsb_pos += slots;
            if (slots == 2)
                p->dsb_cut = true; /* DSB-11 */
        }
        end->taken = f->flags & F_TAKEN;
        end->bubble = f->flags & F_BUBBLE;
        end->window = pipe__window(f->addr);
        end->last_slot = p->dsb_pos - 1;
        p->dsb_lam = 0;
        fetch__delivered(p, f);
        p->delivered += f->flags & F_PAIR ? 2 : 1;
        if (f->insn->has_ms) { /* DSB-10, MS-2 */
            end->ms = end->finished = true;
            p->ms_busy = true;
            p->ms_stall = p->core->ms_stall_dsb_cyc;
            p->ms_tail = 0;
            p->ms_fetched = p->delivered - (f->flags & F_PAIR ? 2 : 1);
            p->ms_lam = n;
            p->cur->flags |= REPORT_MS_SWITCH;
            return true;
        }
        if (end->taken) {
            end->finished = true;
            return true;
        }
        if (p->dsb_cut) {
            end->finished = true;
            return true;
        }
    }
}

void dsb__step(struct pipe *p)
{
    unsigned got = 0, limit = p->core->dsb_width;
    bool cut_before = p->dsb_cut;
    p->dsb_cut = false;

    struct line_end end = {0};

    for (int line = 0; line < 2; line++) {
        const struct fetched *f = pipe__fetched(p, p->delivered);
        if (line == 1 && f->insn->has_ms)
            return;
        bool from_start = p->dsb_lam == 0 && f->flags & F_LINE_START;
        if (!deliver_line(p, &got, limit, &end) || !end.finished)
            return;
        if (end.bubble) { /* FE-20 */
            p->bubble_until = p->now + 2;
            return;
        }
        if (end.ms || p->dsb_cut || line == 1 || !fetch__ensure(p, p->delivered))
            return;
        const struct fetched *next = pipe__fetched(p, p->delivered);
        if (next->source != FETCH_DSB) {
            p->dsb_switch = next->source == FETCH_MITE; /* DSB-14 */
            return;
        }
        if (p->core->dsb_width == 6) {
            unsigned more = second_line(pipe__window(next->addr) == end.window, end.taken, cut_before,
                                        from_start, got, end.last_slot, 6);
            limit = got + more < 6 ? got + more : 6;
        }
    }
}
