/* SPDX-License-Identifier: Apache-2.0 */
/* What an explanation is made of: the uops and cycle reports of one run. */
#ifndef FATHOM_LOOP_EXPLAIN_H
#define FATHOM_LOOP_EXPLAIN_H

#include "base/vector.h"
#include "fathom/loop_report.h"
#include "fathom/pipe.h"

struct explain_uops {
    struct uop_listener listener; /* first member */
    VECTOR(struct uop_record) all;
    uint64_t n_fused;
    bool failed;
};

struct explain_reports {
    struct listener listener; /* first member */
    VECTOR(struct cycle_report) all;
    bool failed;
};

struct explain {
    const struct core *core;
    int64_t depth; /* least distance of issue and dispatch, EX-3 */
    struct explain_uops uops;
    struct explain_reports reports;
    uint32_t *report_of; /* by cycle: report that covers it */
    size_t n_cycles;
    /* The steady part: iterations (first, last], cycles (first_cycle, last_cycle]. */
    uint64_t first, last;
    int64_t first_cycle, last_cycle;
    uint64_t first_seq;
    uint32_t *by_seq; /* seq - first_seq: uop + 1 */
    size_t n_seq;
};

/* When a uop would have been dispatched but for its operands, and when they and the scheduler allowed it. */
struct uop_times {
    int64_t earliest, ready;
};
struct uop_times explain__times(const struct explain *ex, const struct uop_record *u);
/* What kept a ready uop from its port in `cycle`: another uop there, the divider, or else its unit. */
enum loop_wait explain__port_wait(const struct explain *ex, const struct uop_record *u, int64_t cycle);
bool explain__in_window(const struct explain *ex, const struct uop_record *u);
/* NULL: retired before the run's first record or never. */
const struct uop_record *explain__by_seq(const struct explain *ex, uint64_t seq);
/* What kept the uop at the head of the IDQ from issuing in `cycle`; LOOP_WAITS: nothing. */
enum loop_wait explain__issue_wait(const struct explain *ex, int64_t cycle);

int explain__rows(const struct explain *ex, struct loop_report *report);
void explain__path(const struct explain *ex, struct loop_report *report);
int explain__timeline(const struct explain *ex, unsigned iterations, struct loop_report *report);

#endif
