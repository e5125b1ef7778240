/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linked list of lines in random order with a payload: two words of each element are added up on the way.
 * The list fits the L3 cache. The additions wait for the loads, not for each other.
 * Bound by: L3 Bound. Control: a list that fits the L1 cache.
 */
#include "leaves.h"

enum { ELEMENTS = 12288, FEW = 256, STEPS = 450000 };

struct element {
    struct element *next;
    uint64_t value[7];
};
static _Alignas(PAGE) struct element field[ELEMENTS];

/* Sattolo's shuffle: one cycle through all elements. */
static void link_elements(uint32_t n)
{
    static uint32_t order[ELEMENTS];
    uint64_t x = 1;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        x = x * LEAF_FACTOR + LEAF_STEP;
        uint32_t k = (uint32_t)((x >> 32) * i >> 32), other = order[k];

        order[k] = order[i];
        order[i] = other;
    }
    for (uint32_t i = 0; i < n; i++)
        field[i] = (struct element){&field[order[i]], {i, 0, i + 1}};
}

int main(int argc, char **argv)
{
    uint64_t n = STEPS, sum = 0;
    struct element *p = field;

    link_elements(leaf__is_control(argc, argv) ? FEW : ELEMENTS);
    __asm__ volatile("1: mov 8(%[p]), %%rax\n"
                     "xor 24(%[p]), %%rax\n"
                     "mov (%[p]), %[p]\n"
                     "add %%rax, %[sum]\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [p] "+r"(p), [n] "+r"(n), [sum] "+r"(sum)::"rax", "memory", "cc");
    return leaf__print(argv, sum);
}
