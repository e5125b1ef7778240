/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instruction of dozens of uops, all from the microcode sequencer, and nothing to wait for: the core is
 * busy retiring them.
 * Bound by: Micro Sequencer. Control: as many NOPs of the same length.
 */
#include "leaves.h"

#define ROUNDS(op, n)                                                                                        \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept 8\n" op "\n"                                                                     \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",      \
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 300000;

    if (leaf__is_control(argc, argv))
        ROUNDS(".byte 0x0f, 0x1f, 0", n);
    else
        ROUNDS("vzeroall", n);
    return leaf__print(argv, n);
}
