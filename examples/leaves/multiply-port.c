/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Six independent chains of multiplications: only one port multiplies, and each waits for it longer than
 * for its operand.
 * Bound by: Ports. Control: one multiplication and five additions.
 */
#include "leaves.h"

#define ROUNDS(op, n)                                                                                        \
    __asm__ volatile("1:\n"                                                                                  \
                     ".rept 2\n"                                                                             \
                     "imul %%rdi, %%rax\n" op " %%rdi, %%rcx\n" op " %%rdi, %%rdx\n" op " %%rdi, %%rsi\n" op \
                     " %%rdi, %%r8\n" op " %%rdi, %%r9\n"                                                    \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)::"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 250000;

    if (leaf__is_control(argc, argv))
        ROUNDS("add", n);
    else
        ROUNDS("imul", n);
    return leaf__print(argv, n);
}
