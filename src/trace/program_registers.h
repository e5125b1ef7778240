/* SPDX-License-Identifier: Apache-2.0 */
/* What simple instructions do to general registers: enough to follow an address back to known values. */
#ifndef FATHOM_TRACE_PROGRAM_REGISTERS_H
#define FATHOM_TRACE_PROGRAM_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

struct insn;

enum { GENERAL_REGISTERS = 16, NO_REGISTER = 255 };

enum reg_op_kind {
    REG_OP_SUM,        /* a + (b << scale) + value */
    REG_OP_DIFFERENCE, /* a - b */
    REG_OP_AND,        /* these with b, or with value when b is no register */
    REG_OP_OR,
    REG_OP_XOR,
    REG_OP_PRODUCT,
    REG_OP_SHL, /* by b, or by value when b is no register */
    REG_OP_SHR,
    REG_OP_SAR,
    REG_OP_ROL,
    REG_OP_ROR,
    REG_OP_ZERO_EXTEND, /* the from_bits of b that start at bit `value` */
    REG_OP_SIGN_EXTEND,
    REG_OP_OBSERVED, /* the register as seen later */
};

/* dst = a OP b. Registers by enum reg_id; NO_REGISTER reads as 0. */
struct reg_op {
    uint8_t kind, dst, a, b;
    uint8_t scale, bits, from_bits; /* bits: 32 or 64 */
    int64_t value;
};

/* The whole effect of `insn` at `addr` on general registers. False: it is not of this simple kind. */
bool reg_op__decode(const struct insn *insn, uint64_t addr, struct reg_op *op);
/* The address of a prefetch or cache-line flush, as a sum. False: it depends on more than registers. */
bool reg_op__hint(const struct insn *insn, uint64_t addr, struct reg_op *op);
/* Set of general registers that it writes. */
unsigned reg_op__written(const struct insn *insn);
/* Set of general registers that are read. */
unsigned reg_op__sources(const struct reg_op *op);
uint64_t reg_op__value(const struct reg_op *op, const uint64_t *regs);

#endif
