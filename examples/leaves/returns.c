/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Returns that do not go back to where the call was: the function replaces its return address by one of two,
 * at random, so that the return stack is wrong every second time.
 * Bound by: Return mispredictions. Control: the same code, where both addresses are that of the call.
 */
#include "leaves.h"

enum { CALLS = 350000 };

int main(int argc, char **argv)
{
    bool control = leaf__is_control(argc, argv);
    uint64_t n = CALLS, x = 1, which, count = 0, back[2];

    __asm__ volatile(
        "sub $128, %%rsp\n"
        "lea 2f(%%rip), %[which]\n"
        "mov %[which], (%[back])\n"
        "lea 3f(%%rip), %%r11\n"
        "test %[control], %[control]\n"
        "cmovnz %[which], %%r11\n"
        "mov %%r11, 8(%[back])\n"
        "jmp 1f\n"
        ".balign 64\n"
        "5: mov %[which], (%%rsp)\n" /* the function */
        "ret\n"
        ".balign 64\n"
        "1: imul %[factor], %[x]\n"
        "add %[step], %[x]\n"
        "mov %[x], %[which]\n"
        "shr $63, %[which]\n"
        "mov (%[back],%[which],8), %[which]\n"
        "call 5b\n"
        "2: add $1, %[count]\n"
        "3: dec %[n]\n"
        "jnz 1b\n"
        "add $128, %%rsp"
        : [x] "+r"(x), [n] "+r"(n), [which] "=&r"(which), [count] "+r"(count)
        : [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [back] "r"(back), [control] "r"((uint64_t)control)
        : "memory", "cc", "r11");
    return leaf__print(argv, count);
}
