/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names come, best first, from symbol tables (own or of the separate debug file), from the
 * procedure linkage table and its relocations, and from the unwind table, which knows where a
 * stripped function starts and ends but not its name.
 *
 * Invariants after index_symbols, for sym[0..n_indexed):
 *   1. sym[] is sorted by start; starts are distinct; every size is at least 1.
 *   2. max_end[i] is the largest end of sym[0..i], so a search backwards knows when to stop.
 */
#include "profile/object.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/demangle.h"

#define DEBUG_ROOT "/usr/lib/debug"

enum symbol_rank { /* smaller is the better name for an address */
                   RANK_GLOBAL,
                   RANK_WEAK,
                   RANK_LOCAL,
                   RANK_LABEL,
                   RANK_PLT,
                   RANK_UNWIND,
};

struct symbol {
    uint64_t start, size;
    const char *name; /* NULL: known to the unwind table only */
    uint32_t section; /* index of the executable section */
    uint8_t rank;
};

struct elf_file {
    int fd;
    Elf *elf;
};

struct segment {
    uint64_t offset, vaddr, size;
    bool exec;
};

struct section {
    uint64_t start, end;
};

struct unit_range {
    uint64_t start, end;
    Dwarf_Off die;
};

struct object {
    struct elf_file own, debug;
    char build_id[2 * 64 + 1];
    struct segment *segment;
    size_t n_segments;
    struct section *section; /* executable sections by section index; start == end: not executable */
    size_t n_sections;
    struct symbol *sym;
    uint64_t *max_end;
    size_t n_syms, cap_syms;
    size_t n_indexed; /* of sym[], those that 1. and 2. hold for */
    Dwarf *dwarf;
    struct unit_range *unit;
    uint64_t *unit_max_end;
    size_t n_units, cap_units;
};

static void elf_file__close(struct elf_file *file)
{
    if (file->elf)
        elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct elf_file){.fd = -1};
}

/* Only regular files: a mapping may name a device whose opening has effects. */
static bool elf_file__open(struct elf_file *file, const char *path)
{
    struct stat info;
    *file = (struct elf_file){.fd = -1};
    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode))
        return false;
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return false;
    file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF) {
        elf_file__close(file);
        return false;
    }
    return true;
}

static void read_segments(struct object *object)
{
    size_t n = 0;
    if (elf_getphdrnum(object->own.elf, &n) < 0 || n == 0 || n > 65536)
        return;
    object->segment = calloc(n, sizeof *object->segment);
    for (size_t i = 0; object->segment && i < n; i++) {
        GElf_Phdr phdr;
        if (!gelf_getphdr(object->own.elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
            continue;
        object->segment[object->n_segments++] = (struct segment){.offset = phdr.p_offset,
                                                                 .vaddr = phdr.p_vaddr,
                                                                 .size = phdr.p_filesz,
                                                                 .exec = phdr.p_flags & PF_X};
    }
}

static void read_sections(struct object *object)
{
    size_t n = 0;
    if (elf_getshdrnum(object->own.elf, &n) < 0 || n == 0 || n > 1 << 20)
        return;
    object->section = calloc(n, sizeof *object->section);
    if (!object->section)
        return;
    object->n_sections = n;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(object->own.elf, scn)) != NULL;) {
        GElf_Shdr shdr;
        size_t index = elf_ndxscn(scn);
        if (index >= n || !gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR))
            continue;
        if (shdr.sh_addr + shdr.sh_size > shdr.sh_addr)
            object->section[index] = (struct section){shdr.sh_addr, shdr.sh_addr + shdr.sh_size};
    }
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *shdr)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;) {
        const char *this_name = gelf_getshdr(scn, shdr) ? elf_strptr(elf, names, shdr->sh_name) : NULL;
        if (this_name && strcmp(this_name, name) == 0)
            return scn;
    }
    return NULL;
}

static void add_symbol(struct object *object, const struct symbol *symbol)
{
    if (object->n_syms == object->cap_syms) {
        size_t cap = object->cap_syms ? 2 * object->cap_syms : 1024;
        struct symbol *more = realloc(object->sym, cap * sizeof *more);
        if (!more)
            return; /* the function stays unnamed */
        object->sym = more;
        object->cap_syms = cap;
    }
    object->sym[object->n_syms++] = *symbol;
}

