/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants after cfg__build:
 *   1. insn[] covers the code without gaps; every block is a run of it; every insn is in one block.
 *   2. Only the last instruction of a block is a jump, a conditional branch or a stop.
 *   3. Edges between blocks of different regions do not count: a handler that nothing visible leads
 *      to must not hide a loop by jumping into it.
 *   4. Every block with a region can be reached from its root, and order[] lists them all; a dominator
 *      comes before what it dominates.
 */
#include "loop/cfg.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

/* ---- instructions ---- */

static bool is_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    default:
        return byte >= 0x40 && byte <= 0x4f;
    }
}

enum opcode_kind { OPCODE_PLAIN, OPCODE_NOP, OPCODE_LOOK };

/* A sieve before the full decoder, which costs several times the length: may the instruction transfer
 * control? */
static enum opcode_kind sift(const uint8_t *bytes, unsigned len)
{
    unsigned i = 0;
    while (i + 1 < len && is_prefix(bytes[i]))
        i++;
    uint8_t opcode = bytes[i], next = i + 1 < len ? bytes[i + 1] : 0;

    if (opcode == 0x0f) {
        if (next == 0x1f)
            return OPCODE_NOP;
        return (next >= 0x80 && next <= 0x8f) || memchr("\x01\x05\x07\x0b\x34\x35\xb9\xff", next, 8)
                   ? OPCODE_LOOK
                   : OPCODE_PLAIN;
    }
    if (opcode == 0x90)
        return i == 0 || (bytes[i - 1] == 0x66 && i == 1) ? OPCODE_NOP : OPCODE_PLAIN;
    if (opcode == 0xff)
        return (next >> 3 & 7) >= 2 && (next >> 3 & 7) <= 5 ? OPCODE_LOOK : OPCODE_PLAIN;
    if (opcode == 0xc7)
        return next == 0xf8 ? OPCODE_LOOK : OPCODE_PLAIN;
    if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3) ||
        memchr("\xc2\xc3\xca\xcb\xcc\xcd\xcf\xe8\xe9\xeb\xf1\xf4", opcode, 12))
        return OPCODE_LOOK;
    return OPCODE_PLAIN;
}

static enum cfg_kind kind_of(const struct decoded *d)
{
    static const char *const calls[] = {"SYSCALL", "SYSENTER", "INT", NULL};
    static const char *const traps[] = {"UD0", "UD1", "UD2", "HLT", NULL};

    switch (decoded__branch(d)) {
    case BRANCH_COND:
        return CFG_COND;
    case BRANCH_JUMP:
        return CFG_JUMP;
    case BRANCH_INDIRECT:
        return CFG_INDIRECT;
    case BRANCH_CALL:
    case BRANCH_CALL_INDIRECT:
        return CFG_CALL;
    case BRANCH_RET:
        return CFG_STOP;
    case BRANCH_OTHER:
        if (decoded__mnemonic_is(d, calls))
            return CFG_SYSTEM;
        return strcmp(d->mnemonic, "CALL") == 0 ? CFG_CALL : CFG_STOP;
    case BRANCH_NONE:
        break;
    }
    return decoded__mnemonic_is(d, traps) ? CFG_STOP : CFG_PLAIN;
}

/* Kind of an instruction; offset of the target of a direct branch or call, else -1. */
static enum cfg_kind classify(const struct isa *isa, const struct cfg_code *code, uint32_t offset,
                              unsigned len, int64_t *target)
{
    struct decoded d;
    enum opcode_kind sifted = sift(code->bytes + offset, len);

    *target = -1;
    if (sifted != OPCODE_LOOK)
        return sifted == OPCODE_NOP ? CFG_NOP : CFG_PLAIN;
    decoder__decode(isa->decoder, code->bytes + offset, len, &d);
    enum cfg_kind kind = kind_of(&d);
    if (kind != CFG_COND && kind != CFG_JUMP && kind != CFG_CALL)
        return kind;
    if (code->relocated && code->relocated(code->context, offset, len, target))
        return kind;
    for (unsigned i = 0; i < d.n_operands; i++)
        if (d.operand[i].type == OPERAND_IMM && d.operand[i].relative)
            *target = (int64_t)offset + len + d.operand[i].value;
    return kind;
}

