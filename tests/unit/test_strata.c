/* SPDX-License-Identifier: Apache-2.0 */
/* Estimation from windows: known answers, strata with too few windows, and how often the interval holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "fathom/strata.h"

static void close_to(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void test_whole_is_exact(void **state)
{
    struct stratum s[2] = {{.whole = true, .instructions = 1000}};
    struct strata_estimate e;

    (void)state;
    stratum__add(&s[0], 1000, 700);
    strata__estimate(s, 2, &e);
    close_to(e.cycles, 700, 0);
    assert_true(e.error == 0);
    assert_true(e.scale[0] == 1 && e.scale[1] == 0);
}

/* Three windows of 100 instructions with 100, 200 and 300 cycles, 30000 instructions: by hand, mean CPI 2,
 * standard deviation 1, of the mean 1 / sqrt(3). */
static void test_known_answer(void **state)
{
    struct stratum s[1] = {{.instructions = 30000, .period = 10000}};
    struct strata_estimate e;

    (void)state;
    for (uint64_t c = 100; c <= 300; c += 100)
        stratum__add(&s[0], 100, c);
    strata__estimate(s, 1, &e);
    close_to(e.cycles, 60000, 1e-12);
    assert_int_equal(e.freedom, 2);
    close_to(e.error, 19.21 * 30000 / sqrt(3), 1e-12);
    close_to(e.scale[0], 100, 1e-12);
}

/* Windows of different lengths: cycles in proportion to instructions have no residual. */
static void test_ratio(void **state)
{
    struct stratum s[1] = {{.instructions = 5000, .period = 1000}};
    struct strata_estimate e;

    (void)state;
    for (uint64_t u = 90; u <= 110; u += 5)
        stratum__add(&s[0], u, 3 * u);
    strata__estimate(s, 1, &e);
    close_to(e.cycles, 15000, 1e-12);
    assert_true(e.error < 1e-3);
}

/* Strata count by their instructions, however many windows they have; errors add in squares. */
static void test_strata_are_weighted(void **state)
{
    struct stratum s[3] = {{.whole = true, .instructions = 500},
                           {.instructions = 1000, .period = 100},
                           {.instructions = 100000, .period = 10000}};
    struct strata_estimate e, one;

    (void)state;
    stratum__add(&s[0], 500, 1500);
    for (int k = 0; k < 10; k++) {
        stratum__add(&s[1], 10, k % 2 ? 40 : 60);
        stratum__add(&s[2], 10, k % 2 ? 9 : 11);
    }
    strata__estimate(s, 3, &e);
    close_to(e.cycles, 1500 + 5000 + 100000, 1e-12);
    assert_int_equal(e.freedom, 18);
    close_to(e.scale[1], 10, 1e-12);
    close_to(e.scale[2], 1000, 1e-12);
    strata__estimate(&s[2], 1, &one);
    double big = one.error / strata__three_sigma(one.freedom);
    strata__estimate(&s[1], 1, &one);
    double small = one.error / strata__three_sigma(one.freedom);
    close_to(e.error, strata__three_sigma(18) * sqrt(big * big + small * small), 1e-12);
}

/* One window has no variance: its stratum joins the one before, and its window counts by its period. */
static void test_thin_stratum_joins(void **state)
{
    struct stratum s[2] = {{.instructions = 1000, .period = 100}, {.instructions = 900, .period = 1000}};
    struct strata_estimate e;

    (void)state;
    for (int k = 0; k < 10; k++)
        stratum__add(&s[0], 10, 20);
    stratum__add(&s[1], 10, 40);
    strata__estimate(s, 2, &e);
    close_to(e.cycles, 1900 * (10 * 100 * 20 + 1000 * 40.0) / (10 * 100 * 10 + 1000 * 10.0), 1e-12);
    assert_int_equal(e.freedom, 10);
    assert_true(e.error > 0);
    close_to(e.scale[1] / e.scale[0], 10, 1e-12);
    s[1].n = 0; /* none at all */
    s[1].insns = s[1].cycles = s[1].insns2 = s[1].cycles2 = s[1].product = 0;
    strata__estimate(s, 2, &e);
    close_to(e.cycles, 1900 * 2, 1e-12);
}

static void test_too_few_windows_have_no_interval(void **state)
{
    struct stratum s[2] = {{.whole = true, .instructions = 1000}, {.instructions = 500, .period = 1000}};
    struct strata_estimate e;

    (void)state;
    stratum__add(&s[0], 1000, 2000);
    strata__estimate(s, 2, &e); /* no window: taken to be like the beginning */
    close_to(e.cycles, 3000, 1e-12);
    assert_true(isnan(e.error));
    close_to(e.scale[0], 1.5, 1e-12);
    stratum__add(&s[1], 100, 300);
    strata__estimate(s, 2, &e);
    close_to(e.cycles, 2000 + 1500, 1e-12);
    assert_true(isnan(e.error));
}

static void test_student(void **state)
{
    (void)state;
    assert_true(strata__three_sigma(1) > 200);
    for (unsigned k = 1; k < 2000; k++)
        assert_true(strata__three_sigma(k) >= strata__three_sigma(k + 1) && strata__three_sigma(k) >= 3.0);
    assert_true(strata__three_sigma(100) < 3.08 && strata__three_sigma(5000) == 3.0);
}

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* A thousand made-up programs of two phases, one window in ten: the interval must hold the truth in all but
 * some, and be no wider than the spread of the estimates demands. */
static void test_coverage(void **state)
{
    enum { PROGRAMS = 1000, PERIODS = 200, EVERY = 10 };
    uint64_t seed = 1;
    unsigned inside = 0;
    double deviation2 = 0, width2 = 0;

    (void)state;
    for (unsigned program = 0; program < PROGRAMS; program++) {
        struct stratum s[1] = {{.instructions = PERIODS * EVERY * 100, .period = EVERY * 100}};
        struct strata_estimate e;
        uint64_t truth = 0;
        for (unsigned period = 0; period < PERIODS; period++) {
            uint64_t chosen = draw(&seed) % EVERY;
            for (unsigned k = 0; k < EVERY; k++) {
                uint64_t c = 80 + draw(&seed) % 40 + (draw(&seed) % 5 == 0 ? 150 : 0);
                truth += c;
                if (k == chosen)
                    stratum__add(&s[0], 100, c);
            }
        }
        strata__estimate(s, 1, &e);
        double off = e.cycles - (double)truth;
        inside += fabs(off) <= e.error;
        deviation2 += off * off;
        width2 += e.error * e.error / 9;
    }
    assert_true(inside >= PROGRAMS - 10);
    assert_true(width2 < 1.4 * deviation2 && width2 > 0.9 * deviation2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_is_exact),
        cmocka_unit_test(test_known_answer),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_strata_are_weighted),
        cmocka_unit_test(test_thin_stratum_joins),
        cmocka_unit_test(test_too_few_windows_have_no_interval),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_coverage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
