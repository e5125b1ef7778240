/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a loop with everybody listening, and what follows from it. */
#include "loop/explain.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/account.h"
#include "fathom/insn.h"
#include "fathom/status.h"
#include "fathom/tree.h"

enum { TEXT_BYTES = 160, STEP_CYCLES = 256, MIN_ITERATIONS = 12, MAX_EXTRA_CYCLES = 200000 };

#define HAZARD_LIMIT (1.0 / 6)

const char *loop_wait__name(enum loop_wait wait)
{
    static const char *const name[LOOP_WAITS] = {
        [LOOP_WAIT_FRONTEND] = "front end",
        [LOOP_WAIT_ROB] = "ROB",
        [LOOP_WAIT_RS] = "RS",
        [LOOP_WAIT_LOAD_BUFFER] = "load buffer",
        [LOOP_WAIT_STORE_BUFFER] = "store buffer",
        [LOOP_WAIT_REGISTERS] = "registers",
        [LOOP_WAIT_SERIAL] = "serial",
        [LOOP_WAIT_DATA] = "data",
        [LOOP_WAIT_UNIT] = "unit",
        [LOOP_WAIT_PORT] = "port",
        [LOOP_WAIT_DIVIDER] = "divider",
        [LOOP_WAIT_RETIRE] = "retire",
    };
    assert((unsigned)wait < LOOP_WAITS);
    return name[wait];
}

char loop_wait__letter(enum loop_wait wait)
{
    static const char letter[LOOP_WAITS] = {
        [LOOP_WAIT_FRONTEND] = '.',    [LOOP_WAIT_ROB] = 'o',          [LOOP_WAIT_RS] = 's',
        [LOOP_WAIT_LOAD_BUFFER] = 'l', [LOOP_WAIT_STORE_BUFFER] = 'b', [LOOP_WAIT_REGISTERS] = 'g',
        [LOOP_WAIT_SERIAL] = 'x',      [LOOP_WAIT_DATA] = 'd',         [LOOP_WAIT_UNIT] = 'u',
        [LOOP_WAIT_PORT] = 'p',        [LOOP_WAIT_DIVIDER] = 'v',      [LOOP_WAIT_RETIRE] = 'r',
    };
    assert((unsigned)wait < LOOP_WAITS);
    return letter[wait];
}

double loop_report__fidelity(double predicted, double measured)
{
    return measured > 0 && isfinite(predicted) ? 1 - fabs(predicted - measured) / measured : (double)NAN;
}

/* --- listening -------------------------------------------------------------------------------- */

static void keep_uop(struct uop_listener *self, const struct uop_record *u)
{
    struct explain_uops *k = (struct explain_uops *)self;
    k->n_fused += u->fused_head;
    if (!vector__push(&k->all, *u))
        k->failed = true;
}

static void keep_reports(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct explain_reports *k = (struct explain_reports *)self;
    if (!vector__reserve(&k->all, k->all.n + n)) {
        k->failed = true;
        return;
    }
    memcpy(k->all.item + k->all.n, reports, n * sizeof *reports);
    k->all.n += n;
}

/* --- looking things up ------------------------------------------------------------------------ */

static int index_cycles(struct explain *ex)
{
    size_t n = 0;
    for (size_t i = 0; i < ex->reports.all.n; i++)
        n += ex->reports.all.item[i].cycles;
    ex->n_cycles = n;
    if (!(ex->report_of = malloc((n + 1) * sizeof *ex->report_of)))
        return -1;
    for (size_t i = 0, c = 0; i < ex->reports.all.n; i++)
        for (uint32_t k = 0; k < ex->reports.all.item[i].cycles; k++)
            ex->report_of[c++] = (uint32_t)i;
    return 0;
}

static int index_uops(struct explain *ex)
{
    const struct uop_record *u = ex->uops.all.item;
    size_t n = ex->uops.all.n;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < n; i++)
        if (u[i].seq) {
            low = u[i].seq < low ? u[i].seq : low;
            high = u[i].seq > high ? u[i].seq : high;
        }
    ex->first_seq = low;
    ex->n_seq = high >= low ? high - low + 1 : 0;
    if (!(ex->by_seq = calloc(ex->n_seq + 1, sizeof *ex->by_seq)))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (u[i].seq)
            ex->by_seq[u[i].seq - low] = (uint32_t)i + 1;
    return 0;
}

