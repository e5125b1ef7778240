/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants: the parts of an iteration sum to it, in the program, in the prediction and in their difference;
 * FROM_RUN_ELSEWHERE of the program is defined as what is left, never clamped.
 */
#include "fathom/from_run.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vector.h"
#include "cores/params.h"
#include "fathom/insn.h"
#include "fathom/status.h"
#include "loop/from_run_code.h"
#include "profile/weight.h"

/* A difference below this share of the larger figure is none. */
#define SAME 0.05
/* What loses at least this share of the cycles is worth a word. */
#define LOST 0.25

struct candidate {
    const struct found_loop *code;
    size_t number; /* among the loops of its module */
    int module;
    bool checked; /* the file is known to be the one that was run */
    struct site_weight weight;
};

struct making {
    const struct profile *profile;
    const struct from_run_options *opt;
    struct from_run *out;
    struct place_index index;
    struct core core;     /* of the program's figures */
    struct isa *isa;      /* its instructions */
    struct loopsim *sim;  /* of the prediction */
    uint64_t *module_tip; /* by module */
    int *order;           /* modules, most cycles first */
    VECTOR(struct candidate) candidate;
    VECTOR(char *) note;
    VECTOR(struct found_loops) found;
};

const char *from_run_cause__name(enum from_run_cause cause)
{
    static const char *const name[FROM_RUN_CAUSES] = {
        [FROM_RUN_RETIRING] = "retiring",  [FROM_RUN_BAD_SPECULATION] = "bad speculation",
        [FROM_RUN_FRONTEND] = "front end", [FROM_RUN_MEMORY] = "memory",
        [FROM_RUN_CORE] = "core",          [FROM_RUN_ELSEWHERE] = "charged elsewhere",
    };
    assert((unsigned)cause < FROM_RUN_CAUSES);
    return name[cause];
}

int from_run__core(const struct profile *profile, struct core *core, struct status *st)
{
    const char *name = profile->core ? profile->core : "?";
    struct status inner;

    if (profile->core_text &&
        core__parse(core, profile->core_text, strlen(profile->core_text), "its core", &inner) == 0)
        return 0;
    if (!profile->core_text && core__load(core, name, NULL, 0, &inner) == 0)
        return 0;
    return status__fail(st,
                        "the core %s stored in the result cannot be used (%.400s): name one with --core, or "
                        "run the program again",
                        name, inner.text);
}

/* --- which loops ----------------------------------------------------------------------------------- */

static int note(struct making *m, char *text, struct status *st)
{
    if (text && vector__push(&m->note, text))
        return 0;
    free(text);
    return status__fail(st, "not enough memory for the loops");
}

static int by_cycles(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight.cycles_tip != y->weight.cycles_tip)
        return x->weight.cycles_tip > y->weight.cycles_tip ? -1 : 1;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->code->start < y->code->start ? -1 : x->code->start > y->code->start;
}

