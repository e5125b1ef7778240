/* SPDX-License-Identifier: Apache-2.0 */
/* Endless loop of given instructions, with symbolic addresses: two accesses that use the same symbolic
 * register value and offset meet in the same bytes, all others are far apart (EX-13a). */
#include "fathom/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"

/* What a register holds: an unknown base, told apart by its number, plus a known offset. */
struct symbol {
    uint64_t base;
    int64_t offset;
};

struct loop {
    struct source source; /* first member */
    struct insn **insn;
    uint32_t *offset;
    size_t n;
    uint64_t length_bytes;
    uint64_t address;
    bool unrolled;
    struct site site[STEP_RING]; /* of the step in the same slot */
    struct symbol reg[R_COUNT];
    uint64_t fresh;
    uint32_t iteration;
    size_t next; /* instruction of the next step */
};

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void init_registers(struct loop *l, enum loop_registers policy)
{
    for (unsigned r = 0; r < R_COUNT; r++) {
        bool apart = policy == LOOP_REGISTERS_DIFFERENT ||
                     (policy == LOOP_REGISTERS_STACK && (r == R_RSP || r == R_RBP));
        l->reg[r] = (struct symbol){.base = apart ? r + 2 : 1};
    }
    l->fresh = R_COUNT + 2;
}

static uint64_t address(const struct loop *l, const struct mem_operand *m, const struct site *site)
{
    if (m->rip)
        return site->addr + site->insn->len + (uint64_t)m->disp;
    uint64_t base = 0;
    int64_t offset = m->disp;
    if (m->base != R_NONE) {
        base = l->reg[m->base].base;
        offset += l->reg[m->base].offset;
    }
    if (m->index != R_NONE) {
        base = mix(base * 8 + m->scale) ^ mix(l->reg[m->index].base);
        offset += l->reg[m->index].offset * m->scale;
    }
    return (mix(base) & ~0xffffull) + (uint64_t)offset;
}

static void update_registers(struct loop *l, const struct insn *insn)
{
    struct symbol s = {0};
    if (insn->sym != SYM_FRESH)
        s = l->reg[insn->sym_src];
    if (insn->sym == SYM_ADD)
        s.offset += insn->sym_add;
    for (unsigned w = 0; w < 2; w++)
        for (uint64_t bits = insn->written[w]; bits; bits &= bits - 1) {
            unsigned r = 64 * w + (unsigned)__builtin_ctzll(bits);
            if (insn->sym != SYM_FRESH && r == insn->sym_dst)
                l->reg[r] = s;
            else
                l->reg[r] = (struct symbol){.base = l->fresh++};
        }
}

static void add_accesses(struct loop *l, struct step_buffer *buf, struct step *s)
{
    const struct insn *insn = s->site->insn;
    s->first_access = buf->access_end;
    for (unsigned k = 0; k < insn->n_mem; k++) {
        const struct mem_operand *m = &insn->mem[k];
        buf->access[buf->access_end++ % ACCESS_RING] = (struct access){
            .addr = address(l, m, s->site), .size_bytes = m->size_bytes, .store = m->write, .known = 1};
    }
    s->n_access = insn->n_mem;
}

static void append(struct loop *l, struct step_buffer *buf)
{
    size_t k = l->next;
    bool last = k + 1 == l->n;
    struct step *s = &buf->step[buf->end % STEP_RING];
    struct site *site = &l->site[buf->end % STEP_RING];

    *site =
        (struct site){.addr = l->address + (l->unrolled ? l->iteration * l->length_bytes : 0) + l->offset[k],
                      .insn = l->insn[k],
                      .id = (uint32_t)k};
    *s = (struct step){.site = site, .iteration = l->iteration, .next_addr = site->addr + l->insn[k]->len};
    if (last)
        s->flags = STEP_LAST_OF_PASS;
    if (last && !l->unrolled) {
        s->flags |= STEP_TAKEN;
        s->next_addr = l->address;
    }
    add_accesses(l, buf, s);
    update_registers(l, l->insn[k]);
    buf->end++;
    l->next = last ? 0 : k + 1;
    l->iteration += last;
}

static int fill(struct source *src, struct step_buffer *buf, unsigned want)
{
    struct loop *l = (struct loop *)src;
    unsigned n = 0;
    for (; n < want && buf->end - buf->begin < STEP_RING; n++)
        append(l, buf);
    return n ? (int)n : -1;
}

static int decode(struct loop *l, const uint8_t *bytes, size_t size, struct isa *isa, struct status *st)
{
    for (size_t at = 0; at < size; l->n++) {
        struct insn *insn = isa__decode(isa, bytes + at, size - at, NULL);
        if (!insn) {
            char hex[64] = "";
            for (size_t i = at; i < size && i < at + 8; i++)
                snprintf(hex + 3 * (i - at), 4, " %02x", bytes[i]);
            return status__fail(st, "byte %zu of the block: no complete instruction starts with%s", at, hex);
        }
        l->insn[l->n] = insn;
        l->offset[l->n] = (uint32_t)at;
        at += insn->len;
    }
    return 0;
}

/* Does the last instruction jump back to the first one? */
static bool returns(const struct loop *l)
{
    const struct insn *last = l->insn[l->n - 1];
    bool direct = last->branch == BRANCH_COND || last->branch == BRANCH_JUMP || last->branch == BRANCH_CALL;
    return direct && (int64_t)l->length_bytes + last->branch_disp == 0;
}

struct loop *loop__new(const uint8_t *bytes, size_t size, const struct loop_options *opt, struct status *st)
{
    struct loop *l = NULL;
    if (!size) {
        status__fail(st, "the block is empty: give at least one instruction");
        goto fail;
    }
    l = calloc(1, sizeof *l);
    if (!l || !(l->insn = calloc(size, sizeof *l->insn)) || !(l->offset = calloc(size, sizeof *l->offset))) {
        status__fail(st, "not enough memory for a block of %zu bytes", size);
        goto fail;
    }
    if (decode(l, bytes, size, opt->isa, st))
        goto fail;
    l->length_bytes = size;
    l->address = 0x10000 + opt->address % 64;
    l->unrolled = !returns(l);
    l->source.fill = fill;
    init_registers(l, opt->registers);
    return l;
fail:
    loop__free(l);
    return NULL;
}

void loop__free(struct loop *l)
{
    if (!l)
        return;
    free(l->insn);
    free(l->offset);
    free(l);
}

struct source *loop__source(struct loop *l)
{
    return &l->source;
}

bool loop__unrolled(const struct loop *l)
{
    return l->unrolled;
}

size_t loop__count(const struct loop *l)
{
    return l->n;
}

struct insn *loop__insn(const struct loop *l, size_t i)
{
    return l->insn[i];
}
