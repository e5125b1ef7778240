/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_reader.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fathom/status.h"
#include "trace/program_child.h"

enum { WAIT_MS = 20 };

static void futex__wait(uint32_t *word, uint32_t value)
{
    const struct timespec timeout = {.tv_nsec = WAIT_MS * 1000 * 1000};

    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void futex__wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* A limit on file sizes (ulimit -f) is meant for disks but holds for this memory too: the soft one is
 * lifted for it, and the hard one refused instead of dying by SIGXFSZ. */
static int size_memory(int fd)
{
    struct rlimit old, wide;
    int rc, error;

    if (getrlimit(RLIMIT_FSIZE, &old) != 0 || old.rlim_cur >= RING_BYTES)
        return ftruncate(fd, (off_t)RING_BYTES);
    if (old.rlim_max < RING_BYTES) {
        errno = EFBIG;
        return -1;
    }
    wide = (struct rlimit){old.rlim_max, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &wide);
    rc = ftruncate(fd, (off_t)RING_BYTES);
    error = errno;
    setrlimit(RLIMIT_FSIZE, &old);
    errno = error;
    return rc;
}

int reader__create(struct reader *reader, struct status *st)
{
    void *map;

    memset(reader, 0, sizeof *reader);
    reader->fd = memfd_create("fathom-trace", MFD_CLOEXEC);
    if (reader->fd < 0)
        return status__fail(st, "cannot create the shared trace memory: %s", strerror(errno));
    if (size_memory(reader->fd) != 0)
        return status__fail(st, "cannot get %llu MiB of shared trace memory: %s%s",
                            (unsigned long long)(RING_BYTES >> 20), strerror(errno),
                            errno == EFBIG ? "; lift the limit on file sizes (ulimit -f unlimited)" : "");
    map = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, reader->fd, 0);
    if (map == MAP_FAILED)
        return status__fail(st, "cannot map the shared trace memory: %s", strerror(errno));
    reader->live = map;
    reader->chunks = (uint64_t *)((char *)map + RING_PAGE_BYTES);
    reader->live->consumer_pid = (uint32_t)getpid();
    return 0;
}

void reader__destroy(struct reader *reader)
{
    if (reader->live)
        munmap(reader->live, RING_BYTES);
    if (reader->fd >= 0)
        close(reader->fd);
    reader->live = NULL;
    reader->fd = -1;
}

/* After a successful execve another program runs under the same pid, without tracer. */
static bool child_has_execed(const struct reader *reader)
{
    char link[64];
    struct stat info;

    if (!__atomic_load_n(&reader->live->execing, __ATOMIC_ACQUIRE))
        return false;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)reader->pid);
    if (stat(link, &info) != 0)
        return errno == EACCES || errno == EPERM; /* a set-user-id program */
    return info.st_dev != reader->qemu_dev || info.st_ino != reader->qemu_ino;
}

int reader__wait_hello(struct reader *reader)
{
    while (__atomic_load_n(&reader->live->hello, __ATOMIC_ACQUIRE) != RING_MAGIC) {
        if (child__is_dead(reader) || reader->cancelled)
            return 0;
        futex__wait(&reader->live->hello, 0);
    }
    return 1;
}

void reader__go(struct reader *reader)
{
    if (__atomic_load_n(&reader->live->go, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&reader->live->go, 1, __ATOMIC_SEQ_CST);
    futex__wake(&reader->live->go);
}

static uint64_t *chunk_of(const struct reader *reader, uint32_t number)
{
    return reader->chunks + (uint64_t)(number % RING_CHUNKS) * RING_STRIDE;
}

/* The producer is gone: what it had written into its current chunk is valid up to `pos`. */
static int open_rest(struct reader *reader)
{
    const struct ring_live *live = reader->live;
    uint64_t *chunk = chunk_of(reader, reader->n_opened);
    uint64_t n = (uint64_t)(live->pos - live->chunk);

    if (live->chunk == NULL || live->number != reader->n_opened || n >= RING_STRIDE)
        return 0;
    reader->drained = true;
    reader->n_opened++;
    chunk[n] = RING_WORD(RING_END, 0);
    reader->at = chunk;
    return 1;
}

int reader__open_chunk(struct reader *reader)
{
    struct ring_live *live = reader->live;

    for (;;) {
        uint32_t head = __atomic_load_n(&live->head, __ATOMIC_ACQUIRE);

        if (reader->cancelled || reader->drained)
            return 0;
        if (head != reader->n_opened) {
            reader->at = chunk_of(reader, reader->n_opened++);
            return 1;
        }
        if (reader->ended)
            return open_rest(reader);
        __atomic_store_n(&live->head_waiter, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&live->head, __ATOMIC_SEQ_CST) == head)
            futex__wait(&live->head, head);
        __atomic_store_n(&live->head_waiter, 0, __ATOMIC_RELAXED);
        if (__atomic_load_n(&live->head, __ATOMIC_ACQUIRE) != head)
            continue;
        if (child__is_dead(reader)) {
            reader->ended = true;
            /* It did not come back from execve, so it ended as the new program. */
            reader->execed = __atomic_load_n(&live->execing, __ATOMIC_ACQUIRE) != 0;
        } else if (child_has_execed(reader)) {
            reader->ended = reader->execed = true;
        }
    }
}

void reader__release(struct reader *reader)
{
    struct ring_live *live = reader->live;
    uint32_t tail = reader->n_opened ? reader->n_opened - 1 : 0;

    if (__atomic_load_n(&live->tail, __ATOMIC_RELAXED) == tail)
        return;
    __atomic_store_n(&live->tail, tail, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&live->tail_waiter, __ATOMIC_SEQ_CST))
        futex__wake(&live->tail);
}
