/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Additions that each wait for the one before: three or four cycles for one uop.
 * Bound by: Dependency. Control: the same additions into eight registers.
 */
#include "leaves.h"

#define ROUNDS(r0, r1, r2, r3, r4, r5, r6, r7, n)                                                            \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1: addsd %%xmm8, %%xmm" #r0 "\n"                                                       \
                     "addsd %%xmm8, %%xmm" #r1 "\n"                                                          \
                     "addsd %%xmm8, %%xmm" #r2 "\n"                                                          \
                     "addsd %%xmm8, %%xmm" #r3 "\n"                                                          \
                     "addsd %%xmm8, %%xmm" #r4 "\n"                                                          \
                     "addsd %%xmm8, %%xmm" #r5 "\n"                                                          \
                     "addsd %%xmm8, %%xmm" #r6 "\n"                                                          \
                     "addsd %%xmm8, %%xmm" #r7 "\n"                                                          \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",      \
                       "cc")

int main(int argc, char **argv)
{
    uint64_t n = 500000;

    if (leaf__is_control(argc, argv))
        ROUNDS(0, 1, 2, 3, 4, 5, 6, 7, n);
    else
        ROUNDS(0, 0, 0, 0, 0, 0, 0, 0, n);
    return leaf__print(argv, n);
}
