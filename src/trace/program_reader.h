/* SPDX-License-Identifier: Apache-2.0 */
/* The reading end of the ring and the child process behind it. */
#ifndef FATHOM_TRACE_PROGRAM_READER_H
#define FATHOM_TRACE_PROGRAM_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/ring.h"

struct status;

struct reader {
    struct ring_live *live; /* the whole mapping */
    uint64_t *chunks;
    int fd;         /* -1 once handed over */
    pid_t pid;      /* the traced process; 0: none or already waited for */
    dev_t qemu_dev; /* of its executable: another one means that it has exec'ed */
    ino_t qemu_ino;
    uint32_t n_opened;  /* chunks opened so far; the newest is being read */
    const uint64_t *at; /* next word */
    bool drained;       /* the unpublished rest has been opened as well */
    bool ended;         /* no more words will be written */
    bool execed;
    volatile int cancelled; /* set by signal handlers */
};

int reader__create(struct reader *reader, struct status *st);
/* Waits until the plugin has attached: 1, or 0 when the child died first. */
int reader__wait_hello(struct reader *reader);
/* Lets the program start. */
void reader__go(struct reader *reader);
/*
 * Opens the next chunk, waiting for it: 1 and reader->at, or 0 at the end of the trace. Chunks opened
 * before stay valid until reader__release.
 */
int reader__open_chunk(struct reader *reader);
/* Gives all chunks but the one being read back to the producer. */
void reader__release(struct reader *reader);
void reader__destroy(struct reader *reader);

#endif
