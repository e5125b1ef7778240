/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 20000 elements at random places in 64 MiB, with 160 instructions of work on each: the window holds
 * only one or two of them, so nearly every miss is waited for, although its address is known long before.
 * Bound by: MEM Latency. Control: a software prefetch of the element sixteen rounds ahead.
 */
#include "leaves.h"

enum { ELEMENTS = 20000, FIELD_LOG2 = 26 };

static _Alignas(PAGE) char field[1 << FIELD_LOG2];

#define ROUNDS(fetch_ahead)                                                                                  \
    __asm__ volatile("1: imul %[factor], %[x]\n"                                                             \
                     "add %[step], %[x]\n"                                                                   \
                     "imul %[factor], %[ahead]\n"                                                            \
                     "add %[step], %[ahead]\n"                                                               \
                     "mov %[ahead], %%rcx\n"                                                                 \
                     "shr $38, %%rcx\n" fetch_ahead "\n"                                                     \
                     "mov %[x], %%rcx\n"                                                                     \
                     "shr $38, %%rcx\n"                                                                      \
                     "movzbl (%[field],%%rcx), %%eax\n"                                                      \
                     "mov %%rax, %%rcx\n"                                                                    \
                     "mov %%rax, %%rdx\n"                                                                    \
                     "mov %%rax, %%rsi\n"                                                                    \
                     ".rept 40\n"                                                                            \
                     "add $1, %%rax\n"                                                                       \
                     "add $2, %%rcx\n"                                                                       \
                     "add $3, %%rdx\n"                                                                       \
                     "add $4, %%rsi\n"                                                                       \
                     ".endr\n"                                                                               \
                     "dec %[n]\n"                                                                            \
                     "jnz 1b"                                                                                \
                     : [x] "+r"(x), [ahead] "+r"(ahead), [n] "+r"(n)                                         \
                     : [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [field] "r"(field)                  \
                     : "rax", "rcx", "rdx", "rsi", "memory", "cc")

int main(int argc, char **argv)
{
    uint64_t n = ELEMENTS, x = 1, ahead = 1;

    for (int i = 0; i < 16; i++)
        ahead = ahead * LEAF_FACTOR + LEAF_STEP;
    if (leaf__is_control(argc, argv))
        ROUNDS("prefetcht0 (%[field],%%rcx)");
    else
        ROUNDS("nopl (%%rax)");
    return leaf__print(argv, x);
}
