/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/history.h"

#include <assert.h>
#include <math.h>

uint32_t history_shape__add(struct history_shape *shape, uint32_t n, uint32_t min_bits, uint32_t max_bits)
{
    uint32_t first = shape->n;
    uint32_t shortest = 1;

    assert(first + n <= HISTORY_FOLDS_MAX);
    for (uint32_t k = 0; k < n; ++k) {
        double share = n > 1 ? (double)k / (double)(n - 1) : 0.5;
        double bits = min_bits * pow((double)max_bits / min_bits, share);
        uint32_t length = (uint32_t)(bits / HISTORY_BITS_PER_BRANCH + 0.5);
        if (length < shortest) /* each window is longer than the one before */
            length = shortest;
        assert(length < HISTORY_RING);
        shape->length[first + k] = (uint16_t)length;
        shortest = length + 1;
    }
    shape->n = first + n;
    return first;
}
