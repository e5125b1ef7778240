/* SPDX-License-Identifier: Apache-2.0 */
#include "mem/queue.h"

#include <assert.h>
#include <string.h>

void lane__init(struct lane *lane, double service_cyc)
{
    memset(lane, 0, sizeof *lane);
    assert(service_cyc > 0.0 && service_cyc < 1e6);
    lane->service_fp = (uint64_t)(service_cyc * 256.0 + 0.5);
    lane->bucket_log2 = 3;
    while ((256U << lane->bucket_log2) < 4 * lane->service_fp)
        ++lane->bucket_log2;
}

/* The bucket `number`, emptied if it was last used for an earlier time; NULL if it is in use for a
 * later one (the request is older than the whole calendar). */
static struct lane_bucket *lane__bucket(struct lane *lane, uint64_t number)
{
    struct lane_bucket *bucket = &lane->bucket[number % LANE_BUCKETS];

    if (bucket->number > number)
        return NULL;
    if (bucket->number < number) {
        bucket->number = number;
        bucket->next_fp = (number << lane->bucket_log2) << 8;
    }
    return bucket;
}

uint64_t lane__take(struct lane *lane, uint64_t t)
{
    uint64_t at_fp = t << 8;
    uint64_t number = t >> lane->bucket_log2;

    for (unsigned k = 0; k < LANE_BUCKETS; ++k, ++number) {
        struct lane_bucket *bucket = lane__bucket(lane, number);
        if (bucket == NULL)
            return t;
        uint64_t end_fp = ((number + 1) << lane->bucket_log2) << 8;
        uint64_t begin_fp = at_fp > bucket->next_fp ? at_fp : bucket->next_fp;
        if (begin_fp < end_fp) {
            bucket->next_fp = begin_fp + lane->service_fp;
            struct lane_bucket *after = bucket->next_fp > end_fp ? lane__bucket(lane, number + 1) : NULL;
            if (after != NULL && after->next_fp < bucket->next_fp)
                after->next_fp = bucket->next_fp;
            return begin_fp >> 8;
        }
        at_fp = end_fp;
    }
    return t;
}

void outstanding__add(struct outstanding *o, uint64_t from, uint64_t until, uint64_t now)
{
    if (from >= until)
        return;
    if (o->n == OUTSTANDING_MAX) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < o->n; ++k)
            if (o->request[k].until + o->slack > now)
                o->request[kept++] = o->request[k];
        o->n = kept;
    }
    if (o->n == OUTSTANDING_MAX)
        return; /* more than any core has in flight: the count is far above every threshold */
    o->request[o->n].from = from;
    o->request[o->n].until = until;
    ++o->n;
    o->known_until = 0;
}

static void outstanding__refresh(struct outstanding *o, uint64_t now)
{
    uint32_t kept = 0;

    if (now >= o->known_from && now < o->known_until)
        return;
    o->count = 0;
    o->known_from = now;
    o->known_until = UINT64_MAX;
    for (uint32_t k = 0; k < o->n; ++k) {
        uint64_t from = o->request[k].from;
        uint64_t until = o->request[k].until;
        if (until <= now) {
            if (until + o->slack > now)
                o->request[kept++] = o->request[k];
            continue;
        }
        o->request[kept++] = o->request[k];
        o->count += from <= now;
        uint64_t change = from > now ? from : until;
        if (change < o->known_until)
            o->known_until = change;
    }
    o->n = kept;
}

uint32_t outstanding__count(struct outstanding *o, uint64_t now)
{
    outstanding__refresh(o, now);
    return o->count;
}
