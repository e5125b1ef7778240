/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does for the program: the kinds of enum work. */
#include "base/text.h"
#include "isa/isa.h"

static bool has_class(const struct decoded *d, enum reg_class first, enum reg_class last)
{
    for (unsigned i = 0; i < d->n_operands; i++)
        if (d->operand[i].type == OPERAND_REG && d->operand[i].reg.cls >= first &&
            d->operand[i].reg.cls <= last)
            return true;
    return false;
}

/* Integer instructions on vector registers begin with P; so do shuffles of FP values, which end in PS or PD,
 * and plain loads and stores. */
static bool is_integer_vector(const struct decoded *d)
{
    static const char *const others[] = {"PMASKMOV", "PGATHER", "PREFETCH", NULL};
    const char *m = d->mnemonic + (d->mnemonic[0] == 'V');

    if (!has_class(d, REG_CLASS_MMX, REG_CLASS_ZMM))
        return false;
    for (const char *const *stem = others; *stem; stem++)
        if (text__starts_with(m, *stem))
            return false;
    if (text__starts_with(m, "MPSADBW") || text__starts_with(m, "EXTRACTI") ||
        text__starts_with(m, "INSERTI"))
        return true;
    return m[0] == 'P' && !text__ends_with(m, "PS") && !text__ends_with(m, "PD") &&
           !text__ends_with(m, "F128");
}

enum work decoded__work(const struct decoded *d, const struct insn *insn)
{
    if (insn->flags & INSN_NOP)
        return WORK_NOP;
    if (d->kind == DECODED_X87)
        return WORK_X87;
    if (insn->fp_width_bytes)
        return insn->fp_width_bytes <= 8    ? WORK_FP_SCALAR
               : insn->fp_width_bytes == 16 ? WORK_FP_128
                                            : WORK_FP_256;
    if (is_integer_vector(d))
        return has_class(d, REG_CLASS_YMM, REG_CLASS_ZMM) ? WORK_VECTOR_256 : WORK_VECTOR_128;
    if (insn->branch != BRANCH_NONE && insn->branch != BRANCH_OTHER)
        return WORK_BRANCH;
    if (insn->n_mem || insn->flags & (INSN_PREFETCH | INSN_FLUSH))
        return WORK_MEMORY;
    return WORK_OTHER;
}
