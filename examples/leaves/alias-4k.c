/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each load of a chain follows a store whose address differs by exactly 4096: the core compares the low
 * 12 bits first, takes the store for the load's source, and has to start the load again.
 * Bound by: 4K Aliasing. Control: the stores are moved by one line.
 */
#include "leaves.h"

static _Alignas(PAGE) char field[3 * PAGE];

int main(int argc, char **argv)
{
    char *store = field + PAGE + (leaf__is_control(argc, argv) ? LINE : 0), *load = field;
    uint64_t n = 320000;

    *(char **)load = load; /* points at itself */
    __asm__ volatile("1:\n"
                     ".rept 4\n"
                     "mov %[n], (%[store])\n"
                     "mov (%[load]), %[load]\n"
                     ".endr\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [n] "+r"(n), [load] "+r"(load)
                     : [store] "r"(store)
                     : "memory", "cc");
    return leaf__print(argv, (uint64_t)(load - field));
}
