/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locked additions: each waits until all stores before it are in the cache, and lets no load past.
 * Bound by: Lock Latency. Control: the same additions without the lock.
 */
#include "leaves.h"

static _Alignas(PAGE) char field[PAGE];

#define ROUNDS(op, n)                                                                                        \
    __asm__ volatile("1:\n" op " $1, (%1)\n" op " $1, 64(%1)\n" op " $1, 128(%1)\n" op " $1, 192(%1)\n"      \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)                                                                               \
                     : "r"(field)                                                                            \
                     : "memory", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 500000;

    if (leaf__is_control(argc, argv))
        ROUNDS("addq", n);
    else
        ROUNDS("lock addq", n);
    return leaf__print(argv, (uint64_t)field[0]);
}
