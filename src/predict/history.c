/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/history.h"

#include <assert.h>
#include <math.h>

uint32_t history_shape__add(struct history_shape *shape, uint32_t n, uint32_t shortest, uint32_t longest)
{
    uint32_t first = shape->n;
    uint32_t least = 1;

    assert(first + n <= HISTORY_FOLDS_MAX);
    for (uint32_t k = 0; k < n; ++k) {
        double share = n > 1 ? (double)k / (double)(n - 1) : 0.5;
        uint32_t length = (uint32_t)(shortest * pow((double)longest / shortest, share) + 0.5);
        if (length < least) /* each window is longer than the one before */
            length = least;
        assert(length <= HISTORY_LENGTH_MAX + HISTORY_FOLDS_MAX);
        shape->length[first + k] = (uint16_t)length;
        least = length + 1;
    }
    shape->n = first + n;
    return first;
}
