/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an instruction before it is cracked: row, variants, operands bound (UOP-1..UOP-5). */
#include <assert.h>
#include <string.h>

#include "isa/isa.h"

static bool reg__of_named_class(struct text name, struct reg *reg)
{
    static const struct {
        const char *name;
        uint8_t cls, id;
    } map[] = {
        {"AL", REG_CLASS_GPR8, R_RAX},   {"AH", REG_CLASS_GPR8H, R_RAX},  {"AX", REG_CLASS_GPR16, R_RAX},
        {"EAX", REG_CLASS_GPR32, R_RAX}, {"RAX", REG_CLASS_GPR64, R_RAX}, {"CL", REG_CLASS_GPR8, R_RCX},
        {"ECX", REG_CLASS_GPR32, R_RCX}, {"RCX", REG_CLASS_GPR64, R_RCX}, {"DX", REG_CLASS_GPR16, R_RDX},
        {"EDX", REG_CLASS_GPR32, R_RDX}, {"RDX", REG_CLASS_GPR64, R_RDX}, {"EBX", REG_CLASS_GPR32, R_RBX},
        {"RBX", REG_CLASS_GPR64, R_RBX}, {"RSP", REG_CLASS_GPR64, R_RSP}, {"RBP", REG_CLASS_GPR64, R_RBP},
        {"RSI", REG_CLASS_GPR64, R_RSI}, {"RDI", REG_CLASS_GPR64, R_RDI}, {"XMM0", REG_CLASS_XMM, R_VEC0},
    };

    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        if (text__is(name, map[i].name)) {
            *reg = (struct reg){map[i].cls, map[i].id};
            return true;
        }
    }
    return false;
}

static bool is_fixed_class(struct text cls)
{
    static const char *const fixed[] = {"AL", "AX", "EAX", "RAX", "CL", "DX", "FS", "GS"};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (text__is(cls, fixed[i]))
            return true;
    return false;
}

static bool operand__fits(const struct row_operand *o, const struct operand *v)
{
    struct reg reg;

    if (o->kind == ROW_MEM && v->type != OPERAND_MEM)
        return false;
    if (o->kind == ROW_REG && v->type != OPERAND_REG)
        return false;
    if (!is_fixed_class(o->cls))
        return true;
    if (text__is(o->cls, "FS") || text__is(o->cls, "GS"))
        return v->type == OPERAND_REG && v->reg.cls == REG_CLASS_SEG &&
               v->reg.id == R_SEG0 + (o->cls.at[0] == 'F' ? 4 : 5);
    return v->type == OPERAND_REG && reg__of_named_class(o->cls, &reg) && reg.cls == v->reg.cls &&
           reg.id == v->reg.id;
}

/* An operand the assembly text does not show. */
static void bind_hidden(const struct row_operand *o, struct bound *b)
{
    struct text base = o->base, index;
    const char *plus = memchr(base.at, '+', base.len);

    if (!base.len) {
        b->kind = reg__of_named_class(o->cls, &b->reg) ? ROW_REG : ROW_OTHER;
        return;
    }
    b->kind = ROW_MEM;
    b->size_bits = 64;
    if (o->cls.len > 1 && o->cls.at[0] == 'M') {
        b->size_bits = 0;
        for (uint32_t i = 1; i < o->cls.len; i++)
            b->size_bits = (uint16_t)(b->size_bits * 10 + (o->cls.at[i] - '0'));
    }
    if (plus) { /* XLAT: RBX + AL; not an indexed form (UOP-2) */
        index = (struct text){plus + 1, (uint32_t)(base.at + base.len - plus - 1)};
        base.len = (uint32_t)(plus - base.at);
        if (reg__of_named_class(index, &b->index))
            b->scale = 1;
    }
    (void)reg__of_named_class(base, &b->base);
}

static void bind_shown(const struct row_operand *o, const struct operand *v, struct bound *b)
{
    if (!v) {
        b->kind = ROW_OTHER;
        return;
    }
    switch (v->type) {
    case OPERAND_REG:
        b->kind = ROW_REG;
        b->reg = v->reg;
        break;
    case OPERAND_MEM:
        b->kind = o->kind == ROW_ADDRESS ? ROW_ADDRESS : ROW_MEM;
        b->mem_type = v->mem_type;
        b->base = v->base;
        b->index = v->index;
        b->scale = v->scale;
        b->segment = v->segment;
        b->disp = v->disp;
        b->size_bits = v->size_bits;
        break;
    default:
        b->kind = ROW_OTHER;
        break;
    }
}