static int by_module_cycles(const void *a, const void *b, void *arg)
{
    const uint64_t *tip = arg;
    int x = *(const int *)a, y = *(const int *)b;
    if (tip[x] != tip[y])
        return tip[x] > tip[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int sort_modules(struct making *m, struct status *st)
{
    const struct profile *p = m->profile;
    m->module_tip = calloc(p->n_modules + 1, sizeof *m->module_tip);
    m->order = calloc(p->n_modules + 1, sizeof *m->order);
    if (!m->module_tip || !m->order)
        return status__fail(st, "not enough memory for %zu modules", p->n_modules);
    for (size_t i = 0; i < m->index.n; i++) {
        const struct profile_place *place = m->index.place[i];
        if ((size_t)place->module < p->n_modules)
            m->module_tip[place->module] += place->weight.cycles_tip;
    }
    for (size_t i = 0; i < p->n_modules; i++)
        m->order[i] = (int)i;
    qsort_r(m->order, p->n_modules, sizeof *m->order, by_module_cycles, m->module_tip);
    return 0;
}

static double share_of(const struct making *m, uint64_t cycles_tip)
{
    return m->profile->cycles ? (double)cycles_tip / TIP_UNIT / (double)m->profile->cycles : 0;
}

/* The loops of a module that were executed become candidates. */
static int add_loops(struct making *m, int module, bool checked, const struct found_loops *found,
                     struct status *st)
{
    struct site_weight *weight = place_index__loop_weights(&m->index, module, found);
    int rc = weight ? 0 : status__fail(st, "not enough memory for the loops");

    for (size_t i = 0; !rc && i < found->n; i++) {
        struct candidate c = {
            .code = &found->loop[i], .number = i, .module = module, .checked = checked, .weight = weight[i]};
        if (!c.weight.cycles_tip)
            continue;
        if (!vector__push(&m->candidate, c))
            rc = status__fail(st, "not enough memory for the loops");
    }
    free(weight);
    if (m->candidate.n)
        qsort(m->candidate.item, m->candidate.n, sizeof *m->candidate.item, by_cycles);
    if (m->candidate.n > m->opt->n)
        m->candidate.n = m->opt->n;
    return rc;
}

static int search_module(struct making *m, int module, struct status *st)
{
    const struct profile_module *of = &m->profile->module[module];
    double percent = 100 * share_of(m, m->module_tip[module]);
    struct found_loops found = {0};
    struct status why;
    bool checked = false;

    if (!of->path || of->path[0] != '/') /* code the kernel or the program itself has made */
        return note(m,
                    text__printf("%.1f %% of the cycles are in %s, which is no file", percent,
                                 of->path ? of->path : "unknown code"),
                    st);
    if (module__check(of, &checked, &why))
        return note(m, text__printf("%s (%.1f %% of the cycles)", why.text, percent), st);
    if (find__loops(of->path, m->isa, m->opt->sel, &found, &why)) {
        found_loops__free(&found);
        return m->opt->sel ? 0 : note(m, text__printf("%s (%.1f %% of the cycles)", why.text, percent), st);
    }
    if (!vector__push(&m->found, found)) {
        found_loops__free(&found);
        return status__fail(st, "not enough memory for the loops");
    }
    return add_loops(m, module, checked, &found, st);
}

/* A module whose cycles are fewer than those of the last loop wanted can hold no better one. */
static int search(struct making *m, struct status *st)
{
    for (size_t i = 0; i < m->profile->n_modules; i++) {
        uint64_t tip = m->module_tip[m->order[i]];
        if (!tip || (m->candidate.n == m->opt->n && m->candidate.item[m->opt->n - 1].weight.cycles_tip > tip))
            break;
        if (search_module(m, m->order[i], st))
            return -1;
    }
    return 0;
}

/* --- figures --------------------------------------------------------------------------------------- */

static void figures_in_program(const struct making *m, struct from_run_loop *l)
{
    static const enum place_slots class[] = {
        [FROM_RUN_RETIRING] = PLACE_RETIRING, [FROM_RUN_BAD_SPECULATION] = PLACE_BAD_SPECULATION,
        [FROM_RUN_FRONTEND] = PLACE_FRONTEND, [FROM_RUN_MEMORY] = PLACE_BACKEND_MEMORY,
        [FROM_RUN_CORE] = PLACE_BACKEND_CORE,
    };
    uint32_t width = m->profile->issue_width ? m->profile->issue_width : m->core.issue_width;
    double iterations = (double)l->iterations, rest;

    l->in_program = rest = weight__cycles(&l->weight) / iterations;
    for (int c = 0; c < FROM_RUN_ELSEWHERE; c++) {
        l->program_by[c] = (double)l->weight.slots[class[c]] / width / iterations;
        rest -= l->program_by[c];
    }
    l->program_by[FROM_RUN_ELSEWHERE] = rest;
}

/* The prediction's own slots: the top of its tree, in per cent of them. */
static void figures_predicted(struct from_run_loop *l)
{
    static const char *const path[FROM_RUN_ELSEWHERE] = {
        [FROM_RUN_RETIRING] = "Retiring",
        [FROM_RUN_BAD_SPECULATION] = "Bad Speculation",
        [FROM_RUN_FRONTEND] = "Frontend Bound",
        [FROM_RUN_MEMORY] = "Backend Bound/Memory Bound",
        [FROM_RUN_CORE] = "Backend Bound/Core Bound",
    };
    double rest;

    l->predicted = rest = l->report.figures.cycles;
    for (int c = 0; c < FROM_RUN_ELSEWHERE; c++) {
        const struct profile_node *node = profile_tree__find(&l->report.tree, path[c]);
        assert(node);
        l->predicted_by[c] = node->value / 100 * l->predicted;
        rest -= l->predicted_by[c];
    }
    assert(fabs(rest) <= 1e-9 * l->predicted);
    l->predicted_by[FROM_RUN_ELSEWHERE] = 0;
}

static void subtract(struct from_run_loop *l)
{
    l->difference = l->in_program - l->predicted;
    for (int c = 0; c < FROM_RUN_CAUSES; c++)
        l->difference_by[c] = l->program_by[c] - l->predicted_by[c];
}

/* --- words ----------------------------------------------------------------------------------------- */

/* The part that weighs most in the direction of `sign`. */
static enum from_run_cause main_cause(const double *by, int first, double sign)
{
    int best = first;
    for (int c = first + 1; c < FROM_RUN_CAUSES; c++)
        if (sign * by[c] > sign * by[best])
            best = c;
    return (enum from_run_cause)best;
}

/* Why an iteration takes longer than it could; NULL: look at the loop itself. */
static const char *advice(enum from_run_cause cause, bool simple)
{
    switch (cause) {
    case FROM_RUN_BAD_SPECULATION:
        return simple
                   ? "its end is mispredicted: make each run of the loop longer or its length constant, or "
                     "replace very short loops by straight code"
                   : "its branches are mispredicted: make them predictable (sort, split by case) or "
                     "replace them by conditional moves, masks or arithmetic";
    case FROM_RUN_FRONTEND:
        return "its instructions arrive late: let it run longer at a time, keep hot code together "
               "(profile-guided layout), align the loop to 32 bytes";
    case FROM_RUN_MEMORY:
        return "its data does not come from the L1 cache: work on blocks that fit, walk memory in the order "
               "it "
               "is laid out, use smaller types, prefetch";
    case FROM_RUN_CORE:
        return simple ? "its operands come late from the code before it, and each run is too short to hide "
                        "that: let it run longer at a time, start address computations earlier"
                      : "break its dependency chains and take slow operations (divisions, locks) out of it";
    default:
        return NULL;
    }
}

static void put_words(struct from_run_loop *l)
{
    bool more = l->difference > 0;
    double size = fabs(round(100 * l->in_program) - round(100 * l->predicted)) / 100; /* as in the tables */
    enum from_run_cause cause = main_cause(l->difference_by, 0, more ? 1 : -1);
    const char *next = more ? advice(cause, true) : NULL;

    if (size <= SAME * fmax(l->in_program, l->predicted)) {
        next = NULL;
        snprintf(l->sentence, sizeof l->sentence,
                 "The program runs it as predicted: the loop itself is what limits.");
    } else {
        snprintf(l->sentence, sizeof l->sentence,
                 "In the program an iteration takes %.2f cycles (%.0f %%) %s than with its data in the L1 "
                 "cache and without end: mostly %s.%s",
                 size, 100 * size / l->predicted, more ? "more" : "less", from_run_cause__name(cause),
                 more ? "" : " Its iterations overlap with what runs before and after it.");
    }
    snprintf(l->next, sizeof l->next, "%s", next ? next : l->report.next);
}

/* Without a prediction: where most of the cycles go that do not retire anything. */
static void put_words_alone(struct from_run_loop *l)
{
    enum from_run_cause cause = main_cause(l->program_by, FROM_RUN_RETIRING + 1, 1);
    const char *next = advice(cause, false);

    if (!(l->program_by[cause] >= LOST * l->in_program))
        return;
    snprintf(l->sentence, sizeof l->sentence,
             "In the program %.2f of the %.2f cycles of an iteration are %s.", l->program_by[cause],
             l->in_program, from_run_cause__name(cause));
    snprintf(l->next, sizeof l->next, "%s", next ? next : "");
}

/* --- one loop -------------------------------------------------------------------------------------- */

static void predict(struct making *m, struct from_run_loop *l, const struct candidate *c)
{
    struct status st;
    struct loop_question q = {.name = c->code->function ? c->code->function : "loop",
                              .bytes = c->code->bytes,
                              .size = c->code->end - c->code->start,
                              .address = c->code->start,
                              .registers = m->opt->registers,
                              .model = m->opt->model,
                              .measured = (double)NAN};

    if (!c->checked && c->code->simple && !loop_code__is_what_ran(&m->index, c->module, c->code, m->isa))
        l->why = "its instructions are not those that were run: the file has changed, run the program again";
    else if (!c->code->simple)
        l->why = c->code->why;
    else if (loop_report__make(m->sim, &q, &l->report, &st))
        l->why = l->why_text;
    else
        figures_predicted(l);
    if (l->why == l->why_text)
        snprintf(l->why_text, sizeof l->why_text, "%.255s", st.text);
}

static void fill(struct making *m, struct from_run_loop *l, const struct candidate *c)
{
    *l = (struct from_run_loop){.code = c->code,
                                .module = m->profile->module[c->module].path,
                                .weight = c->weight,
                                .share = share_of(m, c->weight.cycles_tip)};
    l->in_program = l->predicted = l->difference = (double)NAN;
    for (int k = 0; k < FROM_RUN_CAUSES; k++)
        l->program_by[k] = l->predicted_by[k] = l->difference_by[k] = (double)NAN;
    l->iterations = loop_code__iterations(&m->index, c->module, c->code, c->number, m->isa);
    if (l->iterations)
        figures_in_program(m, l);
    predict(m, l, c);
    if (!l->why && !l->iterations)
        l->why = "its last instruction was never executed: it was always left before";
    if (!l->why) {
        subtract(l);
        put_words(l);
    } else if (l->iterations) {
        put_words_alone(l);
    }
}

static int fill_all(struct making *m, struct status *st)
{
    struct from_run *out = m->out;
    if (!(out->loop = calloc(m->candidate.n + 1, sizeof *out->loop)))
        return status__fail(st, "not enough memory for %zu loops", m->candidate.n);
    for (; out->n < m->candidate.n; out->n++) {
        fill(m, &out->loop[out->n], &m->candidate.item[out->n]);
        out->share += out->loop[out->n].share;
    }
    if (out->n)
        return 0;
    if (m->opt->sel)
        return status__fail(st, "no loop that was executed matches the selection");
    return status__fail(st, out->n_notes ? "no loop can be shown; see the lines above"
                                         : "the program executed no loop");
}

/* --- all ------------------------------------------------------------------------------------------- */

static int open_cores(struct making *m, struct status *st)
{
    const struct core *other = m->opt->core;
    struct status ignored;

    if (from_run__core(m->profile, &m->core, other ? &ignored : st)) {
        if (!other)
            return -1;
        m->core = *other;
    }
    if (!(m->isa = isa__open(&m->core, st)) || !(m->sim = loopsim__open(other ? other : &m->core, st)))
        return -1;
    memcpy(m->out->core, loopsim__core(m->sim)->name, sizeof m->out->core);
    m->out->other_core = other != NULL;
    return 0;
}

int from_run__make(const struct profile *profile, const struct from_run_options *opt, struct from_run *out,
                   struct status *st)
{
    struct making m = {.profile = profile, .opt = opt, .out = out};
    int rc = -1;

    assert(opt->n > 0);
    *out = (struct from_run){.profile = profile, .registers = opt->registers, .model = opt->model};
    if (open_cores(&m, st) || place_index__build(&m.index, profile, st) || sort_modules(&m, st))
        goto out;
    rc = search(&m, st);
    out->found = m.found.item;
    out->n_found = m.found.n;
    out->note = m.note.item;
    out->n_notes = m.note.n;
    if (!rc)
        rc = fill_all(&m, st);
out:
    vector__free(&m.candidate);
    place_index__free(&m.index);
    free(m.module_tip);
    free(m.order);
    isa__close(m.isa);
    loopsim__close(m.sim);
    return rc;
}

void from_run__free(struct from_run *run)
{
    for (size_t i = 0; i < run->n; i++)
        if (run->loop[i].report.name)
            loop_report__free(&run->loop[i].report);
    for (size_t i = 0; i < run->n_found; i++)
        found_loops__free(&run->found[i]);
    for (size_t i = 0; i < run->n_notes; i++)
        free(run->note[i]);
    free(run->loop);
    free(run->found);
    free(run->note);
    *run = (struct from_run){0};
}
