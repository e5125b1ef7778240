/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a result file. The database is made in memory and its bytes are then written by this file:
 *
 *   memory image -> PATH.tmp.PID -> fsync -> rename to PATH -> fsync of the directory
 *
 * 1. PATH is the old file or the whole new one, never anything between.
 * 2. After a failure the temporary file is gone.
 * 3. The same profile gives the same image.
 */
#include "fathom/profile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fathom/status.h"
#include "profile/store_schema.h"

#define FIELD(name, type)                                                                                    \
    {                                                                                                        \
#name, type, offsetof(struct profile, name)                                                          \
    }

const struct store_field store_fields[] = {
    FIELD(command, STORE_TEXT),      FIELD(complete, STORE_BOOL),       FIELD(core, STORE_TEXT),
    FIELD(core_text, STORE_TEXT),    FIELD(cycles, STORE_U64),          FIELD(exit_status, STORE_INT),
    FIELD(guest_cpu, STORE_TEXT),    FIELD(incomplete_why, STORE_TEXT), FIELD(instructions, STORE_U64),
    FIELD(issue_width, STORE_U32),   FIELD(slots, STORE_U64),           FIELD(source, STORE_TEXT),
    FIELD(uops_issued, STORE_U64),   FIELD(uops_retired, STORE_U64),    FIELD(verdict, STORE_TEXT),
    FIELD(verdict_next, STORE_TEXT), FIELD(version, STORE_TEXT),        {NULL, STORE_TEXT, 0},
};

/* One INSERT statement in use. Errors stick: later calls do nothing. */
struct insert {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int column;
    int rc;
};

static void insert__open(struct insert *ins, const char *sql)
{
    sqlite3_finalize(ins->stmt);
    ins->stmt = NULL;
    ins->column = 0;
    if (ins->rc == SQLITE_OK)
        ins->rc = sqlite3_prepare_v2(ins->db, sql, -1, &ins->stmt, NULL);
}

static void insert__text(struct insert *ins, const char *text)
{
    ins->column++;
    if (ins->rc == SQLITE_OK)
        ins->rc = text ? sqlite3_bind_text(ins->stmt, ins->column, text, -1, SQLITE_STATIC)
                       : sqlite3_bind_null(ins->stmt, ins->column);
}

static void insert__int(struct insert *ins, int64_t value)
{
    ins->column++;
    if (ins->rc == SQLITE_OK)
        ins->rc = sqlite3_bind_int64(ins->stmt, ins->column, value);
}

static void insert__null(struct insert *ins)
{
    ins->column++;
    if (ins->rc == SQLITE_OK)
        ins->rc = sqlite3_bind_null(ins->stmt, ins->column);
}

/* An index into another table; negative: NULL. */
static void insert__index(struct insert *ins, int64_t index, size_t n)
{
    if (index >= 0 && (size_t)index < n)
        insert__int(ins, index);
    else
        insert__null(ins);
}

static void insert__real(struct insert *ins, double value)
{
    ins->column++;
    if (ins->rc == SQLITE_OK) /* SQLite has no NAN: it becomes NULL */
        ins->rc = sqlite3_bind_double(ins->stmt, ins->column, value);
}

static void insert__weight(struct insert *ins, const struct site_weight *weight)
{
    insert__int(ins, (int64_t)weight->cycles_tip);
    insert__int(ins, (int64_t)weight->insns);
    for (int i = 0; i < PLACE_SLOTS; i++)
        insert__int(ins, (int64_t)weight->slots[i]);
}

static void insert__row(struct insert *ins)
{
    ins->column = 0;
    if (ins->rc != SQLITE_OK)
        return;
    if (sqlite3_step(ins->stmt) != SQLITE_DONE)
        ins->rc = sqlite3_errcode(ins->db);
    else
        ins->rc = sqlite3_reset(ins->stmt);
}

static void write_meta(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO meta VALUES(?,?)");
    for (const struct store_field *field = store_fields; field->key; field++) {
        const char *at = (const char *)profile + field->offset;
        insert__text(ins, field->key);
        switch (field->type) {
        case STORE_TEXT:
            insert__text(ins, *(char *const *)(const void *)at);
            break;
        case STORE_U64:
            insert__int(ins, (int64_t) * (const uint64_t *)(const void *)at);
            break;
        case STORE_U32:
            insert__int(ins, *(const uint32_t *)(const void *)at);
            break;
        case STORE_INT:
            insert__int(ins, *(const int *)(const void *)at);
            break;
        case STORE_BOOL:
            insert__int(ins, *(const bool *)(const void *)at);
            break;
        }
        insert__row(ins);
    }
}

