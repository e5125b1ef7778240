/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and their uops on one core: decoded once, read by everything after. */
#ifndef FATHOM_INSN_H
#define FATHOM_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct status;

/* Renamed storage (R_, as REG_ belongs to <sys/ucontext.h>). AH..DH share the id of their register (17.1,
 * RN-15). */
enum reg_id {
    R_RAX,
    R_RCX,
    R_RDX,
    R_RBX,
    R_RSP,
    R_RBP,
    R_RSI,
    R_RDI, /* encoding order */
    R_R8,
    R_R9,
    R_R10,
    R_R11,
    R_R12,
    R_R13,
    R_R14,
    R_R15,
    R_FLAG_C = 16, /* UOP-9 */
    R_FLAG_SPAZO,
    R_VEC0 = 18,   /* 32 vector registers */
    R_MMX0 = 50,   /* 8 */
    R_X87 = 58,    /* the x87 stack as one name */
    R_SEG0 = 59,   /* 6 */
    R_OTHER = 65,  /* MXCSR, CR, DR, BND, k registers: 63 ids are enough */
    R_TEMP0 = 112, /* values between the uops of one instruction */
    R_COUNT = 128,
    R_NONE = 255,
};

enum uop_kind { UOP_COMPUTE, UOP_LOAD, UOP_STA, UOP_STD, UOP_EMPTY };

enum uop_flag {
    UOP_FIRST = 1,      /* first uop of its instruction (EX-15, EX-16, RN-1) */
    UOP_WIDE256 = 2,    /* 256-bit memory access (EX-17) */
    UOP_FUSED_HEAD = 4, /* first uop of a fused-domain uop */
    UOP_BRANCH = 8,     /* resolves the instruction's branch when it executes (BP-2) */
};

enum { UOP_MAX_SRC = 8, UOP_MAX_DST = 6 };

/* An unfused uop as a template (PIPELINE.md 6.2). Sources that are temps were written by an older
 * uop of the same instruction. */
struct uop {
    uint16_t ports; /* set of ports, bit = port; 0: needs none (UOP_EMPTY) */
    uint8_t kind;   /* enum uop_kind */
    uint8_t flags;  /* enum uop_flag */
    uint8_t n_src, n_dst;
    uint8_t access;   /* which access of the step (load, STA, STD); 255: none known */
    uint8_t results;  /* 1: writes a general register or flags, 2: a vector register (RT-7) */
    uint16_t div_cyc; /* divider occupancy, 0: does not use it (EX-14) */
    uint16_t max_lat; /* largest of dst_lat, 0 without results */
    uint8_t src[UOP_MAX_SRC];
    uint8_t dst[UOP_MAX_DST];
    uint16_t dst_lat[UOP_MAX_DST]; /* cycles from dispatch (loads: 5 = the L1 latency, EX-8) */
};

/* A laminated uop: one IDQ entry, UOP-15. */
struct lam {
    uint8_t n_fused; /* rename slots = ROB entries */
    uint8_t n_uops;  /* unfused uops in them */
};

/* What a fused-domain uop consists of and takes. */
struct fused_counts {
    uint16_t uops : 3, loads : 3, stores : 3; /* unfused; stores: their STA */
    uint16_t ints : 3, vecs : 3;              /* of them, those that write a register of that kind (RT-7) */
};
enum { PLAIN_UOPS = 4 };

/* The uops of an instruction in one situation. Immutable once made. With a single uop it is as good as one
 * cache line: the simulator reads it for every executed instruction. */
struct recipe {
    const struct lam *lams; /* n_lams, in order; their n_uops sum to n_uops */
    uint16_t n_uops, n_lams, n_fused;
    uint16_t n_loads, n_stores; /* load-buffer and store-buffer entries (instruction's load and STA uops) */
    uint16_t tp_cyc;            /* non-pipelined period (EX-15), 0: pipelined */
    bool eliminated;            /* candidate for move elimination: try it, else use RECIPE_MOVE */
    bool zero;                  /* no uop needs a port: outputs ready at rename (RN-4) */
    bool zero_idiom;            /* the zeroing idiom (EX-9 index rule) */
    /* one laminated uop, PLAIN_UOPS at most, all with a port or none; nothing special: no fence, lock, ... */
    bool plain;
    struct fused_counts plain_fused[PLAIN_UOPS]; /* n_fused, of a plain recipe */
    struct uop uops[];                           /* n_uops, oldest first (UOP-12) */
};

static inline size_t recipe__bytes(unsigned n_uops)
{
    return sizeof(struct recipe) + n_uops * sizeof(struct uop);
}

