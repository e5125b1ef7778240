/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction set on one core: decode once, keep for ever. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/status.h"
#include "isa/isa.h"

enum { CACHE_LINE_BYTES = 64 };

void *isa__alloc(struct isa *isa, size_t size)
{
    void *p = arena__alloc_aligned(&isa->arena, size, CACHE_LINE_BYTES);

    if (!p) { /* a few MiB in all: no way to go on, no caller that could */
        fprintf(stderr, "fathom: out of memory for decoded instructions\n");
        abort();
    }
    return p;
}

/* The ports that the table names must be those the core has: with eight, uops are bound by other rules (PA-5,
 * PA-6). */
static int check_ports(const struct table *table, const struct core *core, struct status *st)
{
    uint32_t all = 0, needed = 0;

    for (uint32_t i = 0; i < table->n_port_groups; i++)
        all |= table->port_groups[i].ports;
    while (all >> needed)
        needed++;
    if (core->ports == needed || (needed >= 8 && core->ports > needed))
        return 0;
    return status__fail_with(
        st, EXIT_CODE_USAGE,
        "core %s: ports = %u does not fit the instruction table %s, which has %u; use %u%s", core->name,
        core->ports, core->insn_table, needed, needed, needed >= 8 ? ", or up to 16" : "");
}

struct isa *isa__open(const struct core *core, struct status *st)
{
    struct isa *isa = calloc(1, sizeof *isa);

    if (!isa) {
        status__fail(st, "out of memory");
        return NULL;
    }
    isa->six_ports = core->ports <= 6;
    isa->move_elimination = core->elim_slots_gpr > 0;
    isa->movzx_high = core->elim_movzx_high_encoding;
    isa->pop5c_ends_group = core->pop5c_ends_group;
    isa->branch_port = isa->six_ports ? 1 << 5 : 1 << 6;
    isa->branch_ports = isa->six_ports ? 1 << 5 : 1 << 6 | 1 << 0;
    isa->alu_ports = isa->six_ports ? 0x23 : 0x63;
    isa->n_slots = 4096;
    isa->slots = calloc(isa->n_slots, sizeof *isa->slots);
    isa->decoder = decoder__new();
    if (!isa->slots || !isa->decoder) {
        status__fail(st, "out of memory");
        goto fail;
    }
    if (table__open(&isa->table, core->insn_table, st) || check_ports(&isa->table, core, st))
        goto fail;
    return isa;
fail:
    isa__close(isa);
    return NULL;
}

void isa__close(struct isa *isa)
{
    if (!isa)
        return;
    table__close(&isa->table);
    decoder__free(isa->decoder);
    free(isa->slots);
    arena__free(&isa->arena);
    free(isa);
}

static size_t hash_bytes(const uint8_t *bytes, unsigned len)
{
    uint64_t h = 14695981039346656037ull;

    for (unsigned i = 0; i < len; i++)
        h = (h ^ bytes[i]) * 1099511628211ull;
    return (size_t)(h ^ h >> 32);
}

static struct insn **slot_of(struct insn **slots, size_t n_slots, const uint8_t *bytes, unsigned len)
{
    size_t i = hash_bytes(bytes, len) & (n_slots - 1);

    while (slots[i] && (slots[i]->len != len || memcmp(slots[i]->bytes, bytes, len) != 0))
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static void rehash(struct isa *isa)
{
    size_t n = isa->n_slots * 2;
    struct insn **slots = calloc(n, sizeof *slots);

    if (!slots) /* stays correct, only slower, as long as there is room */
        return;
    for (size_t i = 0; i < isa->n_slots; i++)
        if (isa->slots[i])
            *slot_of(slots, n, isa->slots[i]->bytes, isa->slots[i]->len) = isa->slots[i];
    free(isa->slots);
    isa->slots = slots;
    isa->n_slots = n;
}

struct insn *isa__decode(struct isa *isa, const uint8_t *bytes, size_t n, int *need)
{
    unsigned len = decoder__length(isa->decoder, bytes, n, need);
    struct insn **slot;
    struct decoded d;

