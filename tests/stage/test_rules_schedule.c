/* SPDX-License-Identifier: Apache-2.0 */
/* One test for each rule of the scheduler and of execution: EX-1 to EX-17, UOP-4, UOP-8, UOP-12 to UOP-14. */
#include "test_rules_fixture.h"

/* Entries from issue to dispatch: a chain of multiplications fills the RS to its size but for a group. */
static void test_EX_01_rs_entries(void **state)
{
    static const unsigned size[RULES_CORES] = {54, 54, 60, 60, 97};
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* 12*imul rax,rbx; dec r15; jnz l */ "12*480fafc3 49ffcf75cb");
        unsigned most = 0;
        for (int64_t t = 100; t < 300; t++) {
            unsigned used = 0;
            for (size_t i = 0; i < fx->n_uops; i++)
                used += fx->uop[i].issued <= t && fx->uop[i].dispatched > t;
            most = used > most ? used : most;
        }
        assert_in_range(most, size[c] - 3, size[c]);
    }
}

/* Whatever else waits for a port and is ready, the oldest goes. */
static void test_EX_02_oldest_first(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* imul rax,rbx; imul rcx,rax; lea rdx,[rsi+rdi+8]; lea rdx,[rsi+rdi+9]; dec r15; jnz l */
            "480fafc3480fafc8488d543e08488d543e0949ffcf75e9");
        for (size_t i = 0; i < fx->n_uops; i++)
            for (size_t k = i + 1; k < fx->n_uops && k < i + 60; k++) {
                const struct uop_record *a = &fx->uop[i], *b = &fx->uop[k];
                if (a->port == 1 && b->port == 1 && a->ready <= b->dispatched)
                    assert_true(a->dispatched < b->dispatched);
            }
    }
}

/* Operands by i+4: ready at i+5; at i+5 or i+6: one cycle late; from i+7 on: at once. */
static void test_EX_03_ready_time(void **state)
{
    unsigned seen[3] = {0};
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* imul rax,rbx; add rcx,rax; add rdx,1; imul rsi,rdx; add rdi,rsi; mov r8,[r9]; add
                             r8,rdi; dec r15; jnz l */
                       "480fafc34801c14883c201480faff24801f74d8b014901f849ffcf75e3");
        for (size_t k = 0; k < fx->n_uops; k++) {
            const struct uop_record *r = &fx->uop[k];
            if (r->port == UOP_RECORD_NO_PORT)
                continue;
            int64_t i = r->issued, at = r->operands;
            int64_t want = at <= i + 4 ? i + 5 : at <= i + 6 ? at + 1 : at;
            assert_int_equal(r->ready, want);
            seen[at <= i + 4 ? 0 : at <= i + 6 ? 1 : 2]++;
        }
    }
    assert_true(seen[0] > 100 && seen[1] > 10 && seen[2] > 100);
}

