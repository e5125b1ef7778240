/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, ALIGN_BYTES = _Alignof(max_align_t) };

struct arena_block {
    struct arena_block *older;
    size_t used, capacity;
    _Alignas(max_align_t) unsigned char data[];
};

static struct arena_block *block__new(size_t capacity, struct arena_block *older)
{
    struct arena_block *block = malloc(sizeof(*block) + capacity);

    if (!block)
        return NULL;
    block->older = older;
    block->used = 0;
    block->capacity = capacity;
    return block;
}

/* What is missing from the next free byte of `block` to an address that is a multiple of `align`. */
static size_t padding(const struct arena_block *block, size_t align)
{
    return -((uintptr_t)block->data + block->used) & (align - 1);
}

/* Memory of `size` bytes whose content is not set. */
static void *take_aligned(struct arena *arena, size_t size, size_t align)
{
    struct arena_block *block = arena->head;
    size_t rounded, pad;
    void *p;

    if (size > SIZE_MAX / 2)
        return NULL;
    rounded = (size + (size == 0) + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    pad = block ? padding(block, align) : 0;
    if (!block || pad + rounded > block->capacity - block->used) {
        size_t capacity = rounded + align;
        block = block__new(capacity > BLOCK_BYTES ? capacity : BLOCK_BYTES, arena->head);
        if (!block)
            return NULL;
        arena->head = block;
        pad = padding(block, align);
    }
    p = block->data + block->used + pad;
    block->used += pad + rounded;
    arena->used_bytes += pad + rounded;
    return p;
}

static void *take(struct arena *arena, size_t size)
{
    return take_aligned(arena, size, ALIGN_BYTES);
}

void *arena__alloc(struct arena *arena, size_t size)
{
    void *p = take(arena, size);

    return p ? memset(p, 0, size) : NULL;
}

void *arena__alloc_aligned(struct arena *arena, size_t size, size_t align)
{
    void *p;

    assert(align >= ALIGN_BYTES && (align & (align - 1)) == 0);
    p = take_aligned(arena, size, align);
    return p ? memset(p, 0, size) : NULL;
}

void *arena__array(struct arena *arena, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    return arena__alloc(arena, bytes);
}

void *arena__copy(struct arena *arena, const void *data, size_t size)
{
    void *p = take(arena, size);

    if (p && size)
        memcpy(p, data, size);
    return p;
}

char *arena__strdup(struct arena *arena, const char *text)
{
    return arena__copy(arena, text, strlen(text) + 1);
}

char *arena__printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    char *text = NULL;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0)
        return NULL;
    text = take(arena, (size_t)n + 1);
    if (!text)
        return NULL;
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

static void free_blocks(struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;

        free(block);
        block = older;
    }
}

void arena__reset(struct arena *arena)
{
    if (arena->head) {
        free_blocks(arena->head->older);
        arena->head->older = NULL;
        arena->head->used = 0;
    }
    arena->used_bytes = 0;
}

void arena__free(struct arena *arena)
{
    free_blocks(arena->head);
    arena->head = NULL;
    arena->used_bytes = 0;
}
