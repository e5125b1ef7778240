/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds of the exact tree and what to try, by node name. docs/metrics.md explains the thresholds. */
#include "tree/build.h"

#include <string.h>

static const double never = 2.0;

const struct tree_advice *tree_advice__find(const char *name)
{
    static const struct tree_advice table[] = {
        {"Frontend Bound", 0.15,
         "see which instructions starve the issue stage: smaller hot code, better code layout "
         "(profile-guided "
         "optimisation), fewer taken branches"},
        {"Fetch Latency", 0.10,
         "the front end delivers nothing for whole cycles: keep hot code together and branches predictable"},
        {"ICache Misses", 0.05,
         "shrink or reorder hot code: profile-guided optimisation, function splitting, less inlining and "
         "unrolling"},
        {"ITLB Misses", 0.05,
         "put hot code on fewer pages: order functions by use, or map the text on huge pages"},
        {"Branch Resteers", 0.05,
         "reduce mispredictions and far jumps: the front end restarts at a new address"},
        {"Mispredicts Resteers", 0.05,
         "make the blamed branches predictable, or replace them by conditional moves or arithmetic"},
        {"Clears Resteers", 0.05, "remove the cause of machine clears: self-modifying code, memory ordering"},
        {"Unknown Branches", 0.05,
         "too many different branches for the branch target buffer: reduce hot code and indirect jumps"},
        {"DSB Switches", 0.05,
         "keep hot loops in the uop cache: align them to 32 bytes, reduce unrolling, avoid dense branches"},
        {"LCP", 0.05, "avoid 16-bit immediates (length-changing prefixes): use 32-bit operands"},
        {"MS Switches", 0.05,
         "replace microcoded instructions (string instructions, divisions, x87) in hot code"},
        {"Fetch Bandwidth", 0.10,
         "the front end delivers too few uops a cycle: shorter code, fused compares, loops that fit the uop "
         "cache"},
        {"MITE", 0.10,
         "hot code runs from the decoders: align loops to 32 bytes, fewer uops and branches in each 32 "
         "bytes"},
        {"DSB", 0.15, "the uop cache limits delivery: larger basic blocks, aligned branch targets"},
        {"LSD", 0.15, "the loop body wastes slots at its end: unroll it to a multiple of the issue width"},
        {"MS", 0.05, "replace microcoded instructions in hot code by simple ones"},
        {"Bad Speculation", 0.10, "find the branch or load that is blamed and make it predictable"},
        {"Branch Mispredicts", 0.05,
         "make the blamed branches predictable (sort data, hoist conditions) or branch-free (conditional "
         "moves, "
         "masks, tables)"},
        {"Conditional", 0.05,
         "make the blamed branches predictable (sort data, hoist conditions) or branch-free (conditional "
         "moves, masks, tables)"},
        {"Indirect", 0.05,
         "the target of a jump or call changes: sort the work by target, test the most frequent target first "
         "(devirtualise), or use one dispatch for each place it comes from"},
        {"Return", 0.05,
         "returns do not match their calls: less deep recursion, no stack switching or return-address tricks "
         "in hot code"},
        {"Machine Clears", 0.05,
         "remove memory-ordering conflicts, self-modifying code and loads that overtake overlapping stores"},
        {"Memory Ordering", 0.05,
         "a load runs ahead of an older store to the same bytes: keep the value in a register, or let the "
         "store's address be known earlier"},
        {"Self-Modifying Code", 0.05,
         "code is written where code runs: keep data and code on different pages, write generated code in "
         "one go, far from what executes, and call through pointers instead of patching"},
        {"Other Clears", 0.05, "find the instruction that is blamed for the machine clears"},
        {"In Flight", never, NULL},
        {"Retiring", 0.70,
         "the core is busy with useful work: do less of it (better algorithm, vectorise, fewer "
         "instructions)"},
        {"Base", 0.60, "reduce the number of uops: vectorise, strength-reduce, remove redundant work"},
        {"Floating Point", 0.20, "vectorise, and use fused multiply-add"},
        {"X87", 0.10, "compile for SSE2 or AVX: no long double, no -mfpmath=387 in hot code"},
        {"FP Scalar", 0.10,
         "vectorise: contiguous data, no aliasing (restrict), reassociation where it is allowed (-O3 "
         "-march=native)"},
        {"FP Vector 128-bit", 0.10,
         "use 256-bit vectors and fused multiply-add where the processor has them (-march=native)"},
        {"FP Vector 256-bit", 0.10,
         "the vectors are wide: save operations (fused multiply-add, hoisting), or another algorithm"},
        {"Integer Vector", 0.10, "use wider vectors or narrower elements; hoist shuffles out of hot loops"},
        {"Integer Vector 128-bit", 0.10, "use 256-bit vectors (AVX2) or narrower elements"},
        {"Integer Vector 256-bit", 0.10,
         "the vectors are wide: narrower elements, fewer shuffles, or another algorithm"},
        {"Memory Operations", 0.10,
         "many uops move data: keep values in registers, block loops for registers, use wider accesses"},
        {"Fused Instructions", 0.10,
         "many compares and branches: unroll loops, replace branches by arithmetic, test less often"},
        {"Non-Fused Branches", 0.10,
         "many jumps, calls and returns: inline small functions, lay out code so that branches fall through"},
        {"NOP Instructions", 0.10, "padding executes in hot code: relax alignment (-falign-loops, .balign)"},
        {"Other Operations", 0.30,
         "scalar integer work: vectorise, strength-reduce, remove redundant operations"},
        {"Micro Sequencer", 0.05,
         "replace microcoded instructions; avoid denormals and other assists (flush-to-zero)"},
        {"Backend Bound", 0.20, "see whether memory or execution is missing, one level down"},
        {"Memory Bound", 0.20,
         "improve locality: touch less memory, in order, and reuse it while it is cached"},
        {"L1 Bound", 0.10,
         "loads wait although they hit L1: shorten pointer chains, avoid blocked store forwarding, 4K "
         "aliasing and "
         "line splits"},
        {"DTLB Loads", 0.05, "touch fewer pages: denser data, blocked access order, huge pages"},
        {"Store Forward Blocked", 0.05,
         "a load reads bytes of a younger, smaller or shifted store: read with the size and at the address "
         "that "
         "was written"},
        {"Split Loads", 0.05, "align the data: loads cross 64-byte lines"},
        {"4K Aliasing", 0.05,
         "loads and stores whose addresses differ by a multiple of 4096 collide: shift one of the arrays"},
        {"Lock Latency", 0.05,
         "locked operations wait for everything older: use fewer, or thread-local counters"},
        {"Fill Buffer Full", 0.10,
         "more misses than fill buffers: reuse lines while they are there, block the loops, fewer streams"},
        {"L1 Latency", 0.10, "loads wait although they hit L1: shorten chains of dependent loads"},
        {"L2 Bound", 0.05, "make the working set fit L1: block the loops, pack the data"},
        {"L3 Bound", 0.05,
         "make the working set fit L2: block the loops, change the traversal order, pack the data"},
        {"Ext. Memory Bound", 0.09,
         "data comes from memory: block the loops for the caches, change the traversal order, prefetch, use "
         "smaller types"},
        {"DRAM Bound", 0.09,
         "data comes from memory: block the loops for the caches, change the traversal order, prefetch, use "
         "smaller types"},
        {"MEM Bandwidth", 0.10,
         "memory is saturated: move fewer bytes (smaller types, blocking, fusing loops)"},
        {"MEM Latency", 0.10,
         "memory is waited for one access at a time: prefetch, make accesses independent, batch look-ups"},
        {"Stores Bound", 0.10,
         "the store buffer is full: write less, write whole lines in order, use non-temporal stores for "
         "data that is not read again"},
        {"Store Latency", 0.10,
         "stores wait for lines they must own: write whole lines in order, prefetch for writing, use "
         "non-temporal stores"},
        {"Split Stores", 0.05, "align the data: stores cross 64-byte lines"},
        {"DTLB Stores", 0.05, "touch fewer pages when writing: blocked order, huge pages"},
        {"Core Bound", 0.10, "shorten dependency chains and balance the execution ports, one level down"},
        {"Divider", 0.10, "multiply by reciprocals, divide less often, use narrower types"},
        {"Serializing", 0.10,
         "remove fences, locked and serialising instructions (CPUID, RDTSCP) from hot code"},
        {"Ports", 0.10, "the needed port is taken: use instructions for other ports, vectorise"},
        {"0 Ports Executing", 0.05,
         "nothing executes although the oldest uop is ready: look for blocked units"},
        {"1 Port Executing", 0.10, "one port is the bottleneck: use instructions for other ports, vectorise"},
        {"2 Ports Executing", 0.10, "few ports are used: mix instructions for other ports, vectorise"},
        {"3+ Ports Executing", 0.10, "the ports are well used: fewer uops, wider vectors"},
        {"Dependency", 0.10,
         "break the dependency chain: several accumulators, reassociation, independent iterations "
         "interleaved"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}
