/* SPDX-License-Identifier: Apache-2.0 */
/* Analytical bounds: each kind pinned on blocks whose bound follows from the rules, and no bound above the
 * simulation. AC-n are the conformance anchors of the pipeline facts (15.3). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/bounds.h"
#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/loop.h"
#include "fathom/pipe.h"
#include "fathom/status.h"
#include "fathom/steady.h"

enum { CORES = 5, MOST = 128 };

static const char *const core_names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};

struct bench {
    struct core core[CORES];
    struct isa *isa[CORES];
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    struct status st = {0};
    for (int c = 0; c < CORES; c++) {
        if (core__load(&b->core[c], core_names[c], NULL, 0, &st) ||
            !(b->isa[c] = isa__open(&b->core[c], &st)))
            fail_msg("%s", st.text);
    }
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    for (int c = 0; c < CORES; c++)
        isa__close(b->isa[c]);
    free(b);
    return 0;
}

static int core_index(const char *name)
{
    int c = 0;
    while (strcmp(core_names[c], name) != 0)
        c++;
    return c;
}

static size_t parse_hex(const char *hex, uint8_t *bytes)
{
    size_t n = 0;
    for (unsigned v; sscanf(hex + 2 * n, "%2x", &v) == 1; n++)
        bytes[n] = (uint8_t)v;
    return n;
}

/* A decoded block; `block.insn` points into itself. */
struct decoded_block {
    struct insn *insn[MOST];
    struct block block;
};

static void decode(struct isa *isa, const char *hex, unsigned align, enum loop_registers registers,
                   struct decoded_block *d)
{
    uint8_t bytes[MOST * 15];
    size_t size = parse_hex(hex, bytes), n = 0;
    for (size_t at = 0; at < size; n++) {
        d->insn[n] = isa__decode(isa, bytes + at, size - at, NULL);
        assert_non_null(d->insn[n]);
        at += d->insn[n]->len;
    }
    d->block = (struct block){.insn = d->insn,
                              .n = n,
                              .address = 0x10000 + align,
                              .unrolled = d->insn[n - 1]->branch == BRANCH_NONE,
                              .registers = registers};
}

static struct bounds compute(struct bench *b, int c, const char *hex, unsigned align, bool detail)
{
    struct decoded_block d;
    struct bounds out;
    decode(b->isa[c], hex, align, LOOP_REGISTERS_DIFFERENT, &d);
    assert_int_equal(bounds__compute(&d.block, &b->core[c], b->isa[c], detail, &out), 0);
    return out;
}

static double simulate(struct bench *b, int c, const char *hex, unsigned align)
{
    uint8_t bytes[MOST * 15];
    struct status st = {0};
    struct steady s;
    struct loop_options lo = {.isa = b->isa[c], .address = align};
    struct loop *loop = loop__new(bytes, parse_hex(hex, bytes), &lo, &st);
    assert_non_null(loop);
    steady__init(&s, (uint32_t)loop__count(loop));
    struct pipe_config pc = {.core = &b->core[c],
                             .isa = b->isa[c],
                             .source = loop__source(loop),
                             .listener = {&s.listener},
                             .n_listeners = 1,
                             .unrolled = loop__unrolled(loop),
                             .endless = true};
    struct pipe *p = pipe__new(&pc, &st);
    assert_non_null(p);
    for (int i = 0; i < 200 && !s.done; i++)
        pipe__run(p, 50, NULL, NULL);
    double cycles = steady__cycles(&s);
    pipe__free(p);
    steady__free(&s);
    loop__free(loop);
    return cycles;
}

/* --- each kind -------------------------------------------------------------------------------- */

/* Values by core; N: the bound does not apply. */
#define N NAN
struct pin {
    const char *what, *hex;
    unsigned align;
    enum bound_kind kind;
    double value[CORES]; /* snb ivb hsw bdw skl */
};

static void check_pins(struct bench *b, const struct pin *pin, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < CORES; c++) {
            struct bounds x = compute(b, c, pin[i].hex, pin[i].align, false);
            double got = x.bound[pin[i].kind].cycles, want = pin[i].value[c];
            if (isnan(got) != isnan(want) || fabs(got - want) > 0.001)
                fail_msg("%s: %s of %s is %.4f, not %.4f", pin[i].what, bound__name(pin[i].kind),
                         core_names[c], got, want);
            bounds__free(&x);
        }
}

