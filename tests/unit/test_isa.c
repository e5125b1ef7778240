/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and their uops: each test names the rule it pins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/status.h"

enum core_id { SNB, IVB, HSW, BDW, SKL, N_CORES };
static const char *const core_names[] = {"snb", "ivb", "hsw", "bdw", "skl"};

struct world {
    struct isa *isa[N_CORES];
};

static int setup(void **state)
{
    static struct world world;

    for (unsigned i = 0; i < N_CORES; i++) {
        struct core core;
        struct status st;

        memset(&core, 0, sizeof core);
        snprintf(core.insn_table, sizeof core.insn_table, "%s", core_names[i]);
        core.ports = i < HSW ? 6 : 8;
        core.elim_slots_gpr = core.elim_slots_vec = i == SNB ? 0 : 4;
        core.elim_movzx_high_encoding = i == IVB;
        core.pop5c_ends_group = i != SKL;
        world.isa[i] = isa__open(&core, &st);
        if (!world.isa[i])
            return -1;
    }
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    for (unsigned i = 0; i < N_CORES; i++)
        isa__close(world->isa[i]);
    return 0;
}

static struct isa *isa_of(void **state, enum core_id core)
{
    return ((struct world *)*state)->isa[core];
}

static struct insn *insn_of(void **state, enum core_id core, const char *hex)
{
    uint8_t bytes[15];
    size_t n = 0;
    unsigned byte;
    int used, need;
    struct insn *insn;

    while (n < sizeof bytes && sscanf(hex, "%2x%n", &byte, &used) == 1) {
        bytes[n++] = (uint8_t)byte;
        hex += used;
    }
    insn = isa__decode(isa_of(state, core), bytes, n, &need);
    assert_non_null(insn);
    assert_int_equal(insn->len, n);
    return insn;
}

static const struct recipe *recipe_of(void **state, enum core_id core, const char *hex, unsigned variant)
{
    return isa__recipe(isa_of(state, core), insn_of(state, core, hex), variant);
}

