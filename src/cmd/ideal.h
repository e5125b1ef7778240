/* SPDX-License-Identifier: Apache-2.0 */
/* What can be taken away from a core to see what it costs (docs/ideal.md). */
#ifndef FATHOM_CMD_IDEAL_H
#define FATHOM_CMD_IDEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/core.h"
#include "fathom/memory.h"

struct profile_tree;
struct status;

enum ideal {
    IDEAL_L1,
    IDEAL_L2,
    IDEAL_L3,
    IDEAL_MEMORY,
    IDEAL_TLB,
    IDEAL_BRANCH,
    IDEAL_ICACHE,
    IDEAL_FRONTEND,
    IDEAL_PORTS,
    IDEAL_WINDOW,
    IDEAL_KINDS
};

/* Which ones, each once, as the user listed them. */
struct ideal_list {
    uint8_t kind[IDEAL_KINDS]; /* enum ideal */
    size_t n;
};

const char *ideal__name(enum ideal kind);
/* "l1,branch,..." added to the list. Exit code 2 for what does not exist or is there already. */
int ideal__parse(struct ideal_list *list, const char *text, struct status *st);

/* How a core without the bottlenecks of a set (bit = enum ideal) is run. */
struct ideal_machine {
    struct core core;
    struct memory_options memory;
    bool perfect_branches, perfect_frontend;
    unsigned doubled_ports; /* 0, or the number of the real core's ports: port p has the double p + that */
};
/* Exit code 2 when the core cannot be idealised so. */
int ideal__machine(struct ideal_machine *m, const struct core *core, uint32_t set, struct status *st);

/* The part of the exact tree that an idealisation takes away: "Memory Bound" and per cent of the slots.
 * NULL and NAN when no node stands for it. */
const char *ideal__claim(enum ideal kind, const struct profile_tree *tree, double *percent);

#endif
