/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter that is read, incremented and written back with CMPXCHG until nobody came between: the lock
 * waits for everything older, and the next read for the lock.
 * Bound by: Lock Latency. Control: without the prefix.
 */
#include "leaves.h"

#define ROUNDS(prefix, n)                                                                                    \
    __asm__ volatile("mov (%1), %%rax\n"                                                                     \
                     "1:\n"                                                                                  \
                     "lea 3(%%rax), %%rdx\n" prefix " cmpxchg %%rdx, (%1)\n"                                 \
                     "jne 1b\n"                                                                              \
                     "mov %%rdx, %%rax\n"                                                                    \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)                                                                               \
                     : "r"(&cell)                                                                            \
                     : "rax", "rdx", "memory", "cc")

static uint64_t cell;

int main(int argc, char **argv)
{
    uint64_t n = 500000;

    if (leaf__is_control(argc, argv))
        ROUNDS("", n);
    else
        ROUNDS("lock", n);
    return leaf__print(argv, cell);
}
