/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_registers.h"

#include <assert.h>
#include <string.h>

#include "fathom/insn.h"

enum { TWO_BYTE = 0x100, REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8, ALL = (1 << GENERAL_REGISTERS) - 1 };

/* An instruction of the one- or two-byte map without prefixes other than REX and idle segments. */
struct parts {
    unsigned opcode; /* TWO_BYTE | second byte */
    unsigned rex;
    bool has_rex;
    const uint8_t *modrm; /* the byte behind the opcode */
    unsigned n;           /* bytes from there on */
};

static bool parts__read(const uint8_t *bytes, unsigned len, struct parts *p)
{
    unsigned at = 0;

    memset(p, 0, sizeof *p);
    while (at < len && (bytes[at] == 0x2e || bytes[at] == 0x36 || bytes[at] == 0x3e || bytes[at] == 0x26))
        at++;
    if (at < len && (bytes[at] & 0xf0) == 0x40) {
        p->has_rex = true;
        p->rex = bytes[at++] & 15;
    }
    if (at < len && bytes[at] == 0x0f) {
        p->opcode = TWO_BYTE;
        at++;
    }
    if (at >= len)
        return false;
    p->opcode |= bytes[at++];
    p->modrm = bytes + at;
    p->n = len - at;
    return true;
}

static uint8_t parts__reg(const struct parts *p)
{
    return (uint8_t)((p->modrm[0] >> 3 & 7) | (p->rex & REX_R ? 8 : 0));
}

static uint8_t parts__rm(const struct parts *p)
{
    return (uint8_t)((p->modrm[0] & 7) | (p->rex & REX_B ? 8 : 0));
}

static bool parts__is_register_form(const struct parts *p)
{
    return p->n > 0 && p->modrm[0] >= 0xc0;
}

/* The last `bytes` of the instruction, sign-extended. */
static int64_t parts__immediate(const struct parts *p, unsigned bytes)
{
    const uint8_t *end = p->modrm + p->n;
    int32_t four;
    int64_t eight;

    assert(bytes <= p->n);
    if (bytes == 1)
        return (int8_t)end[-1];
    if (bytes == 4) {
        memcpy(&four, end - 4, sizeof four);
        return four;
    }
    memcpy(&eight, end - 8, sizeof eight);
    return eight;
}

/* The memory operand of ModRM. */
static bool parts__address(const struct parts *p, uint64_t next_addr, struct reg_op *op)
{
    unsigned mod, rm, at = 1, n_disp;

    if (p->n == 0 || p->modrm[0] >= 0xc0)
        return false;
    mod = p->modrm[0] >> 6;
    rm = p->modrm[0] & 7;
    n_disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    *op = (struct reg_op){.kind = REG_OP_SUM, .a = NO_REGISTER, .b = NO_REGISTER, .bits = 64};
    op->dst = NO_REGISTER;
    if (rm == 4 && p->n > 1) {
        unsigned sib = p->modrm[at++], index = (sib >> 3 & 7) | (p->rex & REX_X ? 8u : 0);

        op->scale = (uint8_t)(sib >> 6);
        if (index != R_RSP)
            op->b = (uint8_t)index;
        if (mod == 0 && (sib & 7) == 5)
            n_disp = 4;
        else
            op->a = (uint8_t)((sib & 7) | (p->rex & REX_B ? 8 : 0));
    } else if (mod == 0 && rm == 5) {
        n_disp = 4;
        op->value = (int64_t)next_addr;
    } else {
        op->a = parts__rm(p);
    }
    if (at + n_disp > p->n)
        return false;
    if (n_disp == 1) {
        op->value += (int8_t)p->modrm[at];
    } else if (n_disp == 4) {
        int32_t disp;

        memcpy(&disp, p->modrm + at, sizeof disp);
        op->value += disp;
    }
    return true;
}

bool reg_op__hint(const struct insn *insn, uint64_t addr, struct reg_op *op)
{
    unsigned at = insn->bytes[0] == 0x66; /* of CLFLUSHOPT and CLWB: part of the opcode */
    struct parts p;

    return parts__read(insn->bytes + at, insn->len - at, &p) &&
           (p.opcode == (TWO_BYTE | 0x0d) || p.opcode == (TWO_BYTE | 0x18) || p.opcode == (TWO_BYTE | 0x1c) ||
            p.opcode == (TWO_BYTE | 0xae)) &&
           parts__address(&p, addr + insn->len, op);
}

/* The group of ADD ... XOR by its three bits: dst OP= b or value. */
static bool decode_arithmetic(unsigned group, struct reg_op *op)
{
    bool immediate = op->b == NO_REGISTER, same = op->a == op->b;

    switch (group) {
    case 0:
        op->kind = REG_OP_SUM;
        return true;
    case 1:
        op->kind = REG_OP_OR;
        return true;
    case 4:
        op->kind = REG_OP_AND;
        return true;
    case 5:
    case 6:
        if (immediate && group == 5) {
            op->kind = REG_OP_SUM;
            op->value = (int64_t)(0 - (uint64_t)op->value);
            return true;
        }
        op->kind = group == 5 ? REG_OP_DIFFERENCE : REG_OP_XOR;
        if (same) { /* zero, whatever it was */
            op->kind = REG_OP_SUM;
            op->a = op->b = NO_REGISTER;
        }
        return true;
    default:
        return false; /* ADC, SBB need flags; CMP writes none */
    }
}

