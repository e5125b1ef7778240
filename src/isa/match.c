/* SPDX-License-Identifier: Apache-2.0 */
/* The table row of a decoded instruction: candidates by mnemonic, scored by suffix, operand classes,
 * operand size and encoding; the first of the best wins. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

enum { NO_MATCH = -1000 };

/* The operands that count for the form: explicit ones and fixed ones, not hidden ones. */
struct visible {
    unsigned n;
    const struct operand *operand[DECODED_MAX_OPERANDS];
};

static bool text__starts(struct text text, const char *prefix)
{
    uint32_t i = 0;

    while (i < text.len && prefix[i] && text.at[i] == prefix[i])
        i++;
    return !prefix[i];
}

static struct text next_part(struct text *from, char stop)
{
    const char *hit = memchr(from->at, stop, from->len);
    struct text part = {from->at, hit ? (uint32_t)(hit - from->at) : from->len};

    from->at += part.len + (hit ? 1 : 0);
    from->len -= part.len + (hit ? 1 : 0);
    return part;
}

static unsigned text__value(struct text text, unsigned skip)
{
    unsigned value = 0;

    for (uint32_t i = skip; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return ~0u;
        value = value * 10 + (unsigned)(text.at[i] - '0');
    }
    return value;
}

/* Address shape in the notation of the LEA suffixes: B, I, IS, D8, D32, R. */
static void lea_shape(const struct decoded *d, const struct operand *mem, char shape[16])
{
    const char *parts[3];
    unsigned n = 0;

    if (mem->base.cls != REG_CLASS_NONE)
        parts[n++] = mem->base.cls == REG_CLASS_IP ? "R" : "B";
    if (mem->index.cls != REG_CLASS_NONE)
        parts[n++] = mem->scale > 1 ? "IS" : "I";
    if (d->disp_bits)
        parts[n++] = d->disp_bits == 8 ? "D8" : "D32";
    shape[0] = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i)
            strcat(shape, "_");
        strcat(shape, parts[i]);
    }
}

static int lea_score(const struct decoded *d, const struct row *row)
{
    struct text suffix = row->suffix;
    char shape[16];

    if (d->n_operands < 2 || d->operand[1].type != OPERAND_MEM)
        return NO_MATCH;
    lea_shape(d, &d->operand[1], shape);
    if (text__is(suffix, shape))
        return 5;
    if (d->operand_bits != 16)
        return NO_MATCH;
    if (text__starts(suffix, "W_"))
        suffix = (struct text){suffix.at + 2, suffix.len - 2};
    else if (suffix.len > 2 && !memcmp(suffix.at + suffix.len - 2, "_W", 2))
        suffix.len -= 2;
    return text__is(suffix, shape) ? 5 : NO_MATCH;
}

/* "89", "0F28": the opcode byte, or -1. */
static int suffix_opcode(struct text part)
{
    int value = 0;

    if (part.len == 4 && text__starts(part, "0F"))
        part = (struct text){part.at + 2, 2};
    if (part.len != 2)
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        char c = part.at[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'F'))
            return -1;
        value = value * 16 + (c <= '9' ? c - '0' : c - 'A' + 10);
    }
    return value;
}

static int suffix_part_score(const struct decoded *d, struct text part, bool any_visible)
{
    if (text__is(part, "LOCK"))
        return d->lock ? 3 : NO_MATCH;
    if (text__is(part, "REPE"))
        return d->rep ? 3 : NO_MATCH;
    if (text__is(part, "REPNE"))
        return d->repne ? 3 : NO_MATCH;
    if (text__is(part, "REX64"))
        return d->rex_w ? 1 : NO_MATCH;
    if (text__is(part, "XMM"))
        return any_visible ? 1 : NO_MATCH;
    if (text__is(part, "W"))
        return d->operand_bits == 16 ? 1 : NO_MATCH;
    if (text__is(part, "EXCLUSIVE"))
        return NO_MATCH;
    if (text__is(part, "NEAR") || text__is(part, "CR") || text__is(part, "DR"))
        return 1;
    return 0;
}

