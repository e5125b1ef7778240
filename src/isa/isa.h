/* SPDX-License-Identifier: Apache-2.0 */
/* Inside isa/: bytes -> struct decoded (decode.c) -> struct row (table.c, match.c) -> uops (crack.c). */
#ifndef FATHOM_ISA_ISA_H
#define FATHOM_ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "fathom/insn.h"

struct status;

/* ---- decoded instructions: our own form, no decoder library beyond decode.c ---- */

enum reg_class {
    REG_CLASS_NONE,
    REG_CLASS_GPR8,  /* AL, SPL, R8B ... */
    REG_CLASS_GPR8H, /* AH..DH; the id is that of the full register */
    REG_CLASS_GPR16,
    REG_CLASS_GPR32,
    REG_CLASS_GPR64,
    REG_CLASS_MMX,
    REG_CLASS_XMM,
    REG_CLASS_YMM,
    REG_CLASS_ZMM,
    REG_CLASS_X87,
    REG_CLASS_SEG,
    REG_CLASS_CR,
    REG_CLASS_DR,
    REG_CLASS_BND,
    REG_CLASS_MASK,
    REG_CLASS_IP,
    REG_CLASS_FLAGS,
    REG_CLASS_OTHER,
};

/* A register as named by the instruction; `id` is the enum reg_id it is renamed as. */
struct reg {
    uint8_t cls;
    uint8_t id;
};

enum operand_type { OPERAND_REG, OPERAND_MEM, OPERAND_IMM, OPERAND_OTHER };
enum operand_mem { OPERAND_MEM_PLAIN, OPERAND_MEM_ADDRESS, OPERAND_MEM_VSIB };

struct operand {
    uint8_t type;
    bool hidden;
    bool fixed; /* not encoded: implied by the opcode */
    bool read, write;
    uint16_t size_bits;
    struct reg reg;
    /* memory */
    uint8_t mem_type;
    struct reg base, index;
    uint8_t scale;
    uint8_t segment; /* 0, 'f', 'g' */
    int64_t disp;
    /* immediate */
    uint8_t imm_bits; /* encoded width, 0: none */
    bool relative;
    int64_t value;
};

enum { DECODED_MAX_OPERANDS = 10, MNEMONIC_MAX = 24 };

enum decoded_kind { DECODED_OTHER, DECODED_X87, DECODED_SYSTEM, DECODED_FAR };

struct decoded {
    char mnemonic[MNEMONIC_MAX]; /* upper case */
    uint8_t len, opcode_off, opcode, map;
    uint8_t operand_bits, disp_bits;
    int8_t rm, mod; /* -1: no ModRM */
    bool prefix_66, repne, rep, lock, rex_w;
    bool evex;
    uint8_t kind; /* enum decoded_kind */
    uint8_t n_operands;
    struct operand operand[DECODED_MAX_OPERANDS];
};

struct decoder;
struct decoder *decoder__new(void);
void decoder__free(struct decoder *decoder);
/* Length of the instruction, 0 if there is none; then *need as in isa__decode. */
unsigned decoder__length(const struct decoder *decoder, const uint8_t *bytes, size_t n, int *need);
/* Decodes an instruction for which decoder__length answered `n`. */
void decoder__decode(const struct decoder *decoder, const uint8_t *bytes, size_t n, struct decoded *out);
void decoder__format(const struct decoder *decoder, const uint8_t *bytes, size_t n, uint64_t addr, char *buf,
                     size_t size);

/* ---- instruction tables: the format is described in docs/data.md ---- */

/* A piece of the compiled-in table text. */
struct text {
    const char *at;
    uint32_t len;
};

enum { OPERAND_CLASS_MAX = 8 };

enum row_operand_kind { ROW_REG, ROW_FLAGS, ROW_MEM, ROW_ADDRESS, ROW_OTHER };

enum flag_group { GROUP_C = 1, GROUP_SPAZO = 2 };

struct row_operand {
    struct text cls;  /* without ~ */
    struct text base; /* of an implicit memory operand, e.g. "RSP"; else empty */
    uint8_t kind;
    bool hidden, read, write;
    uint8_t flags_read, flags_written; /* enum flag_group */
};

enum { LAT_NONE = -1 };

/* Latencies of an operand pair; LAT_NONE where not measured. */
struct row_lat {
    uint8_t from, to;
    int16_t plain, addr, index, mem, same;
};

struct port_group {
    uint16_t count, ports;
};

/* Fields that a variant replaces: bit set in `has`. */
enum variant_field {
    VARIANT_UOPS = 1,
    VARIANT_FUSED = 2,
    VARIANT_DECODER = 4,
    VARIANT_MS = 8,
    VARIANT_SIMPLE = 16,
    VARIANT_DIV = 32,
    VARIANT_TP = 64,
    VARIANT_PORTS = 128,
};

struct row_fields {
    uint16_t has; /* of a variant */
    uint16_t uops, fused, decoder, ms, div_cyc, tp_cyc;
    int16_t simple; /* simple decoders after it; -1: no measured complex decoder */
    uint32_t first_port_group;
    uint16_t n_port_groups;
    bool no_ports; /* ports=- */
};

