/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/vector.h"
#include "fathom/status.h"

static void test_status(void **state)
{
    struct status st = {0};

    (void)state;
    assert_int_equal(status__fail(&st, "%s: %d", "x", 7), -1);
    assert_int_equal(st.exit_code, EXIT_CODE_TOOL);
    assert_string_equal(st.text, "x: 7");
    assert_int_equal(status__fail_with(&st, EXIT_CODE_NOT_FOUND, "%2000d", 1), -1);
    assert_int_equal(st.exit_code, 127);
    assert_int_equal(strlen(st.text), sizeof(st.text) - 1);
    assert_int_equal(status__fail(NULL, "nobody listens"), -1);
}

static void test_arena(void **state)
{
    struct arena arena = {0};
    unsigned char *small = arena__alloc(&arena, 3), *large = arena__alloc(&arena, 1 << 20);
    char *text = arena__printf(&arena, "%s-%d", "abc", 42);

    (void)state;
    assert_non_null(small);
    assert_non_null(large);
    assert_int_equal((uintptr_t)small % _Alignof(max_align_t), 0);
    assert_int_equal((uintptr_t)large % _Alignof(max_align_t), 0);
    assert_int_equal(small[0] | small[2] | large[0] | large[(1 << 20) - 1], 0);
    assert_string_equal(text, "abc-42");
    assert_string_equal(arena__strdup(&arena, "copy"), "copy");
    assert_ptr_not_equal(arena__alloc(&arena, 0), arena__alloc(&arena, 0));
    assert_null(arena__array(&arena, SIZE_MAX / 2, 8));
    assert_null(arena__alloc(&arena, SIZE_MAX - 4));
    memset(large, 0xff, 1 << 20);
    arena__reset(&arena);
    assert_int_equal(arena.used_bytes, 0);
    for (int i = 0; i < 10000; i++) {
        unsigned char *p = arena__alloc(&arena, (size_t)(i % 100));

        for (int k = 0; k < i % 100; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0xff, (size_t)(i % 100));
    }
    arena__free(&arena);
    assert_null(arena.head);
}

static void test_vector(void **state)
{
    VECTOR(int) v = {0};
    int *added;

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_true(vector__push(&v, i));
    assert_int_equal(v.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.item[i], i);
    added = vector__add(&v);
    assert_non_null(added);
    assert_int_equal(*added, 0);
    assert_int_equal(v.n, 1001);
    assert_false(vector__reserve(&v, SIZE_MAX / 2));
    assert_int_equal(v.n, 1001);
    vector__free(&v);
    assert_null(v.item);
    assert_int_equal(v.n + v.cap, 0);
}

static void test_hash(void **state)
{
    (void)state;
    /* The published test vectors of FNV-1a. */
    assert_true(hash__bytes("", 0) == 0xcbf29ce484222325ULL);
    assert_true(hash__bytes("a", 1) == 0xaf63dc4c8601ec8cULL);
    assert_true(hash__string("foobar") == 0x85944171f73967e8ULL);
    assert_true(hash__mix(1) != hash__mix(2));
    for (uint64_t i = 0; i < 64; i++) {
        int changed = __builtin_popcountll(hash__mix(1ULL << i) ^ hash__mix(0));

        assert_in_range(changed, 8, 56);
    }
}

static void check_double(double value, const char *want)
{
    char buf[TEXT_DOUBLE_MAX];

    assert_string_equal(text__from_double(value, buf), want);
}

static void test_numbers(void **state)
{
    const char *end;
    uint64_t u;
    double d;

    (void)state;
    check_double(0, "0");
    check_double(0.1, "0.1");
    check_double(1.0 / 3, "0.3333333333333333");
    check_double(64.5, "64.5");
    check_double(1e100, "1e+100");
    check_double(-2.5e-9, "-2.5e-09");
    check_double(5e-324, "5e-324");
    check_double(9007199254740993.0, "9007199254740992");
    check_double(NAN, "nan");
    check_double(-INFINITY, "-inf");
    assert_true(text__to_u64("18446744073709551615", &u) && u == UINT64_MAX);
    assert_true(text__to_u64("0x1F", &u) && u == 31);
    assert_false(text__to_u64("18446744073709551616", &u));
    assert_false(text__to_u64("", &u) || text__to_u64("0x", &u) || text__to_u64("-1", &u));
    assert_false(text__to_u64("12a", &u) || text__to_u64(" 1", &u) || text__to_u64("ff", &u));
    assert_true(text__to_double("2.5e3 MHz", &d, &end) && d == 2500 && strcmp(end, " MHz") == 0);
    assert_true(text__to_double("4KiB", &d, &end) && d == 4 && strcmp(end, "KiB") == 0);
    assert_true(text__to_double("1e", &d, &end) && d == 1 && strcmp(end, "e") == 0);
    assert_true(text__to_double("-.5", &d, &end) && d == -0.5);
    assert_false(text__to_double("", &d, &end) || text__to_double(".", &d, &end));
    assert_false(text__to_double("1.2.3", &d, &end) || text__to_double("nan", &d, &end));
    assert_false(text__to_double("1e999", &d, &end) || text__to_double("0x10", &d, &end) == (d != 0));
}

