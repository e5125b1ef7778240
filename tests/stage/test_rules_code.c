/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs: code that leaves the L1I leaves the uop cache (FE-21), code that is written is fetched
 * again (ME-15), flushed lines come from memory again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "program_fixture.h"

enum { CORES = 5, LINE = 64, L1I_STRIDE = 4096 };
enum { SNB, IVB, HSW, BDW, SKL };
static const char *const names[CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static const uint64_t TOP = 0x401000, DATA = 0x10000000;

static void open_core(struct program_fixture *fx, int core)
{
    program_fixture__open(fx, names[core], NULL, 0);
    program_fixture__with_memory(fx, false);
}

/* lea rcx,[rbx+1]; jmp to */
static void lay_block(struct program_fixture *fx, uint64_t at, uint64_t to)
{
    program_fixture__jump(fx, program_fixture__code(fx, at, "488d4b01"), "e9", to);
}

static const struct uop_record *last_uop(const struct program_fixture *fx, uint64_t addr)
{
    uint32_t site = program_fixture__site(fx, addr);
    for (size_t i = fx->n_uops; i-- > 0;)
        if (fx->uop[i].site == site)
            return &fx->uop[i];
    fail();
    return NULL;
}

/* Where the block at TOP comes from after twelve others: in its set of the L1I, or in another. They alternate
 * between two sets of the uop cache, which have room for all. */
static uint8_t source_after_others(int core, bool same_set)
{
    enum { OTHERS = 12, PASSES = 4 };
    struct program_fixture fx;
    uint64_t block[OTHERS + 1] = {TOP};

    open_core(&fx, core);
    for (unsigned i = 1; i <= OTHERS; i++)
        block[i] = TOP + (uint64_t)i * (L1I_STRIDE + (same_set ? 0 : 2 * LINE)) + i % 2 * 32;
    for (unsigned i = 0; i <= OTHERS; i++)
        lay_block(&fx, block[i], block[(i + 1) % (OTHERS + 1)]);
    for (unsigned i = 0; i < PASSES * (OTHERS + 1) + 1; i++) {
        uint64_t at = block[i % (OTHERS + 1)];
        program_fixture__exec_to(&fx, at, at + 9);
    }
    program_fixture__run(&fx);
    uint8_t from = last_uop(&fx, TOP)->from;
    program_fixture__close(&fx);
    return from;
}

static void test_FE_21_the_uop_cache_holds_only_lines_of_the_l1i(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        assert_int_equal(source_after_others(c, true), FETCH_MITE);
        assert_int_equal(source_after_others(c, false), FETCH_DSB);
    }
}

struct rewriting {
    uint64_t cycles, squashed, blocked, clears_resteers;
    uint8_t from_before, from_after; /* of the instruction after the store: in the passes around the write */
};

/* top: mov [rsi],rax; lea; jmp top, 200 times; in pass 150 the store goes to `target`, in all others to
 * data. With `far` a block in another line runs first. */
static struct rewriting rewrite(int core, uint64_t target, uint64_t far, bool single_cycles, uint64_t *hash)
{
    enum { PASSES = 200, WRITES = 150 };
    struct program_fixture fx;
    struct rewriting r = {0};

    open_core(&fx, core);
    fx.single_cycles = single_cycles;
    fx.counts.hashing = hash != NULL;
    if (far) {
        lay_block(&fx, far, TOP);
        program_fixture__exec_to(&fx, far, far + 9);
    }
    uint64_t lea = program_fixture__code(&fx, TOP, "488906");
    lay_block(&fx, lea, TOP);
    for (unsigned pass = 0; pass < PASSES; pass++)
        program_fixture__exec_to(&fx, program_fixture__exec(&fx, TOP, pass == WRITES ? target : DATA),
                                 lea + 9);
    program_fixture__run(&fx);
    assert_int_equal(fx.counts.insns, fx.n_steps);
    for (size_t i = 0, pass = 0; i < fx.n_uops; i++) {
        if (fx.uop[i].site != program_fixture__site(&fx, lea))
            continue;
        if (pass == WRITES - 1)
            r.from_before = fx.uop[i].from;
        if (pass == WRITES + 1)
            r.from_after = fx.uop[i].from;
        pass++;
    }
    r.cycles = fx.counts.cycles;
    r.squashed = fx.truth.squashed[FLUSH_SELF_MODIFYING];
    r.blocked = fx.truth.blocked[FLUSH_SELF_MODIFYING];
    r.clears_resteers = fx.counts.by_stall[STALL_FE_RESTEER_CLEAR];
    for (int k = FLUSH_NONE; k < FLUSH_KINDS; k++)
        if (k != FLUSH_SELF_MODIFYING && k != FLUSH_CONDITIONAL)
            assert_int_equal(fx.truth.squashed[k] + fx.truth.blocked[k], 0);
    if (hash)
        *hash = fx.counts.hash;
    program_fixture__close(&fx);
    return r;
}

