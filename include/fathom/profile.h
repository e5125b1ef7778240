/* SPDX-License-Identifier: Apache-2.0 */
/* A profile: everything a result file holds, in memory. Views read this and nothing else. */
#ifndef FATHOM_PROFILE_H
#define FATHOM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/account.h"
#include "fathom/observed.h"

struct status;

/* Strings are owned by the profile. Arrays may be NULL when their count is 0. */
struct profile_node { /* a tree node, depth first, parents before children */
    char *name;       /* "L1 Bound" */
    char *path;       /* "Backend Bound/Memory Bound/L1 Bound" */
    int level;        /* 1 = top */
    double value;     /* in `unit`; NAN: not available */
    char *unit;       /* "% slots", "% clocks" */
    bool flagged;     /* threshold passed and every ancestor flagged (hierarchical safety) */
    char *source;     /* "exact" or "simulated counters" ... */
    char *hint;       /* what to try, for flagged leaves; may be NULL */
};
struct profile_tree {
    char *name; /* "topdown", "topdown-counters" */
    struct profile_node *node;
    size_t n_nodes;
};
struct profile_component {
    char *component;
    double cycles, cpi;
};
struct profile_stack {
    char *name; /* "exact" */
    struct profile_component *component;
    size_t n_components;
};
struct profile_event {
    char *name;
    uint64_t value;
};
struct profile_place { /* one executed instruction address */
    uint64_t addr;     /* in the traced process */
    int module;        /* index into modules, -1: unknown */
    uint64_t offset;   /* file offset-based address inside the module (ELF virtual address) */
    char *text;        /* disassembly */
    struct site_weight weight;
    int function; /* index into functions, -1: unknown; set by profile__symbolize */
};
struct profile_module {
    char *path;
    char *build_id; /* hex or NULL */
};
struct profile_function {
    char *name;     /* demangled; "[unknown]" */
    int module;     /* -1: unknown */
    char *file;     /* source file or NULL */
    int line;       /* 0: unknown */
    uint64_t entry; /* ELF virtual address; 0: unknown */
    struct site_weight weight;
};
struct profile_pair {
    char *key, *value;
};
struct profile_ideal { /* the same execution on the core without one of its bottlenecks */
    char *name;        /* "memory"; "together": without all that were asked for */
    uint64_t instructions, cycles;
    double speedup;       /* of the real core's cycles per instruction */
    char *claim;          /* tree nodes that claim these cycles; may be NULL */
    double claim_percent; /* their share of the slots, NAN: not known */
};
struct profile_core { /* the same execution on another core */
    char *name, *title;
    bool self; /* the core of the profile */
    uint64_t instructions, cycles;
    uint64_t n_unknown; /* instructions that got a default recipe */
    struct profile_tree tree;
};
struct profile_copy {   /* one of several copies on cores with a common L3 and memory */
    char *name;         /* "alone", then "1", "2", ... */
    bool alone;         /* beside them, on a chip of its own: not part of any sum */
    uint64_t starts_at; /* cycles after the first */
    uint64_t instructions, cycles;
    double slowdown; /* its cycles per instruction in terms of those alone; NAN: not known */
    struct profile_tree tree;
};

struct profile_multiplexing { /* of the trees "...-multiplexed"; counters 0: not asked for */
    uint32_t counters, turn_cycles;
    uint64_t groups, turns; /* for the built-in metrics */
};

struct profile_sample { /* the figures are estimates from parts of the execution (docs/sample.md) */
    uint64_t windows;   /* besides the head; 0: the program ended within it, nothing is estimated */
    uint64_t period, window, warm; /* instructions, as asked for */
    uint64_t head;                 /* instructions at the beginning, all measured */
    uint64_t measured;             /* instructions, head and windows */
    double cpi_low, cpi_high;      /* 99.7 % interval of the cycles per instruction; NAN: not known */
};

struct profile {
    char *version;   /* of fathom */
    char *command;   /* as typed */
    char *core;      /* name */
    char *core_text; /* full effective description (core__print) */
    char *source;    /* "simulated" */
    char *guest_cpu;
    int exit_status; /* of the program; 128 + n for signal n */
    bool complete;   /* false: interrupted or crashed; then `incomplete_why` */
    char *incomplete_why;
    uint32_t issue_width;
    uint64_t instructions, cycles, slots, uops_retired, uops_issued;
    char *verdict;
    char *verdict_next; /* what to try */
    struct profile_tree *tree;
    size_t n_trees;
    struct profile_stack *stack;
    size_t n_stacks;
    struct profile_event *event;
    size_t n_events;
    struct profile_module *module;
    size_t n_modules;
    struct profile_place *place;
    size_t n_places;
    struct profile_function *function; /* sorted by cycles, descending */
    size_t n_functions;
    struct profile_count *unknown;
    size_t n_unknown;
    struct profile_count *nondeterminism; /* system calls and instructions that may differ between runs */
    size_t n_nondeterminism;
    struct profile_multiplexing multiplexing;
    struct profile_ideal *ideal; /* as asked for */
    size_t n_ideal;
    struct profile_core *core_result; /* as asked for */
    size_t n_core_results;
    struct profile_copy *copy;     /* the one alone first; then everything above is the sum over the others */
    size_t n_copies;               /* rows, 0 unless asked for */
    struct profile_sample *sample; /* NULL: everything was simulated in detail */
    struct profile_pair *host;     /* whatever may differ between machines and runs: time, speed, host name */
    size_t n_host;
};

/* Instructions a cycle of all copies together in terms of one alone: the sum of 1 / slowdown. NAN: not known.
 */
double profile__throughput(const struct profile *profile);

struct profile *profile__new(void);
void profile__free(struct profile *profile);

/* Resolves places to modules, functions, source lines and sums functions up. `map` are the address
 * ranges of files mapped into the program, as traced. */
void profile__symbolize(struct profile *profile, const struct mapping *map, size_t n_map);

/* Writes a result file (SQLite) atomically: a crash or full disk leaves the old file or none. */
int profile__save(const struct profile *profile, const char *path, struct status *st);
/* NULL and a status naming the file when it is missing, unreadable, foreign or of another version. */
struct profile *profile__load(const char *path, struct status *st);

#endif
