/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-tests of branch prediction: each pins what one structure of PIPELINE.md 11 can and cannot do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fathom/core.h"
#include "fathom/predict.h"
#include "fathom/status.h"
#include "predict/history.h"

enum { CORES = 3, CODE = 0x400000 };

/* BP-8, BP-9, 11.2 */
static struct core core_of(unsigned which)
{
    static const struct {
        const char *name;
        uint32_t ports, tables, log2, history, loops, fast, ittage_tables, ittage_log2;
        bool underflow_indirect;
    } the[CORES] = {{"snb", 6, 6, 9, 130, 0, 8, 1, 9, false},
                    {"hsw", 8, 10, 9, 200, 64, 128, 4, 8, false},
                    {"skl", 8, 12, 10, 200, 64, 128, 6, 9, true}};
    struct core core = {0};

    snprintf(core.name, sizeof core.name, "%s", the[which].name);
    core.ports = the[which].ports;
    core.btb_entries = 4096;
    core.btb_ways = 4;
    core.btb_fast_entries = the[which].fast;
    core.rsb_entries = 16;
    core.rsb_underflow_indirect = the[which].underflow_indirect;
    core.bimodal_log2 = 13;
    core.tage_tables = the[which].tables;
    core.tage_log2 = the[which].log2;
    core.tage_history_min = 4;
    core.tage_history_max = the[which].history;
    core.loop_predictor_entries = the[which].loops;
    core.ittage_tables = the[which].ittage_tables;
    core.ittage_log2 = the[which].ittage_log2;
    core.ittage_history_max = 130;
    return core;
}

static struct predictor *predictor_of(unsigned which)
{
    struct core core = core_of(which);
    struct status st = {0};
    struct predictor *p = predictor__new(&core, &st);

    if (p == NULL)
        fail_msg("%s", st.text);
    return p;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 16;
}

static bool step(struct predictor *p, unsigned kind, uint64_t addr, uint64_t direct, bool taken,
                 uint64_t target, struct prediction *out)
{
    const struct branch b = {.addr = addr, .fallthrough = addr + 4, .direct = direct, .kind = (uint8_t)kind};
    uint64_t went = taken ? target : b.fallthrough;

    predictor__step(p, &b, taken, went, out);
    return out->target != went; /* mispredicted */
}

static unsigned cond(struct predictor *p, uint64_t addr, uint64_t to, bool taken)
{
    struct prediction out;

    return step(p, BRANCH_COND, addr, to, taken, to, &out);
}

static void report(const char *what, unsigned which, unsigned missed, unsigned n)
{
    static const char *const name[CORES] = {"snb", "hsw", "skl"};

    printf("  %-28s %s %.4f\n", what, name[which], (double)missed / n);
}

static void constant_branches(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        struct predictor *p = predictor_of(which);
        unsigned missed = 0;
        for (unsigned k = 0; k < 1000; ++k) {
            missed += cond(p, CODE, CODE - 64, true);
            missed += cond(p, CODE + 16, CODE + 64, false);
        }
        assert_true(missed <= 1);
        predictor__free(p);
    }
}

static void alternating_branch(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        struct predictor *p = predictor_of(which);
        unsigned missed = 0;
        for (unsigned k = 0; k < 2000; ++k) {
            missed += cond(p, CODE, CODE + 64, k & 1);
            missed += cond(p, CODE + 128, CODE - 16, true);
        }
        report("alternating", which, missed, 2000);
        assert_true(missed < 40);
        predictor__free(p);
    }
}

/* A loop of `trips`, with `inner` random branches inside: mispredictions of the loop branch in the
 * second half of `n` runs. */
static unsigned loop_misses(unsigned which, unsigned trips, unsigned inner, unsigned n)
{
    struct predictor *p = predictor_of(which);
    uint32_t seed = 3;
    unsigned missed = 0;

    for (unsigned run = 0; run < n; ++run) {
        for (unsigned k = 1; k <= trips; ++k) {
            for (unsigned j = 0; j < inner; ++j)
                cond(p, CODE + 512 + 16 * j, CODE + 512 + 16 * j + 12, next_random(&seed) & 1);
            bool miss = cond(p, CODE + 256, CODE, k < trips);
            missed += run >= n / 2 && miss;
        }
        cond(p, CODE + 320, CODE - 64, true);
    }
    predictor__free(p);
    return missed;
}

