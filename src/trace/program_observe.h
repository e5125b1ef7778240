/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two runs of a program differ: instructions and system calls whose result is not fixed. */
#ifndef FATHOM_TRACE_PROGRAM_OBSERVE_H
#define FATHOM_TRACE_PROGRAM_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/observed.h"

enum observed {
    OBSERVED_NONE,
    OBSERVED_RDTSC,
    OBSERVED_RDTSCP,
    OBSERVED_RDRAND,
    OBSERVED_RDSEED,
    OBSERVED_FIRST_SYSCALL,
    OBSERVED_PROC_FILES = OBSERVED_FIRST_SYSCALL, /* /proc, /sys, random devices opened */
    OBSERVED_FORK,
    OBSERVED_UNKNOWN_HINT,
    OBSERVED_TABLED, /* here on: the table of system calls */
    OBSERVED_MAX = OBSERVED_TABLED + 24,
};

struct observations {
    uint64_t count[OBSERVED_MAX];
    bool no_registers;                        /* the tracer could not read any */
    struct profile_count shown[OBSERVED_MAX]; /* made by observe__list */
};

/* The enum observed of an instruction, OBSERVED_NONE for most. */
unsigned observe__insn(const uint8_t *bytes, size_t len);
void observe__syscall(struct observations *obs, uint64_t number);
void observe__open(struct observations *obs, const char *path);
/* Those with a count, in a fixed order; valid until the next call. */
const struct profile_count *observe__list(struct observations *obs, size_t *n);

#endif
