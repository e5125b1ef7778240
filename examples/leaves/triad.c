/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a[i] = b[i] + s * c[i] over arrays of 16 MiB, once: every line comes from memory or goes there, the
 * prefetchers see all of them coming, and what remains is the bandwidth.
 * Bound by: MEM Bandwidth. Control: the same number of elements from arrays of 4 KiB.
 */
#include "leaves.h"

enum { BYTES = 16 * MIB, SMALL = 4 * KIB };

/* Not the same distance from a page: no 4K aliasing. */
static _Alignas(PAGE) char a[BYTES + 3 * LINE], b[BYTES + 7 * LINE], c[BYTES + 11 * LINE];

static void pass(uint64_t bytes)
{
    uint64_t i = 0;

    __asm__ volatile("1: movapd (%[c],%[i]), %%xmm0\n"
                     "mulpd %%xmm1, %%xmm0\n"
                     "addpd (%[b],%[i]), %%xmm0\n"
                     "movapd %%xmm0, (%[a],%[i])\n"
                     "add $16, %[i]\n"
                     "cmp %[bytes], %[i]\n"
                     "jb 1b"
                     : [i] "+r"(i)
                     : [a] "r"(a), [b] "r"(b + 4 * LINE), [c] "r"(c + 8 * LINE), [bytes] "r"(bytes)
                     : "memory", "xmm0", "xmm1");
}

int main(int argc, char **argv)
{
    uint64_t step = leaf__is_control(argc, argv) ? SMALL : BYTES / 2;

    for (uint64_t done = 0; done < BYTES / 2; done += step)
        pass(step);
    return leaf__print(argv, (uint64_t)a[0]);
}
