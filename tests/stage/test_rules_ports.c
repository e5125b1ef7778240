/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of port binding: PA-1 to PA-6, ID-6. The first groups of a loop meet empty counters.
 */
#include "test_rules_fixture.h"

/* Ports of the first n instructions, one uop each. */
static void check_ports(enum rules_core core, const char *code, const unsigned *want, unsigned n)
{
    const struct loop_fixture *fx = rules__run(core, code);
    for (unsigned i = 0; i < n; i++) {
        unsigned port = rules__uop(fx, 0, i, 0)->port;
        if (port != want[i]) {
            print_error("%s on %s: port %u for uop %u, not %u\n", code, rules_names[core], port, i, want[i]);
            fail();
        }
    }
}

/* No uop counts for two ports: what is bound to a busy port waits there although others are idle. */
static void test_PA_01_bound_once(void **state)
{
    (void)state;
    /* both chains of 3 cycles are on port 1: never on another */
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* imul rax,rbx; imul rcx,rbx; dec r15; jnz l */ "480fafc3480fafcb49ffcf75f3");
        for (unsigned i = 0; i < 20; i++)
            for (unsigned k = 0; k < 2; k++)
                assert_int_equal(rules__uop(fx, i, k, 0)->port, 1);
    }
}

/* 8 ports. Group 1: all empty, ties go to the highest: 6, second 5. Group 2: 5 and 6 hold two each: 1, 0.
 * Group 3: two each: 6, 5 again (dispatch begins in the cycle after). */
static void test_PA_05_slots_take_least_and_second(void **state)
{
    static const unsigned want[] = {6, 5, 6, 5, 1, 0, 1, 0, 6, 5, 6, 5};
    (void)state;
    for (enum rules_core c = HSW; c <= SKL; c++)
        check_ports(c, /* 12*or rax,rbx; dec r15; jnz l */ "12*4809d8 49ffcf75d7", want, 12);
}

/* Two uops on port 0, then shifts on {0,6}: 6 has none, 0 two: slots 0 and 2 take 6, 1 and 3 take 0. With
 * four on port 0 the second is three or more above: all take 6. */
static void test_PA_05_not_the_second_when_three_more(void **state)
{
    (void)state;
    for (enum rules_core c = HSW; c <= SKL; c++) {
        check_ports(c, /* 2*movd eax,xmm0; 2*nop4; 4*shl ebx,1; nop1; dec r15; jnz l */
                    "2*660f7ec0 2*66666690 4*d1e3 9049ffcf75e2",
                    (const unsigned[]){0, 0, UOP_RECORD_NO_PORT, UOP_RECORD_NO_PORT, 6, 0, 6, 0}, 8);
        check_ports(c,
                    /* 4*movd eax,xmm0; 4*shl ebx,1; nop1; dec r15; jnz l */ "4*660f7ec0 4*d1e3 9049ffcf75e2",
                    (const unsigned[]){0, 0, 0, 0, 6, 6, 6, 6}, 8);
        check_ports(c, /* 3*movd eax,xmm0; nop4; 4*shl ebx,1; nop1; dec r15; jnz l */
                    "3*660f7ec0 66666690 4*d1e3 9049ffcf75e2",
                    (const unsigned[]){0, 0, 0, UOP_RECORD_NO_PORT, 6, 6, 6, 6}, 8);
    }
}

/* The counters of a group are those before it: slots 0 and 2 take the same port. A nop takes a slot. */
static void test_PA_03_snapshot_of_the_cycle(void **state)
{
    (void)state;
    for (enum rules_core c = HSW; c <= SKL; c++) {
        check_ports(c, /* nop4; 3*or rax,rbx; dec r15; jnz l */ "66666690 3*4809d8 49ffcf75ee",
                    (const unsigned[]){UOP_RECORD_NO_PORT, 5, 6, 5}, 4);
        check_ports(
            c,
            /* or rax,rbx; nop4; or rcx,rbx; nop4; dec r15; jnz l */ "4809d8666666904809d96666669049ffcf75ed",
            (const unsigned[]){6, UOP_RECORD_NO_PORT, 6}, 3);
    }
}

/* Dispatched in d, the uop leaves the count after the bindings of d+1 (17.1): the snapshot of d+2 is the
 * first without it. Independent uops of {0,6} after four nops a cycle: a lone one on port 6, issued in i,
 * dispatches in i+5 and is still seen in i+6. */
