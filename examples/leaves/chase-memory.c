/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chase through 64 MiB of zeros: the next address is computed from the value loaded, which is always 0
 * but only the memory knows that. One miss at a time, random lines, eight times the last-level cache.
 * Bound by: MEM Latency. Control: the same through 16 KiB.
 */
#include "leaves.h"

enum { LOADS = 440000, FIELD_LOG2 = 26 };

static _Alignas(PAGE) char field[1 << FIELD_LOG2];

int main(int argc, char **argv)
{
    uint64_t n = LOADS, x = 1, place, mask = leaf__is_control(argc, argv) ? 0x3fc0 : (1 << FIELD_LOG2) - LINE;

    __asm__ volatile("1: mov %[x], %[place]\n"
                     "shr $36, %[place]\n"
                     "and %[mask], %[place]\n"
                     "imul %[factor], %[x]\n"
                     "add %[step], %[x]\n"
                     "add (%[field],%[place]), %[x]\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(n), [place] "=&r"(place)
                     : [mask] "r"(mask), [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [field] "r"(field)
                     : "memory");
    return leaf__print(argv, x);
}
