/* SPDX-License-Identifier: Apache-2.0 */
/* One cycle after the other, in the order of CY-1 to CY-5; identical idle cycles in one step. */
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"
#include "pipe/state.h"

enum {
    ENDLESS_FETCHED = 4096,
    PROGRAM_FETCHED = 1024,
    ENDLESS_DSB_SETS = 2048,
    FORMS = 65536,
    STUCK_CYCLES = 1 << 22
};

/* A retiring instruction's entry must still be there: two for each pair from fetch to the ROB's head. */
static uint64_t program_fetched(const struct core *core)
{
    uint64_t n = PROGRAM_FETCHED;

    while (n < 2 * (core->rob_entries + core->idq_entries + 2 * core->iq_entries) + 128)
        n *= 2;
    return n;
}

size_t pipe__bytes(const struct core *core)
{
    const struct pipe *p = NULL; /* for the sizes alone */

    return sizeof *p + sizeof *p->buffer + program_fetched(core) * (sizeof *p->fetched + sizeof *p->wrong) +
           (size_t)core->dsb_sets * core->dsb_ways * sizeof *p->dsb + 4096 * sizeof *p->uncacheable +
           FORMS * sizeof *p->tp_free_at + WHEEL * sizeof *p->pending_change +
           RECENT_STORES * sizeof *p->recent;
}

static void size_rings(struct pipe *p)
{
    p->fetched_mask = (p->endless ? ENDLESS_FETCHED : program_fetched(p->core)) - 1;
    p->dsb_sets = p->endless ? ENDLESS_DSB_SETS : p->core->dsb_sets;
    p->dsb_records = p->core->dsb_ways;
}

static bool allocate(struct pipe *p)
{
    size_rings(p);
    p->fetched = calloc(p->fetched_mask + 1, sizeof *p->fetched);
    p->buffer = calloc(1, sizeof *p->buffer);
    p->wrong = calloc(p->fetched_mask + 1, sizeof *p->wrong);
    p->dsb = calloc((size_t)p->dsb_sets * p->dsb_records, sizeof *p->dsb);
    p->uncacheable = malloc(4096 * sizeof *p->uncacheable);
    p->tp_free_at = calloc(FORMS, sizeof *p->tp_free_at);
    if (p->uops && !(p->trace = calloc(UOP_RING, sizeof *p->trace)))
        return false;
    p->pending_change = calloc(WHEEL, sizeof *p->pending_change);
    p->recent = calloc(RECENT_STORES, sizeof *p->recent);
    return p->fetched && p->buffer && p->wrong && p->dsb && p->uncacheable && p->tp_free_at &&
           p->pending_change && p->recent;
}

static void init(struct pipe *p)
{
    memset(p->uncacheable, 0xff, 4096 * sizeof *p->uncacheable);
    p->width = p->core->issue_width;
    p->retire_width = p->core->retire_width;
    p->n_ports = p->core->ports;
    p->uop_head = p->uop_tail = 1; /* 0 in a value: ready long ago */
    p->store_head = p->store_tail = p->store_retired = p->store_unknown = 1;
    p->p4_blocked_at = p->twice_at = -1;
    p->recovery_site = REPORT_NO_SITE;
    p->prf_int_free = (int32_t)p->core->prf_int - 26;
    p->prf_vec_free = (int32_t)p->core->prf_vec - 26;
    p->lsd_candidate_ok = true;
    p->batch = REPORT_BATCH;
    p->report = p->cur = p->own_report;
    /* about as long as a store is in flight: loads that then ask the L1D are as many as in full simulation */
    p->warm_forward_steps = p->core->rob_entries / 3;
    p->level_cyc[MEM_L1] = p->core->l1d.lat_cyc;
    p->level_cyc[MEM_LFB] = p->level_cyc[MEM_L2] = p->core->l2.lat_cyc;
    p->level_cyc[MEM_L3] = p->core->l3.lat_cyc;
    p->level_cyc[MEM_DRAM] = (int64_t)(p->core->dram_lat_ns * p->core->freq_ghz + 0.5);
    fetch__init(p);
    rename__init(p);
    if (!p->endless || p->unrolled || p->ideal_frontend)
        return;
    fetch__warm(p);
    if (p->lsd_active) { /* TP-7: the first pass waits in the IDQ */
        p->now = -1;
        lsd__step(p);
        p->now = 0;
    }
}

static void configure(struct pipe *p, const struct pipe_config *config)
{
    p->core = config->core;
    p->isa = config->isa;
    p->source = config->source;
    p->memory = config->memory;
    p->evicted_code = p->memory ? memory__evicted_code(p->memory) : NULL;
    p->evicted_seen = p->memory ? p->evicted_code->n : 0;
    p->predictor = config->predictor;
    p->n_listeners = config->n_listeners;
    memcpy(p->listener, config->listener, sizeof p->listener);
    p->uops = config->uops;
    p->endless = config->endless;
    p->unrolled = config->unrolled;
    p->ufs = config->ufs;
    p->ideal_frontend = config->ideal_frontend || config->ufs;
    p->every_cycle = config->every_cycle;
    p->stage_waits = config->stage_waits && !config->endless;
    p->accounts_apart = config->accounts_apart;
}

