/* SPDX-License-Identifier: Apache-2.0 */
/* Code out of the object file that the assembler made. */
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/asm.h"

/* Where symbols of other sections are thought to be: apart from each other. */
#define FOREIGN_BASE 0x10000000
#define FOREIGN_STEP 0x10000

struct place {
    size_t section, offset;
    bool known;
};

struct object {
    Elf *elf;
    const char *origin;
    Elf_Data *symbols;
    size_t n_symbols, names; /* section of the symbols' names */
    struct place *begin, *end;
    size_t text; /* section .text, 0: none */
};

static void note_symbol(struct object *o, const struct asm_source *source, const GElf_Sym *sym)
{
    const char *name = elf_strptr(o->elf, o->names, sym->st_name);
    size_t i;
    char more;
    if (!name || sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
        return;
    struct place at = {.section = sym->st_shndx, .offset = sym->st_value, .known = true};
    if (sscanf(name, "fathom.begin.%zu%c", &i, &more) == 1 && i < source->n)
        o->begin[i] = at;
    else if (sscanf(name, "fathom.end.%zu%c", &i, &more) == 1 && i < source->n)
        o->end[i] = at;
}

static int read_sections(struct object *o, const struct asm_source *source, struct status *st)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    GElf_Sym sym;
    size_t names;
    if (elf_getshdrstrndx(o->elf, &names))
        return status__fail(st, "%s: the assembler's output has no section names", o->origin);
    while ((scn = elf_nextscn(o->elf, scn))) {
        if (!gelf_getshdr(scn, &sh))
            continue;
        const char *name = elf_strptr(o->elf, names, sh.sh_name);
        if (name && strcmp(name, ".text") == 0 && sh.sh_type == SHT_PROGBITS)
            o->text = elf_ndxscn(scn);
        if (sh.sh_type != SHT_SYMTAB || !(o->symbols = elf_getdata(scn, NULL)) || !sh.sh_entsize)
            continue;
        o->names = sh.sh_link;
        o->n_symbols = o->symbols->d_size / sh.sh_entsize;
        for (size_t i = 0; i < o->n_symbols; i++)
            if (gelf_getsym(o->symbols, (int)i, &sym))
                note_symbol(o, source, &sym);
    }
    return 0;
}

static uint64_t target_of(const struct object *o, const GElf_Rela *rela, size_t section)
{
    GElf_Sym sym;
    size_t index = GELF_R_SYM(rela->r_info);
    if (o->symbols && gelf_getsym(o->symbols, (int)index, &sym) && sym.st_shndx == section)
        return sym.st_value + (uint64_t)rela->r_addend;
    return FOREIGN_BASE + FOREIGN_STEP * index + (uint64_t)rela->r_addend;
}

static void relocate_one(const struct object *o, const GElf_Rela *rela, size_t section, uint8_t *code,
                         size_t size)
{
    uint64_t value = target_of(o, rela, section);
    size_t width = 4;
    switch (GELF_R_TYPE(rela->r_info)) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        value -= rela->r_offset;
        break;
    case R_X86_64_PC8:
        value -= rela->r_offset;
        width = 1;
        break;
    case R_X86_64_32:
    case R_X86_64_32S:
        break;
    case R_X86_64_64:
        width = 8;
        break;
    default:
        return;
    }
    if (rela->r_offset > size || size - rela->r_offset < width)
        return;
    for (size_t i = 0; i < width; i++)
        code[rela->r_offset + i] = (uint8_t)(value >> 8 * i);
}

static void relocate(const struct object *o, size_t section, uint8_t *code, size_t size)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    GElf_Rela rela;
    while ((scn = elf_nextscn(o->elf, scn))) {
        Elf_Data *data;
        if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || sh.sh_info != section || !sh.sh_entsize ||
            !(data = elf_getdata(scn, NULL)))
            continue;
        for (size_t i = 0; i < data->d_size / sh.sh_entsize; i++)
            if (gelf_getrela(data, (int)i, &rela))
                relocate_one(o, &rela, section, code, size);
    }
}

/* A copy of a section's code with relocations applied; NULL: no such code. */
static uint8_t *section_code(const struct object *o, size_t section, size_t *size)
{
    Elf_Scn *scn = section ? elf_getscn(o->elf, section) : NULL;
    Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
    uint8_t *code;
    if (!data || !data->d_buf || !data->d_size || !(code = malloc(data->d_size)))
        return NULL;
    memcpy(code, data->d_buf, data->d_size);
    *size = data->d_size;
    relocate(o, section, code, *size);
    return code;
}