static void test_PA_02_when_a_uop_leaves_the_count(void **state)
{
    (void)state;
    for (enum rules_core c = HSW; c <= SKL; c++)
        for (unsigned gap = 5; gap <= 7; gap++) {
            char code[256];
            snprintf(code, sizeof code, "%s 3*90 %u*90 %s 3*90 %s", /* shl ebx,1 */ "d1e3", 4 * (gap - 1),
                     /* shl ecx,1 */ "d1e1",
                     /* dec r15; 0f8500ffffff */ "49ffcf0f8500ffffff");
            const char *set = "lsd=no";
            struct loop_fixture fx;
            loop_fixture__open_set(&fx, rules_names[c], &set, 1);
            fx.keep_uops = true;
            rules__run_at(&fx, code, 0);
            const struct uop_record *one = rules__uop(&fx, 0, 0, 0), *two = rules__uop(&fx, 0, 4 * gap, 0);
            assert_int_equal(two->issued - one->issued, gap);
            assert_int_equal(one->port, 6);
            assert_int_equal(two->port, gap <= 6 ? 0 : 6);
            loop_fixture__close(&fx);
        }
}

/* Loads alternate between 2 and 3, the first takes 2, whatever the counters say. */
static void test_PA_04_loads_alternate(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* mov rax,[rsi]; mov rbx,[rdi]; mov rcx,[rsi]; nop1; dec r15; jnz l */ "488b06488b1f488b0e904"
                                                                                       "9ffcf75f1");
        unsigned n = 0;
        for (size_t i = 0; i < fx->n_uops; i++)
            if (fx->uop[i].kind == UOP_LOAD)
                assert_int_equal(fx->uop[i].port, 2 + n++ % 2);
    }
}

/* 6 ports. {0,1,5}: 0,5,1,0, then (0 has two, 1 and 5 one) 1,5,0,1, then (three, three, two) 5,1,0,5. */
static void test_PA_06_fixed_orders(void **state)
{
    static const unsigned want[] = {0, 5, 1, 0, 1, 5, 0, 1, 5, 1, 0, 5};
    (void)state;
    for (enum rules_core c = SNB; c <= IVB; c++)
        check_ports(c, /* 12*or rax,rbx; dec r15; jnz l */ "12*4809d8 49ffcf75d7", want, 12);
}

/* Three uops on port 5 (shuffles), then {0,1,5}: a difference of three, all take the least used, 0. Two only:
 * the fixed order. Two ports: even slots the least used, odd ones the most used. */
static void test_PA_06_least_used_when_three_more(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= IVB; c++) {
        check_ports(c, /* 3*unpcklpd xmm0,xmm1; nop4; 4*or rax,rbx; dec r15; jnz l */
                    "3*660f14c1 66666690 4*4809d8 49ffcf75df",
                    (const unsigned[]){5, 5, 5, UOP_RECORD_NO_PORT, 0, 0, 0, 0}, 8);
        check_ports(c, /* 2*unpcklpd xmm0,xmm1; 2*nop4; 4*or rax,rbx; dec r15; jnz l */
                    "2*660f14c1 2*66666690 4*4809d8 49ffcf75df",
                    (const unsigned[]){5, 5, UOP_RECORD_NO_PORT, UOP_RECORD_NO_PORT, 0, 5, 1, 0}, 8);
        check_ports(c, /* 4*shl eax,1; 4*shl eax,1; dec r15; jnz l */ "4*d1e0 4*d1e0 49ffcf75eb",
                    (const unsigned[]){0, 5, 0, 5, 0, 5, 0, 5}, 8);
    }
}

/* An index keeps the store address off port 7. */
static void test_ID_06_indexed_store_addresses(void **state)
{
    (void)state;
    for (enum rules_core c = HSW; c <= SKL; c++) {
        bool port7 = false;
        const struct loop_fixture *fx =
            rules__run(c, /* mov [rsi],rax; nop1; dec r15; jnz l */ "4889069049ffcf75f7");
        for (size_t i = 0; i < fx->n_uops; i++)
            port7 |= fx->uop[i].kind == UOP_STA && fx->uop[i].port == 7;
        assert_true(port7);
        fx = rules__run(c, /* mov [rsi+rdi],rax; nop1; dec r15; jnz l */ "4889043e9049ffcf75f6");
        for (size_t i = 0; i < fx->n_uops; i++)
            assert_false(fx->uop[i].kind == UOP_STA && fx->uop[i].port == 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_PA_01_bound_once),
        cmocka_unit_test(test_PA_05_slots_take_least_and_second),
        cmocka_unit_test(test_PA_05_not_the_second_when_three_more),
        cmocka_unit_test(test_PA_03_snapshot_of_the_cycle),
        cmocka_unit_test(test_PA_02_when_a_uop_leaves_the_count),
        cmocka_unit_test(test_PA_04_loads_alternate),
        cmocka_unit_test(test_PA_06_fixed_orders),
        cmocka_unit_test(test_PA_06_least_used_when_three_more),
        cmocka_unit_test(test_ID_06_indexed_store_addresses),
    };
    return RULES_MAIN(tests);
}