static void test_EX_04_EX_08_latencies(void **state)
{
    static const struct rules_figure f[] = {
        {/* 3*add rax,rbx; dec r15; jnz l */ "3*4801d8 49ffcf75f2", 0, {300, 300, 300, 300, 300}},
        {/* imul rax,rbx; dec r15; jnz l */ "480fafc349ffcf75f7", 0, {300, 300, 300, 300, 300}},
        {/* addps xmm0,xmm1; dec r15; jnz l */ "0f58c149ffcf75f8", 0, {300, 300, 300, 300, 400}},
        {/* mulps xmm0,xmm1; dec r15; jnz l */ "0f59c149ffcf75f8", 0, {500, 500, 500, 300, 400}},
        {/* vfmadd231pd ymm0,ymm1,ymm2; dec r15; jnz l */ "c4e2f5b8c249ffcf75f6", 0, {0, 0, 500, 500, 400}},
        {/* mov rax,[rbx]; lea rbx,[rax+1]; dec r15; jnz l */ "488b03488d580149ffcf75f4",
         0,
         {600, 600, 600, 600, 600}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* Completion: d+2 at least, d+3 for a multiplication, d+5 for loads and store addresses, d+2 for store data;
 * and retirement in a later cycle (RT-2). */
static void test_EX_05_completion(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* or rax,rbx; imul rcx,rdx; mov rsi,[rdi]; mov [r8],r9; dec r15; jnz l */
                       "4809d8480fafca488b374d890849ffcf75ee");
        const struct uop_record *alu = rules__uop(fx, 0, 0, 0), *mul = rules__uop(fx, 0, 1, 0);
        const struct uop_record *load = rules__uop(fx, 0, 2, 0);
        const struct uop_record *sta = rules__uop(fx, 0, 3, 0), *std = rules__uop(fx, 0, 3, 1);
        assert_int_equal(alu->done - alu->dispatched, 2);
        assert_int_equal(mul->done - mul->dispatched, 3);
        assert_int_equal(load->done - load->dispatched, 5);
        assert_int_equal(sta->kind, UOP_STA);
        assert_int_equal(std->kind, UOP_STD);
        assert_int_equal(sta->done - sta->dispatched, 5);
        assert_int_equal(std->done - std->dispatched, 2);
        for (size_t i = 0; i < fx->n_uops; i++)
            assert_true(fx->uop[i].retired > fx->uop[i].done);
    }
}

/* Four cycles, not five: displacement in 0..2047 and a base that a pointer load wrote. */
static void test_EX_09_fast_pointer_chasing(void **state)
{
    static const struct rules_figure f[] = {
        {/* mov rax,[rax]; dec r15; jnz l */ "488b0049ffcf75f8", 0, {400, 400, 400, 400, 400}},
        {/* mov rax,[rax+2047]; dec r15; jnz l */ "488b80ff07000049ffcf75f4", 0, {400, 400, 400, 400, 400}},
        {/* mov rax,[rax+2048]; dec r15; jnz l */ "488b800008000049ffcf75f4", 0, {500, 500, 500, 500, 500}},
        {/* mov rax,[rax-1]; dec r15; jnz l */ "488b40ff49ffcf75f7", 0, {500, 500, 500, 500, 500}},
        {/* mov rax,[rax+rbx]; dec r15; jnz l */ "488b041849ffcf75f7", 0, {500, 500, 500, 500, 500}},
        {/* xor ebx,ebx; mov rax,[rax+rbx]; dec r15; jnz l */ "31db488b041849ffcf75f5",
         0,
         {400, 400, 400, 400, 400}},
        {/* movsxd rax,dword ptr [rax]; dec r15; jnz l */ "48630049ffcf75f8", 0, {400, 400, 400, 400, 400}},
        {/* movzx eax,word ptr [rax]; dec r15; jnz l */ "0fb70049ffcf75f8", 0, {500, 500, 500, 500, 500}},
        {/* mov eax,[rax]; dec r15; jnz l */ "8b0049ffcf75f9", 0, {400, 400, 400, 400, 400}},
        {/* mov rax,[rax]; add rax,1; dec r15; jnz l */ "488b004883c00149ffcf75f4",
         0,
         {600, 600, 600, 600, 600}},
        /* through an eliminated move (SNB, which has none: 5 + 1): 64 bits keep it, 32 do not */
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

/* Two loads a cycle. */
static void test_EX_11_two_loads_a_cycle(void **state)
{
    static const struct rules_figure f[] = {
        {/* 4*mov rax,[rsi]; dec r15; jnz l */ "4*488b06 49ffcf75ef", 0, {200, 200, 200, 200, 200}},
        {/* 6*mov rax,[rsi]; dec r15; jnz l */ "6*488b06 49ffcf75e9", 0, {300, 300, 300, 300, 300}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* Store to load: data one cycle after its dispatch, the value four later: five; with an addition six. */
static void test_EX_13_store_forwarding(void **state)
{
    static const struct rules_figure f[] = {
        {/* mov [rsi],rax; mov rax,[rsi]; dec r15; jnz l */ "488906488b0649ffcf75f5",
         0,
         {500, 500, 500, 500, 500}},
        {/* add qword ptr [rsi],1; dec r15; jnz l */ "4883060149ffcf75f7", 0, {600, 600, 600, 600, 600}},
        {/* mov [rsi],rax; mov rax,[rsi]; add rax,1; dec r15; jnz l */ "488906488b064883c00149ffcf75f1",
         0,
         {600, 600, 600, 600, 600}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    assert_int_equal(rules__cycles_with(SKL, f[0].code, "store_forward_cyc=7"), 800);
}

/* Which accesses meet: by the symbolic values of base and index. */
static void test_EX_13a_symbolic_addresses(void **state)
{
    static const struct rules_figure f[] = {
        /* another register, another displacement: never */
        {/* mov [rsi],rax; mov rax,[rdi]; dec r15; jnz l */ "488906488b0749ffcf75f5",
         0,
         {100, 100, 100, 100, 100}},
        {/* mov [rsi],rax; mov rax,[rsi+8]; dec r15; jnz l */ "488906488b460849ffcf75f4",
         0,
         {100, 100, 100, 100, 100}},
        /* a copy of the register */
        {/* mov rdi,rsi; mov [rsi],rax; mov rax,[rdi]; dec r15; jnz l */ "4889f7488906488b0749ffcf75f2",
         0,
         {500, 500, 500, 500, 500}},
        /* moves on: a fresh address each iteration */
        {/* mov [rsi],rax; mov rax,[rsi]; add rsi,8; dec r15; jnz l */ "488906488b064883c60849ffcf75f1",
         0,
         {500, 500, 500, 500, 500}},
        {/* add rsi,8; mov rax,[rsi]; mov [rsi],rax; dec r15; jnz l */ "4883c608488b0648890649ffcf75f1",
         0,
         {100, 100, 100, 100, 100}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* Loads do not wait for older stores' addresses, here the end of a chain of divisions. */
static void test_EX_13b_loads_pass_unknown_stores(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx =
            rules__run(c, /* imul rsi,rsi; imul rsi,rsi; mov [rsi],rax; mov rcx,[rdi]; dec r15; jnz l */
                       "480faff6480faff6488906488b0f49ffcf75ed");
        assert_true(rules__uop(fx, 0, 3, 0)->dispatched < rules__uop(fx, 0, 2, 0)->dispatched);
    }
}

/* Independent divisions: the divider's occupancy, or the measured period (UOP-4). */
static void test_EX_14_EX_15_UOP_04_divider(void **state)
{
    static const struct rules_figure f[] = {
        {/* vdivsd xmm0,xmm1,xmm2; dec r15; jnz l */ "c5f35ec249ffcf75f7", 0, {1000, 800, 800, 400, 400}},
        {/* vdivss xmm0,xmm1,xmm2; dec r15; jnz l */ "c5f25ec249ffcf75f7", 0, {1000, 700, 700, 200, 300}},
        {/* vdivpd ymm0,ymm1,ymm2; dec r15; jnz l */ "c5f55ec249ffcf75f7", 0, {2000, 1600, 1600, 1600, 800}},
        {/* vsqrtsd xmm0,xmm1,xmm2; dec r15; jnz l */ "c5f351c249ffcf75f7", 0, {1000, 800, 800, 400, 400}},
        {/* lock add [rsi],rax; dec r15; jnz l */ "f048010649ffcf75f7", 0, {0, 0, 0, 0, 1800}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* The divider is one: a division and a square root share it. */
static void test_EX_14_one_divider(void **state)
{
    static const struct rules_figure f[] = {
        {/* vdivsd xmm0,xmm1,xmm2; vsqrtsd xmm3,xmm1,xmm2; dec r15; jnz l */ "c5f35ec2c5f351da49ffcf75f3",
         0,
         {0, 1600, 1600, 800, 800}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* LFENCE and MFENCE: not ready before the older load is complete; younger loads not before the fence is. */
static void test_EX_16_fences(void **state)
{
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(
            c, /* mov rax,[rax]; mfence; mov rcx,[rdi]; dec r15; jnz l */ "488b000faef0488b0f49ffcf75f2");
        for (unsigned i = 0; i < 5; i++) {
            const struct uop_record *before = rules__uop(fx, i, 0, 0), *after = rules__uop(fx, i, 2, 0);
            const struct uop_record *fence = rules__uop(fx, i, 1, 0);
            assert_true(fence->dispatched >= before->done);
            assert_true(after->dispatched >= fence->done);
        }
        /* SFENCE leaves loads alone */
        fx = rules__run(
            c, /* mov rax,[rax]; sfence; mov rcx,[rdi]; dec r15; jnz l */ "488b000faef8488b0f49ffcf75f2");
        assert_true(rules__uop(fx, 0, 2, 0)->dispatched <= rules__uop(fx, 0, 0, 0)->done + 2);
    }
}

/* 256 bits on SNB and IVB: one load a cycle, a store's data every other cycle. */
static void test_EX_17_256_bit_accesses(void **state)
{
    static const struct rules_figure f[] = {
        {/* 4*vmovaps ymm0,[rsi]; dec r15; jnz l */ "4*c5fc2806 49ffcf75eb", 0, {400, 400, 200, 200, 200}},
        {/* 4*vmovaps xmm0,[rsi]; dec r15; jnz l */ "4*c5f82806 49ffcf75eb", 0, {200, 200, 200, 200, 200}},
        {/* vmovaps [rsi],ymm0; dec r15; jnz l */ "c5fc290649ffcf75f7", 0, {200, 200, 100, 100, 100}},
        {/* vmovaps [rsi],xmm0; dec r15; jnz l */ "c5f8290649ffcf75f7", 0, {100, 100, 100, 100, 100}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* False dependencies on the destination are in the table's latencies. */
static void test_UOP_08_false_dependencies(void **state)
{
    static const struct rules_figure f[] = {
        {/* popcnt rax,rbx; dec r15; jnz l */ "f3480fb8c349ffcf75f6", 0, {300, 300, 300, 300, 300}},
        {/* lzcnt rax,rbx; dec r15; jnz l */ "f3480fbdc349ffcf75f6", 0, {0, 0, 300, 300, 100}},
        {/* tzcnt rax,rbx; dec r15; jnz l */ "f3480fbcc349ffcf75f6", 0, {0, 0, 300, 300, 100}},
        {/* lea rax,[rbx+rcx+8]; dec r15; jnz l */ "488d440b0849ffcf75f6", 0, {100, 100, 100, 100, 100}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
}

/* Age within an instruction: loads, operation, address, data. */
static void test_UOP_12_order_of_uops(void **state)
{
    static const uint8_t kind[] = {UOP_LOAD, UOP_COMPUTE, UOP_STA, UOP_STD};
    (void)state;
    for (enum rules_core c = SNB; c <= SKL; c++) {
        const struct loop_fixture *fx = rules__run(c, /* add [rsi],rax; dec r15; jnz l */ "48010649ffcf75f8");
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(rules__uop(fx, 0, 0, k)->kind, kind[k]);
        assert_int_equal(rules__uop(fx, 0, 0, 0)->fused_head, 1);
        assert_int_equal(rules__uop(fx, 0, 0, 1)->fused_head, 0); /* UOP-15: load + operation */
        assert_int_equal(rules__uop(fx, 0, 0, 2)->fused_head, 1); /* address + data */
        assert_int_equal(rules__uop(fx, 0, 0, 3)->fused_head, 0);
    }
}

/* Shifts by CL: the register result takes one cycle, the old flags two to the new ones. */
static void test_UOP_14_shifts_by_cl(void **state)
{
    static const struct rules_figure f[] = {
        {/* shl rax,cl; dec r15; jnz l */ "48d3e049ffcf75f8", 0, {200, 200, 200, 200, 200}},
    };
    (void)state;
    RULES_CHECK_FIGURES(f);
    for (enum rules_core c = SNB; c <= SKL; c++)
        assert_int_equal(rules__n_uops(rules__run(c, f[0].code), 0, 0), c == IVB ? 2 : 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_EX_01_rs_entries),
        cmocka_unit_test(test_EX_02_oldest_first),
        cmocka_unit_test(test_EX_03_ready_time),
        cmocka_unit_test(test_EX_04_EX_08_latencies),
        cmocka_unit_test(test_EX_05_completion),
        cmocka_unit_test(test_EX_09_fast_pointer_chasing),
        cmocka_unit_test(test_EX_11_two_loads_a_cycle),
        cmocka_unit_test(test_EX_13_store_forwarding),
        cmocka_unit_test(test_EX_13a_symbolic_addresses),
        cmocka_unit_test(test_EX_13b_loads_pass_unknown_stores),
        cmocka_unit_test(test_EX_14_EX_15_UOP_04_divider),
        cmocka_unit_test(test_EX_14_one_divider),
        cmocka_unit_test(test_EX_16_fences),
        cmocka_unit_test(test_EX_17_256_bit_accesses),
        cmocka_unit_test(test_UOP_08_false_dependencies),
        cmocka_unit_test(test_UOP_12_order_of_uops),
        cmocka_unit_test(test_UOP_14_shifts_by_cl),
    };
    return RULES_MAIN(tests);
}