const struct uop_record *explain__by_seq(const struct explain *ex, uint64_t seq)
{
    if (seq < ex->first_seq || seq - ex->first_seq >= ex->n_seq || !ex->by_seq[seq - ex->first_seq])
        return NULL;
    return &ex->uops.all.item[ex->by_seq[seq - ex->first_seq] - 1];
}

bool explain__in_window(const struct explain *ex, const struct uop_record *u)
{
    return u->iteration > ex->first && u->iteration <= ex->last;
}

struct uop_times explain__times(const struct explain *ex, const struct uop_record *u)
{
    struct uop_times t = {.earliest = u->issued + ex->depth, .ready = u->ready};
    if (t.earliest > u->dispatched)
        t.earliest = u->dispatched;
    if (t.ready > u->dispatched)
        t.ready = u->dispatched;
    if (t.ready < t.earliest)
        t.ready = t.earliest;
    return t;
}

enum loop_wait explain__port_wait(const struct explain *ex, const struct uop_record *u, int64_t cycle)
{
    if (cycle >= 0 && (size_t)cycle < ex->n_cycles && u->port < 16 &&
        ex->reports.all.item[ex->report_of[cycle]].ports >> u->port & 1)
        return LOOP_WAIT_PORT;
    return u->divides ? LOOP_WAIT_DIVIDER : LOOP_WAIT_UNIT;
}

enum loop_wait explain__issue_wait(const struct explain *ex, int64_t cycle)
{
    static const enum loop_wait by_resource[RES_COUNT] = {
        [RES_NONE] = LOOP_WAITS,
        [RES_ROB] = LOOP_WAIT_ROB,
        [RES_RS] = LOOP_WAIT_RS,
        [RES_LOAD_BUFFER] = LOOP_WAIT_LOAD_BUFFER,
        [RES_STORE_BUFFER] = LOOP_WAIT_STORE_BUFFER,
        [RES_PRF] = LOOP_WAIT_REGISTERS,
        [RES_SERIAL] = LOOP_WAIT_SERIAL,
    };
    if (cycle < 0 || (size_t)cycle >= ex->n_cycles)
        return LOOP_WAITS;
    const struct cycle_report *r = &ex->reports.all.item[ex->report_of[cycle]];
    if (r->stall == STALL_NONE)
        return LOOP_WAITS;
    if (STALL_IS_FRONTEND(r->stall))
        return LOOP_WAIT_FRONTEND;
    return r->resource < RES_COUNT ? by_resource[r->resource] : LOOP_WAITS;
}

/* --- the steady part --------------------------------------------------------------------------- */

/* Cycle in which the last uop of each iteration retired; *n iterations are complete. */
static int64_t *iteration_ends(const struct explain *ex, uint64_t *n)
{
    const struct uop_record *u = ex->uops.all.item;
    uint64_t total = ex->uops.all.n ? u[ex->uops.all.n - 1].iteration : 0;
    int64_t *end = calloc(total + 1, sizeof *end);
    if (!end)
        return NULL;
    for (size_t i = 0; i < ex->uops.all.n; i++)
        end[u[i].iteration] = u[i].retired;
    *n = total; /* the newest may be incomplete */
    return end;
}

/* Whole periods in the second half of the run; without a period the second half, as TP-3 has it. */
static int find_window(struct explain *ex, const struct loop_figures *f)
{
    uint64_t n;
    int64_t *end = iteration_ends(ex, &n);
    if (!end || n < 2) {
        free(end);
        return -1;
    }
    uint64_t period = f->periodic ? f->period_iterations : 1;
    ex->last = n - 1;
    ex->first = n / 2 < ex->last ? n / 2 : ex->last - 1;
    if (f->periodic && ex->last - ex->first >= period)
        ex->first = ex->last - (ex->last - ex->first) / period * period;
    ex->first_cycle = end[ex->first];
    ex->last_cycle = end[ex->last];
    free(end);
    return 0;
}

