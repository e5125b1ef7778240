/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up profile with something of everything, for the tests of store and views. */
#ifndef TEST_PROFILE_FIXTURE_H
#define TEST_PROFILE_FIXTURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/profile.h"

static inline char *fixture__copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct fixture_node {
    const char *name, *path;
    int level;
    double exact, counters; /* -1: not in this tree; NAN: not counted */
    const char *unit;
    bool flagged;
    const char *hint;
};

static inline void fixture__tree(struct profile_tree *tree, const char *name, const char *source,
                                 const struct fixture_node *node, size_t n, bool counters)
{
    tree->name = fixture__copy(name);
    tree->node = calloc(n, sizeof *tree->node);
    for (size_t i = 0; i < n; i++) {
        double value = counters ? node[i].counters : node[i].exact;
        if (value == -1)
            continue;
        tree->node[tree->n_nodes++] = (struct profile_node){
            .name = fixture__copy(node[i].name),
            .path = fixture__copy(node[i].path),
            .level = node[i].level,
            .value = value,
            .unit = fixture__copy(counters && node[i].level > 2 ? "% clocks" : node[i].unit),
            .flagged = node[i].flagged,
            .source = fixture__copy(source),
            .hint = fixture__copy(node[i].hint),
        };
    }
}

static inline void fixture__trees(struct profile *profile)
{
    static const struct fixture_node node[] = {
        {"Frontend Bound", "Frontend Bound", 1, 8.25, 8.5, "% slots", false, NULL},
        {"Frontend Latency", "Frontend Bound/Frontend Latency", 2, 5.0, 5.125, "% slots", false, NULL},
        {"ICache Misses", "Frontend Bound/Frontend Latency/ICache Misses", 3, 1.5, -1, "% slots", false,
         NULL},
        {"Bad Speculation", "Bad Speculation", 1, 4.0, 3.75, "% slots", false, NULL},
        {"Retiring", "Retiring", 1, 21.75, 21.75, "% slots", false, NULL},
        {"Backend Bound", "Backend Bound", 1, 66.0, 66.0, "% slots", true, NULL},
        {"Memory Bound", "Backend Bound/Memory Bound", 2, 61.0, 59.5, "% slots", true, NULL},
        {"L1 Bound", "Backend Bound/Memory Bound/L1 Bound", 3, 3.0, 4.0, "% slots", false, NULL},
        {"Ext. Memory Bound", "Backend Bound/Memory Bound/Ext. Memory Bound", 3, 50.5, 49.0, "% slots", true,
         "shrink the working set, walk memory in the order it is laid out, or prefetch: the loads that miss "
         "all caches are in walk() at list.c:42"},
        {"MEM Bandwidth", "Backend Bound/Memory Bound/Ext. Memory Bound/MEM Bandwidth", 4, -1, (double)NAN,
         "% clocks", false, NULL},
        {"Core Bound", "Backend Bound/Core Bound", 2, 5.0, 6.5, "% slots", false, NULL},
    };
    enum { N = sizeof node / sizeof node[0] };
    profile->n_trees = 2;
    profile->tree = calloc(2, sizeof *profile->tree);
    fixture__tree(&profile->tree[0], "topdown", "exact", node, N, false);
    fixture__tree(&profile->tree[1], "topdown-counters", "simulated counters", node, N, true);
}

static inline void fixture__stacks(struct profile *profile)
{
    static const struct {
        const char *name;
        double cycles;
    } component[] = {{"base", 300000}, {"branch", 52000}, {"icache", 4000},
                     {"itlb", 0},      {"dram", 640000},  {"other", 4000}};
    static const char *const name[] = {"exact", "rename", "execute", "retire"};
    enum { N = sizeof component / sizeof component[0], STACKS = sizeof name / sizeof name[0] };
    profile->n_stacks = STACKS;
    profile->stack = calloc(STACKS, sizeof *profile->stack);
    for (size_t k = 0; k < STACKS; k++) {
        struct profile_stack *stack = &profile->stack[k];
        double moved = 1000.25 * (double)k; /* from the first component to the last */
        stack->name = fixture__copy(name[k]);
        stack->n_components = N;
        stack->component = calloc(N, sizeof *stack->component);
        for (size_t i = 0; i < N; i++) {
            double cycles = component[i].cycles + (i == N - 1 ? moved : i == 0 ? -moved : 0);
            stack->component[i] =
                (struct profile_component){fixture__copy(component[i].name), cycles, cycles / 870000};
        }
    }
}

