/* SPDX-License-Identifier: Apache-2.0 */
/* From a block to its items, and which part of the front end serves them in steady state. */
#include <stdlib.h>

#include "loop/layout.h"

/* --- working memory --------------------------------------------------------------------------- */

struct scratch_heap {
    struct scratch_heap *next;
    max_align_t data[];
};

void scratch__init(struct scratch *s)
{
    s->heap = NULL;
    s->used = 0;
    s->failed = false;
}

void *scratch__alloc(struct scratch *s, size_t n, size_t size)
{
    size_t bytes = (n * size + 15) & ~(size_t)15;
    if (bytes <= sizeof s->stack - s->used) {
        void *p = s->stack + s->used;
        s->used += bytes;
        return p;
    }
    struct scratch_heap *h = malloc(sizeof *h + bytes);
    if (!h) {
        s->failed = true;
        return NULL;
    }
    h->next = s->heap;
    s->heap = h;
    return h->data;
}

void scratch__free(struct scratch *s)
{
    for (struct scratch_heap *h = s->heap, *next; h; h = next) {
        next = h->next;
        free(h);
    }
}

/* --- items ------------------------------------------------------------------------------------ */

static bool fuses(const struct insn *a, const struct insn *b)
{
    return b->cond < 16 && a->fuses_with >> b->cond & 1; /* MF-1 */
}

/* Unrolled copies follow each other: when the last instruction fuses with the first of the next copy,
 * the same stream is read from the second instruction on. */
static size_t first_of(const struct block *b)
{
    return b->unrolled && b->n > 1 && fuses(b->insn[b->n - 1], b->insn[0]) ? 1 : 0;
}

static void make_items(struct layout *l, const struct block *b)
{
    size_t first = first_of(b);
    uint64_t addr = b->address;

    l->n = 0;
    if (first)
        addr += b->insn[0]->len;
    l->address = addr;
    for (size_t i = 0; i < b->n; i++) {
        size_t at = i + first < b->n ? i + first : i + first - b->n;
        size_t next = at + 1 < b->n ? at + 1 : 0;
        struct item *it = &l->item[l->n++];
        *it = (struct item){
            .insn = b->insn[at], .addr = addr, .len = b->insn[at]->len, .position = (uint16_t)at};
        addr += it->len;
        if (it->insn->fuses_with && i + 1 < b->n && fuses(it->insn, b->insn[next]) &&
            (b->unrolled || addr % 64 != 0)) { /* MF-4; unrolled copies meet it now and then */
            it->second = b->insn[next];
            it->second_position = (uint16_t)next;
            it->len = (uint16_t)(it->len + it->second->len);
            addr += it->second->len;
            i++;
        }
    }
    l->length_bytes = (uint32_t)(addr - l->address);
}

/* --- what the renamer adds (RN-15, RN-17) ----------------------------------------------------- */

struct carried {
    int64_t offset;
    uint8_t dirty;
};

static unsigned track(struct item *it, struct carried *c)
{
    const struct insn *insn = it->insn;
    unsigned variant = it->second ? RECIPE_FUSED : RECIPE_BASE;

    it->sync = insn->flags & INSN_RSP_EXPLICIT && c->offset != 0;
    if (it->sync || insn->flags & INSN_RSP_WRITTEN)
        c->offset = 0;
    c->offset += insn->rsp_delta;
    it->merge = insn->wide_read & c->dirty;
    c->dirty &= (uint8_t)~insn->wide_read;
    if (insn->high_read & ~c->dirty)
        variant |= RECIPE_CLEAN_HIGH;
    c->dirty &= (uint8_t)~insn->wide_write;
    c->dirty |= insn->high_write;
    return variant;
}

static void choose_recipes(struct layout *l, struct isa *isa)
{
    struct carried c = {0};
    const struct core *core = l->core;

    for (size_t i = 0; i < l->n; i++) /* the state that the back edge carries */
        track(&l->item[i], &c);
    for (size_t i = 0; i < l->n; i++) {
        struct item *it = &l->item[i];
        struct insn *insn = it->insn;
        unsigned variant = track(it, &c);
        const struct recipe *r = isa__recipe(isa, insn, variant);
        const struct recipe *base = isa__recipe(isa, insn, RECIPE_BASE);
        it->front_lams = insn->mite_lams < base->n_lams ? insn->mite_lams : base->n_lams;
        it->ms_lams = insn->has_ms && r->n_lams > it->front_lams ? (uint16_t)(r->n_lams - it->front_lams) : 0;
        if (r->eliminated && !(insn->elim_dst >= R_VEC0 ? core->elim_slots_vec : core->elim_slots_gpr))
            r = isa__recipe(isa, insn, RECIPE_MOVE);
        it->recipe = r;
    }
}

/* --- DSB and LSD ------------------------------------------------------------------------------ */

/* A 32-byte window as the DSB would cache it. */
struct window {
    size_t first, end; /* items */
    bool cached;
};

static uint64_t window_of(uint64_t addr)
{
    return addr / 32;
}

/* DSB-7, LCP case: by the half in which the nominal opcode lies. */
struct lcp_halves {
    bool first_hit;
    unsigned second_hits;
};