static int suffix_score(const struct decoded *d, const struct row *row, bool any_visible, bool strict)
{
    struct text rest = row->suffix;
    bool has_lock = false, has_rep = false;
    int score = 0;

    if (text__is(row->mnemonic, "LEA"))
        return lea_score(d, row);
    if (text__is(rest, "-"))
        rest.len = 0;
    while (rest.len) {
        struct text part = next_part(&rest, '_');
        int opcode = suffix_opcode(part);
        int s;

        if (opcode >= 0) {
            if (opcode != d->opcode)
                return strict ? NO_MATCH : -2;
            score += 2;
            continue;
        }
        s = suffix_part_score(d, part, any_visible);
        if (s == NO_MATCH)
            return NO_MATCH;
        score += s;
        has_lock |= text__is(part, "LOCK");
        has_rep |= text__starts(part, "REP");
    }
    if (d->lock && !has_lock && strict && !text__is(row->mnemonic, "XCHG"))
        return NO_MATCH;
    if (decoded__is_string(d) && (d->rep || d->repne) && !has_rep)
        return NO_MATCH;
    return score;
}

static int fixed_register_score(struct text cls, const struct operand *o, bool strict)
{
    static const struct {
        const char *name;
        uint8_t cls, id;
    } fixed[] = {
        {"AL", REG_CLASS_GPR8, R_RAX},     {"AX", REG_CLASS_GPR16, R_RAX},    {"EAX", REG_CLASS_GPR32, R_RAX},
        {"RAX", REG_CLASS_GPR64, R_RAX},   {"CL", REG_CLASS_GPR8, R_RCX},     {"DX", REG_CLASS_GPR16, R_RDX},
        {"FS", REG_CLASS_SEG, R_SEG0 + 4}, {"GS", REG_CLASS_SEG, R_SEG0 + 5},
    };

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (!text__is(cls, fixed[i].name))
            continue;
        if (o->type != OPERAND_REG || o->reg.cls != fixed[i].cls || o->reg.id != fixed[i].id)
            return NO_MATCH;
        if (strict && !o->fixed && fixed[i].cls != REG_CLASS_SEG)
            return NO_MATCH;
        return 3;
    }
    return 0;
}

static int register_score(struct text cls, const struct operand *o, bool strict)
{
    static const struct {
        const char *name;
        uint8_t cls;
        bool gpr;
    } classes[] = {
        {"R8l", REG_CLASS_GPR8, true},  {"R8h", REG_CLASS_GPR8H, true}, {"R16", REG_CLASS_GPR16, true},
        {"R32", REG_CLASS_GPR32, true}, {"R64", REG_CLASS_GPR64, true}, {"XMM", REG_CLASS_XMM, false},
        {"YMM", REG_CLASS_YMM, false},  {"MM", REG_CLASS_MMX, false},   {"SEG", REG_CLASS_SEG, false},
        {"CR", REG_CLASS_CR, false},    {"DR", REG_CLASS_DR, false},    {"BND", REG_CLASS_BND, false},
    };

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!text__is(cls, classes[i].name))
            continue;
        if (o->type != OPERAND_REG || o->reg.cls != classes[i].cls || (classes[i].gpr && o->fixed && strict))
            return NO_MATCH;
        return 2;
    }
    return 0;
}

static int memory_score(const struct decoded *d, struct text cls, const struct operand *o, bool strict)
{
    if (o->type != OPERAND_MEM)
        return NO_MATCH;
    if (text__starts(cls, "Moffs"))
        return d->mod < 0 && o->size_bits == text__value(cls, 5) ? 3 : NO_MATCH;
    if (text__starts(cls, "VSIB_")) {
        if (o->mem_type != OPERAND_MEM_VSIB)
            return NO_MATCH;
        return o->index.cls == (cls.at[5] == 'X' ? REG_CLASS_XMM : REG_CLASS_YMM) ? 2 : NO_MATCH;
    }
    if (o->size_bits == text__value(cls, 1))
        return 2;
    return strict ? NO_MATCH : -2;
}

static int immediate_score(struct text cls, const struct operand *o, bool strict)
{
    if (o->type != OPERAND_IMM)
        return NO_MATCH;
    if (text__is(cls, "0"))
        return !o->value && !o->relative ? 4 : NO_MATCH;
    if (text__is(cls, "1"))
        return o->fixed && o->value == 1 ? 4 : NO_MATCH;
    if (cls.at[0] == 'R')
        return o->imm_bits == text__value(cls, 3) ? 2 : NO_MATCH;
    if (o->relative)
        return NO_MATCH;
    if (o->imm_bits == text__value(cls, 1))
        return 2;
    return strict ? NO_MATCH : -2;
}

