/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact tree. Slots are put into leaves; every inner node is the sum of its children, in whole
 * slots, and the top level is asserted to be all slots (TD-7).
 */
#include "fathom/tree.h"

#include <assert.h>
#include <math.h>

#include "fathom/account.h"
#include "fathom/core.h"
#include "fathom/profile.h"
#include "fathom/status.h"
#include "tree/build.h"

/* Depth first: a node's parent is the last one before it with a level less by one. */
enum slot_node {
    NODE_FRONTEND,
    NODE_FETCH_LATENCY,
    NODE_ICACHE,
    NODE_ITLB,
    NODE_RESTEERS,
    NODE_RESTEERS_MISPREDICT,
    NODE_RESTEERS_CLEAR,
    NODE_RESTEERS_UNKNOWN,
    NODE_DSB_SWITCHES,
    NODE_LCP,
    NODE_MS_SWITCHES,
    NODE_LATENCY_OTHER,
    NODE_FETCH_BANDWIDTH,
    NODE_MITE,
    NODE_DSB,
    NODE_LSD,
    NODE_MS,
    NODE_BANDWIDTH_OTHER,
    NODE_BAD_SPECULATION,
    NODE_MISPREDICTS,
    NODE_CONDITIONAL,
    NODE_INDIRECT,
    NODE_RETURN,
    NODE_CLEARS,
    NODE_MEMORY_ORDERING,
    NODE_SELF_MODIFYING,
    NODE_CLEARS_OTHER,
    NODE_IN_FLIGHT,
    NODE_RETIRING,
    NODE_BASE,
    NODE_FP,
    NODE_X87,
    NODE_FP_SCALAR,
    NODE_FP_128,
    NODE_FP_256,
    NODE_VECTOR,
    NODE_VECTOR_128,
    NODE_VECTOR_256,
    NODE_MEMORY_OPERATIONS,
    NODE_FUSED,
    NODE_BRANCHES,
    NODE_NOP,
    NODE_WORK_OTHER,
    NODE_MICRO_SEQUENCER,
    NODE_BACKEND,
    NODE_MEMORY,
    NODE_L1,
    NODE_L1_DTLB,
    NODE_L1_FORWARD,
    NODE_L1_SPLIT,
    NODE_L1_ALIAS,
    NODE_L1_LOCK,
    NODE_L1_FB_FULL,
    NODE_L1_LATENCY,
    NODE_L2,
    NODE_L3,
    NODE_DRAM,
    NODE_DRAM_BANDWIDTH,
    NODE_DRAM_LATENCY,
    NODE_STORES,
    NODE_STORE_LATENCY,
    NODE_STORE_SPLIT,
    NODE_STORE_DTLB,
    NODE_CORE,
    NODE_DIVIDER,
    NODE_SERIAL,
    NODE_PORTS,
    NODE_PORTS_0,
    NODE_PORTS_1,
    NODE_PORTS_2,
    NODE_PORTS_3,
    NODE_DEPENDENCY,
    NODES
};

