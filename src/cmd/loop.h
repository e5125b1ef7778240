/* SPDX-License-Identifier: Apache-2.0 */
/* fathom loop: what was asked for, and the code it is about. */
#ifndef FATHOM_CMD_LOOP_H
#define FATHOM_CMD_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options.h"
#include "fathom/find.h"
#include "fathom/loop_report.h"
#include "loop/asm.h"

struct isa;
struct status;

enum { LOOP_MAX_SWEEPS = 8 };

struct loop_request {
    struct core_options core;
    const char *input; /* ELF file, assembly text, "-"; NULL: --hex or --batch */
    const char *hex, *batch;
    const char *from_run; /* stored result of a whole program */
    uint64_t n_loops;     /* of it */
    bool intel;
    struct find_selection select;
    char *line_file; /* owned, of select.file */
    bool has_align;
    uint64_t align;
    enum loop_registers registers;
    enum loopsim_model model;
    bool bounds_only, all, help;
    unsigned timeline, threads;
    double measured; /* NAN: none */
    const char *dot, *json, *konata, *output;
    const char *sweep[LOOP_MAX_SWEEPS], *format;
    size_t n_sweeps;
    bool what_if;
};

/* A block of code to look at; what it has of strings and bytes belongs to the inputs. */
struct loop_input {
    char *name; /* owned */
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    const char *function, *file;
    const char *why; /* cannot be simulated, and why; else NULL */
    int line, last_line, depth;
};
struct loop_inputs {
    struct loop_input *item;
    size_t n;
    struct found_loops found;
    struct asm_blocks blocks;
    uint8_t *bytes;
    char *text;
};

/* 0, or -1 and `st`. */
int loop_inputs__read(const struct loop_request *request, struct isa *isa, struct loop_inputs *in,
                      struct status *st);
void loop_inputs__free(struct loop_inputs *in);

/* Sensitivity of the loops (--sweep, --what-if); returns the exit status. */
int loop_sweep(const struct loop_request *request, const struct loop_inputs *in);

/* Opens `path` for writing, "-" is standard output; closes it and tells whether all was written. */
FILE *loop_output__open(const char *path, struct status *st);
int loop_output__close(FILE *out, const char *path, struct status *st);

#endif
