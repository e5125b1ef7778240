/* SPDX-License-Identifier: Apache-2.0 */
/* Path history: a footprint of each taken branch (BP-9).
 *
 * A table that looks at the last L taken branches needs them folded into one word: the sum of footprint k
 * (0 = newest) times STEP to the power of k. Powers do not repeat within any window; a rotation would, and
 * what stands one turn apart in a long loop would cancel out. Footprints are stored divided by the power of
 * their own time instead, so that a push only puts the new one in and takes the one that leaves the window
 * out; the age comes in by one multiplication when the fold is read. */
#ifndef FATHOM_PREDICT_HISTORY_H
#define FATHOM_PREDICT_HISTORY_H

#include <stdint.h>

enum {
    HISTORY_FOLDS_MAX = 24,
    HISTORY_RING = 1024,
    HISTORY_LENGTH_MAX = 640,
    /* A scratch copy shares the ring: what it pushes lies where no window looks any more. */
    HISTORY_SCRATCH_MAX = HISTORY_RING - HISTORY_LENGTH_MAX - HISTORY_FOLDS_MAX - 2,
};

#define HISTORY_STEP 0xd1342543de82ef95U
#define HISTORY_STEP_BACK 0x572b5ee77a54e3bdU /* 1 / HISTORY_STEP modulo 2^64 */

/* Window lengths in taken branches, the same for every history of a predictor. */
struct history_shape {
    uint32_t n;
    uint16_t length[HISTORY_FOLDS_MAX];
};

/* The latest footprints in the frame of time 0; slot = time. */
struct history_ring {
    uint64_t footprint[HISTORY_RING];
};

struct history {
    uint64_t fold[HISTORY_FOLDS_MAX]; /* in the frame of time 0 */
    uint64_t power, inverse;          /* HISTORY_STEP to the power of head, 1 / that */
    uint32_t head;                    /* time: number of branches pushed */
};

static inline uint64_t rotate_left(uint64_t x, unsigned n)
{
    return x << (n & 63) | x >> (-n & 63);
}

static inline void history__init(struct history *h)
{
    *h = (struct history){.power = 1, .inverse = 1};
}

/* The fold as the tables want it. */
static inline uint64_t history__fold(const struct history *h, uint32_t k)
{
    return h->fold[k] * h->power;
}

static inline uint64_t history__footprint(uint64_t addr, uint64_t target)
{
    return ((addr ^ rotate_left(target, 7)) * 0x9e3779b97f4a7c15U) >> 48;
}

static inline void history__push(struct history *h, struct history_ring *ring,
                                 const struct history_shape *shape, uint64_t footprint)
{
    uint32_t head = ++h->head;

    h->power *= HISTORY_STEP;
    h->inverse *= HISTORY_STEP_BACK;
    uint64_t enters = ring->footprint[head % HISTORY_RING] = footprint * h->inverse;
    for (uint32_t k = 0; k < shape->n; ++k)
        h->fold[k] += enters - ring->footprint[(head - shape->length[k]) % HISTORY_RING];
}

/* Takes back the latest push. */
static inline void history__undo(struct history *h, const struct history_ring *ring,
                                 const struct history_shape *shape)
{
    uint32_t head = h->head--;
    uint64_t leaves = ring->footprint[head % HISTORY_RING];

    h->power *= HISTORY_STEP_BACK;
    h->inverse *= HISTORY_STEP;
    for (uint32_t k = 0; k < shape->n; ++k)
        h->fold[k] -= leaves - ring->footprint[(head - shape->length[k]) % HISTORY_RING];
}

/* Adds `n` windows of geometric lengths, shortest to longest (a single one: their mean), to the
 * shape; returns the first. */
uint32_t history_shape__add(struct history_shape *shape, uint32_t n, uint32_t shortest, uint32_t longest);

#endif