    if (!len)
        return NULL;
    slot = slot_of(isa->slots, isa->n_slots, bytes, len);
    if (*slot)
        return *slot;
    if (isa->n_insns * 2 >= isa->n_slots) {
        rehash(isa);
        slot = slot_of(isa->slots, isa->n_slots, bytes, len);
    }
    decoder__decode(isa->decoder, bytes, len, &d);
    *slot = isa__alloc(isa, sizeof **slot);
    memcpy((*slot)->bytes, bytes, len);
    crack__insn(isa, &d, *slot);
    isa->n_insns++;
    return *slot;
}

/* The bits of `variant` that make a difference for this instruction. */
static unsigned relevant(const struct isa *isa, const struct insn *insn, unsigned variant)
{
    unsigned bits = 0;

    if (insn->fuses_with)
        bits |= variant & RECIPE_FUSED;
    if (isa->branch_port != isa->branch_ports && (insn->branch == BRANCH_COND || (bits & RECIPE_FUSED)))
        bits |= variant & RECIPE_NOT_TAKEN;
    if (insn->high_read)
        bits |= variant & RECIPE_CLEAN_HIGH;
    if (insn->elim_dst != R_NONE)
        bits |= variant & RECIPE_MOVE;
    return bits;
}

const struct recipe *isa__recipe(struct isa *isa, struct insn *insn, unsigned variant)
{
    unsigned bits;

    assert(variant < RECIPE_VARIANTS);
    if (insn->recipe[variant])
        return insn->recipe[variant];
    bits = relevant(isa, insn, variant);
    if (!insn->recipe[bits]) {
        struct decoded d;
        decoder__decode(isa->decoder, insn->bytes, insn->len, &d);
        insn->recipe[bits] = crack__recipe(isa, &d, insn, bits);
    }
    insn->recipe[variant] = insn->recipe[bits];
    return insn->recipe[variant];
}

const char *isa__format(struct isa *isa, const struct insn *insn, uint64_t addr, char *buf, size_t size)
{
    decoder__format(isa->decoder, insn->bytes, insn->len, addr, buf, size);
    return buf;
}

static const char *class_name(const struct operand *o, char buf[16])
{
    static const char *const names[] = {
        [REG_CLASS_GPR8] = "R8",   [REG_CLASS_GPR8H] = "R8H", [REG_CLASS_GPR16] = "R16",
        [REG_CLASS_GPR32] = "R32", [REG_CLASS_GPR64] = "R64", [REG_CLASS_MMX] = "MM",
        [REG_CLASS_XMM] = "XMM",   [REG_CLASS_YMM] = "YMM",   [REG_CLASS_ZMM] = "ZMM",
        [REG_CLASS_X87] = "ST",    [REG_CLASS_SEG] = "SEG",   [REG_CLASS_CR] = "CR",
        [REG_CLASS_DR] = "DR",     [REG_CLASS_BND] = "BND",   [REG_CLASS_MASK] = "K",
        [REG_CLASS_OTHER] = "REG",
    };

    switch (o->type) {
    case OPERAND_REG:
        return o->reg.cls < sizeof names / sizeof *names && names[o->reg.cls] ? names[o->reg.cls] : "REG";
    case OPERAND_MEM:
        if (o->mem_type == OPERAND_MEM_ADDRESS)
            return "ADDRESS";
        snprintf(buf, 16, "M%u", o->size_bits);
        return buf;
    case OPERAND_IMM:
        snprintf(buf, 16, "%s%u", o->relative ? "REL" : "I", o->imm_bits ? o->imm_bits : 8u);
        return buf;
    default:
        return "PTR";
    }
}

const char *isa__form_name(struct isa *isa, const struct insn *insn, char *buf, size_t size)
{
    struct decoded d;
    unsigned n = 0;
    size_t used;

    if (!size)
        return buf;
    decoder__decode(isa->decoder, insn->bytes, insn->len, &d);
    snprintf(buf, size, "%s%s%s", d.lock ? "LOCK " : "", (insn->flags & INSN_REP) ? "REP " : "", d.mnemonic);
    for (unsigned i = 0; i < d.n_operands; i++) {
        char name[16];
        if (d.operand[i].hidden)
            continue;
        used = strlen(buf);
        snprintf(buf + used, size - used, "%s%s", n++ ? ", " : " ", class_name(&d.operand[i], name));
    }
    return buf;
}