struct row {
    struct text mnemonic, suffix, form;
    uint16_t operand_bits; /* 0: any */
    int8_t imm_zero;       /* -1: any, 0: not zero, 1: zero */
    uint16_t rm_set;       /* 0: any */
    uint16_t fuses_with;
    int8_t rsp_delta;
    bool elim, zero_idiom;
    uint8_t n_operands, n_classes;
    uint16_t n_lats;
    uint32_t first_operand, first_lat;
    struct row_fields base, indexed, same;
};

struct table {
    struct row *rows;
    struct row_operand *operands;
    struct row_lat *lats;
    struct port_group *port_groups;
    uint32_t n_rows, n_operands, n_lats, n_port_groups;
    uint32_t decode_uops; /* most uops the decoders deliver in a cycle, DE-4 */
};

/* Parses the compiled-in table `name`; fails with a status that lists the tables there are. */
int table__open(struct table *table, const char *name, struct status *st);
/* Parses `text` (kept by reference). */
int table__parse(struct table *table, const char *name, const char *text, size_t size, struct status *st);
void table__close(struct table *table);
/* The row of an instruction, NULL if there is none. */
const struct row *table__match(const struct table *table, const struct decoded *d);

struct table_text {
    const char *name;
    const char *start, *end;
};
/* The compiled-in tables; the last entry has no name. */
extern const struct table_text table__texts[];

static inline bool text__is(struct text text, const char *s)
{
    for (uint32_t i = 0; i < text.len; i++) /* most differ in the first characters: no calls */
        if (text.at[i] != s[i] || !s[i])
            return false;
    return !s[text.len];
}

/* ---- cracking ---- */

enum { BOUND_MAX_OPERANDS = 10, CRACK_MAX_UOPS = 255 };

/* A row operand bound to the concrete instruction. */
struct bound {
    uint8_t kind; /* enum row_operand_kind */
    bool read, write, hidden;
    uint8_t flags_read, flags_written;
    struct reg reg;
    uint8_t mem_type;
    struct reg base, index;
    uint8_t scale, segment;
    uint16_t size_bits;
    int64_t disp;
};

/* What is known of an instruction before it is cracked: from its row or a default recipe. */
struct facts {
    const struct row *row; /* NULL: default recipe */
    struct row_fields f;
    uint16_t ports[CRACK_MAX_UOPS];
    uint16_t n_ports;
    uint16_t lat_cyc; /* default recipes: every input to every register output */
    bool keep_same;   /* use the same-register latencies */
    bool complex;
    uint8_t simple_after;
    bool elim;
    bool same, indexed;
    bool known; /* a default recipe that need not be reported */
    uint8_t n_bound;
    struct bound bound[BOUND_MAX_OPERANDS];
};

struct isa {
    bool six_ports;        /* SNB, IVB */
    bool move_elimination; /* RN-9 */
    bool movzx_high;       /* RN-8 */
    bool pop5c_ends_group; /* DE-6 */
    uint16_t branch_port;  /* MF-6, taken */
    uint16_t branch_ports; /* MF-6, not taken */
    uint16_t alu_ports;
    struct decoder *decoder;
    struct table table;
    struct insn **slots; /* hash table by bytes */
    size_t n_slots, n_insns;
    struct arena arena; /* instructions and recipes */
    struct rep_insn *rep;
};

/* Zeroed memory that lives as long as `isa`. */
void *isa__alloc(struct isa *isa, size_t size);

/* Facts from the row, or from the default recipes if there is none. */
void facts__find(const struct isa *isa, const struct decoded *d, bool elim_failed, struct facts *facts);
/* The AVX form of an AVX-512 instruction: mask dropped, ZMM as YMM. False: no AVX-512. */
bool decoded__evex_as_vex(const struct decoded *d, struct decoded *vex);
/* Default recipes, docs/data.md. */
void facts__default(const struct isa *isa, const struct decoded *d, struct facts *facts);
/* Binds all operands of `d` that are registers, flags or memory, as the decoder sees them. */
void facts__bind_decoded(const struct decoded *d, struct facts *facts);

/* Fills everything of `insn` but its recipes. */
void crack__insn(struct isa *isa, const struct decoded *d, struct insn *insn);
const struct recipe *crack__recipe(struct isa *isa, const struct decoded *d, const struct insn *insn,
                                   unsigned variant);
/* Makes a recipe of uops; groups them after UOP-15. */
const struct recipe *crack__group(struct isa *isa, const struct uop *uops, unsigned n_uops, unsigned n_fused,
                                  unsigned n_lams);

enum branch_kind decoded__branch(const struct decoded *d);
/* `insn` has its flags, branch, memory operands and FP width. */
enum work decoded__work(const struct decoded *d, const struct insn *insn);
bool decoded__is_string(const struct decoded *d);
bool decoded__mnemonic_is(const struct decoded *d, const char *const *names);

bool uop__add_src(struct uop *uop, unsigned id);
void uop__add_dst(struct uop *uop, unsigned id, unsigned lat_cyc);

#endif
