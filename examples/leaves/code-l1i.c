/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 128 KiB of straight-line code, again and again: it fits the second-level cache, not the L1I, and every
 * line is fetched from there.
 * Bound by: ICache Misses. Control: the same instructions in a loop of 16 KiB.
 */
#include "leaves.h"

/* Instructions of four bytes that do not wait for each other. */
#define PASSES(n_insns, passes)                                                                              \
    __asm__ volatile("1:\n"                                                                                  \
                     ".rept " #n_insns " / 4\n"                                                              \
                     "lea 1(%%rdi), %%rax\n"                                                                 \
                     "lea 2(%%rdi), %%rdx\n"                                                                 \
                     "lea 3(%%rdi), %%rsi\n"                                                                 \
                     "lea 4(%%rdi), %%rcx\n"                                                                 \
                     ".endr\n"                                                                               \
                     "dec %%rdi\n"                                                                           \
                     "jnz 1b"                                                                                \
                     : "+D"(passes)::"rax", "rcx", "rdx", "rsi", "cc")

int main(int argc, char **argv)
{
    uint64_t passes;

    if (leaf__is_control(argc, argv)) {
        passes = 800;
        PASSES(4096, passes);
    } else {
        passes = 100;
        PASSES(32768, passes);
    }
    return leaf__print(argv, passes);
}
