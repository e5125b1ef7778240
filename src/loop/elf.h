/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code in an ELF file: executable sections, the functions in them, names and source lines.
 *
 * Addresses are those of the file (what objdump prints). In a relocatable object every section starts
 * at 0; there the first section with code keeps its offsets, and those of the others carry the number
 * of their section in the upper 32 bits.
 */
#ifndef FATHOM_LOOP_ELF_H
#define FATHOM_LOOP_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

struct status;
struct object;
struct Elf;

/* A relocated field of a section's code, meant for branches and calls. */
struct code_fixup {
    uint64_t offset;    /* of the field */
    int64_t target;     /* offset in the section a 32-bit branch field leads to; -1: elsewhere */
    const char *symbol; /* or NULL */
};

struct code_section {
    uint64_t start;
    uint32_t size;
    uint32_t index; /* in the file */
    const uint8_t *bytes;
    VECTOR(struct code_fixup) fixup; /* by offset */
};

struct code_symbol {
    uint64_t address, size;
    const char *name;
    uint32_t section; /* of section[] */
    bool function;    /* else a label */
};

/* Code to be looked at as one function. */
struct code_range {
    uint64_t start, end;
    uint32_t section; /* of section[] */
    bool function;    /* else code between functions */
};

struct code {
    int fd;
    struct Elf *elf;
    bool relocatable;
    VECTOR(struct code_section) section; /* by address */
    VECTOR(int32_t) position;            /* in section[], by number in the file; -1: no code */
    VECTOR(struct code_symbol) symbol;   /* by address */
    VECTOR(struct code_range) range;     /* by start; overlaps only where symbols do */
};

/* 0 or -1; the code is to be closed in either case. */
int code__open(struct code *code, const char *path, struct status *st);
void code__close(struct code *code);
/* The section that holds `address`, or NULL. */
struct code_section *code__section(const struct code *code, uint64_t address);
/* First symbol at or after `address`, as an index. */
size_t code__symbols_from(const struct code *code, uint64_t address);
/* The relocation in [offset, offset + len), or NULL. */
const struct code_fixup *code_section__fixup(const struct code_section *section, uint64_t offset,
                                             unsigned len);

/* elf_range.c: fills code->range from symbols, unwind tables and what is left between them. */
bool code__find_ranges(struct code *code);

/* ---- elf_place.c: names and lines ---- */

struct places;
struct places *places__open(const char *path, const struct code *code);
void places__close(struct places *places);
/* Source file (kept as long as `places`) and line. */
bool places__line(struct places *places, uint64_t address, const char **file, int *line);
/* Readable name of the function or label at or before `address`, to be freed; NULL if there is none. */
char *places__function(const struct places *places, uint64_t address);

#endif
