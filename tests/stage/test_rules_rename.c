/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of the renamer: CY-1, CY-2, ID-2 to ID-7, RN-1 to RN-5, RN-7, RN-15 to RN-17, RT-1
 * to RT-4. (Move elimination: test_rules_moves.c) */
#include "test_rules_fixture.h"

/* Eight nops in 16 bytes: the predecoder takes two cycles, issue two. */
static void test_RN_01_four_a_cycle(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 4*nop4 */ "4*66666690");
        for (int64_t t = 4; t < 40; t++)
            assert_int_equal(rules__in_cycle(fx, 2, t), 4);
    }
    assert_int_equal(
        rules__cycles_with(SKL, /* 12*nop4; dec r15; jnz l */ "12*66666690 49ffcf75cb", "issue_width=2"),
        650);
}

/* LFENCE and CPUID issue when everything before has retired, and nothing issues with them but what follows.
 */
static void test_RN_01_serialising_instructions(void **state)
{
    static const char *const code[] = {
        /* nop4; imul rax,rbx; lfence; nop4; dec r15; jnz l */ "66666690480fafc30faee86666669049ffcf75ec",
        /* nop4; imul rax,rbx; cpuid; nop4; dec r15; jnz l */ "66666690480fafc30fa26666669049ffcf75ed"};
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        for (unsigned i = 0; i < 2; i++) {
            const struct loop_fixture *fx = rules__run(c, code[i]);
            for (unsigned k = 0; k < 3; k++)
                assert_true(rules__uop(fx, k, 2, 0)->issued > rules__uop(fx, k, 1, 0)->retired);
        }
}

/* Without a port no RS entry: nops pass a scheduler of 16 entries unhindered. Three on ports 0, 1 and 5 do
 * not: the gate wants four free entries, so after five groups (15) it closes until the first group, issued in
 * t and dispatched in t+5, has left: t+6. Five groups in six cycles. */
static void test_RN_02_CY_01_rs_entries(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        assert_int_equal(rules__cycles_with(c, /* 4*nop4 */ "4*66666690", "rs_entries=16"), 100);
        assert_int_equal(
            rules__cycles_with(c, /* movd eax,xmm2; lea rcx,[rbx+rdx+8]; vunpcklpd xmm0,xmm1,xmm2; nop3 */
                               "660f7ed0488d4c1308c5f114c2666690", "rs_entries=19"),
            100);
        assert_int_equal(
            rules__cycles_with(c, /* movd eax,xmm2; lea rcx,[rbx+rdx+8]; vunpcklpd xmm0,xmm1,xmm2; nop3 */
                               "660f7ed0488d4c1308c5f114c2666690", "rs_entries=16"),
            120);
    }
}

/* A group issued in t retires in t+8, after that cycle's gate (CY-2): eight groups, 32 entries, are inside
 * when the gate looks. It wants room for four more (RT-4): 36 entries are enough; with 35 eight groups take
 * nine cycles. */
static void test_CY_01_CY_02_RT_03_RT_04_room_for_a_whole_group(void **state)
{
    const char *code = /* mov eax,1; 2*nop4; nop3 */ "b801000000 2*66666690 666690";
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        assert_int_equal(rules__cycles_with(c, code, "rob_entries=36"), 100);
        assert_in_range(rules__cycles_with(c, code, "rob_entries=35"), 112, 113);
        assert_in_range(rules__cycles_with(c, code, "rob_entries=32"), 112, 113);
        assert_in_range(rules__cycles_with(c, code, "rob_entries=31"), 128, 129);
    }
}

/* Four fused-domain uops of each kind through a ROB of exactly that size. */
static void test_RT_01_rob_entries_are_fused(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        struct loop_fixture fx;
        const char *set = "rob_entries=40";
        loop_fixture__open_set(&fx, rules_names[c], &set, 1);
        fx.keep_uops = true;
        rules__run_at(&fx, /* 4*add rax,[rsi]; dec r15; jnz l */ "4*480306 49ffcf75ef", 0);
        unsigned most = 0;
        for (int64_t t = 20; t < 200; t++) {
            unsigned used = 0;
            for (size_t i = 0; i < fx.n_uops; i++)
                used += fx.uop[i].fused_head && fx.uop[i].issued <= t && fx.uop[i].retired > t;
            most = used > most ? used : most;
        }
        assert_in_range(most, 37, 40);
        loop_fixture__close(&fx);
    }
}

