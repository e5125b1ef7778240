/* SPDX-License-Identifier: Apache-2.0 */
/* Each prefetcher alone: when it starts, how far and how fast it runs, where it stops (ME-8 to ME-10). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/status.h"
#include "mem/mem.h"

enum { LINE = 64, PAGE = 4096, LINES = PAGE / LINE, SLOW = 2000 /* cycles: all requests have ended */ };
enum prefetcher { L1_NEXT = 1, L1_IP = 2, ADJACENT = 4, STREAMER = 8, NEXT_PAGE = 16 };

static const uint64_t BASE = 0x10000000;

struct machine {
    struct memory *mem;
    uint64_t now;
};

static struct machine machine__new(unsigned prefetchers, const char *set, bool tlb)
{
    struct core core;
    struct status st = {0};
    const struct memory_options opt = {.no_tlb = !tlb};

    if (core__load(&core, "skl", &set, set != NULL, &st))
        fail_msg("%s", st.text);
    core.prefetch_l1_next = prefetchers & L1_NEXT;
    core.prefetch_l1_ip = prefetchers & L1_IP;
    core.prefetch_l2_adjacent = prefetchers & ADJACENT;
    core.prefetch_l2_streamer = prefetchers & STREAMER;
    core.prefetch_next_page = prefetchers & NEXT_PAGE;
    struct machine m = {memory__new(&core, &opt, &st), SLOW};
    if (m.mem == NULL)
        fail_msg("%s", st.text);
    return m;
}

static unsigned load_by(struct machine *m, uint64_t ip, uint64_t addr)
{
    struct mem_result res;

    memory__load(m->mem, ip, addr, 8, m->now, 4, &res);
    m->now += SLOW;
    return res.level;
}

static unsigned load(struct machine *m, uint64_t addr)
{
    return load_by(m, 0x400000, addr);
}

static bool in_l1(const struct machine *m, uint64_t addr)
{
    return tags__find(&m->mem->l1d, addr & ~(uint64_t)63) >= 0;
}

static bool in_l2(const struct machine *m, uint64_t addr)
{
    return tags__find(&m->mem->l2, addr & ~(uint64_t)63) >= 0;
}

static uint64_t prefetches(const struct machine *m)
{
    struct memory_counts counts;

    memory__counts(m->mem, &counts);
    return counts.prefetches;
}

/* The third access in a direction starts a stream; two lines an access; 20 lines ahead; to the end of the
 * page. */
static void streamer_train_rate_distance(void **state)
{
    (void)state;
    for (int direction = -1; direction <= 1; direction += 2) {
        struct machine m = machine__new(STREAMER, NULL, false);
        uint64_t first = direction > 0 ? BASE : BASE + PAGE - LINE, before = 0;
        int furthest = 0;
        for (int k = 0; k < LINES; k++) {
            load(&m, first + (uint64_t)(int64_t)(k * direction * LINE));
            uint64_t issued = prefetches(&m) - before;
            before += issued;
            if (k < 2)
                assert_int_equal(issued, 0);
            else
                assert_in_range(issued, k < 21 ? 2 : 0, 2);
            while (furthest + 1 < LINES &&
                   in_l2(&m, first + (uint64_t)(int64_t)((furthest + 1) * direction * LINE)))
                furthest++;
            int want = k < 2 ? k : 2 * k; /* two more each time, until 20 ahead */
            want = want > k + 20 ? k + 20 : want;
            assert_int_equal(furthest, want < LINES - 1 ? want : LINES - 1);
        }
        assert_int_equal(prefetches(&m), LINES - 3);
        assert_false(in_l2(&m, BASE - LINE) || in_l2(&m, BASE + PAGE));
        memory__free(m.mem);
    }
}

/* A stream a page, 32 at a time: of 32 pages in turn all run, of 33 none. */
static void thirty_two_streams(void **state)
{
    (void)state;
    for (unsigned pages = 32; pages <= 33; pages++) {
        struct machine m = machine__new(STREAMER, NULL, false);
        for (uint64_t line = 0; line < 4; line++)
            for (uint64_t page = 0; page < pages; page++)
                load(&m, BASE + page * PAGE + line * LINE);
        assert_int_equal(prefetches(&m), pages == 32 ? 32 * 4 : 0);
        memory__free(m.mem);
    }
}

