/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3072 long instructions (7 bytes) in a row: twice what the uop cache holds, within the L1I. The decoders
 * get 16 bytes a cycle, two instructions.
 * Bound by: MITE. Control: 512 of them, from the uop cache (or the loop stream detector).
 */
#include "leaves.h"

#define PASSES(n_insns, passes)                                                                              \
    __asm__ volatile(".balign 64\n"                                                                          \
                     "1:\n"                                                                                  \
                     ".rept " #n_insns " / 4\n"                                                              \
                     "mov $0x11111111, %%rax\n"                                                              \
                     "mov $0x22222222, %%rdx\n"                                                              \
                     "mov $0x33333333, %%rsi\n"                                                              \
                     "mov $0x44444444, %%rcx\n"                                                              \
                     ".endr\n"                                                                               \
                     "dec %%rdi\n"                                                                           \
                     "jnz 1b"                                                                                \
                     : "+D"(passes)::"rax", "rcx", "rdx", "rsi", "cc")

int main(int argc, char **argv)
{
    uint64_t passes;

    if (leaf__is_control(argc, argv)) {
        passes = 12000;
        PASSES(512, passes);
    } else {
        passes = 1600;
        PASSES(3072, passes);
    }
    return leaf__print(argv, passes);
}
