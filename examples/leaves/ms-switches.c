/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bit tests in memory with the bit number in a register: ten uops, too many for the decoders, so that the
 * front end switches to the microcode sequencer and back for each. They do not wait for each other.
 * Bound by: MS Switches. Control: the same on a register.
 */
#include "leaves.h"

static _Alignas(LINE) uint64_t field[8];

#define ROUNDS(place, n)                                                                                     \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept 4\n"                                                                             \
                     "bt %%rcx, " place "\n"                                                                 \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n)                                                                               \
                     : "c"(3), "a"(field)                                                                    \
                     : "cc")

int main(int argc, char **argv)
{
    uint64_t n = 500000;

    if (leaf__is_control(argc, argv))
        ROUNDS("%%rax", n);
    else
        ROUNDS("(%%rax)", n);
    return leaf__print(argv, n);
}
