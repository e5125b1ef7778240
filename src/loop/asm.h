/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks from text: assembly through the system assembler, hexadecimal digits. */
#ifndef FATHOM_LOOP_ASM_H
#define FATHOM_LOOP_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/status.h"

struct asm_block {
    char *name; /* of the marked region, or NULL */
    int line;   /* of its marker; 0: not marked */
    uint8_t *bytes;
    size_t size;
};

struct asm_blocks {
    struct asm_block *block;
    size_t n;
    bool marked;  /* regions were marked; otherwise there is one block, all code */
    char *object; /* path of the object file; NULL if it is gone */
    char *folder; /* that holds it */
};

/*
 * Assembles `text` (AT&T syntax unless `intel` or the text itself says otherwise) with the system's `as` and
 * gives the code between markers: "# LLVM-MCA-BEGIN [name]" ... "# LLVM-MCA-END [name]", "# OSACA-BEGIN" ...
 * "# OSACA-END", "IACA_START" ... "IACA_END" in comments, and the byte sequences of IACA. Without markers:
 * all code of .text. `origin` names the text in messages, which give its lines.
 */
int asm__assemble(const char *text, size_t size, const char *origin, bool intel, struct asm_blocks *out,
                  struct status *st);
void asm_blocks__free(struct asm_blocks *blocks);

/* --- steps of it, for tests -------------------------------------------------------------------- */

enum { ASM_MAX_REGIONS = 1000 };
struct asm_region {
    char *name;
    int line;
    bool closed;
};
struct asm_source {
    char *text; /* with labels at the markers, on the same lines */
    size_t size;
    struct asm_region *region;
    size_t n;
};
int asm__mark(const char *text, size_t size, const char *origin, struct asm_source *out, struct status *st);
void asm_source__free(struct asm_source *source);
/* The code of `n_regions` regions, or without any the code of .text, of an object file in memory. */
int asm__extract(const void *object, size_t size, const struct asm_source *source, const char *origin,
                 struct asm_blocks *out, struct status *st);
/* The code between IACA's byte markers that start at or after *at; false: none. Moves *at behind it. */
bool asm__byte_region(const uint8_t *bytes, size_t size, size_t *at, size_t *begin, size_t *end);

/* Digits in pairs; blanks, commas, "0x" and "\x" between pairs are skipped. Fails naming the character. */
int hex__parse(const char *text, uint8_t *bytes, size_t cap, size_t *size, struct status *st);

#endif
