/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/simulate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/progress.h"
#include "base/text.h"
#include "cmd/copies.h"
#include "cmd/lane.h"
#include "fathom/account.h"
#include "fathom/memory.h"
#include "fathom/pipe.h"
#include "fathom/predict.h"
#include "fathom/profile.h"
#include "fathom/program.h"
#include "fathom/source.h"
#include "fathom/status.h"
#include "fathom/tee.h"
#include "fathom/tree.h"

struct simulation {
    const struct simulate_options *opt;
    struct isa *isa;
    struct program *program;
    struct source *source; /* the program's, or its part of what all simulations read */
    struct memory *memory;
    struct predictor *predictor;
    struct pipe *pipe;
    struct lanes lanes;          /* unused without a plan */
    struct copies copies;        /* instead of memory, predictor and pipe; unused unless asked for */
    const struct pipe *reported; /* whose progress is shown */
    struct sampler *sampler;     /* NULL: everything is simulated in detail */
    struct account_set set;
    struct retired_work work;               /* once it is over */
    struct pmu_mux mux, user_mux;           /* counters 0: unused */
    struct stage_stacks stages;             /* unused unless asked for */
    struct metrics *metrics, *user_metrics; /* the latter NULL unless asked for */
    struct progress progress;
    struct program_end end;
    bool limited; /* stopped at max_instructions */
    bool failed;  /* the trace broke off */
};

/* What SIGINT and SIGTERM reach. */
static struct program *volatile interrupt_target;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    interrupted = sig;
    if (interrupt_target)
        program__cancel(interrupt_target);
}

