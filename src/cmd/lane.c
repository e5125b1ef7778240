/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/lane.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/insn.h"
#include "fathom/memory.h"
#include "fathom/pipe.h"
#include "fathom/predict.h"
#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/tee.h"
#include "fathom/tree.h"

/* Steps that one pipeline reads before another one's turn: enough to warm the host's caches, few enough for
 * the log between the first and the last to stay small. */
enum { TURN_STEPS = 65536 };

bool lane_plan__is_empty(const struct lane_plan *plan)
{
    return !plan->ideal.n && !plan->n_compare;
}

/* --- instructions of another core, or of the same core with more ports ------------------------- */

/* REP string instructions stand in a trace as heads, which have no access, and chunks (isa__rep_body). */
static struct insn *twin(struct isa *isa, const struct insn *insn)
{
    struct insn *own = isa__decode(isa, insn->bytes, insn->len, NULL);

    assert(own); /* which bytes are an instruction does not depend on the core */
    if (!(insn->flags & INSN_REP))
        return own;
    return insn->n_mem ? isa__rep_body(isa, own, insn->mem[0].size_bytes) : isa__rep_head(isa, own);
}

static const struct recipe *double_ports(struct lane *lane, const struct recipe *from)
{
    unsigned n = lane->machine.doubled_ports;
    struct recipe *recipe = arena__copy(&lane->edited, from, recipe__bytes(from->n_uops));
    struct uop *uops = recipe ? recipe->uops : NULL;

    if (!recipe)
        return NULL;
    for (unsigned k = 0; k < from->n_uops; k++) {
        unsigned real = uops[k].ports & ((1u << n) - 1);
        if (!uops[k].div_cyc) /* EX-14: the divider stays behind its port */
            uops[k].ports = (uint16_t)(real | real << n);
    }
    return recipe;
}

static bool edit_recipes(struct lane *lane, struct insn *insn)
{
    const struct recipe *from[RECIPE_VARIANTS];

    for (unsigned v = 0; v < RECIPE_VARIANTS; v++)
        from[v] = isa__recipe(lane->isa, insn, v);
    for (unsigned v = 0; v < RECIPE_VARIANTS; v++) {
        unsigned same = 0;
        while (from[same] != from[v])
            same++;
        insn->recipe[v] = same < v ? insn->recipe[same] : double_ports(lane, from[v]);
        if (!insn->recipe[v])
            return false;
    }
    return true;
}

static bool is_edited(const struct lane *lane, const struct insn *insn)
{
    for (unsigned k = 0; insn->recipe[0] && k < insn->recipe[0]->n_uops; k++)
        if (insn->recipe[0]->uops[k].ports >> lane->machine.doubled_ports)
            return true;
    return false;
}

static struct insn *translate(void *arg, const struct insn *insn)
{
    struct lane *lane = arg;
    struct insn *own = twin(lane->isa, insn);

    if (own && lane->machine.doubled_ports && !is_edited(lane, own) && !edit_recipes(lane, own))
        return NULL;
    return own;
}

/* --- setting up ------------------------------------------------------------------------------- */

static void lane__free(struct lane *lane)
{
    if (!lane)
        return;
    pipe__free(lane->pipe);
    predictor__free(lane->predictor);
    memory__free(lane->memory);
    tip__free(&lane->tip);
    isa__close(lane->isa);
    arena__free(&lane->edited);
    free(lane);
}

static int open_parts(struct lane *lane, const struct core *table_of, struct status *st)
{
    const struct core *core = &lane->machine.core;

    if (table_of && !(lane->isa = isa__open(table_of, st)))
        return -1;
    if (!(lane->memory = memory__new(core, &lane->machine.memory, st)))
        return -1;
    if (!lane->machine.perfect_branches && !(lane->predictor = predictor__new(core, st)))
        return -1;
    truth__init(&lane->truth, core);
    tip__init(&lane->tip, core);
    return 0;
}

static int open_pipe(struct lane *lane, struct isa *isa, struct status *st)
{
    struct pipe_config pc = {
        .core = &lane->machine.core,
        .isa = lane->isa ? lane->isa : isa,
        .source = lane->source,
        .memory = lane->memory,
        .predictor = lane->predictor,
        .listener = {&lane->truth.listener, &lane->tip.listener},
        .n_listeners = lane->whole_tree ? 2 : 1,
        .ideal_frontend = lane->machine.perfect_frontend,
    };
    return (lane->pipe = pipe__new(&pc, st)) ? 0 : -1;
}