static const struct {
    int level;
    const char *name;
} slot_node__table[NODES] = {
    [NODE_FRONTEND] = {1, "Frontend Bound"},
    [NODE_FETCH_LATENCY] = {2, "Fetch Latency"},
    [NODE_ICACHE] = {3, "ICache Misses"},
    [NODE_ITLB] = {3, "ITLB Misses"},
    [NODE_RESTEERS] = {3, "Branch Resteers"},
    [NODE_RESTEERS_MISPREDICT] = {4, "Mispredicts Resteers"},
    [NODE_RESTEERS_CLEAR] = {4, "Clears Resteers"},
    [NODE_RESTEERS_UNKNOWN] = {4, "Unknown Branches"},
    [NODE_DSB_SWITCHES] = {3, "DSB Switches"},
    [NODE_LCP] = {3, "LCP"},
    [NODE_MS_SWITCHES] = {3, "MS Switches"},
    [NODE_LATENCY_OTHER] = {3, "Other Latency"},
    [NODE_FETCH_BANDWIDTH] = {2, "Fetch Bandwidth"},
    [NODE_MITE] = {3, "MITE"},
    [NODE_DSB] = {3, "DSB"},
    [NODE_LSD] = {3, "LSD"},
    [NODE_MS] = {3, "MS"},
    [NODE_BANDWIDTH_OTHER] = {3, "Other Bandwidth"},
    [NODE_BAD_SPECULATION] = {1, "Bad Speculation"},
    [NODE_MISPREDICTS] = {2, "Branch Mispredicts"},
    [NODE_CONDITIONAL] = {3, "Conditional"},
    [NODE_INDIRECT] = {3, "Indirect"},
    [NODE_RETURN] = {3, "Return"},
    [NODE_CLEARS] = {2, "Machine Clears"},
    [NODE_MEMORY_ORDERING] = {3, "Memory Ordering"},
    [NODE_SELF_MODIFYING] = {3, "Self-Modifying Code"},
    [NODE_CLEARS_OTHER] = {3, "Other Clears"},
    [NODE_IN_FLIGHT] = {2, "In Flight"},
    [NODE_RETIRING] = {1, "Retiring"},
    [NODE_BASE] = {2, "Base"},
    [NODE_FP] = {3, "Floating Point"},
    [NODE_X87] = {4, "X87"},
    [NODE_FP_SCALAR] = {4, "FP Scalar"},
    [NODE_FP_128] = {4, "FP Vector 128-bit"},
    [NODE_FP_256] = {4, "FP Vector 256-bit"},
    [NODE_VECTOR] = {3, "Integer Vector"},
    [NODE_VECTOR_128] = {4, "Integer Vector 128-bit"},
    [NODE_VECTOR_256] = {4, "Integer Vector 256-bit"},
    [NODE_MEMORY_OPERATIONS] = {3, "Memory Operations"},
    [NODE_FUSED] = {3, "Fused Instructions"},
    [NODE_BRANCHES] = {3, "Non-Fused Branches"},
    [NODE_NOP] = {3, "NOP Instructions"},
    [NODE_WORK_OTHER] = {3, "Other Operations"},
    [NODE_MICRO_SEQUENCER] = {2, "Micro Sequencer"},
    [NODE_BACKEND] = {1, "Backend Bound"},
    [NODE_MEMORY] = {2, "Memory Bound"},
    [NODE_L1] = {3, "L1 Bound"},
    [NODE_L1_DTLB] = {4, "DTLB Loads"},
    [NODE_L1_FORWARD] = {4, "Store Forward Blocked"},
    [NODE_L1_SPLIT] = {4, "Split Loads"},
    [NODE_L1_ALIAS] = {4, "4K Aliasing"},
    [NODE_L1_LOCK] = {4, "Lock Latency"},
    [NODE_L1_FB_FULL] = {4, "Fill Buffer Full"},
    [NODE_L1_LATENCY] = {4, "L1 Latency"},
    [NODE_L2] = {3, "L2 Bound"},
    [NODE_L3] = {3, "L3 Bound"},
    [NODE_DRAM] = {3, "Ext. Memory Bound"},
    [NODE_DRAM_BANDWIDTH] = {4, "MEM Bandwidth"},
    [NODE_DRAM_LATENCY] = {4, "MEM Latency"},
    [NODE_STORES] = {3, "Stores Bound"},
    [NODE_STORE_LATENCY] = {4, "Store Latency"},
    [NODE_STORE_SPLIT] = {4, "Split Stores"},
    [NODE_STORE_DTLB] = {4, "DTLB Stores"},
    [NODE_CORE] = {2, "Core Bound"},
    [NODE_DIVIDER] = {3, "Divider"},
    [NODE_SERIAL] = {3, "Serializing"},
    [NODE_PORTS] = {3, "Ports"},
    [NODE_PORTS_0] = {4, "0 Ports Executing"},
    [NODE_PORTS_1] = {4, "1 Port Executing"},
    [NODE_PORTS_2] = {4, "2 Ports Executing"},
    [NODE_PORTS_3] = {4, "3+ Ports Executing"},
    [NODE_DEPENDENCY] = {3, "Dependency"},
};

static const uint8_t slot_node__of_work[WORK_KINDS] = {
    [WORK_NOP] = NODE_NOP,
    [WORK_X87] = NODE_X87,
    [WORK_FP_SCALAR] = NODE_FP_SCALAR,
    [WORK_FP_128] = NODE_FP_128,
    [WORK_FP_256] = NODE_FP_256,
    [WORK_VECTOR_128] = NODE_VECTOR_128,
    [WORK_VECTOR_256] = NODE_VECTOR_256,
    [WORK_BRANCH] = NODE_BRANCHES,
    [WORK_MEMORY] = NODE_MEMORY_OPERATIONS,
    [WORK_FUSED] = NODE_FUSED,
    [WORK_OTHER] = NODE_WORK_OTHER,
};

