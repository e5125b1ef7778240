/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three counters at random places of 64 MiB are counted up, and where the next three are depends on what was
 * read: three misses at a time, and every line goes back to memory changed.
 * Bound by: MEM Latency; MEM Bandwidth when copies share the memory (--copies 8). Control: 16 KiB.
 */
#include "leaves.h"

enum { ROUNDS = 120000, FIELD_LOG2 = 26 };

static _Alignas(PAGE) char field[1 << FIELD_LOG2];

int main(int argc, char **argv)
{
    uint64_t n = ROUNDS, x = 1, a, b, c,
             mask = leaf__is_control(argc, argv) ? 0x3fc0 : (1 << FIELD_LOG2) - LINE;

    __asm__ volatile("1: mov %[x], %[a]\n"
                     "shr $36, %[a]\n"
                     "mov %[x], %[b]\n"
                     "shr $24, %[b]\n"
                     "mov %[x], %[c]\n"
                     "shr $12, %[c]\n"
                     "and %[mask], %[a]\n"
                     "and %[mask], %[b]\n"
                     "and %[mask], %[c]\n"
                     "incq (%[field],%[a])\n"
                     "incq (%[field],%[b])\n"
                     "incq (%[field],%[c])\n"
                     "imul %[factor], %[x]\n"
                     "add %[step], %[x]\n"
                     "mov (%[field],%[a]), %[a]\n"
                     "mov (%[field],%[b]), %[b]\n"
                     "add (%[field],%[c]), %[x]\n"
                     "add %[a], %[x]\n"
                     "add %[b], %[x]\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(n), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                     : [mask] "r"(mask), [factor] "r"(LEAF_FACTOR), [step] "r"(LEAF_STEP), [field] "r"(field)
                     : "memory");
    return leaf__print(argv, x);
}