static int add_block(struct asm_blocks *out, const uint8_t *code, size_t size, const char *name, int line)
{
    struct asm_block *grown = realloc(out->block, (out->n + 1) * sizeof *grown);
    if (!grown)
        return -1;
    out->block = grown;
    struct asm_block *b = &out->block[out->n];
    *b = (struct asm_block){.name = name ? strdup(name) : NULL, .line = line, .size = size};
    if (!(b->bytes = malloc(size ? size : 1))) {
        free(b->name);
        return -1;
    }
    memcpy(b->bytes, code, size);
    out->n++;
    return 0;
}

static int marked_blocks(const struct object *o, const struct asm_source *source, struct asm_blocks *out,
                         struct status *st)
{
    for (size_t i = 0; i < source->n; i++) {
        const struct place *b = &o->begin[i], *e = &o->end[i];
        size_t size = 0;
        if (!b->known || !e->known || b->section != e->section || b->offset > e->offset)
            return status__fail(st, "%s:%d: the markers of this region are not in one section, in order",
                                o->origin, source->region[i].line);
        uint8_t *code = section_code(o, b->section, &size);
        int rc = 0;
        if (b->offset < e->offset && (!code || e->offset > size))
            rc = status__fail(st, "%s:%d: this region holds no code", o->origin, source->region[i].line);
        else if (add_block(out, code ? code + b->offset : (const uint8_t *)"", e->offset - b->offset,
                           source->region[i].name, source->region[i].line))
            rc = status__fail(st, "%s: out of memory", o->origin);
        free(code);
        if (rc)
            return rc;
    }
    out->marked = true;
    return 0;
}

static int whole_text(const struct object *o, struct asm_blocks *out, struct status *st)
{
    size_t size = 0, at = 0, begin, end;
    uint8_t *code = section_code(o, o->text, &size);
    int rc = 0;
    if (!code)
        return status__fail(st, "%s: there is no instruction in it", o->origin);
    while (!rc && asm__byte_region(code, size, &at, &begin, &end)) {
        out->marked = true;
        rc = add_block(out, code + begin, end - begin, NULL, 0);
    }
    if (!rc && !out->marked)
        rc = add_block(out, code, size, NULL, 0);
    free(code);
    return rc ? status__fail(st, "%s: out of memory", o->origin) : 0;
}

int asm__extract(const void *object, size_t size, const struct asm_source *source, const char *origin,
                 struct asm_blocks *out, struct status *st)
{
    struct object o = {.origin = origin};
    int rc = -1;
    o.begin = calloc(source->n + 1, sizeof *o.begin);
    o.end = calloc(source->n + 1, sizeof *o.end);
    elf_version(EV_CURRENT);
    if (!o.begin || !o.end || !(o.elf = elf_memory((char *)object, size)) || elf_kind(o.elf) != ELF_K_ELF ||
        gelf_getclass(o.elf) != ELFCLASS64) {
        status__fail(st, "%s: the assembler's output is no 64-bit ELF file", origin);
        goto out;
    }
    if (read_sections(&o, source, st))
        goto out;
    rc = source->n ? marked_blocks(&o, source, out, st) : whole_text(&o, out, st);
out:
    if (o.elf)
        elf_end(o.elf);
    free(o.begin);
    free(o.end);
    return rc;
}

/* "mov $111, %ebx" begins, "mov $222, %ebx" ends, each before ".byte 100, 103, 144". */
bool asm__byte_region(const uint8_t *bytes, size_t size, size_t *at, size_t *begin, size_t *end)
{
    static const uint8_t start[] = {0xbb, 111, 0, 0, 0, 100, 103, 144},
                         stop[] = {0xbb, 222, 0, 0, 0, 100, 103, 144};
    const uint8_t *s = *at < size ? memmem(bytes + *at, size - *at, start, sizeof start) : NULL;
    if (!s)
        return false;
    *begin = (size_t)(s - bytes) + sizeof start;
    const uint8_t *e = memmem(bytes + *begin, size - *begin, stop, sizeof stop);
    *end = e ? (size_t)(e - bytes) : size;
    *at = e ? *end + sizeof stop : size;
    return true;
}