static const uint8_t slot_node__of_flush[FLUSH_KINDS] = {
    [FLUSH_CONDITIONAL] = NODE_CONDITIONAL,
    [FLUSH_INDIRECT] = NODE_INDIRECT,
    [FLUSH_RETURN] = NODE_RETURN,
    [FLUSH_MEMORY_ORDERING] = NODE_MEMORY_ORDERING,
    [FLUSH_SELF_MODIFYING] = NODE_SELF_MODIFYING,
    [FLUSH_OTHER] = NODE_CLEARS_OTHER,
};

/* The leaf of empty slots in cycles without any issue, and in the others; those of recovery
 * are in truth.blocked. */
static const struct {
    uint8_t latency, bandwidth;
} slot_node__of_stall[STALL_COUNT] = {
    [STALL_FE_ICACHE] = {NODE_ICACHE, NODE_BANDWIDTH_OTHER},
    [STALL_FE_ITLB] = {NODE_ITLB, NODE_BANDWIDTH_OTHER},
    [STALL_FE_RESTEER_MISPREDICT] = {NODE_RESTEERS_MISPREDICT, NODE_BANDWIDTH_OTHER},
    [STALL_FE_RESTEER_CLEAR] = {NODE_RESTEERS_CLEAR, NODE_BANDWIDTH_OTHER},
    [STALL_FE_UNKNOWN_BRANCH] = {NODE_RESTEERS_UNKNOWN, NODE_BANDWIDTH_OTHER},
    [STALL_FE_DSB_SWITCH] = {NODE_DSB_SWITCHES, NODE_BANDWIDTH_OTHER},
    [STALL_FE_LCP] = {NODE_LCP, NODE_BANDWIDTH_OTHER},
    [STALL_FE_MS_SWITCH] = {NODE_MS_SWITCHES, NODE_BANDWIDTH_OTHER},
    [STALL_FE_MITE] = {NODE_LATENCY_OTHER, NODE_MITE},
    [STALL_FE_DSB] = {NODE_LATENCY_OTHER, NODE_DSB},
    [STALL_FE_LSD] = {NODE_LATENCY_OTHER, NODE_LSD},
    [STALL_FE_MS] = {NODE_LATENCY_OTHER, NODE_MS},
    [STALL_FE_DRAIN] = {NODE_LATENCY_OTHER, NODE_BANDWIDTH_OTHER},
    [STALL_BE_L1] = {NODE_L1_LATENCY, NODE_L1_LATENCY},
    [STALL_BE_L1_FORWARD] = {NODE_L1_FORWARD, NODE_L1_FORWARD},
    [STALL_BE_L1_SPLIT] = {NODE_L1_SPLIT, NODE_L1_SPLIT},
    [STALL_BE_L1_ALIAS] = {NODE_L1_ALIAS, NODE_L1_ALIAS},
    [STALL_BE_L1_LOCK] = {NODE_L1_LOCK, NODE_L1_LOCK},
    [STALL_BE_L1_FB_FULL] = {NODE_L1_FB_FULL, NODE_L1_FB_FULL},
    [STALL_BE_DTLB] = {NODE_L1_DTLB, NODE_L1_DTLB},
    [STALL_BE_L2] = {NODE_L2, NODE_L2},
    [STALL_BE_L3] = {NODE_L3, NODE_L3},
    [STALL_BE_DRAM] = {NODE_DRAM_LATENCY, NODE_DRAM_LATENCY},
    [STALL_BE_DRAM_BANDWIDTH] = {NODE_DRAM_BANDWIDTH, NODE_DRAM_BANDWIDTH},
    [STALL_BE_STORE] = {NODE_STORE_LATENCY, NODE_STORE_LATENCY},
    [STALL_BE_STORE_SPLIT] = {NODE_STORE_SPLIT, NODE_STORE_SPLIT},
    [STALL_BE_STORE_DTLB] = {NODE_STORE_DTLB, NODE_STORE_DTLB},
    [STALL_BE_DIVIDER] = {NODE_DIVIDER, NODE_DIVIDER},
    [STALL_BE_SERIAL] = {NODE_SERIAL, NODE_SERIAL},
    [STALL_BE_PORTS] = {NODE_PORTS_0, NODE_PORTS_0},
    [STALL_BE_PORTS_1] = {NODE_PORTS_1, NODE_PORTS_1},
    [STALL_BE_PORTS_2] = {NODE_PORTS_2, NODE_PORTS_2},
    [STALL_BE_PORTS_3] = {NODE_PORTS_3, NODE_PORTS_3},
    [STALL_BE_DEPENDENCY] = {NODE_DEPENDENCY, NODE_DEPENDENCY},
};