static struct bound bound__new(void)
{
    struct bound b;

    memset(&b, 0, sizeof b);
    b.kind = ROW_OTHER;
    b.reg = b.base = b.index = (struct reg){REG_CLASS_NONE, R_NONE};
    return b;
}

static void bind_row(const struct table *t, const struct row *row, const struct decoded *d,
                     struct facts *facts)
{
    const struct row_operand *ops = t->operands + row->first_operand, *shown[OPERAND_CLASS_MAX];
    const struct operand *visible[DECODED_MAX_OPERANDS] = {0}, *swap;
    unsigned n_shown = 0, n_visible = 0, k = 0;

    for (unsigned i = 0; i < d->n_operands; i++)
        if (!d->operand[i].hidden)
            visible[n_visible++] = &d->operand[i];
    if (n_visible == 2 && !strcmp(d->mnemonic, "NOP"))
        n_visible = 1;
    for (unsigned i = 0; i < row->n_operands; i++)
        if (!ops[i].hidden && ops[i].kind != ROW_FLAGS)
            shown[n_shown++] = &ops[i];
    if (n_shown == 2 && n_visible == 2 &&
        !(operand__fits(shown[0], visible[0]) && operand__fits(shown[1], visible[1])) &&
        operand__fits(shown[0], visible[1]) && operand__fits(shown[1], visible[0])) {
        swap = visible[0];
        visible[0] = visible[1];
        visible[1] = swap;
    }
    for (unsigned i = 0; i < row->n_operands; i++) {
        const struct row_operand *o = &ops[i];
        struct bound b = bound__new();

        b.read = o->read;
        b.write = o->write;
        b.hidden = o->hidden;
        b.flags_read = o->flags_read;
        b.flags_written = o->flags_written;
        if (o->kind == ROW_FLAGS) {
            b.kind = ROW_FLAGS;
        } else if (o->hidden) {
            bind_hidden(o, &b);
        } else {
            bind_shown(o, k < n_visible ? visible[k] : NULL, &b);
            k++;
        }
        facts->bound[facts->n_bound++] = b;
    }
}

void facts__bind_decoded(const struct decoded *d, struct facts *facts)
{
    bool x87 = false;

    facts->n_bound = 0;
    for (unsigned i = 0; i < d->n_operands && facts->n_bound < BOUND_MAX_OPERANDS; i++) {
        const struct operand *v = &d->operand[i];
        const struct row_operand plain = {.kind = v->mem_type == OPERAND_MEM_ADDRESS ? ROW_ADDRESS : ROW_MEM};
        struct bound b = bound__new();

        if (v->type == OPERAND_REG && (v->reg.cls == REG_CLASS_IP || (v->reg.cls == REG_CLASS_X87 && x87)))
            continue;
        bind_shown(&plain, v, &b);
        b.read = v->read;
        b.write = v->write;
        b.hidden = v->hidden;
        if (v->type == OPERAND_REG && v->reg.cls == REG_CLASS_X87)
            x87 = b.read = b.write = true;
        if (v->type == OPERAND_REG && v->reg.cls == REG_CLASS_FLAGS) {
            b.kind = ROW_FLAGS;
            b.flags_read = v->read ? GROUP_C | GROUP_SPAZO : 0;
            b.flags_written = v->write ? GROUP_C | GROUP_SPAZO : 0;
        }
        facts->bound[facts->n_bound++] = b;
    }
}

static void fields__override(struct row_fields *f, const struct row_fields *variant)
{
    if (variant->has & VARIANT_UOPS)
        f->uops = variant->uops;
    if (variant->has & VARIANT_FUSED)
        f->fused = variant->fused;
    if (variant->has & VARIANT_DECODER)
        f->decoder = variant->decoder;
    if (variant->has & VARIANT_MS)
        f->ms = variant->ms;
    if (variant->has & VARIANT_SIMPLE)
        f->simple = variant->simple;
    if (variant->has & VARIANT_DIV)
        f->div_cyc = variant->div_cyc;
    if (variant->has & VARIANT_TP)
        f->tp_cyc = variant->tp_cyc;
    if (variant->has & VARIANT_PORTS) {
        f->first_port_group = variant->first_port_group;
        f->n_port_groups = variant->n_port_groups;
        f->no_ports = variant->no_ports;
    }
}

