/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a result file. It may be anything: it is read whole into memory, its header is checked by
 * hand, SQLite checks the pages, and every index is checked here before anything uses it. Only tables
 * are read, never views or triggers of the file.
 */
#include "fathom/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fathom/status.h"
#include "profile/store_schema.h"

enum { HEADER_BYTES = 100, FILE_MAX_BYTES = 0x7f000000 };

static int fail_read(struct status *st, const char *path, int error)
{
    if (error == ENOENT)
        return status__fail(st, "there is no result file '%s'; make one with: fathom run -o FILE -- PROGRAM",
                            path);
    return status__fail(st, "cannot read the result file '%s': %s", path, strerror(error));
}

static int fail_damaged(struct status *st, const char *path, const char *what)
{
    return status__fail(st, "the result file '%s' is damaged (%s); make it again with fathom run", path,
                        what);
}

/* Makes room for one more read; the sizes double. */
static int grow(unsigned char **bytes, size_t *cap, size_t size)
{
    if (size < *cap)
        return 0;
    size_t want = *cap ? *cap * 2 : 1 << 16;
    unsigned char *more = sqlite3_realloc64(*bytes, want);
    if (!more)
        return -1;
    *bytes = more;
    *cap = want;
    return 0;
}

/* The whole file, in memory from SQLite; NULL and a status on failure. Pipes are fine. */
static unsigned char *read_file(const char *path, size_t *size_out, struct status *st)
{
    unsigned char *bytes = NULL;
    size_t size = 0, cap = 0;
    struct stat info;
    int failed = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        fail_read(st, path, errno);
        goto out;
    }
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < FILE_MAX_BYTES) {
        bytes = sqlite3_malloc64((sqlite3_uint64)info.st_size + 1);
        cap = bytes ? (size_t)info.st_size + 1 : 0;
    }
    for (;;) {
        if (size >= FILE_MAX_BYTES || grow(&bytes, &cap, size) < 0) {
            status__fail(st, "the result file '%s' is too large to read into memory", path);
            goto out;
        }
        ssize_t n = read(fd, bytes + size, cap - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail_read(st, path, errno);
            goto out;
        }
        if (n == 0)
            break;
        size += (size_t)n;
    }
    failed = 0;
out:
    if (fd >= 0)
        close(fd);
    if (failed) {
        sqlite3_free(bytes);
        bytes = NULL;
    }
    *size_out = size;
    return bytes;
}

static uint32_t be32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Offsets are those of the SQLite file header. */
static int check_header(const char *path, const unsigned char *bytes, size_t size, struct status *st)
{
    if (size == 0)
        return status__fail(st, "the result file '%s' is empty; make it again with fathom run", path);
    if (size < 16 || memcmp(bytes, "SQLite format 3", 16) != 0)
        return status__fail(st, "'%s' is not a fathom result file; fathom run -o FILE writes one", path);
    if (size < HEADER_BYTES)
        return fail_damaged(st, path, "it ends inside its header");
    if (be32(bytes + 68) != STORE_APPLICATION_ID)
        return status__fail(st, "'%s' is an SQLite database of another program, not a fathom result file",
                            path);
    if (be32(bytes + 60) > STORE_VERSION)
        return status__fail(st,
                            "the result file '%s' has format version %u, newer than this fathom knows (%d); "
                            "read it with a newer fathom",
                            path, be32(bytes + 60), STORE_VERSION);
    if (be32(bytes + 60) < STORE_OLDEST_VERSION)
        return fail_damaged(st, path, "it has no format version");
    size_t page = (size_t)bytes[16] << 8 | bytes[17];
    if (page == 1)
        page = 65536;
    if ((uint64_t)page * be32(bytes + 28) > size)
        return fail_damaged(st, path, "it is cut short");
    if (bytes[18] > 1 || bytes[19] > 1)
        return status__fail(st,
                            "the result file '%s' is in write-ahead mode; turn that off with: sqlite3 FILE "
                            "'PRAGMA journal_mode=DELETE'",
                            path);
    return 0;
}

/* One SELECT in use. The first problem sticks in `what`. */
struct rows {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    const char *what;
    int column;
};

static void rows__close(struct rows *rows)
{
    sqlite3_finalize(rows->stmt);
    rows->stmt = NULL;
}