/* delivered t, issued t+1, dispatched t+6, complete t+8, retired t+9; a nop issued in t+1 retires in t+2. */
static void test_RT_02_earliest_timeline(void **state)
{
    (void)state;
    const struct loop_fixture *fx =
        rules__run(SKL, /* nop1; or rax,rbx; dec r15; jnz l */ "904809d849ffcf75f7");
    const struct uop_record *nop = rules__uop(fx, 0, 0, 0), *alu = rules__uop(fx, 0, 1, 0);
    assert_int_equal(nop->issued, 1);
    assert_int_equal(nop->retired, 2);
    assert_int_equal(alu->delivered, 0);
    assert_int_equal(alu->issued, 1);
    assert_int_equal(alu->dispatched, 6);
    assert_int_equal(alu->done, 8);
    assert_int_equal(alu->retired, 9);
}

static void test_RT_02_retire_width(void **state)
{
    (void)state;
    assert_int_equal(
        rules__cycles_with(SKL, /* 12*nop4; dec r15; jnz l */ "12*66666690 49ffcf75cb", "retire_width=2"),
        650);
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* 12*nop4; dec r15; jnz l */ "12*66666690 49ffcf75cb");
        for (int64_t t = 0; t < 100; t++) {
            unsigned n = 0;
            for (size_t i = 0; i < fx->n_uops; i++)
                n += fx->uop[i].retired == t && fx->uop[i].fused_head;
            assert_true(n <= 4);
        }
    }
}

/* --- unlamination ----------------------------------------------------------------------------- */

/* Rename slots of indexed forms. */
static void test_ID_02_ID_04_slots_of_indexed_forms(void **state)
{
    static const struct {
        const char *code;
        unsigned old, recent; /* SNB and IVB; HSW, BDW and SKL */
    } f[] = {
        {/* add rax,[rsi+rdi] */ "4803043e", 2, 1},
        {/* addps xmm0,[rsi+rdi] */ "0f58043e", 2, 1},
        {/* imul rax,[rsi+rdi] */ "480faf043e", 2, 1},
        {/* pabsb xmm0,[rsi+rdi] */ "660f381c043e", 2, 2},
        {/* imul rax,[rsi+rdi],3 */ "486b043e03", 2, 2},
        {/* cmp rax,[rsi+rdi] */ "483b043e", 2, 2},
        {/* cmp dword ptr [rsi+rdi],1 */ "833c3e01", 2, 2},
        {/* test [rsi+rdi],rax */ "4885043e", 2, 2},
        {/* bsf rax,[rsi+rdi] */ "480fbc043e", 2, 1},
        {/* popcnt rax,[rsi+rdi] */ "f3480fb8043e", 2, 1},
        {/* vaddps xmm0,xmm1,[rsi+rdi] */ "c5f058043e", 2, 2},
        {/* paddb mm0,[rsi+rdi] */ "0ffc043e", 2, 2},
        {/* mov [rsi+rdi],rax */ "4889043e", 2, 1},
        {/* movaps [rsi+rdi],xmm0 */ "0f29043e", 2, 1},
        {/* mov dword ptr [rsi+rdi],1 */ "c7043e01000000", 2, 1},
        {/* add [rsi+rdi],rax */ "4801043e", 4, 3},
        {/* neg qword ptr [rsi+rdi] */ "48f71c3e", 4, 3},
        {/* inc qword ptr [rsi+rdi] */ "48ff043e", 4, 3},
        {/* shl qword ptr [rsi+rdi],2 */ "48c1243e02", 4, 3},
        {/* mov rax,[rsi+rdi] */ "488b043e", 1, 1},
        /* not indexed: fused everywhere */
        {/* add rax,[rsi+8] */ "48034608", 1, 1},
        {/* vaddps xmm0,xmm1,[rsi] */ "c5f05806", 1, 1},
        {/* mov [rsi],rax */ "488906", 1, 1},
        {/* add [rsi],rax */ "480106", 2, 2},
        {/* inc qword ptr [rsi] */ "48ff06", 3, 3}, /* three everywhere: only SNB and IVB split */
        {/* shl qword ptr [rsi],2 */ "48c12602", 3, 3},
    };
    int wrong = 0;
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++)
        for (size_t i = 0; i < sizeof f / sizeof f[0]; i++) {
            unsigned want = c <= IVB ? f[i].old : f[i].recent;
            unsigned slots = rules__slots(rules__run(c, f[i].code), 1, 0);
            if (slots != want) {
                print_error("%s on %s: %u slots, not %u\n", f[i].code, rules_names[c], slots, want);
                wrong++;
            }
        }
    assert_int_equal(wrong, 0);
}