/* Steps of more than eight lines are no stream; a far L1 prefetch does not end one. */
static void streams_have_small_steps(void **state)
{
    struct machine m = machine__new(STREAMER, NULL, false);

    (void)state;
    for (uint64_t k = 0; k < 7; k++)
        load(&m, BASE + k * 9 * LINE);
    assert_int_equal(prefetches(&m), 0);
    for (uint64_t k = 0; k < 4; k++)
        load(&m, BASE + PAGE + k * LINE);
    load(&m, BASE + PAGE + 20 * LINE);
    uint64_t before = prefetches(&m);
    load(&m, BASE + PAGE + 4 * LINE);
    assert_int_equal(prefetches(&m) - before, 2);
    memory__free(m.mem);
}

/* With more than half of the super queue in use the streamer fetches into the L3 alone. */
static void busy_queues_keep_prefetches_in_the_l3(void **state)
{
    struct machine m = machine__new(STREAMER, NULL, false);
    struct mem_result res;

    (void)state;
    for (uint64_t k = 0; k < 3; k++)
        load(&m, BASE + k * LINE);
    assert_true(in_l2(&m, BASE + 3 * LINE) && in_l2(&m, BASE + 4 * LINE));
    for (uint64_t k = 0; k < 9; k++)
        memory__load(m.mem, 1, BASE + (8 + k) * PAGE, 8, m.now, 4, &res);
    memory__load(m.mem, 1, BASE + 3 * LINE, 8, m.now, 4, &res);
    assert_false(in_l2(&m, BASE + 5 * LINE) || in_l2(&m, BASE + 6 * LINE));
    m.now += SLOW;
    assert_int_equal(load(&m, BASE + 5 * LINE), MEM_L3);
    memory__free(m.mem);
}

/* Each fill of the L2 brings the other half of its 128 bytes, and no more. */
static void adjacent_line(void **state)
{
    struct machine m = machine__new(ADJACENT, NULL, false);

    (void)state;
    load(&m, BASE + 5 * LINE);
    assert_true(in_l2(&m, BASE + 4 * LINE) && !in_l1(&m, BASE + 4 * LINE));
    assert_false(in_l2(&m, BASE + 6 * LINE));
    assert_int_equal(prefetches(&m), 1);
    assert_int_equal(load(&m, BASE + 4 * LINE), MEM_L2);
    assert_int_equal(prefetches(&m), 1);
    memory__free(m.mem);
}

/* An ascending load brings the next line into the L1; a descending one and the end of the page do not. */
static void next_line(void **state)
{
    struct machine m = machine__new(L1_NEXT, NULL, false);

    (void)state;
    load(&m, BASE + 10 * LINE);
    assert_int_equal(prefetches(&m), 0);
    load(&m, BASE + 11 * LINE);
    assert_true(in_l1(&m, BASE + 12 * LINE) && !in_l1(&m, BASE + 13 * LINE));
    load(&m, BASE + 30 * LINE);
    load(&m, BASE + 29 * LINE);
    assert_false(in_l1(&m, BASE + 28 * LINE) || in_l1(&m, BASE + 31 * LINE));
    load(&m, BASE + 62 * LINE);
    load(&m, BASE + 63 * LINE);
    assert_false(in_l1(&m, BASE + 64 * LINE));
    assert_int_equal(prefetches(&m), 1);
    memory__free(m.mem);
}

/* Two equal steps of one load, up to 2 KiB either way, inside the page. */
static void stride_of_an_instruction(void **state)
{
    static const int64_t steps[] = {64, 320, 2048, -64, -2048, 2112, -2112, 4096};

    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct machine m = machine__new(L1_IP, NULL, false);
        int64_t step = steps[k];
        bool usable = step >= -2048 && step <= 2048;
        uint64_t at = BASE + 16 * PAGE + (step > 0 ? 0 : PAGE - LINE);
        load(&m, at - (uint64_t)step); /* the two steps cross into the page */
        load(&m, at);
        assert_int_equal(prefetches(&m), 0);
        load(&m, at + (uint64_t)step);
        bool inside = (at + 2 * (uint64_t)step) / PAGE == at / PAGE;
        assert_int_equal(prefetches(&m), usable && inside);
        assert_int_equal(in_l1(&m, at + 2 * (uint64_t)step), usable && inside);
        memory__free(m.mem);
    }
}

/* 256 loads are told apart, by the low bits of their addresses. */
static void strides_of_256_instructions(void **state)
{
    (void)state;
    for (unsigned apart = 128; apart <= 256; apart *= 2) {
        struct machine m = machine__new(L1_IP, NULL, false);
        for (uint64_t k = 0; k < 6; k++) {
            load_by(&m, 0x400000, BASE + k * 128);
            load_by(&m, 0x400000 + apart, BASE + PAGE + k * 320);
        }
        assert_int_equal(prefetches(&m), apart == 256 ? 0 : 8);
        memory__free(m.mem);
    }
}

