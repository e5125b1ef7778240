/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Independent loads of 16 bytes that lie across two lines: each takes its port twice.
 * Bound by: Split Loads. Control: aligned.
 */
#include "leaves.h"

static _Alignas(PAGE) char field[PAGE];

int main(int argc, char **argv)
{
    const char *p = field + (leaf__is_control(argc, argv) ? 48 : 56);
    uint64_t n = 300000;

    __asm__ volatile(".balign 64\n"
                     "1: movups (%1), %%xmm0\n"
                     "movups 64(%1), %%xmm1\n"
                     "movups 128(%1), %%xmm2\n"
                     "xor %%eax, %%eax\n"
                     "movups 192(%1), %%xmm3\n"
                     "movups 256(%1), %%xmm4\n"
                     "xor %%ecx, %%ecx\n"
                     "movups 320(%1), %%xmm5\n"
                     "xor %%edx, %%edx\n"
                     "xor %%esi, %%esi\n"
                     "dec %0\n"
                     "jnz 1b"
                     : "+r"(n)
                     : "r"(p)
                     : "rax", "rcx", "rdx", "rsi", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "cc");
    return leaf__print(argv, n);
}
