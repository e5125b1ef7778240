/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/copies.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/lane.h"
#include "fathom/core.h"
#include "fathom/pipe.h"
#include "fathom/predict.h"
#include "fathom/profile.h"
#include "fathom/source.h"
#include "fathom/status.h"
#include "fathom/tee.h"
#include "fathom/tree.h"

enum {
    STOP_QUANTA = 16,    /* after so many a pipeline is asked whether it should end */
    ALONE_QUANTA = 1024, /* after so many the copy alone catches up with the first */
    ALONE_CYC = 4096,
};

_Static_assert((int)COPIES_QUANTUM_CYC <= (int)UNCORE_SLACK_CYC, "the shared part counts that far back");

/* --- memory of the host ------------------------------------------------------------------------ */

/* What a program needs besides: its code for every reader, accounts, the tracer's ring. */
enum { CODE_BYTES = 2 << 20, BASE_BYTES = 32 << 20 };

static uint64_t needed_bytes(const struct core *core, unsigned n)
{
    uint64_t copy = pipe__bytes(core) + predictor__bytes(core) + memory__bytes(core) + CODE_BYTES;
    /* what the first has read and the last not */
    uint64_t steps = (uint64_t)n * COPIES_STAGGER_CYC * core->issue_width;

    return BASE_BYTES + (n + 1) * copy + 2 * uncore__bytes(core) +
           steps * (sizeof(struct step) + sizeof(struct access));
}

static uint64_t mem_available_bytes(void)
{
    FILE *in = fopen("/proc/meminfo", "re");
    unsigned long long kib;
    uint64_t bytes = UINT64_MAX; /* not known */
    char line[256];

    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (uint64_t)kib * 1024;
    if (in)
        fclose(in);
    return bytes;
}