static void add_elf_symbol(struct object *object, const GElf_Sym *elf_symbol, const char *name)
{
    struct symbol symbol = {.start = elf_symbol->st_value, .size = elf_symbol->st_size, .name = name};
    int type = GELF_ST_TYPE(elf_symbol->st_info), bind = GELF_ST_BIND(elf_symbol->st_info);
    const struct section *section;

    if (elf_symbol->st_shndx >= object->n_sections || !name || !name[0])
        return;
    symbol.section = elf_symbol->st_shndx;
    section = &object->section[symbol.section];
    if (symbol.start < section->start || symbol.start >= section->end)
        return;
    if (symbol.size > section->end - symbol.start)
        symbol.size = section->end - symbol.start;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        symbol.rank = bind == STB_GLOBAL ? RANK_GLOBAL : bind == STB_WEAK ? RANK_WEAK : RANK_LOCAL;
    else if (type == STT_NOTYPE)
        symbol.rank = RANK_LABEL;
    else
        return;
    add_symbol(object, &symbol);
}

static void read_symbols(struct object *object, Elf *elf)
{
    for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn)) != NULL;) {
        GElf_Shdr shdr;
        if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM) ||
            shdr.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        uint64_t n = data ? data->d_size / shdr.sh_entsize : 0;
        for (uint64_t i = 0; i < n && i < INT_MAX; i++) {
            GElf_Sym symbol;
            if (gelf_getsym(data, (int)i, &symbol))
                add_elf_symbol(object, &symbol, elf_strptr(elf, shdr.sh_link, symbol.st_name));
        }
    }
}

/* A relocation of a GOT slot: which function it is for. */
struct slot {
    uint64_t addr;
    const char *name; /* NULL: `resolver` */
    uint64_t resolver;
};
struct slots {
    struct slot *slot;
    size_t n, cap;
    size_t first_plt, n_plt; /* those of .rela.plt, in its order, before sorting */
};

static void slots__read(struct slots *slots, Elf *elf, const char *section_name)
{
    GElf_Shdr shdr, symtab_shdr;
    Elf_Scn *scn = find_section(elf, section_name, &shdr);
    if (!scn || shdr.sh_type != SHT_RELA || shdr.sh_entsize == 0)
        return;
    Elf_Data *data = elf_getdata(scn, NULL);
    Elf_Scn *symtab = elf_getscn(elf, shdr.sh_link);
    Elf_Data *symbols = symtab && gelf_getshdr(symtab, &symtab_shdr) ? elf_getdata(symtab, NULL) : NULL;
    uint64_t n = data ? data->d_size / shdr.sh_entsize : 0;
    for (uint64_t i = 0; i < n && i < INT_MAX; i++) {
        GElf_Rela rela;
        GElf_Sym symbol;
        struct slot slot = {0};
        if (!gelf_getrela(data, (int)i, &rela))
            continue;
        slot.addr = rela.r_offset;
        slot.resolver = (uint64_t)rela.r_addend;
        if (symbols && GELF_R_SYM(rela.r_info) != 0 &&
            gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol))
            slot.name = elf_strptr(elf, symtab_shdr.sh_link, symbol.st_name);
        if (slots->n == slots->cap) {
            size_t cap = slots->cap ? 2 * slots->cap : 256;
            struct slot *more = realloc(slots->slot, cap * sizeof *more);
            if (!more)
                return;
            slots->slot = more;
            slots->cap = cap;
        }
        slots->slot[slots->n++] = slot;
    }
}

static int slot__compare(const void *a, const void *b)
{
    uint64_t x = ((const struct slot *)a)->addr, y = ((const struct slot *)b)->addr;
    return x < y ? -1 : x > y;
}

/* GOT slot that the stub jumps through (jmp *disp(%rip): ff 25 and four bytes), 0 if it does not. */
static uint64_t stub_target(const uint8_t *stub, size_t size, uint64_t addr)
{
    for (size_t i = 0; i + 6 <= size; i++) {
        if (stub[i] == 0xff && stub[i + 1] == 0x25) {
            int32_t disp;
            memcpy(&disp, stub + i + 2, sizeof disp);
            return addr + i + 6 + (uint64_t)(int64_t)disp;
        }
    }
    return 0;
}

