/* SPDX-License-Identifier: Apache-2.0 */
/* A streaming JSON writer: the same calls give the same bytes. */
#ifndef FATHOM_BASE_JSON_WRITER_H
#define FATHOM_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_MAX_DEPTH = 32 };

/*
 * Nesting mistakes are asserted. Inside an object every value follows a json__key. Text that is not
 * UTF-8 comes out with U+FFFD for each wrong byte, so that the output is JSON whatever comes in.
 */
struct json_writer {
    FILE *out;
    int indent; /* spaces a level; 0: one line */
    int depth;
    bool after_key;
    bool is_object[JSON_MAX_DEPTH], not_empty[JSON_MAX_DEPTH], inlined[JSON_MAX_DEPTH];
};

void json__init(struct json_writer *json, FILE *out, int indent);
void json__object_begin(struct json_writer *json);
void json__object_end(struct json_writer *json);
void json__array_begin(struct json_writer *json);
/* An array or object whose members stay on the line it begins on, whatever the indentation. */
void json__array_begin_inline(struct json_writer *json);
void json__object_begin_inline(struct json_writer *json);
void json__array_end(struct json_writer *json);
void json__key(struct json_writer *json, const char *key);
void json__string(struct json_writer *json, const char *text); /* NULL gives null */
void json__int(struct json_writer *json, int64_t value);
void json__uint(struct json_writer *json, uint64_t value);
void json__double(struct json_writer *json, double value); /* shortest; not finite gives null */
void json__bool(struct json_writer *json, bool value);
void json__null(struct json_writer *json);
/* Ends the text with a newline; asserts that everything is closed. */
void json__end(struct json_writer *json);

/* key and value in one */
void json__key_string(struct json_writer *json, const char *key, const char *text);
void json__key_int(struct json_writer *json, const char *key, int64_t value);
void json__key_uint(struct json_writer *json, const char *key, uint64_t value);
void json__key_double(struct json_writer *json, const char *key, double value);
void json__key_bool(struct json_writer *json, const char *key, bool value);

#endif
