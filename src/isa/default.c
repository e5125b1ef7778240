/* SPDX-License-Identifier: Apache-2.0 */
/* Default recipes of instructions without a table row; docs/data.md lists them. What is neither x87,
 * system nor AVX-512 with an AVX twin behaves as a NOP (UOP-3). */
#include <string.h>

#include "isa/isa.h"

enum { PORTS_LOAD = 1 << 2 | 1 << 3, PORTS_STD = 1 << 4, P0 = 1, P1 = 2, P01 = 3, P5 = 1 << 5 };

static void add_ports(struct facts *facts, unsigned count, unsigned ports)
{
    for (unsigned i = 0; i < count && facts->n_ports < CRACK_MAX_UOPS; i++)
        facts->ports[facts->n_ports++] = (uint16_t)ports;
}

static void add_store(const struct isa *isa, struct facts *facts)
{
    add_ports(facts, 1, isa->six_ports ? PORTS_LOAD : PORTS_LOAD | 1 << 7);
    add_ports(facts, 1, PORTS_STD);
}

/* Loads and stores for the memory operands; the number of micro-fused pairs they make. */
static unsigned add_memory(const struct isa *isa, struct facts *facts)
{
    unsigned pairs = 0;

    for (unsigned i = 0; i < facts->n_bound; i++) {
        const struct bound *b = &facts->bound[i];
        if (b->kind != ROW_MEM)
            continue;
        if (b->read) {
            add_ports(facts, 1, PORTS_LOAD);
            pairs += facts->n_ports > 1;
        }
        if (b->write) {
            add_store(isa, facts);
            pairs++;
        }
    }
    return pairs;
}

static void set_counts(struct facts *facts, unsigned fused, bool microcode)
{
    unsigned decoder = fused < 4 || !microcode ? fused : 4;

    facts->f.uops = facts->n_ports;
    facts->f.fused = (uint16_t)(fused ? fused : 1);
    facts->f.decoder = (uint16_t)(decoder ? decoder : 1);
    facts->f.ms = (uint16_t)(fused > decoder ? fused - decoder : 0);
}

/* A long flow: `n` uops on any ALU and one latency from all inputs to all results. */
static void microcode(const struct isa *isa, struct facts *facts, unsigned n, unsigned lat_cyc)
{
    unsigned pairs;

    add_ports(facts, n, isa->alu_ports);
    pairs = add_memory(isa, facts);
    facts->lat_cyc = (uint16_t)lat_cyc;
    set_counts(facts, facts->n_ports - pairs, true);
}

/* ---- x87 ---- */

enum x87_class {
    X87_NONE,
    X87_FREE,     /* no port: FXCH, FNOP, FWAIT, stack pointer and tags */
    X87_LOAD,     /* FLD */
    X87_CONSTANT, /* FLD1, FLDZ */
    X87_CONSTANT2,
    X87_LOAD_INT,
    X87_STORE,
    X87_STORE_INT,
    X87_ADD,
    X87_ADD_INT,
    X87_MUL,
    X87_MUL_INT,
    X87_DIV,
    X87_DIV_INT,
    X87_SQRT,
    X87_SIGN,
    X87_MOVE_IF,
    X87_LOAD_CONTROL,
    X87_STORE_CONTROL,
    X87_STORE_STATUS,
    X87_MEDIUM, /* FRNDINT, FSCALE, FXTRACT, FPREM */
    X87_LONG,   /* transcendental functions */
    X87_STATE,  /* save, restore, initialise */
};

