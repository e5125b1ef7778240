/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads from 128 KiB, line after line in an order that no prefetcher follows. They do not wait for each
 * other, and so many lines a cycle the L2 cache does not deliver. Bound by: L2 Bound. Control: 8 KiB.
 */
#include "leaves.h"

enum { QUARTER = 32 * KIB, SMALL_QUARTER = 2 * KIB, STEP = 17 * LINE };

static _Alignas(PAGE) char field[4 * QUARTER];

/* One line of each quarter, not in the same bank of the L1. */
#define ROUNDS(quarter, n, place)                                                                            \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1: add (%[field],%[place]), %%rax\n"                                                   \
                     "add %c[b](%[field],%[place]), %%rcx\n"                                                 \
                     "add %c[c](%[field],%[place]), %%rdx\n"                                                 \
                     "add %c[d](%[field],%[place]), %%rsi\n"                                                 \
                     "add %[step], %[place]\n"                                                               \
                     "and %[mask], %[place]\n"                                                               \
                     "dec %[n]\n"                                                                            \
                     "jnz 1b"                                                                                \
                     : [n] "+r"(n), [place] "+r"(place)                                                      \
                     : [mask] "i"((quarter)-LINE), [step] "i"(STEP), [field] "r"(field),                     \
                       [b] "i"((quarter) + 8), [c] "i"(2 * (quarter) + 16), [d] "i"(3 * (quarter) + 24)      \
                     : "memory", "rax", "rcx", "rdx", "rsi", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 450000, place = 0;

    if (leaf__is_control(argc, argv))
        ROUNDS(SMALL_QUARTER, n, place);
    else
        ROUNDS(QUARTER, n, place);
    return leaf__print(argv, place);
}
