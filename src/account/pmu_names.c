/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the simulated PMU's events, and what metric expressions may ask it for. */
#include "fathom/account.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "account/pmu_alias.h"

static const char *const pmu__names[PMU_EVENTS] = {
    [PMU_CYCLES] = "Clocks",
    [PMU_INSTRUCTIONS] = "Instructions",
    [PMU_TOTAL_SLOTS] = "TotalSlots",
    [PMU_SLOTS_ISSUED] = "SlotsIssued",
    [PMU_SLOTS_RETIRED] = "SlotsRetired",
    [PMU_FETCH_BUBBLES] = "FetchBubbles",
    [PMU_RECOVERY_BUBBLES] = "RecoveryBubbles",
    [PMU_BR_RETIRED] = "BrRetired",
    [PMU_BR_MISPRED_RETIRED] = "BrMispredRetired",
    [PMU_MACHINE_CLEARS] = "MachineClears",
    [PMU_CLEARS_MEMORY_ORDERING] = "MachineClears.MemoryOrdering",
    [PMU_CLEARS_SMC] = "MachineClears.SMC",
    [PMU_MS_SLOTS_RETIRED] = "MsSlotsRetired",
    [PMU_OPS_EXECUTED] = "OpsExecuted",
    [PMU_UOPS_RETIRED] = "UopsRetired",
    [PMU_MEM_STALLS_ANY_LOAD] = "MemStalls.AnyLoad",
    [PMU_MEM_STALLS_L1_MISS] = "MemStalls.L1miss",
    [PMU_MEM_STALLS_L2_MISS] = "MemStalls.L2miss",
    [PMU_MEM_STALLS_L3_MISS] = "MemStalls.L3miss",
    [PMU_MEM_STALLS_STORES] = "MemStalls.Stores",
    [PMU_EXT_MEM_OUTSTANDING] = "ExtMemOutstanding",
    [PMU_RS_EMPTY] = "RsEmpty",
    [PMU_DIVIDER_ACTIVE] = "DividerActive",
    [PMU_IDQ_MITE_UOPS] = "Idq.MiteUops",
    [PMU_IDQ_DSB_UOPS] = "Idq.DsbUops",
    [PMU_IDQ_LSD_UOPS] = "Idq.LsdUops",
    [PMU_IDQ_MS_UOPS] = "Idq.MsUops",
    [PMU_MS_SWITCHES] = "MsSwitches",
    [PMU_BACLEARS] = "BAClears",
    [PMU_LCP_STALLS] = "LcpStalls",
    [PMU_ICACHE_STALLS] = "ICacheStalls",
    [PMU_ITLB_STALLS] = "ItlbStalls",
    [PMU_STALLS_ROB] = "ResourceStalls.ROB",
    [PMU_STALLS_RS] = "ResourceStalls.RS",
    [PMU_STALLS_LB] = "ResourceStalls.LB",
    [PMU_STALLS_SB] = "ResourceStalls.SB",
    [PMU_LOADS_L1] = "LoadsRetired.L1",
    [PMU_LOADS_LFB] = "LoadsRetired.LFB",
    [PMU_LOADS_L2] = "LoadsRetired.L2",
    [PMU_LOADS_L3] = "LoadsRetired.L3",
    [PMU_LOADS_DRAM] = "LoadsRetired.DRAM",
    [PMU_LOADS_RETIRED] = "LoadsRetired",
    [PMU_STORES_RETIRED] = "StoresRetired",
    [PMU_MEMORY_RETIRED] = "MemoryInsnsRetired",
    [PMU_FUSED_RETIRED] = "FusedRetired",
    [PMU_LOADS_L1_MISS] = "LoadsRetired.L1miss",
    [PMU_LOADS_L2_MISS] = "LoadsRetired.L2miss",
    [PMU_FLUSHES] = "Flushes",
    [PMU_FP_SCALAR] = "FpRetired.Scalar",
    [PMU_FP_VECTOR] = "FpRetired.Vector",
    [PMU_FP_4_FLOPS] = "FpRetired.FourFlops",
    [PMU_FETCH_STALLS] = "FetchStalls",
    [PMU_LFB_WAITS] = "FillBufferWaits",
    [PMU_DECODED] = "Decoded",
    [PMU_EXE_BOUND_0] = "ExeBound0",
    [PMU_STALLS_SERIAL] = "ResourceStalls.Serial",
    [PMU_STALLS_ANY] = "ResourceStalls.Any",
    [PMU_PENDING_ANY] = "Pending.AnyLoad",
    [PMU_PENDING_L1_MISS] = "Pending.L1miss",
    [PMU_PENDING_L2_MISS] = "Pending.L2miss",
    [PMU_PENDING_L3_MISS] = "Pending.L3miss",
    [PMU_OFFCORE_READS] = "OffcoreReads",
    [PMU_PORT_0] = "Port0",
    [PMU_PORT_0 + 1] = "Port1",
    [PMU_PORT_0 + 2] = "Port2",
    [PMU_PORT_0 + 3] = "Port3",
    [PMU_PORT_0 + 4] = "Port4",
    [PMU_PORT_0 + 5] = "Port5",
    [PMU_PORT_0 + 6] = "Port6",
    [PMU_PORT_0 + 7] = "Port7",
    [PMU_WALKING_LOAD] = "DtlbLoads.WalkCycles",
    [PMU_WALKING_STORE] = "DtlbStores.WalkCycles",
    [PMU_WALKING_CODE] = "Itlb.WalkCycles",
    [PMU_LFB_FULL] = "FillBuffersFull",
    [PMU_SQ_FULL] = "SuperQueueFull",
    [PMU_RFO_OFFCORE] = "Rfo.OffcoreCycles",
    [PMU_CLEAR_RESTEER] = "ClearResteers",
    [PMU_DSB_SWITCH] = "DsbSwitches",
    [PMU_LOAD_STLB_HIT] = "DtlbLoads.StlbHit",
    [PMU_LOAD_WALK] = "DtlbLoads.Walks",
    [PMU_STORE_STLB_HIT] = "DtlbStores.StlbHit",
    [PMU_STORE_WALK] = "DtlbStores.Walks",
    [PMU_CODE_STLB_HIT] = "Itlb.StlbHit",
    [PMU_CODE_WALK] = "Itlb.Walks",
    [PMU_RFO] = "Rfo.All",
    [PMU_RFO_L2_HIT] = "Rfo.L2Hit",
    [PMU_FORWARD_BLOCKED] = "LoadsBlocked.StoreForward",
    [PMU_ALIASED] = "LoadsBlocked.Alias4K",
    [PMU_DIVISIONS] = "Divisions",
    [PMU_SPLIT_LOADS] = "LoadsRetired.Split",
    [PMU_SPLIT_STORES] = "StoresRetired.Split",
    [PMU_LOCKED_LOADS] = "LoadsRetired.Locked",
    [PMU_WALKED_LOADS] = "LoadsRetired.StlbMiss",
    [PMU_WALKED_STORES] = "StoresRetired.StlbMiss",
    [PMU_FP_SCALAR_SINGLE] = "FpRetired.ScalarSingle",
    [PMU_FP_SCALAR_DOUBLE] = "FpRetired.ScalarDouble",
    [PMU_FP_128_SINGLE] = "FpRetired.128Single",
    [PMU_FP_128_DOUBLE] = "FpRetired.128Double",
    [PMU_FP_256_SINGLE] = "FpRetired.256Single",
    [PMU_FP_256_DOUBLE] = "FpRetired.256Double",
    [PMU_X87] = "X87Retired",
    [PMU_NOPS] = "NopsRetired",
};