static void rows__open(struct rows *rows, const char *sql)
{
    rows__close(rows);
    if (!rows->what && sqlite3_prepare_v2(rows->db, sql, -1, &rows->stmt, NULL) != SQLITE_OK)
        rows->what = "a table is missing or has other columns";
}

static bool rows__next(struct rows *rows)
{
    rows->column = 0;
    if (rows->what)
        return false;
    int rc = sqlite3_step(rows->stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        rows->what = "a table cannot be read to its end";
    return rc == SQLITE_ROW;
}

static char *rows__text(struct rows *rows)
{
    const unsigned char *text = sqlite3_column_text(rows->stmt, rows->column++);
    if (!text)
        return NULL;
    char *copy = strdup((const char *)text);
    if (!copy)
        rows->what = "out of memory";
    return copy;
}

static int64_t rows__int(struct rows *rows)
{
    return sqlite3_column_int64(rows->stmt, rows->column++);
}

static int rows__int_in(struct rows *rows, int64_t low, int64_t high)
{
    int64_t value = rows__int(rows);
    if (value < low || value > high) {
        rows->what = "a number is out of range";
        value = low;
    }
    return (int)value;
}

/* -1 for NULL; else an index below n. */
static int rows__index(struct rows *rows, size_t n)
{
    if (sqlite3_column_type(rows->stmt, rows->column) == SQLITE_NULL) {
        rows->column++;
        return -1;
    }
    int64_t value = rows__int(rows);
    if (value < 0 || (uint64_t)value >= n) {
        rows->what = "a row refers to one that does not exist";
        return -1;
    }
    return (int)value;
}

static double rows__real(struct rows *rows)
{
    int column = rows->column++;
    if (sqlite3_column_type(rows->stmt, column) == SQLITE_NULL)
        return (double)NAN;
    return sqlite3_column_double(rows->stmt, column);
}

static void rows__weight(struct rows *rows, struct site_weight *weight)
{
    weight->cycles_tip = (uint64_t)rows__int(rows);
    weight->insns = (uint64_t)rows__int(rows);
    for (int i = 0; i < PLACE_SLOTS; i++)
        weight->slots[i] = (uint64_t)rows__int(rows);
}

/*
 * Room for the rows of a table, zeroed; ids must be 0, 1, 2 ... in it, which makes an id an index.
 * `count` gets the number of rows.
 */
static void *rows__table(struct rows *rows, const char *table, size_t element_bytes, size_t *count)
{
    char sql[128];
    void *array = NULL;
    *count = 0;
    snprintf(sql, sizeof sql, "SELECT count(*), min(id), max(id) FROM %s", table);
    rows__open(rows, sql);
    if (!rows__next(rows))
        return NULL;
    int64_t n = rows__int(rows), low = rows__int(rows), high = rows__int(rows);
    if (n < 0 || n >= INT_MAX || (n > 0 && (low != 0 || high != n - 1)))
        rows->what = "rows are missing";
    else if (n > 0) {
        array = calloc((size_t)n, element_bytes);
        if (!array)
            rows->what = "out of memory";
        else
            *count = (size_t)n;
    }
    return array;
}

static void read_field(struct rows *rows, const struct store_field *field, struct profile *profile)
{
    char *at = (char *)profile + field->offset;
    rows->column = 1;
    switch (field->type) {
    case STORE_TEXT:
        free(*(char **)(void *)at);
        *(char **)(void *)at = rows__text(rows);
        break;
    case STORE_U64:
        *(uint64_t *)(void *)at = (uint64_t)rows__int(rows);
        break;
    case STORE_U32:
        *(uint32_t *)(void *)at = (uint32_t)rows__int_in(rows, 0, INT_MAX);
        break;
    case STORE_INT:
        *(int *)(void *)at = rows__int_in(rows, INT_MIN, INT_MAX);
        break;
    case STORE_BOOL:
        *(bool *)(void *)at = rows__int_in(rows, 0, 1) != 0;
        break;
    }
}

static void read_meta(struct rows *rows, struct profile *profile)
{
    size_t seen = 0, want = 0;
    rows__open(rows, "SELECT key, value FROM meta ORDER BY key");
    while (rows__next(rows)) {
        const char *key = (const char *)sqlite3_column_text(rows->stmt, 0);
        for (const struct store_field *field = store_fields; key && field->key; field++) {
            if (strcmp(field->key, key) == 0) {
                read_field(rows, field, profile);
                seen++;
            }
        }
    }
    while (store_fields[want].key)
        want++;
    if (!rows->what && seen != want)
        rows->what = "a field of table meta is missing";
}

static void read_node(struct rows *rows, struct profile_node *node)
{
    node->name = rows__text(rows);
    node->path = rows__text(rows);
    node->level = rows__int_in(rows, 1, 64);
    node->value = rows__real(rows);
    node->unit = rows__text(rows);
    node->flagged = rows__int_in(rows, 0, 1) != 0;
    node->source = rows__text(rows);
    node->hint = rows__text(rows);
}

/* The children of table `owner` by number, into counts[0..n). */
static void count_children(struct rows *rows, const char *sql, size_t *counts, size_t n)
{
    rows__open(rows, sql);
    while (rows__next(rows)) {
        int owner = rows__index(rows, n);
        if (owner < 0)
            rows->what = "a row refers to one that does not exist";
        else
            counts[owner] = (size_t)rows__int_in(rows, 0, INT_MAX);
    }
}

/* Whether the row's owner has room for it; a damaged file can count otherwise than it reads. */
static bool take_child(struct rows *rows, int owner, size_t *counts)
{
    if (owner < 0 || counts[owner] == 0)
        rows->what = "a row refers to one that does not exist";
    else
        counts[owner]--;
    return !rows->what;
}

static void read_trees(struct rows *rows, struct profile *profile)
{
    size_t *counts = NULL;

    profile->tree = rows__table(rows, "tree", sizeof *profile->tree, &profile->n_trees);
    rows__open(rows, "SELECT name FROM tree ORDER BY id");
    for (size_t i = 0; i < profile->n_trees && rows__next(rows); i++)
        profile->tree[i].name = rows__text(rows);
    counts = calloc(profile->n_trees + 1, sizeof *counts);
    if (!counts) {
        rows->what = "out of memory";
        return;
    }
    count_children(rows, "SELECT tree, count(*) FROM tree_node GROUP BY tree", counts, profile->n_trees);
    for (size_t i = 0; i < profile->n_trees && !rows->what; i++) {
        profile->tree[i].node = calloc(counts[i] + 1, sizeof(struct profile_node));
        if (!profile->tree[i].node)
            rows->what = "out of memory";
    }
    rows__open(rows, "SELECT tree,name,path,level,value,unit,flagged,source,hint FROM tree_node ORDER BY id");
    while (rows__next(rows)) {
        int owner = rows__index(rows, profile->n_trees);
        if (!take_child(rows, owner, counts))
            break;
        read_node(rows, &profile->tree[owner].node[profile->tree[owner].n_nodes++]);
    }
    free(counts);
}

/* Files from before there were such tables have none. */
static bool has_table(struct rows *rows, const char *name)
{
    char sql[128];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM sqlite_schema WHERE type='table' AND rootpage>0 AND name='%s'", name);
    rows__open(rows, sql);
    return rows__next(rows) && rows__int(rows) == 1;
}

static void read_multiplexing(struct rows *rows, struct profile_multiplexing *m)
{
    if (!has_table(rows, "multiplexing"))
        return;
    rows__open(rows, "SELECT counters,turn_cycles,groups,turns FROM multiplexing LIMIT 1");
    if (!rows__next(rows))
        return;
    m->counters = (uint32_t)rows__int(rows);
    m->turn_cycles = (uint32_t)rows__int(rows);
    m->groups = (uint64_t)rows__int(rows);
    m->turns = (uint64_t)rows__int(rows);
}

static void read_ideals(struct rows *rows, struct profile *profile)
{
    if (!has_table(rows, "ideal"))
        return;
    profile->ideal = rows__table(rows, "ideal", sizeof *profile->ideal, &profile->n_ideal);
    rows__open(rows, "SELECT name,instructions,cycles,speedup,claim,claim_percent FROM ideal ORDER BY id");
    for (size_t i = 0; i < profile->n_ideal && rows__next(rows); i++) {
        struct profile_ideal *row = &profile->ideal[i];
        row->name = rows__text(rows);
        row->instructions = (uint64_t)rows__int(rows);
        row->cycles = (uint64_t)rows__int(rows);
        row->speedup = rows__real(rows);
        row->claim = rows__text(rows);
        row->claim_percent = rows__real(rows);
    }
}

static void read_sample(struct rows *rows, struct profile *profile)
{
    size_t n = 0;

    if (!has_table(rows, "sample"))
        return;
    profile->sample = rows__table(rows, "sample", sizeof *profile->sample, &n);
    if (n == 0) {
        free(profile->sample);
        profile->sample = NULL;
        return;
    }
    rows__open(rows,
               "SELECT windows,period,window,warm,head,measured,cpi_low,cpi_high FROM sample ORDER BY id");
    if (!rows__next(rows))
        return;
    struct profile_sample *s = profile->sample;
    s->windows = (uint64_t)rows__int(rows);
    s->period = (uint64_t)rows__int(rows);
    s->window = (uint64_t)rows__int(rows);
    s->warm = (uint64_t)rows__int(rows);
    s->head = (uint64_t)rows__int(rows);
    s->measured = (uint64_t)rows__int(rows);
    s->cpi_low = rows__real(rows);
    s->cpi_high = rows__real(rows);
}

static void read_core_nodes(struct rows *rows, struct profile *profile, size_t *counts)
{
    count_children(rows, "SELECT core, count(*) FROM core_node GROUP BY core", counts,
                   profile->n_core_results);
    for (size_t i = 0; i < profile->n_core_results && !rows->what; i++) {
        profile->core_result[i].tree.node = calloc(counts[i] + 1, sizeof(struct profile_node));
        if (!profile->core_result[i].tree.node)
            rows->what = "out of memory";
    }
    rows__open(rows, "SELECT core,name,path,level,value,unit,flagged,source,hint FROM core_node ORDER BY id");
    while (rows__next(rows)) {
        int owner = rows__index(rows, profile->n_core_results);
        if (!take_child(rows, owner, counts))
            break;
        struct profile_tree *tree = &profile->core_result[owner].tree;
        read_node(rows, &tree->node[tree->n_nodes++]);
    }
}

static void read_cores(struct rows *rows, struct profile *profile)
{
    size_t *counts = NULL;

    if (!has_table(rows, "core") || !has_table(rows, "core_node"))
        return;
    profile->core_result = rows__table(rows, "core", sizeof *profile->core_result, &profile->n_core_results);
    rows__open(rows, "SELECT name,title,self,instructions,cycles,unknown FROM core ORDER BY id");
    for (size_t i = 0; i < profile->n_core_results && rows__next(rows); i++) {
        struct profile_core *row = &profile->core_result[i];
        row->name = rows__text(rows);
        row->title = rows__text(rows);
        row->self = rows__int_in(rows, 0, 1) != 0;
        row->instructions = (uint64_t)rows__int(rows);
        row->cycles = (uint64_t)rows__int(rows);
        row->n_unknown = (uint64_t)rows__int(rows);
        row->tree.name = strdup("topdown");
    }
    counts = calloc(profile->n_core_results + 1, sizeof *counts);
    if (counts)
        read_core_nodes(rows, profile, counts);
    else
        rows->what = "out of memory";
    free(counts);
}

static void read_copy_nodes(struct rows *rows, struct profile *profile, size_t *counts)
{
    count_children(rows, "SELECT copy, count(*) FROM copy_node GROUP BY copy", counts, profile->n_copies);
    for (size_t i = 0; i < profile->n_copies && !rows->what; i++) {
        profile->copy[i].tree.node = calloc(counts[i] + 1, sizeof(struct profile_node));
        if (!profile->copy[i].tree.node)
            rows->what = "out of memory";
    }
    rows__open(rows, "SELECT copy,name,path,level,value,unit,flagged,source,hint FROM copy_node ORDER BY id");
    while (rows__next(rows)) {
        int owner = rows__index(rows, profile->n_copies);
        if (!take_child(rows, owner, counts))
            break;
        struct profile_tree *tree = &profile->copy[owner].tree;
        read_node(rows, &tree->node[tree->n_nodes++]);
    }
}

static void read_copies(struct rows *rows, struct profile *profile)
{
    size_t *counts = NULL;

    if (!has_table(rows, "copy") || !has_table(rows, "copy_node"))
        return;
    profile->copy = rows__table(rows, "copy", sizeof *profile->copy, &profile->n_copies);
    rows__open(rows, "SELECT name,alone,starts_at,instructions,cycles,slowdown FROM copy ORDER BY id");
    for (size_t i = 0; i < profile->n_copies && rows__next(rows); i++) {
        struct profile_copy *row = &profile->copy[i];
        row->name = rows__text(rows);
        row->alone = rows__int_in(rows, 0, 1) != 0;
        row->starts_at = (uint64_t)rows__int(rows);
        row->instructions = (uint64_t)rows__int(rows);
        row->cycles = (uint64_t)rows__int(rows);
        row->slowdown = rows__real(rows);
        row->tree.name = strdup("topdown");
    }
    counts = calloc(profile->n_copies + 1, sizeof *counts);
    if (counts)
        read_copy_nodes(rows, profile, counts);
    else
        rows->what = "out of memory";
    free(counts);
}

static void read_stacks(struct rows *rows, struct profile *profile)
{
    size_t *counts = NULL;

    profile->stack = rows__table(rows, "stack", sizeof *profile->stack, &profile->n_stacks);
    rows__open(rows, "SELECT name FROM stack ORDER BY id");
    for (size_t i = 0; i < profile->n_stacks && rows__next(rows); i++)
        profile->stack[i].name = rows__text(rows);
    counts = calloc(profile->n_stacks + 1, sizeof *counts);
    if (!counts) {
        rows->what = "out of memory";
        return;
    }
    count_children(rows, "SELECT stack, count(*) FROM stack_component GROUP BY stack", counts,
                   profile->n_stacks);
    for (size_t i = 0; i < profile->n_stacks && !rows->what; i++) {
        profile->stack[i].component = calloc(counts[i] + 1, sizeof(struct profile_component));
        if (!profile->stack[i].component)
            rows->what = "out of memory";
    }
    rows__open(rows, "SELECT stack,component,cycles,cpi FROM stack_component ORDER BY id");
    while (rows__next(rows)) {
        int owner = rows__index(rows, profile->n_stacks);
        if (!take_child(rows, owner, counts))
            break;
        struct profile_stack *stack = &profile->stack[owner];
        struct profile_component *component = &stack->component[stack->n_components++];
        component->component = rows__text(rows);
        component->cycles = rows__real(rows);
        component->cpi = rows__real(rows);
    }
    free(counts);
}

static void read_code(struct rows *rows, struct profile *profile)
{
    profile->module = rows__table(rows, "module", sizeof *profile->module, &profile->n_modules);
    rows__open(rows, "SELECT path,build_id FROM module ORDER BY id");
    for (size_t i = 0; i < profile->n_modules && rows__next(rows); i++) {
        profile->module[i].path = rows__text(rows);
        profile->module[i].build_id = rows__text(rows);
    }
    profile->function = rows__table(rows, "function", sizeof *profile->function, &profile->n_functions);
    rows__open(rows, "SELECT name,module,file,line,entry," STORE_WEIGHT_COLUMNS " FROM function ORDER BY id");
    for (size_t i = 0; i < profile->n_functions && rows__next(rows); i++) {
        struct profile_function *function = &profile->function[i];
        function->name = rows__text(rows);
        function->module = rows__index(rows, profile->n_modules);
        function->file = rows__text(rows);
        function->line = rows__int_in(rows, 0, INT_MAX);
        function->entry = (uint64_t)rows__int(rows);
        rows__weight(rows, &function->weight);
    }
    profile->place = rows__table(rows, "place", sizeof *profile->place, &profile->n_places);
    rows__open(rows,
               "SELECT addr,module,offset,text,function," STORE_WEIGHT_COLUMNS " FROM place ORDER BY id");
    for (size_t i = 0; i < profile->n_places && rows__next(rows); i++) {
        struct profile_place *place = &profile->place[i];
        place->addr = (uint64_t)rows__int(rows);
        place->module = rows__index(rows, profile->n_modules);
        place->offset = (uint64_t)rows__int(rows);
        place->text = rows__text(rows);
        place->function = rows__index(rows, profile->n_functions);
        rows__weight(rows, &place->weight);
    }
}

static struct profile_count *read_counts(struct rows *rows, const char *table, const char *sql, size_t *n)
{
    struct profile_count *count = rows__table(rows, table, sizeof *count, n);
    rows__open(rows, sql);
    for (size_t i = 0; i < *n && rows__next(rows); i++) {
        count[i].name = rows__text(rows);
        count[i].count = (uint64_t)rows__int(rows);
        count[i].note = rows__text(rows);
    }
    return count;
}

static void read_lists(struct rows *rows, struct profile *profile)
{
    profile->event = rows__table(rows, "event", sizeof *profile->event, &profile->n_events);
    rows__open(rows, "SELECT name,value FROM event ORDER BY id");
    for (size_t i = 0; i < profile->n_events && rows__next(rows); i++) {
        profile->event[i].name = rows__text(rows);
        profile->event[i].value = (uint64_t)rows__int(rows);
    }
    profile->unknown =
        read_counts(rows, "unknown", "SELECT name,count,note FROM unknown ORDER BY id", &profile->n_unknown);
    profile->nondeterminism =
        read_counts(rows, "nondeterminism", "SELECT name,count,note FROM nondeterminism ORDER BY id",
                    &profile->n_nondeterminism);
    profile->host = rows__table(rows, "host", sizeof *profile->host, &profile->n_host);
    rows__open(rows, "SELECT key,value FROM host ORDER BY id");
    for (size_t i = 0; i < profile->n_host && rows__next(rows); i++) {
        profile->host[i].key = rows__text(rows);
        profile->host[i].value = rows__text(rows);
    }
}

/* Pages whole, and every name we read is a plain table: a view could compute for ever. */
static void check_database(struct rows *rows)
{
    rows__open(rows, "SELECT count(*) FROM sqlite_schema WHERE type='table' AND rootpage>0 AND"
                     " name IN ('meta','tree','tree_node','stack','stack_component','event','module',"
                     "'function','place','unknown','nondeterminism','host')");
    if (rows__next(rows) && rows__int(rows) != 12)
        rows->what = "a table is missing";
    rows__open(rows, "PRAGMA quick_check(1)");
    if (rows__next(rows)) {
        const char *verdict = (const char *)sqlite3_column_text(rows->stmt, 0);
        if (!verdict || strcmp(verdict, "ok") != 0)
            rows->what = "its pages do not fit together";
    }
}

/* Takes `image`. */
static sqlite3 *open_image(unsigned char *image, size_t size)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE, NULL);
    if (rc != SQLITE_OK) {
        sqlite3_free(image);
    } else {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        rc = sqlite3_deserialize(db, "main", image, (sqlite3_int64)size, (sqlite3_int64)size,
                                 SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    }
    if (rc == SQLITE_OK)
        return db;
    sqlite3_close(db);
    return NULL;
}

struct profile *profile__load(const char *path, struct status *st)
{
    struct rows rows = {0};
    struct profile *profile = NULL;
    size_t size = 0;
    unsigned char *image = read_file(path, &size, st);

    if (!image)
        return NULL;
    if (check_header(path, image, size, st) < 0) {
        sqlite3_free(image);
        return NULL;
    }
    rows.db = open_image(image, size);
    if (!rows.db)
        rows.what = "SQLite cannot open it";
    profile = profile__new();
    if (!profile)
        rows.what = "out of memory";
    check_database(&rows);
    if (!rows.what) {
        read_meta(&rows, profile);
        read_trees(&rows, profile);
        read_stacks(&rows, profile);
        read_code(&rows, profile);
        read_lists(&rows, profile);
        read_multiplexing(&rows, &profile->multiplexing);
        read_ideals(&rows, profile);
        read_cores(&rows, profile);
        read_copies(&rows, profile);
        read_sample(&rows, profile);
    }
    rows__close(&rows);
    sqlite3_close(rows.db);
    if (rows.what) {
        fail_damaged(st, path, rows.what);
        profile__free(profile);
        profile = NULL;
    }
    return profile;
}