static const char *resolver_name(const struct object *object, uint64_t addr, size_t n_named)
{
    for (size_t i = 0; i < n_named; i++)
        if (object->sym[i].start == addr && object->sym[i].name)
            return object->sym[i].name;
    return NULL;
}

/* Stubs that only push an index and jump to the first one (.plt beside .plt.sec): no GOT slot, but
 * their order is that of .rela.plt. Returns the index, -1 if it is no such stub. */
static int64_t stub_index(const uint8_t *stub, size_t size)
{
    size_t i = size >= 4 && memcmp(stub, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
    uint32_t index;
    if (i + 5 > size || stub[i] != 0x68)
        return -1;
    memcpy(&index, stub + i + 1, sizeof index);
    return index;
}

static void read_stubs(struct object *object, const struct slots *slots, const struct slots *lazy,
                       const char *section_name, size_t n_named)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = find_section(object->own.elf, section_name, &shdr);
    Elf_Data *data = scn && shdr.sh_type == SHT_PROGBITS ? elf_rawdata(scn, NULL) : NULL;
    size_t step = scn && (shdr.sh_entsize == 8 || shdr.sh_entsize == 16) ? (size_t)shdr.sh_entsize : 16;
    if (!data || !data->d_buf)
        return;
    for (size_t at = 0; at + step <= data->d_size; at += step) {
        const uint8_t *stub = (const uint8_t *)data->d_buf + at;
        struct symbol symbol = {shdr.sh_addr + at, step, NULL, (uint32_t)elf_ndxscn(scn), RANK_PLT};
        struct slot key = {.addr = stub_target(stub, step, symbol.start)};
        const struct slot *slot = NULL;
        if (key.addr && slots->n)
            slot = bsearch(&key, slots->slot, slots->n, sizeof key, slot__compare);
        int64_t index = slot ? -1 : stub_index(stub, step);
        if (index >= 0 && (uint64_t)index < lazy->n)
            slot = &lazy->slot[index];
        if (slot)
            symbol.name = slot->name ? slot->name : resolver_name(object, slot->resolver, n_named);
        if (!symbol.name)
            symbol.name = ""; /* the common part: "[plt]" */
        add_symbol(object, &symbol);
    }
}

static void read_plt(struct object *object)
{
    struct slots slots = {0}, lazy = {0};
    size_t n_named = object->n_syms;

    slots__read(&lazy, object->own.elf, ".rela.plt");
    slots__read(&slots, object->own.elf, ".rela.plt");
    slots__read(&slots, object->own.elf, ".rela.dyn");
    if (slots.n)
        qsort(slots.slot, slots.n, sizeof *slots.slot, slot__compare);
    read_stubs(object, &slots, &lazy, ".plt", n_named);
    read_stubs(object, &slots, &lazy, ".plt.sec", n_named);
    read_stubs(object, &slots, &lazy, ".plt.got", n_named);
    free(slots.slot);
    free(lazy.slot);
}

/* glibc's internal aliases (__GI_NAME) come after everything else. */
static size_t underscores(const char *name)
{
    return strncmp(name, "__GI_", 5) == 0 ? 100 : strspn(name, "_");
}

static int symbol__compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if ((x->size == 0) != (y->size == 0))
        return x->size == 0 ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->name && y->name) {
        /* of the names for one function the one with the fewest leading underscores, then the first */
        size_t ux = underscores(x->name), uy = underscores(y->name);
        if (ux != uy)
            return ux < uy ? -1 : 1;
        int order = strcmp(x->name, y->name);
        if (order)
            return order;
    }
    return x->size > y->size ? -1 : x->size < y->size;
}

