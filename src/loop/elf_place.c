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

struct places {
    const struct code *code;
    struct object *object; /* linked */
    Dwfl *dwfl;            /* relocatable */
    Dwfl_Module *module;
    uint64_t *laid_out; /* address that libdwfl gave each of code->section */
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

static void open_relocatable(struct places *places, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    places->dwfl = dwfl_begin(&callbacks);
    places->laid_out = calloc(places->code->section.n, sizeof *places->laid_out);
    if (places->dwfl && places->laid_out)
        places->module = dwfl_report_offline(places->dwfl, "", path, fd);
    if (!places->module) {
        close(fd);
        return;
    }
    dwfl_report_end(places->dwfl, NULL, NULL);
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(places->module, &bias);
    for (size_t i = 0; elf && i < places->code->section.n; i++) {
        GElf_Shdr shdr;
        Elf_Scn *scn = elf_getscn(elf, places->code->section.item[i].index);
        if (scn && gelf_getshdr(scn, &shdr))
            places->laid_out[i] = shdr.sh_addr + bias;
    }
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
    free(places);
}

bool places__line(struct places *places, uint64_t address, const char **file, int *line)
{
    if (places->object)
        return object__line(places->object, address, file, line);
    const struct code_section *section = code__section(places->code, address);
    if (!places->module || !section)
        return false;
    size_t position = (size_t)(section - places->code->section.item);
    Dwfl_Line *row =
        dwfl_module_getsrc(places->module, places->laid_out[position] + (address - section->start));
    *file = row ? dwfl_lineinfo(row, NULL, line, NULL, NULL, NULL) : NULL;
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