/* One event with its masks, as asked for. */
struct pmu_asked {
    unsigned cmask;
    bool invert, edge;
};

const char *pmu__event_name(enum pmu_event event)
{
    assert((unsigned)event < PMU_EVENTS);
    return pmu__names[event];
}

int pmu__event_by_name(const char *name)
{
    for (int e = 0; e < PMU_EVENTS; e++)
        if (strcmp(name, pmu__names[e]) == 0)
            return e;
    return -1;
}

/* --- constants -------------------------------------------------------------------------------- */

/* The machine's constants, by their names in metric expressions. */
static bool pmu__literal(const struct pmu *pmu, const char *name, double *value)
{
    const struct pmu_machine *m = &pmu->machine;
    const struct {
        const char *name;
        double value;
    } literal[] = {
        {"#issue_width", pmu->width},
        {"#slots", pmu->width},
        {"#Pipeline_Width", pmu->width},
        {"#ext_mem_threshold", m->ext_mem_threshold},
        {"#stlb_hit_cyc", m->stlb_hit_cyc},
        {"#baclear_cyc", m->baclear_cyc},
        {"#ms_switch_cyc", m->ms_switch_cyc},
        {"#store_forward_blocked_cyc", m->store_forward_blocked_cyc},
        {"#split_load_cyc", m->split_load_cyc},
        {"#system_tsc_freq", m->freq_ghz * 1e9},
        {"#smt_on", 0},
        {"#core_wide", 0},
        {"#ebs_mode", 0},
        {"#num_cpus", 1},
        {"#num_cpus_online", 1},
        {"#num_cores", 1},
        {"#num_dies", 1},
        {"#num_packages", 1},
    };

    for (size_t i = 0; i < sizeof literal / sizeof literal[0]; i++) {
        if (strcasecmp(name, literal[i].name) == 0) {
            *value = literal[i].value;
            return true;
        }
    }
    return false;
}

