/* SPDX-License-Identifier: Apache-2.0 */
/* What one change of the core would gain: a list of changes, each run alone, ranked. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vector.h"
#include "cores/params.h"
#include "fathom/status.h"
#include "loop/sweep.h"

/* A change that could be tried on any of the loops. */
struct change {
    enum what_if_kind kind;
    char *id, *text;
};

struct plan {
    const struct sweep_config *config;
    struct status *st;
    struct isa *isa;
    VECTOR(struct sweep_variant) variants; /* [0]: unmodified */
    VECTOR(struct change) changes;         /* of variants[1] and on */
};

const char *what_if_kind__name(enum what_if_kind kind)
{
    static const char *const name[] = {"buffer", "latency", "port", "divider", "front end", "width"};
    _Static_assert(sizeof name / sizeof name[0] == WHAT_IF_KINDS, "one name a kind");
    assert(kind < WHAT_IF_KINDS);
    return name[kind];
}

/* Takes over `id` and `text`. */
static int add(struct plan *plan, enum what_if_kind kind, const struct sweep_variant *v, char *id, char *text)
{
    struct change change = {.kind = kind, .id = id, .text = text};

    if (id && text && vector__push(&plan->changes, change)) {
        if (vector__push(&plan->variants, *v))
            return 0;
        plan->changes.n--;
    }
    free(id);
    free(text);
    return status__fail(plan->st, "not enough memory for a list of changes");
}

static uint32_t *count_of(struct core *core, const struct param *param)
{
    assert(param->type == PARAM_COUNT);
    return (uint32_t *)((char *)core + param->offset);
}

static bool is_sound(const struct core *core)
{
    struct status ignored;
    return core__check(core, "", &ignored) == 0;
}

struct named_param {
    const char *key, *text;
    bool ufs_only; /* RT-5: loops have these limits only under the published rules */
};

/* A buffer doubled, or made as large as the model allows. */
static int add_buffers(struct plan *plan)
{
    static const struct named_param buffers[] = {
        {"rob_entries", "ROB", false},          {"rs_entries", "RS", false},
        {"idq_entries", "IDQ", false},          {"load_buffer", "load buffer", true},
        {"store_buffer", "store buffer", true}, {"load_matrix", "load matrix", true},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        const struct param *param = params__find(buffers[i].key);
        struct sweep_variant v = plan->variants.item[0];
        uint32_t *n = count_of(&v.core, param), old = *n;
        if (buffers[i].ufs_only && plan->config->model != LOOPSIM_UFS)
            continue;
        *n = 2 * old <= (uint32_t)param->max ? 2 * old : (uint32_t)param->max;
        if (*n != old && is_sound(&v.core) &&
            add(plan, WHAT_IF_BUFFER, &v, text__printf("%s*2", param->key),
                text__printf("%s %u -> %u %s", buffers[i].text, old, *n, param->unit)))
            return -1;
    }
    return 0;
}

static int add_core_latencies(struct plan *plan)
{
    static const struct named_param latencies[] = {
        {"load_latency_cyc", "L1 load latency", false},
        {"store_forward_cyc", "store forwarding", false},
        {"store_forward_blocked_cyc", "blocked store forwarding", false},
        {"issue_to_dispatch_cyc", "issue to dispatch", false},
    };
    for (size_t i = 0; i < sizeof latencies / sizeof latencies[0]; i++) {
        const struct param *param = params__find(latencies[i].key);
        struct sweep_variant v = plan->variants.item[0];
        uint32_t *n = count_of(&v.core, param), old = *n;
        *n = (old + 1) / 2;
        if (*n != old && add(plan, WHAT_IF_LATENCY, &v, text__printf("%s/2", param->key),
                             text__printf("%s %u -> %u cycles", latencies[i].text, old, *n)))
            return -1;
    }
    return 0;
}

/* --- the instructions of the loops ------------------------------------------------------------ */

typedef int visit_insn(struct plan *plan, struct insn *insn);

