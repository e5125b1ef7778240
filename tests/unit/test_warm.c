/* SPDX-License-Identifier: Apache-2.0 */
/* Functional warming leaves behind what timed accesses do when each begins after the one before has
 * finished: the same lines, states, replacement, translations, prefetchers and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/predict.h"
#include "fathom/status.h"
#include "mem/mem.h"
#include "mem/uncore.h"

enum { ACCESSES = 300000, LONG_ENOUGH = 5000 };

struct machine {
    struct memory *timed, *warm;
    uint64_t now;
};

static struct memory_requests requests_at(const struct memory *mem, uint64_t now)
{
    struct memory_requests requests;

    memory__requests(mem, now, &requests);
    return requests;
}

static struct machine machine__new(const char *name, const char *replacement)
{
    struct machine m = {0};
    struct status st = {0};
    struct core core;
    char set[4][32];

    for (unsigned k = 0; k < 4; k++)
        snprintf(set[k], sizeof set[k], "%s_replacement=%s", (const char *[]){"l1i", "l1d", "l2", "l3"}[k],
                 replacement ? replacement : "");
    assert_int_equal(
        core__load(&core, name, (const char *[]){set[0], set[1], set[2], set[3]}, replacement ? 4 : 0, &st),
        0);
    m.timed = memory__new(&core, NULL, &st);
    m.warm = memory__new(&core, NULL, &st);
    assert_non_null(m.timed);
    assert_non_null(m.warm);
    return m;
}

static void machine__free(struct machine *m)
{
    memory__free(m->timed);
    memory__free(m->warm);
}

static void same_tags(const struct tags *a, const struct tags *b, const char *what)
{
    const uint64_t state = ~(uint64_t)(TAG_FLAGS & ~(TAG_VALID | TAG_DIRTY));

    for (size_t i = 0; i < (size_t)a->sets * a->ways; i++)
        if ((a->word[i] ^ b->word[i]) & state)
            fail_msg("%s: entry %zu is %#llx, and %#llx after warming", what, i,
                     (unsigned long long)a->word[i], (unsigned long long)b->word[i]);
    for (size_t i = 0; i < a->sets; i++)
        if (a->policy[i] != b->policy[i])
            fail_msg("%s: set %zu replaces differently after warming", what, i);
    for (size_t i = 0; a->used && i < (size_t)a->sets * a->ways; i++)
        for (size_t k = i - i % a->ways; k < i; k++)
            if ((a->used[i] < a->used[k]) != (b->used[i] < b->used[k]))
                fail_msg("%s: entry %zu is older than another only after warming or only before", what, i);
}

static void machine__compare(const struct machine *m)
{
    const struct memory *a = m->timed, *b = m->warm;
    struct memory_counts x, y;

    same_tags(&a->l1d, &b->l1d, "l1d");
    same_tags(&a->l1i, &b->l1i, "l1i");
    same_tags(&a->l2, &b->l2, "l2");
    same_tags(&a->uncore->l3, &b->uncore->l3, "l3");
    same_tags(&a->dtlb, &b->dtlb, "dtlb");
    same_tags(&a->itlb, &b->itlb, "itlb");
    same_tags(&a->stlb, &b->stlb, "stlb");
    for (unsigned k = 0; k < WALK_LEVELS - 1; k++)
        same_tags(&a->upper[k], &b->upper[k], "paging-structure cache");
    assert_memory_equal(&a->strides, &b->strides, sizeof a->strides);
    assert_memory_equal(&a->recent, &b->recent, sizeof a->recent);
    assert_memory_equal(&a->streams, &b->streams, sizeof a->streams);
    assert_memory_equal(a->code_page, b->code_page, sizeof a->code_page);
    assert_int_equal(a->evicted_code.n, b->evicted_code.n);
    assert_memory_equal(a->evicted_code.line, b->evicted_code.line, sizeof a->evicted_code.line);
    assert_memory_equal(a->wc_line, b->wc_line, sizeof a->wc_line);
    memory__counts(a, &x);
    memory__counts(b, &y);
    assert_memory_equal(&x, &y, sizeof x);
    assert_true(x.l1d_load_miss && x.dtlb_miss && x.l1i_miss && x.prefetches && x.l3_miss);
}

static void machine__load(struct machine *m, uint64_t ip, uint64_t addr, unsigned size)
{
    struct mem_result r;

    memory__load(m->timed, ip, addr, size, m->now += LONG_ENOUGH, 5, &r);
    memory__warm_load(m->warm, ip, addr, size);
}

static void machine__store(struct machine *m, uint64_t ip, uint64_t addr, unsigned size, bool nt)
{
    struct mem_result r;

    memory__translate_store(m->timed, addr, size, m->now += LONG_ENOUGH);
    memory__store(m->timed, ip, addr, size, nt, m->now += LONG_ENOUGH, &r);
    memory__warm_store(m->warm, ip, addr, size, nt);
}

static void machine__fetch(struct machine *m, uint64_t addr)
{
    struct mem_result r;

    memory__fetch(m->timed, addr, m->now += LONG_ENOUGH, &r);
    memory__warm_fetch(m->warm, addr);
}

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Streams, strides, a stack, a heap beyond the L2, some splits, all sizes; code that jumps about. */
static void machine__access(struct machine *m, uint64_t i, uint64_t *seed)
{
    uint64_t r = draw(seed), ip = 0x400000 + r % 97 * 16;
    unsigned size = 1U << (draw(seed) % 6);

    switch (r % 8) {
    case 0:
        machine__load(m, 0x400100, 0x10000000 + i % 100000 * 8, 8);
        break;
    case 1:
        machine__load(m, 0x400200, 0x20000000 + i % 7000 * 320, 4);
        break;
    case 2:
        machine__load(m, ip, 0x7ffff000 + draw(seed) % 4096, 8);
        break;
    case 3:
        machine__store(m, ip, 0x7ffff000 + draw(seed) % 4096, 8, false);
        break;
    case 4:
        machine__load(m, ip, 0x30000000 + draw(seed) % 12000000, size);
        break;
    case 5:
        if (draw(seed) % 64 == 0) { /* code that is written: it leaves the L1I */
            machine__store(m, ip, 0x400000 + draw(seed) % 12000, size, false);
            break;
        }
        machine__store(m, ip, 0x30000000 + draw(seed) % 12000000, size, draw(seed) % 16 == 0);
        break;
    default:
        machine__fetch(m, 0x400000 + draw(seed) % 4 * 0x40000 + draw(seed) % 12000);
        break;
    }
}