static struct lane *add(struct lanes *lanes)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (lane)
        lanes->lane[lanes->n++] = lane;
    return lane;
}

static int add_ideal(struct lanes *lanes, const struct core *core, uint32_t set, struct status *st)
{
    struct lane *lane = add(lanes);

    if (!lane)
        return status__fail(st, "not enough memory for a simulation beside the real one");
    if (ideal__machine(&lane->machine, core, set, st))
        return -1;
    return open_parts(lane, lane->machine.doubled_ports ? core : NULL, st);
}

static int add_core(struct lanes *lanes, const struct core *core, struct status *st)
{
    struct lane *lane = add(lanes);

    if (!lane)
        return status__fail(st, "not enough memory for a simulation beside the real one");
    lane->machine.core = *core;
    lane->whole_tree = true;
    return open_parts(lane, core, st);
}

static int add_all(struct lanes *lanes, const struct core *core, struct status *st)
{
    const struct lane_plan *plan = lanes->plan;
    uint32_t all = 0;

    for (size_t i = 0; i < plan->ideal.n; i++) {
        all |= 1u << plan->ideal.kind[i];
        if (add_ideal(lanes, core, 1u << plan->ideal.kind[i], st))
            return -1;
    }
    if (plan->ideal.n > 1 && add_ideal(lanes, core, all, st))
        return -1;
    for (size_t i = 0; i < plan->n_compare; i++)
        if (!plan->compare[i].self && add_core(lanes, &plan->compare[i].core, st))
            return -1;
    return 0;
}

int lanes__init(struct lanes *lanes, const struct lane_plan *plan, const struct core *core,
                struct source *source, struct isa *isa, struct status *st)
{
    *lanes = (struct lanes){.plan = plan};
    lanes->lane = calloc(plan->ideal.n + 1 + plan->n_compare, sizeof(struct lane *));
    if (!lanes->lane)
        return status__fail(st, "not enough memory for a simulation beside the real one");
    if (add_all(lanes, core, st) || !(lanes->tee = tee__new(source, (unsigned)lanes->n + 1, st)))
        return -1;
    for (size_t k = 0; k < lanes->n; k++) {
        struct lane *lane = lanes->lane[k];
        lane->source = tee__source(lanes->tee, (unsigned)k + 1);
        if (lane->isa)
            tee__set_translate(lanes->tee, (unsigned)k + 1, translate, lane);
        if (open_pipe(lane, isa, st))
            return -1;
    }
    return 0;
}

void lanes__free(struct lanes *lanes)
{
    for (size_t k = 0; k < lanes->n; k++)
        lane__free(lanes->lane[k]);
    free(lanes->lane);
    tee__free(lanes->tee);
}

struct source *lanes__source(struct lanes *lanes)
{
    return tee__source(lanes->tee, 0);
}

/* --- running ---------------------------------------------------------------------------------- */

struct turn {
    const struct lanes *lanes;
    const struct pipe *pipe;
    unsigned reader;
    uint64_t until; /* steps read */
    lanes_stop *stop;
    void *arg;
    bool stopped; /* for good */
};

static bool turn__over(void *arg)
{
    struct turn *turn = arg;
    const struct tee *tee = turn->lanes->tee;

    turn->stopped = turn->stop(turn->arg, turn->pipe);
    if (turn->stopped)
        return true;
    /* Once it has read everything it runs to its end: to stop it again could cost a cycle. */
    return !tee__ended(tee, turn->reader) && tee__taken(tee, turn->reader) >= turn->until;
}

/* Reader of the next turn; -1: all have ended. */
static int slowest(const struct lanes *lanes, const bool *done)
{
    int best = -1;

    for (unsigned k = 0; k <= lanes->n; k++)
        if (!done[k] && (best < 0 || tee__taken(lanes->tee, k) < tee__taken(lanes->tee, (unsigned)best)))
            best = (int)k;
    return best;
}