/* --- the accounts of the steady part ------------------------------------------------------------ */

struct totals {
    struct truth truth;
    struct cpi_stack stack;
};

/* Reports up to the end of `cycle`. Boundaries are cycles of retirement, so that no idle run is cut. */
static size_t feed(struct listener *listener, const struct explain *ex, size_t from, int64_t cycle)
{
    size_t to = (size_t)cycle + 1 < ex->n_cycles ? ex->report_of[cycle + 1] : ex->reports.all.n;
    listener->consume(listener, ex->reports.all.item + from, (unsigned)(to - from));
    return to;
}

static void subtract(struct truth *t, const struct truth *before)
{
    t->cycles -= before->cycles;
    t->slots -= before->slots;
    /* A loop squashes nothing: what is issued retires. */
    t->retired = t->retired + t->in_flight - before->retired - before->in_flight;
    t->retired_ms -= before->retired_ms;
    if (t->retired_ms > t->retired)
        t->retired_ms = t->retired;
    t->in_flight = 0;
    for (int s = 0; s < STALL_COUNT; s++) {
        t->empty[s] -= before->empty[s];
        t->empty_latency[s] -= before->empty_latency[s];
    }
}

static int add_stack(const struct cpi_stack *stack, double iterations, double instructions,
                     struct profile_stack *out)
{
    out->name = strdup("exact");
    out->component = calloc(WAIT_COUNT, sizeof *out->component);
    if (!out->name || !out->component)
        return -1;
    for (int w = 0; w < WAIT_COUNT; w++)
        out->component[out->n_components++] =
            (struct profile_component){.component = strdup(cpi_stack__component_name((enum wait)w)),
                                       .cycles = (double)stack->cycles[w] / iterations,
                                       .cpi = (double)stack->cycles[w] / iterations / instructions};
    return 0;
}

static int add_accounts(const struct explain *ex, struct insn *const *insn, struct loop_report *r,
                        struct status *st)
{
    struct truth truth, before;
    struct cpi_stack stack;
    struct tip tip;
    struct retired_work work = {0};
    uint64_t uops = 0;
    double iterations = (double)r->window_iterations;
    size_t at;

    truth__init(&truth, ex->core);
    at = feed(&truth.listener, ex, 0, ex->first_cycle);
    before = truth;
    feed(&truth.listener, ex, at, ex->last_cycle);
    subtract(&truth, &before);
    truth__check(&truth);
    cpi_stack__init(&stack);
    feed(&stack.listener, ex, at, ex->last_cycle);
    tip__init(&tip, ex->core);
    feed(&tip.listener, ex, at, ex->last_cycle);
    for (size_t i = 0; i < tip.n_sites && i < r->n_insns; i++) {
        r->insn[i].cycles = (double)tip.site[i].cycles_tip / TIP_UNIT / iterations;
        retired_work__add(&work, &tip, (uint32_t)i, (enum work)insn[i]->work);
    }
    for (unsigned w = 0; w < WORK_KINDS;
         w++) /* the same unless the window ends in another state than it began */
        uops += work.slots[w];
    tip__free(&tip);
    if (add_stack(&stack, iterations, (double)r->n_insns, &r->stack))
        return status__fail(st, "not enough memory to explain the loop");
    return tree__from_truth(&truth, uops == truth.retired - truth.retired_ms ? &work : NULL, ex->core,
                            &r->tree, st);
}

/* --- the report ---------------------------------------------------------------------------------- */

static int add_insns(struct loop_report *r, struct isa *isa, struct insn *const *insn, size_t n)
{
    uint64_t address = r->address;
    if (!(r->insn = calloc(n, sizeof *r->insn)))
        return -1;
    for (size_t i = 0; i < n; i++, r->n_insns++) {
        struct loop_insn_row *row = &r->insn[i];
        char text[TEXT_BYTES];
        row->address = address;
        row->len = insn[i]->len;
        memcpy(row->bytes, insn[i]->bytes, sizeof row->bytes);
        row->unknown = (insn[i]->flags & INSN_UNKNOWN) != 0;
        r->n_unknown += row->unknown;
        if (!(row->text = strdup(isa__format(isa, insn[i], address, text, sizeof text))))
            return -1;
        address += row->len;
    }
    return 0;
}

