/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of move elimination: RN-8 to RN-13. */
#include "test_rules_fixture.h"

/* An eliminated move has no port. */
static bool eliminated(const struct loop_fixture *fx, unsigned iteration, unsigned insn)
{
    return rules__uop(fx, iteration, insn, 0)->port == UOP_RECORD_NO_PORT;
}

static void test_RN_08_candidates(void **state)
{
    static const struct {
        const char *code;
        unsigned cores; /* bit = core */
    } f[] = {
        {/* mov rax,rbx */ "4889d8", 0x1e},
        {/* mov eax,ebx */ "89d8", 0x1e},
        {/* mov r8,r9 */ "4d89c8", 0x1e},
        {/* movzx eax,bl */ "0fb6c3", 0x1e},
        {/* movzx rax,bl */ "480fb6c3", 0x1e},
        {/* movzx eax,sil */ "400fb6c6", 1 << IVB},
        {/* movzx eax,r9b */ "410fb6c1", 0x1e},
        {/* movzx eax,r13b */ "410fb6c5", 1 << IVB},
        {/* movzx eax,bh */ "0fb6c7", 0},
        {/* mov ax,bx */ "6689d8", 0},
        {/* mov al,bl */ "88d8", 0},
        {/* mov rax,rax */ "4889c0", 0},
        {/* mov eax,eax */ "89c0", 0},
        {/* movsx rax,bl */ "480fbec3", 0},
        {/* movsxd rax,ebx */ "4863c3", 0},
        {/* movzx eax,bx */ "0fb7c3", 0},
        {/* movaps xmm0,xmm1 */ "0f28c1", 0x1e},
        {/* movups xmm0,xmm1 */ "0f10c1", 0x1e},
        {/* movapd xmm0,xmm1 */ "660f28c1", 0x1e},
        {/* movdqa xmm0,xmm1 */ "660f6fc1", 0x1e},
        {/* movdqu xmm0,xmm1 */ "f30f6fc1", 0x1e},
        {/* vmovaps xmm0,xmm1 */ "c5f828c1", 0x1e},
        {/* vmovaps ymm0,ymm1 */ "c5fc28c1", 0x1e},
        {/* vmovdqa ymm0,ymm1 */ "c5fd6fc1", 0x1e},
        {/* movss xmm0,xmm1 */ "f30f10c1", 0},
        {/* movsd xmm0,xmm1 */ "f20f10c1", 0},
        {/* movaps xmm1,xmm1 */ "0f28c9", 0},
    };
    char code[64];
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof f / sizeof f[0]; i++)
        for (enum rules_core c = SNB; c <= SKL; c++) {
            snprintf(code, sizeof code, "%s %s", f[i].code, /* 15*nop1 */ "15*90");
            if (eliminated(rules__run(c, code), 0, 0) == (f[i].cores >> c & 1))
                continue;
            print_error("%s on %s\n", f[i].code, rules_names[c]);
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

/* Moves to registers that nothing overwrites: as many are eliminated in the first cycle as there are slots.
 * In the next cycle the eliminations of this one count (RN-11, L = 2), after that their occupied slots. */
static void test_RN_09_RN_11_slots(void **state)
{
    (void)state;
    for (unsigned slots = 1; slots <= 4; slots++) {
        char set[32];
        snprintf(set, sizeof set, "elim_slots_gpr=%u", slots);
        const char *const sets[] = {set};
        struct loop_fixture fx;
        loop_fixture__open_set(&fx, "skl", sets, 1);
        fx.keep_uops = true;
        rules__run_at(&fx, /* mov r8,rax; mov r9,rbx; mov r10,rcx; mov r11,rdx; mov r12,rax; mov r13,rbx; mov
                              r14,rcx; mov rbp,rdx; dec rdi; jnz l */
                      "4989c04989d94989ca4989d34989c44989dd4989ce4889d548ffcf75e3", 0);
        assert_int_equal(rules__uop(&fx, 0, 3, 0)->issued, 1);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(eliminated(&fx, 0, i), i < slots);
        loop_fixture__close(&fx);
    }
}

/* One slot, a move each iteration of five issue groups. Where both names are overwritten in the group after,
 * the set is empty and gone. With one name left it goes on IVB at the end of the group after that, and L = 3
 * groups later the slot counts as free (RN-11); on HSW and later it stays for ever. */
static void test_RN_10_slots_are_released(void **state)
{
    (void)state;
    const char *both = /* mov r8,rax; nop9; 2*nop2; mov r8,1; mov rax,1; 2*nop1; 12*nop4; dec rdi; jnz l */
        "4989c0666666666666666690 2*6690 49c7c00100000048c7c001000000 2*90 12*66666690 48ffcf75ab";
    const char *one = /* mov r8,rax; nop9; 2*nop2; mov r8,1; nop7; 2*nop1; 12*nop4; dec rdi; jnz l */
        "4989c0666666666666666690 2*6690 49c7c00100000066666666666690 2*90 12*66666690 48ffcf75ab";
    const char *const set[] = {"elim_slots_gpr=1", "lsd=no"};
    for (enum rules_core c = IVB; c <= SKL; c++)
        for (unsigned k = 0; k < 2; k++) {
            struct loop_fixture fx;
            loop_fixture__open_set(&fx, rules_names[c], set, 2);
            fx.keep_uops = true;
            rules__run_at(&fx, k ? one : both, 0);
            assert_true(eliminated(&fx, 0, 0));
            for (unsigned i = 1; i < 10; i++) /* IVB releases a set with one name left as well */
                assert_int_equal(eliminated(&fx, i, 0), k == 0 || c == IVB);
            loop_fixture__close(&fx);
        }
}

/* The longest history, eight groups: with one slot and a move every five groups each second move is
 * eliminated, as the elimination ten groups ago is forgotten and that five groups ago is not. */
static void test_RN_11_longest_history(void **state)
{
    const char *const set[] = {"elim_slots_gpr=1", "elim_history=8", "lsd=no"};
    (void)state;
    for (enum rules_core c = IVB; c <= SKL; c++) {
        struct loop_fixture fx;
        loop_fixture__open_set(&fx, rules_names[c], set, 3);
        fx.keep_uops = true;
        rules__run_at(
            &fx, /* mov r8,rax; nop9; 2*nop2; mov r8,1; mov rax,1; 2*nop1; 12*nop4; dec rdi; jnz l */
            "4989c0666666666666666690 2*6690 49c7c00100000048c7c001000000 2*90 12*66666690 48ffcf75ab", 0);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(eliminated(&fx, i, 0), i % 2 == 0);
        loop_fixture__close(&fx);
    }
}

/* Vector sets go with one name left on all cores. */
static void test_RN_10_vector_slots(void **state)
{
    const char *const set[] = {"elim_slots_vec=1", "lsd=no"};
    (void)state;
    for (enum rules_core c = IVB; c <= SKL; c++) {
        struct loop_fixture fx;
        loop_fixture__open_set(&fx, rules_names[c], set, 2);
        fx.keep_uops = true;
        rules__run_at(&fx, /* movaps xmm0,xmm1; nop9; 2*nop2; pxor xmm0,xmm2; pxor xmm0,xmm0; 2*nop1; 12*nop4;
                              dec rdi; jnz l */
                      "0f28c1666666666666666690 2*6690 660fefc2660fefc0 2*90 12*66666690 48ffcf75b1", 0);
        for (unsigned i = 0; i < 10; i++)
            assert_true(eliminated(&fx, i, 0));
        loop_fixture__close(&fx);
    }
}

/* What is not eliminated is one uop of one cycle on the ports of the same-register form. */
static void test_RN_12_moves_that_execute(void **state)
{
    static const struct rules_figure f[] = {
        {/* mov rax,rbx; mov rbx,rax; dec r15; jnz l */ "4889d84889c349ffcf75f5",
         0,
         {200, 100, 100, 100, 100}},
        /* PS moves of a register to itself: port 5 before SKL, a chain on SKL */
        {/* 3*movaps xmm0,xmm0; dec r15; jnz l */ "3*0f28c0 49ffcf75f2", 0, {400, 400, 300, 300, 300}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const char *set = "elim_slots_gpr=1";
        struct loop_fixture fx;
        loop_fixture__open_set(&fx, rules_names[c], &set, 1);
        fx.keep_uops = true;
        rules__run_at(&fx, /* mov rax,rbx; mov rbx,rax; dec r15; jnz l */ "4889d84889c349ffcf75f5", 0);
        const struct uop_record *move = rules__uop(&fx, 0, 1, 0);
        assert_int_equal(move->kind, UOP_COMPUTE);
        assert_int_equal(move->done, move->dispatched + 2);
        loop_fixture__close(&fx);
    }
}

/* RN-13 and EX-9: a 32-bit move hides that a pointer was loaded. */
static void test_RN_13_moves_of_32_bits_end_fast_chasing(void **state)
{
    static const struct rules_figure f[] = {
        {/* mov rax,[rbx]; mov rbx,rax; dec r15; jnz l */ "488b034889c349ffcf75f5",
         0,
         {600, 400, 400, 400, 400}},
        {/* mov rax,[rbx]; mov ebx,eax; dec r15; jnz l */ "488b0389c349ffcf75f6",
         0,
         {600, 500, 500, 500, 500}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_RN_08_candidates),
        cmocka_unit_test(test_RN_09_RN_11_slots),
        cmocka_unit_test(test_RN_10_slots_are_released),
        cmocka_unit_test(test_RN_10_vector_slots),
        cmocka_unit_test(test_RN_11_longest_history),
        cmocka_unit_test(test_RN_12_moves_that_execute),
        cmocka_unit_test(test_RN_13_moves_of_32_bits_end_fast_chasing),
    };
    return RULES_MAIN(tests);
}