static void loop_trip_counts(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        unsigned seven = loop_misses(which, 7, 0, 1000), thirty = loop_misses(which, 30, 0, 1000);
        report("trip count 7, last half", which, seven, 500);
        report("trip count 30, last half", which, thirty, 500);
        assert_true(seven <= 5 && thirty <= 5);
    }
}

/* Without a loop predictor every count is learned that fits the history, powers of two as well as others. */
static void history_counts_loops(void **state)
{
    (void)state;
    for (unsigned trips = 31; trips <= 127; trips += trips % 32 == 1 ? 30 : 1) {
        unsigned missed = loop_misses(0, trips, 0, 400);
        if (missed > 10)
            fail_msg("%u trips: %u of 200 exits missed", trips, missed);
    }
}

/* Only the loop predictor counts through noise; 500 trips are beyond every history. */
static void loop_predictor_counts(void **state)
{
    (void)state;
    for (unsigned which = 1; which < CORES; ++which) {
        assert_true(loop_misses(which, 30, 2, 400) <= 10);
        assert_true(loop_misses(which, 500, 0, 100) <= 2);
    }
    assert_true(loop_misses(0, 500, 0, 100) >= 45); /* SNB has none */
}

static void correlated_branches(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        struct predictor *p = predictor_of(which);
        uint32_t seed = 9;
        unsigned missed = 0;
        for (unsigned k = 0; k < 20000; ++k) {
            bool a = next_random(&seed) & 1, b = next_random(&seed) & 1;
            cond(p, CODE, CODE + 32, a);
            cond(p, CODE + 48, CODE + 96, b);
            bool miss = cond(p, CODE + 128, CODE + 192, a && b);
            missed += k >= 10000 && miss;
            cond(p, CODE + 256, CODE - 16, true);
        }
        report("a && b after a, b", which, missed, 10000);
        assert_true(missed < 300);
        predictor__free(p);
    }
}

static void random_branch_cannot_be_predicted(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        struct predictor *p = predictor_of(which);
        uint32_t seed = 11;
        unsigned missed = 0;
        for (unsigned k = 0; k < 20000; ++k)
            missed += cond(p, CODE, CODE + 64, next_random(&seed) & 1);
        report("random, half taken", which, missed, 20000);
        assert_in_range(missed, 9400, 10600);
        missed = 0;
        for (unsigned k = 0; k < 20000; ++k)
            missed += cond(p, CODE + 512, CODE + 1024, next_random(&seed) % 10 == 0);
        report("random, one in ten taken", which, missed, 20000);
        assert_in_range(missed, 1800, 2900);
        predictor__free(p);
    }
}

/* BP-5: what happens to a conditional branch that nobody knows. */
static void unknown_conditional_branches(void **state)
{
    (void)state;
    struct prediction out;

    for (unsigned which = 0; which < CORES; ++which) {
        struct predictor *p = predictor_of(which);
        assert_int_equal(step(p, BRANCH_COND, CODE + 256, CODE, true, CODE, &out), which != 0);
        if (which == 0) {
            assert_true(out.taken);
            assert_false(out.btb_hit); /* found at decode */
        }
        assert_false(step(p, BRANCH_COND, CODE + 512, CODE + 1024, false, 0, &out));
        assert_false(step(p, BRANCH_COND, CODE + 256, CODE, true, CODE, &out));
        assert_true(out.btb_hit);
        predictor__free(p);
    }
}

