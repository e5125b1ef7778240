/* SPDX-License-Identifier: Apache-2.0 */
/* Replacement: true LRU beside a simulator of its own, the other policies by what they promise; sets and ways
 * of any number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/status.h"
#include "mem/tags.h"

enum { LINE = 64, KIB = 1024, REFERENCE_LINES = 65536 };

/* The reference: each set is a list, most recently used first. */
struct reference {
    uint64_t line[REFERENCE_LINES];
    uint32_t n[REFERENCE_LINES];
    uint32_t sets, ways;
    uint64_t misses;
};

static struct reference *reference__new(uint32_t size_bytes, uint32_t ways)
{
    struct reference *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->ways = ways;
    r->sets = size_bytes / LINE / ways;
    return r;
}

static bool reference__access(struct reference *r, uint64_t line)
{
    uint32_t set = (uint32_t)(line % r->sets), k = 0;
    uint64_t *list = &r->line[(size_t)set * r->ways];

    while (k < r->n[set] && list[k] != line)
        k++;
    bool hit = k < r->n[set];
    if (!hit && k == r->ways)
        k--;
    memmove(list + 1, list, k * sizeof *list);
    list[0] = line;
    r->n[set] += !hit && r->n[set] < r->ways;
    r->misses += !hit;
    return hit;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static struct core core_with(const char *const *set, size_t n)
{
    struct core core;
    struct status st = {0};

    if (core__load(&core, "skl", set, n, &st))
        fail_msg("%s", st.text);
    return core;
}

/* An address that sometimes repeats, sometimes runs on, sometimes jumps. */
static uint64_t wander(uint64_t *at, uint32_t *seed, uint64_t bytes)
{
    unsigned what = next_random(seed) % 8;

    if (what < 4)
        *at += 8 * (next_random(seed) % 16);
    else if (what < 6)
        *at = next_random(seed) % bytes;
    else if (what == 6)
        *at = next_random(seed) % (bytes / 16);
    *at %= bytes;
    return *at & ~(uint64_t)7;
}

/* Loads, stores and fetches of both L1s, and what misses them in the last level: counted as by a simulator
 * that knows two levels and LRU only. */
static void lru_counts_as_the_reference(void **state)
{
    static const struct {
        const char *l1d_size, *l1d_ways, *l3_size, *l3_ways;
        uint32_t d_bytes, d_ways, ll_bytes, ll_ways;
        uint64_t data, code;
    } the[] = {
        {"l1d_size=32KiB", "l1d_ways=8", "l3_size=8MiB", "l3_ways=16", 32 * KIB, 8, 8192 * KIB, 16, 96 * KIB,
         48 * KIB},
        {"l1d_size=48KiB", "l1d_ways=12", "l3_size=3MiB", "l3_ways=12", 48 * KIB, 12, 3072 * KIB, 12,
         128 * KIB, 80 * KIB},
        {"l1d_size=1KiB", "l1d_ways=1", "l3_size=2MiB", "l3_ways=16", KIB, 1, 2048 * KIB, 16, 64 * KIB,
         256 * KIB},
        {"l1d_size=2KiB", "l1d_ways=32", "l3_size=2MiB", "l3_ways=16", 2 * KIB, 32, 2048 * KIB, 16, 64 * KIB,
         40 * KIB},
    };

    (void)state;
    for (size_t k = 0; k < sizeof the / sizeof *the; k++) {
        const char *set[] = {the[k].l1d_size,      the[k].l1d_ways,       the[k].l3_size,
                             the[k].l3_ways,       "l1i_replacement=lru", "l1d_replacement=lru",
                             "l2_replacement=lru", "l3_replacement=lru",  "l2_size=1KiB",
                             "l2_ways=16"};
        struct core core = core_with(set, sizeof set / sizeof *set);
        const struct memory_options plain = {.no_prefetch = true, .no_tlb = true};
        struct memory *mem = memory__new(&core, &plain, NULL);
        struct reference *d = reference__new(the[k].d_bytes, the[k].d_ways);
        struct reference *i = reference__new(32 * KIB, 8);
        struct reference *ll = reference__new(the[k].ll_bytes, the[k].ll_ways);
        struct memory_counts counts;
        struct mem_result res;
        uint64_t now = 0, at = 0, pc = 0;
        uint32_t seed = 7 + (uint32_t)k;

        for (unsigned n = 0; n < 300000; n++, now += 1000) {
            unsigned what = next_random(&seed) % 4;
            uint64_t addr = (what < 3 ? 0x10000000 : 0x20000000) +
                            (what < 3 ? wander(&at, &seed, the[k].data) : wander(&pc, &seed, the[k].code));
            bool hit = reference__access(what < 3 ? d : i, addr / LINE);
            if (!hit)
                reference__access(ll, addr / LINE);
            if (what < 2)
                memory__load(mem, 0x400000, addr, 8, now, 4, &res);
            else if (what < 3)
                memory__store(mem, 0x400000, addr, 8, false, now, &res);
            else
                memory__fetch(mem, addr, now, &res);
            assert_int_equal(res.level == MEM_L1, hit);
        }
        memory__counts(mem, &counts);
        assert_int_equal(counts.l1d_load_miss + counts.l1d_store_miss, d->misses);
        assert_int_equal(counts.l1i_miss, i->misses);
        assert_int_equal(counts.l3_miss, ll->misses); /* all fits: each line once */
        memory__free(mem);
        free(d);
        free(i);
        free(ll);
    }
}

/* Any number of sets and ways, every policy: a full set holds exactly its ways, the newest is never the
 * victim. */
static void any_geometry_keeps_its_promise(void **state)
{
    static const uint32_t sets[] = {1, 2, 3, 12, 64, 6144};
    static const enum replacement policy[] = {REPLACEMENT_PLRU, REPLACEMENT_QLRU, REPLACEMENT_LRU};

    (void)state;
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (uint32_t ways = 1; ways <= TAG_WAYS_MAX; ways++)
            for (size_t p = 0; p < 3; p++) {
                struct tags t;
                struct status st = {0};
                uint64_t evicted;
                unsigned present = 0, distinct = 0;
                uint64_t seen = 0;
                assert_int_equal(
                    tags__init(&t, (uint64_t)sets[s] * ways, ways, false, policy[p], "test", &st), 0);
                for (uint64_t n = 0; n < 4 * ways; n++) { /* all in one set */
                    uint64_t key = (n * sets[s] + sets[s] - 1) << 6;
                    int64_t pos = tags__insert(&t, key, 0, 0, &evicted);
                    assert_int_equal(tags__set(&t, key), sets[s] - 1);
                    assert_in_range(pos, (sets[s] - 1) * ways, sets[s] * ways - 1);
                    assert_int_equal(evicted != 0, n >= ways);
                    if (n >= ways && ways > 1)
                        assert_true(tags__find(&t, ((n - 1) * sets[s] + sets[s] - 1) << 6) >= 0);
                    if (n < ways)
                        seen |= 1ull << (pos % ways);
                }
                for (uint64_t n = 0; n < 4 * ways; n++)
                    present += tags__find(&t, (n * sets[s] + sets[s] - 1) << 6) >= 0;
                for (; seen; seen &= seen - 1)
                    distinct++;
                assert_int_equal(present, ways);
                assert_int_equal(distinct, ways);
                tags__fini(&t);
            }
}

/* A tree of any size: what is touched after every insertion stays for ever, and every other way gets its
 * turn. */
static void trees_of_any_size(void **state)
{
    (void)state;
    for (uint32_t ways = 2; ways <= TAG_WAYS_MAX; ways++) {
        struct tags t;
        struct status st = {0};
        uint64_t evicted, turns = 0;
        assert_int_equal(tags__init(&t, ways, ways, false, REPLACEMENT_PLRU, "test", &st), 0);
        int64_t hot = tags__insert(&t, 0, 0, 0, &evicted);
        for (uint64_t n = 1; n < 70 * (uint64_t)ways; n++) {
            turns |= 1ull << tags__insert(&t, n << 6, 0, 0, &evicted);
            assert_int_equal(tags__find(&t, 0), hot);
            tags__touch(&t, 0, hot);
        }
        uint64_t all = (ways == 64 ? 0 : 1ull << ways) - 1;
        assert_true((turns | 1ull << hot) == all);
        tags__fini(&t);
    }
}

/* QLRU: new lines have age 1, a hit makes 0 (or 1 from 2 and 3); lines that were hit outlive those that were
 * not. */
static void qlru_keeps_what_was_hit(void **state)
{
    struct tags t;
    struct status st = {0};
    uint64_t evicted;

    (void)state;
    assert_int_equal(tags__init(&t, 12, 12, false, REPLACEMENT_QLRU, "test", &st), 0);
    for (uint64_t n = 0; n < 12; n++)
        tags__insert(&t, n << 6, 0, 0, &evicted);
    for (uint64_t n = 0; n < 4; n++)
        tags__touch(&t, n << 6, tags__find(&t, n << 6));
    for (uint64_t n = 12; n < 20; n++) { /* the eight without a hit go first */
        tags__insert(&t, n << 6, 0, 0, &evicted);
        assert_int_equal((evicted & ~(uint64_t)TAG_FLAGS) >> 6, n - 8);
    }
    tags__fini(&t);
}

static void impossible_ways_are_refused(void **state)
{
    struct tags t;
    struct status st = {0};

    (void)state;
    assert_int_equal(tags__init(&t, 130, 65, false, REPLACEMENT_LRU, "l9", &st), -1);
    assert_non_null(strstr(st.text, "l9"));
    assert_int_equal(tags__init(&t, 10, 3, false, REPLACEMENT_LRU, "l9", &st), -1);
    assert_int_equal(tags__init(&t, 0, 1, false, REPLACEMENT_LRU, "l9", &st), -1);
}

/* An L3 of three slices: 6 MiB, 16 ways, 6144 sets. What fits stays, whatever pages it lies in. */
static void three_slices(void **state)
{
    const char *set[] = {"l3_size=6MiB", "l3_ways=16"};
    struct core core = core_with(set, 2);
    const struct memory_options plain = {.no_prefetch = true, .no_tlb = true};
    struct memory *mem = memory__new(&core, &plain, NULL);
    struct memory_counts counts;
    struct mem_result res;
    uint64_t now = 0;

    (void)state;
    for (unsigned round = 0; round < 3; round++)
        for (uint64_t page = 0; page < 1200; page++) /* 4.7 MiB */
            for (uint64_t line = 0; line < 64; line++, now += 500)
                memory__load(mem, 1, 0x10000000 + page * 4096 + line * LINE, 8, now, 4, &res);
    memory__counts(mem, &counts);
    assert_int_equal(counts.l3_miss, 1200 * 64);
    memory__free(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lru_counts_as_the_reference), cmocka_unit_test(any_geometry_keeps_its_promise),
        cmocka_unit_test(trees_of_any_size),           cmocka_unit_test(qlru_keeps_what_was_hit),
        cmocka_unit_test(impossible_ways_are_refused), cmocka_unit_test(three_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
