/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indirect calls to one of sixteen functions, chosen at random: no predictor can know the target.
 * Bound by: Branch Mispredicts. Control: the same code, where all sixteen entries are the same function.
 */
#include "leaves.h"

enum { CALLS = 400000, TARGETS = 16, TARGET_BYTES = 16 };

/* add $constant, %rdx; ret; sixteen times */
__asm__(".text\n"
        ".balign 16\n"
        "leaf_targets:\n"
        ".set leaf_target, 0\n"
        ".rept 16\n"
        ".balign 16\n"
        "add $leaf_target, %rdx\n"
        "ret\n"
        ".set leaf_target, leaf_target + 1\n"
        ".endr\n");
extern char leaf_targets[];

int main(int argc, char **argv)
{
    bool control = leaf__is_control(argc, argv);
    register uint64_t sum __asm__("rdx") = 0;
    uint64_t n = CALLS, x = 1, which;
    char *target[TARGETS];

    for (int i = 0; i < TARGETS; i++)
        target[i] = leaf_targets + (control ? 0 : i * TARGET_BYTES);
    __asm__ volatile("sub $128, %%rsp\n"
                     ".balign 64\n"
                     "1: imul %[factor], %[x]\n"
                     "add %[step], %[x]\n"
                     "mov %[x], %[which]\n"
                     "shr $60, %[which]\n"
                     "call *(%[target],%[which],8)\n"
                     "dec %[n]\n"
                     "jnz 1b\n"
                     "add $128, %%rsp"
                     : [x] "+r"(x), [n] "+r"(n), [which] "=&r"(which), [sum] "+r"(sum)
                     : [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [target] "r"(target)
                     : "memory", "cc");
    return leaf__print(argv, sum);
}
