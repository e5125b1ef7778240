/* SPDX-License-Identifier: Apache-2.0 */
/* Golden tests of the views. REBASE=1 in the environment rewrites the files in tests/golden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "fathom/profile.h"
#include "fathom/view.h"
#include "test_profile_fixture.h"

#ifndef FATHOM_SOURCE_DIR
#define FATHOM_SOURCE_DIR "."
#endif

static char *render_text(const struct profile *profile, const struct text_options *opt)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    view__text(profile, opt, out);
    fclose(out);
    return text;
}

static char *render_json(const struct profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    view__json(profile, out);
    fclose(out);
    return text;
}

static char *read_golden(const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (in) {
        size_t n = fread(text, 1, (1 << 20) - 1, in);
        text[n] = '\0';
        fclose(in);
    }
    return text;
}

static void check_golden(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s", FATHOM_SOURCE_DIR, name);
    if (getenv("REBASE")) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(text, out);
        assert_int_equal(fclose(out), 0);
        return;
    }
    char *golden = read_golden(path);
    if (strcmp(golden, text) != 0)
        print_message("%s differs; look at the new text and run the test with REBASE=1:\n%s\n", path, text);
    assert_string_equal(golden, text);
    free(golden);
}

static void check_text(const char *golden, const struct text_options *opt)
{
    struct profile *profile = fixture__profile();
    char *text = render_text(profile, opt);
    check_golden(golden, text);
    free(text);
    profile__free(profile);
}

static void test_text(void **state)
{
    (void)state;
    check_text("report.txt", &(struct text_options){0});
    check_text("report-all.txt", &(struct text_options){.all = true});
    check_text("report-level.txt", &(struct text_options){.all = true, .level = 2, .functions = 2});
    check_text("report-compare.txt", &(struct text_options){.compare = true});
    check_text("report-color.txt", &(struct text_options){.color = true});
}

static void test_copies(void **state)
{
    (void)state;
    struct profile *profile = fixture__profile();
    fixture__copies(profile);
    assert_true(profile__throughput(profile) == 1);
    char *text = render_text(profile, &(struct text_options){0}), *json = render_json(profile);
    check_golden("report-copies.txt", text);
    check_golden("report-copies.json", json);
    free(text);
    free(json);
    profile__free(profile);
}

static void test_json(void **state)
{
    (void)state;
    struct profile *profile = fixture__profile();
    char *text = render_json(profile);
    check_golden("report.json", text);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (!root)
        fail_msg("%s at line %d", error.text, error.line);
    static const char *const key[] = {"fathom",        "schema_version",
                                      "run",           "totals",
                                      "trees",         "stacks",
                                      "functions",     "modules",
                                      "places",        "places_total",
                                      "events",        "verdict",
                                      "host",          "unknown_instructions",
                                      "nondeterminism"};
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++)
        assert_non_null(json_object_get(root, key[i]));
    double share = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(root, "functions")); i++)
        share += json_number_value(
            json_object_get(json_array_get(json_object_get(root, "functions"), i), "share"));
    assert_true(share > 0.984 && share < 0.985); /* 63/64 */
    json_decref(root);
    free(text);
    profile__free(profile);
}

/* A report stays inside 100 columns and free of control characters whatever the profile holds. */
static void test_text_is_safe(void **state)
{
    (void)state;
    struct profile *profile = fixture__profile();
    free(profile->function[0].name);
    profile->function[0].name = strdup("\xff\x80\x1b]0;title\x07 \xc3");
    free(profile->verdict);
    profile->verdict = strdup("\x9b"
                              "31m a\nb\rc\xc2\x9b");
    char *text = render_text(profile, &(struct text_options){0});
    int column = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        assert_true(*p == '\n' || (*p >= 0x20 && *p != 0x7f));
        assert_false(*p == 0xc2 && p[1] < 0xa0);
        if ((*p & 0xc0) != 0x80)
            column++;
        if (*p == '\n') {
            assert_true(column <= 101);
            column = 0;
        }
    }
    free(text);
    profile__free(profile);
}

static void test_empty(void **state)
{
    (void)state;
    struct profile *profile = profile__new();
    char *text = render_text(profile, NULL), *json = render_json(profile);
    check_golden("report-empty.txt", text);
    check_golden("report-empty.json", json);
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    json_decref(root);
    struct text_options compare = {.compare = true, .all = true};
    free(text);
    text = render_text(profile, &compare);
    free(text);
    free(json);
    profile__free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_copies), cmocka_unit_test(test_json),
        cmocka_unit_test(test_text_is_safe), cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
