/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit divisions of numbers that are not known: dozens of microcode uops each, but the divider takes
 * longer than all of them. The divisions do not wait for each other's result.
 * Bound by: Divider. Control: multiplications.
 */
#include "leaves.h"

#define ROUNDS(op, n, x)                                                                                     \
    __asm__ volatile("1:\n"                                                                                  \
                     "mov %1, %%rax\n"                                                                       \
                     "xor %%edx, %%edx\n" op " %1\n"                                                         \
                     "lea 5(%1), %%rax\n"                                                                    \
                     "xor %%edx, %%edx\n" op " %1\n"                                                         \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)                                                                               \
                     : "r"(x)                                                                                \
                     : "rax", "rdx", "cc")

int main(int argc, char **argv)
{
    uint64_t n, x = 0x123456789abcdef;

    if (leaf__is_control(argc, argv)) {
        n = 400000;
        ROUNDS("mul", n, x);
    } else {
        n = 400000;
        ROUNDS("div", n, x);
    }
    return leaf__print(argv, n + x);
}