static uint64_t address_space_bytes(void)
{
    struct rlimit limit;
    unsigned long long pages = 0;
    FILE *in;

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    in = fopen("/proc/self/statm", "re");
    if (in && fscanf(in, "%llu", &pages) != 1)
        pages = 0;
    if (in)
        fclose(in);
    uint64_t used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

int copies__check_memory(const struct core *core, unsigned n, struct status *st)
{
    uint64_t needed = needed_bytes(core, n), free_bytes = mem_available_bytes();
    uint64_t space = address_space_bytes();
    bool limited = space < free_bytes;

    if (limited)
        free_bytes = space;
    if (needed <= free_bytes)
        return 0;
    return status__fail(st, "--copies %u needs about %llu MiB of memory and %s %llu MiB; ask for fewer%s", n,
                        (unsigned long long)(needed >> 20), limited ? "the limit leaves" : "there are",
                        (unsigned long long)(free_bytes >> 20), limited ? " or raise it (ulimit -v)" : "");
}

/* --- setting up -------------------------------------------------------------------------------- */

static int open_copy(struct copies *copies, unsigned k, const struct core *core, struct isa *isa,
                     struct listener *const *total, struct status *st)
{
    struct copy *copy = &copies->copy[k];
    bool alone = k == copies->n;
    struct memory_options mo = {0};
    struct pipe_config pc = {.core = core, .isa = isa};

    copy->reader = k;
    if (!alone) {
        copy->starts_at = (uint64_t)k * COPIES_STAGGER_CYC;
        mo = (struct memory_options){.uncore = copies->uncore, .member = k, .starts_at = copy->starts_at};
    }
    if (!(copy->memory = memory__new(core, &mo, st)) || !(copy->predictor = predictor__new(core, st)))
        return -1;
    truth__init(&copy->truth, core);
    tip__init(&copy->tip, core);
    pc.source = tee__source(copies->tee, k);
    pc.memory = copy->memory;
    pc.predictor = copy->predictor;
    pc.listener[pc.n_listeners++] = &copy->truth.listener;
    pc.listener[pc.n_listeners++] = &copy->tip.listener;
    for (; !alone && *total; total++) {
        assert(pc.n_listeners < PIPE_MAX_LISTENERS);
        pc.listener[pc.n_listeners++] = *total;
    }
    return (copy->pipe = pipe__new(&pc, st)) ? 0 : -1;
}

int copies__init(struct copies *copies, unsigned n, const struct core *core, struct source *source,
                 struct isa *isa, struct listener *const *total, struct status *st)
{
    assert(n >= 1 && n <= COPIES_MAX);
    *copies = (struct copies){.n = n};
    if (!(copies->tee = tee__new(source, n + 1, st)) || !(copies->uncore = uncore__new(core, st)))
        return -1;
    for (unsigned k = 0; k <= n; k++)
        if (open_copy(copies, k, core, isa, total, st))
            return -1;
    return 0;
}

void copies__free(struct copies *copies)
{
    if (!copies->n)
        return;
    for (unsigned k = 0; k <= copies->n; k++) {
        pipe__free(copies->copy[k].pipe);
        predictor__free(copies->copy[k].predictor);
        memory__free(copies->copy[k].memory);
        tip__free(&copies->copy[k].tip);
    }
    uncore__free(copies->uncore);
    tee__free(copies->tee);
}

/* --- running ----------------------------------------------------------------------------------- */

struct turn {
    struct copies *copies;
    copies_stop *stop;
    void *arg;
    int result;
};

static void end(struct turn *turn, struct copy *copy, int rc)
{
    pipe__run(copy->pipe, 0, NULL, NULL); /* the accounts get the last reports */
    copy->done = true;
    tee__leave(turn->copies->tee, copy->reader);
    if (rc == 1)
        truth__check(&copy->truth);
    turn->result = rc < turn->result ? rc : turn->result;
}

/* Runs a pipeline for some cycles. */
static void advance(struct turn *turn, struct copy *copy, uint64_t cycles)
{
    int rc = pipe__advance(copy->pipe, cycles);

    if (rc != 0)
        end(turn, copy, rc);
}

static void ask(struct turn *turn, struct copy *copy)
{
    if (!copy->done && turn->stop(turn->arg, copy->pipe))
        end(turn, copy, 0);
}

/* All copies up to the chip's cycle `until`. Who begins changes from quantum to quantum: inside one the first
 * finds the channel free. True while there is one to run. */
static bool quantum(struct turn *turn, uint64_t until)
{
    struct copies *copies = turn->copies;
    uint64_t number = until / COPIES_QUANTUM_CYC;
    bool any = false;

    for (unsigned i = 0; i < copies->n; i++) {
        struct copy *copy = &copies->copy[(number + i) % copies->n];
        any |= !copy->done;
        if (copy->done || until <= copy->starts_at)
            continue;
        advance(turn, copy, until - copy->starts_at - pipe__cycles(copy->pipe));
        if (number % STOP_QUANTA == 0)
            ask(turn, copy);
    }
    return any;
}

/* The copy alone has a chip and a clock of its own; it reads what the first has read. */
static void follow(struct turn *turn)
{
    struct copies *copies = turn->copies;
    struct copy *alone = &copies->copy[copies->n], *first = &copies->copy[0];

    while (!alone->done &&
           (first->done || tee__taken(copies->tee, alone->reader) < tee__taken(copies->tee, first->reader))) {
        advance(turn, alone, ALONE_CYC);
        ask(turn, alone);
    }
}

int copies__run(struct copies *copies, copies_stop *stop, void *arg)
{
    struct turn turn = {.copies = copies, .stop = stop, .arg = arg, .result = 1};
    uint64_t until = COPIES_QUANTUM_CYC;

    for (; quantum(&turn, until); until += COPIES_QUANTUM_CYC)
        if (until / COPIES_QUANTUM_CYC % ALONE_QUANTA == 0)
            follow(&turn);
    follow(&turn);
    return turn.result;
}

/* --- the profile ------------------------------------------------------------------------------- */

void copies__counts(const struct copies *copies, struct memory_counts *sum)
{
    *sum = (struct memory_counts){0};
    for (unsigned k = 0; k < copies->n; k++) {
        struct memory_counts m;
        memory__counts(copies->copy[k].memory, &m);
        sum->loads += m.loads;
        sum->stores += m.stores;
        sum->fetches += m.fetches;
        sum->l1d_load_miss += m.l1d_load_miss;
        sum->l1d_store_miss += m.l1d_store_miss;
        sum->l1i_miss += m.l1i_miss;
        sum->l2_miss += m.l2_miss;
        sum->l3_miss += m.l3_miss;
        sum->dtlb_miss += m.dtlb_miss;
        sum->itlb_miss += m.itlb_miss;
        sum->walks += m.walks;
        sum->prefetches += m.prefetches;
    }
}

static double cpi(const struct copy *copy)
{
    uint64_t n = pipe__instructions(copy->pipe);

    return n ? (double)copy->truth.cycles / (double)n : (double)NAN;
}

int copies__report(const struct copies *copies, const struct core *core, struct profile *profile,
                   struct status *st)
{
    const struct copy *alone = &copies->copy[copies->n];

    profile->copy = calloc(copies->n + 1, sizeof *profile->copy);
    for (unsigned i = 0; i <= copies->n; i++) {
        const struct copy *copy = i ? &copies->copy[i - 1] : alone;
        struct profile_copy *row = &profile->copy[profile->n_copies++];
        *row = (struct profile_copy){.name = i ? text__printf("%u", i) : strdup("alone"),
                                     .alone = copy == alone,
                                     .starts_at = copy->starts_at,
                                     .instructions = pipe__instructions(copy->pipe),
                                     .cycles = copy->truth.cycles,
                                     .slowdown = cpi(copy) / cpi(alone)};
        struct retired_work work;
        lane__retired_work(&copy->tip, tee__source(copies->tee, copy->reader)->code, &work);
        if (tree__from_truth(&copy->truth, &work, core, &row->tree, st))
            return -1;
    }
    return 0;
}
