/* SPDX-License-Identifier: Apache-2.0 */
/* The branch prediction unit: who predicts what, and what is learned. */
#include "fathom/predict.h"

#include <stdlib.h>

#include "fathom/core.h"
#include "fathom/status.h"
#include "predict/btb.h"
#include "predict/history.h"
#include "predict/ittage.h"
#include "predict/loop.h"
#include "predict/rsb.h"
#include "predict/tage.h"

enum { BTB_BLOCK_LOG2 = 4, FAST_BTB_WAYS = 4, FAST_BTB_BLOCK_LOG2 = 3, OLD_CORE_PORTS = 6 };

/* What moves with the path: real, or a guess on the wrong path. */
struct path {
    struct history history;
    struct rsb rsb;
};

/* The latest step, to get back to the state in which its branch was predicted. */
struct last_step {
    uint64_t addr;
    struct rsb_undo rsb;
    bool valid, pushed;
};

struct predictor {
    struct history_shape shape;
    struct path real;
    struct last_step last;
    struct tage tage;
    struct loop_predictor loop;
    struct ittage ittage;
    struct btb fast, main;
    bool static_rule;         /* unknown conditional branches: backward taken (BP-5) */
    bool underflow_indirect;  /* BP-8 */
    struct history_ring ring; /* shared by both paths */
    struct path scratch;
    uint64_t newest; /* footprint at the real head, which the wrong path may overwrite */
    bool wrong_path; /* it may have */
};

/* What the predictors said, for their update. */
struct lookups {
    struct tage_lookup tage;
    struct ittage_lookup ittage;
    struct loop_entry *loop;
    bool indirect; /* ittage was asked */
};

static int core__check(const struct core *core, struct status *st)
{
    const struct {
        const char *key;
        uint32_t value, min, max;
    } limit[] = {
        {"bimodal_log2", core->bimodal_log2, 1, 24},
        {"tage_tables", core->tage_tables, 0, TAGE_TABLES_MAX},
        {"tage_log2", core->tage_log2, 1, 20},
        {"tage_history_min", core->tage_history_min, 1, HISTORY_LENGTH_MAX},
        {"tage_history_max", core->tage_history_max, core->tage_history_min, HISTORY_LENGTH_MAX},
        {"ittage_tables", core->ittage_tables, 0, ITTAGE_TABLES_MAX},
        {"ittage_log2", core->ittage_log2, 1, 20},
        {"ittage_history_max", core->ittage_history_max, 4, HISTORY_LENGTH_MAX},
        {"rsb_entries", core->rsb_entries, 0, RSB_MAX},
        {"btb_entries", core->btb_entries, 1, 1U << 24},
        {"btb_ways", core->btb_ways, 1, 64},
        {"btb_fast_entries", core->btb_fast_entries, 0, 1U << 16},
        {"loop_predictor_entries", core->loop_predictor_entries, 0, 1U << 16},
    };

    for (size_t k = 0; k < sizeof limit / sizeof *limit; ++k)
        if (limit[k].value < limit[k].min || limit[k].value > limit[k].max)
            return status__fail(st, "core %s: %s is %u; the branch predictor takes %u to %u", core->name,
                                limit[k].key, limit[k].value, limit[k].min, limit[k].max);
    if (core->btb_entries % core->btb_ways != 0)
        return status__fail(st, "core %s: btb_entries (%u) is no multiple of btb_ways (%u)", core->name,
                            core->btb_entries, core->btb_ways);
    return 0;
}

struct predictor *predictor__new(const struct core *core, struct status *st)
{
    struct predictor *p = NULL;
    uint32_t tage_fold, ittage_fold;

