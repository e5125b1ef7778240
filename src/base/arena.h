/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once. */
#ifndef FATHOM_BASE_ARENA_H
#define FATHOM_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zero-initialised is empty and ready. */
struct arena {
    struct arena_block *head; /* newest; older ones are linked behind it */
    size_t used_bytes;        /* handed out since the last reset, padding included */
};

/* `size` bytes aligned for any type, zeroed; NULL when memory is out. Size 0 gives a unique address. */
void *arena__alloc(struct arena *arena, size_t size);
/* Likewise, at a multiple of `align`: a power of two, that of any type or larger. */
void *arena__alloc_aligned(struct arena *arena, size_t size, size_t align);
/* n * size bytes, zeroed; NULL when memory is out or the product overflows. */
void *arena__array(struct arena *arena, size_t n, size_t size);
void *arena__copy(struct arena *arena, const void *data, size_t size);
char *arena__strdup(struct arena *arena, const char *text);
char *arena__printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Everything handed out becomes invalid; the newest block is kept for reuse. */
void arena__reset(struct arena *arena);
void arena__free(struct arena *arena);

#endif