/* Until a visit fails. Blocks that do not decode are reported when they run. */
static int visit_insns(struct plan *plan, visit_insn *visit)
{
    for (size_t k = 0; k < plan->config->n_loops; k++) {
        const struct sweep_loop *loop = &plan->config->loop[k];
        for (size_t at = 0; at < loop->size;) {
            struct insn *insn = isa__decode(plan->isa, loop->bytes + at, loop->size - at, NULL);
            if (!insn)
                break;
            at += insn->len;
            if (visit(plan, insn))
                return -1;
        }
    }
    return 0;
}

static bool has_change(const struct plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->changes.n; i++)
        if (strcmp(plan->changes.item[i].id, id) == 0)
            return true;
    return false;
}

static unsigned longest_latency(struct plan *plan, struct insn *insn)
{
    unsigned longest = 0;
    for (unsigned v = 0; v < RECIPE_VARIANTS; v++) {
        const struct recipe *r = isa__recipe(plan->isa, insn, v);
        for (unsigned k = 0; k < r->n_uops; k++)
            if (r->uops[k].kind == UOP_COMPUTE && r->uops[k].max_lat > longest)
                longest = r->uops[k].max_lat;
    }
    return longest;
}

static int add_insn_latency(struct plan *plan, struct insn *insn)
{
    struct sweep_variant v = plan->variants.item[0];
    char id[64];
    unsigned lat = longest_latency(plan, insn);

    v.edit.kind = EDIT_LATENCY;
    insn__mnemonic(plan->isa, insn, v.edit.mnemonic);
    snprintf(id, sizeof id, "latency:%s/2", v.edit.mnemonic);
    if (lat < 2 || has_change(plan, id))
        return 0;
    return add(
        plan, WHAT_IF_LATENCY, &v, strdup(id),
        text__printf("latency of %s halved (up to %u -> %u cycles)", v.edit.mnemonic, lat, (lat + 1) / 2));
}

static int add_divider(struct plan *plan, struct insn *insn)
{
    struct sweep_variant v = plan->variants.item[0];
    bool any = false;

    for (unsigned k = 0; k < RECIPE_VARIANTS; k++) {
        const struct recipe *r = isa__recipe(plan->isa, insn, k);
        any |= r->tp_cyc > 0;
        for (unsigned u = 0; u < r->n_uops; u++)
            any |= r->uops[u].div_cyc > 0;
    }
    if (!any || has_change(plan, "divider"))
        return 0;
    v.edit.kind = EDIT_DIVIDER;
    return add(plan, WHAT_IF_DIVIDER, &v, strdup("divider"),
               strdup("divider and other blocking units pipelined"));
}

static int add_insn_ports(struct plan *plan, struct insn *insn)
{
    const struct core *core = plan->config->core;

    for (unsigned v = 0; v < RECIPE_VARIANTS; v++) {
        const struct recipe *r = isa__recipe(plan->isa, insn, v);
        for (unsigned k = 0; k < r->n_uops; k++)
            for (unsigned m = r->uops[k].ports; m && !r->uops[k].div_cyc; m &= m - 1) {
                unsigned port = (unsigned)__builtin_ctz(m);
                struct sweep_variant variant = plan->variants.item[0];
                char id[32];
                snprintf(id, sizeof id, "port%u*2", port);
                if (has_change(plan, id) || port >= core->ports || core->ports >= 16)
                    continue;
                variant.core.ports = core->ports + 1;
                variant.edit = (struct recipe_edit){
                    .kind = EDIT_PORT, .port = (uint8_t)port, .new_port = (uint8_t)core->ports};
                if (add(plan, WHAT_IF_PORT, &variant, strdup(id), text__printf("a second port %u", port)))
                    return -1;
            }
    }
    return 0;
}

/* --- front end and width ---------------------------------------------------------------------- */

