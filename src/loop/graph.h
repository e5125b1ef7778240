/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependencies between the uops of one iteration, and the longest chain around the loop (BD-6).
 *
 * A node is a uop (or an eliminated move). Its time is the cycle from which its results count: dispatch of a
 * computation, arrival of the data minus 5 of a load. An edge says: to's time >= from's time + latency.
 * What crosses the back edge goes through carriers: a register, or a store that a later load reads.
 */
#ifndef LOOP_GRAPH_H
#define LOOP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/layout.h"

enum { GRAPH_NOWHERE = -1, GRAPH_MAX_CARRIERS = 512, GRAPH_MAX_DISTANCE = 8 };

struct graph_edge {
    int32_t from; /* node; GRAPH_NOWHERE; carrier c as -2 - c */
    int16_t lat_cyc;
    uint8_t reg;   /* what carries the value; R_NONE: memory */
    bool on_chain; /* part of the critical cycle (graph__mark) */
};

struct graph_node {
    uint32_t item;
    uint32_t edge, edge_end; /* incoming */
    bool on_chain;
};

/* A value of an earlier iteration. */
struct graph_carrier {
    struct graph_edge in[2]; /* where it comes from; the later counts */
    uint16_t distance;       /* iterations */
    uint8_t reg;             /* R_NONE: memory */
};

struct graph {
    const struct layout *layout;
    struct graph_node *node;
    struct graph_edge *edge;
    struct graph_carrier *carrier;
    uint32_t n_nodes, n_edges, n_carriers;
    uint32_t node_cap, edge_cap;
    bool blocked; /* some load meets a store that it cannot be forwarded from (EX-22) */
    bool late;    /* such loads dispatch after the store's commit */
};

/*
 * A load that only overlaps a store waits for its commit and is then repeated; a load that dispatches after
 * the commit finds the data in the cache. Both are steady states of a loop: `late` takes the second.
 * Returns -1 when memory is out.
 */
int graph__make(struct graph *g, const struct layout *l, bool late, struct scratch *scratch);

/* The critical cycle as carriers in order. */
struct graph_cycle {
    int64_t latency;
    uint32_t distance; /* iterations; 0: there is no cycle */
    uint32_t n;
    uint16_t carrier[GRAPH_MAX_CARRIERS];
};

/* Largest latency / distance over all cycles, exact. Returns -1 when memory is out. */
int graph__critical_cycle(const struct graph *g, struct scratch *scratch, struct graph_cycle *out);
/* Marks nodes and edges of the cycle. Returns -1 when memory is out. */
int graph__mark(struct graph *g, const struct graph_cycle *cycle, struct scratch *scratch);

/* --- memory (EX-13a) --------------------------------------------------------------------------- */

/* A register's value: that of a register at the start of an iteration, or one made in an iteration. */
struct symbol {
    int16_t id;   /* register, or number of the write in its iteration */
    uint8_t kind; /* enum symbol_kind */
    uint8_t age;  /* SYMBOL_FRESH: iterations ago */
    int64_t offset;
};

enum symbol_kind { SYMBOL_NONE, SYMBOL_START, SYMBOL_FRESH };

struct place {
    struct symbol base, index;
    int64_t offset; /* with those of the symbols */
    uint32_t size_bytes;
    uint8_t scale;
    bool rip;
};

struct registers {
    struct symbol value[R_COUNT];
    int16_t fresh;
};

/* The start of an iteration. Registers that held the same value before the first one and advance alike
 * share a symbol. */
void registers__init(struct registers *r, const struct layout *l);
void registers__update(struct registers *r, const struct insn *insn);
struct place place__of(const struct registers *r, const struct mem_operand *m, uint64_t next_addr);
/* The same place seen from one iteration earlier. `end` holds the registers at the end of an iteration,
 * `stride_bytes` is the distance of two iterations' code. */
void place__step_back(struct place *p, const struct registers *end, unsigned age, int64_t stride_bytes);
/* Can still be equal to a place `age` iterations ago or older. */
bool place__reaches(const struct place *p, unsigned age);

enum overlap { OVERLAP_NONE, OVERLAP_PART, OVERLAP_ALL };
/* `load` stepped back by `age` iterations against a store of that iteration. */
enum overlap place__compare(const struct place *load, const struct place *store, unsigned age);

#endif
