/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores to two lines each of random pages in 64 MiB. Every line must be owned before its store can leave the
 * store buffer, and there are as many requests under way as fill buffers. The page walks, one for two stores,
 * are hidden behind that.
 * Bound by: Store Latency. Control: the same into 16 KiB.
 */
#include "leaves.h"

enum { ROUNDS = 330000, FIELD_LOG2 = 26, OTHER = PAGE / 2 };

static _Alignas(PAGE) char field[1 << FIELD_LOG2];

int main(int argc, char **argv)
{
    uint64_t n = ROUNDS, x = 1, place;
    uint64_t mask = (leaf__is_control(argc, argv) ? 0x4000 : 1 << FIELD_LOG2) - LINE - OTHER;

    __asm__ volatile(".balign 64\n"
                     "1: mov %[x], %[place]\n"
                     "shr $36, %[place]\n"
                     "and %[mask], %[place]\n"
                     "imul %[factor], %[x]\n"
                     "add %[step], %[x]\n"
                     "mov %[n], (%[field],%[place])\n"
                     "mov %[n], %c[other](%[field],%[place])\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(n), [place] "=&r"(place)
                     : [mask] "r"(mask), [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [field] "r"(field),
                       [other] "i"(OTHER)
                     : "memory", "cc");
    return leaf__print(argv, x);
}
