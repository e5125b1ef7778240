/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functional warming (docs/sample.md): instructions pass without taking time and leave behind what they would
 * have taught the core: caches, TLBs and prefetchers, the branch predictor, the uop cache, memory
 * disambiguation. As in the pipeline, a load that finds an older store in flight does not ask the L1D.
 *
 * The uop cache forgets within some thousand instructions. It takes part only shortly before a window
 * ("near"); then the L1I is asked for bytes only where it has no uops, as in the pipeline, else for every
 * line.
 *
 * Most steps are described by themselves (step.len) and stay in one window of the uop cache: neither site nor
 * instruction is looked at, which are rarely in the host's nearest cache.
 */
#include "pipe/state.h"

enum { WARM_WANTED = 2048, WARM_PIECE = 512 };

#define WARM_FAR UINT64_MAX /* as warm_limit: the uop cache does not take part, every line is fetched */

/* --- loads and stores ------------------------------------------------------------------------- */

static inline uint64_t last_granule(const struct access *a)
{
    return (a->addr + (a->size_bytes ? a->size_bytes - 1U : 0)) / 8;
}

static void warm_store(struct pipe *p, uint64_t i, uint64_t ip, const struct access *a, bool non_temporal)
{
    for (uint64_t g = a->addr / 8, last = last_granule(a); g <= last; g++)
        p->recent[g % RECENT_STORES] = (struct recent_store){.granule = g, .step = i};
    memory__warm_store(p->memory, ip, a->addr, a->size_bytes, non_temporal);
}

/* Steps since the youngest store that the load needs; UINT64_MAX: none lately. */
static inline uint64_t store_age(const struct pipe *p, uint64_t i, const struct access *a)
{
    uint64_t age = UINT64_MAX;

    for (uint64_t g = a->addr / 8, last = last_granule(a); g <= last; g++) {
        const struct recent_store *s = &p->recent[g % RECENT_STORES];
        if (s->granule == g && i - s->step < age)
            age = i - s->step;
    }
    return age;
}

/* EX-20 as execute__learn does it. Without time it is not known whether a sure load would run ahead of the
 * store it needs: it would if it could when it was last seen in detail. */
static void warm_load(struct pipe *p, uint64_t i, uint64_t ip, const struct access *a)
{
    unsigned index = disambiguation__index(ip);
    uint8_t *c = &p->disambiguation[index];
    bool conflicts = p->conflicts[index];
    uint64_t age = store_age(p, i, a);
    bool needs = age < (conflicts ? p->core->rob_entries : p->warm_forward_steps);

    if (needs && (*c < DISAMBIGUATION_SURE || conflicts))
        *c = 0;
    else if (*c < DISAMBIGUATION_SURE)
        ++*c;
    if (age >= p->warm_forward_steps)
        memory__warm_load(p->memory, ip, a->addr, a->size_bytes);
}

static inline void warm_accesses(struct pipe *p, uint64_t i, const struct step *step, uint64_t ip)
{
    for (unsigned k = 0; k < step->n_access; k++) {
        const struct access *a = &p->buffer->access[(step->first_access + k) % ACCESS_RING];
        if (a->known && a->store)
            warm_store(p, i, ip, a, false);
        else if (a->known)
            warm_load(p, i, ip, a);
    }
}

/* Any step, by its instruction. */
static void warm_special_accesses(struct pipe *p, uint64_t i, const struct step *step)
{
    const struct insn *insn = step->site->insn;
    uint64_t ip = step->site->addr;

    for (unsigned k = 0; k < step->n_access; k++) {
        const struct access *a = &p->buffer->access[(step->first_access + k) % ACCESS_RING];
        if (!a->known)
            continue;
        if (insn->flags & INSN_PREFETCH) {
            memory__prefetch(p->memory, a->addr, memory__now(p->memory));
        } else if (insn->flags & INSN_FLUSH) {
            memory__flush_line(p->memory, a->addr, memory__now(p->memory));
        } else if (a->store) {
            if (k < insn->n_mem && insn->mem[k].read)
                warm_load(p, i, ip, a);
            warm_store(p, i, ip, a, insn->flags & INSN_NON_TEMPORAL);
        } else {
            warm_load(p, i, ip, a);
        }
    }
}

/* --- fetch ------------------------------------------------------------------------------------ */

static void warm_fetch(struct pipe *p, uint64_t addr, unsigned len)
{
    uint64_t line = addr / 64, last = (addr + len - 1) / 64;

    if (line != p->warm_line)
        memory__warm_fetch(p->memory, addr);
    if (last != line)
        memory__warm_fetch(p->memory, last * 64);
    p->warm_line = last;
}

/* The decoders pass the instruction on to the uop cache; its partner comes along. */
static void warm_decode(struct pipe *p, uint64_t i, const struct step *step)
{
    struct fetched f = {
        .insn = step->site->insn, .addr = step->site->addr, .flags = step->flags & STEP_TAKEN ? F_TAKEN : 0};
    struct fetched g = {0};
    const struct step *next = &p->buffer->step[(i + 1) % STEP_RING];

    warm_fetch(p, f.addr, f.insn->len);
    if (p->warm_absorbed) {
        p->warm_absorbed = false;
        return;
    }
    if (f.insn->fuses_with && i + 1 < p->buffer->end && fuses(step, next)) {
        g = (struct fetched){.insn = next->site->insn, .addr = next->site->addr};
        f.flags |= F_PAIR | (next->flags & STEP_TAKEN ? F_TAKEN : 0);
        p->warm_absorbed = true;
    }
    dsb__build(p, &f, p->warm_absorbed ? &g : NULL);
}

