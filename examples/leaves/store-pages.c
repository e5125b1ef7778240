/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores to one line of each of 2048 pages, in turn: the lines stay in the second-level cache, their
 * translations do not fit the second-level TLB, so every store waits for a page walk before it commits.
 * Bound by: DTLB Stores. Control: the same number of lines side by side.
 */
#include "leaves.h"

enum { LINES = 2048, PASSES = 700 };

static _Alignas(PAGE) char field[LINES * (PAGE + LINE)];

int main(int argc, char **argv)
{
    uint64_t stride = leaf__is_control(argc, argv) ? LINE : PAGE + LINE;

    for (int pass = 0; pass < PASSES; pass++) {
        char *p = field;
        uint64_t n = LINES;

        __asm__ volatile("1: mov %[n], (%[p])\n"
                         "add %[stride], %[p]\n"
                         "dec %[n]\n"
                         "jnz 1b"
                         : [p] "+r"(p), [n] "+r"(n)
                         : [stride] "r"(stride)
                         : "memory");
    }
    return leaf__print(argv, (uint64_t)field[0]);
}