/* Sorts, keeps one name an address, drops labels inside functions, and gives the others a size. */
static void settle_symbols(struct object *object)
{
    size_t n = 0;
    uint64_t covered = 0;

    if (object->n_syms == 0)
        return;
    qsort(object->sym, object->n_syms, sizeof *object->sym, symbol__compare);
    for (size_t i = 0; i < object->n_syms; i++) {
        const struct symbol *symbol = &object->sym[i];
        if (n > 0 && object->sym[n - 1].start == symbol->start)
            continue;
        if (symbol->start < covered && (symbol->size == 0 || symbol->rank >= RANK_LABEL))
            continue;
        if (symbol->size && symbol->start + symbol->size > covered)
            covered = symbol->start + symbol->size;
        object->sym[n++] = *symbol;
    }
    object->n_syms = n;
    for (size_t i = 0; i < n; i++) {
        struct symbol *symbol = &object->sym[i];
        if (symbol->size)
            continue;
        uint64_t end = object->section[symbol->section].end;
        if (i + 1 < n && object->sym[i + 1].start < end)
            end = object->sym[i + 1].start;
        symbol->size = end - symbol->start;
    }
}

static void index_symbols(struct object *object)
{
    free(object->max_end);
    object->max_end = calloc(object->n_syms + 1, sizeof *object->max_end);
    object->n_indexed = object->max_end ? object->n_syms : 0;
    if (!object->max_end)
        return;
    for (size_t i = 0; i < object->n_syms; i++) {
        uint64_t end = object->sym[i].start + object->sym[i].size;
        object->max_end[i] = i && object->max_end[i - 1] > end ? object->max_end[i - 1] : end;
    }
}

static uint32_t section_of(const struct object *object, uint64_t addr)
{
    for (size_t i = 0; i < object->n_sections; i++)
        if (addr >= object->section[i].start && addr < object->section[i].end)
            return (uint32_t)i;
    return 0;
}

/*
 * Functions known to the unwind table only. .eh_frame_hdr (version 1, pointers as every x86-64
 * linker writes them) is a table of pairs: start, record; a record is length, CIE, start, size.
 */
static void read_unwind(struct object *object)
{
    GElf_Shdr hdr_shdr, frame_shdr;
    Elf_Scn *hdr_scn = find_section(object->own.elf, ".eh_frame_hdr", &hdr_shdr);
    Elf_Scn *frame_scn = find_section(object->own.elf, ".eh_frame", &frame_shdr);
    Elf_Data *hdr = hdr_scn ? elf_rawdata(hdr_scn, NULL) : NULL;
    Elf_Data *frame = frame_scn ? elf_rawdata(frame_scn, NULL) : NULL;
    uint32_t n;

    if (!hdr || !frame || !hdr->d_buf || !frame->d_buf || hdr->d_size < 12 ||
        memcmp(hdr->d_buf, "\x01\x1b\x03\x3b", 4) != 0)
        return;
    const uint8_t *table = (const uint8_t *)hdr->d_buf + 12, *records = frame->d_buf;
    memcpy(&n, table - 4, sizeof n);
    for (uint64_t i = 0; i < n && (i + 1) * 8 <= hdr->d_size - 12; i++) {
        int32_t start_rel, record_rel, record_start;
        uint32_t size;
        memcpy(&start_rel, table + i * 8, sizeof start_rel);
        memcpy(&record_rel, table + i * 8 + 4, sizeof record_rel);
        uint64_t start = hdr_shdr.sh_addr + (uint64_t)(int64_t)start_rel;
        uint64_t record = hdr_shdr.sh_addr + (uint64_t)(int64_t)record_rel - frame_shdr.sh_addr;
        if (record >= frame->d_size || frame->d_size - record < 16)
            continue;
        memcpy(&record_start, records + record + 8, sizeof record_start);
        memcpy(&size, records + record + 12, sizeof size);
        if (start != frame_shdr.sh_addr + record + 8 + (uint64_t)(int64_t)record_start)
            continue; /* another pointer encoding */
        uint32_t section = section_of(object, start);
        if (section && size && size <= object->section[section].end - start &&
            object__function(object, start) < 0)
            add_symbol(object, &(struct symbol){start, size, NULL, section, RANK_UNWIND});
    }
}

static void read_build_id(Elf *elf, char *hex, size_t hex_size)
{
    const void *id = NULL;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &id);
    hex[0] = '\0';
    for (ssize_t i = 0; i < n && 2 * (size_t)i + 3 <= hex_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
}

