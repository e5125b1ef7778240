/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing but stores to lines that the L1 cache holds: one a cycle can be sent and committed, four could be
 * issued. The store buffer is full, but of stores that wait for their turn, not for memory.
 * Bound by: Ports. Control: three of four are instructions for other ports.
 */
#include "leaves.h"

#define STORE(k, r) "mov %0, " #k "(%1)\n"
#define OTHER(k, r) "mov $" #k ", %%" #r "\n"
#define ROUNDS(REST, n)                                                                                      \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n" STORE(0, eax) REST(8, ecx) REST(16, edx) REST(24, esi) STORE(32, eax)            \
                         REST(40, ecx) REST(48, edx) REST(56, esi) "dec %0\n"                                \
                                                                   "jnz 1b"                                  \
                     : "+r"(n)                                                                               \
                     : "r"(field)                                                                            \
                     : "rcx", "rdx", "rsi", "memory", "cc")

static _Alignas(LINE) char field[LINE];

int main(int argc, char **argv)
{
    uint64_t n = 400000;

    if (leaf__is_control(argc, argv))
        ROUNDS(OTHER, n);
    else
        ROUNDS(STORE, n);
    return leaf__print(argv, n);
}
