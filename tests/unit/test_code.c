/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fathom/source.h"

static void test_empty(void **state)
{
    struct code *code = code__new();

    (void)state;
    assert_non_null(code);
    assert_int_equal(code__count(code), 0);
    assert_null(code__find(code, 0));
    assert_null(code__find(code, 0x401000));
    code__free(code);
    code__free(NULL);
}

static void test_newest_wins(void **state)
{
    struct code *code = code__new();
    struct insn a = {0}, b = {0};
    struct site *first, *second, *third;

    (void)state;
    first = code__intern(code, 0x1000, &a);
    assert_ptr_equal(code__intern(code, 0x1000, &a), first);
    assert_int_equal(code__count(code), 1);
    second = code__intern(code, 0x1000, &b);
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(code__find(code, 0x1000), second);
    /* The old bytes come back: a new site again, the old ones stay what they were. */
    third = code__intern(code, 0x1000, &a);
    assert_int_equal(third->id, 2);
    assert_ptr_equal(first->insn, &a);
    assert_ptr_equal(second->insn, &b);
    assert_ptr_equal(code__site(code, 0), first);
    code__free(code);
}

static void test_address_zero_and_top(void **state)
{
    struct code *code = code__new();
    struct insn a = {0};

    (void)state;
    assert_int_equal(code__intern(code, 0, &a)->addr, 0);
    assert_true(code__intern(code, UINT64_MAX, &a)->addr == UINT64_MAX);
    assert_int_equal(code__find(code, 0)->id, 0);
    assert_int_equal(code__find(code, UINT64_MAX)->id, 1);
    code__free(code);
}

/* Growing moves neither sites nor what is known about them. */
static void test_many(void **state)
{
    enum { N = 100000 };
    struct code *code = code__new();
    struct insn a = {0}, b = {0};
    struct site *early;

    (void)state;
    early = code__intern(code, 0x400000, &a);
    for (uint32_t i = 1; i < N; i++)
        assert_int_equal(code__intern(code, 0x400000 + 3 * (uint64_t)i, i % 2 ? &b : &a)->id, i);
    assert_int_equal(code__count(code), N);
    assert_ptr_equal(code__find(code, 0x400000), early);
    for (uint32_t i = 0; i < N; i++) {
        struct site *site = code__find(code, 0x400000 + 3 * (uint64_t)i);

        assert_non_null(site);
        assert_int_equal(site->id, i);
        assert_ptr_equal(site, code__site(code, i));
        assert_null(code__find(code, 0x400001 + 3 * (uint64_t)i));
    }
    code__free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_newest_wins),
        cmocka_unit_test(test_address_zero_and_top),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
