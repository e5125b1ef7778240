/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores across two lines: each takes two cycles to leave the store buffer, one a cycle comes in.
 * Bound by: Split Stores. Control: the stores are aligned.
 */
#include "leaves.h"

static _Alignas(PAGE) char field[PAGE];

int main(int argc, char **argv)
{
    char *p = field + (leaf__is_control(argc, argv) ? 0 : LINE - 4);
    uint64_t n = 600000;

    __asm__ volatile("1:\n"
                     ".set leaf_place, 0\n"
                     ".rept 8\n"
                     "mov %[n], leaf_place(%[p])\n"
                     ".set leaf_place, leaf_place + 64\n"
                     ".endr\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [n] "+r"(n)
                     : [p] "r"(p)
                     : "memory", "cc");
    return leaf__print(argv, (uint64_t)field[LINE]);
}
