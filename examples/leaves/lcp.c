/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Additions of 16-bit immediates: the operand-size prefix changes the length of the instruction, and the
 * predecoder stops at each. Twice what the uop cache holds, so that they are decoded every time.
 * Bound by: LCP. Control: the same with 32-bit immediates.
 */
#include "leaves.h"

#define PASSES(a, c, d, si, passes)                                                                          \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept 3072 / 4\n"                                                                      \
                     "add $0x1111, %%" a "\n"                                                                \
                     "add $0x2222, %%" c "\n"                                                                \
                     "add $0x3333, %%" d "\n"                                                                \
                     "add $0x4444, %%" si "\n"                                                               \
                     ".endr\n"                                                                               \
                     "dec %%rdi\n"                                                                           \
                     "jnz 1b"                                                                                \
                     : "+D"(passes)::"rax", "rcx", "rdx", "rsi", "cc")

int main(int argc, char **argv)
{
    uint64_t passes = 1000;

    if (leaf__is_control(argc, argv))
        PASSES("eax", "ecx", "edx", "esi", passes);
    else
        PASSES("ax", "cx", "dx", "si", passes);
    return leaf__print(argv, passes);
}
