/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact slot truth. Invariant, after every batch (TD-7):
 *     retired + sum of squashed + in_flight + sum of empty == slots == width x cycles
 */
#include "fathom/account.h"

#include <assert.h>
#include <string.h>

#include "fathom/core.h"

__attribute__((unused)) static uint64_t truth__owned_slots(const struct truth *truth)
{
    uint64_t owned = truth->retired + truth->in_flight;

    for (unsigned k = 0; k < FLUSH_KINDS; k++)
        owned += truth->squashed[k];
    for (unsigned s = 0; s < STALL_COUNT; s++)
        owned += truth->empty[s];
    return owned;
}

/* What a flush cost in this cycle. Seldom. */
static void truth__lose(struct truth *truth, const struct cycle_report *r, uint64_t empty)
{
    assert(r->flush_kind < FLUSH_KINDS);
    truth->squashed[r->flush_kind] += r->squashed;
    truth->blocked[r->flush_kind] += STALL_IS_RECOVERY(r->stall) ? empty : 0;
}

/* Issue, retirement and squashing are sums over the batch; only empty slots go to different places. */
static void truth__consume(struct listener *self, const struct cycle_report *reports, unsigned n)
{
    struct truth *truth = (struct truth *)self;
    const uint32_t width = truth->width;
    uint64_t cycles = 0, issued = 0, retired = 0, retired_ms = 0, squashed = 0;
    unsigned broken = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct cycle_report *r = &reports[i];
        uint64_t empty = (uint64_t)(width - r->issued) * r->cycles;
        unsigned stall = r->stall < STALL_COUNT ? r->stall : STALL_NONE;

        broken |= (r->issued > width) | (r->stall >= STALL_COUNT) |
                  (r->stall == STALL_NONE && r->issued != width) |
                  ((r->squashed || STALL_IS_RECOVERY(r->stall)) && r->flush_kind == FLUSH_NONE) |
                  (r->cycles != 1 && (r->cycles == 0 || (r->issued | r->retired | r->squashed) != 0));
        cycles += r->cycles;
        issued += r->issued;
        retired += r->retired;
        if (r->retired_ms)
            retired_ms += (unsigned)__builtin_popcount(r->retired_ms);
        squashed += r->squashed;
        truth->empty[stall] += empty;
        truth->empty_latency[stall] += r->issued == 0 ? empty : 0;
        if (r->flush_kind)
            truth__lose(truth, r, empty);
    }
    assert(!broken && "a report must name a stall for its empty slots, and idle runs do no work");
    (void)broken;
    truth->cycles += cycles;
    truth->slots += cycles * width;
    truth->retired += retired;
    truth->retired_ms += retired_ms;
    assert(truth->in_flight + issued >= retired + squashed && "uops left that were never issued");
    truth->in_flight += issued - retired - squashed;
    assert(truth__owned_slots(truth) == truth->slots);
}

void truth__init(struct truth *truth, const struct core *core)
{
    assert(core->issue_width > 0);
    memset(truth, 0, sizeof *truth);
    truth->listener.consume = truth__consume;
    truth->width = core->issue_width;
}

void truth__leave(struct truth *truth, unsigned retired, unsigned retired_ms, unsigned squashed,
                  enum flush_kind kind)
{
    assert(truth->in_flight >= retired + squashed && retired_ms <= retired);
    assert((squashed == 0 || kind != FLUSH_NONE) && kind < FLUSH_KINDS);
    truth->in_flight -= retired + squashed;
    truth->retired += retired;
    truth->retired_ms += retired_ms;
    truth->squashed[kind] += squashed;
}

__attribute__((unused)) static uint64_t truth__blocked(const struct truth *truth, bool clear)
{
    uint64_t blocked = 0;

    for (unsigned k = FLUSH_NONE + 1; k < FLUSH_KINDS; k++)
        blocked += FLUSH_IS_CLEAR(k) == clear ? truth->blocked[k] : 0;
    return blocked;
}

void truth__check(const struct truth *truth)
{
    assert(truth->slots == truth->cycles * truth->width);
    assert(truth__owned_slots(truth) == truth->slots);
    assert(truth->empty[STALL_NONE] == 0);
    assert(truth->retired_ms <= truth->retired);
    assert(truth__blocked(truth, false) == truth->empty[STALL_RECOVERY_MISPREDICT]);
    assert(truth__blocked(truth, true) == truth->empty[STALL_RECOVERY_CLEAR]);
    for (unsigned s = 0; s < STALL_COUNT; s++)
        assert(truth->empty_latency[s] <= truth->empty[s]);
    assert(truth->in_flight == 0 && "the pipeline must be drained before the truth is read (TD-6)");
    (void)truth;
}
