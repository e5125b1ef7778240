/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing but loads that hit the L1 cache: two a cycle can start, four could be issued.
 * Bound by: Ports. Control: every second load is an instruction for another port.
 */
#include "leaves.h"

#define LOAD(k, r) "mov " #k "(%1), %%" #r "\n"
#define OTHER(k, r) "mov $" #k ", %%" #r "\n"
#define ROUNDS(SECOND, n)                                                                                    \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n" LOAD(0, eax) SECOND(8, ecx) LOAD(16, edx) SECOND(24, esi) LOAD(32, eax)          \
                         SECOND(40, ecx) LOAD(48, edx) SECOND(56, esi) "dec %0\n"                            \
                                                                       "jnz 1b"                              \
                     : "+r"(n)                                                                               \
                     : "r"(field)                                                                            \
                     : "rax", "rcx", "rdx", "rsi", "cc")

static _Alignas(LINE) char field[LINE];

int main(int argc, char **argv)
{
    uint64_t n = 700000;

    if (leaf__is_control(argc, argv))
        ROUNDS(OTHER, n);
    else
        ROUNDS(LOAD, n);
    return leaf__print(argv, n);
}
