/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a byte and reads the eight bytes it lies in, in turn: the store buffer has only one of them, so
 * the load waits until the store is in the cache.
 * Bound by: Store Forward Blocked. Control: writes the eight bytes.
 */
#include "leaves.h"

#define ROUNDS(store, n, x, p)                                                                               \
    __asm__ volatile("1:\n"                                                                                  \
                     ".rept 4\n" store "\n"                                                                  \
                     "mov (%2), %%rax\n"                                                                     \
                     ".endr\n"                                                                               \
                     "dec %0\n"                                                                              \
                     "jnz 1b"                                                                                \
                     : "+r"(n), "+a"(x)                                                                      \
                     : "r"(p)                                                                                \
                     : "memory", "cc")

int main(int argc, char **argv)
{
    uint64_t n = 320000, x = 1, cell = 0;

    if (leaf__is_control(argc, argv))
        ROUNDS("mov %%rax, (%2)", n, x, &cell);
    else
        ROUNDS("mov %%al, (%2)", n, x, &cell);
    return leaf__print(argv, x);
}
