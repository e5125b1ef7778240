/* SPDX-License-Identifier: Apache-2.0 */
/* Growable arrays: any struct with `T *item; size_t n, cap;` is one. */
#ifndef FATHOM_BASE_VECTOR_H
#define FATHOM_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

#define VECTOR(type)                                                                                         \
    struct {                                                                                                 \
        type *item;                                                                                          \
        size_t n, cap;                                                                                       \
    }

/* Room for `n` items in all; false when memory is out (the vector is unchanged then). */
#define vector__reserve(v, n_items)                                                                          \
    vector__reserve_bytes((void **)&(v)->item, &(v)->cap, (n_items), sizeof(*(v)->item))

/* Appends `value`; false when memory is out. */
#define vector__push(v, value)                                                                               \
    (vector__reserve((v), (v)->n + 1) ? ((v)->item[(v)->n++] = (value), true) : false)

/* A pointer to a new zeroed item at the end, or NULL when memory is out. */
#define vector__add(v)                                                                                       \
    (vector__reserve((v), (v)->n + 1) ? vector__zeroed(&(v)->item[(v)->n++], sizeof(*(v)->item)) : NULL)

#define vector__free(v) (vector__free_items((void **)&(v)->item), (void)((v)->n = (v)->cap = 0))

bool vector__reserve_bytes(void **item, size_t *cap, size_t n, size_t item_size);
void *vector__zeroed(void *item, size_t item_size);
void vector__free_items(void **item);

#endif
