/* SPDX-License-Identifier: Apache-2.0 */
/* Several memories behind one L3, controller and channel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/status.h"
#include "mem/mem.h"

enum { LINE = 64, PAGE = 4096, MIB = 1 << 20, MEMBERS = 4, START = 100 };

static const uint64_t BASE = 0x10000000;

struct chip {
    struct core core;
    struct uncore *uncore;
    struct memory *mem[UNCORE_MAX_MEMBERS];
    unsigned n;
};

static struct memory_requests requests_at(const struct memory *mem, uint64_t now)
{
    struct memory_requests requests;

    memory__requests(mem, now, &requests);
    return requests;
}

/* Member k starts k * `stagger` cycles after the first. */
static void chip__open(struct chip *chip, unsigned n, const char *l3_bytes, bool inclusive, uint64_t stagger)
{
    char l3[64];
    const char *set[] = {l3, inclusive ? "l3_inclusive=yes" : "l3_inclusive=no"};
    struct status st = {0};

    snprintf(l3, sizeof l3, "l3_size=%s", l3_bytes);
    *chip = (struct chip){.n = n};
    if (core__load(&chip->core, "ivb", set, 2, &st) || !(chip->uncore = uncore__new(&chip->core, &st)))
        fail_msg("%s", st.text);
    for (unsigned k = 0; k < n; k++) {
        struct memory_options opt = {.no_prefetch = true,
                                     .no_tlb = true,
                                     .uncore = chip->uncore,
                                     .member = k,
                                     .starts_at = k * stagger};
        if (!(chip->mem[k] = memory__new(&chip->core, &opt, &st)))
            fail_msg("%s", st.text);
    }
}

static void chip__close(struct chip *chip)
{
    for (unsigned k = 0; k < chip->n; k++)
        memory__free(chip->mem[k]);
    uncore__free(chip->uncore);
}

static uint64_t dram_cyc(const struct chip *chip)
{
    return (uint64_t)(chip->core.dram_lat_ns * chip->core.freq_ghz + 0.5);
}

static struct mem_result load(struct memory *mem, uint64_t addr, uint64_t now)
{
    struct mem_result res;