static void add_bounds(struct loop_report *r, const struct loop_question *q, struct insn *const *insn,
                       const struct block_shape *shape, struct loopsim *sim)
{
    struct block block = {.insn = insn,
                          .n = shape->n,
                          .address = q->address % 64,
                          .unrolled = shape->unrolled,
                          .registers = (int)q->registers};
    const char **text = calloc(shape->n, sizeof *text);
    double cycles = r->simulated ? r->figures.cycles : 0;

    r->has_bounds =
        text && bounds__compute(&block, loopsim__core(sim), loopsim__isa(sim), true, &r->bounds) == 0;
    if (r->has_bounds) {
        for (size_t i = 0; i < shape->n; i++)
            text[i] = r->insn[i].text;
        loop_advice__sentence(&block, &r->bounds, cycles, text, r->sentence, sizeof r->sentence, r->next,
                              sizeof r->next);
        r->hazard = r->simulated ? cycles - r->bounds.cycles : 0;
        r->hazard_share = r->simulated && cycles > 0 ? r->hazard / cycles : 0;
        r->limit = r->hazard_share > HAZARD_LIMIT ? "hazards" : bound__name(r->bounds.largest);
    }
    free(text);
}

/* Enough: the second half was issued with buffers as full as they get. */
static bool long_enough(const struct explain *ex, const struct pipe *pipe, const struct loop_figures *f)
{
    size_t n = ex->uops.all.n;
    uint64_t iterations = n ? ex->uops.all.item[n - 1].iteration : 0;
    uint64_t wanted = 2ull * (f->periodic ? f->period_iterations : 1) + MIN_ITERATIONS;
    if (ex->uops.failed || ex->reports.failed || pipe__cycles(pipe) >= f->simulated_cycles + MAX_EXTRA_CYCLES)
        return true;
    return pipe__cycles(pipe) >= f->simulated_cycles && iterations >= wanted &&
           ex->uops.n_fused >= 4ull * ex->core->rob_entries;
}

/* The run that is explained: as the simulator's own, but longer and with everybody listening. */
static int listen(struct loopsim *sim, const struct loop_question *q, struct explain *ex,
                  const struct loop_figures *f, struct status *st)
{
    struct loop_options lo = {.isa = loopsim__isa(sim), .address = q->address, .registers = q->registers};
    struct loop *loop = loop__new(q->bytes, q->size, &lo, st);
    struct pipe *pipe = NULL;
    int rc = -1;
    if (!loop)
        goto out;
    struct pipe_config pc = {.core = ex->core,
                             .isa = lo.isa,
                             .source = loop__source(loop),
                             .listener = {&ex->reports.listener},
                             .n_listeners = 1,
                             .uops = &ex->uops.listener,
                             .unrolled = loop__unrolled(loop),
                             .ufs = q->model == LOOPSIM_UFS,
                             .endless = true};
    if (!(pipe = pipe__new(&pc, st)))
        goto out;
    while (!long_enough(ex, pipe, f))
        pipe__run(pipe, STEP_CYCLES, NULL, NULL);
    rc =
        ex->uops.failed || ex->reports.failed ? status__fail(st, "not enough memory to explain the loop") : 0;
out:
    pipe__free(pipe);
    loop__free(loop);
    return rc;
}

