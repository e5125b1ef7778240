/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to struct decoded. The only file that knows the decoder library. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "isa/isa.h"

struct decoder {
    ZydisDecoder zydis;
    ZydisFormatter formatter;
};

struct decoder *decoder__new(void)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);

    if (!decoder)
        return NULL;
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisFormatterInit(&decoder->formatter, ZYDIS_FORMATTER_STYLE_INTEL)) ||
        ZYAN_FAILED(ZydisFormatterSetProperty(&decoder->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                                              ZYDIS_PADDING_DISABLED)) ||
        ZYAN_FAILED(ZydisFormatterSetProperty(&decoder->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, 0))) {
        free(decoder);
        return NULL;
    }
    return decoder;
}

void decoder__free(struct decoder *decoder)
{
    free(decoder);
}

unsigned decoder__length(const struct decoder *decoder, const uint8_t *bytes, size_t n, int *need)
{
    ZydisDecodedInstruction zi;
    ZydisDecoderContext context;
    ZyanStatus status;

    if (need)
        *need = 0;
    if (n > 15)
        n = 15;
    status = n ? ZydisDecoderDecodeInstruction(&decoder->zydis, &context, bytes, n, &zi)
               : ZYDIS_STATUS_NO_MORE_DATA;
    if (ZYAN_SUCCESS(status))
        return zi.length;
    if (need)
        *need = status == ZYDIS_STATUS_NO_MORE_DATA && n < 15;
    return 0;
}

static struct reg reg__convert(ZydisRegister zr)
{
    static const struct {
        uint8_t zydis, cls, first;
    } map[] = {
        {ZYDIS_REGCLASS_GPR16, REG_CLASS_GPR16, R_RAX}, {ZYDIS_REGCLASS_GPR32, REG_CLASS_GPR32, R_RAX},
        {ZYDIS_REGCLASS_GPR64, REG_CLASS_GPR64, R_RAX}, {ZYDIS_REGCLASS_MMX, REG_CLASS_MMX, R_MMX0},
        {ZYDIS_REGCLASS_XMM, REG_CLASS_XMM, R_VEC0},    {ZYDIS_REGCLASS_YMM, REG_CLASS_YMM, R_VEC0},
        {ZYDIS_REGCLASS_ZMM, REG_CLASS_ZMM, R_VEC0},    {ZYDIS_REGCLASS_SEGMENT, REG_CLASS_SEG, R_SEG0},
    };
    struct reg reg = {REG_CLASS_OTHER, R_OTHER};
    ZydisRegisterClass zc = ZydisRegisterGetClass(zr);
    int id = ZydisRegisterGetId(zr);

    if (zr == ZYDIS_REGISTER_NONE)
        return (struct reg){REG_CLASS_NONE, R_NONE};
    if (zc == ZYDIS_REGCLASS_GPR8) {
        if (zr >= ZYDIS_REGISTER_AH && zr <= ZYDIS_REGISTER_BH)
            return (struct reg){REG_CLASS_GPR8H, (uint8_t)(R_RAX + (zr - ZYDIS_REGISTER_AH))};
        zr = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, zr);
        return (struct reg){REG_CLASS_GPR8, (uint8_t)(R_RAX + ZydisRegisterGetId(zr))};
    }
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (zc == map[i].zydis)
            return (struct reg){map[i].cls, (uint8_t)(map[i].first + id)};
    switch (zc) {
    case ZYDIS_REGCLASS_X87:
        return (struct reg){REG_CLASS_X87, R_X87};
    case ZYDIS_REGCLASS_CONTROL:
        reg.cls = REG_CLASS_CR;
        break;
    case ZYDIS_REGCLASS_DEBUG:
        reg.cls = REG_CLASS_DR;
        break;
    case ZYDIS_REGCLASS_BOUND:
        reg.cls = REG_CLASS_BND;
        break;
    case ZYDIS_REGCLASS_MASK:
        reg.cls = REG_CLASS_MASK;
        break;
    case ZYDIS_REGCLASS_IP:
        return (struct reg){REG_CLASS_IP, R_NONE};
    case ZYDIS_REGCLASS_FLAGS:
        return (struct reg){REG_CLASS_FLAGS, R_NONE};
    default:
        if (zr == ZYDIS_REGISTER_X87CONTROL || zr == ZYDIS_REGISTER_X87STATUS || zr == ZYDIS_REGISTER_X87TAG)
            return (struct reg){REG_CLASS_X87, R_X87};
        break;
    }
    return reg;
}