static void test_predecode(void **state)
{
    static const struct pin pins[] = {
        {"AC-27, nine 1-byte instructions: 16-byte blocks of 16 take four steps",
         "909090909090909090",
         0,
         BOUND_PREDECODE,
         {2.25, 2.25, 2.25, 2.25, 2.25}},
        {"AC-03, FE-13: stalls less what the steps before hide",
         "6605341249ffcf",
         0,
         BOUND_PREDECODE,
         {3.4375, 3.4375, 3.4375, 3.4375, 3.4375}},
        {"AC-35, 30 bytes: 15 steps for 8 copies",
         "b801000000bb02000000b903000000ba04000000be05000000bf06000000",
         0,
         BOUND_PREDECODE,
         {1.875, 1.875, 1.875, 1.875, 1.875}},
        {"AC-04, FE-15: no length-changing prefix counts in a cached loop",
         "6605341249ffcf75f7",
         0,
         BOUND_PREDECODE,
         {N, N, N, N, N}},
        {"AC-33, FE-17 and DSB-8: the branch ends at a boundary",
         "48b8887766554433221148bb887766554433221148b9887766554433221149ffcf75dd",
         0,
         BOUND_PREDECODE,
         {N, N, N, N, 3}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}

static void test_decode(void **state)
{
    static const struct pin pins[] = {
        {"AC-27, DE-1", "909090909090909090", 0, BOUND_DECODE, {2.25, 2.25, 2.25, 2.25, 2.25}},
        {"AC-03, DE-8: the fourth decoder takes no fusible instruction before SKL",
         "6605341249ffcf",
         0,
         BOUND_DECODE,
         {2 / 3.0, 2 / 3.0, 2 / 3.0, 2 / 3.0, 0.5}},
        {"DE-2: two bswap need the complex decoder", "0fc80fcb", 0, BOUND_DECODE, {2, 2, 2, 2, 2}},
        {"AC-04: not in a cached loop", "6605341249ffcf75f7", 0, BOUND_DECODE, {N, N, N, N, N}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}

static void test_dsb_and_lsd(void **state)
{
    static const char six_adds[] = "4883c0014883c3014883c1014883c2014883c6014883c70149ffcf75e3";
    static const char nops[] = "0f1f000f1f000f1f000f1f0049ffcf75ef";
    static const struct pin pins[] = {
        {"AC-37, BD-5: seven uops in one window take two cycles", six_adds, 0, BOUND_DSB, {N, N, N, N, 2}},
        {"AC-37, LSD-2: SNB and IVB do not unroll", six_adds, 0, BOUND_LSD, {2, 2, 1.75, 1.75, N}},
        {"LSD-4: five uops, unrolled six times: 30 in 8 cycles",
         nops,
         0,
         BOUND_LSD,
         {2, 2, 8 / 6.0, 8 / 6.0, N}},
        {"AC-39, LSD-5: unlaminated uops in whole groups",
         "480104ce4883c1014839d175f3",
         0,
         BOUND_LSD,
         {2, 2, 1.375, 1.375, N}},
        {"AC-23, LSD-1: push and pop keep the loop out of the LSD",
         "505b49ffcf75f9",
         0,
         BOUND_DSB,
         {0.75, 0.75, 0.75, 0.75, 1}},
        {"AC-22, MS-2: division from the MS", "31d2b8e8030000f7f149ffcf75f2", 0, BOUND_DSB, {8, 8, 8, 8, 7}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}

static void test_issue(void **state)
{
    static const struct pin pins[] = {
        {"AC-10, RN-2: eliminated moves take a slot",
         "4889d84889c14889ca4801f249ffc875ef",
         0,
         BOUND_ISSUE,
         {1.25, 1.25, 1.25, 1.25, 1.25}},
        {"AC-14, ID-4: indexed loads unlaminate",
         "c5f0580418c5e058541810c5d05864182049ffcf75ea",
         0,
         BOUND_ISSUE,
         {2, 2, 2, 2, 2}},
        {"AC-15: others do not", "c5f05800c5e0585010c5d058602049ffcf75ed", 0, BOUND_ISSUE, {1, 1, 1, 1, 1}},
        {"AC-25, RN-15: the merge uop issues alone", "b40189c349ffcf75f7", 0, BOUND_ISSUE, {2, 2, 2, 2, 2}},
        {"AC-24, RN-17: the sync uop takes a slot",
         "50488b1c244883c40849ffcf75f2",
         0,
         BOUND_ISSUE,
         {1.25, 1.25, 1.25, 1.25, 1.25}},
        {"MF-1, MF-4: fused", "49ffcf75fb", 0, BOUND_ISSUE, {0.25, 0.25, 0.25, 0.25, 0.25}},
        {"MF-4: the jump starts a line", "49ffcf75fb", 61, BOUND_ISSUE, {0.5, 0.5, 0.5, 0.5, 0.5}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}

static void test_ports(void **state)
{
    static const struct pin pins[] = {
        {"AC-16, ports 2 and 3", "488b06488b5e08488b4e10488b561849ffcf75ec", 0, BOUND_PORTS, {2, 2, 2, 2, 2}},
        {"AC-19, port 4", "48890648895e4049ffcf75f4", 0, BOUND_PORTS, {2, 2, 2, 2, 2}},
        {"AC-15, FP additions on one port before SKL",
         "c5f05800c5e0585010c5d058602049ffcf75ed",
         0,
         BOUND_PORTS,
         {3, 3, 3, 3, 1.5}},
        {"AC-37, the union of three or four ALU ports",
         "4883c0014883c3014883c1014883c2014883c6014883c70149ffcf75e3",
         0,
         BOUND_PORTS,
         {7 / 3.0, 7 / 3.0, 1.75, 1.75, 1.75}},
        {"AC-17, EX-17: one 256-bit load a cycle",
         "c5fc2806c5fc284e20c5fc285640c5fc285e6049ffcf75e8",
         0,
         BOUND_PORTS,
         {4, 4, 2, 2, 2}},
        {"AC-18, EX-17: 256-bit store data twice", "c5fc290649ffcf75f7", 0, BOUND_PORTS, {2, 2, 1, 1, 1}},
        {"AC-12, RN-8: eliminated moves need no port, on SNB all go to port 5",
         "0f28c10f28ca0f28d30f28d849ffcf75ef",
         0,
         BOUND_PORTS,
         {5, 1, 1, 1, 1}},
        {"AC-27, no port at all", "909090909090909090", 0, BOUND_PORTS, {0, 0, 0, 0, 0}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}

static void test_divider(void **state)
{
    static const struct pin pins[] = {
        {"AC-20, EX-14, EX-15", "f20f5ec1f20f5ed349ffcf75f3", 0, BOUND_DIVIDER, {20, 16, 16, 8, 8}},
        {"AC-21", "c5f55ec249ffcf75f7", 0, BOUND_DIVIDER, {20, 16, 16, 16, 8}},
        {"AC-32, locked: not pipelined", "f0480fc10649ffcf75f6", 0, BOUND_DIVIDER, {23, 22, 19, 21, 18}},
        {"AC-01, none", "4801d84801d149ffcf75f5", 0, BOUND_DIVIDER, {N, N, N, N, N}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}

static void test_dependency(void **state)
{
    static const struct pin pins[] = {
        {"AC-02", "4801d84801c84801d049ffcf75f2", 0, BOUND_DEPENDENCY, {3, 3, 3, 3, 3}},
        {"AC-05, EX-9", "488b0049ffcf75f8", 0, BOUND_DEPENDENCY, {4, 4, 4, 4, 4}},
        {"AC-06, EX-9: indexed", "488b041849ffcf75f7", 0, BOUND_DEPENDENCY, {5, 5, 5, 5, 5}},
        {"AC-07, EX-9: displacement", "488b800008000049ffcf75f4", 0, BOUND_DEPENDENCY, {5, 5, 5, 5, 5}},
        {"AC-08, EX-13: read, modify, write", "4883060149ffcf75f7", 0, BOUND_DEPENDENCY, {6, 6, 6, 6, 6}},
        {"AC-09, EX-13", "488906488b0649ffcf75f5", 0, BOUND_DEPENDENCY, {5, 5, 5, 5, 5}},
        {"AC-11, moves without latency", "4889d84889c349ffcf75f5", 0, BOUND_DEPENDENCY, {2, 1, 1, 1, 1}},
        {"AC-12 on SNB: four moves in a cycle over three iterations",
         "0f28c10f28ca0f28d30f28d849ffcf75ef",
         0,
         BOUND_DEPENDENCY,
         {4 / 3.0, 1, 1, 1, 1}},
        {"AC-13, RN-4: zero idioms cut chains",
         "31c031c9660fefc0660fefc949ffcf75ef",
         0,
         BOUND_DEPENDENCY,
         {1, 1, 1, 1, 1}},
        {"AC-24, RN-17: sync uop and addition on RSP",
         "50488b1c244883c40849ffcf75f2",
         0,
         BOUND_DEPENDENCY,
         {2, 2, 2, 2, 2}},
        {"AC-25, AC-26: high bytes", "0fb6dc01d849ffcf75f6", 0, BOUND_DEPENDENCY, {3, 3, 3, 3, 3}},
        {"AC-38", "48f7e349ffcf75f8", 0, BOUND_DEPENDENCY, {3, 3, 3, 3, 3}},
        {"a store read two iterations later, after one of the register: mov [rsi+16],rax; mov rax,[rsi]; add "
         "rsi,8",
         "48894610488b064883c60849ffcf75f0",
         0,
         BOUND_DEPENDENCY,
         {5 / 3.0, 5 / 3.0, 5 / 3.0, 5 / 3.0, 5 / 3.0}},
        {"different registers never meet: mov [rsi],rax; mov rax,[rdi]",
         "488906488b0749ffcf75f5",
         0,
         BOUND_DEPENDENCY,
         {1, 1, 1, 1, 1}},
        {"an address that the loop makes anew: mov rsi,[rdi]; add qword [rsi],1",
         "488b374883060149ffcf75f4",
         0,
         BOUND_DEPENDENCY,
         {1, 1, 1, 1, 1}},
        {"AC-27, none", "909090909090909090", 0, BOUND_DEPENDENCY, {0, 0, 0, 0, 0}},
        {"EX-22: mov [rsi],eax; mov rax,[rsi] waits for the commit",
         "8906488b0649ffcf75f6",
         0,
         BOUND_DEPENDENCY,
         {17, 17, 17, 17, 17}},
    };
    check_pins(*state, pins, sizeof pins / sizeof *pins);
}
#undef N

/* Under BHive's registers two pointers that started equal meet (EX-13a). */
static void test_equal_registers(void **state)
{
    struct bench *b = *state;
    struct decoded_block d;
    struct bounds x;
    decode(b->isa[4], "488906488b0749ffcf75f5", 0, LOOP_REGISTERS_SAME, &d);
    assert_int_equal(bounds__compute(&d.block, &b->core[4], b->isa[4], false, &x), 0);
    assert_float_equal(x.bound[BOUND_DEPENDENCY].cycles, 5, 1e-9);
    bounds__free(&x);
}

/* --- detail ----------------------------------------------------------------------------------- */

static void expect_insns(const struct bound *b, size_t n, const uint16_t *want)
{
    assert_int_equal(b->n_insns, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(b->insns[i], want[i]);
}

static void test_instructions(void **state)
{
    int skl = core_index("skl");
    struct bounds x = compute(*state, skl, "4801d84801c84801d049ffcf75f2", 0, true);
    expect_insns(&x.bound[BOUND_DEPENDENCY], 3, (const uint16_t[]){0, 1, 2});
    assert_int_equal(x.largest, BOUND_DEPENDENCY);
    bounds__free(&x);
    assert_null(x.storage);

    x = compute(*state, skl, "488b06488b5e08488b4e10488b561849ffcf75ec", 0, true);
    expect_insns(&x.bound[BOUND_PORTS], 4, (const uint16_t[]){0, 1, 2, 3});
    assert_int_equal(x.port_set, 1 << 2 | 1 << 3);
    assert_int_equal(x.largest, BOUND_PORTS);
    bounds__free(&x);

    x = compute(*state, skl, "6605341249ffcf", 0, true);
    expect_insns(&x.bound[BOUND_PREDECODE], 1, (const uint16_t[]){0});
    bounds__free(&x);

    x = compute(*state, skl, "c5f55ec249ffcf75f7", 0, true);
    expect_insns(&x.bound[BOUND_DIVIDER], 1, (const uint16_t[]){0});
    assert_int_equal(x.largest, BOUND_DIVIDER);
    bounds__free(&x);
}

static void test_port_loads(void **state)
{
    static const double want[] = {2 / 3.0, 2 / 3.0, 0, 0, 0, 2 / 3.0, 1, 0};
    struct bounds x = compute(*state, core_index("skl"), "4801d84801d149ffcf75f5", 0, true); /* AC-01 */
    for (int p = 0; p < 8; p++)
        assert_float_equal(x.port_cycles[p], want[p], 1e-6);
    assert_int_equal(x.port_set, 1 << 6);
    bounds__free(&x);
}

/* Ties go to the back end; detail changes no value. */
static void test_largest(void **state)
{
    struct bench *b = *state;
    static const char *const blocks[] = {
        "49ffcf75fb", "4883060149ffcf75f7", "909090909090909090",
        "48b8887766554433221148bb887766554433221148b9887766554433221149ffcf75dd"};
    static const enum bound_kind want[] = {BOUND_DEPENDENCY, BOUND_DEPENDENCY, BOUND_ISSUE, BOUND_PREDECODE};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct bounds x = compute(b, 4, blocks[i], 0, false), y = compute(b, 4, blocks[i], 0, true);
        assert_int_equal(x.largest, want[i]);
        assert_int_equal(y.largest, want[i]);
        for (int k = 0; k < BOUND_KINDS; k++)
            assert_true(isnan(x.bound[k].cycles) ? isnan(y.bound[k].cycles)
                                                 : x.bound[k].cycles == y.bound[k].cycles);
        bounds__free(&x);
        bounds__free(&y);
    }
}

static void test_refuses(void **state)
{
    struct bench *b = *state;
    struct bounds x;
    struct block none = {.n = 0}, huge = {.n = BOUNDS_MAX_INSNS + 1};
    assert_int_equal(bounds__compute(&none, &b->core[4], b->isa[4], true, &x), -1);
    assert_int_equal(bounds__compute(&huge, &b->core[4], b->isa[4], true, &x), -1);
}

/* --- against the simulation ------------------------------------------------------------------- */

/* No bound is above the simulation, wherever the block starts (1 %: the window of TP-1). */
static void test_below_simulation(void **state)
{
    static const char *const blocks[] = {
        "4801d84801d149ffcf75f5",
        "6605341249ffcf",
        "4883060149ffcf75f7",
        "4889d84889c14889ca4801f249ffc875ef",
        "0f28c10f28ca0f28d30f28d849ffcf75ef",
        "31c031c9660fefc0660fefc949ffcf75ef",
        "c5f0580418c5e058541810c5d05864182049ffcf75ea",
        "c5fc2806c5fc284e20c5fc285640c5fc285e6049ffcf75e8",
        "f20f5ec1f20f5ed349ffcf75f3",
        "31d2b8e8030000f7f149ffcf75f2",
        "50488b1c244883c40849ffcf75f2",
        "b40189c349ffcf75f7",
        "4811d84811d14d8d7fffe300ebf2",
        "0fa249ffcf75f9",
        "f0480fc10649ffcf75f6",
        "48b8887766554433221148bb887766554433221148b9887766554433221149ffcf75dd",
        "b801000000bb02000000b903000000ba04000000be05000000bf06000000",
        "4883c0014883c3014883c1014883c2014883c6014883c70149ffcf75e3",
        "480104ce4883c1014839d175f3",
        "660f1004c6660f59c1660f5804c7660f1104c74883c0024839c87ce4",
        "8906488b0649ffcf75f6",
        "90909090909090909090909090909090909090906681c334126681c13412669049ffcf75db",
    };
    static const unsigned align[] = {0, 5, 13, 27, 40, 59};
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (size_t a = 0; a < sizeof align / sizeof *align; a++)
            for (int c = 0; c < CORES; c++) {
                struct bounds x = compute(b, c, blocks[i], align[a], false);
                double s = simulate(b, c, blocks[i], align[a]);
                if (!(x.cycles <= 1.01 * s + 0.006))
                    fail_msg("%s at %u on %s: bound %.3f (%s), simulation %.3f", blocks[i], align[a],
                             core_names[c], x.cycles, bound__name(x.largest), s);
                bounds__free(&x);
            }
}

/* --- graph and advice ------------------------------------------------------------------------- */

static void test_dot(void **state)
{
    struct bench *b = *state;
    struct decoded_block d;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    decode(b->isa[4], "488906488b0649ffcf75f5", 0, LOOP_REGISTERS_DIFFERENT, &d);
    bounds__dot(&d.block, &b->core[4], b->isa[4], out);
    fclose(out);
    assert_non_null(strstr(text, "critical cycle: 5 cycles in 1 iteration"));
    assert_non_null(strstr(text, "i0 -> i1 [label=\"memory 0\", color=red"));
    assert_non_null(strstr(text, "i1 -> i0 [label=\"rax 5\", style=dashed"));
    assert_non_null(strstr(text, "i2 -> i2 [label=\"r15 1\", style=dashed"));
    free(text);
}

static void expect_advice(struct bench *b, const char *core, const char *hex, double simulated,
                          const char *says, const char *tries)
{
    int c = core_index(core);
    struct decoded_block d;
    struct bounds x;
    char sentence[512], next[512], text[MOST][64];
    const char *lines[MOST];

    decode(b->isa[c], hex, 0, LOOP_REGISTERS_DIFFERENT, &d);
    for (size_t i = 0; i < d.block.n; i++)
        lines[i] = isa__format(b->isa[c], d.insn[i], 0, text[i], sizeof text[i]);
    assert_int_equal(bounds__compute(&d.block, &b->core[c], b->isa[c], true, &x), 0);
    assert_int_equal(
        loop_advice__sentence(&d.block, &x, simulated, lines, sentence, sizeof sentence, next, sizeof next),
        0);
    if (!strstr(sentence, says) || !strstr(next, tries))
        fail_msg("\"%s\" lacks \"%s\", or \"%s\" lacks \"%s\"", sentence, says, next, tries);
    assert_int_equal(loop_advice__sentence(&d.block, &x, simulated, lines, sentence, 10, next, sizeof next),
                     -1);
    assert_int_equal(strlen(sentence), 9);
    bounds__free(&x);
}

static void test_advice(void **state)
{
    struct bench *b = *state;
    expect_advice(b, "skl", "f20f58c149ffcf75f7", 4, "`addsd xmm0, xmm1`", "keep 4 independent accumulators");
    expect_advice(b, "skl", "4883060149ffcf75f7", 6, "through memory", "in a register");
    expect_advice(b, "skl", "488b0049ffcf75f8", 4, "`mov rax, [rax]`", "address from the one before");
    expect_advice(b, "skl", "488b06488b5e08488b4e10488b561849ffcf75ec", 2, "ports 2, 3", "load less");
    expect_advice(b, "skl", "6605341249ffcf", 3.42, "length-changing prefixes", "16-bit immediates");
    expect_advice(b, "skl", "c5f55ec249ffcf75f7", 8, "divider", "reciprocal");
    expect_advice(b, "skl", "31d2b8e8030000f7f149ffcf75f2", 7, "microcode sequencer", "microcoded");
    expect_advice(b, "snb", "4883c0014883c3014883c1014883c20149ffcf75ed", 2, "loop stream detector",
                  "unroll");
    expect_advice(b, "hsw", "0f28c10f28ca0f28d30f28d849ffcf75ef", 2.25, "lost to hazards", "timeline");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predecode),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_dsb_and_lsd),
        cmocka_unit_test(test_issue),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_divider),
        cmocka_unit_test(test_dependency),
        cmocka_unit_test(test_equal_registers),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_port_loads),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_below_simulation),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_advice),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
