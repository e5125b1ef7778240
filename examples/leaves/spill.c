/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sum that is kept in memory: each addition reads what the one before has just written. The store buffer
 * forwards it, which takes as long as a hit in the L1 cache.
 * Bound by: L1 Latency. Control: the sum is kept in a register.
 */
#include "leaves.h"

int main(int argc, char **argv)
{
    uint64_t n = 600000, sum = 0, cell = 0;

    if (leaf__is_control(argc, argv))
        __asm__ volatile("1: add %0, %1\n"
                         "add $3, %1\n"
                         "xor %0, %1\n"
                         "add $5, %1\n"
                         "dec %0\n"
                         "jnz 1b"
                         : "+r"(n), "+r"(sum)::"cc");
    else
        __asm__ volatile("1: add %0, (%2)\n"
                         "addq $3, (%2)\n"
                         "xor %0, (%2)\n"
                         "addq $5, (%2)\n"
                         "dec %0\n"
                         "jnz 1b"
                         : "+r"(n)
                         : "r"(sum), "r"(&cell)
                         : "memory", "cc");
    return leaf__print(argv, sum + cell);
}
