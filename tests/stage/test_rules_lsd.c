/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of the loop stream detector: LSD-1 to LSD-6. (LSD-7: test_rules_branches.c) */
#include "test_rules_fixture.h"

/* A loop of n uops; its cycles per iteration in hundredths. */
static unsigned source_of_nops(enum rules_core core, unsigned n, int *cycles)
{
    char code[64];
    /* a long jump back, so that any number of nops will do */
    uint32_t disp = (uint32_t) - (int)(4 * (n - 1) + 3 + 6);
    snprintf(code, sizeof code, "%u*%s %s0f85%02x%02x%02x%02x", n - 1, /* nop4 */ "66666690",
             /* dec r15 */ "49ffcf", disp & 0xff, disp >> 8 & 0xff, disp >> 16 & 0xff, disp >> 24);
    *cycles = rules__cycles(core, code);
    return rules__uop(&rules_fixture[core], 3, 0, 0)->from;
}

static void test_LSD_01_body_fits_the_idq(void **state)
{
    static const unsigned size[] = {28, 56, 56, 56};
    int cycles;
    (void)state;
    for (enum rules_core c = SNB; c <= BDW; c++) {
        assert_int_equal(source_of_nops(c, size[c], &cycles), FETCH_LSD);
        assert_int_equal(source_of_nops(c, size[c] + 1, &cycles), FETCH_DSB);
    }
    assert_int_equal(source_of_nops(SKL, 9, &cycles), FETCH_DSB);
}

static void test_LSD_01_what_keeps_a_loop_out(void **state)
{
    static const char *const code[] = {
        /* cld; nop4; dec r15; jnz l */ "fc6666669049ffcf75f6",        /* microcode */
        /* push rax; pop rbx; dec r15; jnz l */ "505b49ffcf75f9",      /* implicit RSP */
        /* mov ah,1; nop4; dec r15; jnz l */ "b4016666669049ffcf75f5", /* high byte written */
    };
    (void)state;
    for (enum rules_core c = SNB; c <= BDW; c++) {
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(rules__source(c, code[i], 0, 1), FETCH_DSB);
        assert_int_equal(
            rules__source(c, /* mov al,1; nop4; dec r15; jnz l */ "b0016666669049ffcf75f5", 0, 1), FETCH_LSD);
        assert_int_equal(
            rules__source(c, /* add rsp,8; nop4; dec r15; jnz l */ "4883c4086666669049ffcf75f3", 0, 1),
            FETCH_LSD);
        /* a window that does not fit the DSB */
        assert_int_equal(rules__source(c, /* 20*nop1; dec r15; jnz l */ "20*90 49ffcf75e7", 0, 1),
                         FETCH_MITE);
    }
}

/* Passes of u copies never share an issue cycle: ceil(n u / 4) / u cycles. SNB and IVB do not replicate. */
static void test_LSD_02_LSD_04_replication(void **state)
{
    static const unsigned unroll[] = {0, 8, 8, 8, 8, 6, 5, 4, 4, 3, 3, 3, 3};
    (void)state;
    for (unsigned n = 5; n <= 31; n++) {
        unsigned u = n < 13 ? unroll[n] : n <= 28 ? 2 : 1;
        for (enum rules_core c = SNB; c <= BDW; c++) {
            unsigned k = c <= IVB ? 1 : u, want = ((n * k + 3) / 4 * 100 + k / 2) / k;
            if (c == SNB && n > 28)
                continue;
            int cycles;
            assert_int_equal(source_of_nops(c, n, &cycles), FETCH_LSD);
            assert_in_range(cycles, want - 1, want + 1); /* the figure is from a finite run */
        }
    }
}

/* The last uop of a pass and the first of the next are issued in different cycles, in consecutive ones. */
static void test_LSD_02_LSD_03_no_bubble_between_passes(void **state)
{
    (void)state;
    const struct loop_fixture *fx = rules__run(SNB, /* 4*nop4; dec r15; jnz l */ "4*66666690 49ffcf75eb");
    for (unsigned i = 1; i < 20; i++)
        assert_int_equal(rules__uop(fx, i + 1, 0, 0)->issued, rules__uop(fx, i, 4, 0)->issued + 1);
    assert_int_equal(rules__uop(fx, 5, 4, 0)->issued, rules__uop(fx, 5, 0, 0)->issued + 1);
}

/* Five laminated uops, one of which is two fused ones on SNB and IVB: six, still two cycles. Eight and nine.
 */
static void test_LSD_05_unlamination(void **state)
{
    static const struct rules_figure f[] = {
        {/* mov [rsi+rdi],rax; 3*nop4; dec r15; jnz l */ "4889043e 3*66666690 49ffcf75eb",
         0,
         {200, 200, 0, 0, 0}},
        {/* mov [rsi+rdi],rax; 6*nop4; dec r15; jnz l */ "4889043e 6*66666690 49ffcf75df",
         0,
         {300, 300, 0, 0, 0}},
        {/* mov [rsi],rax; 6*nop4; dec r15; jnz l */ "488906 6*66666690 49ffcf75e0", 0, {200, 200, 0, 0, 0}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* SKL from the DSB: 5/4. HSW and BDW: 8/6, and the rounding of a finite run. */
static void test_LSD_06_five_uops(void **state)
{
    static const struct rules_figure f[] = {
        {/* 4*nop4; dec r15; jnz l */ "4*66666690 49ffcf75eb", 0, {200, 200, 134, 134, 125}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_LSD_01_body_fits_the_idq),
        cmocka_unit_test(test_LSD_01_what_keeps_a_loop_out),
        cmocka_unit_test(test_LSD_02_LSD_04_replication),
        cmocka_unit_test(test_LSD_02_LSD_03_no_bubble_between_passes),
        cmocka_unit_test(test_LSD_05_unlamination),
        cmocka_unit_test(test_LSD_06_five_uops),
    };
    return RULES_MAIN(tests);
}