/* Situations; bits combine. */
enum recipe_variant {
    RECIPE_BASE = 0,
    RECIPE_FUSED = 1,      /* macro-fused with the following Jcc (MF-5) */
    RECIPE_NOT_TAKEN = 2,  /* the Jcc (alone or as part of the pair) is predicted not taken (MF-6) */
    RECIPE_CLEAN_HIGH = 4, /* reads AH..DH that is not dirty: +1 (RN-15) */
    RECIPE_MOVE = 8,       /* move elimination failed (RN-12) */
    RECIPE_VARIANTS = 16,
};

enum branch_kind {
    BRANCH_NONE,
    BRANCH_COND,     /* Jcc, LOOP, JRCXZ */
    BRANCH_JUMP,     /* direct */
    BRANCH_INDIRECT, /* JMP through register or memory */
    BRANCH_CALL,
    BRANCH_CALL_INDIRECT,
    BRANCH_RET,
    BRANCH_OTHER, /* far transfers, IRET, SYSCALL: control leaves */
};

enum insn_flag {
    INSN_LCP = 1 << 0,          /* FE-13 */
    INSN_COMPLEX = 1 << 1,      /* DE-3, DE-6 */
    INSN_POP5C = 1 << 2,        /* DE-6 */
    INSN_EXTRA_SLOT = 1 << 3,   /* DSB-3 */
    INSN_SERIALIZING = 1 << 4,  /* RN-1 */
    INSN_FENCE_LOAD = 1 << 5,   /* EX-16: LFENCE, MFENCE */
    INSN_FENCE_STORE = 1 << 6,  /* EX-16: SFENCE, MFENCE */
    INSN_RSP_EXPLICIT = 1 << 7, /* RN-17: needs the sync uop when the offset is not 0 */
    INSN_RSP_WRITTEN = 1 << 8,  /* RN-17: explicit write, offset becomes 0 */
    INSN_POINTER_LOAD = 1 << 9, /* EX-9: MOV/MOVSXD/POP load into a 32- or 64-bit register */
    INSN_MOVE32 = 1 << 10,      /* RN-13: 32-bit register move */
    INSN_LOCKED = 1 << 11,      /* LOCK prefix or XCHG with memory */
    INSN_REP = 1 << 12,         /* REP/REPE/REPNE string instruction */
    INSN_WRITES_HIGH = 1 << 13, /* writes AH..DH (LSD-1) */
    INSN_SYSCALL = 1 << 14,
    INSN_PREFETCH = 1 << 15, /* software prefetch: address not in the trace unless read from registers */
    INSN_UNKNOWN = 1 << 16,  /* no table row: UOP-3 or a documented default recipe; report it */
    INSN_AVX512 = 1 << 17,
    INSN_NON_TEMPORAL = 1 << 18,
    INSN_GATHER = 1 << 19,          /* one access per element */
    INSN_CONDITIONAL_MEM = 1 << 20, /* may run without touching memory (masked, REP with count 0) */
    INSN_DIVIDE = 1 << 21,          /* DIV, IDIV, DIVxx, SQRTxx */
    INSN_NOP = 1 << 22,
    INSN_FLUSH = 1 << 23, /* CLFLUSH, CLFLUSHOPT */
};

/* What an instruction does for the program, for the account of what retired (docs/accounting.md, 2). The
 * first that fits counts. */
enum work {
    WORK_NOP,
    WORK_X87,
    WORK_FP_SCALAR, /* floating-point arithmetic: the instructions that Intel's FP_ARITH events count */
    WORK_FP_128,
    WORK_FP_256,
    WORK_VECTOR_128, /* integer arithmetic, logic and shuffles in vector registers, MMX included */
    WORK_VECTOR_256,
    WORK_BRANCH, /* calls and returns as well */
    WORK_MEMORY, /* whatever else loads or stores; prefetches and flushes */
    WORK_FUSED,  /* as a macro-fused pair; never an instruction's own */
    WORK_OTHER,
    WORK_KINDS
};

/* Kinds of instructions that have performance counters of their own. */
enum insn_count {
    INSN_COUNT_SCALAR_SINGLE,
    INSN_COUNT_SCALAR_DOUBLE,
    INSN_COUNT_128_SINGLE, /* packed, by width and element */
    INSN_COUNT_128_DOUBLE,
    INSN_COUNT_256_SINGLE,
    INSN_COUNT_256_DOUBLE,
    INSN_COUNT_X87,
    INSN_COUNT_NOP,
    INSN_COUNTS
};
/* `times` (0: not counted) of `count` in a byte; fused multiply-add and dot products count twice. */
#define INSN_COUNTED(count, times) ((uint8_t)((times) << 4 | (count)))

