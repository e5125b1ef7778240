/* SPDX-License-Identifier: Apache-2.0 */
/* The system assembler: text in a temporary file, an object file beside it, its complaints in a third. */
#include "loop/asm.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { MAX_OBJECT_BYTES = 256 << 20, MAX_COMPLAINT_BYTES = 16 << 20 };

struct paths {
    char *source, *complaints;
};

static int write_all(const char *path, const char *text, size_t size, struct status *st)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t wrote = 1;
    for (size_t at = 0; fd >= 0 && at < size && wrote > 0; at += (size_t)wrote)
        wrote = write(fd, text + at, size - at);
    if (fd < 0 || wrote <= 0 || close(fd) != 0)
        return status__fail(st, "cannot write the temporary file %s: %m; set TMPDIR to another folder", path);
    return 0;
}

static int make_folder(struct asm_blocks *out, struct paths *p, struct status *st)
{
    const char *tmp = getenv("TMPDIR");
    out->folder = text__printf("%s/fathom-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (!out->folder || !mkdtemp(out->folder)) {
        int rc = status__fail(st, "cannot make a temporary folder in %s: %m; set TMPDIR to another one",
                              tmp && tmp[0] ? tmp : "/tmp");
        free(out->folder);
        out->folder = NULL;
        return rc;
    }
    p->source = text__printf("%s/source.s", out->folder);
    p->complaints = text__printf("%s/complaints", out->folder);
    out->object = text__printf("%s/object.o", out->folder);
    return p->source && p->complaints && out->object ? 0 : status__fail(st, "out of memory");
}

/* The assembler's exit status; -1 and `st` when it could not be run. */
static int run_as(const struct asm_blocks *out, const struct paths *p, bool intel, struct status *st)
{
    const char *argv[] = {"as",
                          "--64",
                          "-o",
                          out->object,
                          intel ? "-msyntax=intel" : "-msyntax=att",
                          p->source,
                          intel ? "-mnaked-reg" : NULL,
                          NULL};
    posix_spawn_file_actions_t fa;
    pid_t pid;
    int status = 0, rc;

    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, p->complaints, O_WRONLY | O_CREAT, 0600);
    rc = posix_spawnp(&pid, "as", &fa, NULL, (char **)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    if (rc)
        return status__fail(st, "cannot run the assembler 'as': %s; install the package binutils",
                            strerror(rc));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return status__fail(st, "lost the assembler: %m");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* "ORIGIN:LINE: MESSAGE" of the first error. */
static int complain(const struct paths *p, const char *origin, struct status *st)
{
    struct status ignored;
    size_t size;
    char *text = file__read(p->complaints, MAX_COMPLAINT_BYTES, &size, &ignored);
    char *at = text ? strstr(text, "Error: ") : NULL;
    if (!at) {
        free(text);
        return status__fail(st, "%s: the assembler refused it without saying why", origin);
    }
    char *line = at;
    while (line > text && line[-1] != '\n')
        line--;
    char *number = line + strlen(p->source);
    size_t digits = strncmp(line, p->source, strlen(p->source)) == 0 && *number == ':'
                        ? strspn(number + 1, "0123456789")
                        : 0;
    at += strlen("Error: ");
    at[strcspn(at, "\n")] = 0;
    int rc = digits ? status__fail(st, "%s:%.*s: %s", origin, (int)digits, number + 1, at)
                    : status__fail(st, "%s: %s", origin, at);
    free(text);
    return rc;
}

int asm__assemble(const char *text, size_t size, const char *origin, bool intel, struct asm_blocks *out,
                  struct status *st)
{
    struct asm_source source;
    struct paths p = {0};
    char *object = NULL;
    size_t object_size;
    int rc = -1, as;

    *out = (struct asm_blocks){0};
    if (asm__mark(text, size, origin, &source, st))
        return -1;
    if (make_folder(out, &p, st) || write_all(p.source, source.text, source.size, st) ||
        (as = run_as(out, &p, intel, st)) < 0)
        goto out;
    if (as != 0) {
        complain(&p, origin, st);
        goto out;
    }
    if (!(object = file__read(out->object, MAX_OBJECT_BYTES, &object_size, st)) ||
        asm__extract(object, object_size, &source, origin, out, st))
        goto out;
    rc = 0;
out:
    if (p.source)
        unlink(p.source);
    if (p.complaints)
        unlink(p.complaints);
    free(p.source);
    free(p.complaints);
    free(object);
    asm_source__free(&source);
    if (rc)
        asm_blocks__free(out);
    return rc;
}

void asm_blocks__free(struct asm_blocks *blocks)
{
    for (size_t i = 0; i < blocks->n; i++) {
        free(blocks->block[i].name);
        free(blocks->block[i].bytes);
    }
    free(blocks->block);
    if (blocks->object)
        unlink(blocks->object);
    if (blocks->folder)
        rmdir(blocks->folder);
    free(blocks->object);
    free(blocks->folder);
    *blocks = (struct asm_blocks){0};
}
