/* SPDX-License-Identifier: Apache-2.0 */
/* Branch prediction (PIPELINE.md 11): what the front end believes about the next branch. */
#ifndef FATHOM_PREDICT_H
#define FATHOM_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/insn.h"

struct core;
struct status;
struct predictor;

struct prediction {
    bool taken;
    bool btb_hit;  /* the target came from the BTB, RSB or indirect predictor; else found at decode (BP-5) */
    bool fast_btb; /* no bubble (FE-20) */
    uint64_t target; /* predicted next address */
};

/* A branch that is about to be fetched. */
struct branch {
    uint64_t addr;
    uint64_t fallthrough; /* address after it */
    uint64_t direct;      /* target of a direct branch, else 0 */
    uint8_t kind;         /* enum branch_kind */
};

/* The branch `insn` at `addr`. */
static inline struct branch branch__at(const struct insn *insn, uint64_t addr)
{
    struct branch b = {.addr = addr, .fallthrough = addr + insn->len, .kind = insn->branch};

    if (b.kind == BRANCH_COND || b.kind == BRANCH_JUMP || b.kind == BRANCH_CALL)
        b.direct = b.fallthrough + (uint64_t)insn->branch_disp;
    return b;
}

struct predictor *predictor__new(const struct core *core, struct status *st);
void predictor__free(struct predictor *p);
/* Memory that a predictor takes. */
size_t predictor__bytes(const struct core *core);

/*
 * Predicts `b` on the correct path, learns the real outcome and leaves histories and the return stack
 * as they are after repair. Called in program order, once for each executed branch.
 */
void predictor__step(struct predictor *p, const struct branch *b, bool taken, uint64_t target,
                     struct prediction *out);
/* Teaches an outcome without asking for the prediction: the state afterwards is that after predictor__step.
 * `b->direct` may be 0 unless the branch was taken. */
void predictor__warm(struct predictor *p, const struct branch *b, bool taken, uint64_t target);
/* Wrong path: a guess that changes nothing but a scratch copy of histories and return stack. The
 * first call after wrong_path_begin starts from the state at the mispredicted branch. */
void predictor__wrong_path_begin(struct predictor *p, const struct branch *b, bool predicted_taken,
                                 uint64_t predicted_target);
void predictor__wrong_path(struct predictor *p, const struct branch *b, struct prediction *out);

#endif