int lanes__run(struct lanes *lanes, struct pipe *real, lanes_stop *stop, void *arg)
{
    bool done[2 + IDEAL_KINDS + LANE_MAX_CORES] = {false};
    int k, result = 0;
    bool failed = false;

    assert(lanes->n < sizeof done / sizeof done[0]);
    while ((k = slowest(lanes, done)) >= 0) {
        struct lane *lane = k ? lanes->lane[k - 1] : NULL;
        struct pipe *pipe = lane ? lane->pipe : real;
        struct turn turn = {.lanes = lanes,
                            .pipe = pipe,
                            .reader = (unsigned)k,
                            .until = tee__taken(lanes->tee, (unsigned)k) + TURN_STEPS,
                            .stop = stop,
                            .arg = arg};
        int rc = pipe__run(pipe, UINT64_MAX, turn__over, &turn);
        if (!lane)
            result = rc;
        failed |= rc < 0;
        done[k] = rc != 0 || turn.stopped;
        if (done[k])
            tee__leave(lanes->tee, (unsigned)k);
        if (lane && rc == 1)
            truth__check(&lane->truth);
    }
    return failed ? -1 : result;
}

/* --- the profile ------------------------------------------------------------------------------ */

/* Per instruction, because a run that is cut short ends at another one on every machine. */
static double speedup(const struct profile *p, const struct profile_ideal *row)
{
    if (!row->cycles || !p->instructions)
        return (double)NAN;
    return (double)p->cycles / (double)p->instructions * (double)row->instructions / (double)row->cycles;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void add_ideals(const struct lanes *lanes, struct profile *p)
{
    const struct ideal_list *list = &lanes->plan->ideal;
    size_t n = list->n > 1 ? list->n + 1 : list->n;

    p->ideal = calloc(n + 1, sizeof *p->ideal);
    for (size_t i = 0; i < n; i++) {
        struct profile_ideal *row = &p->ideal[p->n_ideal++];
        const struct lane *lane = lanes->lane[i];
        *row = (struct profile_ideal){.name = strdup(i < list->n ? ideal__name(list->kind[i]) : "together"),
                                      .instructions = pipe__instructions(lane->pipe),
                                      .cycles = lane->truth.cycles,
                                      .claim_percent = (double)NAN};
        row->speedup = speedup(p, row);
        if (i < list->n)
            row->claim = copy(ideal__claim(list->kind[i], &p->tree[0], &row->claim_percent));
    }
}

static uint64_t count_unknown(const struct lane *lane)
{
    uint64_t sum = 0;

    for (uint32_t id = 0; id < lane->tip.n_sites; id++)
        if (lane->tip.site[id].insns && code__site(lane->source->code, id)->insn->flags & INSN_UNKNOWN)
            sum += lane->tip.site[id].insns;
    return sum;
}

void lane__retired_work(const struct tip *tip, const struct code *code, struct retired_work *work)
{
    *work = (struct retired_work){0};
    for (uint32_t id = 0; id < tip->n_sites; id++)
        retired_work__add(work, tip, id, (enum work)code__site(code, id)->insn->work);
    work->slots[WORK_OTHER] += tip->slots_unplaced[PLACE_RETIRING];
}

static int core_tree(const struct lane *lane, struct profile_tree *tree, struct status *st)
{
    struct retired_work work;

    lane__retired_work(&lane->tip, lane->source->code, &work);
    return tree__from_truth(&lane->truth, &work, &lane->machine.core, tree, st);
}

static int add_cores(const struct lanes *lanes, const struct core *core, const struct truth *real,
                     const struct retired_work *work, struct profile *p, struct status *st)
{
    const struct lane_plan *plan = lanes->plan;
    size_t next = plan->ideal.n > 1 ? plan->ideal.n + 1 : plan->ideal.n;

    p->core_result = calloc(plan->n_compare + 1, sizeof *p->core_result);
    for (size_t i = 0; i < plan->n_compare; i++) {
        bool self = plan->compare[i].self;
        const struct lane *lane = self ? NULL : lanes->lane[next++];
        struct profile_core *row = &p->core_result[p->n_core_results++];
        row->name = strdup(plan->compare[i].label);
        row->title = strdup(self ? core->title : lane->machine.core.title);
        row->self = self;
        row->instructions = self ? p->instructions : pipe__instructions(lane->pipe);
        row->cycles = self ? p->cycles : lane->truth.cycles;
        if (lane)
            row->n_unknown = count_unknown(lane);
        for (size_t k = 0; self && k < p->n_unknown; k++)
            row->n_unknown += p->unknown[k].count;
        if (lane ? core_tree(lane, &row->tree, st) : tree__from_truth(real, work, core, &row->tree, st))
            return -1;
    }
    return 0;
}

int lanes__report(struct lanes *lanes, const struct core *core, const struct truth *real,
                  const struct retired_work *work, struct profile *profile, struct status *st)
{
    add_ideals(lanes, profile);
    return add_cores(lanes, core, real, work, profile, st);
}