static enum x87_class x87_class(const char *mnemonic)
{
    static const struct {
        const char *name;
        uint8_t cls;
    } map[] = {
        {"FXCH", X87_FREE},
        {"FNOP", X87_FREE},
        {"FWAIT", X87_FREE},
        {"FINCSTP", X87_FREE},
        {"FDECSTP", X87_FREE},
        {"FFREE", X87_FREE},
        {"FFREEP", X87_FREE},
        {"FLD", X87_LOAD},
        {"FLD1", X87_CONSTANT},
        {"FLDZ", X87_CONSTANT},
        {"FLDPI", X87_CONSTANT2},
        {"FLDL2E", X87_CONSTANT2},
        {"FLDL2T", X87_CONSTANT2},
        {"FLDLG2", X87_CONSTANT2},
        {"FLDLN2", X87_CONSTANT2},
        {"FILD", X87_LOAD_INT},
        {"FST", X87_STORE},
        {"FSTP", X87_STORE},
        {"FIST", X87_STORE_INT},
        {"FISTP", X87_STORE_INT},
        {"FISTTP", X87_STORE_INT},
        {"FADD", X87_ADD},
        {"FADDP", X87_ADD},
        {"FSUB", X87_ADD},
        {"FSUBP", X87_ADD},
        {"FSUBR", X87_ADD},
        {"FSUBRP", X87_ADD},
        {"FCOM", X87_ADD},
        {"FCOMP", X87_ADD},
        {"FCOMPP", X87_ADD},
        {"FUCOM", X87_ADD},
        {"FUCOMP", X87_ADD},
        {"FUCOMPP", X87_ADD},
        {"FCOMI", X87_ADD},
        {"FCOMIP", X87_ADD},
        {"FUCOMI", X87_ADD},
        {"FUCOMIP", X87_ADD},
        {"FTST", X87_ADD},
        {"FXAM", X87_ADD},
        {"FIADD", X87_ADD_INT},
        {"FISUB", X87_ADD_INT},
        {"FISUBR", X87_ADD_INT},
        {"FICOM", X87_ADD_INT},
        {"FICOMP", X87_ADD_INT},
        {"FMUL", X87_MUL},
        {"FMULP", X87_MUL},
        {"FIMUL", X87_MUL_INT},
        {"FDIV", X87_DIV},
        {"FDIVP", X87_DIV},
        {"FDIVR", X87_DIV},
        {"FDIVRP", X87_DIV},
        {"FIDIV", X87_DIV_INT},
        {"FIDIVR", X87_DIV_INT},
        {"FSQRT", X87_SQRT},
        {"FCHS", X87_SIGN},
        {"FABS", X87_SIGN},
        {"FCMOVB", X87_MOVE_IF},
        {"FCMOVBE", X87_MOVE_IF},
        {"FCMOVE", X87_MOVE_IF},
        {"FCMOVNB", X87_MOVE_IF},
        {"FCMOVNBE", X87_MOVE_IF},
        {"FCMOVNE", X87_MOVE_IF},
        {"FCMOVNU", X87_MOVE_IF},
        {"FCMOVU", X87_MOVE_IF},
        {"FLDCW", X87_LOAD_CONTROL},
        {"FNSTCW", X87_STORE_CONTROL},
        {"FNSTSW", X87_STORE_STATUS},
        {"FRNDINT", X87_MEDIUM},
        {"FSCALE", X87_MEDIUM},
        {"FXTRACT", X87_MEDIUM},
        {"FPREM", X87_MEDIUM},
        {"FPREM1", X87_MEDIUM},
        {"FSIN", X87_LONG},
        {"FCOS", X87_LONG},
        {"FSINCOS", X87_LONG},
        {"FPTAN", X87_LONG},
        {"FPATAN", X87_LONG},
        {"F2XM1", X87_LONG},
        {"FYL2X", X87_LONG},
        {"FYL2XP1", X87_LONG},
        {"FNCLEX", X87_STATE},
        {"FNINIT", X87_STATE},
        {"FBLD", X87_STATE},
        {"FBSTP", X87_STATE},
        {"FNSTENV", X87_STATE},
        {"FLDENV", X87_STATE},
        {"FNSAVE", X87_STATE},
        {"FRSTOR", X87_STATE},
    };

    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (!strcmp(mnemonic, map[i].name))
            return (enum x87_class)map[i].cls;
    return X87_NONE;
}

