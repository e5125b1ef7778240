/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotations through carry by a variable amount: too many uops for the decoders, so they come from the
 * microcode sequencer, and the front end switches to it and back for each.
 * Bound by: MS Switches. Control: plain rotations.
 */
#include "leaves.h"

#define ROUNDS(op, n)                                                                                        \
    __asm__ volatile("1:\n" op " %%cl, %%rax\n" op " %%cl, %%rdx\n" op " %%cl, %%rsi\n" op " %%cl, %%rdi\n"  \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)                                                                               \
                     : "c"(3)                                                                                \
                     : "rax", "rdx", "rsi", "rdi", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 500000;

    if (leaf__is_control(argc, argv))
        ROUNDS("rol", n);
    else
        ROUNDS("rcl", n);
    return leaf__print(argv, n);
}
