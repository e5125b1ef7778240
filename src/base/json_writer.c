/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

void json__init(struct json_writer *json, FILE *out, int indent)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
    json->indent = indent;
}

static void new_line(struct json_writer *json)
{
    if (json->indent && !json->inlined[json->depth])
        fprintf(json->out, "\n%*s", json->indent * json->depth, "");
}

/* What must stand before a value (or, in an object, before a key). */
static void separate(struct json_writer *json)
{
    if (json->depth == 0)
        return;
    if (json->not_empty[json->depth])
        fputs(json->inlined[json->depth] && json->indent ? ", " : ",", json->out);
    json->not_empty[json->depth] = true;
    new_line(json);
}

static void before_value(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    assert(!json->is_object[json->depth] && "a value inside an object needs a key");
    separate(json);
}

static void open_level(struct json_writer *json, bool is_object, bool inlined)
{
    before_value(json);
    fputc(is_object ? '{' : '[', json->out);
    assert(json->depth + 1 < JSON_MAX_DEPTH);
    inlined = inlined || json->inlined[json->depth];
    json->depth++;
    json->is_object[json->depth] = is_object;
    json->not_empty[json->depth] = false;
    json->inlined[json->depth] = inlined;
}

static void close_level(struct json_writer *json, bool is_object)
{
    bool not_empty = json->not_empty[json->depth], inlined = json->inlined[json->depth];

    (void)is_object;
    assert(json->depth > 0 && json->is_object[json->depth] == is_object && !json->after_key);
    json->depth--;
    if (not_empty && json->indent && !inlined)
        fprintf(json->out, "\n%*s", json->indent * json->depth, "");
    fputc(is_object ? '}' : ']', json->out);
}

void json__object_begin(struct json_writer *json)
{
    open_level(json, true, false);
}

void json__object_begin_inline(struct json_writer *json)
{
    open_level(json, true, true);
}

void json__object_end(struct json_writer *json)
{
    close_level(json, true);
}

void json__array_begin(struct json_writer *json)
{
    open_level(json, false, false);
}

void json__array_begin_inline(struct json_writer *json)
{
    open_level(json, false, true);
}

void json__array_end(struct json_writer *json)
{
    close_level(json, false);
}

/* Length of the UTF-8 character at `p`, 0 if it is none (overlong, surrogate, beyond U+10FFFF, cut). */
static unsigned utf8_length(const unsigned char *p)
{
    uint32_t code;
    unsigned n;

    if (p[0] < 0x80)
        return 1;
    n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    code = p[0] & (0x7fu >> n);
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

static void put_string(struct json_writer *json, const char *text)
{
    static const char escaped[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
    const unsigned char *p = (const unsigned char *)text;

    fputc('"', json->out);
    while (*p) {
        const char *found = strchr(escaped, *p);
        unsigned n = utf8_length(p);

        if (found)
            fprintf(json->out, "\\%c", letter[found - escaped]);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(json->out, "\\u%04x", *p);
        else if (n == 0)
            fputs("\\ufffd", json->out);
        else
            fwrite(p, 1, n, json->out);
        p += n ? n : 1;
    }
    fputc('"', json->out);
}

void json__key(struct json_writer *json, const char *key)
{
    assert(json->depth > 0 && json->is_object[json->depth] && !json->after_key);
    separate(json);
    put_string(json, key);
    fputs(json->indent ? ": " : ":", json->out);
    json->after_key = true;
}

void json__string(struct json_writer *json, const char *text)
{
    before_value(json);
    if (text)
        put_string(json, text);
    else
        fputs("null", json->out);
}

void json__int(struct json_writer *json, int64_t value)
{
    before_value(json);
    fprintf(json->out, "%" PRId64, value);
}

void json__uint(struct json_writer *json, uint64_t value)
{
    before_value(json);
    fprintf(json->out, "%" PRIu64, value);
}

void json__double(struct json_writer *json, double value)
{
    char buf[TEXT_DOUBLE_MAX];

    before_value(json);
    fputs(isfinite(value) ? text__from_double(value, buf) : "null", json->out);
}

void json__bool(struct json_writer *json, bool value)
{
    before_value(json);
    fputs(value ? "true" : "false", json->out);
}

void json__null(struct json_writer *json)
{
    before_value(json);
    fputs("null", json->out);
}

void json__end(struct json_writer *json)
{
    assert(json->depth == 0 && !json->after_key);
    fputc('\n', json->out);
}

void json__key_string(struct json_writer *json, const char *key, const char *text)
{
    json__key(json, key);
    json__string(json, text);
}

void json__key_int(struct json_writer *json, const char *key, int64_t value)
{
    json__key(json, key);
    json__int(json, value);
}

void json__key_uint(struct json_writer *json, const char *key, uint64_t value)
{
    json__key(json, key);
    json__uint(json, value);
}

void json__key_double(struct json_writer *json, const char *key, double value)
{
    json__key(json, key);
    json__double(json, value);
}

void json__key_bool(struct json_writer *json, const char *key, bool value)
{
    json__key(json, key);
    json__bool(json, value);
}