struct pipe *pipe__new(const struct pipe_config *config, struct status *st)
{
    struct pipe *p = aligned_alloc(_Alignof(struct pipe), sizeof *p);
    if (!p)
        goto fail;
    memset(p, 0, sizeof *p);
    configure(p, config);
    if (!allocate(p))
        goto fail;
    init(p);
    return p;
fail:
    pipe__free(p);
    status__fail(st, "not enough memory for the pipeline (about 3 MiB)");
    return NULL;
}

/* What a run leaves behind that the next must not see. Rings need no clearing: their heads say what counts.
 */
void pipe__reset(struct pipe *p, const struct pipe_config *config)
{
    if (p->tp_used)
        memset(p->tp_free_at, 0, FORMS * sizeof *p->tp_free_at);
    for (unsigned w = 0; w < WHEEL_WORDS; w++)
        if (p->pending_used[w])
            memset(&p->pending_change[64 * w], 0, 64 * sizeof *p->pending_change);
    memset((char *)p + offsetof(struct pipe, core), 0,
           offsetof(struct pipe, idq) - offsetof(struct pipe, core));
    p->run++;
    p->buffer->begin = p->buffer->end = 0;
    p->buffer->access_end = 0;
    configure(p, config);
    size_rings(p);
    init(p);
}

void pipe__free(struct pipe *p)
{
    if (!p)
        return;
    teacher__free(p->teacher);
    free(p->fetched);
    free(p->buffer);
    free(p->wrong);
    free(p->dsb);
    free(p->uncacheable);
    free(p->tp_free_at);
    free(p->trace);
    free(p->pending_change);
    free(p->recent);
    free(p);
}

