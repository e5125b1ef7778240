/* SPDX-License-Identifier: Apache-2.0 */
/* Hash functions for tables in memory: the same on every host, not for adversaries. */
#ifndef FATHOM_BASE_HASH_H
#define FATHOM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A bijection of 64 bits in which every input bit reaches every output bit. */
static inline uint64_t hash__mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 28;
    return x;
}

static inline uint64_t hash__combine(uint64_t seed, uint64_t x)
{
    return hash__mix(seed * 0x9e3779b97f4a7c15ULL + x);
}

/* FNV-1a. */
static inline uint64_t hash__bytes(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325ULL;

    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x100000001b3ULL;
    return h;
}

static inline uint64_t hash__string(const char *text)
{
    uint64_t h = 0xcbf29ce484222325ULL;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3ULL;
    return h;
}

#endif
