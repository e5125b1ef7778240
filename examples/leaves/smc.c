/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that patches an instruction of a function that it calls again and again.
 * Bound by: Self-Modifying Code. Control: the same stores, to a line of the same page that is never executed.
 */
#include "leaves.h"

#include <sys/mman.h>

enum { CALLS = 9000, WORK = 120, FAR_LINE = 1024 };

int main(int argc, char **argv)
{
    static const uint8_t function[] = {0xb8, 0, 0, 0, 0, /* mov eax, 0 */ 0xc3 /* ret */};
    bool control = leaf__is_control(argc, argv);
    uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t n = CALLS, sum = 0;

    if (page == MAP_FAILED)
        return 1;
    memcpy(page, function, sizeof function);
    memcpy(page + FAR_LINE, function, sizeof function);
    __asm__ volatile(
        "sub $128, %%rsp\n"
        ".balign 64\n"
        "1: movb %b[n], (%[patch])\n"
        "mov %[work], %%ecx\n"
        "2: lea 1(%[sum]), %[sum]\n"
        "dec %%ecx\n"
        "jnz 2b\n"
        "call *%[function]\n"
        "add %%rax, %[sum]\n"
        "dec %[n]\n"
        "jnz 1b\n"
        "add $128, %%rsp"
        : [n] "+r"(n), [sum] "+r"(sum)
        : [patch] "r"(page + (control ? FAR_LINE : 0) + 1), [function] "r"(page), [work] "i"(WORK)
        : "memory", "cc", "rax", "rcx");
    return leaf__print(argv, sum);
}