static void operand__memory(const ZydisDecodedOperandMem *zm, struct operand *o)
{
    o->type = OPERAND_MEM;
    o->mem_type = zm->type == ZYDIS_MEMOP_TYPE_VSIB ? OPERAND_MEM_VSIB
                  : zm->type == ZYDIS_MEMOP_TYPE_AGEN || zm->type == ZYDIS_MEMOP_TYPE_MIB
                      ? OPERAND_MEM_ADDRESS
                      : OPERAND_MEM_PLAIN;
    o->base = reg__convert(zm->base);
    o->index = reg__convert(zm->index);
    o->scale = zm->index == ZYDIS_REGISTER_NONE ? 0 : zm->scale;
    o->disp = zm->disp.has_displacement ? zm->disp.value : 0;
    o->segment = zm->segment == ZYDIS_REGISTER_FS ? 'f' : zm->segment == ZYDIS_REGISTER_GS ? 'g' : 0;
}

static void operand__convert(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *zo,
                             unsigned *n_immediates, struct operand *o)
{
    memset(o, 0, sizeof *o);
    o->hidden = zo->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    o->fixed = zo->encoding == ZYDIS_OPERAND_ENCODING_NONE;
    o->read = (zo->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    o->write = (zo->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    o->size_bits = zo->size;
    switch (zo->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        o->type = OPERAND_REG;
        o->reg = reg__convert(zo->reg.value);
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        operand__memory(&zo->mem, o);
        break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        o->type = OPERAND_IMM;
        if (!o->fixed)
            o->imm_bits = zi->raw.imm[(*n_immediates)++ & 1].size;
        o->relative = zo->imm.is_relative;
        o->value = zo->imm.value.s;
        break;
    default:
        o->type = OPERAND_OTHER;
        break;
    }
}

/* FE-9: the byte before ModRM, immediate or moffs, else the last one. */
static unsigned nominal_opcode(const ZydisDecodedInstruction *zi)
{
    if (zi->raw.modrm.offset)
        return zi->raw.modrm.offset - 1u;
    if (zi->raw.imm[0].size)
        return zi->raw.imm[0].offset - 1u;
    if (zi->raw.disp.size)
        return zi->raw.disp.offset - 1u;
    return zi->length - 1u;
}

static enum decoded_kind kind_of(const ZydisDecodedInstruction *zi)
{
    if (zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return DECODED_FAR;
    switch (zi->meta.category) {
    case ZYDIS_CATEGORY_X87_ALU:
    case ZYDIS_CATEGORY_FCMOV:
        return DECODED_X87;
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_RDWRFSGS:
        return DECODED_SYSTEM;
    default:
        return DECODED_OTHER;
    }
}

void decoder__decode(const struct decoder *decoder, const uint8_t *bytes, size_t n, struct decoded *out)
{
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand zo[ZYDIS_MAX_OPERAND_COUNT];
    unsigned n_immediates = 0;
    const char *name;
    ZyanStatus status = ZydisDecoderDecodeFull(&decoder->zydis, bytes, n, &zi, zo);

    assert(ZYAN_SUCCESS(status));
    (void)status;
    memset(out, 0, sizeof *out);
    name = ZydisMnemonicGetString(zi.mnemonic);
    for (size_t i = 0; name && name[i] && i + 1 < MNEMONIC_MAX; i++)
        out->mnemonic[i] = (char)toupper((unsigned char)name[i]);
    out->len = zi.length;
    out->opcode_off = (uint8_t)nominal_opcode(&zi);
    out->opcode = zi.opcode;
    out->map = (uint8_t)zi.opcode_map;
    out->operand_bits = zi.operand_width;
    out->disp_bits = zi.raw.disp.size;
    out->rm = (int8_t)(zi.raw.modrm.offset ? zi.raw.modrm.rm : -1);
    out->mod = (int8_t)(zi.raw.modrm.offset ? zi.raw.modrm.mod : -1);
    out->rex_w = zi.raw.rex.W;
    out->evex = zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    out->kind = (uint8_t)kind_of(&zi);
    for (unsigned i = 0; i < zi.raw.prefix_count; i++) {
        switch (zi.raw.prefixes[i].value) {
        case 0x66:
            out->prefix_66 = true;
            break;
        case 0xf0:
            out->lock = true;
            break;
        case 0xf2:
        case 0xf3: /* the last one counts */
            out->repne = zi.raw.prefixes[i].value == 0xf2;
            out->rep = !out->repne;
            break;
        default:
            break;
        }
    }
    for (unsigned i = 0; i < zi.operand_count && out->n_operands < DECODED_MAX_OPERANDS; i++)
        operand__convert(&zi, &zo[i], &n_immediates, &out->operand[out->n_operands++]);
}

void decoder__format(const struct decoder *decoder, const uint8_t *bytes, size_t n, uint64_t addr, char *buf,
                     size_t size)
{
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand zo[ZYDIS_MAX_OPERAND_COUNT];

    if (!size)
        return;
    buf[0] = 0;
    if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder->zydis, bytes, n, &zi, zo)))
        ZydisFormatterFormatInstruction(&decoder->formatter, &zi, zo, zi.operand_count_visible, buf, size,
                                        addr, NULL);
}
