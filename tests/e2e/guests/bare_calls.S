/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, returns and a branch taken every second time: 2 + 5000 * 6 + 5000 * 8 + 3 = 70,005 instructions. */
    .globl _start
    .type _start, @function
_start:
    mov $10000, %ecx
    xor %edx, %edx
1:  call odd
    dec %ecx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
    .size _start, . - _start
    .type odd, @function
odd:
    test $1, %ecx
    jz 2f
    inc %edx
    inc %edx
2:  ret
    .size odd, . - odd