static bool decode_shift(unsigned group, unsigned count, struct reg_op *op)
{
    static const uint8_t KIND[8] = {[0] = REG_OP_ROL, [1] = REG_OP_ROR, [4] = REG_OP_SHL,
                                    [5] = REG_OP_SHR, [6] = REG_OP_SHL, [7] = REG_OP_SAR};

    if (group == 2 || group == 3)
        return false; /* through carry */
    op->kind = KIND[group];
    op->value = count;
    return true;
}

/* Groups F7 and FF. */
static bool decode_unary(const struct parts *p, struct reg_op *op)
{
    unsigned group = p->modrm[0] >> 3 & 7;

    op->dst = op->a = parts__rm(p);
    if (p->opcode == 0xff && group < 2) {
        op->value = group == 0 ? 1 : -1;
        return true;
    }
    if (p->opcode == 0xf7 && group == 2) {
        op->kind = REG_OP_XOR;
        op->value = -1;
        return true;
    }
    if (p->opcode == 0xf7 && group == 3) {
        op->kind = REG_OP_DIFFERENCE;
        op->b = op->a;
        op->a = NO_REGISTER;
        return true;
    }
    return false;
}

static bool decode_extension(const struct parts *p, struct reg_op *op)
{
    op->dst = parts__reg(p);
    op->b = parts__rm(p);
    op->kind = p->opcode == 0x63 || p->opcode >= (TWO_BYTE | 0xbe) ? REG_OP_SIGN_EXTEND : REG_OP_ZERO_EXTEND;
    op->from_bits = p->opcode == 0x63 ? 32 : p->opcode & 1 ? 16 : 8;
    if (op->from_bits == 8 && !p->has_rex && op->b >= 4) { /* AH..DH */
        op->b = (uint8_t)(op->b - 4);
        op->value = 8;
    }
    return true;
}

/* Without ModRM. */
static bool decode_short(const struct parts *p, struct reg_op *op)
{
    unsigned low = (p->opcode & 7) | (p->rex & REX_B ? 8u : 0);

    switch (p->opcode) {
    case 0x05: /* with RAX */
    case 0x0d:
    case 0x25:
    case 0x2d:
    case 0x35:
        op->dst = op->a = R_RAX;
        op->value = parts__immediate(p, 4);
        return decode_arithmetic(p->opcode >> 3, op);
    case 0x98: /* CWDE, CDQE */
        op->kind = REG_OP_SIGN_EXTEND;
        op->dst = op->b = R_RAX;
        op->from_bits = op->bits / 2;
        return true;
    default:
        break;
    }
    if (p->opcode >= 0x50 && p->opcode <= 0x57) { /* PUSH */
        op->dst = op->a = R_RSP;
        op->bits = 64;
        op->value = -8;
        return true;
    }
    if (p->opcode >= 0xb8 && p->opcode <= 0xbf) {
        op->dst = (uint8_t)low;
        op->value = parts__immediate(p, op->bits / 8);
        return true;
    }
    return false;
}

/* With a register in ModRM.rm. */
static bool decode_registers(const struct parts *p, struct reg_op *op)
{
    unsigned group = p->modrm[0] >> 3 & 7;
    uint8_t reg = parts__reg(p), rm = parts__rm(p);

    if (p->opcode < 0x40 && (p->opcode & 5) == 1) {
        op->dst = op->a = p->opcode & 2 ? reg : rm;
        op->b = p->opcode & 2 ? rm : reg;
        return decode_arithmetic(p->opcode >> 3, op);
    }
    switch (p->opcode) {
    case 0x63:
    case TWO_BYTE | 0xb6:
    case TWO_BYTE | 0xb7:
    case TWO_BYTE | 0xbe:
    case TWO_BYTE | 0xbf:
        return decode_extension(p, op);
    case 0x69:
    case 0x6b:
        op->kind = REG_OP_PRODUCT;
        op->dst = reg;
        op->a = rm;
        op->value = parts__immediate(p, p->opcode == 0x69 ? 4 : 1);
        return true;
    case TWO_BYTE | 0xaf:
        op->kind = REG_OP_PRODUCT;
        op->dst = op->a = reg;
        op->b = rm;
        return true;
    case 0x81:
    case 0x83:
        op->dst = op->a = rm;
        op->value = parts__immediate(p, p->opcode == 0x81 ? 4 : 1);
        return decode_arithmetic(group, op);
    case 0x89:
    case 0x8b:
        op->dst = p->opcode == 0x89 ? rm : reg;
        op->a = p->opcode == 0x89 ? reg : rm;
        return true;
    case 0xc1:
    case 0xd1:
        op->dst = op->a = rm;
        return decode_shift(group, p->opcode == 0xd1 ? 1 : p->modrm[1], op);
    case 0xd3:
        op->dst = op->a = rm;
        op->b = R_RCX;
        return decode_shift(group, 0, op);
    case 0xc7:
        op->dst = rm;
        op->value = parts__immediate(p, 4);
        return group == 0;
    case 0xf7:
    case 0xff:
        return decode_unary(p, op);
    default:
        return false;
    }
}

