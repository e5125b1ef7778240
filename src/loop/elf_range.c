/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code belongs together: function symbols; functions that only the unwind table knows, as in a
 * stripped file; then everything between, so that code written in assembly without .type and files
 * without any table are looked at too.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "loop/elf.h"

/* ---- the unwind table ---- */

struct cie {
    Dwarf_Off offset;
    uint8_t encoding; /* DW_EH_PE_* of addresses in its records */
};
struct unwind {
    struct code *code;
    Elf_Data *data;
    uint64_t address; /* of the section */
    VECTOR(struct cie) cie;
};

/* Of an augmentation "zPLR": data in the order of its letters, of which only R matters. */
static uint8_t address_encoding(const Dwarf_CIE *cie)
{
    const uint8_t *at = cie->augmentation_data;
    const uint8_t *end = at ? at + cie->augmentation_data_size : NULL;

    for (const char *letter = cie->augmentation; at && *letter; letter++) {
        if (*letter == 'z' || *letter == 'S' || *letter == 'B')
            continue;
        if (at >= end)
            break;
        if (*letter == 'R')
            return *at;
        if (*letter == 'L')
            at++;
        else if (*letter == 'P')
            at += (*at & 0xf) == DW_EH_PE_sdata4 || (*at & 0xf) == DW_EH_PE_udata4 ? 5 : 9;
        else
            break;
    }
    return DW_EH_PE_absptr;
}

static bool add_record(struct unwind *unwind, const Dwarf_FDE *fde)
{
    size_t i = unwind->cie.n;
    while (i > 0 && unwind->cie.item[i - 1].offset != fde->CIE_pointer)
        i--;
    if (i == 0)
        return true;
    uint8_t encoding = unwind->cie.item[i - 1].encoding;
    uint64_t place = unwind->address + (uint64_t)(fde->start - (const uint8_t *)unwind->data->d_buf);
    uint64_t start = 0, size = 0;
    size_t width = (encoding & 0xf) == DW_EH_PE_sdata4 || (encoding & 0xf) == DW_EH_PE_udata4 ? 4 : 8;
    if (fde->end < fde->start || (size_t)(fde->end - fde->start) < 2 * width)
        return true;
    memcpy(&start, fde->start, width);
    memcpy(&size, fde->start + width, width);
    if ((encoding & 0xf) == DW_EH_PE_sdata4)
        start = (uint64_t)(int64_t)(int32_t)start;
    if ((encoding & 0x70) == DW_EH_PE_pcrel)
        start += place;
    else if ((encoding & 0xf0) != DW_EH_PE_absptr)
        return true;
    const struct code_section *section = code__section(unwind->code, start);
    if (!section || size == 0 || size > section->size - (start - section->start))
        return true;
    struct code_range range = {.start = start,
                               .end = start + size,
                               .section = (uint32_t)(section - unwind->code->section.item),
                               .function = true};
    return vector__push(&unwind->code->range, range);
}

static bool read_records(struct unwind *unwind, const unsigned char *ident)
{
    Dwarf_Off at = 0, next = 0;
    Dwarf_CFI_Entry entry;
    int result;

    while ((result = dwarf_next_cfi(ident, unwind->data, true, at, &next, &entry)) != 1 && next > at) {
        struct cie cie = {.offset = at};
        at = next;
        if (result < 0)
            continue;
        if (!dwarf_cfi_cie_p(&entry)) {
            if (!add_record(unwind, &entry.fde))
                return false;
            continue;
        }
        cie.encoding = address_encoding(&entry.cie);
        if (!vector__push(&unwind->cie, cie))
            return false;
    }
    return true;
}

/* Objects are left out: their unwind tables are not relocated, and their symbols are always there. */
static bool add_unwind(struct code *code)
{
    size_t names;
    bool ok = true;
    char *ident = elf_getident(code->elf, NULL);

    if (code->relocatable || !ident || elf_getshdrstrndx(code->elf, &names) < 0)
        return true;
    for (Elf_Scn *scn = NULL; ok && (scn = elf_nextscn(code->elf, scn)) != NULL;) {
        GElf_Shdr shdr;
        const char *name = gelf_getshdr(scn, &shdr) ? elf_strptr(code->elf, names, shdr.sh_name) : NULL;
        if (!name || strcmp(name, ".eh_frame") != 0 || shdr.sh_type == SHT_NOBITS)
            continue;
        struct unwind unwind = {.code = code, .data = elf_rawdata(scn, NULL), .address = shdr.sh_addr};
        if (unwind.data && unwind.data->d_buf)
            ok = read_records(&unwind, (const unsigned char *)ident);
        vector__free(&unwind.cie);
    }
    return ok;
}

/* ---- symbols ---- */

static bool add_functions(struct code *code)
{
    for (size_t i = 0; i < code->symbol.n; i++) {
        const struct code_symbol *symbol = &code->symbol.item[i];
        struct code_range range = {.start = symbol->address,
                                   .end = symbol->address + symbol->size,
                                   .section = symbol->section,
                                   .function = true};
        if (symbol->function && !vector__push(&code->range, range))
            return false;
    }
    return true;
}

/* By section and start; of those with one start the longest first. */
static int compare_ranges(const void *a, const void *b)
{
    const struct code_range *x = a, *y = b;
    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

/* One range a start, none inside another; those without a size go on to the next. */
static void settle(struct code *code)
{
    struct code_range *range = code->range.item;
    uint64_t covered = 0;
    size_t n = 0;

    if (code->range.n)
        qsort(range, code->range.n, sizeof *range, compare_ranges);
    for (size_t i = 0; i < code->range.n; i++) {
        if (n > 0 && range[n - 1].section == range[i].section) {
            bool sized = range[i].end > range[i].start;
            if (range[i].start == range[n - 1].start ||
                (sized ? range[i].end <= covered : range[i].start < covered))
                continue;
        } else {
            covered = 0;
        }
        if (range[i].end > covered)
            covered = range[i].end;
        range[n++] = range[i];
    }
    code->range.n = n;
    for (size_t i = 0; i < n; i++) {
        const struct code_section *section = &code->section.item[range[i].section];
        if (range[i].end > range[i].start)
            continue;
        bool next = i + 1 < n && range[i + 1].section == range[i].section;
        range[i].end = next ? range[i + 1].start : section->start + section->size;
    }
}

/* ---- what is between ---- */

static bool add_gaps(struct code *code)
{
    size_t n = code->range.n, at = 0;
    for (size_t i = 0; i < code->section.n; i++) {
        const struct code_section *section = &code->section.item[i];
        uint64_t covered = section->start;
        for (; at < n && code->range.item[at].section == i; at++) {
            struct code_range gap = {covered, code->range.item[at].start, (uint32_t)i, false};
            if (gap.end > gap.start && !vector__push(&code->range, gap))
                return false;
            if (code->range.item[at].end > covered)
                covered = code->range.item[at].end;
        }
        struct code_range rest = {covered, section->start + section->size, (uint32_t)i, false};
        if (rest.end > rest.start && !vector__push(&code->range, rest))
            return false;
    }
    if (code->range.n)
        qsort(code->range.item, code->range.n, sizeof *code->range.item, compare_ranges);
    return true;
}

bool code__find_ranges(struct code *code)
{
    if (!add_functions(code) || !add_unwind(code))
        return false;
    settle(code);
    return add_gaps(code);
}