/* BP-9: targets that alternate, that follow the path, that are random. */
static void indirect_targets(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        unsigned missed[3] = {0};
        for (unsigned pattern = 0; pattern < 3; ++pattern) {
            struct predictor *p = predictor_of(which);
            struct prediction out;
            uint32_t seed = 4;
            for (unsigned k = 0; k < 8000; ++k) {
                unsigned pick = pattern == 0   ? 3
                                : pattern == 1 ? (unsigned)"01213044"[k % 8] - '0'
                                               : next_random(&seed) % 4;
                uint64_t target = CODE + 0x1000 + 0x100 * pick;
                bool miss = step(p, BRANCH_INDIRECT, CODE, 0, true, target, &out);
                missed[pattern] += (k >= 4000 || pattern == 0) && miss;
                step(p, BRANCH_JUMP, target + 32, CODE - 16, true, CODE - 16, &out);
            }
            predictor__free(p);
        }
        report("indirect, one target", which, missed[0], 8000);
        report("indirect, period 8", which, missed[1], 4000);
        report("indirect, random of 4", which, missed[2], 4000);
        assert_int_equal(missed[0], 1);
        if (which != 0)
            assert_true(missed[1] < 100);
        assert_in_range(missed[2], 2600, 3400);
    }
}

static void first_indirect_has_no_target(void **state)
{
    (void)state;
    struct predictor *p = predictor_of(2);
    struct prediction out;

    step(p, BRANCH_CALL_INDIRECT, CODE, 0, true, CODE + 512, &out);
    assert_true(out.taken);
    assert_int_equal(out.target, 0);
    assert_false(out.btb_hit);
    predictor__free(p);
}

/* Calls `depth` deep and back, from alternating places; mispredicted returns of a later round. */
static unsigned return_misses(unsigned which, unsigned depth)
{
    struct predictor *p = predictor_of(which);
    struct prediction out;
    unsigned missed = 0;

    for (unsigned round = 0; round < 40; ++round) {
        uint64_t shift = round * 8; /* recursion from another place each time */
        for (unsigned k = 0; k < depth; ++k)
            step(p, BRANCH_CALL, CODE + k * 4096 + shift, CODE + (k + 1) * 4096, true, CODE + (k + 1) * 4096,
                 &out);
        for (unsigned k = depth; k-- > 0;) {
            uint64_t to = CODE + k * 4096 + shift + 4;
            bool miss = step(p, BRANCH_RET, CODE + (k + 1) * 4096 + 2048, 0, true, to, &out);
            missed += round == 39 && miss;
        }
    }
    predictor__free(p);
    return missed;
}

static void return_stack_depth(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        assert_int_equal(return_misses(which, 16), 0);
        assert_int_equal(return_misses(which, 20), 4);
    }
}

/* SKL on: an empty stack asks the indirect predictor, which knows constant callers. */
static void return_underflow(void **state)
{
    (void)state;
    for (unsigned which = 1; which < CORES; ++which) {
        struct predictor *p = predictor_of(which);
        struct prediction out;
        unsigned missed = 0;
        for (unsigned k = 0; k < 100; ++k)
            missed += step(p, BRANCH_RET, CODE, 0, true, CODE + 1024, &out);
        assert_int_equal(missed, which == 2 ? 1 : 100);
        predictor__free(p);
    }
}

static void call_to_next_instruction_pushes_nothing(void **state)
{
    (void)state;
    struct predictor *p = predictor_of(1);
    struct prediction out;

    step(p, BRANCH_CALL, CODE, CODE + 512, true, CODE + 512, &out);
    step(p, BRANCH_CALL, CODE + 520, CODE + 524, true, CODE + 524, &out);
    assert_false(step(p, BRANCH_RET, CODE + 600, 0, true, CODE + 4, &out));
    predictor__free(p);
}

/* Jumps in a ring, `n` of them 16 bytes apart: misses of the BTB in the last round. */
static void ring(unsigned which, unsigned n, unsigned *main_misses, unsigned *fast_misses)
{
    struct predictor *p = predictor_of(which);

    for (unsigned round = 0; round < 4; ++round) {
        *main_misses = *fast_misses = 0;
        for (unsigned k = 0; k < n; ++k) {
            struct prediction out;
            uint64_t to = CODE + 16 * ((k + 1) % n);
            assert_false(step(p, BRANCH_JUMP, CODE + 16 * k, to, true, to, &out));
            *main_misses += !out.btb_hit;
            *fast_misses += !out.fast_btb;
        }
    }
    predictor__free(p);
}

