/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kinds of loops are found:
 *   - straight loops: a run of blocks through which control can only fall, and whose last branch goes to
 *     its first instruction. They are their bytes wherever they are entered, even where another loop
 *     shares their header or enters them in the middle.
 *   - natural loops: merged by header, from dominators. One that holds another loop is not innermost.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "loop/cfg.h"

/* ---- dominators ---- */

static uint32_t common_dominator(const struct cfg *cfg, uint32_t a, uint32_t b)
{
    const struct cfg_block *block = cfg->block.item;
    while (a != b) {
        while (block[a].order > block[b].order)
            a = block[a].idom;
        while (block[b].order > block[a].order)
            b = block[b].idom;
    }
    return a;
}

/* Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm (2001). */
static void find_dominators(struct cfg *cfg)
{
    struct cfg_block *block = cfg->block.item;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < cfg->order.n; i++) {
            uint32_t b = cfg->order.item[i], idom = CFG_NONE;
            if (block[b].region == b) {
                block[b].idom = b;
                continue;
            }
            for (uint32_t p = cfg->pred_start.item[b]; p < cfg->pred_start.item[b + 1]; p++) {
                uint32_t pred = cfg->pred.item[p];
                if (block[pred].idom != CFG_NONE)
                    idom = idom == CFG_NONE ? pred : common_dominator(cfg, idom, pred);
            }
            assert(idom != CFG_NONE);
            changed = changed || block[b].idom != idom;
            block[b].idom = idom;
        }
    }
}

static bool dominates(const struct cfg *cfg, uint32_t a, uint32_t b)
{
    const struct cfg_block *block = cfg->block.item;
    while (block[b].order > block[a].order)
        b = block[b].idom;
    return a == b;
}

/* ---- loops ---- */

static bool is_back_edge(const struct cfg *cfg, uint32_t from, uint32_t to)
{
    return cfg->block.item[from].order >= cfg->block.item[to].order && dominates(cfg, to, from);
}

static bool is_header(const struct cfg *cfg, uint32_t b)
{
    for (uint32_t p = cfg->pred_start.item[b]; p < cfg->pred_start.item[b + 1]; p++)
        if (is_back_edge(cfg, cfg->pred.item[p], b))
            return true;
    return false;
}

static bool add_to_body(struct cfg *cfg, uint32_t b, uint32_t header)
{
    if (cfg->mark.item[b] == header)
        return true;
    cfg->mark.item[b] = header;
    cfg->block.item[b].depth++;
    return vector__push(&cfg->body, b);
}

