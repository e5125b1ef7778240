/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the sweeps: many loops on many variants of a core. */
#ifndef LOOP_SWEEP_H
#define LOOP_SWEEP_H

#include "fathom/sweep.h"

/* A change of the instructions that no core parameter expresses. EDIT_FRONTEND: nothing about them hinders
 * the front end. */
enum recipe_edit_kind { EDIT_NONE, EDIT_LATENCY, EDIT_PORT, EDIT_DIVIDER, EDIT_FRONTEND };
struct recipe_edit {
    uint8_t kind;      /* enum recipe_edit_kind */
    uint8_t port;      /* EDIT_PORT: the doubled one */
    uint8_t new_port;  /* EDIT_PORT: its double */
    char mnemonic[24]; /* EDIT_LATENCY: of the instructions whose results come in half the time */
};

/* A block's edited instructions and what they were. */
struct recipe_patch;
/* Applies `edit` to every instruction of a block; NULL when memory is out. *changed tells whether any uop
 * differs. Undone by recipe_patch__undo before anybody else uses the table. */
struct recipe_patch *recipe_patch__apply(struct isa *isa, const struct sweep_loop *loop,
                                         const struct recipe_edit *edit, bool *changed);
void recipe_patch__undo(struct recipe_patch *patch);

/* Mnemonic of an instruction, "MULSS". */
const char *insn__mnemonic(struct isa *isa, const struct insn *insn, char buf[24]);

struct sweep_variant {
    struct core core;
    struct recipe_edit edit;
};

struct sweep_grid {
    const struct sweep_config *config;
    const struct sweep_variant *variant;
    size_t n_variants;
    struct sweep_point *cell; /* n_variants x n_loops; speedup not filled */
    char **error;             /* n_loops: of the first variant, NULL: none */
};

/* Runs all loops on all variants. The first variant is the unmodified core; a loop without a figure there is
 * not run on the others. Cells and errors are the caller's. -1 only without memory, threads or core. */
int sweep_grid__run(struct sweep_grid *grid, struct status *st);

/* The parts of the group "others": buffers of the out-of-order engine but the RS that loops look at. */
int sweep__scale_others(struct core *core, double factor, const char *place, struct status *st);

#endif
