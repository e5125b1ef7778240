/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of front end and issue: BD-1, BD-3 to BD-5, LSD-2.
 *
 * Each is the number of cycles in which a stage must be active per iteration, found by running the stage
 * alone until its state at the start of an iteration repeats. As only one of MITE, DSB and MS is active in a
 * cycle (CY-5), cycles of the MS count in the bounds of MITE and DSB, and in a loop that begins in the DSB
 * and goes on in MITE the cycles of the DSB part count in the bounds of MITE.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "loop/layout.h"

/* --- issue: BD-1 with ID-3, LSD-2 ------------------------------------------------------------- */

enum { ALONE = 64, OPENS_GROUP = 128, SIZE = 63, MAX_WIDTH = 64 };

struct slots {
    uint8_t *lam; /* slots of each laminated uop; ALONE: nothing else in its cycle (RN-15) */
    size_t n;
    unsigned total;
    bool plain; /* one slot each */
};

static bool list_slots(const struct layout *l, struct scratch *scratch, struct slots *s)
{
    size_t most = 0;
    for (size_t i = 0; i < l->n; i++)
        most += l->item[i].recipe->n_lams + 5u;
    *s = (struct slots){.lam = scratch__alloc(scratch, most, 1), .plain = true};
    if (!s->lam)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const struct item *it = &l->item[i];
        const struct recipe *r = it->recipe;
        if (it->sync)
            s->lam[s->n++] = 1;
        for (unsigned m = it->merge; m; m &= m - 1)
            s->lam[s->n++] = 1 | ALONE;
        for (unsigned k = 0; k < r->n_lams; k++) {
            unsigned size = r->lams[k].n_fused < SIZE ? r->lams[k].n_fused : SIZE;
            if (k == 0 && it->insn->flags & INSN_SERIALIZING) /* RN-1 */
                size |= OPENS_GROUP;
            s->lam[s->n++] = (uint8_t)size;
            s->plain = s->plain && size == 1;
        }
        s->plain = s->plain && !it->merge;
    }
    for (size_t i = 0; i < s->n; i++)
        s->total += s->lam[i] & SIZE;
    return true;
}

/* Issues one iteration after `used` slots of a cycle. Returns the cycles begun. */
static unsigned issue_once(const struct slots *s, unsigned width, unsigned *used)
{
    unsigned groups = 0, u = *used;
    for (size_t i = 0; i < s->n; i++) {
        unsigned size = s->lam[i] & SIZE;
        bool alone = s->lam[i] & ALONE;
        if (u == 0 || u + size > width || s->lam[i] & (ALONE | OPENS_GROUP)) {
            groups++;
            u = 0;
        }
        u = alone || u + size >= width ? 0 : u + size;
    }
    *used = u;
    return groups;
}

static double issue_cycles(const struct slots *s, unsigned width)
{
    struct {
        unsigned iteration, groups;
        bool seen;
    } at[MAX_WIDTH] = {0};
    unsigned used = 0, groups = 0;

    assert(width <= MAX_WIDTH);
    if (s->plain)
        return (double)s->total / width;
    for (unsigned k = 0;; k++) {
        if (at[used].seen)
            return (double)(groups - at[used].groups) / (k - at[used].iteration);
        at[used].seen = true;
        at[used].iteration = k;
        at[used].groups = groups;
        groups += issue_once(s, width, &used);
    }
}

static double lsd_cycles(const struct slots *s, unsigned width, unsigned unroll)
{
    unsigned used = 0, groups = 0;
    for (unsigned k = 0; k < unroll; k++)
        groups += issue_once(s, width, &used);
    return (double)groups / unroll;
}

/* --- predecoder: BD-3 ------------------------------------------------------------------------- */

struct block16 {
    uint8_t ends;  /* instructions whose last byte lies in it */
    uint8_t cross; /* FE-9: the opcode of the instruction that crosses its end lies in it */
    uint8_t lcp;
};

static void count_insn(struct block16 *b, uint64_t n, uint64_t addr, const struct insn *insn)
{
    uint64_t start = addr / 16, end = (addr + insn->len - 1) / 16;
    b[end < n ? end : end % n].ends++;
    struct block16 *s = &b[start < n ? start : start % n];
    s->lcp = (uint8_t)(s->lcp + (insn->flags & INSN_LCP ? 1 : 0));
    if (start != end)
        s->cross = (addr + insn->opcode_off) / 16 == start;
}

static unsigned block_steps(const struct block16 *b, unsigned width)
{
    unsigned steps = (b->ends + width - 1) / width;
    if (b->ends && b->ends % width == 0 && b->cross)
        steps++;
    return steps ? steps : 1; /* 17.2 */
}

static unsigned gcd16(uint32_t length)
{
    unsigned low = length & (0u - length);
    return low < 16 ? low : 16;
}