static void reg_name(unsigned id, char *buf)
{
    static const char *const gpr[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"};

    if (id <= R_RDI)
        strcpy(buf, gpr[id]);
    else if (id <= R_R15)
        sprintf(buf, "r%u", id);
    else if (id == R_FLAG_C || id == R_FLAG_SPAZO)
        strcpy(buf, id == R_FLAG_C ? "C" : "F");
    else if (id < R_MMX0)
        sprintf(buf, "v%u", id - R_VEC0);
    else if (id < R_X87)
        sprintf(buf, "mm%u", id - R_MMX0);
    else if (id == R_X87)
        strcpy(buf, "x87");
    else
        sprintf(buf, id >= R_TEMP0 ? "t%u" : "#%u", id >= R_TEMP0 ? id - R_TEMP0 : id);
}

static char *put_uop(char *at, const struct uop *uop)
{
    static const char *const kind[] = {"alu", "load", "sta", "std", "none"};
    char name[8];

    at += sprintf(at, "%s", kind[uop->kind]);
    for (unsigned port = 0; port < 16; port++)
        if (uop->ports >> port & 1)
            at += sprintf(at, "%u", port);
    *at++ = '(';
    for (unsigned i = 0; i < uop->n_src; i++) {
        reg_name(uop->src[i], name);
        at += sprintf(at, "%s%s", i ? " " : "", name);
    }
    *at++ = '>';
    for (unsigned i = 0; i < uop->n_dst; i++) {
        reg_name(uop->dst[i], name);
        at += sprintf(at, "%s%s:%u", i ? " " : "", name, uop->dst_lat[i]);
    }
    *at++ = ')';
    *at = 0;
    return at;
}

/* "[alu0156(rax>rax:1)] [load23(rcx>t0:5)+alu1(...)]": laminated uops in brackets, fused ones apart by
 * '|', unfused ones by '+'. */
static const char *text_of(const struct recipe *r)
{
    static char buf[8192];
    char *at = buf;
    unsigned u = 0;

    for (unsigned l = 0; l < r->n_lams; l++) {
        at += sprintf(at, "%s[", l ? " " : "");
        for (unsigned i = 0; i < r->lams[l].n_uops; i++, u++) {
            if (i)
                *at++ = r->uops[u].flags & UOP_FUSED_HEAD ? '|' : '+';
            at = put_uop(at, &r->uops[u]);
        }
        at += sprintf(at, "]");
    }
    return buf;
}

static void expect_variant(void **state, enum core_id core, const char *hex, unsigned variant,
                           const char *text)
{
    assert_string_equal(text_of(recipe_of(state, core, hex, variant)), text);
}

static void expect(void **state, enum core_id core, const char *hex, const char *text)
{
    expect_variant(state, core, hex, RECIPE_BASE, text);
}

static void test_read_modify_write(void **state)
{
    struct insn *insn = insn_of(state, SKL, "480103"); /* add [rbx], rax */
    const struct recipe *r = isa__recipe(isa_of(state, SKL), insn, 0);

    assert_string_equal(text_of(r),
                        "[load23(rbx>t0:5)+alu0156(rax t0>C:1 F:1 t6:1)] [sta237(rbx>)+std4(t6>)]");
    assert_int_equal(r->n_fused, 2);
    assert_int_equal(r->n_loads, 1);
    assert_int_equal(r->n_stores, 1);
    assert_int_equal(insn->simple_after, 3);
    assert_true(insn->flags & INSN_COMPLEX);
    assert_int_equal(insn->n_mem, 1);
    assert_true(insn->mem[0].read && insn->mem[0].write);
    assert_int_equal(insn->mem[0].size_bytes, 8);
    assert_true(r->uops[0].flags & UOP_FIRST);
    assert_int_equal(r->uops[0].access, 0);
    assert_int_equal(r->uops[3].access, 0);
}

static void test_indexed_unlaminates(void **state) /* UOP-2, ID-4, ID-6 */
{
    struct insn *insn = insn_of(state, SKL, "48010433"); /* add [rbx + rsi], rax */
    const struct recipe *r = isa__recipe(isa_of(state, SKL), insn, 0);

    assert_int_equal(r->n_fused, 3);
    assert_int_equal(r->n_lams, 2);
    assert_int_equal(r->lams[1].n_fused, 2);
    assert_int_equal(r->uops[2].kind, UOP_STA);
    assert_int_equal(r->uops[2].ports, 1 << 2 | 1 << 3);
    /* add rax, [rbx + rsi]: kept on SKL, split on SNB */
    assert_int_equal(recipe_of(state, SKL, "48030433", 0)->n_fused, 1);
    assert_int_equal(recipe_of(state, SNB, "48030433", 0)->n_fused, 2);
    assert_int_equal(recipe_of(state, SNB, "48030433", 0)->n_lams, 1);
    /* cmp rax, [rbx + rsi]: split everywhere; mov [rbx + rsi], rax: split before HSW */
    assert_int_equal(recipe_of(state, HSW, "483b0433", 0)->n_fused, 2);
    assert_int_equal(recipe_of(state, HSW, "48890433", 0)->n_fused, 1);
    assert_int_equal(recipe_of(state, IVB, "48890433", 0)->n_fused, 2);
}

static void test_multiply(void **state) /* UOP-13: hidden operands, surplus uop */
{
    expect(state, SKL, "48f7e1", "[alu1(rcx rax>rax:3 rdx:4 C:3 F:3)] [alu5(rcx rax>)]");
    assert_int_equal(insn_of(state, SKL, "48f7e1")->simple_after, 3);
    assert_int_equal(insn_of(state, HSW, "48f7e1")->simple_after, 2); /* DE-4 */
}

static void test_move_elimination(void **state) /* RN-8, RN-12, RN-13 */
{
    struct insn *insn = insn_of(state, SKL, "4889d8"); /* mov rax, rbx */

    assert_true(isa__recipe(isa_of(state, SKL), insn, 0)->eliminated);
    assert_int_equal(insn->elim_dst, R_RAX);
    assert_int_equal(insn->elim_src, R_RBX);
    assert_false(insn->flags & INSN_MOVE32);
    expect_variant(state, SKL, "4889d8", RECIPE_MOVE, "[alu0156(rbx>rax:1)]");
    assert_true(insn_of(state, SKL, "89d8")->flags & INSN_MOVE32);
    assert_true(recipe_of(state, SKL, "c5f828c1", 0)->eliminated); /* vmovaps xmm0, xmm1 */
    expect_variant(state, HSW, "0f28c1", RECIPE_MOVE, "[alu5(v1>v0:1)]");
    expect(state, SNB, "4889d8", "[alu015(rbx>rax:1)]");            /* no elimination */
    assert_false(recipe_of(state, SKL, "4889c0", 0)->eliminated);   /* mov rax, rax */
    assert_false(recipe_of(state, SKL, "6689d8", 0)->eliminated);   /* mov ax, bx */
    assert_true(recipe_of(state, SKL, "0fb6c3", 0)->eliminated);    /* movzx eax, bl */
    assert_false(recipe_of(state, SKL, "400fb6c6", 0)->eliminated); /* movzx eax, sil */
    assert_true(recipe_of(state, IVB, "400fb6c6", 0)->eliminated);
}

static void test_zero_idioms(void **state) /* RN-4, RN-5, UOP-8 */
{
    const struct recipe *r = recipe_of(state, SKL, "31c0", 0); /* xor eax, eax */

    assert_true(r->zero && r->zero_idiom && !r->eliminated);
    assert_string_equal(text_of(r), "[none(>rax:0 C:0 F:0)]");
    assert_true(recipe_of(state, SKL, "660fefc0", 0)->zero_idiom); /* pxor xmm0, xmm0 */
    assert_true(recipe_of(state, SKL, "c5fdefc0", 0)->zero);       /* vpxor ymm0 */
    expect(state, SKL, "31d8", "[alu0156(rax rbx>rax:1 C:1 F:1)]");
    expect(state, SKL, "660f76c0", "[alu01(>v0:1)]"); /* pcmpeqd: ones, no input */
    expect(state, SKL, "c5f976c0", "[alu01(>v0:1)]"); /* vpcmpeqd likewise */
    expect(state, SKL, "6631c0", "[alu0156(rax>rax:1 C:1 F:1)]");
    expect(state, SKL, "90", "[none(>)]");
    assert_true(insn_of(state, SKL, "90")->flags & INSN_NOP);
    assert_int_equal(recipe_of(state, SKL, "c5f877", 0)->n_fused, 4); /* vzeroupper */
}

static void test_nops(void **state)
{
    struct insn *insn = insn_of(state, SKL, "660f1f840000000000");

    assert_true(insn->flags & INSN_NOP);
    assert_int_equal(insn->n_mem, 0);
    insn = insn_of(state, HSW, "f30f1efa"); /* endbr64 */
    assert_true(insn->flags & INSN_NOP);
    assert_false(insn->flags & INSN_UNKNOWN);
    expect(state, HSW, "f30f1efa", "[none(>)]");
}

/* MF-1: which condition codes a first instruction fuses with. */
static void test_macro_fusion_table(void **state)
{
    static const struct {
        const char *hex;
        unsigned fuses;
    } first[] = {
        {"4885c0", 0xffff},
        {"4821d8", 0xffff},
        {"4839d8", 0xf0fc},
        {"4801d8", 0xf0fc},
        {"4829d8", 0xf0fc},
        {"48ffc0", 0xf030},
        {"48ffc8", 0xf030},
        {"483b03", 0xf0fc},
        {"483903", 0xf0fc},
        {"488503", 0xffff},
        {"4883f805", 0xf0fc},
        {"663d3412", 0xf0fc},
        {"38e0", 0xf0fc},
        {"48833b05", 0},
        {"480103", 0},
        {"48ff03", 0},
        {"4809d8", 0},
        {"4831d8", 0},
        {"4811d8", 0},
        {"48f7d8", 0},
        {"48d1e0", 0},
        {"f0480103", 0},
        {"90", 0},
    };

    for (unsigned core = 0; core < N_CORES; core++)
        for (size_t i = 0; i < sizeof first / sizeof *first; i++)
            assert_int_equal(insn_of(state, core, first[i].hex)->fuses_with, first[i].fuses);
    for (unsigned cond = 0; cond < 16; cond++) {
        char hex[16];
        snprintf(hex, sizeof hex, "7%xf0", cond);
        assert_int_equal(insn_of(state, SKL, hex)->cond, cond);
        snprintf(hex, sizeof hex, "0f8%xf0ffffff", cond);
        assert_int_equal(insn_of(state, SKL, hex)->cond, cond);
    }
    assert_int_equal(insn_of(state, SKL, "e3f0")->cond, 255); /* jrcxz */
}

static void test_fused_pairs(void **state) /* MF-5, MF-6 */
{
    expect_variant(state, SKL, "4839d8", RECIPE_FUSED, "[alu6(rax rbx>C:1 F:1)]");
    expect_variant(state, SKL, "4839d8", RECIPE_FUSED | RECIPE_NOT_TAKEN, "[alu06(rax rbx>C:1 F:1)]");
    expect_variant(state, SNB, "4839d8", RECIPE_FUSED | RECIPE_NOT_TAKEN, "[alu5(rax rbx>C:1 F:1)]");
    expect_variant(state, SKL, "483b03", RECIPE_FUSED, "[load23(rbx>t0:5)+alu6(rax t0>C:1 F:1)]");
    assert_true(recipe_of(state, SKL, "483b03", RECIPE_FUSED)->uops[1].flags & UOP_BRANCH);
    expect(state, SKL, "75f0", "[alu6(F>)]");
    expect_variant(state, SKL, "75f0", RECIPE_NOT_TAKEN, "[alu06(F>)]");
    expect_variant(state, IVB, "75f0", RECIPE_NOT_TAKEN, "[alu5(F>)]");
    expect(state, SKL, "77f0", "[alu6(C F>)]");
    expect(state, HSW, "eb10", "[alu06(>)]"); /* 17.1: JMP keeps p06 where the table has it */
    assert_int_equal(insn_of(state, SKL, "75f0")->branch, BRANCH_COND);
    assert_int_equal(insn_of(state, SKL, "75f0")->branch_disp, -16);
    /* the same recipe where the situation makes no difference */
    assert_ptr_equal(recipe_of(state, SKL, "4809d8", RECIPE_FUSED), recipe_of(state, SKL, "4809d8", 0));
}

static void test_branches(void **state)
{
    const struct recipe *r = recipe_of(state, SKL, "c3", 0);
    struct insn *insn = insn_of(state, SKL, "c3");

    assert_string_equal(text_of(r), "[load23(rsp>t0:5)] [alu6(t0>)]");
    assert_true(r->uops[1].flags & UOP_BRANCH);
    assert_int_equal(insn->branch, BRANCH_RET);
    assert_int_equal(insn->rsp_delta, 8);
    assert_int_equal(insn->n_mem, 1);
    assert_int_equal(insn->mem[0].base, R_RSP);
    assert_false(insn->flags & INSN_UNKNOWN);
    expect(state, SNB, "c3", "[load23(rsp>t0:5)] [alu5(t0>)]");
    insn = insn_of(state, SKL, "ff10"); /* call [rax]: read, then write of the return address */
    assert_int_equal(insn->branch, BRANCH_CALL_INDIRECT);
    assert_int_equal(insn->n_mem, 2);
    assert_true(insn->mem[0].read && insn->mem[1].write && insn->mem[1].base == R_RSP);
    assert_int_equal(insn_of(state, SKL, "ffe0")->branch, BRANCH_INDIRECT);
    assert_int_equal(insn_of(state, SKL, "e800000000")->branch, BRANCH_CALL);
    assert_int_equal(insn_of(state, SKL, "e9fbffffff")->branch, BRANCH_JUMP);
    assert_int_equal(insn_of(state, SKL, "e2f0")->branch, BRANCH_COND); /* loop */
    assert_int_equal(insn_of(state, SKL, "0f05")->branch, BRANCH_OTHER);
    assert_true(insn_of(state, SKL, "0f05")->flags & INSN_SYSCALL);
}

static void test_loads_and_stores(void **state) /* UOP-10, UOP-11 */
{
    struct insn *insn;

    expect(state, SKL, "488b4310", "[load23(rbx>rax:5)]");
    expect(state, SKL, "488b0473", "[load23(rbx rsi>rax:5)]");
    expect(state, SKL, "48894310", "[sta237(rbx>)+std4(rax>)]");
    expect(state, SNB, "48894310", "[sta23(rbx>)+std4(rax>)]"); /* relabelled load port */
    insn = insn_of(state, SKL, "488b4310");
    assert_true(insn->flags & INSN_POINTER_LOAD); /* EX-9 */
    assert_int_equal(insn->ptr_dst, R_RAX);
    assert_int_equal(insn->mem[0].disp, 16);
    assert_false(insn_of(state, SKL, "668b4310")->flags & INSN_POINTER_LOAD);
    assert_true(insn_of(state, SKL, "58")->flags & INSN_POINTER_LOAD); /* pop rax */
    assert_true(insn_of(state, SKL, "486303")->flags & INSN_POINTER_LOAD);
    insn = insn_of(state, SKL, "64488b042528000000"); /* mov rax, fs:[0x28] */
    assert_int_equal(insn->mem[0].segment, 'f');
    assert_int_equal(insn->mem[0].base, R_NONE);
    insn = insn_of(state, SKL, "488b0510000000"); /* mov rax, [rip + 0x10] */
    assert_true(insn->mem[0].rip);
    assert_int_equal(insn->mem[0].base, R_NONE);
    assert_int_equal(insn_of(state, SKL, "488d4310")->n_mem, 0);                    /* lea */
    assert_true(recipe_of(state, SNB, "c5fc1003", 0)->uops[0].flags & UOP_WIDE256); /* EX-17 */
    assert_int_equal(recipe_of(state, SKL, "f20f5803", 0)->uops[1].dst_lat[0], 4);  /* addsd xmm0, [rbx] */
}

static void test_lea(void **state)
{
    expect(state, SKL, "488d4310", "[alu15(rbx>rax:1)]");
    expect(state, SKL, "488d443310", "[alu1(rbx rsi>rax:3)]"); /* three components */
    assert_true(insn_of(state, SKL, "488d442410")->flags & INSN_RSP_EXPLICIT);
}

static void test_flags(void **state) /* UOP-9 */
{
    expect(state, SKL, "48ffc0", "[alu0156(rax>rax:1 F:1)]");
    expect(state, SKL, "4811d8", "[alu06(rax rbx C>rax:1 C:1 F:1)]");
    expect(state, SKL, "480f47c3", "[alu06(C F>t9:1)] [alu06(rax rbx t9>rax:1)]"); /* cmova */
    assert_true(insn_of(state, SKL, "4801d8")->written[0] == (1ull << R_RAX | 3ull << R_FLAG_C));
}

static void test_shift_by_cl(void **state) /* UOP-14 */
{
    expect(state, SKL, "48d3e0", "[alu06(rax rcx>rax:1 t9:1)] [alu06(C F>t10:1)] [alu06(t9 t10>C:1 F:1)]");
}

static void test_high_bytes(void **state) /* RN-15 */
{
    struct insn *insn = insn_of(state, SKL, "00e0"); /* add al, ah */

    assert_int_equal(insn->high_read, 1 << R_RAX);
    assert_int_equal(insn->high_write, 0);
    expect(state, SKL, "00e0", "[alu0156(rax>rax:1 C:1 F:1)]");
    expect(state, SKL, "0fb6dc", "[alu0156(rax>rbx:1)]"); /* movzx ebx, ah */
    expect_variant(state, SKL, "0fb6dc", RECIPE_CLEAN_HIGH, "[alu0156(rax>rbx:2)]");
    insn = insn_of(state, SKL, "b405"); /* mov ah, 5 */
    assert_int_equal(insn->high_write, 1 << R_RAX);
    assert_true(insn->flags & INSN_WRITES_HIGH);
    insn = insn_of(state, SKL, "89d8"); /* mov eax, ebx */
    assert_int_equal(insn->wide_read, 1 << R_RBX);
    assert_int_equal(insn->wide_write, 1 << R_RAX);
    assert_int_equal(insn_of(state, SKL, "8a03")->wide_read, 1 << R_RBX); /* address */
}

static void test_front_end_facts(void **state)
{
    struct insn *insn = insn_of(state, SKL, "66053412"); /* add ax, 0x1234 */

    assert_true(insn->flags & INSN_LCP); /* FE-13 */
    assert_int_equal(insn->opcode_off, 1);
    assert_false(insn_of(state, SKL, "6683c012")->flags & INSN_LCP);
    assert_int_equal(insn_of(state, SKL, "480fafc3")->opcode_off, 2); /* FE-9 */
    assert_int_equal(insn_of(state, SKL, "c5f858c1")->opcode_off, 2);
    /* DE-5 single-uop instructions that need the complex decoder */
    assert_true(insn_of(state, SKL, "0fc8")->flags & INSN_COMPLEX); /* bswap eax */
    assert_true(insn_of(state, HSW, "480fa3d8")->flags & INSN_COMPLEX);
    assert_false(insn_of(state, SKL, "4801d8")->flags & INSN_COMPLEX);
    assert_int_equal(insn_of(state, SKL, "4801d8")->simple_after, 3);
    /* DE-6 */
    insn = insn_of(state, HSW, "415c"); /* pop r12 */
    assert_true(insn->flags & INSN_POP5C);
    assert_true(insn->flags & INSN_COMPLEX);
    assert_int_equal(insn->simple_after, 0);
    assert_int_equal(insn_of(state, SKL, "415c")->simple_after, 3);
    assert_false(insn_of(state, SKL, "415d")->flags & INSN_POP5C);
    /* DSB-2, DSB-3 */
    assert_int_equal(insn_of(state, SKL, "4801d8")->dsb_slots, 1);
    assert_int_equal(insn_of(state, SKL, "48b8efcdab8967452301")->dsb_slots, 2); /* mov rax, imm64 */
    assert_int_equal(insn_of(state, SKL, "48b80100000000000000")->dsb_slots, 1);
    assert_int_equal(insn_of(state, SKL, "48c70378563412")->dsb_slots, 2); /* mov [rbx], imm32 */
    assert_int_equal(insn_of(state, SKL, "48c70312000000")->dsb_slots, 1);
    assert_false(insn_of(state, SKL, "48c704250000000078563412")->flags & INSN_EXTRA_SLOT);
}

static void test_microcode(void **state) /* MS-1 */
{
    struct insn *insn = insn_of(state, SKL, "0fa2"); /* cpuid */

    assert_true(insn->has_ms);
    assert_int_equal(insn->mite_lams, 1);
    assert_true(insn->flags & INSN_SERIALIZING);
    assert_int_equal(recipe_of(state, SKL, "0fa2", 0)->tp_cyc, 100);
    insn = insn_of(state, SKL, "48f7f1"); /* div rcx */
    assert_true(insn->has_ms);
    assert_true(insn->flags & INSN_DIVIDE);
    assert_int_equal(insn->mite_lams, 4);
    assert_int_equal(insn->simple_after, 0);
    assert_int_equal(recipe_of(state, SKL, "48f7f1", 0)->tp_cyc, 21);
    assert_int_equal(recipe_of(state, SKL, "48f7f1", 0)->n_fused, 36);
    assert_int_equal(recipe_of(state, SKL, "9d", 0)->n_uops, 10); /* popfq */
}

static void test_divider(void **state) /* EX-14 */
{
    const struct recipe *r = recipe_of(state, SKL, "f20f5ec1", 0); /* divsd xmm0, xmm1 */

    assert_string_equal(text_of(r), "[alu0(v0 v1>v0:13)]");
    assert_int_equal(r->uops[0].div_cyc, 4);
    assert_int_equal(insn_of(state, SKL, "f20f5ec1")->fp_width_bytes, 8);
    assert_int_equal(insn_of(state, SKL, "c5fc58c1")->fp_width_bytes, 32); /* vaddps ymm */
    assert_int_equal(insn_of(state, SKL, "f30f58c1")->fp_width_bytes, 4);
    assert_int_equal(insn_of(state, SKL, "660fefc1")->fp_width_bytes, 0);
}

static void test_work(void **state)
{
    static const struct {
        const char *hex;
        enum work work;
    } table[] = {
        {"f20f5ec1", WORK_FP_SCALAR},    /* divsd xmm0,xmm1 */
        {"f30f5806", WORK_FP_SCALAR},    /* addss xmm0,[rsi]: arithmetic before memory */
        {"0f58c1", WORK_FP_128},         /* addps xmm0,xmm1 */
        {"c5fc58c1", WORK_FP_256},       /* vaddps ymm0,ymm0,ymm1 */
        {"c4e2f5b8c2", WORK_FP_256},     /* vfmadd231pd ymm0,ymm1,ymm2 */
        {"d8c1", WORK_X87},              /* fadd st,st(1) */
        {"d906", WORK_X87},              /* fld dword [rsi] */
        {"660fefc1", WORK_VECTOR_128},   /* pxor xmm0,xmm1 */
        {"0fefc1", WORK_VECTOR_128},     /* pxor mm0,mm1 */
        {"660ffe06", WORK_VECTOR_128},   /* paddd xmm0,[rsi] */
        {"c5fdfec1", WORK_VECTOR_256},   /* vpaddd ymm0,ymm0,ymm1 */
        {"660fd7c0", WORK_VECTOR_128},   /* pmovmskb eax,xmm0 */
        {"c4e27d04c1", WORK_VECTOR_256}, /* vpmaddubsw ymm0,ymm0,ymm1 */
        {"c4e27d0cc1", WORK_OTHER},      /* vpermilps ymm0,ymm0,ymm1: a shuffle of floats */
        {"0f28c1", WORK_OTHER},          /* movaps xmm0,xmm1 */
        {"660f2ec1", WORK_OTHER},        /* ucomisd xmm0,xmm1 */
        {"f20f2ac0", WORK_OTHER},        /* cvtsi2sd xmm0,eax */
        {"0f2806", WORK_MEMORY},         /* movaps xmm0,[rsi] */
        {"c5fd7f06", WORK_MEMORY},       /* vmovdqa [rsi],ymm0 */
        {"c4e27d8c06", WORK_MEMORY},     /* vpmaskmovd ymm0,ymm0,[rsi] */
        {"480306", WORK_MEMORY},         /* add rax,[rsi] */
        {"f0480106", WORK_MEMORY},       /* lock add [rsi],rax */
        {"50", WORK_MEMORY},             /* push rax */
        {"f348a5", WORK_MEMORY},         /* rep movsq */
        {"0f1806", WORK_MEMORY},         /* prefetchnta [rsi] */
        {"0fae3e", WORK_MEMORY},         /* clflush [rsi] */
        {"488d0431", WORK_OTHER},        /* lea rax,[rcx+rsi] */
        {"4801d8", WORK_OTHER},          /* add rax,rbx */
        {"f30fb8c1", WORK_OTHER},        /* popcnt eax,ecx: no vector register */
        {"0faef0", WORK_OTHER},          /* mfence */
        {"0f05", WORK_OTHER},            /* syscall */
        {"7400", WORK_BRANCH},           /* jz */
        {"e800000000", WORK_BRANCH},     /* call, which stores */
        {"c3", WORK_BRANCH},             /* ret, which loads */
        {"ff26", WORK_BRANCH},           /* jmp [rsi] */
        {"90", WORK_NOP},                /* nop */
        {"0f1f4000", WORK_NOP},          /* nop [rax] */
        {"f30f1efa", WORK_NOP},          /* endbr64 */
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (insn_of(state, SKL, table[i].hex)->work != table[i].work)
            fail_msg("%s does %u, not %d", table[i].hex, insn_of(state, SKL, table[i].hex)->work,
                     table[i].work);
}

static void test_stack_engine(void **state) /* RN-17 */
{
    struct insn *insn = insn_of(state, SKL, "50"); /* push rax */

    assert_int_equal(insn->rsp_delta, -8);
    assert_false(insn->flags & (INSN_RSP_EXPLICIT | INSN_RSP_WRITTEN));
    assert_int_equal(insn->mem[0].base, R_RSP);
    expect(state, SKL, "50", "[sta237(rsp>)+std4(rax>)]");
    assert_int_equal(insn_of(state, SKL, "6650")->rsp_delta, -2);
    insn = insn_of(state, SKL, "4883ec20"); /* sub rsp, 32 */
    assert_true(insn->flags & INSN_RSP_EXPLICIT);
    assert_true(insn->flags & INSN_RSP_WRITTEN);
    assert_true(insn_of(state, SKL, "488b442408")->flags & INSN_RSP_EXPLICIT);
    insn = insn_of(state, SKL, "ff742408"); /* push [rsp + 8] */
    assert_true(insn->flags & INSN_RSP_EXPLICIT);
    assert_int_equal(insn->n_mem, 2);
    assert_true(insn->mem[0].read && insn->mem[1].write);
}

static void test_symbols(void **state) /* EX-13a */
{
    struct insn *insn = insn_of(state, SKL, "4883c308"); /* add rbx, 8 */

    assert_int_equal(insn->sym, SYM_ADD);
    assert_int_equal(insn->sym_dst, R_RBX);
    assert_int_equal(insn->sym_src, R_RBX);
    assert_int_equal(insn->sym_add, 8);
    assert_int_equal(insn_of(state, SKL, "4883eb08")->sym_add, -8);
    assert_int_equal(insn_of(state, SKL, "48ffcb")->sym_add, -1);
    insn = insn_of(state, SKL, "4889d8");
    assert_int_equal(insn->sym, SYM_COPY);
    assert_int_equal(insn->sym_src, R_RBX);
    assert_int_equal(insn_of(state, SKL, "480f44c3")->sym, SYM_FRESH); /* cmove */
    assert_int_equal(insn_of(state, SKL, "488b03")->sym, SYM_FRESH);
    assert_int_equal(insn_of(state, SKL, "4801d8")->sym, SYM_FRESH);
}

static void test_fences_and_locks(void **state)
{
    struct insn *insn = insn_of(state, SKL, "0faee8"); /* lfence */

    assert_true((insn->flags & INSN_FENCE_LOAD) && !(insn->flags & INSN_FENCE_STORE));
    assert_true(insn->flags & INSN_SERIALIZING);
    insn = insn_of(state, SKL, "0faef0"); /* mfence */
    assert_true((insn->flags & INSN_FENCE_LOAD) && (insn->flags & INSN_FENCE_STORE));
    assert_true(insn_of(state, SKL, "0faef8")->flags & INSN_FENCE_STORE);
    assert_true(insn_of(state, SKL, "f0480fb10e")->flags & INSN_LOCKED);
    assert_true(insn_of(state, SKL, "488706")->flags & INSN_LOCKED); /* xchg [rsi], rax */
    assert_int_equal(recipe_of(state, SKL, "f0480fb10e", 0)->tp_cyc, 17);
    assert_false(insn_of(state, SKL, "4887c3")->flags & INSN_LOCKED);
    assert_true(insn_of(state, SKL, "660fe70f")->flags & INSN_NON_TEMPORAL);
    assert_true(insn_of(state, SKL, "0f180a")->flags & INSN_PREFETCH);
    assert_true(insn_of(state, SKL, "c4e27d8c052a000000")->flags & INSN_CONDITIONAL_MEM); /* vpmaskmovd */
}

static void test_gather(void **state)
{
    struct insn *insn = insn_of(state, SKL, "c4e26d900c18"); /* vpgatherdd ymm1, [rax + ymm3], ymm2 */
    const struct recipe *r = isa__recipe(isa_of(state, SKL), insn, 0);
    unsigned n = 0;

    assert_true(insn->flags & INSN_GATHER);
    assert_int_equal(insn->mem[0].size_bytes, 4);
    for (unsigned i = 0; i < r->n_uops; i++)
        if (r->uops[i].kind == UOP_LOAD)
            assert_int_equal(r->uops[i].access, n++);
    assert_int_equal(n, 8);
}

static void test_defaults(void **state) /* docs/data.md, default recipes */
{
    struct insn *insn = insn_of(state, SKL, "dd4308"); /* fld qword [rbx + 8] */

    assert_false(insn->flags & INSN_UNKNOWN);                       /* has published figures of its own */
    assert_true(insn_of(state, SKL, "d9fe")->flags & INSN_UNKNOWN); /* fsin */
    expect(state, SKL, "dd4308", "[load23(rbx>x87:5)]");
    expect(state, SKL, "d8c1", "[alu5(x87>x87:3)]"); /* fadd */
    expect(state, HSW, "d8c1", "[alu1(x87>x87:3)]");
    expect(state, HSW, "dec9", "[alu0(x87>x87:5)]"); /* fmulp */
    expect(state, SKL, "dec9", "[alu0(x87>x87:4)]");
    expect(state, SKL, "dd5b08", "[sta237(rbx>)+std4(x87>)]"); /* fstp */
    expect(state, SKL, "dc4308", "[load23(rbx>t0:5)+alu5(x87 t0>x87:3)]");
    expect(state, SKL, "d9c9", "[none(>)]"); /* fxch */
    assert_int_equal(recipe_of(state, SKL, "def9", 0)->uops[0].div_cyc, 5);
    assert_true(insn_of(state, SKL, "def9")->flags & INSN_DIVIDE);
    /* AVX2 on a core without it: a NOP, named */
    insn = insn_of(state, SNB, "c5fdfec1"); /* vpaddd ymm0, ymm0, ymm1 */
    assert_true(insn->flags & INSN_UNKNOWN);
    expect(state, SNB, "c5fdfec1", "[none(>)]");
    /* TZCNT runs as BSF where BMI is missing */
    expect(state, SNB, "f3480fbcc1", "[alu1(rax rcx>rax:3 F:3)]");
    /* AVX-512 as its AVX twin */
    insn = insn_of(state, SKL, "62f17c4858c1"); /* vaddps zmm0, zmm0, zmm1 */
    assert_true((insn->flags & INSN_AVX512) && (insn->flags & INSN_UNKNOWN));
    expect(state, SKL, "62f17c4858c1", "[alu01(v0 v1>v0:4)]");
    assert_int_equal(insn->fp_width_bytes, 64);
    assert_true(recipe_of(state, SKL, "0f05", 0)->n_fused > 4);
}

static void test_string_instructions(void **state)
{
    struct isa *isa = isa_of(state, SKL);
    struct insn *rep = insn_of(state, SKL, "f3a4"), *head, *body; /* rep movsb */
    const struct recipe *r;
    unsigned lat = 0;

    assert_true(rep->flags & INSN_REP);
    assert_true(rep->flags & INSN_CONDITIONAL_MEM);
    assert_int_equal(rep->n_mem, 2);
    assert_int_equal(rep->mem[0].base, R_RSI);
    assert_int_equal(rep->mem[1].base, R_RDI);
    head = isa__rep_head(isa, rep);
    assert_ptr_equal(head, isa__rep_head(isa, rep));
    assert_int_equal(head->n_mem, 0);
    assert_true(head->has_ms);
    r = isa__recipe(isa, head, 0);
    for (unsigned i = 0; i < r->n_uops; i++)
        lat += r->uops[i].max_lat;
    assert_int_equal(lat, 30);
    body = isa__rep_body(isa, rep, 32);
    assert_ptr_equal(body, isa__rep_body(isa, rep, 32));
    assert_ptr_not_equal(body, isa__rep_body(isa, rep, 16));
    assert_string_equal(text_of(isa__recipe(isa, body, 0)), "[load23(rsi>t0:5)] [sta237(rdi>)] [std4(t0>)]");
    assert_int_equal(body->mem[1].size_bytes, 32);
    body = isa__rep_body(isa, insn_of(state, SKL, "f348ab"), 32);
    assert_string_equal(text_of(isa__recipe(isa, body, 0)), "[sta237(rdi>)] [std4(rax>)]");
    body = isa__rep_body(isa, insn_of(state, SKL, "f2ae"), 1);
    assert_string_equal(text_of(isa__recipe(isa, body, 0)),
                        "[load23(rdi>t0:5)] [alu0156(rcx rax t0>rcx:2 C:1 F:1)]");
    assert_false(insn_of(state, SKL, "a4")->flags & INSN_REP);
}

static void test_cache_and_errors(void **state)
{
    struct isa *isa = isa_of(state, SKL);
    const uint8_t add[] = {0x48, 0x01, 0xd8, 0x90}, bad[15] = {0x06};
    struct core core;
    struct status st;
    int need = -1;

    assert_ptr_equal(isa__decode(isa, add, 4, &need), isa__decode(isa, add, 3, NULL));
    assert_null(isa__decode(isa, add, 2, &need));
    assert_int_equal(need, 1);
    assert_null(isa__decode(isa, add, 0, &need));
    assert_int_equal(need, 1);
    assert_null(isa__decode(isa, bad, sizeof bad, &need));
    assert_int_equal(need, 0);
    memset(&core, 0, sizeof core);
    strcpy(core.insn_table, "p6");
    assert_null(isa__open(&core, &st));
    assert_non_null(strstr(st.text, "p6"));
}

static void test_names(void **state)
{
    struct isa *isa = isa_of(state, SKL);
    char buf[64];

    assert_string_equal(isa__format(isa, insn_of(state, SKL, "4801d8"), 0, buf, sizeof buf), "add rax, rbx");
    assert_string_equal(isa__form_name(isa, insn_of(state, SKL, "4801d8"), buf, sizeof buf), "ADD R64, R64");
    assert_string_equal(isa__form_name(isa, insn_of(state, SKL, "dd4308"), buf, sizeof buf), "FLD M64");
    assert_string_equal(isa__form_name(isa, insn_of(state, SKL, "f0480fb10e"), buf, sizeof buf),
                        "LOCK CMPXCHG M64, R64");
    assert_string_equal(isa__form_name(isa, insn_of(state, SKL, "75f0"), buf, sizeof buf), "JNZ REL8");
}

/* Ports are bound by the rules of six or of eight: a core must have those of its table. */
static void test_ports_fit_the_table(void **state)
{
    static const struct {
        const char *core, *ports, *want; /* NULL: accepted */
    } the[] = {{"skl", "ports=6", "use 8"}, {"skl", "ports=7", "use 8"}, {"skl", "ports=10", NULL},
               {"snb", "ports=7", "use 6"}, {"snb", "ports=8", "use 6"}, {"ivb", "ports=6", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof the / sizeof *the; i++) {
        struct core core;
        struct status st = {0};
        assert_int_equal(core__load(&core, the[i].core, &the[i].ports, 1, &st), 0);
        struct isa *isa = isa__open(&core, &st);
        assert_int_equal(isa != NULL, the[i].want == NULL);
        if (the[i].want)
            assert_non_null(strstr(st.text, the[i].want));
        isa__close(isa);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports_fit_the_table),
        cmocka_unit_test(test_read_modify_write),
        cmocka_unit_test(test_indexed_unlaminates),
        cmocka_unit_test(test_multiply),
        cmocka_unit_test(test_move_elimination),
        cmocka_unit_test(test_zero_idioms),
        cmocka_unit_test(test_nops),
        cmocka_unit_test(test_macro_fusion_table),
        cmocka_unit_test(test_fused_pairs),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_loads_and_stores),
        cmocka_unit_test(test_lea),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_shift_by_cl),
        cmocka_unit_test(test_high_bytes),
        cmocka_unit_test(test_front_end_facts),
        cmocka_unit_test(test_microcode),
        cmocka_unit_test(test_divider),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_stack_engine),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_fences_and_locks),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_string_instructions),
        cmocka_unit_test(test_cache_and_errors),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