/* The instruction that holds `offset`. */
static uint32_t insn_at(const struct cfg *cfg, uint32_t offset)
{
    size_t low = 0, high = cfg->insn.n; /* offsets of [0, low) <= offset */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cfg->insn.item[mid].offset <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    assert(low > 0);
    return (uint32_t)(low - 1);
}

static bool is_indexed(const struct decoded *d)
{
    for (unsigned i = 0; i < d->n_operands; i++)
        if (d->operand[i].type == OPERAND_MEM && d->operand[i].mem_type == OPERAND_MEM_PLAIN &&
            d->operand[i].index.cls == REG_CLASS_GPR64)
            return true;
    return false;
}

/* Does the indirect jump read a table (itself or shortly before), or is it a call that does not come
 * back? */
static bool reads_table(const struct cfg *cfg, const struct isa *isa, const struct cfg_code *code)
{
    enum { LOOK_BACK = 8 };
    for (size_t i = cfg->insn.n, n = 0; i-- > 0 && n < LOOK_BACK; n++) {
        const struct cfg_insn *insn = &cfg->insn.item[i];
        struct decoded d;
        if (n > 0 && insn->kind != CFG_PLAIN && insn->kind != CFG_NOP)
            return false;
        decoder__decode(isa->decoder, code->bytes + insn->offset, insn->len, &d);
        if (is_indexed(&d))
            return true;
    }
    return false;
}

static bool decode(struct cfg *cfg, struct isa *isa, const struct cfg_code *code)
{
    cfg->insn.n = 0;
    for (uint32_t offset = 0; offset < code->size;) {
        struct cfg_insn insn = {.offset = offset, .target = CFG_NONE, .len = 1, .kind = CFG_BAD};
        unsigned len = decoder__length(isa->decoder, code->bytes + offset, code->size - offset, NULL);
        int64_t target;

        if (len) {
            insn.len = (uint8_t)len;
            insn.called = len == 4 && memcmp(code->bytes + offset, "\xf3\x0f\x1e\xfa", 4) == 0; /* ENDBR64 */
            insn.kind = (uint8_t)classify(isa, code, offset, len, &target);
            if (target >= 0 && target < code->size)
                insn.target = (uint32_t)target; /* an offset until all instructions are known */
        }
        if (!vector__push(&cfg->insn, insn))
            return false;
        if (insn.kind == CFG_INDIRECT && !reads_table(cfg, isa, code))
            cfg->insn.item[cfg->insn.n - 1].kind = CFG_STOP;
        offset += insn.len;
    }
    return true;
}

/* ---- basic blocks ---- */

static bool ends_block(const struct cfg_insn *insn)
{
    return insn->kind == CFG_COND || insn->kind == CFG_JUMP || insn->kind == CFG_INDIRECT ||
           insn->kind == CFG_STOP;
}

/* Turns the target's offset into its index. A call makes the start of a function known, no more. */
static void mark_target(struct cfg *cfg, size_t i)
{
    struct cfg_insn *insn = &cfg->insn.item[i];
    uint32_t offset = insn->target, index = insn_at(cfg, offset);
    struct cfg_insn *target = &cfg->insn.item[index];
    bool exact = target->offset == offset;

    insn->target = index;
    if (insn->kind == CFG_CALL) {
        insn->target = CFG_NONE;
        if (exact && index != i + 1)
            target->leader = target->called = true;
        return;
    }
    insn->into_middle = !exact;
    target->leader = true;
}

static void mark_leaders(struct cfg *cfg)
{
    cfg->insn.item[0].leader = true;
    for (size_t i = 0; i < cfg->insn.n; i++) {
        struct cfg_insn *insn = &cfg->insn.item[i];
        if (insn->target != CFG_NONE)
            mark_target(cfg, i);
        if (ends_block(insn) && i + 1 < cfg->insn.n)
            cfg->insn.item[i + 1].leader = true;
    }
}