static inline void fixture__code(struct profile *profile)
{
    static const struct {
        const char *name;
        int module;
        const char *file;
        int line;
    } function[] = {
        {"walk", 0, "/src/list.c", 42},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)", 0, "/src/stl.h", 7},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         0, NULL, 0},
        {"memcpy@plt", 0, NULL, 0},
        {"[unknown]+libc.so.6", 1, NULL, 0},
        {"[unknown]", -1, NULL, 0},
    };
    enum { N = sizeof function / sizeof function[0] };
    profile->n_modules = 2;
    profile->module = calloc(2, sizeof *profile->module);
    profile->module[0] = (struct profile_module){fixture__copy("/home/u/app"), fixture__copy("0123abcd")};
    profile->module[1] = (struct profile_module){fixture__copy("/usr/lib/libc.so.6"), NULL};
    profile->n_functions = profile->n_places = N;
    profile->function = calloc(N, sizeof *profile->function);
    profile->place = calloc(N, sizeof *profile->place);
    for (size_t i = 0; i < N; i++) {
        uint64_t share = (uint64_t)1 << (N - 1 - i); /* 32/64, 16/64, ... 1/64 of the cycles */
        struct site_weight weight = {
            share * 15625 * TIP_UNIT,
            share * 13000,
            {share * 13594, share * 2500, share * 5156, share * 38125, share * 3125}};
        profile->function[i] = (struct profile_function){fixture__copy(function[i].name),
                                                         function[i].module,
                                                         fixture__copy(function[i].file),
                                                         function[i].line,
                                                         0x1000 + 16 * i,
                                                         weight};
        profile->place[i] = (struct profile_place){.addr = 0x7fffffff00001000 + 16 * i,
                                                   .module = function[i].module,
                                                   .offset = 0x1004 + 16 * i,
                                                   .text = fixture__copy("mov rax, qword ptr [rax]"),
                                                   .weight = weight,
                                                   .function = (int)i};
    }
    profile->place[N - 1].function = -1;
    free(profile->place[N - 1].text);
    profile->place[N - 1].text = NULL;
}

static inline void fixture__lists(struct profile *profile)
{
    profile->n_events = 2;
    profile->event = calloc(2, sizeof *profile->event);
    profile->event[0] = (struct profile_event){fixture__copy("Clocks"), 1000000};
    profile->event[1] = (struct profile_event){fixture__copy("SlotsIssued"), UINT64_MAX};
    profile->n_unknown = 6;
    profile->unknown = calloc(6, sizeof *profile->unknown);
    for (unsigned i = 0; i < 6; i++) {
        char name[16] = "XYZ R64, M64 ";
        name[12] = (char)('a' + i);
        profile->unknown[i] = (struct profile_count){fixture__copy(name), 1200 - i,
                                                     fixture__copy(i == 0 ? "first at 0x401234" : NULL)};
    }
    profile->n_nondeterminism = 1;
    profile->nondeterminism = calloc(1, sizeof *profile->nondeterminism);
    profile->nondeterminism[0] =
        (struct profile_count){fixture__copy("clock_gettime"), 12, fixture__copy("the time of day")};
    profile->n_host = 2;
    profile->host = calloc(2, sizeof *profile->host);
    profile->host[0] = (struct profile_pair){fixture__copy("seconds"), fixture__copy("1.5")};
    profile->host[1] = (struct profile_pair){fixture__copy("name"), fixture__copy("build\"7\"")};
}

static inline struct profile *fixture__profile(void)
{
    struct profile *profile = profile__new();
    profile->version = fixture__copy("0.0-test");
    profile->command =
        fixture__copy("./app --name 'caf\xc3\xa9' \x1b[31m --size 100 --and --a --command --line "
                      "--that --does --not --fit --in --one --line");
    profile->core = fixture__copy("skl");
    profile->core_text = fixture__copy("name = skl\nrob_entries = 224\n");
    profile->source = fixture__copy("simulated");
    profile->guest_cpu = fixture__copy("Skylake-Client-v4");
    profile->exit_status = 3;
    profile->complete = false;
    profile->incomplete_why =
        fixture__copy("the program made a second thread at 0x401000, which is not traced");
    profile->issue_width = 4;
    profile->instructions = 870000;
    profile->cycles = 1000000;
    profile->slots = 4000000;
    profile->uops_retired = 870000;
    profile->uops_issued = 920000;
    profile->verdict = fixture__copy("50 % of the issue slots wait for memory beyond the caches, "
                                     "half of that in walk (list.c:42).");
    profile->verdict_next = fixture__copy("store the list's nodes in an array in the order they are walked.");
    fixture__trees(profile);
    fixture__stacks(profile);
    fixture__code(profile);
    fixture__lists(profile);
    return profile;
}

#endif