/* CRC-32 of a file as .gnu_debuglink has it. */
static uint32_t file_crc(int fd)
{
    uint8_t buffer[65536];
    uint32_t crc = 0xffffffff;
    ssize_t n;
    off_t at = 0;
    while ((n = pread(fd, buffer, sizeof buffer, at)) > 0) {
        at += n;
        for (ssize_t i = 0; i < n; i++) {
            crc ^= buffer[i];
            for (int bit = 0; bit < 8; bit++)
                crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
        }
    }
    return ~crc;
}

/* Keeps `path` as the debug file if it belongs to the object: same build id, or same checksum. */
static bool try_debug_file(struct object *object, const char *path, bool has_crc, uint32_t crc)
{
    char build_id[sizeof object->build_id];
    if (!elf_file__open(&object->debug, path))
        return false;
    read_build_id(object->debug.elf, build_id, sizeof build_id);
    bool same = object->build_id[0] && build_id[0] ? strcmp(object->build_id, build_id) == 0
                                                   : has_crc && file_crc(object->debug.fd) == crc;
    if (!same)
        elf_file__close(&object->debug);
    return same;
}

static void find_debug_file(struct object *object, const char *path)
{
    char name[PATH_MAX];
    GElf_Word crc = 0;
    const char *link = dwelf_elf_gnu_debuglink(object->own.elf, &crc);
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) : 0;
    int n;

    if (strlen(object->build_id) > 2) {
        n = snprintf(name, sizeof name, DEBUG_ROOT "/.build-id/%.2s/%s.debug", object->build_id,
                     object->build_id + 2);
        if (n > 0 && (size_t)n < sizeof name && try_debug_file(object, name, false, 0))
            return;
    }
    if (!link || !slash || strchr(link, '/'))
        return;
    static const char *const before[] = {"", "", DEBUG_ROOT}, *const between[] = {"", "/.debug", ""};
    for (int i = 0; i < 3; i++) {
        n = snprintf(name, sizeof name, "%s%.*s%s/%s", before[i], dir, path, between[i], link);
        if (n > 0 && (size_t)n < sizeof name && strcmp(name, path) != 0 &&
            try_debug_file(object, name, true, crc))
            return;
    }
}

static void add_unit(struct object *object, uint64_t start, uint64_t end, Dwarf_Off die)
{
    if (start >= end || start == 0) /* 0: code the linker threw away */
        return;
    if (object->n_units == object->cap_units) {
        size_t cap = object->cap_units ? 2 * object->cap_units : 64;
        struct unit_range *more = realloc(object->unit, cap * sizeof *more);
        if (!more)
            return;
        object->unit = more;
        object->cap_units = cap;
    }
    object->unit[object->n_units++] = (struct unit_range){start, end, die};
}

static int unit__compare(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->die < y->die ? -1 : x->die > y->die;
}

/* The address ranges of all units; .debug_aranges is not written by every compiler. */
static void read_units(struct object *object)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;

    object->dwarf = dwarf_begin_elf(object->own.elf, DWARF_C_READ, NULL);
    if (!object->dwarf && object->debug.elf)
        object->dwarf = dwarf_begin_elf(object->debug.elf, DWARF_C_READ, NULL);
    if (!object->dwarf)
        return;
    while (dwarf_get_units(object->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        Dwarf_Addr base, start, end;
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0;)
            add_unit(object, start, end, dwarf_dieoffset(&die));
    }
    if (object->n_units == 0)
        return;
    qsort(object->unit, object->n_units, sizeof *object->unit, unit__compare);
    object->unit_max_end = calloc(object->n_units, sizeof *object->unit_max_end);
    if (!object->unit_max_end)
        object->n_units = 0;
    for (size_t i = 0; i < object->n_units; i++) {
        uint64_t end = object->unit[i].end;
        object->unit_max_end[i] = i && object->unit_max_end[i - 1] > end ? object->unit_max_end[i - 1] : end;
    }
}

