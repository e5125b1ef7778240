/* SPDX-License-Identifier: Apache-2.0 */
/* Analytical lower bounds of a loop's cycles per iteration (PIPELINE.md 10.5, BD-1 to BD-8). */
#ifndef FATHOM_BOUNDS_H
#define FATHOM_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct insn;
struct isa;

/* Only one of decoders, uop cache and microcode sequencer works in a cycle (CY-5): the sequencer's cycles
 * count in the first three bounds, and in a loop that begins in the uop cache and goes on in the decoders the
 * cycles of the cached part count in the first two. */
enum bound_kind {
    BOUND_PREDECODE,  /* BD-3; only code that comes from MITE */
    BOUND_DECODE,     /* BD-4; likewise */
    BOUND_DSB,        /* BD-5; loops served by the DSB */
    BOUND_LSD,        /* LSD-2; loops locked in the IDQ */
    BOUND_ISSUE,      /* BD-1 */
    BOUND_PORTS,      /* BD-2, the tightest union of port sets */
    BOUND_DIVIDER,    /* divider occupancy and non-pipelined periods */
    BOUND_DEPENDENCY, /* BD-6, the longest loop-carried chain through registers, flags and memory */
    BOUND_KINDS
};

enum { BOUNDS_MAX_INSNS = 4096, BOUNDS_MAX_PORTS = 16 };

struct bound {
    double cycles;   /* per iteration; NAN: does not apply */
    uint16_t *insns; /* positions in the block of the instructions that make it; owned by the bounds */
    size_t n_insns;
};

struct bounds {
    struct bound bound[BOUND_KINDS];
    uint16_t port_set;                    /* the union that makes BOUND_PORTS */
    double port_cycles[BOUNDS_MAX_PORTS]; /* optimal (fractional) load of each port */
    enum bound_kind largest;              /* ties: the first in the enum's order from the back end */
    double cycles;                        /* its value */
    void *storage;
};

/* A block as loop__new holds it: `insn[n]`, first byte at `address`, unrolled or a loop. */
struct block {
    struct insn *const *insn;
    size_t n;
    uint64_t address;
    bool unrolled;
    int registers; /* enum loop_registers of loop.h: which addresses are equal; 0: all different */
};

/* Computes all bounds; `detail` false leaves out the instruction lists (several times faster). */
int bounds__compute(const struct block *block, const struct core *core, struct isa *isa, bool detail,
                    struct bounds *out);
void bounds__free(struct bounds *bounds);
const char *bound__name(enum bound_kind kind);

/* What limits the loop, naming the instructions (`insn_text[i]` is that of position i), and what to try.
 * `bounds` come with detail; `simulated_cycles` <= 0: no simulation. Returns -1 if a text was cut short. */
int loop_advice__sentence(const struct block *block, const struct bounds *bounds, double simulated_cycles,
                          const char *const *insn_text, char *sentence, size_t size, char *next,
                          size_t next_size);

/* The dependency graph of one iteration as Graphviz text: instructions as nodes, register, flag and memory
 * dependencies as edges with latency; loop-carried edges dashed, the critical cycle marked. */
#include <stdio.h>
void bounds__dot(const struct block *block, const struct core *core, struct isa *isa, FILE *out);

#endif
