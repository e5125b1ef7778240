/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vector.h"
#include "fathom/status.h"

enum { READ_CHUNK = 64 * 1024 };

char *file__read(const char *path, size_t limit, size_t *size, struct status *st)
{
    VECTOR(char) text = {0};
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;

    if (fd < 0) {
        status__fail(st, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    while (got > 0) {
        if (!vector__reserve(&text, text.n + READ_CHUNK + 1)) {
            status__fail(st, "cannot read %s: out of memory after %zu bytes", path, text.n);
            goto fail;
        }
        got = read(fd, text.item + text.n, READ_CHUNK);
        if (got < 0 && errno == EINTR) {
            got = 1;
            continue;
        }
        if (got < 0) {
            status__fail(st, "cannot read %s: %s", path, strerror(errno));
            goto fail;
        }
        text.n += (size_t)got;
        if (text.n > limit) {
            status__fail(st, "%s is larger than the %zu bytes expected of such a file", path, limit);
            goto fail;
        }
    }
    text.item[text.n] = '\0';
    *size = text.n;
    goto out;

fail:
    vector__free(&text);
out:
    if (!is_stdin)
        close(fd);
    return text.item;
}

/* Temporary files are made by mkstemp with mode 0600; the result gets what open() would have given. */
static void give_usual_mode(int fd, const char *path)
{
    struct stat old;
    mode_t mask = umask(0);

    umask(mask);
    fchmod(fd, stat(path, &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask);
}

int file__begin(struct file_writer *writer, const char *path, struct status *st)
{
    int fd = -1;

    *writer = (struct file_writer){0};
    writer->path = strdup(path);
    writer->temporary = text__printf("%s.tmp-XXXXXX", path);
    if (!writer->path || !writer->temporary) {
        status__fail(st, "cannot write %s: out of memory", path);
        goto fail;
    }
    fd = mkostemp(writer->temporary, O_CLOEXEC);
    if (fd < 0) {
        status__fail(st, "cannot write %s: %s; choose a folder you may write to", path, strerror(errno));
        goto fail;
    }
    give_usual_mode(fd, path);
    writer->out = fdopen(fd, "w");
    if (!writer->out) {
        status__fail(st, "cannot write %s: %s", path, strerror(errno));
        close(fd);
        unlink(writer->temporary);
        goto fail;
    }
    return 0;

fail:
    free(writer->path);
    free(writer->temporary);
    *writer = (struct file_writer){0};
    return -1;
}

int file__commit(struct file_writer *writer, struct status *st)
{
    int error = 0;

    assert(writer->out);
    errno = 0;
    if (ferror(writer->out)) { /* the reason is gone: writing once more says it again */
        clearerr(writer->out);
        putc(' ', writer->out);
        error = fflush(writer->out) ? errno : EIO;
    } else if (fflush(writer->out) || fsync(fileno(writer->out)))
        error = errno ? errno : EIO;
    if (fclose(writer->out) && !error)
        error = errno;
    writer->out = NULL;
    if (!error && rename(writer->temporary, writer->path))
        error = errno;
    if (error)
        status__fail(st, "cannot write %s: %s", writer->path, strerror(error));
    else
        (writer->temporary)[0] = '\0';
    file__abandon(writer);
    return error ? -1 : 0;
}

void file__abandon(struct file_writer *writer)
{
    if (writer->out)
        fclose(writer->out);
    if (writer->temporary && writer->temporary[0])
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->path);
    *writer = (struct file_writer){0};
}

int file__write(const char *path, const void *data, size_t size, struct status *st)
{
    struct file_writer writer;

    if (file__begin(&writer, path, st))
        return -1;
    fwrite(data, 1, size, writer.out);
    return file__commit(&writer, st);
}

char *file__beside_executable(const char *name)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash;

    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    return text__printf("%.*s/%s", slash ? (int)(slash - exe) : 0, exe, name);
}