struct object *object__open(const char *path)
{
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        return NULL;
    object->debug.fd = -1;
    elf_version(EV_CURRENT);
    if (!elf_file__open(&object->own, path))
        return object;
    read_segments(object);
    read_sections(object);
    read_build_id(object->own.elf, object->build_id, sizeof object->build_id);
    find_debug_file(object, path);
    read_symbols(object, object->own.elf);
    read_symbols(object, object->debug.elf);
    read_plt(object);
    settle_symbols(object);
    index_symbols(object);
    read_unwind(object);
    settle_symbols(object);
    index_symbols(object);
    read_units(object);
    return object;
}

void object__close(struct object *object)
{
    if (!object)
        return;
    if (object->dwarf)
        dwarf_end(object->dwarf);
    elf_file__close(&object->debug);
    elf_file__close(&object->own);
    free(object->segment);
    free(object->section);
    free(object->sym);
    free(object->max_end);
    free(object->unit);
    free(object->unit_max_end);
    free(object);
}

const char *object__build_id(const struct object *object)
{
    return object->build_id[0] ? object->build_id : NULL;
}

uint64_t object__vaddr(const struct object *object, uint64_t file_offset)
{
    /* segments may share a page of the file: the executable one is meant */
    for (int exec = 1; exec >= 0; exec--) {
        for (size_t i = 0; i < object->n_segments; i++) {
            const struct segment *segment = &object->segment[i];
            if (segment->exec == exec && file_offset >= segment->offset &&
                file_offset - segment->offset < segment->size)
                return segment->vaddr + (file_offset - segment->offset);
        }
    }
    return file_offset;
}

int64_t object__function(const struct object *object, uint64_t vaddr)
{
    size_t low = 0, high = object->n_indexed; /* starts of [0, low) <= vaddr */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (object->sym[mid].start <= vaddr)
            low = mid + 1;
        else
            high = mid;
    }
    while (low > 0 && object->max_end[low - 1] > vaddr) {
        low--;
        if (vaddr - object->sym[low].start < object->sym[low].size)
            return (int64_t)low;
    }
    return -1;
}

uint64_t object__function_entry(const struct object *object, int64_t function)
{
    return object->sym[function].start;
}

/* "name@VERSION" is how symbol tables spell versioned names. */
static char *readable(const char *name, size_t n)
{
    char *plain = strndup(name, n);
    char *result = plain ? demangle(plain) : NULL;
    if (!result)
        return plain;
    free(plain);
    return result;
}

char *object__function_name(const struct object *object, int64_t function)
{
    const struct symbol *symbol = &object->sym[function];
    const struct symbol *near = symbol;
    char *base = NULL, *name = NULL;

    if (symbol->rank == RANK_PLT && !symbol->name[0])
        return strdup("[plt]");
    while (!near->name && near > object->sym && near[-1].section == symbol->section)
        near--;
    if (near->name)
        base = readable(near->name, strcspn(near->name, "@"));
    if (!base)
        base = strdup("[unknown]");
    if (!base)
        return NULL;
    int n = 0;
    if (symbol->rank == RANK_PLT)
        n = asprintf(&name, "%s@plt", base);
    else if (!near->name)
        n = asprintf(&name, "%s+0x%" PRIx64, base, symbol->start);
    else if (near != symbol)
        n = asprintf(&name, "%s+0x%" PRIx64, base, symbol->start - near->start);
    else
        return base;
    free(base);
    return n < 0 ? NULL : name;
}

static const struct unit_range *find_unit(const struct object *object, uint64_t vaddr)
{
    size_t low = 0, high = object->n_units;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (object->unit[mid].start <= vaddr)
            low = mid + 1;
        else
            high = mid;
    }
    while (low > 0 && object->unit_max_end[low - 1] > vaddr) {
        low--;
        if (vaddr < object->unit[low].end)
            return &object->unit[low];
    }
    return NULL;
}

bool object__line(struct object *object, uint64_t vaddr, const char **file, int *line)
{
    const struct unit_range *unit = find_unit(object, vaddr);
    Dwarf_Die die;
    if (!unit || !dwarf_offdie(object->dwarf, unit->die, &die))
        return false;
    Dwarf_Line *row = dwarf_getsrc_die(&die, vaddr);
    if (!row || dwarf_lineno(row, line) != 0 || *line <= 0)
        return false;
    *file = dwarf_linesrc(row, NULL, NULL);
    return *file != NULL;
}
