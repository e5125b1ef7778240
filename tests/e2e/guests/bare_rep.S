/* SPDX-License-Identifier: Apache-2.0 */
/* 23 instructions, a REP string instruction counted once: 1000 bytes, 100 quadwords, nothing, 50 bytes moved,
 * 33 bytes backwards, and a search that stops at the 11th byte. */
    .bss
    .balign 64
area:
    .skip 4096
    .text
    .globl _start
_start:
    mov $1000, %ecx
    lea area(%rip), %rdi
    xor %eax, %eax
    rep stosb
    mov $100, %ecx
    lea area(%rip), %rdi
    rep stosq
    xor %ecx, %ecx
    rep stosb
    mov $50, %ecx
    lea area(%rip), %rsi
    rep movsb
    std
    mov $33, %ecx
    rep stosb
    cld
    lea text(%rip), %rdi
    mov $100, %ecx
    mov $'k', %al
    repne scasb
    mov $60, %eax
    mov $0, %edi
    syscall
    .data
text:
    .ascii "abcdefghijklmnopq"