/* Index of the parent, -1 on top. */
static int slot_node__parent(int node)
{
    int parent = node - 1;

    while (parent >= 0 && slot_node__table[parent].level >= slot_node__table[node].level)
        parent--;
    return parent;
}

/* What retired from elsewhere than the microcode sequencer. */
static void slot_node__fill_base(const struct truth *truth, const struct retired_work *work,
                                 uint64_t slots[NODES])
{
    uint64_t sum = 0;

    for (unsigned w = 0; work && w < WORK_KINDS; w++) {
        slots[slot_node__of_work[w]] += work->slots[w];
        sum += work->slots[w];
    }
    if (!work)
        slots[NODE_BASE] += truth->retired - truth->retired_ms;
    assert(!work || sum == truth->retired - truth->retired_ms);
    (void)sum;
}

/* Every slot into one leaf, and every leaf into what is above it. */
static void slot_node__fill(const struct truth *truth, const struct retired_work *work, uint64_t slots[NODES])
{
    uint64_t top = 0;

    for (int n = 0; n < NODES; n++)
        slots[n] = 0;
    for (unsigned s = STALL_NONE + 1; s < STALL_COUNT; s++) {
        if (STALL_IS_RECOVERY(s))
            continue;
        slots[slot_node__of_stall[s].latency] += truth->empty_latency[s];
        slots[slot_node__of_stall[s].bandwidth] += truth->empty[s] - truth->empty_latency[s];
    }
    for (unsigned k = FLUSH_NONE + 1; k < FLUSH_KINDS; k++)
        slots[slot_node__of_flush[k]] += truth->squashed[k] + truth->blocked[k];
    slots[NODE_IN_FLIGHT] += truth->in_flight; /* TD-6 */
    slot_node__fill_base(truth, work, slots);
    slots[NODE_MICRO_SEQUENCER] += truth->retired_ms;

    /* Children stand after their parent, so that each is complete before it is added. */
    for (int n = NODES - 1; n >= 0; n--) {
        if (slot_node__table[n].level > 1)
            slots[slot_node__parent(n)] += slots[n];
        else
            top += slots[n];
    }
    assert(top == truth->slots && slots[NODE_RETIRING] == truth->retired);
    (void)top;
}

int tree__from_truth(const struct truth *truth, const struct retired_work *work, const struct core *core,
                     struct profile_tree *tree, struct status *st)
{
    struct tree_builder b;
    uint64_t slots[NODES];
    int index[NODES];

    assert(truth->width == core->issue_width);
    (void)core;
    slot_node__fill(truth, work, slots);
    tree_builder__start(&b, tree, "topdown", "exact");
    for (int n = 0; n < NODES && !b.failed; n++) {
        const char *name = slot_node__table[n].name;
        const struct tree_advice *advice = tree_advice__find(name);
        int parent = slot_node__parent(n);
        double share = truth->slots ? (double)slots[n] / (double)truth->slots : (double)NAN;
        bool passed = advice && share > advice->threshold;
        if (n == NODE_RETIRING && truth->slots) /* much microcode makes it worth a look, as in TMA */
            passed |= (double)slots[NODE_MICRO_SEQUENCER] / (double)truth->slots > 0.10;

        if (n > NODE_BASE && n <= NODE_WORK_OTHER && !work)
            continue;
        /* Only runs that were cut short have uops in flight. */
        if (n == NODE_IN_FLIGHT && slots[n] == 0)
            continue;
        index[n] = tree_builder__add(&b, parent < 0 ? -1 : index[parent], name, 100 * share, "% slots",
                                     passed, NULL);
    }
    return tree_builder__finish(&b) ? 0 : status__fail(st, "tree topdown: out of memory");
}