static double predecode_cycles(const struct layout *l, size_t from, struct scratch *scratch, bool *lcp)
{
    const struct core *core = l->core;
    uint64_t start = l->item[from].addr;
    uint64_t base = start & ~15ull;
    unsigned copies = l->unrolled ? 16 / gcd16(l->length_bytes) : 1;
    const struct item *last = &l->item[l->n - 1];
    uint64_t n = l->unrolled ? (uint64_t)copies * l->length_bytes / 16
                             : (last->addr + last->len - 1) / 16 - start / 16 + 1;
    struct block16 *b = scratch__alloc(scratch, n, sizeof *b);
    if (!b)
        return NAN;

    memset(b, 0, n * sizeof *b);
    for (unsigned c = 0; c < copies; c++)
        for (size_t i = from; i < l->n; i++) {
            const struct item *it = &l->item[i];
            uint64_t addr = it->addr - base + (uint64_t)c * l->length_bytes;
            count_insn(b, n, addr, it->insn);
            if (it->second)
                count_insn(b, n, addr + it->insn->len, it->second);
        }
    uint64_t cycles = 0;
    unsigned previous = block_steps(&b[n - 1], core->predecode_width);
    *lcp = false;
    for (uint64_t i = 0; i < n; i++) {
        unsigned steps = block_steps(&b[i], core->predecode_width);
        unsigned stall = core->lcp_stall_cyc * b[i].lcp;
        if (stall > previous - 1) { /* FE-13 */
            cycles += stall - (previous - 1);
            *lcp = true;
        }
        cycles += steps;
        previous = steps;
    }
    return (double)cycles / copies;
}

/* --- decoders: BD-4 --------------------------------------------------------------------------- */

/* A decode group that is being filled; n = 0: none. */
struct group {
    unsigned n, simple;
};

static bool joins_group(const struct core *core, const struct group *g, const struct insn *insn)
{
    if (g->n == 0 || g->n >= core->decoders)
        return false;
    if (insn->fuses_with && !core->fuse_on_last_decoder && g->n == core->decoders - 1) /* DE-8 */
        return false;
    return !(insn->flags & INSN_COMPLEX) && g->simple > 0; /* DE-2, DE-4 */
}

static bool ends_group(const struct core *core, const struct item *it)
{
    return it->second || it->insn->branch != BRANCH_NONE || it->insn->has_ms || /* DE-7 */
           (it->insn->flags & INSN_POP5C && core->pop5c_ends_group);            /* DE-6 */
}

static unsigned decode_once(const struct layout *l, size_t from, struct group *g)
{
    const struct core *core = l->core;
    unsigned groups = 0;
    for (size_t i = from; i < l->n; i++) {
        const struct item *it = &l->item[i];
        if (joins_group(core, g, it->insn)) {
            g->simple--;
            g->n++;
        } else {
            groups++;
            g->n = 1;
            g->simple = it->insn->flags & INSN_COMPLEX ? it->insn->simple_after : core->decoders - 1;
        }
        if (ends_group(core, it))
            g->n = 0;
    }
    return groups;
}

static double decode_cycles(const struct layout *l, size_t from)
{
    struct group g = {0};
    struct {
        struct group at;
        unsigned iteration, groups;
    } seen[64];
    unsigned groups = 0, n = 0;

    if (!l->unrolled) /* DE-7: the final branch ends the last group */
        return decode_once(l, from, &g);
    for (unsigned k = 0; k < 64; k++) {
        if (g.n == 0)
            g.simple = 0;
        for (unsigned i = 0; i < n; i++)
            if (seen[i].at.n == g.n && seen[i].at.simple == g.simple)
                return (double)(groups - seen[i].groups) / (k - seen[i].iteration);
        seen[n].at = g;
        seen[n].iteration = k;
        seen[n++].groups = groups;
        groups += decode_once(l, from, &g);
    }
    return groups ? (groups - 1) / 64.0 : 0;
}

/* --- microcode sequencer: MS-1, MS-2 ---------------------------------------------------------- */

static unsigned ms_cycles(const struct layout *l, const struct item *it, bool mite)
{
    const struct core *core = l->core;
    if (!it->insn->has_ms)
        return 0;
    unsigned before = mite ? core->ms_stall_mite_cyc : core->ms_stall_dsb_cyc;
    unsigned after = mite ? core->ms_stall_mite_cyc : 0;
    unsigned uops = (it->ms_lams + core->ms_width - 1) / core->ms_width;
    return before + uops + (after || uops ? after : 1);
}

static unsigned all_ms_cycles(const struct layout *l)
{
    unsigned cycles = 0;
    for (size_t i = 0; i < l->n; i++)
        cycles += ms_cycles(l, &l->item[i], l->unrolled || i >= l->mite_from);
    return cycles;
}

/* --- DSB: DSB-10 to DSB-13 -------------------------------------------------------------------- */

struct dsb {
    const struct layout *l;
    size_t at, end; /* item to deliver next; items served */
    unsigned lam;   /* of that item */
    unsigned pos;   /* slots of the current line already delivered */
    bool cut;       /* DSB-11 ended the previous cycle */
    unsigned iteration;
};