/* As far as parameters go: whole windows from the DSB or the decoders, no stall, no switch, no erratum. */
static void make_ideal(struct core *core)
{
    core->predecode_width = 16;
    core->predecode_delay_cyc = 0;
    core->lcp_stall_cyc = 0;
    core->iq_entries = 64;
    core->decoders = 8;
    core->dsb_width = 16;
    core->dsb_line_uops = 16;
    core->dsb_lines_per_window = core->dsb_ways;
    core->jcc_erratum = false;
    core->ms_width = 16;
    core->ms_stall_dsb_cyc = core->ms_stall_mite_cyc = 0;
    core->lsd = false;
    core->idq_entries = 240;
    core->pop5c_ends_group = false;
}

static int add_frontend(struct plan *plan)
{
    struct sweep_variant v = plan->variants.item[0];

    /* FE-5: a block that is not a loop comes from the predecoder, a 16-byte piece a cycle at best. */
    make_ideal(&v.core);
    v.edit.kind = EDIT_FRONTEND;
    if (plan->config->model == LOOPSIM_UFS) /* its front end is perfect but for the width */
        return 0;
    return add(plan, WHAT_IF_FRONTEND, &v, strdup("frontend"),
               strdup("perfect front end (unrolled code: 16 bytes a cycle)"));
}

static int add_width(struct plan *plan)
{
    struct sweep_variant v = plan->variants.item[0];
    uint32_t old = v.core.issue_width, wide = old + old / 2 > 8 ? 8 : old + old / 2;

    v.core.issue_width = wide;
    if (v.core.retire_width < wide)
        v.core.retire_width = wide;
    if (wide > old && is_sound(&v.core) &&
        add(plan, WHAT_IF_WIDTH, &v, strdup("issue_width*1.5"),
            text__printf("issue width %u -> %u uops a cycle", old, wide)))
        return -1;
    v = plan->variants.item[0];
    old = v.core.retire_width;
    wide = 2 * old > 8 ? 8 : 2 * old;
    v.core.retire_width = wide;
    if (wide > old && add(plan, WHAT_IF_WIDTH, &v, strdup("retire_width*2"),
                          text__printf("retire width %u -> %u uops a cycle", old, wide)))
        return -1;
    return 0;
}

static int make_plan(struct plan *plan)
{
    struct sweep_variant base = {.core = *plan->config->core};

    if (!vector__push(&plan->variants, base))
        return status__fail(plan->st, "not enough memory for a list of changes");
    if (!(plan->isa = isa__open(plan->config->core, plan->st)))
        return -1;
    if (add_buffers(plan) || add_core_latencies(plan) || visit_insns(plan, add_insn_latency) ||
        visit_insns(plan, add_divider) || visit_insns(plan, add_insn_ports) || add_frontend(plan) ||
        add_width(plan))
        return -1;
    return 0;
}

static void plan__free(struct plan *plan)
{
    for (size_t i = 0; i < plan->changes.n; i++) {
        free(plan->changes.item[i].id);
        free(plan->changes.item[i].text);
    }
    vector__free(&plan->changes);
    vector__free(&plan->variants);
    isa__close(plan->isa);
}

/* --- results ---------------------------------------------------------------------------------- */

/* Changes of instructions that only other loops contain say nothing about this one. */
static bool acts_on(struct plan *plan, const struct sweep_loop *loop, const struct recipe_edit *edit,
                    bool *acts)
{
    struct recipe_patch *patch = recipe_patch__apply(plan->isa, loop, edit, acts);
    recipe_patch__undo(patch);
    *acts |= edit->kind == EDIT_NONE;
    return patch != NULL;
}

static int by_gain(const void *a, const void *b, void *arg)
{
    const struct what_if_row *x = a, *y = b;
    (void)arg;
    double gx = isnan(x->point.speedup) ? -1 : x->point.speedup;
    double gy = isnan(y->point.speedup) ? -1 : y->point.speedup;
    if (gx != gy)
        return gx < gy ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return strcmp(x->id, y->id);
}

