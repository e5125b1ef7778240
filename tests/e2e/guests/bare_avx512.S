/* SPDX-License-Identifier: Apache-2.0 */
/* Dies of an AVX-512 instruction after 3 others. */
    .globl _start
_start:
    mov $5, %ecx
    dec %ecx
    lea 64(%rsp), %rax
    vpaddd %zmm1, %zmm2, %zmm3
    mov $60, %eax
    xor %edi, %edi
    syscall
