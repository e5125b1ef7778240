/* SPDX-License-Identifier: Apache-2.0 */
/* Sensitivity of loops: cycles per iteration while the core changes. A sweep runs loops over a grid of one or
 * two parameters; what-if changes one thing at a time and ranks the gains. */
#ifndef FATHOM_SWEEP_H
#define FATHOM_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fathom/core.h"
#include "fathom/loopsim.h"

struct json_writer;
struct status;

#define SWEEP_NO_POINT SIZE_MAX
enum { SWEEP_MAX_AXES = 2, SWEEP_MAX_POINTS = 20000, SWEEP_NAME_MAX = 48 };

/* One parameter of a sweep and its values. */
struct sweep_axis {
    char name[SWEEP_NAME_MAX]; /* as the user wrote it: "rs" */
    char key[SWEEP_NAME_MAX]; /* the parameter, "rs_entries"; "others": all out-of-order buffers but the RS */
    char unit[16];            /* of the parameter, "" without and for "others" */
    bool factor;              /* values are multiples of the core's own */
    double *value;            /* rising or as listed */
    double *effective;        /* what the parameter was set to; NULL for "others" */
    size_t n;
};

struct sweep_spec {
    struct sweep_axis axis[SWEEP_MAX_AXES];
    unsigned n_axes;
};

/*
 * "load_latency=4..40", "rs=0.4..2:0.1,others=0.4..2:0.1", "rob=64,128,192,224", "lsd=no,yes". FIRST..LAST
 * counts by 1 (factors: by 0.1), FIRST..LAST:STEP by STEP. A number with a fraction or an x behind it makes
 * all values of its parameter factors of the core's value, and those of "others" always are. Refuses, naming
 * the place in `text`: what cannot be read, what the model of loops does not look at, and values that the
 * core cannot have, also in combination. Exit code 2. sweep_spec__free also after failure.
 */
int sweep_spec__parse(struct sweep_spec *spec, const char *text, const struct core *core,
                      enum loopsim_model model, struct status *st);
void sweep_spec__free(struct sweep_spec *spec);
size_t sweep_spec__points(const struct sweep_spec *spec);
/* Point `i` of the grid: value `i % axis[0].n` of the first axis, `i / axis[0].n` of the second. */
int sweep_spec__core(const struct sweep_spec *spec, size_t i, const struct core *base, struct core *core,
                     struct status *st);

struct sweep_loop {
    const char *name; /* for readers */
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    enum loop_registers registers;
};

struct sweep_config {
    const struct core *core;
    enum loopsim_model model;
    const struct sweep_loop *loop;
    size_t n_loops;
    unsigned threads; /* 0: as many as CPUs are allowed */
    uint64_t max_cycles;
    bool quiet; /* no progress line */
};

struct sweep_point {
    double cycles;  /* per iteration; NAN: none found */
    double speedup; /* against the unmodified core; NAN when either is unknown */
    bool periodic;  /* exact */
};

struct sweep_loop_result {
    char *name;
    char *error; /* why the unmodified core has no figure; NULL: it has one */
    struct sweep_point base;
    struct sweep_point *point;     /* sweep_spec__points of them */
    double slope;                  /* one axis: least squares, cycles per unit of the axis; NAN otherwise */
    size_t best, worst;            /* points; meaningless with an error */
    double min_cycles, max_cycles; /* NAN when no point has a figure */
};

struct sweep {
    struct core core; /* unmodified */
    enum loopsim_model model;
    struct sweep_spec spec;
    size_t own; /* the point that is the unmodified core; SWEEP_NO_POINT: the grid passes it by */
    struct sweep_loop_result *loop;
    size_t n_loops;
};

/*
 * Runs every loop at every point, on several threads; the result depends on neither their number nor their
 * order. A loop that cannot be simulated keeps its error and the others go on; -1 only when nothing can be
 * done at all. Takes over `spec` (it is empty afterwards, whatever the result). sweep__free in any case.
 */
int sweep__run(struct sweep *sweep, const struct sweep_config *config, struct sweep_spec *spec,
               struct status *st);
void sweep__free(struct sweep *sweep);

enum what_if_kind {
    WHAT_IF_BUFFER,   /* a buffer doubled */
    WHAT_IF_LATENCY,  /* a latency halved */
    WHAT_IF_PORT,     /* a port doubled: every uop that may use it may also use the new one */
    WHAT_IF_DIVIDER,  /* dividers and other units that are not pipelined accept a uop a cycle */
    WHAT_IF_FRONTEND, /* perfect, or a part of it doubled */
    WHAT_IF_WIDTH,    /* wider issue and retirement */
    WHAT_IF_KINDS
};
const char *what_if_kind__name(enum what_if_kind kind);

struct what_if_row {
    enum what_if_kind kind;
    char *id;     /* stable: "rob_entries*2", "port5*2", "latency:MULSS/2" */
    char *change; /* for readers: "ROB 224 -> 448 uops" */
    struct sweep_point point;
};

struct what_if_loop {
    char *name;
    char *error;
    struct sweep_point base;
    struct what_if_row *row; /* best first; those that cannot act on this loop are left out */
    size_t n_rows;
    char *verdict; /* one sentence */
};

struct what_if {
    struct core core;
    enum loopsim_model model;
    struct what_if_loop *loop;
    size_t n_loops;
};

int what_if__run(struct what_if *what, const struct sweep_config *config, struct status *st);
void what_if__free(struct what_if *what);

/* ---- views ---- */

struct sweep_text_options {
    bool color;
    bool all;       /* what-if: changes without effect one by one */
    unsigned width; /* columns; 0: 100 */
};
void view__sweep_text(const struct sweep *sweep, const struct sweep_text_options *opt, FILE *out);
/* One line a loop and point: loop,core,model,AXIS...,[effective values],cycles,speedup,exact */
void view__sweep_csv(const struct sweep *sweep, FILE *out);
void view__sweep_json(const struct sweep *sweep, FILE *out);
/* The same object as a value inside a larger document. */
void view__sweep_json_value(const struct sweep *sweep, struct json_writer *json);
/* One self-contained picture: a curve a loop, or a heat map a loop. */
void view__sweep_svg(const struct sweep *sweep, FILE *out);

void view__what_if_text(const struct what_if *what, const struct sweep_text_options *opt, FILE *out);
void view__what_if_csv(const struct what_if *what, FILE *out);
void view__what_if_json(const struct what_if *what, FILE *out);
void view__what_if_json_value(const struct what_if *what, struct json_writer *json);
void view__what_if_svg(const struct what_if *what, FILE *out);

#endif
