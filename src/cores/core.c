/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core files: lines `key = value [unit]  # comment`, `[section]` headings for the reader. Every key of the
 * table occurs once; a file that begins with `base = NAME` starts from a built-in core and may leave keys
 * out. docs/cores.md is the reference for users.
 */
#include "fathom/core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cores/params.h"
#include "fathom/status.h"

enum { MAX_PARAMS = 160, MAX_FILE_BYTES = 1 << 20, MAX_LINE = 1024 };

/* Where a value came from while a file is read. */
enum seen { SEEN_NOT, SEEN_BASE, SEEN_FILE };

/* A description being read. */
struct reader {
    struct core *core;
    const char *origin;       /* file name for messages */
    uint8_t seen[MAX_PARAMS]; /* enum seen, by index into the table */
    bool any;                 /* something was set: too late for `base` */
    unsigned line;
    struct status *st;
};

static int parse_text(struct reader *reader, const char *text, const char *end);

static int no_such_core(const char *name, struct status *st)
{
    char list[128] = "";

    for (const char *const *n = core__names(); *n; n++) {
        strcat(list, *list ? ", " : "");
        strcat(list, *n);
    }
    return status__fail_with(
        st, EXIT_CODE_USAGE,
        "there is no core \"%.64s\"; built in are %s; a file of your own is named with a "
        "'/' or ends in .core",
        name, list);
}

static int load_builtin(struct core *core, const char *name, struct status *st)
{
    const struct builtin *builtin = builtin__find(name);
    char origin[64];

    if (!builtin)
        return no_such_core(name, st);
    snprintf(origin, sizeof(origin), "%s.core", builtin->name);
    return core__parse(core, builtin->text, (size_t)(builtin->end - builtin->text), origin, st);
}

int core__parse(struct core *core, const char *text, size_t size, const char *origin, struct status *st)
{
    struct reader reader = {.core = core, .origin = origin, .st = st};

    memset(core, 0, sizeof(*core));
    if (memchr(text, '\0', size))
        return status__fail(st, "%s: is not a core file: it holds zero bytes", origin);
    return parse_text(&reader, text, text + size);
}

static int load_file(struct core *core, const char *path, struct status *st)
{
    size_t size;
    char *text = file__read(path, MAX_FILE_BYTES, &size, st);
    int rc;

    if (!text)
        return -1;
    rc = core__parse(core, text, size, path, st);
    free(text);
    return rc;
}

static int unknown_key(const char *place, const char *key, struct status *st)
{
    const char *like = params__suggest(key);

    return status__fail(st, "%s: there is no parameter \"%.64s\"%s%s%s", place, key,
                        like ? "; did you mean \"" : "", like ? like : "", like ? "\"?" : "");
}

static int parse_base(struct reader *reader, const char *value, const char *place)
{
    struct status inner;

    if (reader->any)
        return status__fail(reader->st, "%s: base must come before every other key", place);
    if (load_builtin(reader->core, value, &inner))
        return status__fail(reader->st, "%s: base: %s", place, inner.text);
    memset(reader->seen, SEEN_BASE, sizeof(reader->seen));
    reader->any = true;
    return 0;
}

static int parse_assignment(struct reader *reader, const char *key, const char *value, const char *place)
{
    const struct param *param = params__find(key);
    size_t n;
    size_t index;

    if (strcmp(key, "base") == 0)
        return parse_base(reader, value, place);
    if (!param)
        return unknown_key(place, key, reader->st);
    if (strcmp(param->key, key) != 0)
        return status__fail(reader->st, "%s: \"%s\" is short for %s; write it out in a file", place, key,
                            param->key);
    index = (size_t)(param - params__table(&n));
    if (reader->seen[index] == SEEN_FILE)
        return status__fail(reader->st, "%s: %s is given twice", place, key);
    reader->seen[index] = SEEN_FILE;
    reader->any = true;
    return params__set(reader->core, param, value, place, reader->st);
}

/* One line, which is changed. */
static int parse_line(struct reader *reader, char *line)
{
    char place[256];
    char *comment = strchr(line, '#'), *equals;

    snprintf(place, sizeof(place), "%s:%u", reader->origin, reader->line);
    if (comment)
        *comment = '\0';
    line = text__trim(line);
    if (!*line || (line[0] == '[' && text__ends_with(line, "]")))
        return 0;
    equals = strchr(line, '=');
    if (!equals)
        return status__fail(reader->st, "%s: expected \"key = value [unit]\", found \"%.64s\"", place, line);
    *equals = '\0';
    return parse_assignment(reader, text__trim(line), text__trim(equals + 1), place);
}

