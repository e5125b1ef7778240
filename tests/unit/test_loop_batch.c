/* SPDX-License-Identifier: Apache-2.0 */
/* CSV in and out: order, quotes, unusable rows, cores and measurements of their own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fathom/loop_report.h"
#include "fathom/status.h"
#include "loop/asm.h"
#include "loop/batch.h"

#define ADDS "4801d84801d149ffcf75f5" /* 1 cycle on skl, 20/19 on snb */

struct run {
    char *out, *messages;
    struct batch_result result;
    struct status st;
    int rc;
};

static void run(struct run *r, const char *csv, const struct batch_options *opt)
{
    size_t a, b;
    char *text = strdup(csv);
    FILE *out = open_memstream(&r->out, &a), *messages = open_memstream(&r->messages, &b);
    memset(&r->result, 0, sizeof r->result);
    r->rc = batch__run(text, strlen(csv), "b.csv", opt, out, messages, &r->result, &r->st);
    fclose(out);
    fclose(messages);
    free(text);
}

static void done(struct run *r)
{
    free(r->out);
    free(r->messages);
}

static const struct batch_options plain = {.core = "skl", .registers = LOOP_REGISTERS_STACK};

static void keeps_order_and_quotes(void **state)
{
    struct run r;
    (void)state;
    run(&r, "\xef\xbb\xbfhex,id\r\n" ADDS ",b\r\n\r\n90,\"a,\"\"x\"\"\"\r\n" ADDS ",\"two\nlines\"", &plain);
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.messages, "");
    assert_string_equal(r.out, "id,cycles\nb,1.00\n\"a,\"\"x\"\"\",0.25\n\"two\nlines\",1.00\n");
    assert_int_equal(r.result.n_rows, 3);
    done(&r);
}

static void goes_on_after_unusable_rows(void **state)
{
    struct run r;
    (void)state;
    run(&r,
        "id,core,hex\n"
        "ok,skl," ADDS "\n"
        "core,i386," ADDS "\n"
        "few,skl\n"
        "many,skl,90,90\n"
        "digit,skl,9g\n"
        "cut,skl,4801\n"
        "empty,skl,\n"
        "call,skl,e800000000\n"
        "inner,skl,750090\n"
        "quote,skl,\"90\n",
        &plain);
    assert_int_equal(r.rc, 0);
    assert_string_equal(
        r.out, "id,cycles\nok,1.00\ncore,\nfew,\nmany,\ndigit,\ncut,\nempty,\ncall,\ninner,\nquote,\n");
    assert_int_equal(r.result.n_failed, 9);
    static const char *const wanted[] = {
        "b.csv:3: there is no core \"i386\"",
        "b.csv:4: 2 fields, but the header has 3",
        "b.csv:5: 4 fields",
        "b.csv:6: hex: the byte that starts",
        "b.csv:7: byte 0 of 2: the instruction that starts with 48 01 is cut",
        "b.csv:8: the block is empty",
        "is a call",
        "is a branch inside the block",
        "b.csv:11: quotes are not closed",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!strstr(r.messages, wanted[i]))
            fail_msg("no \"%s\" in:\n%s", wanted[i], r.messages);
    done(&r);
}

static void knows_cores_alignments_and_measurements(void **state)
{
    struct run r;
    (void)state;
    run(&r,
        "id,core,alignment,measured,hex\n"
        "1,snb,0,1.06," ADDS "\n"
        "2,,13,2.0," ADDS "\n"
        "3,skl,,," ADDS "\n"
        "4,skl,x,1," ADDS "\n"
        "5,skl,0,-1," ADDS "\n",
        &plain);
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "id,cycles,fidelity\n1,1.05"));
    assert_non_null(strstr(r.out, "\n2,1.00,0.5\n3,1.00,\n4,,\n5,,\n"));
    assert_non_null(strstr(r.messages, "b.csv:5: the alignment 'x'"));
    assert_non_null(strstr(r.messages, "b.csv:6: the measurement '-1'"));
    assert_int_equal(r.result.n_measured, 2);
    assert_true(r.result.fidelity > 0.74 && r.result.fidelity <= 0.75 + 1e-9);
    done(&r);
}

static void refuses_a_bad_header(void **state)
{
    struct run r;
    (void)state;
    run(&r, "", &plain);
    assert_int_equal(r.rc, -1);
    assert_non_null(strstr(r.st.text, "b.csv is empty"));
    done(&r);
    run(&r, "id,code\n1,90\n", &plain);
    assert_int_equal(r.rc, -1);
    assert_non_null(strstr(r.st.text, "no column hex"));
    done(&r);
}

/* The same bytes whatever the number of threads, over several chunks. */
static void does_not_depend_on_threads(void **state)
{
    struct batch_options two = plain;
    struct run a, b;
    char *csv = malloc(5000 * 40), *p = csv;
    (void)state;
    p += sprintf(p, "id,hex,core\n");
    for (int i = 0; i < 4500; i++)
        p += sprintf(p, "%d,%s,%s\n", i, i % 7 ? i % 3 ? "4801d84801d1" : "480fafc3" : "zz",
                     i % 2 ? "snb" : "skl");
    two.threads = 3;
    two.bounds_only = true;
    run(&b, csv, &two);
    two.threads = 1;
    run(&a, csv, &two);
    assert_string_equal(a.out, b.out);
    assert_string_equal(a.messages, b.messages);
    assert_int_equal(a.result.n_rows, 4500);
    assert_int_equal(a.result.n_failed, 643);
    done(&a);
    done(&b);
    free(csv);
}

static void fidelity_is_one_minus_relative_error(void **state)
{
    (void)state;
    assert_true(fabs(loop_report__fidelity(9, 10) - 0.9) < 1e-12);
    assert_true(fabs(loop_report__fidelity(12, 10) - 0.8) < 1e-12);
    assert_true(isnan(loop_report__fidelity(1, NAN)) && isnan(loop_report__fidelity(NAN, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order_and_quotes),
        cmocka_unit_test(goes_on_after_unusable_rows),
        cmocka_unit_test(knows_cores_alignments_and_measurements),
        cmocka_unit_test(refuses_a_bad_header),
        cmocka_unit_test(does_not_depend_on_threads),
        cmocka_unit_test(fidelity_is_one_minus_relative_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
