/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"
#include "trace/program_hints.h"
#include "trace/program_observe.h"

enum { MAX_ELEMENTS = 16 };

void blocks__free(struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->block.n; i++) {
        free(blocks->block.item[i].insn);
        free(blocks->block.item[i].step);
        free(blocks->block.item[i].slot);
        hints__free(&blocks->block.item[i]);
    }
    vector__free(&blocks->block);
    vector__free(&blocks->rep);
}

const struct rep_site *blocks__rep(const struct blocks *blocks, const struct site *head)
{
    for (size_t i = blocks->rep.n; i-- > 0;)
        if (blocks->rep.item[i].head == head)
            return &blocks->rep.item[i];
    return NULL;
}

/* The head's site of a REP instruction. The body is interned first: the newest site must be the head. */
static struct site *intern_rep(struct blocks *blocks, uint64_t addr, struct insn *insn)
{
    struct rep_site rep = {.insn = insn};
    struct insn *head = isa__rep_head(blocks->isa, insn);
    struct insn *body = isa__rep_body(blocks->isa, insn, blocks->rep_chunk_bytes);
    struct site *known = code__find(blocks->code, addr);

    if (!head || !body)
        return NULL;
    if (known && known->insn == head && blocks__rep(blocks, known))
        return known;
    rep.body = code__intern(blocks->code, addr, body);
    rep.head = rep.body ? code__intern(blocks->code, addr, head) : NULL;
    if (!rep.head || !vector__push(&blocks->rep, rep))
        return NULL;
    return rep.head;
}

static bool is_integer_division(const struct insn *insn)
{
    uint8_t opcode = insn->bytes[insn->opcode_off];

    return (insn->flags & INSN_DIVIDE) && (opcode == 0xf6 || opcode == 0xf7);
}

static void classify(struct template *t, const struct insn *insn)
{
    t->observed = (uint8_t)observe__insn(insn->bytes, insn->len);
    if (t->observed)
        t->flags |= TEMPLATE_OBSERVES;
    if (insn->flags & (INSN_CONDITIONAL_MEM | INSN_GATHER | INSN_REP))
        t->flags |= TEMPLATE_VARIES;
    if (is_integer_division(insn))
        t->flags |= TEMPLATE_DIVIDES;
    if (hint__is_one(insn))
        t->flags |= TEMPLATE_HINT;
}

/* Adds one instruction to a block: 1, or 0 when it and all behind it cannot execute in this block. */
static int add_insn(struct blocks *blocks, struct block *block, const uint8_t *bytes, bool last,
                    struct status *st)
{
    unsigned size = bytes[15];
    bool evex = bytes[0] == 0x62;
    int need = 0;
    struct insn *insn = isa__decode(blocks->isa, bytes, evex ? 15 : size, &need);
    struct template *t = &block->insn[block->n];

    if (!insn || insn->len > size) {
        /* qemu shows an instruction that crosses the page end as a cut-off last one, but executes it
         * in a block of its own. */
        block->illegal = evex || !last || block->n == 0 || (!insn && !need);
        block->evex = evex;
        memcpy(block->illegal_bytes, bytes, sizeof block->illegal_bytes);
        return 0;
    }
    if (insn->flags & INSN_REP && last) {
        t->site = intern_rep(blocks, block->end, insn);
        block->rep = true;
    } else {
        t->site = code__intern(blocks->code, block->end, insn);
    }
    if (!t->site)
        return status__fail(st, "out of memory after %u instruction addresses", code__count(blocks->code));
    classify(t, insn);
    /* the loader times itself for LD_DEBUG=statistics: that decides nothing */
    if (t->observed == OBSERVED_RDTSC &&
        t->site->addr - blocks->loader_start < blocks->loader_end - blocks->loader_start)
        t->flags &= (uint8_t)~TEMPLATE_OBSERVES;
    if (t->flags & TEMPLATE_HINT && !hints__add(block, block->n))
        return status__fail(st, "out of memory after %zu blocks of code", blocks->block.n);
    block->varies |= (t->flags & (TEMPLATE_VARIES | TEMPLATE_OBSERVES)) != 0;
    block->divides |= (t->flags & TEMPLATE_DIVIDES) != 0;
    block->max_access =
        (uint16_t)(block->max_access + (insn->flags & INSN_GATHER ? MAX_ELEMENTS : insn->n_mem));
    block->end += size;
    block->last_branch = insn->branch;
    block->target = 0;
    if (insn->branch == BRANCH_COND || insn->branch == BRANCH_JUMP || insn->branch == BRANCH_CALL)
        block->target = block->end + (uint64_t)insn->branch_disp;
    block->n++;
    return 1;
}

int blocks__define(struct blocks *blocks, const uint64_t *payload, unsigned n_words, struct status *st)
{
    uint64_t id = payload[0], n = payload[2];
    struct block *block;
    int rc = 1;

    if (n_words < 3 || n == 0 || n > BLOCK_MAX_INSNS || n_words != 3 + 2 * n || id != blocks->block.n)
        return status__fail(st, "the tracer sent a damaged block definition (block %llu); please report this",
                            (unsigned long long)id);
    block = vector__add(&blocks->block);
    if (!block || !(block->insn = calloc(n, sizeof *block->insn)))
        return status__fail(st, "out of memory after %zu blocks of code", blocks->block.n);
    block->vaddr = block->end = payload[1];
    for (uint64_t i = 0; i < n && rc == 1; i++)
        rc = add_insn(blocks, block, (const uint8_t *)&payload[3 + 2 * i], i + 1 == n, st);
    return rc < 0 ? -1 : 0;
}