/* Which of its sources fetch takes, as in choose_source. Up to warm_limit nothing can change. */
static void warm_frontend(struct pipe *p, uint64_t i, const struct step *step, uint64_t addr)
{
    uint64_t window = pipe__window(addr);
    bool entry = p->after_taken || (!p->plan_mite && window != p->plan_window);

    if (p->after_taken)
        p->plan_mite = false;
    if (entry) {
        p->plan_window = window;
        if (!dsb__lookup(p, addr, &p->plan_record_end) || same_half_uncacheable(p, window))
            p->plan_mite = true;
    } else if (addr >= p->plan_record_end) {
        p->plan_mite = true;
    }
    if (p->plan_mite) {
        p->warm_limit = 0;
        warm_decode(p, i, step);
    } else {
        uint64_t end = (window + 1) * 32;
        p->warm_limit = p->plan_record_end < end ? p->plan_record_end : end;
        p->warm_absorbed = false;
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Up to `n` instructions of the steps before `end`. Each step is where the one before went. */
static uint64_t warm_buffered(struct pipe *p, uint64_t end, uint64_t n)
{
    struct step_buffer *buf = p->buffer;
    uint64_t i = p->warm_at, left = n, addr = p->warm_addr;

    for (; i < end; i++) {
        const struct step *step = &buf->step[i % STEP_RING];
        bool is_insn = !(step->flags & STEP_REP_BODY); /* else it belongs to the instruction before */
        if (is_insn && left == 0)
            break;
        left -= is_insn;
        if (addr >= p->warm_limit)
            warm_frontend(p, i, step, addr);
        else if (p->warm_limit == WARM_FAR && !(step->flags & STEP_PLAIN))
            warm_fetch(p, addr, step->len ? step->len : step->site->insn->len);
        p->after_taken = step->flags & STEP_TAKEN;
        if (p->after_taken && p->warm_limit != WARM_FAR)
            p->warm_limit = 0;
        if (step->len)
            warm_accesses(p, i, step, addr);
        else
            warm_special_accesses(p, i, step);
        addr = step->next_addr;
    }
    p->warm_at = i;
    p->warm_addr = addr;
    return n - left;
}

/* More steps behind those in the buffer; false at the end. */
static bool warm_fill(struct pipe *p)
{
    /* what the teacher has not read yet stays, but for lack of room it is waited for */
    if (p->teacher && p->warming) {
        if (p->buffer->end - teacher__done(p->teacher) > STEP_RING / 2)
            teacher__wait(p->teacher, p->buffer->end);
        p->buffer->begin = teacher__done(p->teacher);
    } else {
        p->buffer->begin = p->warm_at;
    }
    int got = p->source->fill(p->source, p->buffer, WARM_WANTED);
    p->failed = got < 0;
    return got > 0;
}

/* After a window: everything starts at the buffer's begin. False at the end of the execution. */
static bool warm_begin(struct pipe *p)
{
    p->warm_at = p->buffer->begin;
    if (p->warm_at == p->buffer->end && !warm_fill(p))
        return false;
    p->warm_addr = p->buffer->step[p->warm_at % STEP_RING].site->addr;
    if (p->predictor && !p->teacher && !p->warmed_before)
        p->teacher = teacher__new(p->predictor, p->buffer);
    if (p->teacher)
        teacher__start(p->teacher, p->warm_at, p->warm_addr);
    p->warming = p->warmed_before = true;
    return true;
}

static void warm_mode(struct pipe *p, bool near)
{
    if (p->warm_near == near)
        return;
    p->build.open = false; /* half a window of the uop cache is none */
    dsb__follow_evictions(p);
    p->warm_near = near;
    p->after_taken = true;
    p->warm_limit = near ? 0 : WARM_FAR;
    p->warm_absorbed = false;
    p->warm_line = UINT64_MAX;
}

/* The branches of the steps from `from` up to where warming is. */
static void warm_predictor(struct pipe *p, uint64_t from, uint64_t addr)
{
    if (p->teacher)
        teacher__give(p->teacher, p->warm_at);
    else if (p->predictor)
        teach_steps(p->predictor, p->buffer, from, p->warm_at, addr);
}

int64_t pipe__warm(struct pipe *p, uint64_t n, bool near)
{
    uint64_t left = n;

    assert(p->memory && drained(p));
    if (!p->warming) {
        if (!warm_begin(p))
            return p->failed ? -1 : 0;
        p->warm_near = !near;
    }
    warm_mode(p, near);
    for (;;) {
        uint64_t from = p->warm_at, addr = p->warm_addr, end = p->buffer->end;
        if (end - from > WARM_PIECE)
            end = from + WARM_PIECE;
        left -= warm_buffered(p, end, left);
        warm_predictor(p, from, addr);
        if (near)
            dsb__follow_evictions(p);
        if (p->warm_at < end)
            break;
        if (end == p->buffer->end && !warm_fill(p))
            break;
    }
    return p->failed ? -1 : (int64_t)(n - left);
}

void warm__end(struct pipe *p)
{
    if (!p->warming)
        return;
    p->build.open = false;
    if (p->teacher)
        teacher__wait(p->teacher, p->warm_at);
    p->buffer->begin = p->warm_at;
    p->warming = false;
}
