/* SPDX-License-Identifier: Apache-2.0 */
/* Why a loop takes as long as it does: everything a reader of `fathom loop` is told, computed. */
#ifndef FATHOM_LOOP_REPORT_H
#define FATHOM_LOOP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fathom/bounds.h"
#include "fathom/loopsim.h"
#include "fathom/profile.h"

struct isa;
struct status;

/* What a uop waited for. The first group holds it at the head of the IDQ, before issue; the second in the
 * scheduler; the last in the ROB. Waits of different uops overlap: they are no shares of the cycles. */
enum loop_wait {
    LOOP_WAIT_FRONTEND, /* not delivered yet */
    LOOP_WAIT_ROB,
    LOOP_WAIT_RS,
    LOOP_WAIT_LOAD_BUFFER,
    LOOP_WAIT_STORE_BUFFER,
    LOOP_WAIT_REGISTERS,
    LOOP_WAIT_SERIAL, /* a serialising instruction */
    LOOP_WAIT_DATA,   /* an operand */
    LOOP_WAIT_UNIT,   /* a unit that is not pipelined, a fence */
    LOOP_WAIT_PORT,
    LOOP_WAIT_DIVIDER,
    LOOP_WAIT_RETIRE, /* complete, older uops are not */
    LOOP_WAITS
};
const char *loop_wait__name(enum loop_wait wait);
/* As it appears in a timeline. */
char loop_wait__letter(enum loop_wait wait);

/* Figures of one uop of an instruction's recipe, per iteration. */
struct loop_uop_row {
    uint8_t kind;  /* enum uop_kind */
    uint8_t index; /* in the recipe, or UOP_RECORD_SYNC, _MERGE */
    double count;
    double port[BOUNDS_MAX_PORTS];
    double wait[LOOP_WAITS];
};

struct loop_insn_row {
    uint64_t address;
    uint8_t bytes[15], len;
    char *text;
    bool fused_with_previous; /* second half of a macro-fused pair: counted there */
    bool unknown;             /* no row in the instruction table: a default recipe */
    double fused, unfused;    /* uops per iteration: issue slots, dispatches */
    double cycles;            /* time-proportional share of an iteration's cycles */
    double critical;          /* times per iteration on the critical path */
    double port[BOUNDS_MAX_PORTS];
    double wait[LOOP_WAITS]; /* sums over its uops */
    struct loop_uop_row *uop;
    size_t n_uops;
};

/* What the links of the critical path are made of, cycles per iteration. */
enum path_link { PATH_DATA, PATH_PORT, PATH_DIVIDER, PATH_UNIT, PATH_ISSUE, PATH_LINKS };
const char *path_link__name(enum path_link link);

struct timeline_row {
    uint32_t iteration, insn;
    uint8_t index, kind;
    uint8_t port; /* UOP_RECORD_NO_PORT: none */
    char *cell;   /* a letter for each column */
};
struct timeline {
    struct timeline_row *row;
    size_t n_rows, n_columns;
    int64_t first_cycle; /* of the first column */
    bool cut;            /* more rows or columns than are kept */
    char *storage;
};

struct loop_report {
    char *name; /* "0x401136..0x401150 of sum, a.c:12" */
    char core[32], core_title[96];
    uint64_t address; /* of the first byte, as shown */
    unsigned offset;  /* in a 64-byte line, as simulated */
    enum loopsim_model model;
    enum loop_registers registers;
    bool simulated;      /* false: bounds only */
    bool ends_elsewhere; /* ends in a branch that does not lead to its start */
    struct loop_figures figures;
    double measured, fidelity; /* NAN: not supplied; fidelity = 1 - relative error */

    uint32_t issue_width, n_ports;
    double ipc, fused, unfused, slots;         /* per iteration */
    uint64_t window_iterations, window_cycles; /* of the steady part that the figures below are from */
    double port[BOUNDS_MAX_PORTS];
    struct loop_insn_row *insn;
    size_t n_insns, n_unknown;

    bool has_bounds;
    struct bounds bounds;
    double hazard, hazard_share; /* simulation minus the largest bound; of the cycles */

    struct profile_tree tree;
    struct profile_stack stack;
    double path[PATH_LINKS];
    const char *limit; /* in a word: a bound, or "hazards" when they cost a sixth or more; NULL: unknown */
    char sentence[1024], next[512];

    struct timeline timeline;
    struct uop_record *uop; /* whole run, only when asked for */
    size_t n_uops;
};

struct loop_question {
    const char *name;
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    enum loop_registers registers;
    enum loopsim_model model;
    bool bounds_only;
    unsigned timeline_iterations;
    bool keep_uops;
    double measured; /* cycles per iteration; NAN: none */
};

int loop_report__make(struct loopsim *sim, const struct loop_question *question, struct loop_report *report,
                      struct status *st);
void loop_report__free(struct loop_report *report);
/* 1 - |predicted - measured| / measured. */
double loop_report__fidelity(double predicted, double measured);

/* The instructions of a block that can run as a loop or unrolled. Fails naming byte and instruction: bytes
 * that are none, a branch inside, a call, a return, a system call. `insn` has room for `size`. */
struct block_shape {
    size_t n;
    bool unrolled;       /* does not end in a branch */
    bool ends_elsewhere; /* ends in a branch, but not to its first byte */
    bool has_branch;     /* failed because of its control flow, not of its bytes */
};
int block__decode(struct isa *isa, const uint8_t *bytes, size_t size, struct insn **insn,
                  struct block_shape *shape, struct status *st);

/* --- views ------------------------------------------------------------------------------------- */

struct loop_view_options {
    bool all; /* every bound, wait, tree node and uop */
    bool color;
};
void view__loop_text(const struct loop_report *report, const struct loop_view_options *opt, FILE *out);
void view__loop_timeline(const struct loop_report *report, FILE *out);

/* A loop that could not be simulated has `report` NULL and says `why`. */
struct loop_entry {
    const struct loop_report *report;
    const char *name, *function, *file, *why;
    int line, last_line, depth;
    uint64_t start, end;
};
void view__loop_table(const struct loop_entry *entry, size_t n, FILE *out);
void view__loop_json(const struct loop_entry *entry, size_t n, const char *input, FILE *out);
/* Traces for pipeline viewers: the native format of Konata, and gem5's O3PipeView. */
void view__loop_konata(const struct loop_report *report, FILE *out);
void view__loop_o3pipeview(const struct loop_report *report, FILE *out);

#endif
