/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/loop.h"

#include <stddef.h>
#include <stdlib.h>

enum {
    LOOP_WAYS = 4,
    LOOP_CONFIDENT = 3, /* equal trips seen */
    LOOP_CONFIDENCE_MAX = 7,
    LOOP_AGE_MAX = 7,
    LOOP_TRIP_MIN = 3,
    LOOP_TRIP_MAX = 16383,
    TRUST_MIN = -64,
    TRUST_MAX = 63,
};

int loop__init(struct loop_predictor *l, uint32_t n_entries)
{
    *l = (struct loop_predictor){.sets = (n_entries + LOOP_WAYS - 1) / LOOP_WAYS};
    if (l->sets == 0)
        return 0;
    l->entry = calloc((size_t)l->sets * LOOP_WAYS, sizeof *l->entry);
    return l->entry != NULL ? 0 : -1;
}

void loop__fini(struct loop_predictor *l)
{
    free(l->entry);
    *l = (struct loop_predictor){0};
}

static struct loop_entry *loop__set(const struct loop_predictor *l, uint64_t addr)
{
    uint64_t hash = (uint32_t)((addr ^ addr >> 17) * 0x9e3779b1U);

    return l->entry + (hash * l->sets >> 32) * LOOP_WAYS;
}

struct loop_entry *loop__lookup(const struct loop_predictor *l, uint64_t addr, bool *confident, bool *taken)
{
    *confident = false;
    if (l->sets == 0)
        return NULL;
    struct loop_entry *set = loop__set(l, addr);
    for (unsigned way = 0; way < LOOP_WAYS; ++way) {
        struct loop_entry *e = &set[way];
        if (e->addr != addr)
            continue;
        *confident = e->confidence >= LOOP_CONFIDENT && l->trust >= 0;
        *taken = e->current + 1 == e->trip ? !e->body : e->body;
        return e;
    }
    return NULL;
}

static void loop__allocate(struct loop_predictor *l, uint64_t addr, bool taken)
{
    struct loop_entry *set = loop__set(l, addr);

    for (unsigned way = 0; way < LOOP_WAYS; ++way) {
        if (set[way].age == 0) {
            set[way] = (struct loop_entry){.addr = addr, .age = LOOP_AGE_MAX, .body = !taken};
            return;
        }
    }
    for (unsigned way = 0; way < LOOP_WAYS; ++way)
        --set[way].age;
}

/* The exit: was it where it was the last time? */
static void loop__exit(struct loop_entry *e)
{
    uint32_t trip = e->current + 1U;

    e->current = 0;
    if (trip < LOOP_TRIP_MIN) { /* short patterns are the other predictor's */
        *e = (struct loop_entry){0};
    } else if (trip == e->trip) {
        if (e->confidence < LOOP_CONFIDENCE_MAX)
            ++e->confidence;
    } else {
        if (e->confidence >= LOOP_CONFIDENT)
            e->age = 0;
        e->confidence = 0;
        e->trip = (uint16_t)trip;
    }
}

void loop__update(struct loop_predictor *l, struct loop_entry *e, uint64_t addr, bool taken, bool other)
{
    if (l->sets == 0)
        return;
    if (e == NULL) {
        if (other != taken)
            loop__allocate(l, addr, taken);
        return;
    }
    if (e->confidence >= LOOP_CONFIDENT) {
        bool said = e->current + 1 == e->trip ? !e->body : e->body;
        if (said != other) {
            if (said == taken) {
                l->trust += l->trust < TRUST_MAX;
                if (e->age < LOOP_AGE_MAX)
                    ++e->age;
            } else {
                l->trust -= l->trust > TRUST_MIN;
            }
        }
    }
    if (taken != e->body) {
        loop__exit(e);
    } else if (++e->current > LOOP_TRIP_MAX) {
        *e = (struct loop_entry){0};
    } else if (e->trip != 0 && e->current >= e->trip) {
        e->confidence = 0; /* longer than last time; the next exit tells */
        e->trip = 0;
    }
}
