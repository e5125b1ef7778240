/* SPDX-License-Identifier: Apache-2.0 */
/* What the cores of a chip share: the L3, the memory controller and its channel. A memory alone has one
 * of its own; several memories (copies of a program) may share one.
 *
 * Time here is the chip's: a member's cycle plus its `starts_at`. Requests of different members come out
 * of order by as much as the members' clocks are apart (UNCORE_SLACK_CYC at most). The calendar of the
 * channel does not mind; an entry of the controller that is taken for a later time is lost to requests of
 * other members before that time.
 *
 * Invariants:
 *  1. the keys of the L3 are a member's line addresses exclusive-or its key of uncore__member_key: members
 *     share no line, and the member that a line belongs to is known from the line (uncore__owner);
 *  2. member[k] is set while memory k lives. Lines of a member that has gone stay until they are evicted. */
#ifndef FATHOM_MEM_UNCORE_H
#define FATHOM_MEM_UNCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "fathom/memory.h"
#include "mem/queue.h"
#include "mem/tags.h"

struct uncore {
    struct tags l3;
    struct lane dram_lane;
    struct pool controller;
    struct outstanding outstanding; /* of all members */
    uint32_t dram_after_l3_cyc;     /* from the known L3 miss to the use of the data */
    struct memory *member[UNCORE_MAX_MEMBERS];
    uint32_t n_members;
};

enum { UNCORE_MEMBER_SHIFT = 48 };

/* Member 0 has key 0. Bits 12 to 46 make the members' lines fall on other sets of the L3 than those of the
 * same line of the others, as pages of different processes do; the page offset stays, so that prefetchers
 * stay in their page. Bits 48 on tell the members apart. */
uint64_t uncore__member_key(unsigned member);

/* Bits 47 to 55 of an address are equal (and 0 in an entry of a page table): what differs is the member. */
static inline unsigned uncore__owner(uint64_t key)
{
    uint64_t sign = key >> (UNCORE_MEMBER_SHIFT - 1) & 1;

    return (unsigned)((key >> UNCORE_MEMBER_SHIFT & 0xff) ^ (sign ? 0xff : 0));
}

/* Reads a line whose L3 miss is known at `t`; `now` is the time of the request. When the data are usable. */
uint64_t uncore__read(struct uncore *uncore, uint64_t t, uint64_t now);

#endif
