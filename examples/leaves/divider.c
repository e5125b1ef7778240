/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Independent divisions: there is one divider, and it is busy for several cycles with each.
 * Bound by: Divider. Control: multiplications.
 */
#include "leaves.h"

#define ROUNDS(op, n)                                                                                        \
    __asm__ volatile("movsd %1, %%xmm8\n"                                                                    \
                     ".balign 64\n"                                                                          \
                     "1: movaps %%xmm8, %%xmm0\n" op " %%xmm8, %%xmm0\n"                                     \
                     "movaps %%xmm8, %%xmm1\n" op " %%xmm8, %%xmm1\n"                                        \
                     "movaps %%xmm8, %%xmm2\n" op " %%xmm8, %%xmm2\n"                                        \
                     "movaps %%xmm8, %%xmm3\n" op " %%xmm8, %%xmm3\n"                                        \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)                                                                               \
                     : "m"(value)                                                                            \
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm8", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 500000;
    double value = 1.0;

    if (leaf__is_control(argc, argv))
        ROUNDS("mulsd", n);
    else
        ROUNDS("divsd", n);
    return leaf__print(argv, n);
}