/* Without a free fill buffer nothing goes into the L1; stores do not train its prefetchers. */
static void l1_prefetches_need_a_buffer_and_a_load(void **state)
{
    struct machine m = machine__new(L1_NEXT | L1_IP, NULL, false);
    struct mem_result res;

    (void)state;
    for (uint64_t k = 0; k < 8; k++, m.now += SLOW)
        memory__store(m.mem, 0x400000, BASE + k * LINE, 8, false, m.now, &res);
    assert_int_equal(prefetches(&m), 0);
    for (uint64_t k = 0; k < 12; k++)
        memory__load(m.mem, 0x400000 + 4 * k, BASE + (2 + k) * PAGE, 8, m.now, 4, &res);
    memory__load(m.mem, 0x400100, BASE + LINE, 8, m.now, 4, &res);
    memory__load(m.mem, 0x400100, BASE + 2 * LINE, 8, m.now, 4, &res);
    memory__load(m.mem, 0x400100, BASE + 7 * LINE, 8, m.now, 4, &res);
    memory__load(m.mem, 0x400104, BASE + 8 * LINE, 8, m.now, 4, &res);
    assert_int_equal(prefetches(&m), 0);
    memory__free(m.mem);
}

/* From Ivy Bridge on: a stream within eight lines of its page's end has the next page translated and its
 * first line fetched, once, in its direction. */
static void next_page(void **state)
{
    (void)state;
    for (int direction = -1; direction <= 1; direction += 2)
        for (unsigned on = 0; on < 2; on++) {
            struct machine m = machine__new(on ? NEXT_PAGE : 0, NULL, true);
            struct memory_counts before, after;
            struct mem_result res;
            uint64_t page = BASE + 64 * PAGE, first = direction > 0 ? page : page + PAGE - LINE;
            uint64_t beyond = direction > 0 ? page + PAGE : page - LINE;
            for (int k = 0; k < 56; k++)
                load(&m, first + (uint64_t)(int64_t)(k * direction * LINE));
            assert_false(in_l2(&m, beyond));
            load(&m, first + (uint64_t)(int64_t)(56 * direction * LINE));
            assert_int_equal(in_l2(&m, beyond), on);
            for (int k = 57; k < LINES; k++)
                load(&m, first + (uint64_t)(int64_t)(k * direction * LINE));
            assert_int_equal(prefetches(&m), on);
            memory__counts(m.mem, &before);
            memory__load(m.mem, 1, beyond, 8, m.now, 4, &res);
            memory__counts(m.mem, &after);
            assert_int_equal(res.level, on ? MEM_L2 : MEM_DRAM);
            assert_int_equal(after.dtlb_miss - before.dtlb_miss, !on);
            memory__free(m.mem);
        }
}

/* A demand load that meets its prefetch on the way pays the rest and is told where the data come from: ME-10.
 */
static void late_prefetch(void **state)
{
    struct machine m = machine__new(ADJACENT, NULL, false);
    struct mem_result a, b;

    (void)state;
    memory__load(m.mem, 1, BASE, 8, m.now, 4, &a);
    memory__load(m.mem, 1, BASE + LINE, 8, m.now + 100, 4, &b);
    assert_int_equal(b.level, MEM_DRAM);
    assert_in_range(b.ready, a.ready, a.ready + 40);
    memory__free(m.mem);
}

/* Which cores have what. */
static void cores(void **state)
{
    (void)state;
    for (const char *const *name = core__names(); *name; name++) {
        struct core core;
        assert_int_equal(core__load(&core, *name, NULL, 0, NULL), 0);
        assert_true(core.prefetch_l1_next && core.prefetch_l1_ip && core.prefetch_l2_adjacent &&
                    core.prefetch_l2_streamer);
        assert_int_equal(core.prefetch_next_page, (*name)[0] != 's' || (*name)[1] != 'n');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streamer_train_rate_distance),
        cmocka_unit_test(thirty_two_streams),
        cmocka_unit_test(streams_have_small_steps),
        cmocka_unit_test(busy_queues_keep_prefetches_in_the_l3),
        cmocka_unit_test(adjacent_line),
        cmocka_unit_test(next_line),
        cmocka_unit_test(stride_of_an_instruction),
        cmocka_unit_test(strides_of_256_instructions),
        cmocka_unit_test(l1_prefetches_need_a_buffer_and_a_load),
        cmocka_unit_test(next_page),
        cmocka_unit_test(late_prefetch),
        cmocka_unit_test(cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
