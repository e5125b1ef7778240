/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chase through a few cache lines, each of which is flushed once it has been read: it comes from memory
 * again. Bound by: MEM Latency. Control: the same code, which flushes a line that nobody reads.
 */
#include "leaves.h"

enum { LINES = 256, ROUNDS = 160000 };

int main(int argc, char **argv)
{
    bool control = leaf__is_control(argc, argv);
    char *lines = aligned_alloc(PAGE, (LINES + 1) * LINE), *p = lines, *victim, *spare;
    uint64_t n = ROUNDS, sum = 0;

    if (!lines)
        return 1;
    for (unsigned i = 0; i < LINES; i++) /* a walk with a full period, in no direction */
        *(char **)(lines + i * LINE) = lines + (i * 165 + 71) % LINES * LINE;
    spare = control ? lines + LINES * LINE : NULL;
    __asm__ volatile(".balign 64\n"
                     "1: mov %[p], %[victim]\n"
                     "test %[spare], %[spare]\n"
                     "cmovnz %[spare], %[victim]\n"
                     "mov (%[p]), %[p]\n"
                     "clflush (%[victim])\n"
                     ".rept 14\n"
                     "add $1, %[sum]\n"
                     ".endr\n"
                     "dec %[n]\n"
                     "jnz 1b"
                     : [n] "+r"(n), [p] "+r"(p), [victim] "=&r"(victim), [sum] "+r"(sum)
                     : [spare] "r"(spare)
                     : "memory", "cc");
    sum += (uint64_t)(p - lines);
    free(lines);
    return leaf__print(argv, sum);
}