    if (core__check(core, st) != 0)
        return NULL;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        goto fail;
    tage_fold =
        history_shape__add(&p->shape, core->tage_tables, core->tage_history_min, core->tage_history_max);
    ittage_fold = history_shape__add(&p->shape, core->ittage_tables, 4, core->ittage_history_max);
    history__init(&p->real.history);
    p->real.rsb.n = core->rsb_entries;
    p->underflow_indirect = core->rsb_underflow_indirect;
    p->static_rule = core->ports <= OLD_CORE_PORTS; /* SNB, IVB; later cores use the aliased predictor */
    if (tage__init(&p->tage, core->bimodal_log2, core->tage_tables, core->tage_log2, tage_fold) != 0 ||
        ittage__init(&p->ittage, core->ittage_tables, core->ittage_log2, ittage_fold) != 0 ||
        loop__init(&p->loop, core->loop_predictor_entries) != 0 ||
        btb__init(&p->fast, core->btb_fast_entries, FAST_BTB_WAYS, FAST_BTB_BLOCK_LOG2) != 0 ||
        btb__init(&p->main, core->btb_entries, core->btb_ways, BTB_BLOCK_LOG2) != 0)
        goto fail;
    return p;
fail:
    status__fail(st, "core %s: no memory for the branch predictor; use smaller tables", core->name);
    predictor__free(p);
    return NULL;
}

void predictor__free(struct predictor *p)
{
    if (p == NULL)
        return;
    tage__fini(&p->tage);
    ittage__fini(&p->ittage);
    loop__fini(&p->loop);
    btb__fini(&p->fast);
    btb__fini(&p->main);
    free(p);
}

size_t predictor__bytes(const struct core *core)
{
    const struct predictor *p = NULL; /* for the sizes alone */

    return sizeof *p + ((size_t)1 << core->bimodal_log2) +
           ((size_t)core->tage_tables << core->tage_log2) * sizeof *p->tage.entry +
           ((size_t)core->ittage_tables << core->ittage_log2) * sizeof *p->ittage.entry +
           core->loop_predictor_entries * sizeof *p->loop.entry +
           ((size_t)core->btb_entries + core->btb_fast_entries) * sizeof *p->main.addr;
}

static bool is_direct(unsigned kind)
{
    return kind == BRANCH_COND || kind == BRANCH_JUMP || kind == BRANCH_CALL;
}

/* Calls to the next instruction only read the program counter: the stack ignores them. */
static bool pushes_return(const struct branch *b)
{
    return b->kind == BRANCH_CALL_INDIRECT || (b->kind == BRANCH_CALL && b->direct != b->fallthrough);
}

static bool predict_direction(const struct predictor *p, const struct path *path, const struct branch *b,
                              struct lookups *look)
{
    bool confident, loop_taken;

    tage__lookup(&p->tage, &path->history, b->addr, &look->tage);
    look->loop = loop__lookup(&p->loop, b->addr, &confident, &loop_taken);
    if (!look->tage.seen && p->static_rule)
        return b->direct <= b->addr;
    return confident ? loop_taken : look->tage.taken;
}

static uint64_t predict_indirect(const struct predictor *p, const struct path *path, const struct branch *b,
                                 struct lookups *look)
{
    look->indirect = true;
    ittage__lookup(&p->ittage, &path->history, b->addr, &look->ittage);
    return look->ittage.target;
}

static uint64_t predict_return(const struct predictor *p, const struct path *path, const struct branch *b,
                               struct lookups *look)
{
    bool underflow;
    uint64_t target = rsb__peek(&path->rsb, &underflow);

    if (underflow && p->underflow_indirect)
        return predict_indirect(p, path, b, look);
    return target;
}

/* Direction and target; the BTB is the caller's. */
static void predict(const struct predictor *p, const struct path *path, const struct branch *b,
                    struct lookups *look, struct prediction *out)
{
    look->indirect = false;
    look->loop = NULL;
    out->taken = true;
    switch (b->kind) {
    case BRANCH_COND:
        out->taken = predict_direction(p, path, b, look);
        out->target = out->taken ? b->direct : b->fallthrough;
        break;
    case BRANCH_JUMP:
    case BRANCH_CALL:
        out->target = b->direct;
        break;
    case BRANCH_INDIRECT:
    case BRANCH_CALL_INDIRECT:
        out->target = predict_indirect(p, path, b, look);
        break;
    case BRANCH_RET:
        out->target = predict_return(p, path, b, look);
        break;
    default: /* control leaves: nothing is predicted */
        out->taken = false;
        out->target = b->fallthrough;
        break;
    }
}