static int simulate(struct loopsim *sim, const struct loop_question *q, struct explain *ex,
                    struct loop_report *r, struct status *st)
{
    struct loopsim_options lo = {.address = q->address, .registers = q->registers, .model = q->model};
    ex->core = loopsim__core(sim);
    ex->depth = q->model == LOOPSIM_UFS ? 1 : ex->core->issue_to_dispatch_cyc;
    ex->uops.listener.retired = keep_uop;
    ex->reports.listener.consume = keep_reports;
    if (loopsim__run(sim, q->bytes, q->size, &lo, &r->figures, st) || listen(sim, q, ex, &r->figures, st))
        return -1;
    if (index_cycles(ex) || index_uops(ex))
        return status__fail(st, "not enough memory to explain the loop");
    if (find_window(ex, &r->figures))
        return status__fail(st, "fewer than three iterations ended within %llu simulated cycles",
                            (unsigned long long)r->figures.simulated_cycles);
    r->simulated = true;
    r->window_iterations = ex->last - ex->first;
    r->window_cycles = (uint64_t)(ex->last_cycle - ex->first_cycle);
    r->slots = r->figures.cycles * r->issue_width;
    r->ipc = (double)r->n_insns / r->figures.cycles;
    return 0;
}

static int explain(struct explain *ex, const struct loop_question *q, struct insn *const *insn,
                   struct loop_report *r, struct status *st)
{
    if (explain__rows(ex, r) || explain__timeline(ex, q->timeline_iterations, r))
        return status__fail(st, "not enough memory to explain the loop");
    if (add_accounts(ex, insn, r, st))
        return -1;
    explain__path(ex, r);
    if (q->keep_uops) {
        r->uop = ex->uops.all.item;
        r->n_uops = ex->uops.all.n;
        ex->uops.all.item = NULL;
    }
    return 0;
}

static void begin(struct loop_report *r, const struct loop_question *q, struct loopsim *sim)
{
    const struct core *core = loopsim__core(sim);
    *r = (struct loop_report){.address = q->address,
                              .offset = (unsigned)(q->address % 64),
                              .model = q->model,
                              .registers = q->registers,
                              .measured = q->measured,
                              .fidelity = (double)NAN,
                              .issue_width = core->issue_width,
                              .n_ports = core->ports};
    memcpy(r->core, core->name, sizeof r->core);
    memcpy(r->core_title, core->title, sizeof r->core_title);
    r->name = strdup(q->name);
}

int loop_report__make(struct loopsim *sim, const struct loop_question *q, struct loop_report *r,
                      struct status *st)
{
    struct explain ex = {0};
    struct block_shape shape;
    struct insn **insn = calloc(q->size + 1, sizeof(struct insn *));
    int rc = -1;

    begin(r, q, sim);
    if (!insn || !r->name) {
        status__fail(st, "not enough memory to explain the loop");
        goto out;
    }
    if (block__decode(loopsim__isa(sim), q->bytes, q->size, insn, &shape, st))
        goto out;
    r->ends_elsewhere = shape.ends_elsewhere;
    r->figures.unrolled = shape.unrolled;
    if (add_insns(r, loopsim__isa(sim), insn, shape.n)) {
        status__fail(st, "not enough memory to explain the loop");
        goto out;
    }
    if (!q->bounds_only && (simulate(sim, q, &ex, r, st) || explain(&ex, q, insn, r, st)))
        goto out;
    add_bounds(r, q, insn, &shape, sim);
    r->fidelity = loop_report__fidelity(r->simulated ? r->figures.cycles : r->bounds.cycles, q->measured);
    rc = 0;
out:
    if (rc)
        loop_report__free(r);
    vector__free(&ex.uops.all);
    vector__free(&ex.reports.all);
    free(ex.report_of);
    free(ex.by_seq);
    free(insn);
    return rc;
}

void loop_report__free(struct loop_report *r)
{
    for (size_t i = 0; i < r->n_insns; i++) {
        free(r->insn[i].text);
        free(r->insn[i].uop);
    }
    for (size_t i = 0; i < r->stack.n_components; i++)
        free(r->stack.component[i].component);
    free(r->stack.component);
    free(r->stack.name);
    profile_tree__free(&r->tree);
    bounds__free(&r->bounds);
    free(r->timeline.row);
    free(r->timeline.storage);
    free(r->uop);
    free(r->insn);
    free(r->name);
    *r = (struct loop_report){0};
}
