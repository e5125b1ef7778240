/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 448 lines of code, each on a page of its own: they fit the L1I, but not the uop cache, and need more
 * translations than the ITLB has. The second-level TLB has them all.
 * Bound by: ITLB Misses. Control: the same lines side by side.
 */
#include "leaves.h"

/* Line i stands "distance" bytes after the one before and moved by i lines within the page; it holds 8
 * instructions and the jump to the next. */
#define PASSES(lines, distance, passes)                                                                      \
    __asm__ volatile(".balign 4096\n"                                                                        \
                     "1:\n"                                                                                  \
                     ".rept " #lines "\n"                                                                    \
                     "2:\n"                                                                                  \
                     ".rept 2\n"                                                                             \
                     "mov $1, %%eax\n"                                                                       \
                     "mov $2, %%edx\n"                                                                       \
                     "mov $3, %%esi\n"                                                                       \
                     "mov $4, %%ecx\n"                                                                       \
                     ".endr\n"                                                                               \
                     "jmp 2b + " #distance "\n"                                                              \
                     ".org 2b + " #distance "\n"                                                             \
                     ".endr\n"                                                                               \
                     "dec %%rdi\n"                                                                           \
                     "jnz 1b"                                                                                \
                     : "+D"(passes)::"rax", "rcx", "rdx", "rsi", "cc")

int main(int argc, char **argv)
{
    uint64_t passes = 1000;

    if (leaf__is_control(argc, argv))
        PASSES(448, 64, passes);
    else
        PASSES(448, 4096 + 64, passes);
    return leaf__print(argv, passes);
}