/* History and return stack after `b` went to `target`; true if the history has grown. */
static bool path__advance(struct predictor *p, struct path *path, const struct branch *b, bool taken,
                          uint64_t target)
{
    if (!taken || b->kind == BRANCH_OTHER || b->kind == BRANCH_NONE)
        return false;
    if (pushes_return(b))
        rsb__push(&path->rsb, b->fallthrough);
    else if (b->kind == BRANCH_RET)
        rsb__pop(&path->rsb);
    if (path->history.head - p->real.history.head >= HISTORY_SCRATCH_MAX &&
        path->history.head != p->real.history.head - 1)
        return false; /* a wrong path longer than any window of a core: its history stands still */
    history__push(&path->history, &p->ring, &p->shape, history__footprint(b->addr, target));
    return true;
}

/* Back to the real path: the ring's newest slot holds the real branch again. */
static void path__return(struct predictor *p)
{
    if (p->wrong_path)
        p->ring.footprint[p->real.history.head % HISTORY_RING] = p->newest;
    p->wrong_path = false;
}

/* Asks both levels, and enters a branch that is taken (BP-10: never before it is). */
static void btb__step(struct predictor *p, uint64_t addr, bool taken, struct prediction *out)
{
    out->fast_btb = btb__touch(&p->fast, addr);
    out->btb_hit = btb__touch(&p->main, addr) || out->fast_btb;
    if (taken && !out->btb_hit)
        btb__insert(&p->main, addr);
    if (taken && !out->fast_btb)
        btb__insert(&p->fast, addr);
}

void predictor__step(struct predictor *p, const struct branch *b, bool taken, uint64_t target,
                     struct prediction *out)
{
    struct lookups look;

    path__return(p);
    if (taken && is_direct(b->kind)) /* a signal may have come between: the branch itself went there */
        target = b->direct;
    p->last = (struct last_step){.addr = b->addr, .rsb = rsb__save(&p->real.rsb), .valid = true};
    if (b->kind == BRANCH_OTHER || b->kind == BRANCH_NONE) {
        *out = (struct prediction){.taken = taken, .btb_hit = true, .fast_btb = true, .target = target};
        return;
    }
    predict(p, &p->real, b, &look, out);
    btb__step(p, b->addr, taken, out);
    if (!out->taken)
        out->btb_hit = out->fast_btb = true; /* nothing to be found, no bubble */
    if (b->kind == BRANCH_COND) {
        loop__update(&p->loop, look.loop, b->addr, taken, look.tage.taken);
        tage__update(&p->tage, &look.tage, taken);
    } else if (look.indirect && target != 0) { /* 0: the trace ends here */
        ittage__update(&p->ittage, &look.ittage, b->addr, target);
    }
    p->last.pushed = path__advance(p, &p->real, b, taken, target);
}

void predictor__warm(struct predictor *p, const struct branch *b, bool taken, uint64_t target)
{
    struct prediction unused;

    predictor__step(p, b, taken, target, &unused);
}

void predictor__wrong_path_begin(struct predictor *p, const struct branch *b, bool predicted_taken,
                                 uint64_t predicted_target)
{
    path__return(p);
    p->newest = p->ring.footprint[p->real.history.head % HISTORY_RING];
    p->wrong_path = true;
    p->scratch = p->real;
    if (p->last.valid && p->last.addr == b->addr) {
        if (p->last.pushed)
            history__undo(&p->scratch.history, &p->ring, &p->shape);
        rsb__restore(&p->scratch.rsb, &p->last.rsb);
    }
    path__advance(p, &p->scratch, b, predicted_taken, predicted_target);
}

void predictor__wrong_path(struct predictor *p, const struct branch *b, struct prediction *out)
{
    struct lookups look;

    predict(p, &p->scratch, b, &look, out);
    out->fast_btb = !out->taken || btb__has(&p->fast, b->addr);
    out->btb_hit = out->fast_btb || btb__has(&p->main, b->addr);
    path__advance(p, &p->scratch, b, out->taken, out->target);
}
