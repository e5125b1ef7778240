/* SPDX-License-Identifier: Apache-2.0 */
/* Folded repetitions of string instructions: a head and chunks (WP-7). */
#include <assert.h>
#include <string.h>

#include "isa/isa.h"

enum { PORTS_LOAD = 1 << 2 | 1 << 3, PORTS_STD = 1 << 4 };
enum { HEAD_UOPS = 10, HEAD_STEP_CYC = 3 }; /* start-up of about 30 cycles */
enum { ELEMENT_CYC = 2 };                   /* LODS, SCAS, CMPS: RCX chain per element */
enum { CHUNK_HEAD = 0 };

struct rep_insn {
    struct insn insn;
    struct rep_insn *next;
    const struct insn *rep;
    unsigned chunk_bytes;
};

static struct uop uop__new(enum uop_kind kind, unsigned ports)
{
    struct uop uop;

    memset(&uop, 0, sizeof uop);
    uop.kind = (uint8_t)kind;
    uop.ports = (uint16_t)ports;
    uop.access = 255;
    return uop;
}

static struct rep_insn *rep_insn__new(struct isa *isa, const struct insn *rep, unsigned chunk_bytes)
{
    struct rep_insn *r = isa__alloc(isa, sizeof *r);

    r->next = isa->rep;
    r->rep = rep;
    r->chunk_bytes = chunk_bytes;
    r->insn = *rep;
    memset(r->insn.recipe, 0, sizeof r->insn.recipe);
    memset(r->insn.written, 0, sizeof r->insn.written);
    r->insn.sym = SYM_FRESH;
    r->insn.sym_dst = R_NONE;
    isa->rep = r;
    return r;
}

static struct rep_insn *rep_insn__find(const struct isa *isa, const struct insn *rep, unsigned chunk_bytes)
{
    struct rep_insn *r = isa->rep;

    while (r && (r->rep != rep || r->chunk_bytes != chunk_bytes))
        r = r->next;
    return r;
}

/* Microcode does not micro-fuse: every uop has its own slot, as in the rows of MOVS and STOS. */
static void finish(struct isa *isa, struct insn *insn, struct uop *uop, unsigned n_uops, bool ms)
{
    const struct recipe *recipe;

    uop[0].flags |= UOP_FIRST;
    recipe = crack__group(isa, uop, n_uops, n_uops, n_uops);
    for (unsigned i = 0; i < RECIPE_VARIANTS; i++)
        insn->recipe[i] = recipe;
    for (unsigned i = 0; i < n_uops; i++)
        for (unsigned k = 0; k < uop[i].n_dst; k++)
            if (uop[i].dst[k] < R_TEMP0)
                insn->written[uop[i].dst[k] / 64] |= 1ull << (uop[i].dst[k] % 64);
    insn->has_ms = ms;
    insn->mite_lams = (uint8_t)(n_uops < 4 ? n_uops : 4);
    if (!ms)
        insn->flags &= ~(uint32_t)INSN_COMPLEX;
    insn->simple_after = ms ? 0 : 3;
    insn->dsb_slots = insn->mite_lams;
}

struct insn *isa__rep_head(struct isa *isa, const struct insn *rep)
{
    struct rep_insn *r = rep_insn__find(isa, rep, CHUNK_HEAD);
    struct uop uop[HEAD_UOPS];

    assert(rep->flags & INSN_REP);
    if (r)
        return &r->insn;
    r = rep_insn__new(isa, rep, CHUNK_HEAD);
    r->insn.n_mem = 0;
    for (unsigned i = 0; i < HEAD_UOPS; i++) {
        uop[i] = uop__new(UOP_COMPUTE, isa->alu_ports);
        if (i)
            uop__add_src(&uop[i], R_TEMP0 + i - 1);
        if (i + 1 < HEAD_UOPS)
            uop__add_dst(&uop[i], R_TEMP0 + i, HEAD_STEP_CYC);
    }
    uop__add_src(&uop[0], R_RCX);
    uop__add_dst(&uop[HEAD_UOPS - 1], R_RCX, HEAD_STEP_CYC);
    for (unsigned i = 0; i < rep->n_mem; i++) {
        uop__add_src(&uop[0], rep->mem[i].base);
        uop__add_dst(&uop[HEAD_UOPS - 1], rep->mem[i].base, HEAD_STEP_CYC);
    }
    finish(isa, &r->insn, uop, HEAD_UOPS, true);
    return &r->insn;
}

struct insn *isa__rep_body(struct isa *isa, const struct insn *rep, unsigned chunk_bytes)
{
    struct rep_insn *r = rep_insn__find(isa, rep, chunk_bytes);
    struct uop uop[2 * INSN_MAX_MEM + 1];
    struct insn *insn;
    unsigned n = 0, n_loads = 0;
    bool stores = false;

    assert((rep->flags & INSN_REP) && chunk_bytes != CHUNK_HEAD);
    if (r)
        return &r->insn;
    r = rep_insn__new(isa, rep, chunk_bytes);
    insn = &r->insn;
    insn->flags &= ~(uint32_t)INSN_CONDITIONAL_MEM;
    for (unsigned i = 0; i < insn->n_mem; i++) {
        insn->mem[i].size_bytes = (uint16_t)chunk_bytes;
        stores = stores || insn->mem[i].write;
        if (!insn->mem[i].read)
            continue;
        uop[n] = uop__new(UOP_LOAD, PORTS_LOAD);
        uop[n].access = (uint8_t)i;
        uop__add_src(&uop[n], insn->mem[i].base);
        uop__add_dst(&uop[n], R_TEMP0 + n_loads, 5);
        n_loads++;
        n++;
    }
    if (!stores) { /* LODS, SCAS, CMPS: one element */
        uop[n] = uop__new(UOP_COMPUTE, isa->alu_ports);
        uop__add_src(&uop[n], R_RCX);
        if (!(rep->written[0] >> R_RAX & 1) && insn->n_mem == 1) /* SCAS compares with it */
            uop__add_src(&uop[n], R_RAX);
        for (unsigned i = 0; i < n_loads; i++)
            uop__add_src(&uop[n], R_TEMP0 + i);
        uop__add_dst(&uop[n], R_RCX, ELEMENT_CYC);
        for (unsigned id = 0; id < R_RSP; id++)
            if (id != R_RCX && (rep->written[0] >> id & 1)) /* LODS: RAX */
                uop__add_dst(&uop[n], id, 1);
        for (unsigned id = R_FLAG_C; id <= R_FLAG_SPAZO; id++)
            if (rep->written[0] >> id & 1)
                uop__add_dst(&uop[n], id, 1);
        n++;
    }
    for (unsigned i = 0; i < insn->n_mem; i++) {
        if (!insn->mem[i].write)
            continue;
        uop[n] = uop__new(UOP_STA, isa->six_ports ? PORTS_LOAD : PORTS_LOAD | 1 << 7);
        uop[n].access = (uint8_t)i;
        uop__add_src(&uop[n], insn->mem[i].base);
        n++;
        uop[n] = uop__new(UOP_STD, PORTS_STD);
        uop[n].access = (uint8_t)i;
        uop__add_src(&uop[n], n_loads ? R_TEMP0 : R_RAX);
        n++;
    }
    for (unsigned i = 0; i < n; i++)
        if (chunk_bytes == 32 && (uop[i].kind == UOP_LOAD || uop[i].kind == UOP_STD))
            uop[i].flags |= UOP_WIDE256;
    assert(n);
    finish(isa, insn, uop, n, false);
    return insn;
}
