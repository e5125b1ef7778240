/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/ideal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "cores/params.h"
#include "fathom/profile.h"
#include "fathom/status.h"

enum { CLAIM_NODES = 4, WINDOW_FACTOR = 8 };

/* DRAM as near as the model allows: the next whole cycle after the L3. */
#define NEXT_CYCLE 1.25
#define NO_BANDWIDTH_LIMIT_GBS 10000

static const struct {
    const char *name;
    const char *claim;             /* for readers */
    const char *node[CLAIM_NODES]; /* paths in the exact tree whose slots it is about */
} table[] = {
    [IDEAL_L1] = {"l1",
                  "Memory Bound beyond L1",
                  {"Backend Bound/Memory Bound/L2 Bound", "Backend Bound/Memory Bound/L3 Bound",
                   "Backend Bound/Memory Bound/Ext. Memory Bound",
                   "Backend Bound/Memory Bound/Stores Bound"}},
    [IDEAL_L2] = {"l2",
                  "L3 Bound, Ext. Memory Bound",
                  {"Backend Bound/Memory Bound/L3 Bound", "Backend Bound/Memory Bound/Ext. Memory Bound"}},
    [IDEAL_L3] = {"l3", "Ext. Memory Bound", {"Backend Bound/Memory Bound/Ext. Memory Bound"}},
    [IDEAL_MEMORY] = {"memory", "Memory Bound", {"Backend Bound/Memory Bound"}},
    [IDEAL_TLB] = {"tlb",
                   "ITLB Misses, DTLB Loads, DTLB Stores",
                   {"Frontend Bound/Fetch Latency/ITLB Misses",
                    "Backend Bound/Memory Bound/L1 Bound/DTLB Loads",
                    "Backend Bound/Memory Bound/Stores Bound/DTLB Stores"}},
    [IDEAL_BRANCH] = {"branch",
                      "Branch Mispredicts, Branch Resteers",
                      {"Bad Speculation/Branch Mispredicts", "Frontend Bound/Fetch Latency/Branch Resteers"}},
    [IDEAL_ICACHE] = {"icache", "ICache Misses", {"Frontend Bound/Fetch Latency/ICache Misses"}},
    [IDEAL_FRONTEND] = {"frontend", "Frontend Bound", {"Frontend Bound"}},
    [IDEAL_PORTS] = {"ports", "Ports", {"Backend Bound/Core Bound/Ports"}},
    [IDEAL_WINDOW] = {"window", NULL, {NULL}}, /* it bounds nothing by itself: it hides the others */
};
_Static_assert(sizeof table / sizeof table[0] == IDEAL_KINDS, "one row a kind");

const char *ideal__name(enum ideal kind)
{
    assert(kind < IDEAL_KINDS);
    return table[kind].name;
}

/* --- the option ------------------------------------------------------------------------------- */

static int unknown(const char *word, int n, struct status *st)
{
    char names[128] = "";

    for (size_t k = 0; k < IDEAL_KINDS; k++) {
        strcat(names, k ? ", " : "");
        strcat(names, table[k].name);
    }
    return status__fail_with(st, EXIT_CODE_USAGE, "--ideal knows no '%.*s'; choose any of %s", n, word,
                             names);
}

static int add(struct ideal_list *list, const char *word, size_t n, struct status *st)
{
    size_t kind = 0;

    while (kind < IDEAL_KINDS && (strlen(table[kind].name) != n || memcmp(table[kind].name, word, n) != 0))
        kind++;
    if (kind == IDEAL_KINDS)
        return unknown(word, n < 40 ? (int)n : 40, st);
    for (size_t i = 0; i < list->n; i++)
        if (list->kind[i] == kind)
            return status__fail_with(st, EXIT_CODE_USAGE, "--ideal has '%s' twice; give it once",
                                     table[kind].name);
    list->kind[list->n++] = (uint8_t)kind;
    return 0;
}

int ideal__parse(struct ideal_list *list, const char *text, struct status *st)
{
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        if (add(list, at, n, st))
            return -1;
        at += n;
        if (!*at)
            return 0;
    }
}

/* --- the machine ------------------------------------------------------------------------------ */

/* Beyond the L2 every line is one cycle further than in it, and nothing queues. */
static void perfect_l2(struct core *core)
{
    core->l3.lat_cyc = core->l2.lat_cyc + 1;
    core->l3_l2_bytes_cyc = (uint32_t)params__find("l3_l2_bytes_cyc")->max;
    core->sq_entries = (uint32_t)params__find("sq_entries")->max;
}

static void perfect_l3(struct core *core)
{
    core->dram_lat_ns = (core->l3.lat_cyc + NEXT_CYCLE) / core->freq_ghz;
    core->dram_bandwidth_gbs = NO_BANDWIDTH_LIMIT_GBS;
    core->mem_queue_entries = (uint32_t)params__find("mem_queue_entries")->max;
}

static void widen(uint32_t *value, const char *key)
{
    uint32_t max = (uint32_t)params__find(key)->max;
    *value = *value < max / WINDOW_FACTOR ? *value * WINDOW_FACTOR : max;
}

static void large_window(struct core *core)
{
    widen(&core->rob_entries, "rob_entries");
    widen(&core->rs_entries, "rs_entries");
    widen(&core->load_buffer, "load_buffer");
    widen(&core->store_buffer, "store_buffer");
    widen(&core->prf_int, "prf_int");
    widen(&core->prf_vec, "prf_vec");
}

int ideal__machine(struct ideal_machine *m, const struct core *core, uint32_t set, struct status *st)
{
    *m = (struct ideal_machine){
        .core = *core,
        .memory = {.no_tlb = set >> IDEAL_TLB & 1,
                   .no_dtlb = set >> IDEAL_MEMORY & 1,
                   .no_data_miss = (set >> IDEAL_MEMORY | set >> IDEAL_L1) & 1,
                   .no_icache_miss = set >> IDEAL_ICACHE & 1},
        .perfect_branches = set >> IDEAL_BRANCH & 1,
        .perfect_frontend = set >> IDEAL_FRONTEND & 1,
    };
    if (set >> IDEAL_L2 & 1)
        perfect_l2(&m->core);
    if ((set >> IDEAL_L3 | set >> IDEAL_L2) & 1)
        perfect_l3(&m->core);
    if (set >> IDEAL_WINDOW & 1)
        large_window(&m->core);
    if (!(set >> IDEAL_PORTS & 1))
        return 0;
    m->doubled_ports = core->ports;
    m->core.ports = 2 * core->ports;
    if (m->core.ports > params__find("ports")->max)
        return status__fail_with(st, EXIT_CODE_USAGE,
                                 "--ideal ports: core %s has %u ports and %.0f are the most that can be "
                                 "modelled; leave 'ports' out",
                                 core->name, core->ports, params__find("ports")->max);
    return 0;
}

/* --- the tree --------------------------------------------------------------------------------- */

const char *ideal__claim(enum ideal kind, const struct profile_tree *tree, double *percent)
{
    size_t found = 0;

    assert(kind < IDEAL_KINDS);
    *percent = 0;
    for (size_t k = 0; k < CLAIM_NODES && table[kind].node[k]; k++)
        for (size_t i = 0; i < tree->n_nodes; i++)
            if (tree->node[i].path && strcmp(tree->node[i].path, table[kind].node[k]) == 0) {
                *percent += tree->node[i].value;
                found++;
            }
    if (!found)
        *percent = (double)NAN;
    return table[kind].claim;
}
