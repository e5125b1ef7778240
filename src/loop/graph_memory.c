/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic addresses relative to the start of an iteration (EX-13a), and their comparison across iterations:
 * the same values that trace/loop.c follows step by step. */
#include "loop/graph.h"

static void start_apart(struct registers *r)
{
    for (unsigned i = 0; i < R_COUNT; i++)
        r->value[i] = (struct symbol){.id = (int16_t)i, .kind = SYMBOL_START};
    r->fresh = 0;
}

void registers__update(struct registers *r, const struct insn *insn)
{
    struct symbol s = {0};
    if (insn->sym != SYM_FRESH)
        s = r->value[insn->sym_src];
    if (insn->sym == SYM_ADD)
        s.offset += insn->sym_add;
    for (unsigned w = 0; w < 2; w++)
        for (uint64_t bits = insn->written[w]; bits; bits &= bits - 1) {
            unsigned reg = 64 * w + (unsigned)__builtin_ctzll(bits);
            if (insn->sym != SYM_FRESH && reg == insn->sym_dst)
                r->value[reg] = s;
            else
                r->value[reg] = (struct symbol){.id = r->fresh++, .kind = SYMBOL_FRESH};
        }
}

/* Is the register at the start of an iteration what it was before the first one, plus a multiple of `step`?
 */
static bool advances(const struct registers *end, unsigned reg, int64_t *step)
{
    const struct symbol *s = &end->value[reg];
    *step = s->offset;
    return s->kind == SYMBOL_START && s->id == (int16_t)reg;
}

void registers__init(struct registers *r, const struct layout *l)
{
    struct registers end;
    bool stack = l->registers == LOOP_REGISTERS_STACK;

    start_apart(r);
    if (l->registers == LOOP_REGISTERS_DIFFERENT)
        return;
    end = *r;
    for (size_t i = 0; i < l->n; i++)
        registers__update(&end, l->item[i].insn);
    for (unsigned i = 1; i < R_COUNT; i++)
        for (unsigned k = 0; k < i; k++) {
            int64_t a, b;
            if (stack && (i == R_RSP || i == R_RBP || k == R_RSP || k == R_RBP))
                continue;
            if (advances(&end, i, &a) && advances(&end, k, &b) && a == b) {
                r->value[i].id = (int16_t)k;
                break;
            }
        }
}

struct place place__of(const struct registers *r, const struct mem_operand *m, uint64_t next_addr)
{
    struct place p = {.offset = m->disp, .size_bytes = m->size_bytes, .rip = m->rip};
    if (m->rip) {
        p.offset += (int64_t)next_addr;
        return p;
    }
    if (m->base != R_NONE) {
        p.base = r->value[m->base];
        p.offset += p.base.offset;
    }
    if (m->index != R_NONE) {
        p.index = r->value[m->index];
        p.scale = m->scale;
        p.offset += p.index.offset * m->scale;
    }
    return p;
}

static int64_t symbol__step_back(struct symbol *s, const struct registers *end, unsigned age)
{
    if (s->kind != SYMBOL_START)
        return 0;
    *s = end->value[s->id];
    if (s->kind == SYMBOL_FRESH)
        s->age = (uint8_t)age;
    return s->offset;
}

void place__step_back(struct place *p, const struct registers *end, unsigned age, int64_t stride_bytes)
{
    if (p->rip)
        p->offset += stride_bytes;
    p->offset += symbol__step_back(&p->base, end, age);
    p->offset += symbol__step_back(&p->index, end, age) * p->scale;
}

static bool symbol__reaches(const struct symbol *s, unsigned age)
{
    return s->kind != SYMBOL_FRESH || s->age >= age;
}

bool place__reaches(const struct place *p, unsigned age)
{
    return symbol__reaches(&p->base, age) && symbol__reaches(&p->index, age);
}

/* `a` is seen from `age` iterations later, `b` belongs to that iteration. */
static bool same_symbol(const struct symbol *a, const struct symbol *b, unsigned age)
{
    return a->kind == b->kind && a->id == b->id && (a->kind != SYMBOL_FRESH || a->age == age + b->age);
}

enum overlap place__compare(const struct place *load, const struct place *store, unsigned age)
{
    if (load->rip != store->rip || load->scale != store->scale ||
        !same_symbol(&load->base, &store->base, age) || !same_symbol(&load->index, &store->index, age))
        return OVERLAP_NONE;
    int64_t load_end = load->offset + load->size_bytes, store_end = store->offset + store->size_bytes;
    if (load->offset >= store_end || store->offset >= load_end)
        return OVERLAP_NONE;
    return store->offset <= load->offset && load_end <= store_end ? OVERLAP_ALL : OVERLAP_PART;
}
