/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the simulated PMU's events, and what metric expressions may ask it for. */
#include "fathom/account.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
};

/* How a count is read: E, E[>=n], E[<n] or E[=n] (TD-9). */
enum pmu_mask { MASK_NONE, MASK_AT_LEAST, MASK_BELOW, MASK_EQUAL };
enum { WIDTH_LESS = 0x80 }; /* WIDTH_LESS + n: issue width - n */

/* Intel's names for the same signals (PIPELINE.md 13.3). A mask here is part of the event: the name
 * then takes no further one, except cmask 1, which changes nothing where a cycle counts 0 or 1. */
struct pmu_alias {
    const char *name;
    uint8_t event, n, mask;
};
static const struct pmu_alias pmu__aliases[] = {
    {"cycles", PMU_CYCLES, 0, MASK_NONE},
    {"cpu-cycles", PMU_CYCLES, 0, MASK_NONE},
    {"instructions", PMU_INSTRUCTIONS, 0, MASK_NONE},
    {"CPU_CLK_UNHALTED.THREAD", PMU_CYCLES, 0, MASK_NONE},
    {"INST_RETIRED.ANY", PMU_INSTRUCTIONS, 0, MASK_NONE},
    {"INST_RETIRED.ANY_P", PMU_INSTRUCTIONS, 0, MASK_NONE},
    {"TOPDOWN.SLOTS", PMU_TOTAL_SLOTS, 0, MASK_NONE},
    {"UOPS_ISSUED.ANY", PMU_SLOTS_ISSUED, 0, MASK_NONE},
    {"UOPS_RETIRED.RETIRE_SLOTS", PMU_SLOTS_RETIRED, 0, MASK_NONE},
    {"UOPS_RETIRED.SLOTS", PMU_SLOTS_RETIRED, 0, MASK_NONE},
    {"UOPS_RETIRED.ALL", PMU_UOPS_RETIRED, 0, MASK_NONE},
    {"IDQ_UOPS_NOT_DELIVERED.CORE", PMU_FETCH_BUBBLES, 0, MASK_NONE},
    {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", PMU_FETCH_BUBBLES, WIDTH_LESS, MASK_AT_LEAST},
    {"IDQ_UOPS_NOT_DELIVERED.CYCLES_LE_1_UOP_DELIV.CORE", PMU_FETCH_BUBBLES, WIDTH_LESS + 1, MASK_AT_LEAST},
    {"IDQ_UOPS_NOT_DELIVERED.CYCLES_LE_2_UOP_DELIV.CORE", PMU_FETCH_BUBBLES, WIDTH_LESS + 2, MASK_AT_LEAST},
    {"IDQ_UOPS_NOT_DELIVERED.CYCLES_LE_3_UOP_DELIV.CORE", PMU_FETCH_BUBBLES, WIDTH_LESS + 3, MASK_AT_LEAST},
    {"IDQ_UOPS_NOT_DELIVERED.CYCLES_FE_WAS_OK", PMU_FETCH_BUBBLES, 1, MASK_BELOW},
    {"INT_MISC.RECOVERY_CYCLES", PMU_RECOVERY_BUBBLES, 1, MASK_AT_LEAST},
    {"BR_INST_RETIRED.ALL_BRANCHES", PMU_BR_RETIRED, 0, MASK_NONE},
    {"BR_MISP_RETIRED.ALL_BRANCHES", PMU_BR_MISPRED_RETIRED, 0, MASK_NONE},
    {"MACHINE_CLEARS.COUNT", PMU_MACHINE_CLEARS, 0, MASK_NONE},
    {"MACHINE_CLEARS.MEMORY_ORDERING", PMU_CLEARS_MEMORY_ORDERING, 0, MASK_NONE},
    {"MACHINE_CLEARS.SMC", PMU_CLEARS_SMC, 0, MASK_NONE},
    {"IDQ.MITE_UOPS", PMU_IDQ_MITE_UOPS, 0, MASK_NONE},
    {"IDQ.DSB_UOPS", PMU_IDQ_DSB_UOPS, 0, MASK_NONE},
    {"IDQ.MS_UOPS", PMU_IDQ_MS_UOPS, 0, MASK_NONE},
    {"LSD.UOPS", PMU_IDQ_LSD_UOPS, 0, MASK_NONE},
    {"IDQ.MS_SWITCHES", PMU_MS_SWITCHES, 0, MASK_NONE},
    {"IDQ.ALL_DSB_CYCLES_ANY_UOPS", PMU_IDQ_DSB_UOPS, 1, MASK_AT_LEAST},
    {"IDQ.ALL_DSB_CYCLES_4_UOPS", PMU_IDQ_DSB_UOPS, 4, MASK_AT_LEAST},
    {"ILD_STALL.LCP", PMU_LCP_STALLS, 0, MASK_NONE},
    {"ICACHE.IFETCH_STALL", PMU_ICACHE_STALLS, 0, MASK_NONE},
    {"ICACHE.IFDATA_STALL", PMU_ICACHE_STALLS, 0, MASK_NONE},
    {"ICACHE_16B.IFDATA_STALL", PMU_ICACHE_STALLS, 0, MASK_NONE},
    {"ICACHE_TAG.STALLS", PMU_ITLB_STALLS, 0, MASK_NONE},
    {"ICACHE_64B.IFTAG_STALL", PMU_ITLB_STALLS, 0, MASK_NONE},
    {"BACLEARS.ANY", PMU_BACLEARS, 0, MASK_NONE},
    {"UOPS_EXECUTED.THREAD", PMU_OPS_EXECUTED, 0, MASK_NONE},
    {"UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC", PMU_OPS_EXECUTED, 1, MASK_AT_LEAST},
    {"UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC", PMU_OPS_EXECUTED, 2, MASK_AT_LEAST},
    {"UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC", PMU_OPS_EXECUTED, 3, MASK_AT_LEAST},
    {"UOPS_EXECUTED.CYCLES_GE_4_UOPS_EXEC", PMU_OPS_EXECUTED, 4, MASK_AT_LEAST},
    {"CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", PMU_OPS_EXECUTED, 1, MASK_BELOW},
    {"CYCLE_ACTIVITY.STALLS_TOTAL", PMU_OPS_EXECUTED, 1, MASK_BELOW},
    {"CYCLE_ACTIVITY.STALLS_LDM_PENDING", PMU_MEM_STALLS_ANY_LOAD, 0, MASK_NONE},
    {"CYCLE_ACTIVITY.STALLS_MEM_ANY", PMU_MEM_STALLS_ANY_LOAD, 0, MASK_NONE},
    {"CYCLE_ACTIVITY.STALLS_L1D_PENDING", PMU_MEM_STALLS_L1_MISS, 0, MASK_NONE},
    {"CYCLE_ACTIVITY.STALLS_L1D_MISS", PMU_MEM_STALLS_L1_MISS, 0, MASK_NONE},
    {"CYCLE_ACTIVITY.STALLS_L2_PENDING", PMU_MEM_STALLS_L2_MISS, 0, MASK_NONE},
    {"CYCLE_ACTIVITY.STALLS_L2_MISS", PMU_MEM_STALLS_L2_MISS, 0, MASK_NONE},
    {"CYCLE_ACTIVITY.STALLS_L3_MISS", PMU_MEM_STALLS_L3_MISS, 0, MASK_NONE},
    {"EXE_ACTIVITY.1_PORTS_UTIL", PMU_OPS_EXECUTED, 1, MASK_EQUAL},
    {"EXE_ACTIVITY.2_PORTS_UTIL", PMU_OPS_EXECUTED, 2, MASK_EQUAL},
    {"EXE_ACTIVITY.BOUND_ON_STORES", PMU_MEM_STALLS_STORES, 0, MASK_NONE},
    {"RESOURCE_STALLS.ROB", PMU_STALLS_ROB, 0, MASK_NONE},
    {"RESOURCE_STALLS.RS", PMU_STALLS_RS, 0, MASK_NONE},
    {"RESOURCE_STALLS.SB", PMU_STALLS_SB, 0, MASK_NONE},
    {"RS_EVENTS.EMPTY_CYCLES", PMU_RS_EMPTY, 0, MASK_NONE},
    {"ARITH.FPU_DIV_ACTIVE", PMU_DIVIDER_ACTIVE, 0, MASK_NONE},
    {"ARITH.DIVIDER_ACTIVE", PMU_DIVIDER_ACTIVE, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.L1_HIT", PMU_LOADS_L1, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.HIT_LFB", PMU_LOADS_LFB, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.L2_HIT", PMU_LOADS_L2, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.LLC_HIT", PMU_LOADS_L3, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.L3_HIT", PMU_LOADS_L3, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.LLC_MISS", PMU_LOADS_DRAM, 0, MASK_NONE},
    {"MEM_LOAD_UOPS_RETIRED.L3_MISS", PMU_LOADS_DRAM, 0, MASK_NONE},
    {"MEM_LOAD_RETIRED.L1_HIT", PMU_LOADS_L1, 0, MASK_NONE},
    {"MEM_LOAD_RETIRED.FB_HIT", PMU_LOADS_LFB, 0, MASK_NONE},
    {"MEM_LOAD_RETIRED.L2_HIT", PMU_LOADS_L2, 0, MASK_NONE},
    {"MEM_LOAD_RETIRED.L3_HIT", PMU_LOADS_L3, 0, MASK_NONE},
    {"MEM_LOAD_RETIRED.L3_MISS", PMU_LOADS_DRAM, 0, MASK_NONE},
};

/* One event with its masks, as asked for. */
struct pmu_query {
    int event;
    unsigned cmask;
    bool invert;
    enum pmu_mask mask; /* how to read it, from the two above or from an alias */
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

/* The machine's constants, by their names in metric expressions. */
static bool pmu__literal(const struct pmu *pmu, const char *name, double *value)
{
    const struct {
        const char *name;
        double value;
    } literal[] = {
        {"#issue_width", pmu->width},
        {"#slots", pmu->width},
        {"#Pipeline_Width", pmu->width},
        {"#ext_mem_threshold", pmu->ext_mem_threshold},
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

static bool pmu__number(const struct pmu *pmu, const char *text, unsigned *number)
{
    char *end;
    unsigned long n;
    double literal;

    if (*text == '#') {
        if (!pmu__literal(pmu, text, &literal))
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

/* One "key=value" of "cpu@E,cmask=4,inv@". */
static bool pmu__term(const struct pmu *pmu, char *term, struct pmu_query *q)
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
        q->cmask = number;
        return true;
    }
    if (strcmp(term, "inv") == 0) {
        q->invert = number != 0;
        return true;
    }
    return (strcmp(term, "edge") == 0 || strcmp(term, "any") == 0) && number == 0;
}

/* One ":" modifier: a mask, or privilege levels. A simulated program has user mode only. */
static bool pmu__modifier(const struct pmu *pmu, const char *modifier, struct pmu_query *q)
{
    unsigned number;

    if (modifier[0] == 'c' && pmu__number(pmu, modifier + 1, &number)) {
        q->cmask = number;
        return true;
    }
    if (modifier[0] == 'i' && (modifier[1] == '\0' || strcmp(modifier, "i1") == 0)) {
        q->invert = true;
        return true;
    }
    return strchr(modifier, 'u') != NULL && modifier[strspn(modifier, "ukhHGpPSD")] == '\0';
}

/* "E[>=4]" and "E[<4]", the paper's own notation (TD-9). `mask` points at the '['. */
static bool pmu__bracket(const struct pmu *pmu, char *mask, struct pmu_query *q)
{
    size_t length = strlen(mask);
    bool invert = mask[1] == '<';

    if (length < 4 || mask[length - 1] != ']' || (!invert && strncmp(mask, "[>=", 3) != 0))
        return false;
    mask[length - 1] = '\0';
    q->invert = invert;
    return pmu__number(pmu, mask + (invert ? 2 : 3), &q->cmask);
}

/* Finds the bare name and joins its own mask, if it is an alias with one, with the asked one. */
static bool pmu__resolve(const struct pmu *pmu, const char *name, struct pmu_query *q)
{
    /* On hardware, inversion without a mask has no effect; asking for it is a mistake. */
    if (q->invert && q->cmask == 0)
        return false;
    if (q->cmask > 0)
        q->mask = q->invert ? MASK_BELOW : MASK_AT_LEAST;
    q->event = pmu__event_by_name(name);
    if (q->event >= 0)
        return true;
    for (size_t i = 0; i < sizeof pmu__aliases / sizeof pmu__aliases[0]; i++) {
        const struct pmu_alias *alias = &pmu__aliases[i];

        if (strcasecmp(name, alias->name) != 0)
            continue;
        q->event = alias->event;
        if (alias->mask == MASK_NONE)
            return true;
        if (q->cmask > 1 || q->invert)
            return false;
        q->cmask = alias->n >= WIDTH_LESS ? pmu->width - (alias->n - WIDTH_LESS) : alias->n;
        q->mask = alias->mask;
        return true;
    }
    return false;
}

/* Splits `text` (changed) into name, terms and modifiers. */
static bool pmu__parse(const struct pmu *pmu, char *text, struct pmu_query *q)
{
    char *name = text, *rest, *terms = NULL, *save = NULL;
    size_t open = strcspn(text, "@/");

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
            if (!pmu__bracket(pmu, rest, q))
                return false;
            *rest = '\0';
            rest = NULL;
        }
    }
    for (char *t = terms ? strtok_r(terms, ",", &save) : NULL; t; t = strtok_r(NULL, ",", &save))
        if (!pmu__term(pmu, t, q))
            return false;
    if (rest && *rest != '\0' && *rest != ':')
        return pmu__modifier(pmu, rest, q) && pmu__resolve(pmu, name, q); /* cpu@E@u */
    if (rest && *rest == ':') {
        *rest++ = '\0';
        for (char *m = strtok_r(rest, ":", &save); m; m = strtok_r(NULL, ":", &save))
            if (!pmu__modifier(pmu, m, q))
                return false;
    }
    return pmu__resolve(pmu, name, q);
}

bool pmu__lookup(void *arg, const char *name, double *value)
{
    const struct pmu *pmu = arg;
    struct pmu_query q = {.event = -1};
    char text[256];
    size_t n = 0;

    if (*name == '#')
        return pmu__literal(pmu, name, value);
    for (; *name; name++) {
        if (*name == '\\')
            continue;
        if (n + 1 == sizeof text)
            return false;
        text[n++] = *name;
    }
    text[n] = '\0';
    if (!pmu__parse(pmu, text, &q))
        return false;
    if (q.mask == MASK_EQUAL)
        *value = (double)pmu->cycles_with[q.event][q.cmask];
    else
        *value = (double)pmu__read(pmu, (enum pmu_event)q.event, q.cmask, q.mask == MASK_BELOW);
    return true;
}