bool reg_op__decode(const struct insn *insn, uint64_t addr, struct reg_op *op)
{
    struct parts p;
    uint8_t bits;

    if (!parts__read(insn->bytes, insn->len, &p))
        return false;
    bits = p.rex & REX_W ? 64 : 32;
    if (p.opcode == 0x8d) {
        if (!parts__address(&p, addr + insn->len, op))
            return false;
        op->dst = parts__reg(&p);
        op->bits = bits;
    } else {
        *op = (struct reg_op){
            .kind = REG_OP_SUM, .dst = NO_REGISTER, .a = NO_REGISTER, .b = NO_REGISTER, .bits = bits};
        if (!decode_short(&p, op) && !(parts__is_register_form(&p) && decode_registers(&p, op)))
            return false;
    }
    /* A second result, or one that is not expected here: not understood after all. */
    return reg_op__written(insn) == 1u << op->dst;
}

/* Instruction tables leave out what these do to their pointers. */
static unsigned written_beside_table(const struct insn *insn)
{
    const uint8_t *op = insn->bytes + insn->opcode_off;

    if (insn->opcode_off > 0 && op[-1] == 0x0f)
        return 0;
    if (op[0] == 0xc8) /* ENTER */
        return 1u << R_RSP | 1u << R_RBP;
    if (op[0] >= 0xa4 && op[0] <= 0xaf && op[0] != 0xa8 && op[0] != 0xa9) /* string instructions */
        return 1u << R_RAX | 1u << R_RCX | 1u << R_RSI | 1u << R_RDI;
    return 0;
}

unsigned reg_op__written(const struct insn *insn)
{
    unsigned written = ((unsigned)insn->written[0] & ALL) | written_beside_table(insn);

    if (insn->rsp_delta || insn->flags & INSN_RSP_WRITTEN)
        written |= 1u << R_RSP;
    if (insn->flags & INSN_SYSCALL)
        written |= 1u << R_RAX | 1u << R_RCX | 1u << R_R11;
    else if (insn->flags & INSN_UNKNOWN || insn->branch == BRANCH_OTHER)
        written = ALL;
    return written;
}

unsigned reg_op__sources(const struct reg_op *op)
{
    unsigned set = 0;

    if (op->a != NO_REGISTER)
        set |= 1u << op->a;
    if (op->b != NO_REGISTER)
        set |= 1u << op->b;
    return set;
}

static uint64_t rotate_left(uint64_t value, unsigned count, unsigned bits)
{
    return count == 0 ? value : value << count | value >> (bits - count);
}

static uint64_t extend(const struct reg_op *op, uint64_t value)
{
    unsigned unused = 64u - op->from_bits;

    value = value >> op->value << unused;
    return op->kind == REG_OP_SIGN_EXTEND ? (uint64_t)((int64_t)value >> unused) : value >> unused;
}

uint64_t reg_op__value(const struct reg_op *op, const uint64_t *regs)
{
    uint64_t mask = op->bits == 32 ? UINT32_MAX : UINT64_MAX;
    uint64_t a = op->a == NO_REGISTER ? 0 : regs[op->a] & mask, value = (uint64_t)op->value;
    uint64_t b = op->b == NO_REGISTER ? value : regs[op->b], result = 0;
    unsigned count = (unsigned)b & (op->bits - 1u);

    switch ((enum reg_op_kind)op->kind) {
    case REG_OP_SUM:
        result = a + (op->b == NO_REGISTER ? 0 : b << op->scale) + value;
        break;
    case REG_OP_DIFFERENCE:
        result = a - b;
        break;
    case REG_OP_AND:
        result = a & b;
        break;
    case REG_OP_OR:
        result = a | b;
        break;
    case REG_OP_XOR:
        result = a ^ b;
        break;
    case REG_OP_PRODUCT:
        result = a * b;
        break;
    case REG_OP_SHL:
        result = a << count;
        break;
    case REG_OP_SHR:
        result = a >> count;
        break;
    case REG_OP_SAR:
        result = (uint64_t)((op->bits == 32 ? (int64_t)(int32_t)a : (int64_t)a) >> count);
        break;
    case REG_OP_ROL:
        result = rotate_left(a, count, op->bits);
        break;
    case REG_OP_ROR:
        result = rotate_left(a, (op->bits - count) & (op->bits - 1u), op->bits);
        break;
    case REG_OP_ZERO_EXTEND:
    case REG_OP_SIGN_EXTEND:
        result = extend(op, b);
        break;
    case REG_OP_OBSERVED:
        break;
    }
    return result & mask;
}