/* The blocks that reach a back branch without passing the header. Marks are the number of the header. */
static bool collect_body(struct cfg *cfg, struct cfg_loop *loop)
{
    const uint32_t *start = cfg->pred_start.item;
    uint32_t h = loop->header;

    loop->first_body = (uint32_t)cfg->body.n;
    if (!add_to_body(cfg, h, h))
        return false;
    for (uint32_t p = start[h]; p < start[h + 1]; p++)
        if (is_back_edge(cfg, cfg->pred.item[p], h) && !add_to_body(cfg, cfg->pred.item[p], h))
            return false;
    for (size_t i = loop->first_body + 1u; i < cfg->body.n; i++) {
        uint32_t b = cfg->body.item[i];
        for (uint32_t p = start[b]; p < start[b + 1]; p++)
            if (!add_to_body(cfg, cfg->pred.item[p], h))
                return false;
    }
    loop->n_body = (uint32_t)cfg->body.n - loop->first_body;
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t block_end(const struct cfg *cfg, uint32_t b)
{
    const struct cfg_insn *last = cfg__last_insn(cfg, &cfg->block.item[b]);
    return last->offset + last->len;
}

/* From the header to its farthest back branch; everything if the header is not the first block. */
static void find_extent(const struct cfg *cfg, struct cfg_loop *loop)
{
    const uint32_t *body = cfg->body.item + loop->first_body;
    uint32_t h = loop->header, end = 0;

    loop->start = cfg->insn.item[cfg->block.item[body[0]].first].offset;
    loop->end = block_end(cfg, body[loop->n_body - 1]);
    if (body[0] != h)
        return;
    for (uint32_t p = cfg->pred_start.item[h]; p < cfg->pred_start.item[h + 1]; p++)
        if (is_back_edge(cfg, cfg->pred.item[p], h) && block_end(cfg, cfg->pred.item[p]) > end)
            end = block_end(cfg, cfg->pred.item[p]);
    loop->end = end;
}

/* How much an instruction in a loop keeps it from being its bytes; 0: not at all. */
static int obstacle_rank(const struct cfg_insn *insn)
{
    if (insn->into_middle)
        return 6;
    switch ((enum cfg_kind)insn->kind) {
    case CFG_BAD:
        return 5;
    case CFG_CALL:
        return 4;
    case CFG_SYSTEM:
        return 3;
    case CFG_INDIRECT:
        return 2;
    case CFG_COND:
    case CFG_JUMP:
        return 1;
    default:
        return 0;
    }
}

/* What keeps a natural loop from being its bytes: the first of the worst. */
static void find_obstacle(const struct cfg *cfg, struct cfg_loop *loop)
{
    const uint32_t *body = cfg->body.item + loop->first_body;
    const struct cfg_insn *last = cfg__last_insn(cfg, &cfg->block.item[body[loop->n_body - 1]]);
    int worst = 0;

    for (uint32_t i = 0; i < loop->n_body; i++) {
        const struct cfg_block *block = &cfg->block.item[body[i]];
        loop->n_insns += block->n;
        for (uint32_t k = block->first; k < block->first + block->n; k++) {
            int rank = obstacle_rank(&cfg->insn.item[k]);
            if (rank > worst && (&cfg->insn.item[k] != last || rank > 1)) {
                worst = rank;
                loop->obstacle = k;
            }
        }
    }
    assert(worst > 0); /* it would be a straight loop */
}

/* ---- straight loops ---- */

static bool has_obstacle(const struct cfg *cfg, const struct cfg_block *block, uint32_t n_insns)
{
    for (uint32_t k = block->first; k < block->first + n_insns; k++)
        if (cfg->insn.item[k].kind == CFG_STOP || obstacle_rank(&cfg->insn.item[k]) > 0)
            return true;
    return false;
}

/* The first block of the straight loop that ends with block `last`, or CFG_NONE. */
static uint32_t straight_start(const struct cfg *cfg, uint32_t last)
{
    const struct cfg_block *block = &cfg->block.item[last];
    const struct cfg_insn *branch = cfg__last_insn(cfg, block);
    uint32_t start = block->succ[1];

    if (start == CFG_NONE || start > last || branch->into_middle ||
        cfg->block.item[start].region == CFG_NONE || has_obstacle(cfg, block, block->n - 1))
        return CFG_NONE;
    for (uint32_t b = last; b-- > start;)
        if (has_obstacle(cfg, &cfg->block.item[b], cfg->block.item[b].n))
            return CFG_NONE;
    return start;
}

static bool add_straight(struct cfg *cfg, uint32_t first, uint32_t last)
{
    struct cfg_loop loop = {.start = cfg->insn.item[cfg->block.item[first].first].offset,
                            .end = block_end(cfg, last),
                            .header = first,
                            .first_body = (uint32_t)cfg->body.n,
                            .n_body = last - first + 1,
                            .innermost = true,
                            .simple = true};
    for (uint32_t b = first; b <= last; b++) {
        loop.n_insns += cfg->block.item[b].n;
        cfg->block.item[b].straight = (uint32_t)cfg->loop.n;
        if (!vector__push(&cfg->body, b))
            return false;
    }
    return vector__push(&cfg->loop, loop);
}

static bool find_straight(struct cfg *cfg)
{
    for (uint32_t b = 0; b < cfg->block.n; b++) {
        uint32_t first = straight_start(cfg, b);
        if (first != CFG_NONE && !add_straight(cfg, first, b))
            return false;
    }
    return true;
}

/* Every loop around a straight one holds all of its blocks. */
static void measure_straight(const struct cfg *cfg, struct cfg_loop *loop)
{
    loop->depth = CFG_NONE;
    for (uint32_t b = loop->header; b < loop->header + loop->n_body; b++)
        if (cfg->block.item[b].depth < loop->depth)
            loop->depth = cfg->block.item[b].depth;
    if (!loop->natural)
        loop->depth++; /* blocks count natural loops only */
}

/* ---- all ---- */

/* Keeps the body of an innermost loop only. */
static bool measure_natural(struct cfg *cfg, struct cfg_loop *loop)
{
    uint32_t straight = cfg->block.item[loop->header].straight;
    bool same = straight != CFG_NONE;

    if (!collect_body(cfg, loop))
        return false;
    for (uint32_t k = 0; k < loop->n_body; k++) {
        const struct cfg_block *block = &cfg->block.item[cfg->body.item[loop->first_body + k]];
        same = same && block->straight == straight;
        loop->innermost = loop->innermost && block->straight == CFG_NONE && (k == 0 || !block->header);
    }
    if (same && loop->n_body == cfg->loop.item[straight].n_body)
        cfg->loop.item[straight].natural = true;
    if (!loop->innermost) {
        cfg->body.n = loop->first_body;
        return true;
    }
    qsort(cfg->body.item + loop->first_body, loop->n_body, sizeof *cfg->body.item, compare_numbers);
    find_extent(cfg, loop);
    find_obstacle(cfg, loop);
    return true;
}

bool cfg__find_loops(struct cfg *cfg)
{
    cfg->loop.n = cfg->body.n = 0;
    find_dominators(cfg);
    if (!find_straight(cfg))
        return false;
    size_t n_straight = cfg->loop.n;
    memset(cfg->mark.item, 0xff, cfg->block.n * sizeof *cfg->mark.item);
    for (uint32_t b = 0; b < cfg->block.n; b++) {
        cfg->block.item[b].header = cfg->block.item[b].region != CFG_NONE && is_header(cfg, b);
        if (cfg->block.item[b].header &&
            !vector__push(&cfg->loop, ((struct cfg_loop){.header = b, .innermost = true})))
            return false;
    }
    for (size_t i = n_straight; i < cfg->loop.n; i++)
        if (!measure_natural(cfg, &cfg->loop.item[i]))
            return false;
    for (size_t i = 0; i < cfg->loop.n; i++) {
        struct cfg_loop *loop = &cfg->loop.item[i];
        if (loop->simple)
            measure_straight(cfg, loop);
        else
            loop->depth = cfg->block.item[loop->header].depth;
    }
    return true;
}