static void catch_interrupts(bool on)
{
    struct sigaction act = {.sa_handler = on ? on_interrupt : SIG_DFL, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

static bool is_enough(const struct simulation *s, uint64_t instructions)
{
    return s->opt->max_instructions && instructions >= s->opt->max_instructions;
}

static void show_progress(struct simulation *s, const char *doing, uint64_t instructions, double ipc)
{
    double seconds = progress__seconds(&s->progress), n = (double)instructions;
    progress__show(&s->progress, "%s %s: %.1f M instructions, IPC %.2f, %.1f M instructions/s", doing,
                   s->opt->core.name, n / 1e6, ipc, n / 1e6 / seconds);
}

static bool should_stop_at(void *arg, const struct pipe *pipe)
{
    struct simulation *s = arg;
    if (is_enough(s, pipe__instructions(pipe))) {
        s->limited |= pipe == s->reported;
        return true;
    }
    if (progress__due(&s->progress)) {
        uint64_t n = pipe__instructions(s->reported);
        show_progress(s, "simulating", n, (double)n / (double)pipe__cycles(s->reported));
    }
    return interrupted != 0;
}

static bool should_stop_sampling(void *arg, uint64_t instructions, double ipc)
{
    struct simulation *s = arg;
    s->limited |= is_enough(s, instructions);
    if (progress__due(&s->progress))
        show_progress(s, "sampling", instructions, ipc);
    return interrupted != 0 || s->limited;
}

static bool should_stop(void *arg)
{
    struct simulation *s = arg;
    return should_stop_at(s, s->pipe);
}

/* --- setting up and running ------------------------------------------------------------------- */

static bool needs_event(void *arg, size_t metric, const char *name)
{
    (void)metric;
    return pmu__prepare(arg, name);
}

static bool needs_counter(void *arg, size_t metric, const char *name)
{
    return pmu_mux__add(arg, metric, name);
}

static bool open_mux(struct pmu_mux *mux, const struct simulate_options *opt, const struct metrics *metrics)
{
    pmu_mux__init(mux, &opt->core, opt->counters, opt->turn_cycles);
    return metrics__each_name(metrics, needs_counter, mux) && pmu_mux__pack(mux);
}

/* The accounts that depend on what the metrics ask for. */
static int open_pmus(struct simulation *s, struct status *st)
{
    bool good;

    if (s->opt->n_copies) /* the reports of the copies alternate: an edge from one to the other is none */
        return 0;
    good = metrics__each_name(s->metrics, needs_event, &s->set.pmu) &&
           (!s->user_metrics || metrics__each_name(s->user_metrics, needs_event, &s->set.pmu));
    if (good && s->opt->counters)
        good = open_mux(&s->mux, s->opt, s->metrics) &&
               (!s->user_metrics || open_mux(&s->user_mux, s->opt, s->user_metrics));
    return good ? 0 : status__fail(st, "not enough memory for the counters");
}

static int set_up_core(struct simulation *s, struct status *st)
{
    const struct core *core = &s->opt->core;
    struct memory_options mo = {0};

    if (!(s->memory = memory__new(core, &mo, st)) || !(s->predictor = predictor__new(core, st)))
        return -1;
    if (!lane_plan__is_empty(&s->opt->beside)) {
        if (lanes__init(&s->lanes, &s->opt->beside, core, s->source, s->isa, st))
            return -1;
        s->source = lanes__source(&s->lanes);
    }
    struct pipe_config pc = {
        .core = core,
        .isa = s->isa,
        .source = s->source,
        .memory = s->memory,
        .predictor = s->predictor,
        .listener = {&s->set.truth.listener, &s->set.tip.listener, &s->set.pmu.listener,
                     &s->set.stack.listener},
        .n_listeners = 4,
        .stage_waits = s->opt->stages,
        .accounts_apart = lane_plan__is_empty(&s->opt->beside) && !s->opt->sample.period,
    };
    if (s->opt->stages)
        pc.listener[pc.n_listeners++] = &s->stages.listener;
    if (s->mux.counters)
        pc.listener[pc.n_listeners++] = &s->mux.listener;
    if (s->user_mux.counters)
        pc.listener[pc.n_listeners++] = &s->user_mux.listener;
    if (s->opt->sample.period) {
        if (!(s->sampler = sampler__new(&s->opt->sample, core, &s->set, st)))
            return -1;
        pc.listener[0] = sampler__listener(s->sampler);
        pc.n_listeners = 1;
    }
    if (!(s->pipe = pipe__new(&pc, st)))
        return -1;
    s->reported = s->pipe;
    return 0;
}

static int set_up_copies(struct simulation *s, struct status *st)
{
    struct listener *const total[] = {&s->set.truth.listener, &s->set.tip.listener, &s->set.pmu.listener,
                                      &s->set.stack.listener, NULL};

    if (copies__init(&s->copies, s->opt->n_copies, &s->opt->core, s->source, s->isa, total, st))
        return -1;
    s->reported = s->copies.copy[0].pipe;
    return 0;
}

static int set_up(struct simulation *s, struct status *st)
{
    const struct core *core = &s->opt->core;

    if (s->opt->n_copies && copies__check_memory(core, s->opt->n_copies, st))
        return -1;
    if (!(s->isa = isa__open(core, st)) || !(s->metrics = metrics__builtin("topdown-generic", st)))
        return -1;
    if (s->opt->metrics && !(s->user_metrics = metrics__load(s->opt->metrics, st)))
        return -1;
    struct program_options po = {.argv = s->opt->argv,
                                 .guest_cpu = core->guest_cpu,
                                 .isa = s->isa,
                                 .rep_chunk_bytes = core->slow_256bit_memory ? 16 : 32};
    if (!(s->program = program__start(&po, st)))
        return -1;
    s->source = program__source(s->program);
    account_set__init(&s->set, core);
    stage_stacks__init(&s->stages, core);
    if (open_pmus(s, st))
        return -1;
    return s->opt->n_copies ? set_up_copies(s, st) : set_up_core(s, st);
}

static int run_sampled(struct simulation *s)
{
    int rc = sampler__run(s->sampler, s->pipe, should_stop_sampling, s);
    sampler__estimate(s->sampler, &s->set);
    return rc;
}

static void run(struct simulation *s)
{
    interrupt_target = s->program;
    catch_interrupts(true);
    int rc = s->copies.n  ? copies__run(&s->copies, should_stop_at, s)
             : s->lanes.n ? lanes__run(&s->lanes, s->pipe, should_stop_at, s)
             : s->sampler ? run_sampled(s)
                          : pipe__run(s->pipe, UINT64_MAX, should_stop, s);
    s->failed = rc < 0;
    if (rc == 0)
        program__cancel(s->program);
    program__finish(s->program, &s->end);
    catch_interrupts(false);
    interrupt_target = NULL;
    progress__clear(&s->progress);
    if (rc == 1)
        truth__check(&s->set.truth);
}

/* --- the profile ------------------------------------------------------------------------------ */

static char *join(char *const *argv)
{
    char *all = strdup(argv[0]);
    for (int i = 1; all && argv[i]; i++) {
        char *longer = text__printf("%s %s", all, argv[i]);
        free(all);
        all = longer;
    }
    return all;
}

static char *core_text(const struct core *core)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    core__print(core, out);
    fclose(out);
    return text;
}

static void add_pair(struct profile *p, const char *key, char *value)
{
    p->host = realloc(p->host, (p->n_host + 1) * sizeof *p->host);
    p->host[p->n_host++] = (struct profile_pair){.key = strdup(key), .value = value};
}

static void add_host(struct profile *p, const struct simulation *s)
{
    struct utsname u;
    struct rusage self, children;
    char when[64];
    time_t now = time(NULL);
    double seconds = progress__seconds(&s->progress);

    uname(&u);
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    add_pair(p, "name", strdup(u.nodename));
    add_pair(p, "kernel", text__printf("%s %s", u.sysname, u.release));
    add_pair(p, "time", strdup(when));
    add_pair(p, "seconds", text__printf("%.3f", seconds));
    add_pair(p, "million_instructions_per_second",
             text__printf("%.3f", seconds > 0 ? (double)p->instructions / 1e6 / seconds : 0));
    add_pair(p, "peak_memory_mib", text__printf("%ld", self.ru_maxrss / 1024));
    add_pair(p, "tracer_peak_memory_mib", text__printf("%ld", children.ru_maxrss / 1024));
}

static void add_totals(struct profile *p, const struct simulation *s)
{
    p->issue_width = s->opt->core.issue_width;
    p->instructions = s->set.pmu.sum[PMU_INSTRUCTIONS];
    p->cycles = s->set.truth.cycles;
    p->slots = s->set.truth.slots;
    p->uops_retired = s->set.pmu.sum[PMU_SLOTS_RETIRED];
    p->uops_issued = s->set.pmu.sum[PMU_SLOTS_ISSUED];
}

static void add_events(struct profile *p, const struct simulation *s)
{
    struct memory_counts m;
    if (s->copies.n)
        copies__counts(&s->copies, &m);
    else
        memory__counts(s->memory, &m);
    const struct profile_event caches[] = {
        {"Memory.Loads", m.loads},
        {"Memory.Stores", m.stores},
        {"Memory.CodeLines", m.fetches},
        {"L1D.LoadMisses", m.l1d_load_miss},
        {"L1D.StoreMisses", m.l1d_store_miss},
        {"L1I.Misses", m.l1i_miss},
        {"L2.Misses", m.l2_miss},
        {"L3.Misses", m.l3_miss},
        {"DTLB.Misses", m.dtlb_miss},
        {"ITLB.Misses", m.itlb_miss},
        {"PageWalks", m.walks},
        {"Prefetches", m.prefetches},
    };
    enum { CACHES = sizeof caches / sizeof caches[0] };

    p->event = calloc(PMU_EVENTS + CACHES, sizeof *p->event);
    for (int e = 0; e < PMU_EVENTS; e++)
        p->event[p->n_events++] = (struct profile_event){strdup(pmu__event_name(e)), s->set.pmu.sum[e]};
    for (int e = 0; e < CACHES; e++)
        p->event[p->n_events++] = (struct profile_event){strdup(caches[e].name), caches[e].value};
}

static struct profile_stack *new_stack(struct profile *p, const char *name)
{
    struct profile_stack *stack = &p->stack[p->n_stacks++];

    stack->name = strdup(name);
    stack->component = calloc(WAIT_COUNT, sizeof *stack->component);
    return stack;
}

static void add_component(struct profile *p, struct profile_stack *stack, enum wait w, double cycles)
{
    stack->component[stack->n_components++] =
        (struct profile_component){.component = strdup(cpi_stack__component_name(w)),
                                   .cycles = cycles,
                                   .cpi = p->instructions ? cycles / (double)p->instructions : 0};
}

static void add_stacks(struct profile *p, const struct simulation *s)
{
    struct profile_stack *stack;

    p->stack = calloc(1 + STAGES, sizeof *p->stack);
    stack = new_stack(p, "exact");
    for (int w = 0; w < WAIT_COUNT; w++)
        add_component(p, stack, w, (double)s->set.stack.cycles[w]);
    for (int stage = 0; s->opt->stages && stage < STAGES; stage++) {
        stack = new_stack(p, stage_stacks__name(stage));
        for (int w = 0; w < WAIT_COUNT; w++)
            add_component(p, stack, w, stage_stacks__cycles(&s->stages, stage, w));
    }
}

static int add_multiplexed(struct profile *p, const char *name, const struct metrics *metrics,
                           struct pmu_mux *mux, struct status *st)
{
    pmu_mux__finish(mux);
    if (metrics__evaluate_each(metrics, name, "multiplexed counters", pmu_mux__lookup, mux,
                               &p->tree[p->n_trees], st))
        return -1;
    p->n_trees++;
    return 0;
}

static int add_trees(struct profile *p, struct simulation *s, struct status *st)
{
    p->tree = calloc(5, sizeof *p->tree);
    lane__retired_work(&s->set.tip, s->source->code, &s->work);
    if (tree__from_truth(&s->set.truth, &s->work, &s->opt->core, &p->tree[0], st))
        return -1;
    p->n_trees = 1;
    if (metrics__evaluate(s->metrics, "topdown-counters", "simulated counters", pmu__lookup, &s->set.pmu,
                          &p->tree[1], st))
        return -1;
    p->n_trees = 2;
    if (s->mux.counters) {
        if (add_multiplexed(p, "topdown-multiplexed", s->metrics, &s->mux, st))
            return -1;
        p->multiplexing = (struct profile_multiplexing){.counters = s->mux.counters,
                                                        .turn_cycles = s->mux.turn_cycles,
                                                        .groups = s->mux.n_groups,
                                                        .turns = s->mux.n_turns};
    }
    if (!s->user_metrics)
        return 0;
    if (metrics__evaluate(s->user_metrics, "metrics", "simulated counters", pmu__lookup, &s->set.pmu,
                          &p->tree[p->n_trees], st))
        return -1;
    p->n_trees++;
    return s->user_mux.counters ? add_multiplexed(p, "metrics-multiplexed", s->user_metrics, &s->user_mux, st)
                                : 0;
}

static bool worth_keeping(const struct site_weight *w)
{
    uint64_t any = w->insns | w->cycles_tip;
    for (int k = 0; k < PLACE_SLOTS; k++)
        any |= w->slots[k];
    return any != 0;
}

/* Until something was fetched the core waited for the first instruction: the places sum to the total. */
static void place_start(struct tip *tip)
{
    struct site_weight *first = &tip->site[0];

    if (!tip->n_sites)
        return;
    first->cycles_tip += tip->cycles_tip_unplaced;
    tip->cycles_tip_unplaced = 0;
    for (unsigned k = 0; k < PLACE_SLOTS; k++) {
        first->slots[k] += tip->slots_unplaced[k];
        tip->slots_unplaced[k] = 0;
    }
}

static void add_places(struct profile *p, struct simulation *s)
{
    const struct code *code = s->source->code;
    place_start(&s->set.tip);
    p->place = calloc(s->set.tip.n_sites + 1, sizeof *p->place);
    for (uint32_t id = 0; id < s->set.tip.n_sites; id++) {
        const struct site_weight *w = &s->set.tip.site[id];
        if (!worth_keeping(w))
            continue;
        const struct site *site = code__site(code, id);
        char text[128];
        isa__format(s->isa, site->insn, site->addr, text, sizeof text);
        p->place[p->n_places++] =
            (struct profile_place){.addr = site->addr, .module = -1, .text = strdup(text), .weight = *w};
    }
}

static int by_count(const void *a, const void *b)
{
    const struct profile_count *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static struct profile_count *find_count(struct profile *p, const char *name)
{
    for (size_t i = 0; i < p->n_unknown; i++)
        if (strcmp(p->unknown[i].name, name) == 0)
            return &p->unknown[i];
    p->unknown = realloc(p->unknown, (p->n_unknown + 1) * sizeof *p->unknown);
    p->unknown[p->n_unknown] = (struct profile_count){.name = strdup(name)};
    return &p->unknown[p->n_unknown++];
}

/* Forms without a table row, by dynamic count. */
static void add_unknown(struct profile *p, struct simulation *s)
{
    const struct code *code = s->source->code;
    for (uint32_t id = 0; id < s->set.tip.n_sites; id++) {
        const struct site *site = code__site(code, id);
        if (!s->set.tip.site[id].insns || !(site->insn->flags & INSN_UNKNOWN))
            continue;
        char name[128];
        isa__form_name(s->isa, site->insn, name, sizeof name);
        struct profile_count *c = find_count(p, name);
        c->count += s->set.tip.site[id].insns;
        if (!c->note)
            c->note = text__printf("first at 0x%llx", (unsigned long long)site->addr);
    }
    if (p->n_unknown)
        qsort(p->unknown, p->n_unknown, sizeof *p->unknown, by_count);
}

static void add_nondeterminism(struct profile *p, struct simulation *s)
{
    size_t n;
    const struct profile_count *c = program__nondeterminism(s->program, &n);
    p->nondeterminism = calloc(n + 1, sizeof *p->nondeterminism);
    for (size_t i = 0; i < n; i++)
        p->nondeterminism[p->n_nondeterminism++] =
            (struct profile_count){strdup(c[i].name), c[i].count, c[i].note ? strdup(c[i].note) : NULL};
}

static const char *failure(const struct simulation *s)
{
    if (s->lanes.tee && tee__out_of_memory(s->lanes.tee))
        return "not enough memory to simulate several cores at once; ask for fewer with --ideal and "
               "--compare-cores";
    if (s->copies.n && tee__out_of_memory(s->copies.tee))
        return "not enough memory for what the first copy has executed and the last not; ask for fewer with "
               "--copies";
    return s->end.why[0] ? s->end.why : program__error(s->program);
}

static void add_end(struct profile *p, const struct simulation *s)
{
    p->complete = s->end.complete && !s->limited && !interrupted && !s->failed;
    p->exit_status = s->end.exited ? s->end.exit_status : s->end.signal ? 128 + s->end.signal : 0;
    if (interrupted) {
        p->exit_status = 128 + interrupted;
        p->incomplete_why = text__printf(
            "interrupted by signal %d: the figures cover what was seen until then", (int)interrupted);
    } else if (s->limited) {
        p->exit_status = 0;
        p->incomplete_why = text__printf("stopped after --max-instructions %llu",
                                         (unsigned long long)s->opt->max_instructions);
    } else if (s->failed) {
        p->exit_status = EXIT_CODE_TOOL;
        p->incomplete_why = strdup(failure(s));
    } else if (s->end.why[0]) {
        p->incomplete_why = strdup(s->end.why);
        if (s->end.threaded)
            p->exit_status = EXIT_CODE_TOOL;
    }
}

static int add_verdict(struct profile *p)
{
    char sentence[512], next[512];
    const char *hot = p->n_functions ? p->function[0].name : NULL;
    tree__verdict(&p->tree[0], hot, sentence, sizeof sentence, next, sizeof next);
    p->verdict = strdup(sentence);
    p->verdict_next = strdup(next);
    return 0;
}

static struct profile *build_profile(struct simulation *s, struct status *st)
{
    struct profile *p = profile__new();
    size_t n_map;
    const struct mapping *map = program__mappings(s->program, &n_map);

    p->version = strdup(FATHOM_VERSION);
    p->command = join(s->opt->argv);
    p->core = strdup(s->opt->core.name);
    p->core_text = core_text(&s->opt->core);
    p->source = strdup("simulated");
    p->guest_cpu = strdup(s->opt->core.guest_cpu);
    add_totals(p, s);
    add_events(p, s);
    add_stacks(p, s);
    if (add_trees(p, s, st)) {
        profile__free(p);
        return NULL;
    }
    if (s->sampler)
        sampler__report(s->sampler, p);
    add_places(p, s);
    profile__symbolize(p, map, n_map);
    add_unknown(p, s);
    add_nondeterminism(p, s);
    if ((s->lanes.n && lanes__report(&s->lanes, &s->opt->core, &s->set.truth, &s->work, p, st)) ||
        (s->copies.n && copies__report(&s->copies, &s->opt->core, p, st))) {
        profile__free(p);
        return NULL;
    }
    add_end(p, s);
    add_verdict(p);
    add_host(p, s);
    return p;
}

struct profile *simulate__program(const struct simulate_options *opt, struct status *st)
{
    struct profile *p = NULL;
    struct simulation *s = calloc(1, sizeof *s);
    if (!s) {
        status__fail(st, "not enough memory for the accounts");
        return NULL;
    }
    s->opt = opt;
    progress__init(&s->progress);
    if (opt->quiet)
        s->progress.out = NULL;
    if (set_up(s, st))
        goto out;
    run(s);
    if (!s->set.truth.cycles || !s->set.pmu.sum[PMU_INSTRUCTIONS]) {
        if (s->failed || s->end.why[0])
            status__fail(st, "%s", failure(s));
        else
            status__fail(st, "nothing was executed");
        goto out;
    }
    p = build_profile(s, st);
out:
    pipe__free(s->pipe);
    lanes__free(&s->lanes);
    copies__free(&s->copies);
    program__free(s->program);
    predictor__free(s->predictor);
    memory__free(s->memory);
    metrics__free(s->metrics);
    metrics__free(s->user_metrics);
    account_set__free(&s->set);
    pmu_mux__free(&s->mux);
    pmu_mux__free(&s->user_mux);
    sampler__free(s->sampler);
    isa__close(s->isa);
    free(s);
    return p;
}