static void btb_capacity(void **state)
{
    (void)state;
    unsigned main_misses, fast_misses;

    ring(2, 60, &main_misses, &fast_misses);
    assert_int_equal(main_misses + fast_misses, 0);
    ring(2, 4096, &main_misses, &fast_misses);
    assert_int_equal(main_misses, 0);
    assert_int_equal(fast_misses, 4096);
    ring(2, 8192, &main_misses, &fast_misses);
    assert_int_equal(main_misses, 8192);
}

/* BP-10 */
static void never_taken_branches_do_not_occupy_the_btb(void **state)
{
    (void)state;
    struct predictor *p = predictor_of(2);
    struct prediction out;

    for (unsigned round = 0; round < 3; ++round) {
        step(p, BRANCH_JUMP, CODE, CODE + 16, true, CODE + 16, &out);
        assert_int_equal(out.btb_hit, round > 0);
        for (unsigned k = 1; k <= 20000; ++k) {
            step(p, BRANCH_COND, CODE + 16 * k, CODE, false, 0, &out);
            assert_false(out.taken && !out.btb_hit && round > 0);
        }
    }
    predictor__free(p);
}

/* The wrong path starts at the branch with the wrong outcome, and leaves no trace. */
static void wrong_path_is_a_guess_from_the_branch_on(void **state)
{
    (void)state;
    struct predictor *p = predictor_of(2), *twin = predictor_of(2);
    uint32_t seed = 21;
    struct prediction out, other;

    for (unsigned k = 0; k < 5000; ++k) {
        bool taken = next_random(&seed) & 1;
        unsigned kind = k % 7 == 0 ? BRANCH_CALL : k % 7 == 3 ? BRANCH_RET : BRANCH_COND;
        struct branch b = {.addr = CODE + 16 * (k % 40), .kind = (uint8_t)kind};
        b.fallthrough = b.addr + 4;
        b.direct = kind == BRANCH_RET ? 0 : CODE + 4096;
        taken = taken || kind != BRANCH_COND;
        uint64_t target = kind == BRANCH_RET ? CODE + 64 : taken ? b.direct : b.fallthrough;
        predictor__step(p, &b, taken, target, &out);
        predictor__step(twin, &b, taken, target, &other);
        assert_true(out.taken == other.taken && out.target == other.target && out.btb_hit == other.btb_hit);
        if (k % 5 != 0)
            continue;
        predictor__wrong_path_begin(p, &b, !taken, taken ? b.fallthrough : b.direct);
        for (unsigned j = 0; j < (k % 100 == 0 ? 1500 : 20); ++j) {
            struct branch w = {.addr = CODE + 16 * (j % 40), .fallthrough = CODE + 16 * j + 4};
            w.kind = (uint8_t)(j % 3 == 0 ? BRANCH_RET : j % 3 == 1 ? BRANCH_CALL : BRANCH_COND);
            w.direct = w.kind == BRANCH_RET ? 0 : CODE + 8192;
            predictor__wrong_path(p, &w, &out);
        }
    }
    predictor__free(p);
    predictor__free(twin);
}

/* A mispredicted return pops once, as the right one would have; a wrong-path return goes on from there. */
static void wrong_path_sees_the_return_stack(void **state)
{
    (void)state;
    struct predictor *p = predictor_of(2);
    struct prediction out;

    step(p, BRANCH_CALL, CODE, CODE + 512, true, CODE + 512, &out);
    struct branch b = {
        .addr = CODE + 516, .fallthrough = CODE + 520, .direct = CODE + 1024, .kind = BRANCH_CALL};
    predictor__step(p, &b, true, b.direct, &out);
    predictor__wrong_path_begin(p, &b, false, b.fallthrough);
    struct branch ret = {.addr = CODE + 2048, .fallthrough = CODE + 2049, .kind = BRANCH_RET};
    predictor__wrong_path(p, &ret, &out);
    assert_int_equal(out.target, CODE + 4);
    assert_false(step(p, BRANCH_RET, CODE + 1040, 0, true, CODE + 520, &out));
    assert_false(step(p, BRANCH_RET, CODE + 560, 0, true, CODE + 4, &out));
    predictor__free(p);
}

