/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes lines one after the other through 18 MiB: each must be owned (RFO) before its stores can leave
 * the store buffer, in order, and the buffer is full most of the time. The additions between them leave the
 * port for stores free every other cycle.
 * Bound by: Store Latency. Control: the same stores over and over into 8 KiB.
 */
#include "leaves.h"

enum { LINES = 300000, BYTES = LINES * LINE };

static _Alignas(PAGE) char field[BYTES];

static void pass(uint64_t bytes)
{
    uint64_t i = 0;

    __asm__ volatile("1: movaps %%xmm0, (%[field],%[i])\n"
                     "movaps %%xmm0, 32(%[field],%[i])\n"
                     ".rept 2\n"
                     "add $1, %%rax\n"
                     "add $1, %%rcx\n"
                     "add $1, %%rdx\n"
                     "add $1, %%rsi\n"
                     ".endr\n"
                     "add $64, %[i]\n"
                     "cmp %[bytes], %[i]\n"
                     "jb 1b"
                     : [i] "+r"(i)
                     : [field] "r"(field), [bytes] "r"(bytes)
                     : "memory", "rax", "rcx", "rdx", "rsi", "xmm0");
}

int main(int argc, char **argv)
{
    uint64_t step = leaf__is_control(argc, argv) ? 8 * KIB : BYTES;

    for (uint64_t done = 0; done < BYTES; done += step)
        pass(step);
    return leaf__print(argv, (uint64_t)field[0]);
}
