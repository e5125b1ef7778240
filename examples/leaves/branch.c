/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A branch on a random bit: it goes the wrong way every second time.
 * Bound by: Branch Mispredicts. Control: the same code with a factor of 1 and a step of a quarter of the
 * range, which makes the bit repeat every four rounds.
 */
#include "leaves.h"

enum { ROUNDS = 550000 };

int main(int argc, char **argv)
{
    bool control = leaf__is_control(argc, argv);
    uint64_t n = ROUNDS, x = 1, count = 0, factor = control ? 1 : LEAF_FACTOR;
    uint64_t step = control ? 1ull << 62 : LEAF_STEP;

    __asm__ volatile(".balign 64\n"
                     "1: imul %[factor], %[x]\n"
                     "add %[step], %[x]\n"
                     "test %[x], %[x]\n"
                     "js 2f\n"
                     "add $1, %[count]\n"
                     "2: dec %[n]\n"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(n), [count] "+r"(count)
                     : [factor] "r"(factor), [step] "r"(step)
                     : "memory");
    return leaf__print(argv, count);
}
