/* SPDX-License-Identifier: Apache-2.0 */
/* From executed blocks and their records to steps. */
#ifndef FATHOM_TRACE_PROGRAM_EXPAND_H
#define FATHOM_TRACE_PROGRAM_EXPAND_H

#include <stdbool.h>
#include <stdint.h>

#include "fathom/source.h"
#include "trace/program_blocks.h"
#include "trace/program_observe.h"

enum { N_SIGNALS = 65 };
/* No block starts there. */
#define NO_HANDLER UINT64_MAX

/* One execution of a block, with what is known about its end. */
struct execution {
    struct block *block;
    const uint64_t *record; /* n_records access words */
    uint32_t n_records, n_snapshots;
    const uint64_t *snapshot;
    const struct block *next; /* executed after it; NULL: nothing */
    bool killed;              /* nothing follows because a signal ended the program */
    int signal;               /* that signal */
};

/* A REP instruction in progress. */
struct rep_state {
    bool active;
    uint64_t addr;
    const struct rep_site *site;
    bool chunk; /* a body is being collected */
    uint64_t low[INSN_MAX_MEM], high[INSN_MAX_MEM];
};

/*
 * Writes steps at the end of `out`. The newest step stays one slot behind out->end (`pending`) until
 * the address after it is known; out->end grows when the next one is written.
 */
struct expander {
    const struct blocks *blocks;
    struct step_buffer *out;
    bool pending;
    struct rep_state rep;
    struct observations *observations;
    uint64_t n_insns;
    uint64_t handler[N_SIGNALS]; /* of the program, by signal; NO_HANDLER */
};

/* Is there room in `out` for whatever one execution of `block` can produce? */
bool expand__has_room(const struct expander *e, const struct step_buffer *out, const struct block *block);
void expand__run(struct expander *e, const struct execution *x);
/* Appends a step made elsewhere (its accesses are in `from`). */
void expand__copy(struct expander *e, const struct step_buffer *from, const struct step *step);
/* Publishes the pending step: `next` is executed after it, 0 for nothing. */
void expand__commit(struct expander *e, uint64_t next, bool rep_body);

#endif
