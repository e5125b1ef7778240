/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool vector__reserve_bytes(void **item, size_t *cap, size_t n, size_t item_size)
{
    size_t want = *cap;
    void *grown;

    if (n <= *cap)
        return true;
    if (n > SIZE_MAX / 2 / item_size)
        return false;
    want = want ? want : 8;
    while (want < n)
        want *= 2;
    grown = realloc(*item, want * item_size);
    if (!grown)
        return false;
    *item = grown;
    *cap = want;
    return true;
}

void *vector__zeroed(void *item, size_t item_size)
{
    return memset(item, 0, item_size);
}

void vector__free_items(void **item)
{
    free(*item);
    *item = NULL;
}
