/* SPDX-License-Identifier: Apache-2.0 */
/* Contention by time stamps. Requests come nearly in time order: one that had to wait starts in the
 * future, and one that comes after it may start earlier. Both structures keep such a request from
 * being stuck behind the future one. */
#ifndef FATHOM_MEM_QUEUE_H
#define FATHOM_MEM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum { POOL_MAX = 64, LANE_BUCKETS = 1024 };

/* Identical buffers, each free from a moment on: fill buffers, super queue, page walkers. */
struct pool {
    uint64_t free_at[POOL_MAX];
    uint32_t n;
};

/* The buffer for a request at `t`; *start is when it gets it (>= t). The caller then sets free_at. */
static inline uint32_t pool__take(const struct pool *p, uint64_t t, uint64_t *start)
{
    uint32_t fit = 0, earliest = 0;
    uint64_t latest_fit = 0, minimum = UINT64_MAX;

    for (uint32_t k = 0; k < p->n; ++k) {
        uint64_t free_at = p->free_at[k];
        /* the one that became free last: older ones stay for requests that start earlier */
        uint64_t rank = free_at <= t ? free_at + 1 : 0;
        fit = rank > latest_fit ? k : fit;
        latest_fit = rank > latest_fit ? rank : latest_fit;
        earliest = free_at < minimum ? k : earliest;
        minimum = free_at < minimum ? free_at : minimum;
    }
    *start = latest_fit != 0 ? t : minimum;
    return latest_fit != 0 ? fit : earliest;
}

/* Buffers in use at `t`. */
static inline uint32_t pool__busy(const struct pool *p, uint64_t t)
{
    uint32_t busy = 0;

    for (uint32_t k = 0; k < p->n; ++k)
        busy += p->free_at[k] > t;
    return busy;
}

static inline bool pool__has_free(const struct pool *p, uint64_t t)
{
    for (uint32_t k = 0; k < p->n; ++k)
        if (p->free_at[k] <= t)
            return true;
    return false;
}

/* A link or channel that serves one line at a time. Time is cut into buckets; inside a bucket
 * requests are served in order of arrival, different buckets do not know of each other except for
 * what runs over into the next. */
struct lane {
    struct lane_bucket {
        uint64_t number;
        uint64_t next_fp; /* free from here on, 1/256 cycle */
    } bucket[LANE_BUCKETS];
    uint64_t service_fp;  /* one line */
    uint32_t bucket_log2; /* cycles */
};

/* `service_cyc` a line; at least 4 lines fit a bucket. */
void lane__init(struct lane *lane, double service_cyc);
/* When a line that is ready for the lane at `t` begins to be served. */
uint64_t lane__take(struct lane *lane, uint64_t t);

/* Requests at the memory controller: a count over time. */
enum { OUTSTANDING_MAX = 512 };
struct outstanding {
    struct {
        uint64_t from, until;
    } request[OUTSTANDING_MAX];
    uint32_t n;
    uint64_t slack; /* questions may go back in time by so much */
    /* answer for all times in [known_from, known_until) */
    uint64_t known_from, known_until;
    uint32_t count;
};

void outstanding__add(struct outstanding *o, uint64_t from, uint64_t until, uint64_t now);
/* The answer holds until o->known_until. */
uint32_t outstanding__count(struct outstanding *o, uint64_t now);

#endif