static void test_text(void **state)
{
    char spaces[] = " \t a b \n", empty[] = "  ";
    char *text = text__printf("%d-%s", 5, "x");

    (void)state;
    assert_string_equal(text, "5-x");
    free(text);
    assert_string_equal(text__trim(spaces), "a b");
    assert_string_equal(text__trim(empty), "");
    assert_true(text__starts_with("fathom", "fat") && !text__starts_with("fa", "fat"));
    assert_true(text__ends_with("skl.core", ".core") && !text__ends_with("core", ".core"));
    assert_int_equal(text__distance("rob", "rob", 3), 0);
    assert_int_equal(text__distance("robe", "rob", 3), 1);
    assert_int_equal(text__distance("kitten", "sitting", 5), 3);
    assert_int_equal(text__distance("abc", "xyzuvw", 2), 3);
}

static char *json_of(int indent, void (*write)(struct json_writer *))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct json_writer json;

    json__init(&json, out, indent);
    write(&json);
    json__end(&json);
    fclose(out);
    return text;
}

static void write_sample(struct json_writer *json)
{
    json__object_begin(json);
    json__key_string(json, "a\"b", "line\nquote\" back\\ \x01 \x7f \xc3\xa4 \xff\xc0\x80 \xed\xa0\x80");
    json__key(json, "n");
    json__array_begin_inline(json);
    json__int(json, -5);
    json__uint(json, UINT64_MAX);
    json__double(json, 0.1);
    json__double(json, NAN);
    json__bool(json, true);
    json__null(json);
    json__string(json, NULL);
    json__array_end(json);
    json__key(json, "empty");
    json__array_begin(json);
    json__array_end(json);
    json__key(json, "o");
    json__object_begin(json);
    json__key_bool(json, "x", false);
    json__key_double(json, "y", INFINITY);
    json__object_end(json);
    json__object_end(json);
}

static void test_json(void **state)
{
    char *line = json_of(0, write_sample), *pretty = json_of(2, write_sample);

    (void)state;
    assert_string_equal(line, "{\"a\\\"b\":\"line\\nquote\\\" back\\\\ \\u0001 \\u007f \xc3\xa4 "
                              "\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\","
                              "\"n\":[-5,18446744073709551615,0.1,null,true,null,null],"
                              "\"empty\":[],\"o\":{\"x\":false,\"y\":null}}\n");
    assert_non_null(strstr(pretty, "\n  \"n\": [-5, 18446744073709551615, 0.1, null, true, null, null],\n"));
    assert_non_null(
        strstr(pretty, "  \"empty\": [],\n  \"o\": {\n    \"x\": false,\n    \"y\": null\n  }\n}\n"));
    free(line);
    free(pretty);
}

static void test_file(void **state)
{
    char folder[] = "/tmp/test_base-XXXXXX", path[64], *text;
    struct file_writer writer;
    struct status st = {0};
    struct stat info;
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    assert_int_equal(file__write(path, "one", 3, &st), 0);
    text = file__read(path, 100, &size, &st);
    assert_string_equal(text, "one");
    assert_int_equal(size, 3);
    free(text);
    assert_null(file__read(path, 2, &size, &st));
    assert_non_null(strstr(st.text, path));

    /* Given up: the old file stays and nothing lies beside it. */
    assert_int_equal(file__begin(&writer, path, &st), 0);
    fputs("two", writer.out);
    file__abandon(&writer);
    text = file__read(path, 100, &size, &st);
    assert_string_equal(text, "one");
    free(text);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(file__write(path, "three", 5, &st), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(info.st_size, 5);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);

    assert_int_equal(file__write(path, "x", 1, &st), -1);
    assert_non_null(strstr(st.text, path));
    assert_null(file__read(path, 100, &size, &st));
    assert_non_null(strstr(st.text, path));
    text = file__beside_executable("x");
    assert_true(text && text[0] == '/' && text__ends_with(text, "/x"));
    free(text);
}

/* Standard error of a test is no terminal, or the two seconds have not passed: nothing is shown. */
static void test_progress(void **state)
{
    struct progress progress;

    (void)state;
    progress__init(&progress);
    assert_false(progress__due(&progress));
    progress__show(&progress, "%d %%", 5);
    assert_false(progress.shown);
    progress__clear(&progress);
    assert_true(progress__seconds(&progress) >= 0);
}

/* The line itself, on a stream instead of the terminal. */
static void test_progress_line(void **state)
{
    struct progress progress = {.width = 11};
    char *text = NULL;
    size_t size;

    (void)state;
    progress.out = open_memstream(&text, &size);
    progress__show(&progress, "%s", "0123456789abcdef");
    assert_true(progress.shown);
    progress__show(&progress, "too soon after the first");
    progress__clear(&progress);
    assert_false(progress.shown);
    progress__clear(&progress);
    fclose(progress.out);
    assert_string_equal(text, "\r\033[K0123456789\r\033[K");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),        cmocka_unit_test(test_arena),   cmocka_unit_test(test_vector),
        cmocka_unit_test(test_hash),          cmocka_unit_test(test_numbers), cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),          cmocka_unit_test(test_file),    cmocka_unit_test(test_progress),
        cmocka_unit_test(test_progress_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
