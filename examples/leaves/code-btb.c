/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 7168 jumps, four in every 16 bytes, 28 KiB: more than the branch target buffer holds, though the code
 * fits the L1I. A jump that is not known is only found by the decoder, and fetch starts again.
 * Bound by: Unknown Branches. Control: 1024 such jumps.
 */
#include "leaves.h"

/* A jump over two bytes that are never executed. */
#define PASSES(jumps, passes)                                                                                \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept " #jumps "\n"                                                                    \
                     ".byte 0xeb, 2, 0x66, 0x90\n"                                                           \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(passes)::"cc")

int main(int argc, char **argv)
{
    uint64_t passes;

    if (leaf__is_control(argc, argv)) {
        passes = 6000;
        PASSES(1024, passes);
    } else {
        passes = 430;
        PASSES(7168, passes);
    }
    return leaf__print(argv, passes);
}
