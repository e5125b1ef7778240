/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in core files, byte for byte. */

        .macro core name
        .globl fathom_core_\name, fathom_core_\name\()_end
        .hidden fathom_core_\name, fathom_core_\name\()_end
fathom_core_\name:
        .incbin "data/cores/\name\().core"
fathom_core_\name\()_end:
        .byte 0
        .endm

        .section .rodata
        core snb
        core ivb
        core hsw
        core bdw
        core skl

        .section .note.GNU-stack, "", @progbits
