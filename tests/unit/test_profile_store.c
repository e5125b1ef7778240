/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/view.h"
#include "test_profile_fixture.h"

struct folder {
    char path[64], file[96];
};

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    strcpy(folder->path, "/tmp/fathom-store-XXXXXX");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof folder->file, "%s/r.fathom", folder->path);
    *state = folder;
    return 0;
}

static int entries(const char *path, bool remove)
{
    DIR *dir = opendir(path);
    int n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        if (remove)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    return n;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    entries(folder->path, true);
    rmdir(folder->path);
    free(folder);
    return 0;
}

static unsigned char *slurp(const char *path, size_t *size)
{
    struct stat info;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &info), 0);
    *size = (size_t)info.st_size;
    unsigned char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, in), *size);
    fclose(in);
    return bytes;
}

static void spill(const char *path, const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static char *json_of(const struct profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    view__json(profile, out);
    fclose(out);
    return text;
}

static void save(const struct profile *profile, const char *path)
{
    struct status st = {0};
    if (profile__save(profile, path, &st) != 0)
        fail_msg("%s", st.text);
}

static struct profile *load(const char *path)
{
    struct status st = {0};
    struct profile *profile = profile__load(path, &st);
    if (!profile)
        fail_msg("%s", st.text);
    return profile;
}

static void expect_load_failure(const char *path, const char *sentence_has)
{
    struct status st = {0};
    struct profile *profile = profile__load(path, &st);
    assert_null(profile);
    assert_int_equal(st.exit_code, EXIT_CODE_TOOL);
    if (!strstr(st.text, sentence_has) || !strstr(st.text, path))
        fail_msg("unexpected sentence: %s", st.text);
}

static void test_round_trip(void **state)
{
    struct folder *folder = *state;
    struct profile *before = fixture__profile();
    save(before, folder->file);
    struct profile *after = load(folder->file);
    char *a = json_of(before), *b = json_of(after);
    assert_string_equal(a, b);
    assert_string_equal(before->core_text, after->core_text);
    assert_int_equal(after->tree[1].n_nodes, before->tree[1].n_nodes);
    assert_true(isnan(after->tree[1].node[after->tree[1].n_nodes - 2].value)); /* not counted stays so */
    assert_true(after->event[1].value == UINT64_MAX);
    assert_int_equal(after->place[5].function, -1);
    assert_int_equal(after->place[5].module, -1);
    assert_true(after->place[5].addr == before->place[5].addr);
    assert_null(after->module[1].build_id);
    assert_int_equal(entries(folder->path, false), 1);
    free(a);
    free(b);
    profile__free(before);
    profile__free(after);
}

static void test_copies(void **state)
{
    struct folder *folder = *state;
    struct profile *before = fixture__profile();
    fixture__copies(before);
    before->copy[2].slowdown = (double)NAN;
    save(before, folder->file);
    struct profile *after = load(folder->file);
    char *a = json_of(before), *b = json_of(after);
    assert_string_equal(a, b);
    assert_int_equal(after->n_copies, 3);
    assert_true(after->copy[0].alone && !after->copy[2].alone);
    assert_int_equal(after->copy[2].starts_at, 10007);
    assert_int_equal(after->copy[2].tree.n_nodes, 3);
    assert_string_equal(after->copy[2].tree.node[2].hint, "wait less");
    assert_true(isnan(after->copy[2].slowdown) && isnan(profile__throughput(after)));
    free(a);
    free(b);
    profile__free(before);
    profile__free(after);
}

static void test_empty_profile(void **state)
{
    struct folder *folder = *state;
    struct profile *before = profile__new();
    save(before, folder->file);
    struct profile *after = load(folder->file);
    assert_int_equal(after->n_places, 0);
    assert_null(after->command);
    profile__free(before);
    profile__free(after);
}

static void test_same_bytes(void **state)
{
    struct folder *folder = *state;
    struct profile *profile = fixture__profile();
    size_t size_a, size_b;
    save(profile, folder->file);
    unsigned char *a = slurp(folder->file, &size_a);
    save(profile, folder->file); /* replaces */
    unsigned char *b = slurp(folder->file, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(a, b, size_a);
    free(a);
    free(b);
    profile__free(profile);
}

static void test_through_symlink(void **state)
{
    struct folder *folder = *state;
    char link[128];
    struct stat info;
    struct profile *profile = fixture__profile();
    snprintf(link, sizeof link, "%s/link", folder->path);
    save(profile, folder->file);
    assert_int_equal(symlink(folder->file, link), 0);
    save(profile, link);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    profile__free(profile);
}

/* Saving to `path` fails with a sentence about `has`, and the folder keeps its `n` entries. */
static void expect_save_failure(const struct folder *folder, const char *path, const char *has, int n)
{
    struct profile *profile = fixture__profile();
    struct status st = {0};
    assert_int_equal(profile__save(profile, path, &st), -1);
    assert_int_equal(st.exit_code, EXIT_CODE_TOOL);
    if (!strstr(st.text, has) || (path[0] && !strstr(st.text, path)))
        fail_msg("unexpected sentence: %s", st.text);
    assert_int_equal(entries(folder->path, false), n);
    profile__free(profile);
}

static void test_bad_targets(void **state)
{
    struct folder *folder = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/none/r.fathom", folder->path);
    expect_save_failure(folder, path, "make the directory", 0);
    expect_save_failure(folder, folder->path, "is a directory", 0);
    expect_save_failure(folder, "/dev/full", "not a regular file", 0);
    expect_save_failure(folder, "/proc/r.fathom", "cannot write", 0);
    expect_save_failure(folder, "", "empty", 0);
    assert_int_equal(access("/dev/full", W_OK), 0);
}

/* In a child process, because limits and user ids stay changed. Skipped conditions exit 77. */
static int in_child(struct folder *folder, int (*body)(struct folder *))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int save_fails_with(const struct folder *folder, const char *has)
{
    struct profile *profile = fixture__profile();
    struct status st = {0};
    int result = profile__save(profile, folder->file, &st);
    profile__free(profile);
    if (result == -1 && strstr(st.text, has) && strstr(st.text, folder->file))
        return 0;
    fprintf(stderr, "unexpected: %d '%s'\n", result, st.text);
    return 1;
}

static int over_size_limit(struct folder *folder)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){8192, 8192});
    return save_fails_with(folder, "ulimit -f");
}