    memory__load(mem, 0x401000, addr, 8, now, 4, &res);
    return res;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

static void owner_is_known_from_the_key(void **state)
{
    const uint64_t line[] = {0, 0x401000, 0x7fffffffffc0, 0x8000007fffffffc0, 0xffffffffff600000};

    (void)state;
    assert_int_equal(uncore__member_key(0), 0);
    for (unsigned k = 0; k < UNCORE_MAX_MEMBERS; k++)
        for (unsigned i = 0; i < sizeof line / sizeof line[0]; i++) {
            uint64_t key = line[i] ^ uncore__member_key(k);
            assert_int_equal(uncore__owner(key), k);
            assert_int_equal(key % PAGE, line[i] % PAGE);
        }
}

/* The same hot 64 KiB of two members: of 8192 sets they use 1024 each, on most of which they do not meet. */
static void members_use_other_sets(void **state)
{
    struct chip chip;

    (void)state;
    chip__open(&chip, 1, "8MiB", true, 0);
    for (unsigned k = 1; k < UNCORE_MAX_MEMBERS; k++) {
        unsigned met = 0;
        for (unsigned i = 0; i < 1024; i++)
            for (unsigned j = 0; j < 1024; j += 64)
                met += tags__set(&chip.uncore->l3, BASE + i * LINE) ==
                       tags__set(&chip.uncore->l3, (BASE + (i % 64 + j) * LINE) ^ uncore__member_key(k));
        assert_true(met <= 512);
    }
    chip__close(&chip);
}

static void members_share_no_line(void **state)
{
    struct chip chip;
    uint64_t now = START;

    (void)state;
    chip__open(&chip, MEMBERS, "8MiB", true, 0);
    for (unsigned k = 0; k < MEMBERS; k++, now += 1000)
        assert_int_equal(load(chip.mem[k], BASE, now).ready - now, dram_cyc(&chip));
    for (unsigned k = 0; k < MEMBERS; k++, now += 1000)
        assert_int_equal(load(chip.mem[k], BASE, now).level, MEM_L1);
    chip__close(&chip);
}

/* A clock that started later: the same latencies in its own cycles, and it waits behind the others' lines. */
static void clocks_may_differ(void **state)
{
    struct chip chip;
    struct mem_result res;
    struct memory_requests requests;

    (void)state;
    chip__open(&chip, 2, "8MiB", true, 5000);
    res = load(chip.mem[1], BASE, START);
    assert_int_equal(res.ready - START, dram_cyc(&chip));
    memory__requests(chip.mem[0], START + 5000 + 100, &requests);
    assert_int_equal(requests.all, 1);
    assert_int_equal(requests.own, 0);
    assert_int_equal(requests.until, res.ready + 5000);
    memory__requests(chip.mem[1], START + 100, &requests);
    assert_int_equal(requests.all, 1);
    assert_int_equal(requests.own, 1);
    res = load(chip.mem[0], BASE, START + 5000); /* the channel is taken by the other's line */
    assert_true(res.ready - (START + 5000) > dram_cyc(&chip));
    chip__close(&chip);
}

/* Questions of members whose clock is behind are answered for their time. */
static void requests_are_counted_back_in_time(void **state)
{
    struct chip chip;

    (void)state;
    chip__open(&chip, 2, "8MiB", true, 0);
    uint64_t ready = load(chip.mem[0], BASE, START).ready;
    assert_int_equal(requests_at(chip.mem[0], ready + 100).all, 0);
    assert_int_equal(requests_at(chip.mem[1], ready - 10).all, 1);
    assert_int_equal(requests_at(chip.mem[1], ready - 10).until, ready);
    assert_int_equal(requests_at(chip.mem[1], ready).all, 0);
    chip__close(&chip);
}

/* What the other member reads pushes a line that stays hot in this one's L1 out of an inclusive L3, and
 * then out of the L1; a victim cache leaves it alone. */
static unsigned misses_of_hot_line(bool inclusive)
{
    struct chip chip;
    uint64_t now = START;
    unsigned misses = 0;

    chip__open(&chip, 2, "1MiB", inclusive, 0);
    load(chip.mem[0], BASE, now);
    for (unsigned k = 0; k < 4 * MIB / LINE; k++) {
        now += 300;
        load(chip.mem[1], BASE + PAGE + k * LINE, now);
        misses += load(chip.mem[0], BASE, now).level != MEM_L1;
    }
    chip__close(&chip);
    return misses;
}

static void others_push_lines_out(void **state)
{
    (void)state;
    assert_true(misses_of_hot_line(true) > 0);
    assert_int_equal(misses_of_hot_line(false), 0);
}

static unsigned lines_outside_l3(const struct chip *chip, unsigned k, const struct tags *t)
{
    unsigned outside = 0;

    for (uint64_t i = 0; i < (uint64_t)t->sets * t->ways; i++) {
        uint64_t key = (t->word[i] & ~(uint64_t)TAG_FLAGS) ^ uncore__member_key(k);
        outside += (t->word[i] & TAG_VALID) != 0 && tags__find(&chip->uncore->l3, key) < 0;
    }
    return outside;
}

/* Invariant 1 of mem.h, for members that read, write, fetch and flush the same addresses of theirs. */
static void inclusion_holds_for_every_member(void **state)
{
    struct chip chip;
    uint64_t seed = 1, now = START;
    struct mem_result res;

    (void)state;
    chip__open(&chip, MEMBERS, "512KiB", true, 0);
    for (unsigned n = 0; n < 400000; n++, now += 7) {
        struct memory *mem = chip.mem[next_random(&seed) % MEMBERS];
        uint64_t addr = BASE + next_random(&seed) % (MIB / LINE) * LINE;
        unsigned kind = (unsigned)(next_random(&seed) % 16);
        if (kind == 0)
            memory__flush_line(mem, addr, now);
        else if (kind < 4)
            memory__store(mem, 1, addr, 8, kind == 1, now, &res);
        else if (kind < 6)
            memory__fetch(mem, addr, now, &res);
        else
            load(mem, addr, now);
        if (n % 20000 != 0)
            continue;
        for (unsigned k = 0; k < MEMBERS; k++) {
            assert_int_equal(lines_outside_l3(&chip, k, &chip.mem[k]->l1d), 0);
            assert_int_equal(lines_outside_l3(&chip, k, &chip.mem[k]->l1i), 0);
            assert_int_equal(lines_outside_l3(&chip, k, &chip.mem[k]->l2), 0);
        }
    }
    chip__close(&chip);
}

/* Lines of a member that has gone are no longer anybody's. */
static void members_may_leave(void **state)
{
    struct chip chip;
    uint64_t now = START;

    (void)state;
    chip__open(&chip, 2, "1MiB", true, 0);
    for (unsigned k = 0; k < MIB / LINE; k++, now += 300)
        load(chip.mem[0], BASE + k * LINE, now);
    memory__free(chip.mem[0]);
    chip.mem[0] = NULL;
    for (unsigned k = 0; k < 2 * MIB / LINE; k++, now += 300)
        assert_int_equal(load(chip.mem[1], BASE + k * LINE, now).level, MEM_DRAM);
    chip__close(&chip);
}

/* Member k's stream of independent misses, ten at a time. */
struct stream_of {
    uint64_t now, addr, lines;
    uint64_t ready[10];
};

/* Reads from now to `until`. */
static void stream_to(struct stream_of *s, struct memory *mem, uint64_t until)
{
    while (s->now < until) {
        uint64_t *slot = &s->ready[s->lines % 10];
        s->now = *slot > s->now ? *slot : s->now + 1;
        if (s->now >= until)
            break;
        *slot = load(mem, s->addr, s->now).ready;
        s->addr += LINE;
        s->lines++;
    }
}

/* One stream alone is bound by its fill buffers; many share what the channel gives, and evenly, whatever
 * the order in which they come within a quantum. */
static void bandwidth_is_shared(void **state)
{
    enum { QUANTUM = 32, CYCLES = 400000 };

    (void)state;
    for (unsigned n = 1; n <= UNCORE_MAX_MEMBERS; n *= 2) {
        struct chip chip;
        struct stream_of stream[UNCORE_MAX_MEMBERS] = {0};
        uint64_t sum = 0, least = UINT64_MAX, most = 0;
        chip__open(&chip, n, "8MiB", true, 0);
        double channel = CYCLES * chip.core.dram_bandwidth_gbs / chip.core.freq_ghz / LINE;
        double alone = 10.0 * CYCLES / (double)dram_cyc(&chip);
        for (unsigned k = 0; k < n; k++)
            stream[k].addr = BASE;
        for (uint64_t t = QUANTUM; t <= CYCLES; t += QUANTUM)
            for (unsigned k = 0; k < n; k++)
                stream_to(&stream[(k + t / QUANTUM) % n], chip.mem[(k + t / QUANTUM) % n], t);
        for (unsigned k = 0; k < n; k++) {
            sum += stream[k].lines;
            least = stream[k].lines < least ? stream[k].lines : least;
            most = stream[k].lines > most ? stream[k].lines : most;
        }
        double wanted = n * alone < channel ? n * alone : channel;
        printf("  %2u streams: %.3f of the channel (%.3f wanted), least to most %.3f\n", n,
               (double)sum / channel, n * alone / channel, (double)least / (double)most);
        assert_true((double)sum > 0.95 * wanted && (double)sum < 1.01 * wanted);
        assert_true((double)least > 0.97 * (double)most);
        chip__close(&chip);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_is_known_from_the_key),
        cmocka_unit_test(members_use_other_sets),
        cmocka_unit_test(members_share_no_line),
        cmocka_unit_test(clocks_may_differ),
        cmocka_unit_test(requests_are_counted_back_in_time),
        cmocka_unit_test(others_push_lines_out),
        cmocka_unit_test(inclusion_holds_for_every_member),
        cmocka_unit_test(members_may_leave),
        cmocka_unit_test(bandwidth_is_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