struct line {
    bool more;  /* the next line may follow in this cycle */
    bool taken; /* the loop end was delivered */
    uint64_t window;
    unsigned last_slot;
};

static struct line deliver_line(struct dsb *d, unsigned *got, unsigned limit)
{
    const struct layout *l = d->l;
    struct line out = {0};

    for (bool first = true;; first = false) {
        const struct item *it = &l->item[d->at];
        if (d->lam == 0 && it->line_start) {
            if (!first)
                break;
            d->pos = 0;
        }
        for (; d->lam < it->front_lams; d->lam++) {
            unsigned slots = it->insn->flags & INSN_EXTRA_SLOT && d->lam + 1u == it->front_lams ? 2 : 1;
            if (*got + slots > limit)
                return (struct line){0};
            *got += 1;
            d->pos += slots;
            d->cut |= slots == 2;
        }
        out.window = it->addr / 32;
        out.last_slot = d->pos - 1;
        out.taken = d->at + 1 == l->n;
        d->lam = 0;
        if (++d->at == d->end) {
            d->at = 0;
            d->iteration++;
            if (!out.taken) /* MITE goes on: DSB-14 */
                return (struct line){0};
        }
        if (it->insn->has_ms)
            return (struct line){0};
        if (out.taken || d->cut)
            break;
    }
    out.more = !d->cut;
    return out;
}

/* DSB-13 */
static unsigned second_line(const struct line *first, bool same_window, bool cut_before, bool from_start,
                            unsigned k)
{
    static const uint8_t after_start[] = {6, 4, 4, 2, 2, 1, 0};
    unsigned rest = 6 - k;
    if (same_window)
        return first->taken && !cut_before ? 0 : rest;
    if (from_start)
        return after_start[k];
    if (!first->taken)
        return rest;
    if (k == 1 || (k == 2 && first->last_slot >= 4))
        return 4;
    return rest < 2 ? rest : 2;
}

static void dsb_cycle(struct dsb *d)
{
    const unsigned width = d->l->core->dsb_width;
    const struct item *it = &d->l->item[d->at];
    bool cut_before = d->cut, from_start = d->lam == 0 && it->line_start;
    unsigned got = 0, limit = width;

    d->cut = false;
    struct line first = deliver_line(d, &got, limit);
    it = &d->l->item[d->at];
    if (!first.more || it->insn->has_ms) /* DSB-10 */
        return;
    if (width == 6) {
        unsigned more = second_line(&first, it->addr / 32 == first.window, cut_before, from_start, got);
        limit = got + more < width ? got + more : width;
    }
    deliver_line(d, &got, limit);
}

/* The cached part of a loop that goes on in MITE. */
static unsigned dsb_part(const struct layout *l)
{
    struct dsb d = {.l = l, .end = l->mite_from};
    unsigned cycles = 0;
    while (d.iteration == 0) {
        dsb_cycle(&d);
        cycles++;
    }
    return cycles;
}

static double dsb_cycles(const struct layout *l)
{
    enum { MOST = 48 };
    struct {
        struct dsb at;
        unsigned cycles;
    } seen[MOST];
    struct dsb d = {.l = l, .end = l->n};
    unsigned cycles = 0, n = 0, last = 0;

    for (bool start = true; n < MOST; start = d.iteration != last) {
        last = d.iteration;
        if (start) {
            for (unsigned i = 0; i < n; i++) {
                const struct dsb *s = &seen[i].at;
                if (s->at == d.at && s->lam == d.lam && s->pos == d.pos && s->cut == d.cut)
                    return (double)(cycles - seen[i].cycles) / (d.iteration - s->iteration);
            }
            seen[n].at = d;
            seen[n++].cycles = cycles;
        }
        dsb_cycle(&d);
        cycles++;
    }
    return (double)(cycles - 1) / (d.iteration + 1);
}

/* --- all -------------------------------------------------------------------------------------- */

void front__bounds(const struct layout *l, struct scratch *scratch, struct front_bounds *out)
{
    struct slots slots;
    const unsigned width = l->core->issue_width;

    *out = (struct front_bounds){.predecode = NAN, .decode = NAN, .dsb = NAN, .lsd = NAN, .issue = NAN};
    if (!list_slots(l, scratch, &slots))
        return;
    out->issue = issue_cycles(&slots, width);
    if (l->lsd) {
        out->lsd = lsd_cycles(&slots, width, l->lsd_unroll);
        return;
    }
    double ms = all_ms_cycles(l);
    if (!l->unrolled && l->mite_from == l->n) {
        out->dsb = dsb_cycles(l) + ms;
        return;
    }
    size_t from = l->unrolled ? 0 : l->mite_from;
    double other = ms + (from ? dsb_part(l) : 0);
    out->predecode = other + predecode_cycles(l, from, scratch, &out->lcp);
    out->decode = other + decode_cycles(l, from);
}