static void same_after_warming(const char *core, const char *replacement)
{
    struct machine m = machine__new(core, replacement);
    uint64_t seed = 42;

    for (uint64_t i = 0; i < ACCESSES; i++) {
        machine__access(&m, i, &seed);
        if (i % (ACCESSES / 4) == 1000)
            machine__compare(&m);
    }
    machine__compare(&m);
    machine__free(&m);
}

static void test_same_tags(void **state)
{
    (void)state;
    same_after_warming("skl", NULL);
    same_after_warming("bdw", NULL); /* 12 ways in the L3, 6 in the STLB */
    same_after_warming("snb", NULL); /* no next-page prefetcher */
    same_after_warming("hsw", "lru");
    same_after_warming("hsw", "qlru");
}

/* Time goes on while warming: a timed access afterwards waits for nothing that was warmed. */
static void test_nothing_is_on_its_way(void **state)
{
    struct machine m = machine__new("skl", NULL);
    struct mem_result r;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        memory__warm_load(m.warm, 0x400100, 0x10000000 + i * 64, 8);
    memory__load(m.warm, 0x400200, 0x10000000 + 999 * 64, 8, memory__now(m.warm), 5, &r);
    assert_int_equal(r.ready, memory__now(m.warm) + 5);
    assert_int_equal(r.level, MEM_L1);
    assert_int_equal(requests_at(m.warm, memory__now(m.warm)).all, 0);
    machine__free(&m);
}

/* 5000 loads of lines far apart; of how many of the last 1000 the neighbour is in the L2 then. */
static unsigned neighbours(struct memory *mem, uint64_t base, bool timed)
{
    uint64_t now = memory__now(mem), addr;
    struct mem_result r;
    unsigned n = 0;

    for (uint64_t i = 0; i < 5000; i++) {
        addr = base + i * 7919 % 5000 * 8192;
        if (timed)
            memory__load(mem, 0x400100 + i * 64, addr, 8, now += 65, 5, &r);
        else
            memory__warm_load(mem, 0x400100 + i * 64, addr, 8);
        n += i >= 4000 && tags__find(&mem->l2, addr ^ 64) >= 0;
    }
    return n;
}

/* While the memory is busy few prefetches reach the L2: so it is in the warming between such windows. */
static void test_prefetches_fare_as_in_time(void **state)
{
    struct machine m = machine__new("skl", NULL);

    (void)state;
    unsigned timed = neighbours(m.timed, 0x10000000, true);
    unsigned after = neighbours(m.timed, 0x40000000, false), idle = neighbours(m.warm, 0x10000000, false);
    assert_in_range(idle, 990, 1000);
    assert_in_range(timed, 500, 900);
    assert_in_range(after, timed - timed / 5, timed + timed / 5);
    machine__free(&m);
}

/* The predictor's guesses after warming are those after having been asked. */
static void test_predictor(void **state)
{
    struct status st = {0};
    struct core core;
    struct prediction a, b;
    uint64_t seed = 7;

    (void)state;
    assert_int_equal(core__load(&core, "skl", NULL, 0, &st), 0);
    struct predictor *asked = predictor__new(&core, &st), *warmed = predictor__new(&core, &st);
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t r = draw(&seed), addr = 0x400000 + r % 300 * 8;
        struct branch br = {.addr = addr, .fallthrough = addr + 4};
        bool taken = true;
        br.kind = r % 300 < 200   ? BRANCH_COND
                  : r % 300 < 240 ? BRANCH_CALL
                  : r % 300 < 280 ? BRANCH_RET
                                  : BRANCH_INDIRECT;
        if (br.kind == BRANCH_COND)
            taken = (i + r) % 3 != 0;
        uint64_t target = 0x500000 + r % 300 * 16 + (br.kind == BRANCH_INDIRECT ? i % 4 * 64 : 0);
        br.direct = br.kind == BRANCH_COND || br.kind == BRANCH_CALL ? target : 0;
        uint64_t next = taken ? target : br.fallthrough;
        predictor__step(asked, &br, taken, next, &a);
        if (i % 1000 == 999) { /* asked too, now and then */
            predictor__step(warmed, &br, taken, next, &b);
            assert_memory_equal(&a.target, &b.target, sizeof a.target);
            assert_int_equal(a.taken, b.taken);
            assert_int_equal(a.btb_hit, b.btb_hit);
            assert_int_equal(a.fast_btb, b.fast_btb);
        } else {
            if (!taken)
                br.direct = 0;
            predictor__warm(warmed, &br, taken, next);
        }
    }
    predictor__free(asked);
    predictor__free(warmed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_tags),
        cmocka_unit_test(test_nothing_is_on_its_way),
        cmocka_unit_test(test_prefetches_fare_as_in_time),
        cmocka_unit_test(test_predictor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
