/* SPDX-License-Identifier: Apache-2.0 */
/* CPI stacks of rename, execution and retirement: the same cycles, seen from three places. */
#include "fathom/account.h"

#include <assert.h>
#include <string.h>

#include "fathom/core.h"

/* At the least: completion (EX-5) and the cycle after it (RT-1). */
enum { EXECUTE_TO_RETIRE_CYC = 3 };

/* What a stage does not fill belongs to `why`. A stage may be wider than the stack: what does not fit counts
 * in later cycles. Base is what is left of all slots. */
static inline void stage_stacks__pass(struct stage_stacks *stacks, enum stage stage, uint64_t n,
                                      uint64_t slots, unsigned why)
{
    const uint64_t there = n + stacks->carry[stage];
    const uint64_t used = there < slots ? there : slots;

    stacks->carry[stage] = there - used;
    stacks->slots[stage][why] += slots - used;
}

/* Why the slots of the k-th cycle from now on are empty where nothing waits in the stage: its supply is to
 * blame, what rename lacked when what is missing now should have left it. */
static inline unsigned stage_stacks__supply(const struct stage_stacks *stacks, enum stage stage, uint64_t k,
                                            unsigned supply)
{
    const uint64_t delay = stacks->delay_cyc[stage];

    return k < delay ? stacks->past[(stacks->cycles + k - delay) % STAGE_PAST] : supply;
}

/* Identical cycles. */
static void stage_stacks__run(struct stage_stacks *stacks, enum stage stage, uint64_t cycles, unsigned why,
                              unsigned supply)
{
    const uint64_t one_by_one = stacks->delay_cyc[stage] < cycles ? stacks->delay_cyc[stage] : cycles;

    for (uint64_t k = 0; k < one_by_one; k++)
        stage_stacks__pass(stacks, stage, 0, stacks->width,
                           why ? why : stage_stacks__supply(stacks, stage, k, supply));
    stage_stacks__pass(stacks, stage, 0, (cycles - one_by_one) * stacks->width, why ? why : supply);
}

static void stage_stacks__many(struct stage_stacks *stacks, const struct cycle_report *r, unsigned supply)
{
    stage_stacks__run(stacks, STAGE_EXECUTE, r->cycles, r->execute_wait, supply);
    stage_stacks__run(stacks, STAGE_RETIRE, r->cycles, r->retire_wait, supply);
    stacks->cycles += r->cycles;
    for (uint64_t k = 1; k <= STAGE_PAST && k <= r->cycles; k++)
        stacks->past[(stacks->cycles - k) % STAGE_PAST] = (uint8_t)supply;
}

static inline void stage_stacks__one(struct stage_stacks *stacks, const struct cycle_report *r,
                                     unsigned supply)
{
    const uint64_t now = stacks->cycles++;
    const unsigned execute = stacks->past[(now - stacks->delay_cyc[STAGE_EXECUTE]) % STAGE_PAST];
    const unsigned retire = stacks->past[(now - stacks->delay_cyc[STAGE_RETIRE]) % STAGE_PAST];

    stage_stacks__pass(stacks, STAGE_EXECUTE, r->executed_fused, stacks->width,
                       r->execute_wait ? r->execute_wait : execute);
    stage_stacks__pass(stacks, STAGE_RETIRE, r->retired, stacks->width,
                       r->retire_wait ? r->retire_wait : retire);
    stacks->past[now % STAGE_PAST] = (uint8_t)supply;
}

/* Uops that turn out to be useless were Branch all along, but for those that have no slots yet. */
static void stage_stacks__squash_executed(struct stage_stacks *stacks, uint64_t n)
{
    const uint64_t carried = n < stacks->carry[STAGE_EXECUTE] ? n : stacks->carry[STAGE_EXECUTE];

    stacks->carry[STAGE_EXECUTE] -= carried;
    stacks->slots[STAGE_EXECUTE][WAIT_BRANCH] += n - carried;
}

/* All slots that are not empty or wasted. */
static void stage_stacks__set_base(struct stage_stacks *stacks)
{
    for (int stage = 0; stage < STAGES; stage++) {
        uint64_t others = 0;

        for (unsigned w = WAIT_BASE + 1; w < WAIT_COUNT; w++)
            others += stacks->slots[stage][w];
        assert(others <= stacks->cycles * stacks->width && "uops left that never came");
        stacks->slots[stage][WAIT_BASE] = stacks->cycles * stacks->width - others;
    }
}

static void stage_stacks__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct stage_stacks *stacks = (struct stage_stacks *)self;
    uint8_t wait_of[STALL_COUNT], last = stacks->supply; /* where nothing was lacking: what was last */
    bool is_supply[STALL_COUNT];
    uint64_t squashed = 0;

    for (unsigned s = 0; s < STALL_COUNT; s++) {
        wait_of[s] = (uint8_t)stall__wait(s);
        is_supply[s] = STALL_IS_RECOVERY(s) || STALL_IS_FRONTEND(s);
    }
    for (unsigned i = 0; i < n; i++) {
        const struct cycle_report *r = &reports[i];

        wait_of[STALL_NONE] = last;
        const uint8_t supply = wait_of[r->stall];
        last = is_supply[r->stall] ? supply : last;

        stacks->slots[STAGE_RENAME][supply] += (uint64_t)(stacks->width - r->issued) * r->cycles;
        if (__builtin_expect(r->cycles == 1, 1))
            stage_stacks__one(stacks, r, supply);
        else
            stage_stacks__many(stacks, r, supply);
        squashed += r->squashed;
        if (r->squashed_executed)
            stage_stacks__squash_executed(stacks, r->squashed_executed);
    }
    stacks->slots[STAGE_RENAME][WAIT_BRANCH] += squashed; /* they were it all along */
    stacks->supply = last;
    stage_stacks__set_base(stacks);
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
