/* SPDX-License-Identifier: Apache-2.0 */
/* Many blocks at once: CSV in, CSV out, in the same order. */
#ifndef FATHOM_LOOP_BATCH_H
#define FATHOM_LOOP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fathom/loopsim.h"

struct status;

struct batch_options {
    const char *core; /* of rows that name none */
    const char *const *set;
    size_t n_set;
    uint64_t alignment; /* of rows that give none */
    enum loop_registers registers;
    enum loopsim_model model;
    bool bounds_only;
    unsigned threads;    /* 0: 1 */
    uint64_t max_cycles; /* a block, 0: the simulator's own limit */
    bool progress;
};

struct batch_result {
    size_t n_rows, n_failed;
    size_t n_measured; /* usable rows with a measurement */
    double fidelity;   /* mean over them, NAN: none */
};

/*
 * `text` is the file `name`: a header with at least id and hex, optionally core, alignment (or align) and
 * measured. Writes "id,cycles" lines ("id,cycles,fidelity" with a measured column). An unusable row gives an
 * empty value and a sentence on `messages`. Fails only when nothing can be read or a core set is wrong.
 * `text` is changed.
 */
int batch__run(char *text, size_t size, const char *name, const struct batch_options *opt, FILE *out,
               FILE *messages, struct batch_result *result, struct status *st);

/* --- CSV (RFC 4180) ------------------------------------------------------------------------------ */

enum { CSV_MAX_FIELDS = 64 };
struct csv_reader {
    char *at, *end;
    size_t line; /* of the record just read, from 1 */
    size_t next_line;
};
struct csv_record {
    char *field[CSV_MAX_FIELDS]; /* 0-terminated, in the text */
    size_t n;                    /* fields in the record, also those beyond CSV_MAX_FIELDS */
    bool bad_quotes;
};
void csv__init(struct csv_reader *csv, char *text, size_t size);
/* False at the end. Empty lines are skipped. `text` must have a byte of room behind it. */
bool csv__next(struct csv_reader *csv, struct csv_record *record);
void csv__write(FILE *out, const char *field);

#endif