static int without_permission(struct folder *folder)
{
    if (chmod(folder->path, 0555) != 0 || (geteuid() == 0 && setuid(65534) != 0))
        return 77;
    return save_fails_with(folder, "you may write to");
}

static int on_full_disk(struct folder *folder)
{
    char mount_point[96];
    snprintf(mount_point, sizeof mount_point, "%s/full", folder->path);
    mkdir(mount_point, 0755);
    if (mount("none", mount_point, "tmpfs", 0, "size=16k") != 0)
        return 77;
    snprintf(folder->file, sizeof folder->file, "%s/full/r.fathom", folder->path);
    int result = save_fails_with(folder, "free some space");
    if (entries(mount_point, false) != 0)
        result = 2;
    umount(mount_point);
    rmdir(mount_point);
    return result;
}

static void test_failed_writes(void **state)
{
    struct folder *folder = *state;
    size_t size_a, size_b;
    struct profile *profile = fixture__profile();
    char mount_point[96];

    save(profile, folder->file);
    unsigned char *a = slurp(folder->file, &size_a);
    assert_int_equal(in_child(folder, over_size_limit), 0);
    assert_int_equal(entries(folder->path, false), 1);
    int result = in_child(folder, without_permission);
    assert_true(result == 0 || result == 77);
    chmod(folder->path, 0755);
    assert_int_equal(entries(folder->path, false), 1);
    result = in_child(folder, on_full_disk);
    assert_true(result == 0 || result == 77);
    if (result == 77)
        print_message("full disk not tested: mounting a tmpfs needs root\n");
    snprintf(mount_point, sizeof mount_point, "%s/full", folder->path);
    rmdir(mount_point);
    unsigned char *b = slurp(folder->file, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(a, b, size_a);
    free(a);
    free(b);
    profile__free(profile);
}

static void test_foreign_files(void **state)
{
    struct folder *folder = *state;
    sqlite3 *db;
    char missing[128];

    snprintf(missing, sizeof missing, "%s/missing", folder->path);
    expect_load_failure(missing, "fathom run -o");
    expect_load_failure(folder->path, "directory");
    spill(folder->file, "", 0);
    expect_load_failure(folder->file, "is empty");
    spill(folder->file, "hello", 5);
    expect_load_failure(folder->file, "not a fathom result");
    unlink(folder->file);
    assert_int_equal(sqlite3_open(folder->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    expect_load_failure(folder->file, "another program");
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void test_changed_files(void **state)
{
    struct folder *folder = *state;
    struct profile *profile = fixture__profile();
    fixture__copies(profile);
    static const struct {
        const char *sql, *sentence_has;
    } cases[] = {
        {"PRAGMA user_version=99", "newer"},
        {"PRAGMA user_version=0", "damaged"},
        {"DROP TABLE event", "damaged"},
        {"UPDATE copy_node SET copy=3 WHERE id=0", "damaged"},
        {"UPDATE copy SET alone=2 WHERE id=0", "damaged"},
        {"DROP TABLE host; CREATE VIEW host AS SELECT 0 AS id, 'a' AS key, 'b' AS value", "damaged"},
        {"DELETE FROM meta WHERE key='cycles'", "damaged"},
        {"DELETE FROM place WHERE id=2", "damaged"},
        {"UPDATE place SET module=77", "damaged"},
        {"UPDATE place SET function=-2", "damaged"},
        {"UPDATE tree_node SET tree=5 WHERE id=3", "damaged"},
        {"UPDATE tree_node SET tree='x' WHERE id=13", "damaged"},
        {"UPDATE stack_component SET stack='x' WHERE id=1", "damaged"},
        {"UPDATE tree_node SET level=1000000", "damaged"},
        {"UPDATE meta SET value=-1 WHERE key='issue_width'", "damaged"},
        {"PRAGMA journal_mode=WAL", "write-ahead"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        save(profile, folder->file);
        change(folder->file, cases[i].sql);
        expect_load_failure(folder->file, cases[i].sentence_has);
    }
    profile__free(profile);
}

/* What was sampled, with and without an interval; files of version 1 know nothing of it. */
static void test_sample(void **state)
{
    struct folder *folder = *state;
    struct profile *before = fixture__profile(), *after;
    before->sample = calloc(1, sizeof *before->sample);
    *before->sample = (struct profile_sample){.windows = 120,
                                              .period = 200000,
                                              .window = 1000,
                                              .warm = 2000,
                                              .head = 200001,
                                              .measured = 320017,
                                              .cpi_low = 0.5,
                                              .cpi_high = 0.625};
    for (int k = 0; k < 2; k++) {
        save(before, folder->file);
        after = load(folder->file);
        char *a = json_of(before), *b = json_of(after);
        assert_string_equal(a, b);
        assert_non_null(strstr(a, k ? "\"ipc_low\": null" : "\"ipc_low\": 1.6"));
        assert_non_null(strstr(a, "\"measured\": 320017"));
        assert_int_equal(isnan(after->sample->cpi_low), k);
        free(a);
        free(b);
        profile__free(after);
        before->sample->cpi_low = before->sample->cpi_high = (double)NAN;
    }
    change(folder->file, "PRAGMA user_version=1; DROP TABLE sample");
    after = load(folder->file);
    assert_null(after->sample);
    profile__free(after);
    profile__free(before);
}

/* Extra rows in meta and changed texts are fine: a later minor version may add fields. */
static void test_tolerated_changes(void **state)
{
    struct folder *folder = *state;
    struct profile *profile = fixture__profile(), *after;
    save(profile, folder->file);
    change(folder->file, "INSERT INTO meta VALUES('later','x'); UPDATE meta SET value=NULL WHERE key='core';"
                         "UPDATE tree_node SET value='abc'; CREATE TABLE more(x)");
    after = load(folder->file);
    assert_null(after->core);
    profile__free(after);
    change(folder->file, "PRAGMA user_version=1; DROP TABLE copy_node; DROP TABLE copy"); /* before them */
    after = load(folder->file);
    assert_int_equal(after->n_copies, 0);
    profile__free(after);
    profile__free(profile);
}

static void test_truncated_and_flipped(void **state)
{
    struct folder *folder = *state;
    struct profile *profile = fixture__profile();
    struct status st;
    size_t size;
    save(profile, folder->file);
    unsigned char *bytes = slurp(folder->file, &size);
    for (size_t cut = 0; cut < size; cut += cut < 128 ? 1 : 1021) {
        spill(folder->file, bytes, cut);
        st = (struct status){0};
        assert_null(profile__load(folder->file, &st));
        assert_int_equal(st.exit_code, EXIT_CODE_TOOL);
    }
    for (size_t at = 0; at < size; at += 37) { /* any answer but a crash */
        bytes[at] ^= (unsigned char)(1 + at % 255);
        spill(folder->file, bytes, size);
        profile__free(profile__load(folder->file, &st));
        bytes[at] ^= (unsigned char)(1 + at % 255);
    }
    free(bytes);
    profile__free(profile);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_large(void **state)
{
    struct folder *folder = *state;
    enum { N = 200000 };
    struct profile *profile = profile__new();
    profile->n_places = N;
    profile->place = calloc(N, sizeof *profile->place);
    for (size_t i = 0; i < N; i++)
        profile->place[i] = (struct profile_place){.addr = 0x400000 + 4 * i,
                                                   .module = -1,
                                                   .offset = 4 * i,
                                                   .text = strdup("vfmadd213ps ymm1, ymm2, [rax+rbx*8+64]"),
                                                   .weight = {i * 840, i, {i, i, i, i, i}},
                                                   .function = -1};
    double start = now();
    save(profile, folder->file);
    double saved = now();
    struct profile *after = load(folder->file);
    double loaded = now();
    print_message("200000 places: save %.2f s, load %.2f s\n", saved - start, loaded - saved);
    assert_int_equal(after->n_places, N);
    assert_true(after->place[N - 1].weight.cycles_tip == (N - 1) * 840ULL);
    profile__free(profile);
    profile__free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_copies, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_sample, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_empty_profile, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_same_bytes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_through_symlink, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_bad_targets, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_failed_writes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_foreign_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_changed_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_tolerated_changes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_truncated_and_flipped, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_large, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
