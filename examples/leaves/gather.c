/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Independent loads from random lines of 64 MiB: the addresses do not depend on the loads, so the core
 * sends as many misses as it has fill buffers, and the next has to wait for one.
 * Bound by: Fill Buffer Full. Control: the same from 16 KiB.
 */
#include "leaves.h"

enum { LOADS = 400000, FIELD_LOG2 = 26 };

static _Alignas(PAGE) char field[1 << FIELD_LOG2];

int main(int argc, char **argv)
{
    uint64_t n = LOADS, x = 1, sum = 0, place;
    uint64_t mask = leaf__is_control(argc, argv) ? 0x3fc0 : (1 << FIELD_LOG2) - LINE;

    __asm__ volatile(".balign 64\n"
                     "1: mov %[x], %[place]\n"
                     "shr $36, %[place]\n"
                     "and %[mask], %[place]\n"
                     "imul %[factor], %[x]\n"
                     "add %[step], %[x]\n"
                     "add (%[field],%[place]), %[sum]\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(n), [sum] "+r"(sum), [place] "=&r"(place)
                     : [mask] "r"(mask), [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [field] "r"(field)
                     : "memory");
    return leaf__print(argv, x + sum);
}
