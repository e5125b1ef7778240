/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetches and a flush whose addresses only stand in registers, after a push that lets the tracer
 * check its reading of registers. Expected, from `line`: 0, 64, 128, 192, 256, 320. */
    .bss
    .balign 4096
    .globl line
line:
    .skip 4096
    .text
    .globl _start
_start:
    push %rax
    pop %rax
    lea line(%rip), %rsi
    lea 8(%rsi), %r13
    mov $15, %r14d
    prefetcht0 (%rsi)
    prefetchnta 64(%rsi)
    prefetcht1 line+128(%rip)
    prefetcht2 64(%r13,%r14,8)
    prefetchw line+256(,%rcx)
    clflush 200(%rsi,%r14,8)
    mov $60, %eax
    xor %edi, %edi
    syscall