/* Score of one operand against one class of the form. */
static int class_score(const struct decoded *d, struct text cls, const struct operand *o, bool strict)
{
    int score = fixed_register_score(cls, o, strict);

    if (!score)
        score = register_score(cls, o, strict);
    if (score)
        return score;
    if (text__starts(cls, "Rel") || text__is(cls, "0") || text__is(cls, "1") || cls.at[0] == 'I')
        return immediate_score(cls, o, strict);
    if (cls.at[0] == 'M' || cls.at[0] == 'V')
        return memory_score(d, cls, o, strict);
    return NO_MATCH;
}

static int row_score(const struct decoded *d, const struct row *row, const struct visible *v,
                     bool any_visible, bool strict)
{
    struct text rest = row->form;
    bool class_zero = false, imm_zero = false;
    int score;

    if (row->n_classes != v->n)
        return NO_MATCH;
    score = suffix_score(d, row, any_visible, strict);
    if (score == NO_MATCH)
        return NO_MATCH;
    for (unsigned i = 0; i < v->n; i++) {
        struct text cls = next_part(&rest, ',');
        int s = class_score(d, cls, v->operand[i], strict);

        if (s == NO_MATCH)
            return NO_MATCH;
        score += s;
        class_zero |= text__is(cls, "0");
        imm_zero |= v->operand[i]->type == OPERAND_IMM && !v->operand[i]->value;
    }
    if (row->operand_bits)
        score += row->operand_bits == d->operand_bits ? 1 : -1;
    if (row->imm_zero == 1 && !class_zero)
        return NO_MATCH;
    if (row->imm_zero == 0 && imm_zero && strict)
        return NO_MATCH;
    if (row->rm_set && (d->rm < 0 || !(row->rm_set >> d->rm & 1))) {
        if (strict)
            return NO_MATCH;
        score -= 3;
    }
    return score;
}

struct range {
    const struct row *first, *end;
};

static int text__compare(struct text text, const char *s)
{
    size_t n = strlen(s), m = text.len < n ? text.len : n;
    int order = memcmp(text.at, s, m);

    return order ? order : (text.len > n) - (text.len < n);
}

static struct range rows_of(const struct table *t, const char *mnemonic)
{
    uint32_t lo = 0, hi = t->n_rows;
    struct range range;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (text__compare(t->rows[mid].mnemonic, mnemonic) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    range.first = range.end = t->rows + lo;
    while (range.end < t->rows + t->n_rows && text__is(range.end->mnemonic, mnemonic))
        range.end++;
    return range;
}

static const struct row *best_row(const struct decoded *d, struct range range, const struct visible *v,
                                  bool any_visible, bool strict)
{
    const struct row *best = NULL;
    int best_score = NO_MATCH;

    for (const struct row *row = range.first; row < range.end; row++) {
        int score = row_score(d, row, v, any_visible, strict);
        if (score > best_score) {
            best = row;
            best_score = score;
        }
    }
    return best;
}

const struct row *table__match(const struct table *table, const struct decoded *d)
{
    struct visible v = {0};
    const struct row *row;
    struct range range;
    char mnemonic[MNEMONIC_MAX + 2];
    bool any_visible;

    if (d->kind == DECODED_FAR) /* the rows are of the near forms */
        return NULL;
    memcpy(mnemonic, d->mnemonic, MNEMONIC_MAX);
    if (d->rex_w && (strstr(mnemonic, "PCMPESTRI") || strstr(mnemonic, "PCMPESTRM")))
        strcat(mnemonic, "64");
    range = rows_of(table, mnemonic);
    for (unsigned i = 0; i < d->n_operands; i++)
        if (!d->operand[i].hidden)
            v.operand[v.n++] = &d->operand[i];
    any_visible = v.n > 0;
    if (!strcmp(mnemonic, "LEA") || (!strcmp(mnemonic, "NOP") && v.n == 2))
        v.n = 1; /* the form omits the address; 0F18..0F1F have a second register */
    row = best_row(d, range, &v, any_visible, true);
    if (!row && v.n == 2 && (!strcmp(mnemonic, "XCHG") || !strcmp(mnemonic, "TEST"))) {
        struct visible swapped = {2, {v.operand[1], v.operand[0]}};
        row = best_row(d, range, &swapped, any_visible, true);
    }
    return row ? row : best_row(d, range, &v, any_visible, false);
}
