/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of the memory system that take one cost away and leave the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/status.h"

enum { PAGE = 4096, COLD = 0x10000000 };

static struct memory *open_memory(const struct memory_options *opt)
{
    struct core core;
    struct status st;
    struct memory *mem;

    assert_int_equal(core__load(&core, "skl", NULL, 0, &st), 0);
    mem = memory__new(&core, opt, &st);
    assert_non_null(mem);
    return mem;
}

/* Cycles from dispatch to use of a load that nothing has touched before. */
static uint64_t cold_load(const struct memory_options *opt, unsigned size, uint64_t addr,
                          struct mem_result *res)
{
    struct memory *mem = open_memory(opt);

    memory__load(mem, 0x401000, addr, size, 1000, 4, res);
    memory__free(mem);
    return res->ready - 1000;
}

static uint64_t cold_fetch(const struct memory_options *opt, struct mem_result *res)
{
    struct memory *mem = open_memory(opt);

    memory__fetch(mem, COLD, 1000, res);
    memory__free(mem);
    return res->ready - 1000;
}

static void test_loads(void **state)
{
    const struct memory_options data = {.no_data_miss = true}, dtlb = {.no_dtlb = true},
                                both = {.no_data_miss = true, .no_dtlb = true};
    struct mem_result res;

    (void)state;
    uint64_t real = cold_load(NULL, 8, COLD, &res);
    assert_int_equal(res.level, MEM_DRAM);
    assert_true(res.tlb_until > 1000);

    assert_true(cold_load(&data, 8, COLD, &res) < real);
    assert_int_equal(res.level, MEM_L1);
    assert_true(res.tlb_until > 1000); /* the walk remains */
    assert_true(res.ready == res.tlb_until + 4);

    assert_true(cold_load(&dtlb, 8, COLD, &res) < real);
    assert_int_equal(res.level, MEM_DRAM);
    assert_int_equal(res.tlb_until, 0);

    assert_int_equal(cold_load(&both, 8, COLD, &res), 4);
    assert_int_equal(res.level, MEM_L1);
}

/* Both pages of a split are translated; the split itself costs what it costs (EX-12). */
static void test_page_split(void **state)
{
    const struct memory_options data = {.no_data_miss = true}, both = {.no_data_miss = true, .no_dtlb = true};
    struct mem_result res, whole;

    (void)state;
    uint64_t one = cold_load(&data, 8, COLD, &whole);
    assert_true(cold_load(&data, 8, COLD + PAGE - 4, &res) > one);
    assert_int_equal(res.split, 2);
    assert_true(cold_load(&both, 8, COLD + PAGE - 4, &res) > 4);
    assert_int_equal(res.split, 2);
}

static void test_stores(void **state)
{
    const struct memory_options data = {.no_data_miss = true}, both = {.no_data_miss = true, .no_dtlb = true};
    struct memory *mem = open_memory(&data);
    struct mem_result res;

    (void)state;
    assert_true(memory__translate_store(mem, COLD, 8, 1000) > 1000);
    memory__store(mem, 0x401000, COLD, 8, false, 2000, &res);
    assert_true(res.ready == 2000);
    assert_int_equal(res.level, MEM_L1);
    memory__free(mem);
    mem = open_memory(&both);
    assert_true(memory__translate_store(mem, COLD, 8, 1000) == 1000);
    memory__free(mem);
}

static void test_fetches(void **state)
{
    const struct memory_options icache = {.no_icache_miss = true}, data = {.no_data_miss = true},
                                dtlb = {.no_dtlb = true}, tlb = {.no_tlb = true},
                                both = {.no_icache_miss = true, .no_tlb = true}, perfect = {.perfect = true};
    struct mem_result res;

    (void)state;
    uint64_t real = cold_fetch(NULL, &res);
    assert_true(res.tlb_until > 1000);
    assert_true(cold_fetch(&data, &res) > 0 && res.level == MEM_DRAM); /* code is not data */
    assert_int_equal(cold_fetch(&dtlb, &res), real);
    assert_true(cold_fetch(&icache, &res) < real);
    assert_true(res.ready == res.tlb_until);
    assert_true(cold_fetch(&tlb, &res) < real);
    assert_int_equal(res.tlb_until, 0);
    assert_int_equal(cold_fetch(&both, &res), 0);
    assert_int_equal(cold_fetch(&perfect, &res), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_page_split),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_fetches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