/* UOP-1: two or more register operands, all the same full register. */
static bool all_same(const struct facts *facts)
{
    unsigned n = 0, id = R_NONE;
    bool same = true;

    for (unsigned i = 0; i < facts->n_bound; i++) {
        const struct bound *b = &facts->bound[i];
        bool renamed = b->reg.id <= R_R15 || (b->reg.id >= R_VEC0 && b->reg.id < R_X87);

        if (b->kind != ROW_REG || !renamed)
            continue;
        same = same && (!n || b->reg.id == id);
        id = b->reg.id;
        n++;
    }
    return same && n >= 2;
}

/* RN-8: MOVZX from SPL..R15B is a candidate on IVB only. */
static bool movzx_from_high_encoding(const struct decoded *d, const struct facts *facts)
{
    unsigned n = 0;

    if (strcmp(d->mnemonic, "MOVZX") != 0)
        return false;
    for (unsigned i = 0; i < facts->n_bound; i++)
        if (facts->bound[i].kind == ROW_REG && n++ == 1)
            return facts->bound[i].reg.cls == REG_CLASS_GPR8 && (facts->bound[i].reg.id & 4) != 0;
    return false;
}

static void expand_ports(const struct isa *isa, const struct decoded *d, struct facts *facts)
{
    const struct row_fields *f = &facts->f;

    facts->n_ports = 0;
    if (f->no_ports && !f->uops)
        return;
    for (unsigned i = 0; i < f->n_port_groups; i++) {
        struct port_group g = isa->table.port_groups[f->first_port_group + i];

        if (d->mnemonic[0] == 'J' && strcmp(d->mnemonic, "JMP") != 0 && g.ports == isa->branch_ports)
            g.ports = isa->branch_port; /* UOP-5, MF-6 */
        for (unsigned k = 0; k < g.count && facts->n_ports < CRACK_MAX_UOPS; k++)
            facts->ports[facts->n_ports++] = g.ports;
    }
}

/* DE-3, DE-4, DE-6 */
static void decoder_facts(const struct isa *isa, const struct decoded *d, struct facts *facts)
{
    const struct row_fields *f = &facts->f;

    facts->complex = f->simple >= 0 || f->ms > 0 || f->decoder + f->ms > 1;
    if (f->simple >= 0)
        facts->simple_after = (uint8_t)f->simple;
    else if (!facts->complex)
        facts->simple_after = 3;
    else if (f->ms)
        facts->simple_after = 0;
    else if (isa->table.decode_uops == 5)
        facts->simple_after = (uint8_t)(f->decoder < 5 ? 5 - f->decoder : 0);
    else
        facts->simple_after = f->decoder <= 2 ? 2 : 0;
    if (!strcmp(d->mnemonic, "POP") && d->map == 0 && d->opcode == 0x5c) {
        facts->complex = true;
        facts->simple_after = isa->pop5c_ends_group ? 0 : 3;
    }
}

void facts__find(const struct isa *isa, const struct decoded *d, bool elim_failed, struct facts *facts)
{
    const struct row *row = table__match(&isa->table, d);
    struct decoded vex;

    facts->known = row != NULL;
    if (!row && decoded__evex_as_vex(d, &vex)) {
        row = table__match(&isa->table, &vex);
        d = &vex;
    }
    facts->row = row;
    facts->n_bound = 0;
    facts->elim = false;
    facts->lat_cyc = 1;
    if (!row) {
        facts->keep_same = facts->same = facts->indexed = false;
        facts__default(isa, d, facts);
        decoder_facts(isa, d, facts);
        return;
    }
    bind_row(&isa->table, row, d, facts);
    facts->same = all_same(facts);
    facts->indexed = false;
    for (unsigned i = 0; i < facts->n_bound; i++)
        if (facts->bound[i].kind == ROW_MEM && facts->bound[i].index.cls != REG_CLASS_NONE &&
            !facts->bound[i].hidden)
            facts->indexed = true;
again:
    facts->f = row->base;
    facts->keep_same = facts->same || elim_failed;
    if (facts->keep_same)
        fields__override(&facts->f, &row->same);
    if (facts->indexed)
        fields__override(&facts->f, &row->indexed);
    if (!facts->f.fused)
        facts->f.fused = 1; /* UOP-3 */
    if (!facts->f.decoder)
        facts->f.decoder = 1;
    facts->elim = row->elim && !facts->same && !elim_failed && !facts->f.uops;
    if (facts->elim && !isa->movzx_high && movzx_from_high_encoding(d, facts)) {
        elim_failed = true;
        goto again;
    }
    expand_ports(isa, d, facts);
    decoder_facts(isa, d, facts);
}