static uint32_t block_of(const struct cfg *cfg, uint32_t insn)
{
    size_t low = 0, high = cfg->block.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cfg->block.item[mid].first <= insn)
            low = mid + 1;
        else
            high = mid;
    }
    assert(low > 0);
    return (uint32_t)(low - 1);
}

static bool make_blocks(struct cfg *cfg)
{
    cfg->block.n = 0;
    for (uint32_t i = 0; i < cfg->insn.n; i++) {
        if (cfg->insn.item[i].leader) {
            struct cfg_block block = {.first = i,
                                      .succ = {CFG_NONE, CFG_NONE},
                                      .first_guess = CFG_NONE,
                                      .next_guess = CFG_NONE,
                                      .straight = CFG_NONE,
                                      .region = CFG_NONE,
                                      .order = CFG_NONE,
                                      .idom = CFG_NONE};
            if (!vector__push(&cfg->block, block))
                return false;
        }
        cfg->block.item[cfg->block.n - 1].n++;
    }
    for (uint32_t b = 0; b < cfg->block.n; b++) {
        struct cfg_block *block = &cfg->block.item[b];
        const struct cfg_insn *last = cfg__last_insn(cfg, block);
        bool goes_on = !ends_block(last) || last->kind == CFG_COND;
        if (goes_on && b + 1 < cfg->block.n)
            block->succ[0] = b + 1;
        if (last->target != CFG_NONE)
            block->succ[1] = block_of(cfg, last->target);
    }
    return true;
}

/* ---- edges ---- */

/* Successors of a block, one a call: `cursor` starts at 0. CFG_NONE: no more. */
static uint32_t next_successor(const struct cfg *cfg, uint32_t b, uint32_t *cursor)
{
    const struct cfg_block *block = &cfg->block.item[b];
    while (*cursor < 2) {
        uint32_t successor = block->succ[(*cursor)++];
        if (successor != CFG_NONE)
            return successor;
    }
    uint32_t guess = *cursor == 2 ? block->first_guess : *cursor - 3;
    if (guess == CFG_NONE || *cursor == CFG_NONE)
        return CFG_NONE;
    uint32_t next = cfg->block.item[guess].next_guess;
    *cursor = next == CFG_NONE ? CFG_NONE : next + 3;
    return guess;
}

/* Gives `region` to all that can be reached from `from` and has none. */
static void flood(struct cfg *cfg, uint32_t from, uint32_t region)
{
    size_t n = 0;
    cfg->block.item[from].region = region;
    cfg->stack.item[n++] = from;
    while (n > 0) {
        uint32_t b = cfg->stack.item[--n], cursor = 0, successor;
        while ((successor = next_successor(cfg, b, &cursor)) != CFG_NONE) {
            if (cfg->block.item[successor].region != CFG_NONE)
                continue;
            cfg->block.item[successor].region = region;
            cfg->stack.item[n++] = successor;
        }
    }
}

static bool is_padding(const struct cfg *cfg, const struct cfg_block *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (cfg->insn.item[block->first + i].kind != CFG_NOP)
            return false;
    return true;
}

static uint32_t first_indirect(const struct cfg *cfg)
{
    for (uint32_t b = 0; b < cfg->block.n; b++)
        if (cfg->block.item[b].region != CFG_NONE &&
            cfg__last_insn(cfg, &cfg->block.item[b])->kind == CFG_INDIRECT)
            return b;
    return CFG_NONE;
}

/* Every block but padding gets a region, guessing where jumps through tables go: to what follows them, and
 * the first one also to what comes before it. */
static void find_regions(struct cfg *cfg)
{
    flood(cfg, 0, 0);
    uint32_t indirect = first_indirect(cfg);
    for (uint32_t b = 0; b < cfg->block.n; b++) {
        struct cfg_block *block = &cfg->block.item[b];
        if (block->region == CFG_NONE && !is_padding(cfg, block)) {
            if (cfg->insn.item[block->first].called)
                indirect = CFG_NONE; /* another function begins */
            if (indirect == CFG_NONE) {
                flood(cfg, b, b);
            } else {
                block->next_guess = cfg->block.item[indirect].first_guess;
                cfg->block.item[indirect].first_guess = b;
                flood(cfg, b, cfg->block.item[indirect].region);
            }
        }
        if (block->region != CFG_NONE && cfg__last_insn(cfg, block)->kind == CFG_INDIRECT)
            indirect = b;
    }
}

