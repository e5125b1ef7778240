/* SPDX-License-Identifier: Apache-2.0 */
/* Path history: a footprint of each taken branch, shifted by two bits a branch (BP-9).
 *
 * A table that looks at the last L taken branches needs them folded into one word: element k (0 =
 * newest) of the path rotated left by 2k, all combined by exclusive or. Footprints are stored rotated
 * by their own time instead, so that a push only puts the new one in and takes the one that leaves
 * the window out; the age comes in by one rotation when the fold is read. A push is its own inverse. */
#ifndef FATHOM_PREDICT_HISTORY_H
#define FATHOM_PREDICT_HISTORY_H

#include <stdint.h>

enum {
    HISTORY_FOLDS_MAX = 24,
    HISTORY_RING = 1024,
    HISTORY_LENGTH_MAX = 640,
    /* A scratch copy shares the ring: what it pushes lies where no window looks any more. */
    HISTORY_SCRATCH_MAX = HISTORY_RING - HISTORY_LENGTH_MAX - HISTORY_FOLDS_MAX - 2,
    HISTORY_SHIFT_BITS = 2,
};

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
    uint32_t head;                    /* time: number of branches pushed */
};

static inline uint64_t rotate_left(uint64_t x, unsigned n)
{
    return x << (n & 63) | x >> (-n & 63);
}

static inline unsigned history__rotation(const struct history *h)
{
    return HISTORY_SHIFT_BITS * h->head;
}

/* The fold as the tables want it; `rotation` from history__rotation. */
static inline uint64_t history__fold(const struct history *h, uint32_t k, unsigned rotation)
{
    return rotate_left(h->fold[k], rotation);
}

static inline uint64_t history__footprint(uint64_t addr, uint64_t target)
{
    return ((addr ^ rotate_left(target, 7)) * 0x9e3779b97f4a7c15U) >> 48;
}

/* Moves the element of time `head` into every window, or out again. */
static inline void history__toggle(struct history *h, const struct history_ring *ring,
                                   const struct history_shape *shape, uint32_t head)
{
    uint64_t enters = ring->footprint[head % HISTORY_RING];

    for (uint32_t k = 0; k < shape->n; ++k)
        h->fold[k] ^= enters ^ ring->footprint[(head - shape->length[k]) % HISTORY_RING];
}

static inline void history__push(struct history *h, struct history_ring *ring,
                                 const struct history_shape *shape, uint64_t footprint)
{
    uint32_t head = ++h->head;

    ring->footprint[head % HISTORY_RING] = rotate_left(footprint, -history__rotation(h));
    history__toggle(h, ring, shape, head);
}

/* Takes back the latest push. */
static inline void history__undo(struct history *h, const struct history_ring *ring,
                                 const struct history_shape *shape)
{
    history__toggle(h, ring, shape, h->head--);
}

/* Adds `n` windows of geometric lengths, shortest to longest (a single one: their mean), to the
 * shape; returns the first. */
uint32_t history_shape__add(struct history_shape *shape, uint32_t n, uint32_t shortest, uint32_t longest);

#endif
