/* SPDX-License-Identifier: Apache-2.0 */
/* The exact CPI stack: each cycle belongs to what the core waited for in it, so it sums to cycles. */
#include "fathom/account.h"

#include <assert.h>
#include <string.h>

static void cpi_stack__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct cpi_stack *stack = (struct cpi_stack *)self;

    for (unsigned i = 0; i < n; i++) {
        assert(reports[i].wait < WAIT_COUNT);
        stack->cycles[reports[i].wait] += reports[i].cycles;
    }
}

void cpi_stack__init(struct cpi_stack *stack)
{
    memset(stack, 0, sizeof *stack);
    stack->listener.consume = cpi_stack__consume;
}

const char *cpi_stack__component_name(enum wait component)
{
    static const char *const name[WAIT_COUNT] = {
        [WAIT_BASE] = "Base",
        [WAIT_ICACHE] = "ICache",
        [WAIT_ITLB] = "ITLB",
        [WAIT_BRANCH] = "Branch",
        [WAIT_FRONTEND] = "Frontend",
        [WAIT_L1D] = "L1D",
        [WAIT_DTLB] = "DTLB",
        [WAIT_L2] = "L2",
        [WAIT_L3] = "L3",
        [WAIT_DRAM] = "DRAM",
        [WAIT_STORE] = "Store",
        [WAIT_DIVIDE] = "Divide",
        [WAIT_DEPENDENCY] = "Dependency",
        [WAIT_PORTS] = "Ports",
        [WAIT_OTHER] = "Other",
    };

    assert((unsigned)component < WAIT_COUNT);
    return name[component];
}