/* Access of the x87 stack, which is one name: loads break the chain, stores leave it alone. */
static void x87_access(struct facts *facts, bool read, bool write)
{
    struct bound *stack = NULL;

    for (unsigned i = 0; i < facts->n_bound; i++)
        if (facts->bound[i].kind == ROW_REG && facts->bound[i].reg.id == R_X87)
            stack = &facts->bound[i];
    if (!stack && facts->n_bound < BOUND_MAX_OPERANDS) {
        stack = &facts->bound[facts->n_bound++];
        memset(stack, 0, sizeof *stack);
        stack->kind = ROW_REG;
        stack->hidden = true;
        stack->reg = (struct reg){REG_CLASS_X87, R_X87};
    }
    if (stack) {
        stack->read = read;
        stack->write = write;
    }
}

static const struct operand *memory_of(const struct decoded *d)
{
    for (unsigned i = 0; i < d->n_operands; i++)
        if (d->operand[i].type == OPERAND_MEM)
            return &d->operand[i];
    return NULL;
}

static void x87_divide(const struct isa *isa, bool root, struct facts *facts)
{
    bool five = isa->table.decode_uops == 5;
    unsigned lat = five ? (root ? 21 : 15) : isa->six_ports ? 24 : (root ? 23 : 20);
    unsigned busy = five ? (root ? 7 : 5) : isa->six_ports ? 20 : 14;

    add_ports(facts, 1, P0);
    facts->lat_cyc = (uint16_t)lat;
    facts->f.div_cyc = (uint16_t)busy;
}

/* Compute uops of a class; false if the whole recipe has been made. */
static bool x87_compute(const struct isa *isa, enum x87_class cls, bool wide, bool memory,
                        struct facts *facts)
{
    bool five = isa->table.decode_uops == 5; /* the generation whose adder moved from p1 to p5 */
    unsigned add = five ? P5 : P1;

    facts->lat_cyc = 1;
    switch (cls) {
    case X87_LOAD:
    case X87_CONSTANT2:
        if (wide || cls == X87_CONSTANT2)
            add_ports(facts, 2, P01);
        else if (!memory)
            add_ports(facts, 1, P01);
        break;
    case X87_STORE:
        if (wide)
            add_ports(facts, 3, isa->alu_ports);
        else if (!memory)
            add_ports(facts, 1, P01);
        break;
    case X87_CONSTANT:
    case X87_STORE_CONTROL:
        add_ports(facts, 1, P01);
        break;
    case X87_LOAD_INT:
    case X87_STORE_INT:
        add_ports(facts, 1, add);
        facts->lat_cyc = 4;
        break;
    case X87_ADD_INT:
        add_ports(facts, 1, add);
        /* fall through */
    case X87_ADD:
        add_ports(facts, 1, add);
        facts->lat_cyc = 3;
        break;
    case X87_MUL:
    case X87_MUL_INT:
        add_ports(facts, 1, P0);
        add_ports(facts, cls == X87_MUL_INT, add);
        facts->lat_cyc = five ? 4 : 5;
        break;
    case X87_DIV:
    case X87_DIV_INT:
    case X87_SQRT:
        x87_divide(isa, cls == X87_SQRT, facts);
        add_ports(facts, cls == X87_DIV_INT, add);
        break;
    case X87_SIGN:
    case X87_STORE_STATUS:
        add_ports(facts, 1, P0);
        add_ports(facts, cls == X87_STORE_STATUS && !memory, isa->alu_ports);
        facts->lat_cyc = cls == X87_SIGN ? 1 : 2;
        break;
    case X87_MOVE_IF:
        add_ports(facts, 1, P0);
        add_ports(facts, 2, P5);
        facts->lat_cyc = 3;
        break;
    case X87_LOAD_CONTROL:
        add_ports(facts, 1, P0);
        add_ports(facts, 1, P01);
        facts->lat_cyc = 7;
        break;
    case X87_MEDIUM:
        microcode(isa, facts, 20, 25);
        return false;
    case X87_LONG:
        microcode(isa, facts, 70, 90);
        return false;
    default:
        microcode(isa, facts, 60, 60);
        return false;
    }
    return true;
}

