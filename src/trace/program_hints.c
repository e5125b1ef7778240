/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_hints.h"

#include <stdlib.h>
#include <string.h>

#include "fathom/insn.h"
#include "trace/program_blocks.h"
#include "trace/ring.h"

_Static_assert((int)GENERAL_REGISTERS == (int)RING_REGISTERS, "a snapshot holds what instructions work on");

bool hint__is_one(const struct insn *insn)
{
    const uint8_t *op = insn->bytes + insn->opcode_off;
    unsigned group;

    if (insn->n_mem == 0 || insn->opcode_off == 0 || op[-1] != 0x0f)
        return false;
    group = op[1] >> 3 & 7;
    switch (op[0]) {
    case 0x0d:
        return true;
    case 0x18:
        return group < 4;
    case 0x1c:
        return group == 0;
    case 0xae:
        return group == 7 || (group == 6 && insn->bytes[0] == 0x66);
    default:
        return false;
    }
}

bool hints__add(struct block *block, unsigned i)
{
    const struct site *site = block->insn[i].site;
    struct hint *more = realloc(block->hint, (block->n_hints + 1u) * sizeof *more), *hint;

    if (!more)
        return false;
    block->hint = more;
    hint = &more[block->n_hints++];
    *hint = (struct hint){.insn = (uint16_t)i};
    hint->computable = reg_op__hint(site->insn, site->addr, &hint->address);
    /* An instruction is computed at most once, and so is a register observed. */
    hint->plan.op = calloc(i + GENERAL_REGISTERS, sizeof *hint->plan.op);
    return hint->plan.op != NULL;
}

void hints__free(struct block *block)
{
    for (unsigned i = 0; i < block->n_hints; i++)
        free(block->hint[i].plan.op);
    free(block->hint);
}

/* Does an instruction of [from, to) write register `reg`? */
static bool writes(const struct block *block, unsigned from, unsigned to, unsigned reg)
{
    for (unsigned i = from; i < to && i < block->n; i++)
        if (reg_op__written(block->insn[i].site->insn) >> reg & 1)
            return true;
    return false;
}

/* Plans how instruction `i` sets the registers in `needed`, of which it writes some. Returns those that are
 * needed before it. */
static unsigned plan_insn(const struct block *block, struct hint *hint, unsigned i, unsigned needed)
{
    const struct site *site = block->insn[i].site;
    unsigned written = reg_op__written(site->insn) & needed;
    struct reg_op op;

    for (unsigned reg = 0; reg < GENERAL_REGISTERS; reg++) {
        if (!(written >> reg & 1) || hint->plan.behind == HINT_NOWHERE ||
            writes(block, i + 1, hint->plan.behind, reg))
            continue;
        hint->plan.op[hint->plan.n_ops++] =
            (struct reg_op){.kind = REG_OP_OBSERVED, .dst = (uint8_t)reg, .a = NO_REGISTER, .b = NO_REGISTER};
        needed &= ~(1u << reg);
        written &= ~(1u << reg);
    }
    if (!written)
        return needed;
    if (!reg_op__decode(site->insn, site->addr, &op)) {
        hint->plan.possible = false;
        return needed;
    }
    hint->plan.op[hint->plan.n_ops++] = op;
    return (needed & ~(1u << op.dst)) | reg_op__sources(&op);
}

static void make_plan(const struct block *block, struct hint *hint, unsigned before, unsigned behind)
{
    unsigned needed = reg_op__sources(&hint->address);

    hint->plan.made = true;
    hint->plan.possible = hint->computable;
    hint->plan.before = (uint16_t)before;
    hint->plan.behind = (uint16_t)behind;
    hint->plan.n_ops = 0;
    for (unsigned i = hint->insn;
         hint->plan.possible && needed && i-- > (before == HINT_NOWHERE ? 0 : before);)
        if (reg_op__written(block->insn[i].site->insn) & needed)
            needed = plan_insn(block, hint, i, needed);
    if (before == HINT_NOWHERE && needed)
        hint->plan.possible = false;
}

/* `before`, `behind`: snapshots, or NULL. */
static void resolve(const struct block *block, struct hint *hint, const uint64_t *before,
                    const uint64_t *behind)
{
    unsigned at = before ? (unsigned)before[0] : HINT_NOWHERE;
    unsigned to = behind ? (unsigned)behind[0] : HINT_NOWHERE;
    uint64_t regs[GENERAL_REGISTERS] = {0};

    if (!hint->plan.made || hint->plan.before != at || hint->plan.behind != to)
        make_plan(block, hint, at, to);
    hint->known = hint->plan.possible;
    if (!hint->known)
        return;
    if (before)
        memcpy(regs, before + 1, sizeof regs);
    for (unsigned i = hint->plan.n_ops; i-- > 0;) {
        const struct reg_op *op = &hint->plan.op[i];

        regs[op->dst] = op->kind == REG_OP_OBSERVED ? behind[1 + op->dst] : reg_op__value(op, regs);
    }
    hint->addr = reg_op__value(&hint->address, regs);
}

void hints__resolve(struct block *block, const struct snapshots *snapshots)
{
    const uint64_t *before = NULL, *behind;
    unsigned next = 0; /* the first snapshot behind the hint */

    for (unsigned i = 0; i < block->n_hints; i++) {
        struct hint *hint = &block->hint[i];

        while (next < snapshots->n && snapshots->at[next * RING_SNAPSHOT_WORDS] <= hint->insn)
            before = &snapshots->at[next++ * RING_SNAPSHOT_WORDS];
        behind = next < snapshots->n ? &snapshots->at[next * RING_SNAPSHOT_WORDS] : NULL;
        if (behind && behind[0] >= block->n && !snapshots->end_is_next)
            behind = NULL;
        resolve(block, hint, before, behind);
    }
}