static int parse_text(struct reader *reader, const char *text, const char *end)
{
    const struct param *table;
    size_t n;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        char line[MAX_LINE];

        reader->line++;
        if (length >= sizeof(line))
            return status__fail(reader->st, "%s:%u: the line is longer than %d characters", reader->origin,
                                reader->line, MAX_LINE - 1);
        memcpy(line, text, length);
        line[length] = '\0';
        if (parse_line(reader, line))
            return -1;
        text += length + 1;
    }
    table = params__table(&n);
    assert(n <= MAX_PARAMS);
    for (size_t i = 0; i < n; i++)
        if (!reader->seen[i])
            return status__fail(reader->st, "%s: %s (%s) is missing; give it, or begin with \"base = skl\"",
                                reader->origin, table[i].key, table[i].rule);
    return core__check(reader->core, reader->origin, reader->st);
}

/* "key=value" after --set. */
static int assign(struct core *core, const char *assignment, struct status *st)
{
    const struct param *param;
    char place[128], text[MAX_LINE];
    char *equals, *key;

    snprintf(place, sizeof(place), "--set %s", assignment);
    snprintf(text, sizeof(text), "%s", assignment);
    equals = strchr(text, '=');
    if (!equals || strlen(assignment) >= sizeof(text))
        return status__fail(st, "%s: expected key=value, for example --set rob=512", place);
    *equals = '\0';
    key = text__trim(text);
    param = params__find(key);
    if (!param)
        return unknown_key(place, key, st);
    return params__set(core, param, text__trim(equals + 1), place, st);
}

static int load_and_set(struct core *core, const char *name, const char *const *set, size_t n_set,
                        struct status *st)
{
    bool is_file = strchr(name, '/') || text__ends_with(name, ".core");

    if (is_file ? load_file(core, name, st) : load_builtin(core, name, st))
        return -1;
    for (size_t i = 0; i < n_set; i++)
        if (assign(core, set[i], st))
            return -1;
    return n_set ? core__check(core, "--set", st) : 0;
}

/* A core that cannot be loaded is a mistake in what the user typed or wrote. */
int core__load(struct core *core, const char *name_or_path, const char *const *set, size_t n_set,
               struct status *st)
{
    int rc = load_and_set(core, name_or_path, set, n_set, st);

    if (rc && st)
        st->exit_code = EXIT_CODE_USAGE;
    return rc;
}

/* The comment of `key` in a built-in file (which is known to be well-formed), or NULL. */
static const char *comment_of(const struct builtin *builtin, const char *key, size_t *length)
{
    size_t n = strlen(key);

    for (const char *p = builtin->text; p < builtin->end;) {
        const char *newline = memchr(p, '\n', (size_t)(builtin->end - p));
        const char *end = newline ? newline : builtin->end;
        const char *hash = memchr(p, '#', (size_t)(end - p));

        if (hash && (size_t)(hash - p) > n && memcmp(p, key, n) == 0 && (p[n] == ' ' || p[n] == '=')) {
            *length = (size_t)(end - hash);
            return hash;
        }
        p = end + 1;
    }
    return NULL;
}

static void print_line(const struct core *core, const struct param *param, const struct builtin *builtin,
                       const struct core *original, FILE *out)
{
    char value[PARAM_VALUE_MAX], usual[PARAM_VALUE_MAX];
    const char *comment;
    size_t length;

    params__format(core, param, value);
    if (!builtin) {
        fprintf(out, "%-25s = %-14s # %s\n", param->key, value, param->rule);
        return;
    }
    params__format(original, param, usual);
    comment = comment_of(builtin, param->key, &length);
    if (strcmp(value, usual) != 0)
        fprintf(out, "%-25s = %-14s # %s; set by the user, %s has %s\n", param->key, value, param->rule,
                builtin->name, usual);
    else if (comment)
        fprintf(out, "%-25s = %-14s %.*s\n", param->key, value, (int)length, comment);
    else
        fprintf(out, "%-25s = %s\n", param->key, value);
}

void core__print(const struct core *core, FILE *out)
{
    const struct builtin *builtin = builtin__find(core->name);
    struct core original;
    size_t n;
    const struct param *table = params__table(&n);

    if (builtin && core__load(&original, builtin->name, NULL, 0, NULL))
        builtin = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *section = params__section(&table[i]);

        if (section)
            fprintf(out, "%s[%s]\n", i ? "\n" : "", section);
        print_line(core, &table[i], builtin, &original, out);
    }
}