static bool find_predecessors(struct cfg *cfg)
{
    size_t n = cfg->block.n, total = 0;
    uint32_t *start = cfg->pred_start.item;

    memset(start, 0, (n + 1) * sizeof *start);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t b = 0; b < n; b++) {
            uint32_t cursor = 0, successor;
            if (cfg->block.item[b].region == CFG_NONE)
                continue;
            while ((successor = next_successor(cfg, b, &cursor)) != CFG_NONE) {
                if (cfg->block.item[successor].region != cfg->block.item[b].region)
                    continue;
                if (fill)
                    cfg->pred.item[--start[successor]] = b;
                else
                    start[successor]++, total++;
            }
        }
        if (fill)
            break;
        if (!vector__reserve(&cfg->pred, total + 1))
            return false;
        for (size_t b = 1; b <= n; b++) /* ends; filling turns them into starts */
            start[b] += start[b - 1];
    }
    return true;
}

/* ---- order ---- */

static void number_from(struct cfg *cfg, uint32_t root, uint32_t *left)
{
    size_t n = 0;
    cfg->mark.item[root] = 1;
    cfg->stack.item[n] = root;
    cfg->cursor.item[n++] = 0;
    while (n > 0) {
        uint32_t b = cfg->stack.item[n - 1];
        uint32_t successor = next_successor(cfg, b, &cfg->cursor.item[n - 1]);
        if (successor == CFG_NONE) {
            cfg->order.item[--*left] = b;
            n--;
        } else if (!cfg->mark.item[successor] &&
                   cfg->block.item[successor].region == cfg->block.item[b].region) {
            cfg->mark.item[successor] = 1;
            cfg->stack.item[n] = successor;
            cfg->cursor.item[n++] = 0;
        }
    }
}

static void number_blocks(struct cfg *cfg)
{
    uint32_t n = (uint32_t)cfg->block.n, left = n;
    memset(cfg->mark.item, 0, n * sizeof *cfg->mark.item);
    for (uint32_t b = 0; b < n; b++)
        if (cfg->block.item[b].region == b)
            number_from(cfg, b, &left);
    cfg->order.n = n - left;
    memmove(cfg->order.item, cfg->order.item + left, cfg->order.n * sizeof *cfg->order.item);
    for (uint32_t i = 0; i < cfg->order.n; i++)
        cfg->block.item[cfg->order.item[i]].order = i;
    for (uint32_t b = 0; b < n; b++)
        assert((cfg->block.item[b].order == CFG_NONE) == (cfg->block.item[b].region == CFG_NONE));
}

bool cfg__build(struct cfg *cfg, struct isa *isa, const struct cfg_code *code)
{
    cfg->insn.n = cfg->block.n = cfg->loop.n = cfg->body.n = cfg->order.n = 0;
    if (code->size == 0)
        return true;
    if (!decode(cfg, isa, code))
        return false;
    mark_leaders(cfg);
    if (!make_blocks(cfg))
        return false;
    size_t n = cfg->block.n;
    if (!vector__reserve(&cfg->order, n) || !vector__reserve(&cfg->pred_start, n + 1) ||
        !vector__reserve(&cfg->stack, n) || !vector__reserve(&cfg->cursor, n) ||
        !vector__reserve(&cfg->mark, n))
        return false;
    find_regions(cfg);
    number_blocks(cfg);
    if (!find_predecessors(cfg))
        return false;
    return cfg__find_loops(cfg);
}

void cfg__free(struct cfg *cfg)
{
    vector__free(&cfg->insn);
    vector__free(&cfg->block);
    vector__free(&cfg->loop);
    vector__free(&cfg->body);
    vector__free(&cfg->order);
    vector__free(&cfg->pred_start);
    vector__free(&cfg->pred);
    vector__free(&cfg->stack);
    vector__free(&cfg->cursor);
    vector__free(&cfg->mark);
}