static char *verdict(const struct what_if_loop *loop)
{
    if (loop->error)
        return text__printf("no figure: %s", loop->error);
    if (!loop->n_rows || !(loop->row[0].point.speedup >= 1.005))
        return strdup("No single change of the core makes this loop faster by half a percent: it is bound by "
                      "several things at once, or by its own dependencies.");
    const struct what_if_row *r = &loop->row[0];
    size_t equal = 1;
    while (equal < loop->n_rows && loop->row[equal].point.speedup >= r->point.speedup * 0.995)
        equal++;
    char more[64] = "";
    if (equal > 1)
        snprintf(more, sizeof more, "; %zu other change%s gain%s as much", equal - 1, equal > 2 ? "s" : "",
                 equal > 2 ? "" : "s");
    return text__printf("Most would be gained by: %s (%.2f -> %.2f cycles per iteration, %.2fx)%s.",
                        r->change, loop->base.cycles, r->point.cycles, r->point.speedup, more);
}

static int fill_loop(struct plan *plan, struct what_if_loop *loop, const struct sweep_grid *grid, size_t k)
{
    size_t n_loops = plan->config->n_loops;

    loop->base = grid->cell[k];
    loop->base.speedup = isnan(loop->base.cycles) ? NAN : 1;
    loop->name = strdup(plan->config->loop[k].name);
    loop->row = calloc(plan->changes.n + 1, sizeof *loop->row);
    if (!loop->name || !loop->row)
        goto no_memory;
    for (size_t i = 0; i < plan->changes.n && !loop->error; i++) {
        bool acts;
        if (!acts_on(plan, &plan->config->loop[k], &plan->variants.item[i + 1].edit, &acts))
            goto no_memory;
        if (!acts)
            continue;
        struct what_if_row *row = &loop->row[loop->n_rows++];
        *row = (struct what_if_row){.kind = plan->changes.item[i].kind,
                                    .id = strdup(plan->changes.item[i].id),
                                    .change = strdup(plan->changes.item[i].text),
                                    .point = grid->cell[(i + 1) * n_loops + k]};
        row->point.speedup = loop->base.cycles / row->point.cycles;
        if (!row->id || !row->change)
            goto no_memory;
    }
    qsort_r(loop->row, loop->n_rows, sizeof *loop->row, by_gain, NULL);
    if ((loop->verdict = verdict(loop)))
        return 0;
no_memory:
    return status__fail(plan->st, "not enough memory for the results of what-if");
}

int what_if__run(struct what_if *what, const struct sweep_config *config, struct status *st)
{
    struct plan plan = {.config = config, .st = st};
    struct sweep_grid grid = {.config = config};
    int rc = -1;

    *what = (struct what_if){.core = *config->core, .model = config->model};
    if (make_plan(&plan))
        goto out;
    grid.variant = plan.variants.item;
    grid.n_variants = plan.variants.n;
    grid.cell = calloc(grid.n_variants * config->n_loops + 1, sizeof *grid.cell);
    grid.error = calloc(config->n_loops + 1, sizeof *grid.error);
    what->loop = calloc(config->n_loops + 1, sizeof *what->loop);
    if (!grid.cell || !grid.error || !what->loop) {
        status__fail(st, "not enough memory for the results of what-if");
        goto out;
    }
    if (sweep_grid__run(&grid, st))
        goto out;
    what->n_loops = config->n_loops;
    for (size_t k = 0; k < config->n_loops; k++) {
        what->loop[k].error = grid.error[k];
        grid.error[k] = NULL;
        if (fill_loop(&plan, &what->loop[k], &grid, k))
            goto out;
    }
    rc = 0;
out:
    for (size_t k = 0; grid.error && k < config->n_loops; k++)
        free(grid.error[k]);
    free(grid.error);
    free(grid.cell);
    plan__free(&plan);
    return rc;
}

static void free_loop(struct what_if_loop *loop)
{
    for (size_t i = 0; i < loop->n_rows; i++) {
        free(loop->row[i].id);
        free(loop->row[i].change);
    }
    free(loop->row);
    free(loop->name);
    free(loop->error);
    free(loop->verdict);
}

void what_if__free(struct what_if *what)
{
    for (size_t k = 0; what->loop && k < what->n_loops; k++)
        free_loop(&what->loop[k]);
    free(what->loop);
    memset(what, 0, sizeof *what);
}
