/* SPDX-License-Identifier: Apache-2.0 */
/* CPI stacks of rename, execution and retirement: the same cycles, seen from three places. */
#include "fathom/account.h"

#include <assert.h>
#include <string.h>

#include "fathom/core.h"

/* At the least: completion (EX-5) and the cycle after it (RT-1). */
enum { EXECUTE_TO_RETIRE_CYC = 3 };

/* `n` more uops have passed the stage in `slots` slots; what they leave empty belongs to `why`. A stage may
 * be wider than the stack: what does not fit counts in later cycles. */
static inline void stage_stacks__pass(struct stage_stacks *stacks, enum stage stage, uint64_t n,
                                      uint64_t slots, unsigned why)
{
    const uint64_t there = n + stacks->carry[stage];
    const uint64_t used = there < slots ? there : slots;

    stacks->carry[stage] = there - used;
    stacks->slots[stage][WAIT_BASE] += used;
    stacks->slots[stage][why] += slots - used;
}

/* Uops that turn out to be useless were Branch all along. */
static void stage_stacks__squash(struct stage_stacks *stacks, enum stage stage, uint64_t n)
{
    uint64_t *slots = stacks->slots[stage];
    const uint64_t carried = n < stacks->carry[stage] ? n : stacks->carry[stage];

    stacks->carry[stage] -= carried;
    n -= carried;
    assert(n <= slots[WAIT_BASE] && "uops left that never came");
    slots[WAIT_BASE] -= n;
    slots[WAIT_BRANCH] += n;
}

/* Where nothing waits in a stage, its supply is to blame: what rename lacked when what is missing now should
 * have left it. */
static void stage_stacks__starve(struct stage_stacks *stacks, enum stage stage, uint64_t n, uint64_t cycles,
                                 unsigned supply)
{
    const uint64_t delay = stacks->delay_cyc[stage];
    uint64_t k = 0;

    for (; k < cycles && k < delay; k++, n = 0)
        stage_stacks__pass(stacks, stage, n, stacks->width,
                           stacks->past[(stacks->cycles + k - delay) % STAGE_PAST]);
    stage_stacks__pass(stacks, stage, n, (cycles - k) * stacks->width, supply);
}

static inline void stage_stacks__stage(struct stage_stacks *stacks, enum stage stage, uint64_t n,
                                       uint64_t cycles, unsigned why, unsigned supply)
{
    if (why == WAIT_BASE)
        stage_stacks__starve(stacks, stage, n, cycles, supply);
    else
        stage_stacks__pass(stacks, stage, n, cycles * stacks->width, why);
}

static void stage_stacks__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct stage_stacks *stacks = (struct stage_stacks *)self;
    uint8_t wait_of[STALL_COUNT];

    for (unsigned s = 0; s < STALL_COUNT; s++)
        wait_of[s] = (uint8_t)stall__wait(s);
    for (unsigned i = 0; i < n; i++) {
        const struct cycle_report *r = &reports[i];
        const uint64_t last = r->cycles < STAGE_PAST ? 0 : r->cycles - STAGE_PAST;

        assert(r->stall < STALL_COUNT && r->execute_wait < WAIT_COUNT && r->retire_wait < WAIT_COUNT);
        if (STALL_IS_RECOVERY(r->stall) || STALL_IS_FRONTEND(r->stall))
            stacks->supply = wait_of[r->stall];
        const unsigned supply = r->stall == STALL_NONE ? stacks->supply : wait_of[r->stall];

        stage_stacks__pass(stacks, STAGE_RENAME, r->issued, (uint64_t)stacks->width * r->cycles, supply);
        stage_stacks__stage(stacks, STAGE_EXECUTE, r->executed_fused, r->cycles, r->execute_wait, supply);
        stage_stacks__stage(stacks, STAGE_RETIRE, r->retired, r->cycles, r->retire_wait, supply);
        if (r->squashed) {
            stage_stacks__squash(stacks, STAGE_RENAME, r->squashed);
            stage_stacks__squash(stacks, STAGE_EXECUTE, r->squashed_executed);
        }
        for (uint64_t k = last; k < r->cycles; k++)
            stacks->past[(stacks->cycles + k) % STAGE_PAST] = (uint8_t)supply;
        stacks->cycles += r->cycles;
    }
}

void stage_stacks__init(struct stage_stacks *stacks, const struct core *core)
{
    assert(core->issue_width > 0);
    memset(stacks, 0, sizeof *stacks);
    stacks->listener.consume = stage_stacks__consume;
    stacks->width = core->issue_width;
    stacks->supply = WAIT_FRONTEND;
    memset(stacks->past, WAIT_FRONTEND, sizeof stacks->past);
    stacks->delay_cyc[STAGE_EXECUTE] = core->issue_to_dispatch_cyc;
    stacks->delay_cyc[STAGE_RETIRE] = core->issue_to_dispatch_cyc + EXECUTE_TO_RETIRE_CYC;
    assert(stacks->delay_cyc[STAGE_RETIRE] <= STAGE_PAST);
}

const char *stage_stacks__name(enum stage stage)
{
    static const char *const name[STAGES] = {
        [STAGE_RENAME] = "rename", [STAGE_EXECUTE] = "execute", [STAGE_RETIRE] = "retire"};

    assert((unsigned)stage < STAGES);
    return name[stage];
}

double stage_stacks__cycles(const struct stage_stacks *stacks, enum stage stage, enum wait component)
{
    return (double)stacks->slots[stage][component] / stacks->width;
}