/* The core runs all the time, alone, at its nominal frequency; the crystal clock has 100 MHz. */
bool pmu__constant(const struct pmu *pmu, const char *name, double *value)
{
    const double cycles = (double)pmu->sum[PMU_CYCLES];
    const double seconds = pmu->machine.freq_ghz > 0 ? cycles / (pmu->machine.freq_ghz * 1e9) : 0;

    if (*name == '#')
        return pmu__literal(pmu, name, value);
    if (strcasecmp(name, "duration_time") == 0)
        *value = seconds;
    else if (strcasecmp(name, "CPU_CLK_UNHALTED.REF_XCLK") == 0 ||
             strcasecmp(name, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE") == 0 ||
             strcasecmp(name, "CPU_CLK_THREAD_UNHALTED.REF_XCLK") == 0 ||
             strcasecmp(name, "CPU_CLK_THREAD_UNHALTED.ONE_THREAD_ACTIVE") == 0)
        *value = seconds * 100e6;
    else
        return false;
    return true;
}

/* --- names with terms ------------------------------------------------------------------------- */

static bool pmu__number(const struct pmu *pmu, const char *text, unsigned *number)
{
    char *end;
    unsigned long n;
    double literal;

    if (*text == '#') {
        if (!pmu__literal(pmu, text, &literal) || !(literal >= 0 && literal < PMU_HISTOGRAM))
            return false;
        *number = (unsigned)literal;
        return true;
    }
    if (!isdigit((unsigned char)*text))
        return false;
    n = strtoul(text, &end, 0);
    if (*end != '\0' || n >= PMU_HISTOGRAM)
        return false;
    *number = (unsigned)n;
    return true;
}

/* One "key=value" of "cpu@E,cmask=4,inv,edge@". */
static bool pmu__term(const struct pmu *pmu, char *term, struct pmu_asked *asked)
{
    char *equals = strchr(term, '=');
    unsigned number = 1;

    if (equals) {
        *equals = '\0';
        if (!pmu__number(pmu, equals + 1, &number))
            return false;
    }
    if (strcmp(term, "cmask") == 0) {
        if (!equals)
            return false;
        asked->cmask = number;
        return true;
    }
    if (strcmp(term, "inv") == 0) {
        asked->invert = number != 0;
        return true;
    }
    if (strcmp(term, "edge") == 0) {
        asked->edge = number != 0;
        return true;
    }
    return strcmp(term, "any") == 0 && number == 0;
}

/* One ":" modifier: a mask, or privilege levels. A simulated program has user mode only. */
static bool pmu__modifier(const struct pmu *pmu, const char *modifier, struct pmu_asked *asked)
{
    unsigned number;

    if (modifier[0] == 'c' && pmu__number(pmu, modifier + 1, &number)) {
        asked->cmask = number;
        return true;
    }
    if (modifier[0] == 'i' && (modifier[1] == '\0' || strcmp(modifier, "i1") == 0)) {
        asked->invert = true;
        return true;
    }
    if (modifier[0] == 'e' && (modifier[1] == '\0' || strcmp(modifier, "e1") == 0)) {
        asked->edge = true;
        return true;
    }
    return strchr(modifier, 'u') != NULL && modifier[strspn(modifier, "ukhHGpPSD")] == '\0';
}

/* "E[>=4]" and "E[<4]", the paper's own notation (TD-9). `mask` points at the '['. */
static bool pmu__bracket(const struct pmu *pmu, char *mask, struct pmu_asked *asked)
{
    size_t length = strlen(mask);
    bool invert = mask[1] == '<';

    if (length < 4 || mask[length - 1] != ']' || (!invert && strncmp(mask, "[>=", 3) != 0))
        return false;
    mask[length - 1] = '\0';
    asked->invert = invert;
    return pmu__number(pmu, mask + (invert ? 2 : 3), &asked->cmask);
}

/* An alias' own mask joined with the asked one: false if the two cannot be combined. */
static bool pmu__join(const struct pmu *pmu, const struct pmu_alias *alias, const struct pmu_asked *asked,
                      struct pmu_query *q)
{
    q->event = alias->event;
    if (alias->mask == PMU_MASK_NONE)
        return true;
    if (asked->cmask > 1 || asked->invert)
        return false;
    q->cmask = alias->n >= PMU_WIDTH_LESS ? (uint8_t)(pmu->width - (alias->n - PMU_WIDTH_LESS)) : alias->n;
    q->mask = alias->mask;
    q->edge |= alias->edge;
    return true;
}

/* Finds the bare name and applies the terms. */
static bool pmu__resolve(const struct pmu *pmu, const char *name, const struct pmu_asked *asked,
                         struct pmu_query *q)
{
    const struct pmu_alias *alias;
    int event;

    *q = (struct pmu_query){.cmask = (uint8_t)asked->cmask, .edge = asked->edge};
    /* On hardware, inversion without a mask has no effect; asking for it is a mistake. */
    if (asked->invert && asked->cmask == 0)
        return false;
    if (asked->cmask > 0)
        q->mask = asked->invert ? PMU_MASK_BELOW : PMU_MASK_AT_LEAST;
    event = pmu__event_by_name(name);
    if (event >= 0) {
        q->event = (uint8_t)event;
    } else {
        alias = pmu_alias__find(name);
        if (!alias || !pmu__join(pmu, alias, asked, q))
            return false;
    }
    if (q->edge && q->mask == PMU_MASK_NONE) { /* edges of "anything happens" */
        q->mask = PMU_MASK_AT_LEAST;
        q->cmask = 1;
    }
    return true;
}

/* Splits `text` (changed) into name, terms and modifiers. */
static bool pmu__parse(const struct pmu *pmu, char *text, struct pmu_query *q)
{
    char *name = text, *rest, *terms = NULL, *save = NULL;
    size_t open = strcspn(text, "@/");
    struct pmu_asked asked = {0};

    if (text[open] != '\0') {
        const char delimiter[2] = {text[open], '\0'};

        name = text + open + 1;
        rest = strpbrk(name, delimiter);
        if (!rest)
            return false;
        *rest++ = '\0';
        terms = strchr(name, ',');
        if (terms)
            *terms++ = '\0';
    } else {
        rest = strpbrk(text, ":[");
        if (rest && *rest == '[') {
            if (!pmu__bracket(pmu, rest, &asked))
                return false;
            *rest = '\0';
            rest = NULL;
        }
    }
    for (char *t = terms ? strtok_r(terms, ",", &save) : NULL; t; t = strtok_r(NULL, ",", &save))
        if (!pmu__term(pmu, t, &asked))
            return false;
    if (rest && *rest != '\0' && *rest != ':')
        return pmu__modifier(pmu, rest, &asked) && pmu__resolve(pmu, name, &asked, q); /* cpu@E@u */
    if (rest && *rest == ':') {
        *rest++ = '\0';
        for (char *m = strtok_r(rest, ":", &save); m; m = strtok_r(NULL, ":", &save))
            if (!pmu__modifier(pmu, m, &asked))
                return false;
    }
    return pmu__resolve(pmu, name, &asked, q);
}

bool pmu__find(const struct pmu *pmu, const char *name, struct pmu_query *query)
{
    char text[256];
    size_t n = 0;

    for (; *name; name++) {
        if (*name == '\\')
            continue;
        if (n + 1 == sizeof text)
            return false;
        text[n++] = *name;
    }
    text[n] = '\0';
    return pmu__parse(pmu, text, query);
}

/* --- values ----------------------------------------------------------------------------------- */

static const struct pmu_edge *pmu__edge(const struct pmu *pmu, const struct pmu_query *q)
{
    for (size_t i = 0; i < pmu->n_edges; i++) {
        const struct pmu_query *e = &pmu->edge[i].query;

        if (e->event == q->event && e->cmask == q->cmask && e->mask == q->mask)
            return &pmu->edge[i];
    }
    return NULL;
}

bool pmu__prepare(struct pmu *pmu, const char *name)
{
    struct pmu_query q;
    struct pmu_edge *grown;

    if (!pmu__find(pmu, name, &q) || !q.edge || pmu__edge(pmu, &q))
        return true;
    grown = realloc(pmu->edge, (pmu->n_edges + 1) * sizeof *grown);
    if (!grown)
        return false;
    pmu->edge = grown;
    pmu->edge[pmu->n_edges++] = (struct pmu_edge){.query = q};
    return true;
}

bool pmu__prepare_like(struct pmu *pmu, const struct pmu *other)
{
    if (!other->n_edges)
        return true;
    assert(!pmu->n_edges);
    pmu->edge = calloc(other->n_edges, sizeof *pmu->edge);
    if (!pmu->edge)
        return false;
    for (; pmu->n_edges < other->n_edges; pmu->n_edges++)
        pmu->edge[pmu->n_edges].query = other->edge[pmu->n_edges].query;
    return true;
}

bool pmu__value(const struct pmu *pmu, const struct pmu_query *q, uint64_t *value)
{
    const enum pmu_event event = (enum pmu_event)q->event;

    if (q->edge) {
        const struct pmu_edge *edge = pmu__edge(pmu, q);

        *value = edge ? edge->count : 0;
        return edge != NULL;
    }
    if (q->mask == PMU_MASK_EQUAL) /* the last bin has everything beyond it too */
        *value = pmu__read(pmu, event, q->cmask, false) -
                 (q->cmask + 1 < PMU_HISTOGRAM ? pmu__read(pmu, event, q->cmask + 1U, false) : 0);
    else
        *value = pmu__read(pmu, event, q->cmask, q->mask == PMU_MASK_BELOW);
    return true;
}

bool pmu__lookup(void *arg, const char *name, double *value)
{
    const struct pmu *pmu = arg;
    struct pmu_query q;
    uint64_t count;

    if (pmu__constant(pmu, name, value))
        return true;
    if (!pmu__find(pmu, name, &q) || !pmu__value(pmu, &q, &count))
        return false;
    *value = (double)count;
    return true;
}
