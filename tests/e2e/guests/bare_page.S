/* SPDX-License-Identifier: Apache-2.0 */
/* An instruction across a page end in a loop: 3 + 1000 * 6 + 3 instructions. */
    .text
    .balign 4096
    .globl _start
_start:
    mov $1000, %ecx
    xor %eax, %eax
    jmp again
    .skip 4096 - 5 - 2 - 5 - 8, 0x90
again:
    add $1, %eax
    mov %eax, %edx
    movabs $0x1122334455667788, %rsi
    add %rsi, %rdx
    dec %ecx
    jnz again
    mov $60, %eax
    xor %edi, %edi
    syscall
