/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction tables, compiled in. Paths are relative to the root of the repository (-I). */
#include "isa/isa.h"

/* clang-format off */
#define TABLE(name)                                         \
    __asm__(".pushsection .rodata\n"                        \
            ".global table__" #name "_start\n"              \
            "table__" #name "_start:\n"                     \
            ".incbin \"data/insns/" #name ".insns\"\n"      \
            ".global table__" #name "_end\n"                \
            "table__" #name "_end:\n"                       \
            ".byte 0\n"                                     \
            ".popsection\n");                               \
    extern const char table__##name##_start[], table__##name##_end[];
#define ENTRY(name) {#name, table__##name##_start, table__##name##_end}
/* clang-format on */

TABLE(snb)
TABLE(ivb)
TABLE(hsw)
TABLE(bdw)
TABLE(skl)

const struct table_text table__texts[] = {
    ENTRY(snb), ENTRY(ivb), ENTRY(hsw), ENTRY(bdw), ENTRY(skl), {NULL, NULL, NULL},
};
