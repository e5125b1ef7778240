/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines of addresses: of linked files as the profile finds them (struct object, which knows
 * separate debug files and procedure linkage tables). Of relocatable objects libdwfl, which applies the
 * relocations of their debug sections and lays their sections out one after the other.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop/elf.h"
#include "profile/demangle.h"
#include "profile/object.h"

struct row {
    uint64_t address;
    const char *file; /* NULL: no code from here on */
    int line;
    uint32_t position; /* in the tables */
};

struct places {
    const struct code *code;
    struct object *object;  /* linked */
    Dwfl *dwfl;             /* relocatable */
    uint64_t *laid_out;     /* address that libdwfl gave each of code->section */
    VECTOR(struct row) row; /* its line tables, by address */
};

/* The object itself is asked, never a server or a folder. */
static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = no_debug_file,
    .section_address = dwfl_offline_section_address,
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if ((x->file == NULL) != (y->file == NULL)) /* where code ends and other code begins */
        return x->file ? 1 : -1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static bool add_rows(struct places *places, Dwarf_Die *unit, Dwarf_Addr bias)
{
    Dwarf_Lines *lines;
    size_t n;

    if (dwarf_getsrclines(unit, &lines, &n) != 0)
        return true;
    for (size_t i = 0; i < n; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        struct row row = {.position = (uint32_t)places->row.n};
        bool ends = false;
        if (!line || dwarf_lineaddr(line, &row.address) != 0 || dwarf_lineno(line, &row.line) != 0 ||
            dwarf_lineendsequence(line, &ends) != 0)
            continue;
        row.address += bias;
        row.file = ends ? NULL : dwarf_linesrc(line, NULL, NULL);
        if (!vector__push(&places->row, row))
            return false;
    }
    return true;
}

/* libdwfl's own search needs .debug_aranges, which not every compiler writes. */
static void read_rows(struct places *places, Dwfl_Module *module)
{
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias;
    while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
        if (!add_rows(places, unit, bias))
            break;
    if (places->row.n)
        qsort(places->row.item, places->row.n, sizeof *places->row.item, compare_rows);
}

static void open_relocatable(struct places *places, const char *path)
{
    Dwfl_Module *module = NULL;
    GElf_Addr bias;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    places->dwfl = dwfl_begin(&callbacks);
    places->laid_out = calloc(places->code->section.n, sizeof *places->laid_out);
    if (places->dwfl && places->laid_out)
        module = dwfl_report_offline(places->dwfl, "", path, fd);
    if (!module) {
        close(fd);
        return;
    }
    dwfl_report_end(places->dwfl, NULL, NULL);
    Elf *elf = dwfl_module_getelf(module, &bias);
    for (size_t i = 0; elf && i < places->code->section.n; i++) {
        GElf_Shdr shdr;
        Elf_Scn *scn = elf_getscn(elf, places->code->section.item[i].index);
        if (scn && gelf_getshdr(scn, &shdr))
            places->laid_out[i] = shdr.sh_addr + bias;
    }
    read_rows(places, module);
}

struct places *places__open(const char *path, const struct code *code)
{
    struct places *places = calloc(1, sizeof *places);
    if (!places)
        return NULL;
    places->code = code;
    if (code->relocatable)
        open_relocatable(places, path);
    else
        places->object = object__open(path);
    return places;
}

void places__close(struct places *places)
{
    if (!places)
        return;
    object__close(places->object);
    if (places->dwfl)
        dwfl_end(places->dwfl);
    free(places->laid_out);
    vector__free(&places->row);
    free(places);
}

bool places__line(struct places *places, uint64_t address, const char **file, int *line)
{
    if (places->object)
        return object__line(places->object, address, file, line);
    const struct code_section *section = code__section(places->code, address);
    if (!section || places->row.n == 0)
        return false;
    uint64_t wanted = places->laid_out[section - places->code->section.item] + (address - section->start);
    size_t low = 0, high = places->row.n; /* addresses of [0, low) <= wanted */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (places->row.item[mid].address <= wanted)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return false;
    *file = places->row.item[low - 1].file;
    *line = places->row.item[low - 1].line;
    return *file && *line > 0;
}

static char *own_name(const struct code *code, uint64_t address)
{
    size_t i = code__symbols_from(code, address);
    const struct code_section *section = code__section(code, address);

    if (i == code->symbol.n || code->symbol.item[i].address > address) {
        if (i == 0)
            return NULL;
        i = code__symbols_from(code, code->symbol.item[i - 1].address); /* the best of its aliases */
    }
    if (!section || &code->section.item[code->symbol.item[i].section] != section)
        return NULL;
    char *readable = demangle(code->symbol.item[i].name);
    return readable ? readable : strdup(code->symbol.item[i].name);
}

char *places__function(const struct places *places, uint64_t address)
{
    if (!places->object)
        return own_name(places->code, address);
    int64_t function = object__function(places->object, address);
    char *name = function >= 0 ? object__function_name(places->object, function) : NULL;
    if (name && name[0] == '[') { /* "[unknown]+0x..." is no name */
        free(name);
        name = NULL;
    }
    return name;
}