static void note_lcp(struct lcp_halves *h, uint64_t window, const struct insn *insn, uint64_t addr)
{
    bool hit = insn->flags & INSN_LCP && insn->fuses_with;
    uint64_t half = (addr + insn->opcode_off) / 16;
    if (half == 2 * window)
        h->first_hit = hit;
    else if (half == 2 * window + 1)
        h->second_hits += hit;
}

/* DSB-1 to DSB-4, DSB-7, FE-17. Marks where lines start; returns the number of lines, 0: not cacheable. */
static unsigned fill_window(struct layout *l, const struct window *w)
{
    const struct core *core = l->core;
    unsigned lines = 0, slots = 0;
    bool closed = true;
    struct lcp_halves lcp = {0};
    uint64_t window = window_of(l->item[w->first].addr);

    for (size_t i = w->first; i < w->end; i++) {
        struct item *it = &l->item[i];
        unsigned need = it->insn->dsb_slots;
        it->line_start = it->insn->has_ms || closed || slots + need > core->dsb_line_uops;
        slots = it->line_start ? need : slots + need;
        lines += it->line_start;
        closed = it->insn->has_ms;
        note_lcp(&lcp, window, it->insn, it->addr);
        if (it->second)
            note_lcp(&lcp, window, it->second, it->addr + it->insn->len);
    }
    const struct item *last = &l->item[w->end - 1];
    bool branch = last->second || last->insn->branch != BRANCH_NONE;
    if (lines > core->dsb_lines_per_window || (lcp.first_hit && lcp.second_hits >= 2) ||
        (core->jcc_erratum && branch && window_of(last->addr) != window_of(last->addr + last->len)))
        return 0;
    return lines;
}

/* DSB-16: a set whose windows need more ways than it has keeps none of them over a pass. */
static void drop_overfull(const struct layout *l, struct window *w, size_t n, const uint8_t *lines)
{
    const struct core *core = l->core;
    if (n <= core->dsb_sets || !core->dsb_sets)
        return;
    for (size_t i = 0; i < core->dsb_sets && i < n; i++) {
        unsigned ways = 0;
        for (size_t k = i; k < n; k += core->dsb_sets)
            ways += lines[k];
        for (size_t k = i; ways > core->dsb_ways && k < n; k += core->dsb_sets)
            w[k].cached = false;
    }
}

static size_t split_windows(struct layout *l, struct window *w, uint8_t *lines, bool *all)
{
    size_t n = 0;
    *all = true;
    for (size_t i = 0; i < l->n;) {
        struct window *x = &w[n];
        x->first = i;
        uint64_t window = window_of(l->item[i].addr);
        while (i < l->n && window_of(l->item[i].addr) == window)
            i++;
        x->end = i;
        lines[n] = (uint8_t)fill_window(l, x);
        x->cached = lines[n] > 0;
        *all = *all && x->cached;
        n++;
    }
    return n;
}

/* DSB-6, DSB-8. Returns whether every window can be cached. */
static bool find_mite(struct layout *l, struct scratch *scratch)
{
    size_t most = l->length_bytes / 32 + 2;
    struct window *w = scratch__alloc(scratch, most, sizeof *w);
    uint8_t *lines = scratch__alloc(scratch, most, 1);
    bool all;

    if (!w || !lines)
        return false;
    size_t n = split_windows(l, w, lines, &all);
    bool capable = all;
    drop_overfull(l, w, n, lines);
    l->mite_from = l->n;
    for (size_t i = 0; i < n; i++) {
        uint64_t here = window_of(l->item[w[i].first].addr);
        bool ok = w[i].cached;
        for (size_t k = i ? i - 1 : 0; k < n && k <= i + 1; k++)
            if (l->core->dsb_both_halves && window_of(l->item[w[k].first].addr) == (here ^ 1) && !lines[k])
                ok = false;
        if (!ok) {
            l->mite_from = w[i].first;
            break;
        }
    }
    return capable;
}

static bool lockable(const struct insn *insn)
{
    return !insn->has_ms && insn->rsp_delta == 0 && !(insn->flags & INSN_WRITES_HIGH) &&
           insn->branch != BRANCH_CALL && insn->branch != BRANCH_CALL_INDIRECT && insn->branch != BRANCH_RET;
}

static void find_lsd(struct layout *l, struct isa *isa)
{
    uint32_t lams = 0;
    for (size_t i = 0; i < l->n; i++) {
        lams += isa__recipe(isa, l->item[i].insn, RECIPE_BASE)->n_lams;
        if (!lockable(l->item[i].insn))
            return;
    }
    if (lams > l->core->idq_entries) /* LSD-1 */
        return;
    l->lsd = true;
    l->lsd_unroll = lams < CORE_LSD_SIZES && l->core->lsd_unroll[lams] ? l->core->lsd_unroll[lams] : 1;
}

int layout__make(struct layout *out, const struct block *block, const struct core *core, struct isa *isa,
                 struct scratch *scratch)
{
    *out = (struct layout){
        .core = core, .unrolled = block->unrolled, .registers = (enum loop_registers)block->registers};
    out->item = scratch__alloc(scratch, block->n, sizeof *out->item);
    if (!out->item)
        return -1;
    make_items(out, block);
    choose_recipes(out, isa);
    if (!block->unrolled && find_mite(out, scratch) && core->lsd) /* FE-2 */
        find_lsd(out, isa);
    return scratch->failed ? -1 : 0;
}
