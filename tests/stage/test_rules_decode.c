/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of the decoders, macro-fusion and the microcode sequencer: DE-*, MF-*, UF-*, MS-*.
 */
#include "test_rules_fixture.h"

/* Four instructions in a 16-byte block; the predecoder and issue would take four a cycle as well. */
static void test_DE_01_four_decoders(void **state)
{
    const char *code = /* 4*nop4 */ "4*66666690";
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        assert_int_equal(rules__cycles(c, code), 100);
        assert_int_equal(rules__cycles_with(c, code, "decoders=2"), 200);
    }
}

/* BSWAP r32, one uop, needs the complex decoder (DE-5): two of them never decode together. */
static void test_DE_02_complex_comes_first(void **state)
{
    static const struct rules_figure f[] = {
        {/* bswap eax; bswap ecx; 2*nop6 */ "0fc80fc9 2*666666666690",
         0,
         {200, 200, 200, 200, 200}}, /* [bswap] [bswap nop nop] */
        {/* bswap eax; nop6 */ "0fc8666666666690", 0, {100, 100, 100, 100, 100}}, /* [bswap nop] */
        {/* nop4; bswap eax; nop4; bswap ecx */ "666666900fc8666666900fc9", 0, {200, 200, 200, 200, 200}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    for (enum rules_core c = SNB; c <= SKL; c++) { /* each bswap opens a group, a nop follows it */
        const struct loop_fixture *fx = rules__run(c, f[2].code);
        int64_t first = rules__uop(fx, 1, 1, 0)->delivered;
        assert_int_equal(rules__uop(fx, 1, 2, 0)->delivered, first);
        assert_int_equal(rules__uop(fx, 1, 3, 0)->delivered, first + 1);
        assert_int_equal(rules__uop(fx, 2, 0, 0)->delivered, first + 1);
    }
}

/* Two-uop VCVTPS2PD, then three single ones: SKL takes all four at once and is then held by issue, 5/4; the
 * others take three instructions with a two-uop first, and the fourth needs its own group, since the next
 * VCVTPS2PD must be first. */
static void test_DE_03_DE_04_simple_decoders_after_a_complex_one(void **state)
{
    static const struct rules_figure f[] = {
        {/* vcvtps2pd xmm0,xmm1; 3*nop4 */ "c5f85ac1 3*66666690", 0, {200, 200, 200, 200, 125}},
        {/* vcvtps2pd xmm0,xmm1; 2*nop6 */ "c5f85ac1 2*666666666690", 0, {100, 100, 100, 100, 100}},
        /* three uops: no other on the old cores, two on SKL */
        {/* xchg rax,rbx; nop7; nop7 */ "48936666666666669066666666666690", 0, {200, 200, 200, 200, 200}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, f[2].code);
        bool together = rules__uop(fx, 2, 0, 0)->delivered == rules__uop(fx, 2, 2, 0)->delivered;
        assert_int_equal(together, c == SKL);
    }
}

/* POP R12 (5C) opens a group and, before SKL, closes it. push | pop | nop nop push against pop nop nop push.
 */
static void test_DE_06_pop_r12(void **state)
{
    static const struct rules_figure f[] = {
        {/* push rax; pop r12; nop6; nop7 */ "50415c66666666669066666666666690",
         0,
         {200, 200, 200, 200, 100}},
        {/* push rax; pop r13; nop6; nop7 */ "50415d66666666669066666666666690",
         0,
         {100, 100, 100, 100, 100}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* The JO cannot fuse and is not taken: what follows it decodes a cycle later although the queue holds it. */
static void test_DE_07_branch_ends_the_group(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* nop4; jo n; nop5; nop5 */ "66666690700066666666906666666690");
        for (unsigned i = 1; i < 4; i++) {
            const struct uop_record *branch = rules__uop(fx, i, 1, 0), *next = rules__uop(fx, i, 2, 0);
            assert_int_equal(next->predecoded, branch->predecoded);
            assert_int_equal(next->delivered, branch->delivered + 1);
        }
    }
}

/* A pair ends the group as well: two pairs a block take two cycles. */
static void test_DE_07_MF_07_one_pair_a_cycle(void **state)
{
    static const struct rules_figure f[] = {
        {/* test rax,rax; je n; nop3; test rbx,rbx; je n; nop3 */ "4885c074006666904885db7400666690",
         0,
         {200, 200, 200, 200, 200}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* The block's last CMP could fuse with what follows: it decodes only when the next block has been predecoded
 * for three cycles, and that is held back by a length-changing prefix. */
static void test_DE_08_waits_for_a_possible_partner(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* nop7; nop7; cmp eax,ebx; or ax,0x1234; nop6; nop6 */ "666666666666906666666666669039d8660d3"
                                                                       "412666666666690666666666690");
        const struct uop_record *cmp = rules__uop(fx, 0, 2, 0), *next = rules__uop(fx, 0, 3, 0);
        assert_int_equal(cmp->predecoded, 0);
        assert_true(next->predecoded > 0);
        assert_int_equal(cmp->delivered, next->predecoded + 3);
        fx = rules__run(c, /* nop7; nop7; mov eax,ebx; or ax,0x1234; nop6; nop6 */
                        "666666666666906666666666669089d8660d3412666666666690666666666690");
        assert_int_equal(rules__uop(fx, 0, 2, 0)->delivered, 3);
    }
}

/* A CMP in fourth place, then three more that end in a branch, which closes the group. Before SKL the CMP
 * cannot use the fourth decoder: [n n n] [cmp n n n] [jo] instead of [n n n cmp] [n n n jo]. */
static void test_DE_08_fusible_on_the_last_decoder(void **state)
{
    static const struct rules_figure f[] = {
        {/* nop4; cmp rax,rbx; 2*nop3; nop4; jo n32; nop5; nop4 */ "666666904839d8 2*666690 "
                                                                   "666666900f8000000000666666669066666690",
         0,
         {300, 300, 300, 300, 200}},
        {/* nop4; or rax,rbx; 2*nop3; nop4; jo n32; nop5; nop4 */ "666666904809d8 2*666690 "
                                                                  "666666900f8000000000666666669066666690",
         0,
         {200, 200, 200, 200, 200}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    assert_int_equal(rules__cycles_with(HSW, f[0].code, "fuse_on_last_decoder=yes"), 200);
}

static void test_DE_09_decoded_uops_issue_in_the_next_cycle(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 4*nop4 */ "4*66666690");
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(rules__uop(fx, i, 3, 0)->issued, rules__uop(fx, i, 3, 0)->delivered + 1);
    }
}

/* --- macro-fusion ----------------------------------------------------------------------------- */

/* Does the last instruction but one fuse with a Jcc? Then the Jcc has no uop of its own. */
static bool fuses(enum rules_core core, const char *first, unsigned cc)
{
    char code[64];
    /* the target is the start of the block; displacement -(len + 2) */
    snprintf(code, sizeof code, "%s%02x%02x", first, 0x70 + cc, (unsigned)(0xfe - strlen(first) / 2) & 0xff);
    const struct loop_fixture *fx = rules__run(core, code);
    return rules__n_uops(fx, 5, 1) == 0;
}

/* O NO C NC Z NZ BE A S NS P NP L GE LE G */
static void test_MF_01_which_pairs_fuse(void **state)
{
    static const struct {
        const char *code;
        unsigned conditions;
    } op[] = {
        {/* test rax,rbx */ "4885d8", 0xffff}, {/* and rax,rbx */ "4821d8", 0xffff},
        {/* cmp rax,rbx */ "4839d8", 0xf0fc},  {/* add rax,rbx */ "4801d8", 0xf0fc},
        {/* sub rax,rbx */ "4829d8", 0xf0fc},  {/* inc rax */ "48ffc0", 0xf030},
        {/* dec rax */ "48ffc8", 0xf030},      {/* or rax,rbx */ "4809d8", 0},
        {/* xor rax,rbx */ "4831d8", 0},       {/* neg rax */ "48f7d8", 0},
        {/* shl rax,1 */ "48d1e0", 0},         {/* adc rax,rbx */ "4811d8", 0},
        {/* sbb rax,rbx */ "4819d8", 0},       {/* lea rax,[rbx] */ "488d03", 0},
    };
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        for (size_t i = 0; i < sizeof op / sizeof op[0]; i++)
            for (unsigned cc = 0; cc < 16; cc++)
                if (fuses(c, op[i].code, cc) != (op[i].conditions >> cc & 1)) {
                    print_error("%s with condition %u on %s\n", op[i].code, cc, rules_names[c]);
                    fail();
                }
}

static void test_MF_02_operand_forms_that_fuse(void **state)
{
    static const struct {
        const char *code;
        bool fuses;
    } op[] = {
        {/* cmp rax,1 */ "4883f801", true},
        {/* cmp al,bl */ "38d8", true},
        {/* cmp ah,bl */ "38dc", true},
        {/* cmp ax,bx */ "6639d8", true},
        {/* cmp ax,0x1234 */ "663d3412", true},
        {/* cmp rax,[rsi] */ "483b06", true},
        {/* cmp [rsi],rax */ "483906", true},
        {/* test [rsi],rax */ "488506", true},
        {/* add rax,[rsi] */ "480306", true},
        {/* and eax,[rsi] */ "2306", true},
        {/* sub rax,0x12345678 */ "482d78563412", true},
        {/* cmp qword ptr [rsi],1 */ "48833e01", false},
        {/* test dword ptr [rsi],1 */ "f70601000000", false},
        {/* add [rsi],rax */ "480106", false},
        {/* sub [rsi],rax */ "482906", false},
        {/* and [rsi],rax */ "482106", false},
        {/* inc qword ptr [rsi] */ "48ff06", false},
        {/* dec dword ptr [rsi] */ "ff0e", false},
        {/* lock add [rsi],rax */ "f0480106", false},
    };
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        for (size_t i = 0; i < sizeof op / sizeof op[0]; i++)
            if (fuses(c, op[i].code, 5) != op[i].fuses) {
                print_error("%s on %s\n", op[i].code, rules_names[c]);
                fail();
            }
}

static void test_MF_04_not_across_a_line_boundary(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        for (unsigned align = 0; align < 64; align++) { /* the jnz starts at align + 3 */
            rules__run_at(&rules_fixture[c], /* dec r15; jnz l */ "49ffcf75fb", align);
            assert_int_equal(rules__n_uops(&rules_fixture[c], 5, 1), (align + 3) % 64 == 0);
        }
}

static void test_MF_05_MF_06_a_taken_pair_uses_the_branch_port(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        unsigned port = c <= IVB ? 5 : 6;
        const struct loop_fixture *fx = rules__run(c, /* nop1; cmp rax,[rsi]; jne l */ "90483b0675fa");
        for (unsigned i = 0; i < 9; i++) {
            assert_int_equal(rules__n_uops(fx, i, 1), 2);
            assert_int_equal(rules__uop(fx, i, 1, 0)->kind, UOP_LOAD);
            assert_int_equal(rules__uop(fx, i, 1, 1)->kind, UOP_COMPUTE);
            assert_int_equal(rules__uop(fx, i, 1, 1)->port, port);
            assert_int_equal(rules__slots(fx, i, 1), 1);
        }
        fx = rules__run(c, /* nop1; or rax,rbx; jne l */ "904809d875fa");
        for (unsigned i = 0; i < 9; i++)
            assert_int_equal(rules__uop(fx, i, 2, 0)->port, port);
    }
}

/* 17.1: JRCXZ goes to port 6 as well, JMP keeps 0 and 6. */
static void test_MF_06_which_jumps_keep_port_0(void **state)
{
    (void)state;
    for (enum rules_core c = HSW; c <= SKL; c++) {
        bool port0 = false;
        const struct loop_fixture *fx = rules__run(c, /* nop1; jmp l */ "90ebfd");
        for (unsigned i = 0; i < 50; i++)
            port0 |= rules__uop(fx, i, 1, 0)->port == 0;
        assert_true(port0);
        fx = rules__run(c, /* nop1; jrcxz l */ "90e3fd");
        for (unsigned i = 0; i < 50; i++)
            assert_int_equal(rules__uop(fx, i, 1, rules__n_uops(fx, i, 1) - 1)->port, 6);
    }
}

/* --- micro-fusion, microcode ------------------------------------------------------------------- */

/* load + operation, address + data: one slot each; a read-modify-write two. */
static void test_UF_01_micro_fused_pairs(void **state)
{
    static const struct {
        const char *code;
        unsigned uops, slots;
    } op[] = {
        {/* add rax,[rsi] */ "480306", 2, 1},
        {/* mov [rsi],rax */ "488906", 2, 1},
        {/* add [rsi],rax */ "480106", 4, 2},
        {/* mov rax,[rsi] */ "488b06", 1, 1},
    };
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        for (size_t i = 0; i < sizeof op / sizeof op[0]; i++) {
            const struct loop_fixture *fx = rules__run(c, op[i].code);
            assert_int_equal(rules__n_uops(fx, 2, 0), op[i].uops);
            assert_int_equal(rules__slots(fx, 2, 0), op[i].slots);
        }
}

/* CLD: how long until the next instruction is delivered, from the DSB (loop) and from MITE (unrolled). The
 * sequencer sends four a cycle; MITE: one idle cycle before and one after; DSB: S before, none after. */
static void test_MS_01_MS_02_switches(void **state)
{
    static const unsigned dsb_stall[RULES_CORES] = {4, 4, 4, 4, 2};
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct insn *insn = isa__decode(rules_fixture[c].isa, (const uint8_t[15]){0xfc}, 15, NULL);
        assert_true(insn && insn->has_ms);
        unsigned lams = isa__recipe(rules_fixture[c].isa, (struct insn *)insn, RECIPE_BASE)->n_lams;
        unsigned ms_cycles = (lams - insn->mite_lams + 3) / 4;

        const struct loop_fixture *fx =
            rules__run(c, /* 4*nop1; cld; 4*nop1; dec r15; jnz l */ "4*90 fc 4*90 49ffcf75f2");
        const struct uop_record *cld = rules__uop(fx, 0, 4, 0), *next = rules__uop(fx, 0, 5, 0);
        assert_int_equal(cld->from, FETCH_DSB);
        assert_int_equal(next->delivered - cld->delivered, dsb_stall[c] + ms_cycles + 1);

        fx = rules__run(c, /* 4*nop1; cld; 4*nop1; nop7 */ "4*90 fc 4*90 66666666666690");
        cld = rules__uop(fx, 0, 4, 0);
        next = rules__uop(fx, 0, 5, 0);
        assert_int_equal(cld->from, FETCH_MITE);
        assert_int_equal(next->delivered - cld->delivered, 1 + ms_cycles + 1 + 1);
    }
}

/* MS-4, DE-7: what precedes the microcoded instruction in the group is delivered with... its own group, as it
 * needs the complex decoder: the nops before it come one cycle earlier. */
static void test_MS_04_older_instructions_are_delivered_normally(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 2*nop4; cld; nop7 */ "2*66666690 fc66666666666690");
        assert_int_equal(rules__uop(fx, 0, 0, 0)->delivered, 3);
        assert_int_equal(rules__uop(fx, 0, 1, 0)->delivered, 3);
        assert_int_equal(rules__uop(fx, 0, 2, 0)->delivered, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_DE_01_four_decoders),
        cmocka_unit_test(test_DE_02_complex_comes_first),
        cmocka_unit_test(test_DE_03_DE_04_simple_decoders_after_a_complex_one),
        cmocka_unit_test(test_DE_06_pop_r12),
        cmocka_unit_test(test_DE_07_branch_ends_the_group),
        cmocka_unit_test(test_DE_07_MF_07_one_pair_a_cycle),
        cmocka_unit_test(test_DE_08_waits_for_a_possible_partner),
        cmocka_unit_test(test_DE_08_fusible_on_the_last_decoder),
        cmocka_unit_test(test_DE_09_decoded_uops_issue_in_the_next_cycle),
        cmocka_unit_test(test_MF_01_which_pairs_fuse),
        cmocka_unit_test(test_MF_02_operand_forms_that_fuse),
        cmocka_unit_test(test_MF_04_not_across_a_line_boundary),
        cmocka_unit_test(test_MF_05_MF_06_a_taken_pair_uses_the_branch_port),
        cmocka_unit_test(test_MF_06_which_jumps_keep_port_0),
        cmocka_unit_test(test_UF_01_micro_fused_pairs),
        cmocka_unit_test(test_MS_01_MS_02_switches),
        cmocka_unit_test(test_MS_04_older_instructions_are_delivered_normally),
    };
    return RULES_MAIN(tests);
}
