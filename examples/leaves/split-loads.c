/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of loads of a pointer that lies across two lines: each needs both.
 * Bound by: Split Loads. Control: the pointer is aligned.
 */
#include "leaves.h"

static _Alignas(PAGE) char field[PAGE];

int main(int argc, char **argv)
{
    char *p = field + 2 * LINE - (leaf__is_control(argc, argv) ? 8 : 4);
    uint64_t n = 320000;

    memcpy(p, &p, sizeof(void *)); /* points at itself */
    __asm__ volatile("1:\n"
                     ".rept 8\n"
                     "mov (%[p]), %[p]\n"
                     ".endr\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [n] "+r"(n), [p] "+r"(p)::"memory", "cc");
    return leaf__print(argv, (uint64_t)(p - field));
}