/* VADDPS with an index is two slots: after three nops it waits for the next group as a whole. */
static void test_ID_03_a_laminated_uop_issues_at_once(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* 3*nop4; vaddps xmm0,xmm1,[rsi+rdi]; dec r15; jnz l */ "3*66666690 c5f058043e49ffcf75ea");
        assert_int_equal(rules__slots(fx, 0, 3), 2);
        for (unsigned i = 0; i < 20; i++) {
            assert_int_equal(rules__uop(fx, i, 3, 0)->issued, rules__uop(fx, i, 3, 1)->issued);
            assert_true(rules__in_cycle(fx, 2, rules__uop(fx, i, 3, 0)->issued) <= 4);
        }
        assert_int_equal(rules__uop(fx, 0, 3, 0)->issued, rules__uop(fx, 0, 0, 0)->issued + 1);
    }
}

/* Two laminated uops and the pair, six slots at issue: [v v] [p v] [v p], two iterations in three cycles;
 * before SKL the additions share one port. */
static void test_ID_02_ID_03_unlaminated_groups(void **state)
{
    static const struct rules_figure f[] = {
        {/* vaddps xmm0,xmm1,[rsi+rdi]; vaddps xmm2,xmm1,[rsi+rdi]; dec r15; jnz l */ "c5f058043ec5f058143e49"
                                                                                      "ffcf75f1",
         0,
         {200, 200, 200, 200, 150}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* --- idioms ----------------------------------------------------------------------------------- */

static bool needs_port(enum rules_core core, const char *code)
{
    const struct loop_fixture *fx = rules__run(core, code);
    for (unsigned k = 0; k < rules__n_uops(fx, 2, 0); k++)
        if (rules__uop(fx, 2, 0, k)->port != UOP_RECORD_NO_PORT)
            return true;
    return false;
}

static void test_RN_04_executed_at_rename(void **state)
{
    static const char *const none[] = {
        /* xor eax,eax */ "31c0",
        /* xor rax,rax */ "4831c0",
        /* sub ecx,ecx */ "29c9",
        /* sub rcx,rcx */ "4829c9",
        /* pxor xmm1,xmm1 */ "660fefc9",
        /* xorps xmm1,xmm1 */ "0f57c9",
        /* xorpd xmm1,xmm1 */ "660f57c9",
        /* psubb xmm1,xmm1 */ "660ff8c9",
        /* psubq xmm1,xmm1 */ "660ffbc9",
        /* pcmpgtb xmm1,xmm1 */ "660f64c9",
        /* pcmpgtd xmm1,xmm1 */ "660f66c9",
        /* vpxor xmm1,xmm1,xmm1 */ "c5f1efc9",
        /* vxorps xmm1,xmm1,xmm1 */ "c5f057c9",
        /* vxorps ymm1,ymm1,ymm1 */ "c5f457c9",
        /* nop1 */ "90",
        /* nop6 */ "666666666690",
        /* nop dword ptr [rax] */ "0f1f00",
        /* clc */ "f8",
    };
    static const char *const some[] = {
        /* xor ax,ax */ "6631c0",           /* xor al,al */ "30c0",
        /* sub ax,ax */ "6629c0",           /* sbb eax,eax */ "19c0",
        /* pcmpeqd xmm1,xmm1 */ "660f76c9", /* pxor mm1,mm1 */ "0fefc9",
        /* xor eax,ecx */ "31c8",           /* pxor xmm1,xmm2 */ "660fefca",
        /* and eax,eax */ "21c0",
    };
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
            if (needs_port(c, none[i])) {
                print_error("%s on %s\n", none[i], rules_names[c]);
                fail();
            }
        for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
            if (!needs_port(c, some[i])) {
                print_error("%s on %s\n", some[i], rules_names[c]);
                fail();
            }
        assert_int_equal(rules__slots(rules__run(c, /* vzeroupper */ "c5f877"), 2, 0), 4);
    }
}

/* A multiplication chain of three cycles cut by the idiom: one multiplication a cycle. 16-bit XOR and SBB
 * stay in the chain. */
static void test_RN_04_RN_05_dependency_breaking(void **state)
{
    static const struct rules_figure f[] = {
        {/* imul rax,rbx; xor eax,eax; dec r15; jnz l */ "480fafc331c049ffcf75f5",
         0,
         {100, 100, 100, 100, 100}},
        {/* imul rax,rbx; xor ax,ax; dec r15; jnz l */ "480fafc36631c049ffcf75f4",
         0,
         {400, 400, 400, 400, 400}},
        {/* mulps xmm0,xmm1; pxor xmm0,xmm0; dec r15; jnz l */ "0f59c1660fefc049ffcf75f4",
         0,
         {100, 100, 100, 100, 100}},
        {/* pmullw xmm0,xmm1; pcmpeqd xmm0,xmm0; dec r15; jnz l */ "660fd5c1660f76c049ffcf75f3",
         0,
         {100, 100, 100, 100, 100}},
        {/* pmullw xmm0,xmm1; pcmpeqd xmm0,xmm2; dec r15; jnz l */ "660fd5c1660f76c249ffcf75f3",
         0,
         {600, 600, 600, 600, 600}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

static void test_RN_07_xchg(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* xchg rbx,rcx; dec r15; jnz l */ "4887cb49ffcf75f8");
        assert_int_equal(rules__n_uops(fx, 0, 0), 3);
        assert_int_equal(rules__slots(fx, 0, 0), 3);
    }
}

/* --- high bytes, stack ------------------------------------------------------------------------- */

static unsigned count_index(const struct loop_fixture *fx, unsigned iteration, unsigned index)
{
    unsigned n = 0;
    for (size_t i = 0; i < fx->n_uops; i++)
        n += fx->uop[i].iteration == iteration && fx->uop[i].index == index;
    return n;
}

/* Reading EAX after AH was written inserts a merge uop on port 1 or 5, alone in its cycle. */
static void test_RN_15_merge_uop(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* mov ah,1; mov ebx,eax; nop1; dec r15; jnz l */ "b40189c39049ffcf75f6");
        for (unsigned i = 1; i < 10; i++) {
            assert_int_equal(count_index(fx, i, UOP_RECORD_MERGE), 1);
            for (size_t k = 0; k < fx->n_uops; k++)
                if (fx->uop[k].iteration == i && fx->uop[k].index == UOP_RECORD_MERGE) {
                    assert_true(fx->uop[k].port == 1 || fx->uop[k].port == 5);
                    assert_int_equal(rules__in_cycle(fx, 2, fx->uop[k].issued), 1);
                }
        }
        /* the low byte needs none, nor does a second read */
        fx = rules__run(c, /* mov al,1; mov ebx,eax; nop1; dec r15; jnz l */ "b00189c39049ffcf75f6");
        assert_int_equal(count_index(fx, 3, UOP_RECORD_MERGE), 0);
        fx = rules__run(c, /* mov ah,1; mov ebx,eax; mov ecx,eax; dec r15; jnz l */ "b40189c389c149ffcf75f5");
        assert_int_equal(count_index(fx, 3, UOP_RECORD_MERGE), 1);
    }
}

/* Reading AH that is not dirty costs a cycle more: movzx 1 + 1, add 1. */
static void test_RN_15_clean_read(void **state)
{
    static const struct rules_figure f[] = {
        {/* movzx ebx,ah; add eax,ebx; dec r15; jnz l */ "0fb6dc01d849ffcf75f6",
         0,
         {300, 300, 300, 300, 300}},
        {/* movzx ebx,ax; add eax,ebx; dec r15; jnz l */ "0fb7d801d849ffcf75f6",
         0,
         {200, 200, 200, 200, 200}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* DEC leaves C: three ADC of the chain C -> C, one cycle each, go on through it. SUB writes C and cuts it. */
static void test_UOP_09_RN_16b_flags_in_two_groups(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        assert_true(
            rules__cycles(
                c,
                /* adc rax,1; adc rcx,1; adc rdx,1; dec r15; jnz l */ "4883d0014883d1014883d20149ffcf75ef") >=
            300);
        assert_true(
            rules__cycles(c, /* adc rax,1; adc rcx,1; adc rdx,1; sub r15,1; jnz l */ "4883d0014883d1014883d20"
                                                                                     "14983ef0175ee") < 260);
    }
}

static void test_RN_17_stack_sync(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        /* explicit use after PUSH; not before */
        const struct loop_fixture *fx = rules__run(
            c, /* push rax; mov rbx,[rsp]; add rsp,8; dec r15; jnz l */ "50488b1c244883c40849ffcf75f2");
        assert_int_equal(count_index(fx, 3, UOP_RECORD_SYNC), 1);
        fx = rules__run(c, /* push rax; pop rbx; dec r15; jnz l */ "505b49ffcf75f9");
        assert_int_equal(count_index(fx, 3, UOP_RECORD_SYNC), 0);
        fx = rules__run(
            c, /* push rax; pop rbx; mov rcx,[rsp]; dec r15; jnz l */ "505b488b0c2449ffcf75f5"); /* offset 0
                                                                                                    again */
        assert_int_equal(count_index(fx, 3, UOP_RECORD_SYNC), 0);
        fx = rules__run(c, /* mov rbx,[rsp]; add rsp,8; dec r15; jnz l */ "488b1c244883c40849ffcf75f3");
        assert_int_equal(count_index(fx, 3, UOP_RECORD_SYNC), 0);
        /* LEA uses RSP as a base: one for all four */
        fx = rules__run(c, /* 4*pop rbx; lea rsp,[rsp-32]; dec r15; jnz l */ "4*5b 488d6424e049ffcf75f2");
        assert_int_equal(count_index(fx, 3, UOP_RECORD_SYNC), 1);
        /* 24 pops are 192 bytes, the 25th exceeds it */
        fx = rules__run(c, /* 24*pop rbx; 24*push rax; dec r15; jnz l */ "24*5b 24*50 49ffcf75cb");
        assert_int_equal(count_index(fx, 0, UOP_RECORD_SYNC), 0);
        fx = rules__run(c, /* 25*pop rbx; 25*push rax; dec r15; jnz l */ "25*5b 25*50 49ffcf75c9");
        assert_int_equal(count_index(fx, 0, UOP_RECORD_SYNC), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_RN_01_four_a_cycle),
        cmocka_unit_test(test_RN_01_serialising_instructions),
        cmocka_unit_test(test_RN_02_CY_01_rs_entries),
        cmocka_unit_test(test_CY_01_CY_02_RT_03_RT_04_room_for_a_whole_group),
        cmocka_unit_test(test_RT_01_rob_entries_are_fused),
        cmocka_unit_test(test_RT_02_earliest_timeline),
        cmocka_unit_test(test_RT_02_retire_width),
        cmocka_unit_test(test_ID_02_ID_04_slots_of_indexed_forms),
        cmocka_unit_test(test_ID_03_a_laminated_uop_issues_at_once),
        cmocka_unit_test(test_ID_02_ID_03_unlaminated_groups),
        cmocka_unit_test(test_RN_04_executed_at_rename),
        cmocka_unit_test(test_RN_04_RN_05_dependency_breaking),
        cmocka_unit_test(test_RN_07_xchg),
        cmocka_unit_test(test_RN_15_merge_uop),
        cmocka_unit_test(test_RN_15_clean_read),
        cmocka_unit_test(test_UOP_09_RN_16b_flags_in_two_groups),
        cmocka_unit_test(test_RN_17_stack_sync),
    };
    return RULES_MAIN(tests);
}