/* How the first register output follows from the inputs, for symbolic addresses (EX-13a). */
enum sym_kind { SYM_FRESH, SYM_COPY, SYM_ADD };

enum { INSN_MAX_MEM = 3 };

struct mem_operand {
    uint8_t base, index; /* enum reg_id or R_NONE; RIP counts as none */
    uint8_t scale;       /* 0 without index */
    bool read, write;
    bool rip; /* RIP-relative */
    uint16_t size_bytes;
    uint8_t segment; /* 0, or 'f' / 'g' for FS, GS */
    int64_t disp;
};

/* One distinct instruction (same bytes) on one core. Owned by its struct isa. What is read for every
 * executed instruction stands first, up to its usual recipes: one cache line. */
struct insn {
    uint8_t len;
    uint8_t opcode_off;            /* nominal opcode, FE-9 */
    uint8_t branch;                /* enum branch_kind */
    uint8_t mite_lams;             /* laminated uops from decoders or DSB, 1 to those of RECIPE_BASE (MS-1) */
    uint8_t simple_after;          /* DE-4: simple decoders left after it when it is decoded first */
    uint8_t dsb_slots;             /* DSB-2, DSB-3: slots in a line, the extra one included */
    uint8_t cond;                  /* of a Jcc: 0..15 as encoded; 255 otherwise */
    bool has_ms;                   /* MS uops follow the first mite_lams laminated ones */
    uint16_t fuses_with;           /* MF-1: set of condition codes it macro-fuses with */
    uint16_t form;                 /* id of the table row: EX-15 "the same instruction form" */
    uint32_t flags;                /* enum insn_flag */
    int8_t rsp_delta;              /* RN-17, bytes */
    uint8_t high_read, high_write; /* AH..DH; RN-15, bit = reg_id RAX..RBX (0..3) */
    uint8_t wide_read, wide_write; /* as 16-, 32- or 64-bit data or address, likewise */
    uint8_t ptr_dst;               /* EX-9: destination of INSN_POINTER_LOAD, else R_NONE */
    uint8_t elim_dst, elim_src;    /* of a move-elimination candidate, else R_NONE */
    uint64_t written[2];           /* set of reg_ids written, by id */
    int32_t branch_disp;           /* direct branches: target = address + len + disp */
    uint8_t n_mem;
    uint8_t counted;        /* INSN_COUNTED */
    uint8_t fp_width_bytes; /* 0, or bytes of FP data an arithmetic FP instruction works on (4, 8 scalar; 16,
                               32 packed) */
    uint8_t work;           /* enum work */
    const struct recipe *recipe[RECIPE_VARIANTS]; /* filled on demand by isa__recipe */

    /* EX-13a: applies to `sym_dst` (first register output); every other register in `written` is fresh */
    uint8_t sym, sym_dst, sym_src;
    uint8_t bytes[15];
    int64_t sym_add;
    struct mem_operand mem[INSN_MAX_MEM]; /* order of the accesses in a step */
    void *detail;                         /* isa/ only */
};

struct isa;

/* Opens the instruction table named by core->insn_table (compiled in). NULL and `st` on failure. */
struct isa *isa__open(const struct core *core, struct status *st);
void isa__close(struct isa *isa);

/*
 * The instruction that starts at `bytes` (`n` available, at most 15 used), decoded and cracked on
 * first sight. Returns NULL if the bytes are no valid instruction or it is longer than `n`; then
 * *need, if not NULL, is 1 when more bytes could help, else 0.
 */
struct insn *isa__decode(struct isa *isa, const uint8_t *bytes, size_t n, int *need);

/* The recipe for a set of recipe_variant bits; made once, then cached in insn->recipe. Never NULL. */
const struct recipe *isa__recipe(struct isa *isa, struct insn *insn, unsigned variant);

/* A REP string instruction runs as its head, which is the instruction and starts the microcode, and one
 * body for each chunk moved (WP-7). Both are made once and cached. */
struct insn *isa__rep_head(struct isa *isa, const struct insn *rep);
struct insn *isa__rep_body(struct isa *isa, const struct insn *rep, unsigned chunk_bytes);

/* "add rax, rbx" (Intel syntax, as Zydis formats it) at `addr`; returns `buf`. */
const char *isa__format(struct isa *isa, const struct insn *insn, uint64_t addr, char *buf, size_t size);
/* Mnemonic and operand classes of an instruction's form, "ADD R64, R64", for naming unknown forms. */
const char *isa__form_name(struct isa *isa, const struct insn *insn, char *buf, size_t size);

#endif
