/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 128 KiB of straight-line code, again and again: it fits the second-level cache, not the L1I, and every
 * line is fetched from there.
 * Bound by: ICache Misses. Control: the same instructions in a loop of 20 KiB.
 */
#include "leaves.h"

/* Instructions of five bytes that do not wait for each other. */
#define PASSES(n_insns, passes)                                                                              \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept " #n_insns " / 4\n"                                                              \
                     "mov $1, %%eax\n"                                                                       \
                     "mov $2, %%edx\n"                                                                       \
                     "mov $3, %%esi\n"                                                                       \
                     "mov $4, %%ecx\n"                                                                       \
                     ".endr\n"                                                                               \
                     "dec %%rdi\n"                                                                           \
                     "jnz 1b"                                                                                \
                     : "+D"(passes)::"rax", "rcx", "rdx", "rsi", "cc")

int main(int argc, char **argv)
{
    uint64_t passes;

    if (leaf__is_control(argc, argv)) {
        passes = 1200;
        PASSES(4096, passes);
    } else {
        passes = 150;
        PASSES(26624, passes);
    }
    return leaf__print(argv, passes);
}