static void write_nodes(struct insert *ins, const struct profile_tree *tree, size_t owner, int64_t *id)
{
    for (size_t k = 0; k < tree->n_nodes; k++) {
        const struct profile_node *node = &tree->node[k];
        insert__int(ins, (*id)++);
        insert__int(ins, (int64_t)owner);
        insert__text(ins, node->name);
        insert__text(ins, node->path);
        insert__int(ins, node->level);
        insert__real(ins, node->value);
        insert__text(ins, node->unit);
        insert__int(ins, node->flagged);
        insert__text(ins, node->source);
        insert__text(ins, node->hint);
        insert__row(ins);
    }
}

static void write_trees(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO tree VALUES(?,?)");
    for (size_t i = 0; i < profile->n_trees; i++) {
        insert__int(ins, (int64_t)i);
        insert__text(ins, profile->tree[i].name);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO tree_node VALUES(?,?,?,?,?,?,?,?,?,?)");
    int64_t id = 0;
    for (size_t i = 0; i < profile->n_trees; i++)
        write_nodes(ins, &profile->tree[i], i, &id);
}

static void write_multiplexing(struct insert *ins, const struct profile_multiplexing *m)
{
    if (!m->counters)
        return;
    insert__open(ins, "INSERT INTO multiplexing VALUES(?,?,?,?)");
    insert__int(ins, m->counters);
    insert__int(ins, m->turn_cycles);
    insert__int(ins, (int64_t)m->groups);
    insert__int(ins, (int64_t)m->turns);
    insert__row(ins);
}

static void write_what_ifs(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO ideal VALUES(?,?,?,?,?,?,?)");
    for (size_t i = 0; i < profile->n_ideal; i++) {
        const struct profile_ideal *row = &profile->ideal[i];
        insert__int(ins, (int64_t)i);
        insert__text(ins, row->name);
        insert__int(ins, (int64_t)row->instructions);
        insert__int(ins, (int64_t)row->cycles);
        insert__real(ins, row->speedup);
        insert__text(ins, row->claim);
        insert__real(ins, row->claim_percent);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO core VALUES(?,?,?,?,?,?,?)");
    for (size_t i = 0; i < profile->n_core_results; i++) {
        const struct profile_core *row = &profile->core_result[i];
        insert__int(ins, (int64_t)i);
        insert__text(ins, row->name);
        insert__text(ins, row->title);
        insert__int(ins, row->self);
        insert__int(ins, (int64_t)row->instructions);
        insert__int(ins, (int64_t)row->cycles);
        insert__int(ins, (int64_t)row->n_unknown);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO core_node VALUES(?,?,?,?,?,?,?,?,?,?)");
    int64_t id = 0;
    for (size_t i = 0; i < profile->n_core_results; i++)
        write_nodes(ins, &profile->core_result[i].tree, i, &id);
}

static void write_copies(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO copy VALUES(?,?,?,?,?,?,?)");
    for (size_t i = 0; i < profile->n_copies; i++) {
        const struct profile_copy *row = &profile->copy[i];
        insert__int(ins, (int64_t)i);
        insert__text(ins, row->name);
        insert__int(ins, row->alone);
        insert__int(ins, (int64_t)row->starts_at);
        insert__int(ins, (int64_t)row->instructions);
        insert__int(ins, (int64_t)row->cycles);
        insert__real(ins, row->slowdown);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO copy_node VALUES(?,?,?,?,?,?,?,?,?,?)");
    int64_t id = 0;
    for (size_t i = 0; i < profile->n_copies; i++)
        write_nodes(ins, &profile->copy[i].tree, i, &id);
}

static void write_stacks(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO stack VALUES(?,?)");
    for (size_t i = 0; i < profile->n_stacks; i++) {
        insert__int(ins, (int64_t)i);
        insert__text(ins, profile->stack[i].name);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO stack_component VALUES(?,?,?,?,?)");
    int64_t id = 0;
    for (size_t i = 0; i < profile->n_stacks; i++) {
        for (size_t k = 0; k < profile->stack[i].n_components; k++) {
            const struct profile_component *component = &profile->stack[i].component[k];
            insert__int(ins, id++);
            insert__int(ins, (int64_t)i);
            insert__text(ins, component->component);
            insert__real(ins, component->cycles);
            insert__real(ins, component->cpi);
            insert__row(ins);
        }
    }
}

static void write_code(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO module VALUES(?,?,?)");
    for (size_t i = 0; i < profile->n_modules; i++) {
        insert__int(ins, (int64_t)i);
        insert__text(ins, profile->module[i].path);
        insert__text(ins, profile->module[i].build_id);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO function VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; i < profile->n_functions; i++) {
        const struct profile_function *function = &profile->function[i];
        insert__int(ins, (int64_t)i);
        insert__text(ins, function->name);
        insert__index(ins, function->module, profile->n_modules);
        insert__text(ins, function->file);
        insert__int(ins, function->line);
        insert__int(ins, (int64_t)function->entry);
        insert__weight(ins, &function->weight);
        insert__row(ins);
    }
    insert__open(ins, "INSERT INTO place VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; i < profile->n_places; i++) {
        const struct profile_place *place = &profile->place[i];
        insert__int(ins, (int64_t)i);
        insert__int(ins, (int64_t)place->addr);
        insert__index(ins, place->module, profile->n_modules);
        insert__int(ins, (int64_t)place->offset);
        insert__text(ins, place->text);
        insert__index(ins, place->function, profile->n_functions);
        insert__weight(ins, &place->weight);
        insert__row(ins);
    }
}

static void write_sample(struct insert *ins, const struct profile *profile)
{
    const struct profile_sample *s = profile->sample;

    if (!s)
        return;
    insert__open(ins, "INSERT INTO sample VALUES(0,?,?,?,?,?,?,?,?)");
    insert__int(ins, (int64_t)s->windows);
    insert__int(ins, (int64_t)s->period);
    insert__int(ins, (int64_t)s->window);
    insert__int(ins, (int64_t)s->warm);
    insert__int(ins, (int64_t)s->head);
    insert__int(ins, (int64_t)s->measured);
    insert__real(ins, s->cpi_low);
    insert__real(ins, s->cpi_high);
    insert__row(ins);
}

static void write_counts(struct insert *ins, const char *sql, const struct profile_count *count, size_t n)
{
    insert__open(ins, sql);
    for (size_t i = 0; i < n; i++) {
        insert__int(ins, (int64_t)i);
        insert__text(ins, count[i].name);
        insert__int(ins, (int64_t)count[i].count);
        insert__text(ins, count[i].note);
        insert__row(ins);
    }
}

static void write_lists(struct insert *ins, const struct profile *profile)
{
    insert__open(ins, "INSERT INTO event VALUES(?,?,?)");
    for (size_t i = 0; i < profile->n_events; i++) {
        insert__int(ins, (int64_t)i);
        insert__text(ins, profile->event[i].name);
        insert__int(ins, (int64_t)profile->event[i].value);
        insert__row(ins);
    }
    write_counts(ins, "INSERT INTO unknown VALUES(?,?,?,?)", profile->unknown, profile->n_unknown);
    write_counts(ins, "INSERT INTO nondeterminism VALUES(?,?,?,?)", profile->nondeterminism,
                 profile->n_nondeterminism);
    insert__open(ins, "INSERT INTO host VALUES(?,?,?)");
    for (size_t i = 0; i < profile->n_host; i++) {
        insert__int(ins, (int64_t)i);
        insert__text(ins, profile->host[i].key);
        insert__text(ins, profile->host[i].value);
        insert__row(ins);
    }
}

/* The file's bytes, from sqlite3_malloc; NULL and `*rc` on failure. */
static unsigned char *make_image(const struct profile *profile, size_t *size_bytes, int *rc)
{
    struct insert ins = {0};
    sqlite3_int64 size = 0;
    unsigned char *image = NULL;
    char pragmas[128];

    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
             STORE_APPLICATION_ID, STORE_VERSION);
    ins.rc = sqlite3_open_v2(":memory:", &ins.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (ins.rc == SQLITE_OK)
        ins.rc = sqlite3_exec(ins.db, pragmas, NULL, NULL, NULL);
    if (ins.rc == SQLITE_OK)
        ins.rc = sqlite3_exec(ins.db, STORE_SCHEMA, NULL, NULL, NULL);
    write_meta(&ins, profile);
    write_trees(&ins, profile);
    write_stacks(&ins, profile);
    write_code(&ins, profile);
    write_lists(&ins, profile);
    write_multiplexing(&ins, &profile->multiplexing);
    write_what_ifs(&ins, profile);
    write_copies(&ins, profile);
    write_sample(&ins, profile);
    sqlite3_finalize(ins.stmt);
    if (ins.rc == SQLITE_OK)
        ins.rc = sqlite3_exec(ins.db, "COMMIT", NULL, NULL, NULL);
    if (ins.rc == SQLITE_OK) {
        image = sqlite3_serialize(ins.db, "main", &size, 0);
        if (!image)
            ins.rc = SQLITE_NOMEM;
    }
    *size_bytes = (size_t)size;
    *rc = ins.rc;
    sqlite3_close(ins.db);
    return image;
}

/* write() of everything; over a file-size limit (ulimit -f) EFBIG instead of death by SIGXFSZ. */
static int write_all(int fd, const unsigned char *bytes, size_t size)
{
    sigset_t xfsz, before, pending;
    int error = 0;

    sigemptyset(&xfsz);
    sigaddset(&xfsz, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &xfsz, &before);
    while (size > 0 && !error) {
        ssize_t n = write(fd, bytes, size < (1U << 30) ? size : (1U << 30));
        if (n < 0 && errno != EINTR)
            error = errno;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    if (error == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&xfsz, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return error ? -1 : 0;
}

static const char *remedy(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space or choose another place with -o FILE";
    case EFBIG:
        return "raise the file-size limit (ulimit -f)";
    case ENOENT:
    case ENOTDIR:
        return "make the directory first or choose another place with -o FILE";
    case EACCES:
    case EPERM:
    case EROFS:
        return "choose a place you may write to with -o FILE";
    case ENAMETOOLONG:
        return "choose a shorter name with -o FILE";
    default:
        return "choose another place with -o FILE";
    }
}

static int fail_write(struct status *st, const char *path, int error)
{
    return status__fail(st, "cannot write the result file '%s': %s; %s", path, strerror(error),
                        remedy(error));
}

/* Opens a new file beside `target`; its name is in `tmp`, "" if there is none. */
static int open_temporary(const char *target, char *tmp, size_t tmp_size)
{
    for (int i = 0; i < 100; i++) {
        int n = snprintf(tmp, tmp_size, i ? "%s.tmp.%ld.%d" : "%s.tmp.%ld", target, (long)getpid(), i);
        if (n < 0 || (size_t)n >= tmp_size) {
            errno = ENAMETOOLONG;
            break;
        }
        int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    tmp[0] = '\0';
    return -1;
}

/* A rename is on disk when its directory is; file systems that cannot say so are left alone. */
static void sync_directory(const char *target)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(target, '/');
    size_t n = slash ? (size_t)(slash - target) + 1 : 0;
    if (n >= sizeof directory)
        return;
    memcpy(directory, target, n);
    directory[n] = '\0';
    int fd = open(n ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

static int replace_file(const char *target, const unsigned char *image, size_t size, int *error)
{
    char tmp[PATH_MAX + 32];
    int result = -1;
    int fd = open_temporary(target, tmp, sizeof tmp);

    if (fd < 0 || write_all(fd, image, size) < 0 || fsync(fd) < 0)
        goto out;
    int rc = close(fd);
    fd = -1;
    if (rc < 0 || rename(tmp, target) < 0)
        goto out;
    tmp[0] = '\0';
    sync_directory(target);
    result = 0;
out:
    *error = errno;
    if (fd >= 0)
        close(fd);
    if (tmp[0])
        unlink(tmp);
    return result;
}

int profile__save(const struct profile *profile, const char *path, struct status *st)
{
    unsigned char *image = NULL;
    char *real = NULL;
    size_t size = 0;
    struct stat info;
    int rc, error, result = -1;

    assert(profile && path);
    if (!path[0]) {
        status__fail(st, "the name of the result file is empty; give one with -o FILE");
        goto out;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        status__fail(st, "cannot write the result file '%s': it is %s; choose another name with -o FILE",
                     path, S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
        goto out;
    }
    real = realpath(path, NULL); /* through a symbolic link, so that the link stays one */
    image = make_image(profile, &size, &rc);
    if (!image) {
        status__fail(st, "cannot build the result file '%s': %s; it needs about as much memory as the file",
                     path, sqlite3_errstr(rc));
        goto out;
    }
    if (replace_file(real ? real : path, image, size, &error) < 0) {
        fail_write(st, path, error);
        goto out;
    }
    result = 0;
out:
    free(real);
    sqlite3_free(image);
    return result;
}