static void begin_cycle(struct pipe *p)
{
    p->cur = &p->report[p->n_reports];
    memset(p->cur, 0, sizeof *p->cur);
    p->cur->cycles = 1;
    p->cur->stall_site = p->cur->wait_site = REPORT_NO_SITE;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t after_now(const struct pipe *p, int64_t t)
{
    return t > p->now ? t : CYCLE_NEVER;
}

/* The first later cycle in which anything can differ from this idle one. */
static int64_t next_event(struct pipe *p)
{
    int64_t t = p->fe_next;
    t = earlier(t, schedule__next_event(p, p->wheel_used));
    t = earlier(t, schedule__next_event(p, p->pending_used));
    t = earlier(t, p->flush_at);
    t = earlier(t, after_now(p, p->blocked_until));
    t = earlier(t, after_now(p, p->divider_free_at));
    t = earlier(t, after_now(p, p->mem_change_at));
    if (p->blocker) { /* the reason changes then */
        t = earlier(t, after_now(p, p->blocker->tlb_until));
        t = earlier(t, after_now(p, p->blocker->lfb_until));
    }
    if (p->store_head < p->store_retired)
        t = earlier(earlier(t, pipe__store(p, p->store_head)->commit_at),
                    after_now(p, pipe__store(p, p->store_head)->tlb_until));
    if (p->rob_head < p->rob_tail) {
        const struct rob_entry *e = pipe__rob(p, p->rob_head);
        int64_t done = e->issued_at;
        t = earlier(t, report__next_change(p));
        for (unsigned k = 0; k < e->n_uops; k++) {
            const struct duop *u = pipe__uop(p, e->first_uop + k);
            done = max_cycle(done, u->done_at);
            if (u->t->kind != UOP_COMPUTE) { /* the reason changes then */
                t = earlier(t, after_now(p, u->tlb_until));
                t = earlier(t, after_now(p, u->lfb_until));
            }
            if (u->t->kind == UOP_LOAD && u->flags & DUOP_KNOWN)
                t = earlier(t, after_now(p, u->done_at - p->level_cyc[u->waits_for]));
            if (u->done_at == CYCLE_NEVER)
                continue;
            t = earlier(t, after_now(p, u->done_at));
            t = earlier(t, after_now(p, u->done_at + 1));
        }
        if (done != CYCLE_NEVER)
            t = earlier(t, after_now(p, done + 1));
    }
    return max_cycle(t, p->now + 1);
}

static bool idle(const struct pipe *p)
{
    const struct cycle_report *c = p->cur;
    return !c->issued && !c->retired && !c->executed && !c->delivered && !c->squashed && !c->memory_events &&
           !c->lfb_waits && !p->n_held && !p->ready_ports && p->fe_next > p->now + 1;
}

/* A machine clear takes back steps that were planned: the source may have ended long before. */
static bool drained(const struct pipe *p)
{
    return p->source_ended && p->step_next >= p->step_end && p->rob_head == p->rob_tail && !idq__used(p) &&
           p->delivered == p->planned && !p->ms_busy && !p->on_wrong_path && p->flush_at == CYCLE_NEVER;
}

static void cycle(struct pipe *p)
{
    begin_cycle(p);
    if (p->memory && p->now >= p->mem_change_at)
        report__memory(p);
    execute__tick(p);
    execute__commit(p);
    flush__step(p);
    rename__step(p);
    retire__step(p);
    if (p->cur->retired || p->rob_head == p->rob_tail)
        p->progress_at = p->now;
    schedule__step(p);
    frontend__step(p);
    report__finish(p);
}

static int run(struct pipe *p, uint64_t max_cycles, bool (*stop)(void *), void *arg)
{
    const int64_t end = max_cycles > INT64_MAX / 2 ? INT64_MAX / 2 : p->now + (int64_t)max_cycles;

    while (p->now < end) {
        cycle(p);
        int64_t next = p->now + 1;
        bool now_idle = !p->every_cycle && idle(p) && !drained(p);
        if (now_idle && p->was_idle) { /* the second in a row says what the following ones will say */
            next = next_event(p);
            assert(next != CYCLE_NEVER); /* nothing in flight and nothing to come: drained() below */
            p->idle_until = next;
            next = earlier(next, end);
            rename__idle_cycles(p, next - p->now - 1);
            p->cur->cycles = (uint32_t)(next - p->now);
            now_idle = false;
        }
        p->was_idle = now_idle;
        assert(p->rob_head == p->rob_tail || next - p->progress_at < STUCK_CYCLES);
        p->now = next;
        if (p->n_reports >= p->batch) {
            report__send(p);
            if (stop && stop(arg))
                return 0;
        }
        if (drained(p))
            return p->failed ? -1 : 1;
    }
    return 0;
}

static void begin_relay(struct pipe *p)
{
    report__send(p);
    p->relay = relay__new(p->listener, p->n_listeners);
    if (p->relay)
        p->report = relay__buffer(p->relay);
}

static void end_relay(struct pipe *p)
{
    if (!p->relay)
        return;
    p->own_report[0] = *p->cur;
    relay__finish(p->relay);
    p->relay = NULL;
    p->report = p->cur = p->own_report;
}

int pipe__run(struct pipe *p, uint64_t max_cycles, bool (*stop)(void *), void *arg)
{
    if (p->accounts_apart)
        begin_relay(p);
    int result = run(p, max_cycles, stop, arg);

    report__send(p);
    end_relay(p);
    return result;
}

/* The idle cycles before `end` that the last run left over: more of its last report. */
static void stay_idle(struct pipe *p, int64_t end)
{
    int64_t until = earlier(p->idle_until, end);

    if (until <= p->now)
        return;
    rename__idle_cycles(p, until - p->now);
    p->report[p->n_reports] = *p->cur;
    p->cur = &p->report[p->n_reports++];
    p->cur->cycles = (uint32_t)(until - p->now);
    p->cur->mem_outstanding = p->mem_outstanding;
    if (p->n_reports == REPORT_BATCH)
        report__send(p);
    p->now = until;
}

int pipe__advance(struct pipe *p, uint64_t max_cycles)
{
    const int64_t end = p->now + (int64_t)max_cycles;

    if (p->memory && memory__has_company(p->memory)) { /* it may have sent requests meanwhile */
        struct memory_requests r;
        memory__requests(p->memory, (uint64_t)p->now, &r);
        p->mem_outstanding = report__count(r.all);
    }
    stay_idle(p, end);
    return run(p, (uint64_t)(end - p->now), NULL, NULL);
}

/* --- pieces of an execution ------------------------------------------------------------------- */

void pipe__hold(struct pipe *p)
{
    p->step_limit = p->step_next;
    p->step_end = p->step_next;
}

void pipe__set_batch(struct pipe *p, unsigned n)
{
    assert(n >= 1 && n <= REPORT_BATCH);
    p->batch = n;
}

/* Nothing refers to a later cycle: senior stores have committed, dead uops have left the wheel. */
static bool quiet(const struct pipe *p)
{
    uint64_t later = 0;
    for (unsigned w = 0; w < WHEEL_WORDS; w++)
        later |= p->wheel_used[w] | p->pending_used[w];
    return !later && p->store_head == p->store_tail && !p->ready_ports && !p->n_held;
}

void pipe__resume(struct pipe *p)
{
    assert(p->memory && drained(p));
    warm__end(p);
    while (!quiet(p)) {
        cycle(p);
        p->now++;
        if (p->n_reports >= p->batch)
            report__send(p);
    }
    report__send(p);
    p->now = max_cycle(p->now, (int64_t)memory__now(p->memory));
    struct memory_activity warming; /* nobody's */
    memory__activity(p->memory, (uint64_t)p->now, &warming);
    p->progress_at = p->mem_change_at = p->now;
    p->was_idle = false;
    flush__restart(p);
    p->step_next = p->buffer->begin;
    p->step_limit = UINT64_MAX;
    p->step_end = p->buffer->end;
    p->source_ended = false;
}

uint64_t pipe__cycles(const struct pipe *p)
{
    return (uint64_t)p->now;
}

uint64_t pipe__instructions(const struct pipe *p)
{
    return p->instructions;
}
