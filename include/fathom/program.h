/* SPDX-License-Identifier: Apache-2.0 */
/* A traced program as a source of steps: qemu-user with fathom's plugin in a child process. */
#ifndef FATHOM_PROGRAM_H
#define FATHOM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/source.h"
#include "fathom/observed.h"

struct isa;
struct status;
struct program;

struct program_options {
    char *const *argv;     /* the program and its arguments, NULL-terminated; searched in PATH */
    const char *guest_cpu; /* qemu -cpu argument */
    const char *plugin;    /* path of the plugin; NULL: beside the executable */
    const char *qemu;      /* NULL: qemu-x86_64 from PATH */
    struct isa *isa;
    unsigned rep_chunk_bytes; /* bytes moved by one step of a REP string instruction; 0: 32 */
};

/* What is known about a program once it has ended. */
struct program_end {
    bool exited;     /* false: killed by `signal` or cut short */
    int exit_status; /* of the program */
    int signal;      /* 0: none */
    bool execed;     /* it replaced itself: the rest ran untraced */
    bool forked;     /* it had children: they ran untraced and are not part of the figures */
    bool threaded;   /* it made a second thread: tracing stopped there, see `why` */
    bool avx512;     /* an AVX-512 instruction ended it: `why` names instruction and address */
    bool complete;   /* the whole execution was seen */
    char why[512];   /* a sentence when not complete */
};

/*
 * Starts `opt->argv` under the tracer, stopped before its first instruction until the first fill.
 * Foreign and missing programs are refused here with exit codes 126 and 127; scripts run under their
 * interpreter. The program dies with the calling thread. It inherits every descriptor that is not
 * close-on-exec.
 */
struct program *program__start(const struct program_options *opt, struct status *st);
/* The source; valid until program__free. */
struct source *program__source(struct program *program);
/* Stops tracing as soon as possible; the program is killed. For Ctrl-C and full disks. Async-signal-safe. */
void program__cancel(struct program *program);
/* Waits for the child and tells how it ended. Call after the source has returned 0 or -1 or was cancelled. */
void program__finish(struct program *program, struct program_end *end);
/* Files mapped into the program, all that were ever seen; owned by the program. */
const struct mapping *program__mappings(const struct program *program, size_t *n);
/* Instructions executed in forms without a table row, and observations that make runs differ
 * (system calls such as clock_gettime, getpid, getrandom; RDTSC). Arrays owned by the program. */
const struct profile_count *program__nondeterminism(struct program *program, size_t *n);
/* Instructions seen so far (REP string = 1), without the pipeline's. */
uint64_t program__instructions(const struct program *program);
/* The message of a failed fill. */
const char *program__error(const struct program *program);
void program__free(struct program *program);

#endif