/* A store into the line that runs: recovery of smc_clear_cyc and more, and the loop is decoded anew. */
static void test_ME_15_a_store_to_code_that_runs(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        struct rewriting quiet = rewrite(c, DATA, 0, false, NULL);
        struct rewriting hit = rewrite(c, TOP + 32, 0, false, NULL);
        assert_int_equal(quiet.squashed + quiet.blocked + quiet.clears_resteers, 0);
        assert_true(hit.squashed > 0 && hit.clears_resteers > 0);
        assert_in_range(hit.blocked, 4 * 110, 4 * 180);
        assert_in_range(hit.cycles - quiet.cycles, 100, 250);
        assert_true(quiet.from_before != FETCH_MITE && quiet.from_after != FETCH_MITE);
        assert_true(hit.from_before != FETCH_MITE);
        assert_int_equal(hit.from_after, FETCH_MITE);
    }
}

/* Only the line counts: neither its neighbours nor code that is written before it is fetched. */
static void test_ME_15_other_lines_do_not_matter(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        assert_int_equal(rewrite(c, TOP + LINE, 0, false, NULL).blocked, 0);
        assert_int_equal(rewrite(c, TOP - 8, 0, false, NULL).blocked, 0);
        assert_int_equal(rewrite(c, TOP + 0x800, 0, false, NULL).blocked, 0);
    }
}

/* A store across lines reaches the second one; code that ran long ago is still in the L1I. */
static void test_ME_15_lines_in_the_l1i(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        assert_true(rewrite(c, TOP - 4, 0, false, NULL).blocked > 0);
        assert_true(rewrite(c, TOP + 0x800, TOP + 0x800, false, NULL).blocked > 0);
        assert_int_equal(rewrite(c, TOP + 0x800, TOP + 0x900, false, NULL).blocked, 0);
    }
}

static void test_ME_15_skipping_idle_cycles_changes_nothing(void **state)
{
    (void)state;
    for (int c = 0; c < CORES; c++) {
        uint64_t hash[2];
        for (int k = 0; k < 2; k++)
            rewrite(c, TOP, 0, k, &hash[k]);
        assert_int_equal(hash[0], hash[1]);
    }
}

/* A loop of a load and a flush of `flushed`; latency of the last load of DATA. */
static int64_t latency_with_flush(int core, const char *flush, uint64_t flushed)
{
    enum { PASSES = 20 };
    struct program_fixture fx;

    open_core(&fx, core);
    uint64_t at = program_fixture__code(&fx, TOP, /* mov rax,[rsi] */ "488b06");
    uint64_t fence = program_fixture__code(&fx, at, flush);
    uint64_t end =
        program_fixture__jump(&fx, program_fixture__code(&fx, fence, /* mfence */ "0faef0"), "e9", TOP);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        program_fixture__exec(&fx, TOP, DATA);
        program_fixture__exec(&fx, at, flushed);
        program_fixture__exec_to(&fx, fence, end);
    }
    program_fixture__run(&fx);
    const struct uop_record *load = last_uop(&fx, TOP);
    int64_t latency = load->done - load->dispatched;
    program_fixture__close(&fx);
    return latency;
}

static void test_flushed_lines_come_from_memory(void **state)
{
    static const char *const flush[] = {/* clflush [rdi] */ "0fae3f", /* clflushopt [rdi] */ "660fae3f"};
    (void)state;
    for (int c = 0; c < CORES; c++)
        for (int k = 0; k < (c == SKL ? 2 : 1); k++) { /* CLFLUSHOPT came with Skylake */
            assert_true(latency_with_flush(c, flush[k], DATA + 8) > 100);
            assert_int_equal(latency_with_flush(c, flush[k], DATA + LINE), 5);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_FE_21_the_uop_cache_holds_only_lines_of_the_l1i),
        cmocka_unit_test(test_ME_15_a_store_to_code_that_runs),
        cmocka_unit_test(test_ME_15_other_lines_do_not_matter),
        cmocka_unit_test(test_ME_15_lines_in_the_l1i),
        cmocka_unit_test(test_ME_15_skipping_idle_cycles_changes_nothing),
        cmocka_unit_test(test_flushed_lines_come_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
