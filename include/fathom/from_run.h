/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest loops of a program's stored result beside their prediction with all data in the L1 cache. */
#ifndef FATHOM_FROM_RUN_H
#define FATHOM_FROM_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fathom/find.h"
#include "fathom/loop_report.h"
#include "fathom/profile.h"

struct status;

/*
 * Where an iteration's cycles go: issue slots divided by the issue width. What a loop is charged at
 * retirement (its cycles) and at issue (its slots) differs by FROM_RUN_ELSEWHERE: a stall at issue is one of
 * the instruction that could not enter, which may lie behind or before the loop.
 */
enum from_run_cause {
    FROM_RUN_RETIRING,
    FROM_RUN_BAD_SPECULATION,
    FROM_RUN_FRONTEND,
    FROM_RUN_MEMORY,
    FROM_RUN_CORE,
    FROM_RUN_ELSEWHERE,
    FROM_RUN_CAUSES
};
const char *from_run_cause__name(enum from_run_cause cause);

struct from_run_loop {
    const struct found_loop *code;
    const char *module;        /* path of its file */
    struct site_weight weight; /* of its places in the program */
    uint64_t iterations;       /* executions of its last instruction, or head */
    double share;              /* of the program's cycles, 0 to 1 */
    const char *why;           /* why there is no prediction, else NULL */

    /* cycles per iteration; NAN without iterations or prediction */
    double in_program, predicted, difference;
    double program_by[FROM_RUN_CAUSES];    /* sum: in_program */
    double predicted_by[FROM_RUN_CAUSES];  /* sum: predicted */
    double difference_by[FROM_RUN_CAUSES]; /* sum: difference */

    struct loop_report report; /* of the prediction; empty without one */
    char sentence[256];        /* the difference in words */
    char next[512];            /* what to try */
    char why_text[256];
};

struct from_run {
    const struct profile *profile; /* the caller's */
    char core[32];                 /* predicted for */
    bool other_core;               /* not the one of the program's figures */
    enum loop_registers registers;
    enum loopsim_model model;
    struct from_run_loop *loop; /* most cycles first */
    size_t n;
    double share; /* of the program's cycles in the loops shown, 0 to 1 */
    char **note;  /* modules that could not be searched: a sentence each */
    size_t n_notes;
    struct found_loops *found; /* storage of the loops' code */
    size_t n_found;
};

struct from_run_options {
    size_t n;                         /* loops wanted */
    const struct core *core;          /* NULL: the one stored with the profile */
    const struct find_selection *sel; /* NULL: all */
    enum loop_registers registers;
    enum loopsim_model model;
};

/* The core a profile was made for, from its stored description. */
int from_run__core(const struct profile *profile, struct core *core, struct status *st);
/* 0 with at least one loop; otherwise -1, `st`, and the notes in `out`. To be freed in either case. */
int from_run__make(const struct profile *profile, const struct from_run_options *opt, struct from_run *out,
                   struct status *st);
void from_run__free(struct from_run *run);

/* --- views ------------------------------------------------------------------------------------- */

void view__from_run_text(const struct from_run *run, const char *input, bool color, FILE *out);
void view__from_run_json(const struct from_run *run, const char *input, FILE *out);

#endif