static void history_undo_is_exact(void **state)
{
    (void)state;
    static struct history_ring ring, other;
    struct history_shape shape = {0};
    struct history h, fresh;
    uint32_t seed = 2, pushed[3000];

    history__init(&h);
    history__init(&fresh);

    assert_int_equal(history_shape__add(&shape, 12, 4, 640), 0);
    assert_int_equal(history_shape__add(&shape, 6, 4, 130), 12);
    assert_int_equal(shape.length[0], 4);
    assert_int_equal(shape.length[11], 640);
    for (unsigned k = 0; k < 3000; ++k) {
        struct history before = h;
        history__push(&h, &ring, &shape, pushed[k] = next_random(&seed));
        struct history after = h;
        history__undo(&after, &ring, &shape);
        assert_memory_equal(after.fold, before.fold, sizeof before.fold);
        assert_int_equal(after.head, before.head);
        assert_true(after.power == before.power && after.inverse == before.inverse);
    }
    /* a fold depends on nothing but its window */
    for (unsigned k = 3000 - 640; k < 3000; ++k)
        history__push(&fresh, &other, &shape, pushed[k]);
    for (uint32_t k = 0; k < shape.n; ++k)
        assert_true(history__fold(&fresh, k) == history__fold(&h, k));
}

static void impossible_cores_are_refused(void **state)
{
    (void)state;
    struct status st;
    struct core core = core_of(0);

    core.tage_tables = 99;
    assert_null(predictor__new(&core, &st));
    assert_non_null(strstr(st.text, "tage_tables"));
    core = core_of(0);
    core.btb_ways = 3;
    assert_null(predictor__new(&core, &st));
}

/* A program-like mixture; the figure to watch when the predictor changes. */
static double mixture(unsigned which, unsigned n, unsigned *missed)
{
    struct predictor *p = predictor_of(which);
    struct timespec begin, end;
    uint32_t seed = 1;
    struct prediction out;

    *missed = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (unsigned k = 0; k < n; k += 8) {
        uint64_t at = CODE + (k / 8 % 97) * 128;
        uint32_t r = next_random(&seed);
        *missed += cond(p, at, at + 16, k % 3 == 0);
        *missed += cond(p, at + 16, at + 40, (r & 31) == 0);
        *missed += cond(p, at + 40, at + 64, k % 5 != 0);
        *missed += step(p, BRANCH_CALL, at + 64, CODE + 0x8000, true, CODE + 0x8000, &out);
        *missed += cond(p, CODE + 0x8010, CODE + 0x8040, k / 8 % 2);
        *missed += cond(p, CODE + 0x8050, CODE + 0x8080, k / 8 % 7 == 0);
        *missed += step(p, BRANCH_RET, CODE + 0x8090, 0, true, at + 68, &out);
        *missed += step(p, BRANCH_JUMP, at + 100, CODE, true, CODE, &out);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    predictor__free(p);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / n;
}

static void speed(void **state)
{
    (void)state;
    for (unsigned which = 0; which < CORES; ++which) {
        unsigned missed, again;
        double ns = mixture(which, 2000000, &missed);
        printf("  %s %.1f ns a branch, %.4f mispredicted\n", core_of(which).name, ns, missed / 2e6);
        mixture(which, 2000000, &again);
        assert_int_equal(missed, again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_branches),
        cmocka_unit_test(alternating_branch),
        cmocka_unit_test(loop_trip_counts),
        cmocka_unit_test(history_counts_loops),
        cmocka_unit_test(loop_predictor_counts),
        cmocka_unit_test(correlated_branches),
        cmocka_unit_test(random_branch_cannot_be_predicted),
        cmocka_unit_test(unknown_conditional_branches),
        cmocka_unit_test(indirect_targets),
        cmocka_unit_test(first_indirect_has_no_target),
        cmocka_unit_test(return_stack_depth),
        cmocka_unit_test(return_underflow),
        cmocka_unit_test(call_to_next_instruction_pushes_nothing),
        cmocka_unit_test(btb_capacity),
        cmocka_unit_test(never_taken_branches_do_not_occupy_the_btb),
        cmocka_unit_test(wrong_path_is_a_guess_from_the_branch_on),
        cmocka_unit_test(wrong_path_sees_the_return_stack),
        cmocka_unit_test(history_undo_is_exact),
        cmocka_unit_test(impossible_cores_are_refused),
        cmocka_unit_test(speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