static void x87_recipe(const struct isa *isa, const struct decoded *d, struct facts *facts)
{
    enum x87_class cls = x87_class(d->mnemonic);
    const struct operand *mem = memory_of(d);
    unsigned pairs;

    facts->known = cls != X87_NONE && cls < X87_MEDIUM; /* each has published figures of its own */
    if (cls == X87_NONE || cls == X87_FREE)
        return;
    facts__bind_decoded(d, facts);
    if (cls == X87_LOAD || cls == X87_CONSTANT || cls == X87_CONSTANT2 || cls == X87_LOAD_INT)
        x87_access(facts, !mem && cls == X87_LOAD, true);
    else if ((cls == X87_STORE && mem) || cls == X87_STORE_INT || cls == X87_STORE_CONTROL ||
             cls == X87_STORE_STATUS)
        x87_access(facts, true, false);
    else
        x87_access(facts, true, true);
    if (!x87_compute(isa, cls, mem && mem->size_bits == 80, mem != NULL, facts))
        return;
    pairs = add_memory(isa, facts);
    set_counts(facts, facts->n_ports - pairs, false);
}

/* ---- the rest ---- */

static void system_recipe(const struct isa *isa, const struct decoded *d, struct facts *facts)
{
    static const char *const slow[] = {"RDRAND", "RDSEED", "CPUID", "WBINVD", "INVD", NULL};

    facts__bind_decoded(d, facts);
    if (!strcmp(d->mnemonic, "SYSCALL"))
        microcode(isa, facts, 24, 50);
    else if (decoded__mnemonic_is(d, slow))
        microcode(isa, facts, 16, 300);
    else
        microcode(isa, facts, 20, 20);
}

bool decoded__evex_as_vex(const struct decoded *d, struct decoded *vex)
{
    static const char *const drop[] = {"VMOVDQA32", "VMOVDQA64", "VMOVDQU8", "VMOVDQU16", "VMOVDQU32",
                                       "VMOVDQU64", "VPANDD",    "VPANDQ",   "VPANDND",   "VPANDNQ",
                                       "VPORD",     "VPORQ",     "VPXORD",   "VPXORQ",    NULL};
    unsigned n = 0;
    size_t len;

    if (!d->evex)
        return false;
    *vex = *d;
    vex->evex = false;
    if (decoded__mnemonic_is(d, drop)) {
        len = strlen(vex->mnemonic);
        while (vex->mnemonic[len - 1] >= '0' && vex->mnemonic[len - 1] <= '9')
            len--;
        vex->mnemonic[len == strlen(d->mnemonic) ? len - 1 : len] = 0;
    }
    for (unsigned i = 0; i < d->n_operands; i++) {
        struct operand o = d->operand[i];
        if (o.type == OPERAND_REG && o.reg.cls == REG_CLASS_MASK && !o.hidden && i > 0)
            continue;
        if (o.reg.cls == REG_CLASS_ZMM)
            o.reg.cls = REG_CLASS_YMM;
        if (o.index.cls == REG_CLASS_ZMM)
            o.index.cls = REG_CLASS_YMM;
        vex->operand[n++] = o;
    }
    vex->n_operands = (uint8_t)n;
    return true;
}

void facts__default(const struct isa *isa, const struct decoded *d, struct facts *facts)
{
    memset(&facts->f, 0, sizeof facts->f);
    facts->f.fused = facts->f.decoder = 1;
    facts->f.simple = -1;
    facts->n_ports = 0;
    facts->n_bound = 0;
    if (d->kind == DECODED_X87)
        x87_recipe(isa, d, facts);
    else if (d->kind == DECODED_SYSTEM || d->kind == DECODED_FAR)
        system_recipe(isa, d, facts);
}
