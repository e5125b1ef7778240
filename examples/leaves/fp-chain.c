/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Additions that each wait for the one before: three or four cycles for one uop.
 * Bound by: Dependency. Control: the same additions of two numbers that nothing changes; what is left is the
 * number of adders.
 */
#include "leaves.h"

#define ROUNDS(add, n)                                                                                       \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept 12\n" add "\n"                                                                   \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)::"xmm0", "xmm1", "xmm2", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 300000;

    if (leaf__is_control(argc, argv))
        ROUNDS("vaddsd %%xmm1, %%xmm2, %%xmm0", n);
    else
        ROUNDS("vaddsd %%xmm1, %%xmm0, %%xmm0", n);
    return leaf__print(argv, n);
}
