/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fence after every few instructions: nothing younger starts before everything older is done.
 * Bound by: Serializing. Control: a NOP of the same length.
 */
#include "leaves.h"

#define ROUNDS(fence, n)                                                                                     \
    __asm__ volatile("1:\n"                                                                                  \
                     ".rept 4\n"                                                                             \
                     "add $1, %%rax\n"                                                                       \
                     "add $1, %%rcx\n" fence "\n"                                                            \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)::"rax", "rcx", "memory", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 220000;

    if (leaf__is_control(argc, argv))
        ROUNDS("nopl (%%rax)", n);
    else
        ROUNDS("lfence", n);
    return leaf__print(argv, n);
}
