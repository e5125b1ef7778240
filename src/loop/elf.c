/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fathom/status.h"

#define WANTED "give an x86-64 executable, shared library or object file"

/* ---- refusals ---- */

static int refuse_kind(const char *path, Elf *elf, const char *head, size_t n, struct status *st)
{
    if (elf_kind(elf) == ELF_K_AR)
        return status__fail(
            st, "%s is an archive: take the object files out of it (ar x) and give one of them", path);
    if (n == 0)
        return status__fail(st, "%s is empty: " WANTED, path);
    if (n >= 4 && memcmp(head, "BC\xc0\xde", 4) == 0)
        return status__fail(st, "%s is LLVM bitcode, not machine code: compile without -flto", path);
    if (n >= 4 && memcmp(head, ELFMAG, SELFMAG) == 0)
        return status__fail(st, "%s is a damaged or truncated ELF file: its header cannot be read", path);
    return status__fail(st, "%s is not an ELF file: " WANTED, path);
}

static int check_header(const char *path, const GElf_Ehdr *ehdr, struct status *st)
{
    if (ehdr->e_machine == EM_X86_64 && ehdr->e_ident[EI_CLASS] == ELFCLASS32)
        return status__fail(st, "%s is x32 code (64-bit instructions, 32-bit pointers): " WANTED, path);
    if (ehdr->e_machine == EM_386)
        return status__fail(st, "%s is 32-bit x86 code: " WANTED " (compile with -m64)", path);
    if (ehdr->e_machine == EM_AARCH64)
        return status__fail(st, "%s is AArch64 code: " WANTED, path);
    if (ehdr->e_machine != EM_X86_64)
        return status__fail(st, "%s is code for another processor (ELF machine %u): " WANTED, path,
                            (unsigned)ehdr->e_machine);
    if (ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
        return status__fail(st, "%s is a damaged ELF file: it claims to be big-endian x86-64", path);
    if (ehdr->e_type == ET_CORE)
        return status__fail(st, "%s is a core dump: give the program that left it", path);
    if (ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN && ehdr->e_type != ET_REL)
        return status__fail(st, "%s is an ELF file of unknown type %u: " WANTED, path,
                            (unsigned)ehdr->e_type);
    return 0;
}

static int open_file(struct code *code, const char *path, struct status *st)
{
    struct stat info;
    char head[4] = "";

    code->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (code->fd < 0 || fstat(code->fd, &info) < 0)
        return status__fail(st, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return status__fail(st, "%s is not a regular file: " WANTED, path);
    ssize_t n = pread(code->fd, head, sizeof head, 0);
    if (n < 0)
        return status__fail(st, "cannot read %s: %s", path, strerror(errno));
    elf_version(EV_CURRENT);
    code->elf = elf_begin(code->fd, ELF_C_READ, NULL);
    GElf_Ehdr ehdr;
    if (!code->elf || elf_kind(code->elf) != ELF_K_ELF || !gelf_getehdr(code->elf, &ehdr))
        return refuse_kind(path, code->elf, head, (size_t)n, st);
    if (check_header(path, &ehdr, st))
        return -1;
    uint64_t table_end;
    if (__builtin_add_overflow(ehdr.e_shoff, (uint64_t)ehdr.e_shnum * ehdr.e_shentsize, &table_end) ||
        table_end > (uint64_t)info.st_size)
        return status__fail(
            st,
            "%s is truncated: its section headers should end at byte %llu, the file has %lld; "
            "get a complete copy",
            path, (unsigned long long)table_end, (long long)info.st_size);
    code->relocatable = ehdr.e_type == ET_REL;
    return 0;
}

/* ---- sections ---- */

static int add_section(struct code *code, const char *path, Elf_Scn *scn, const GElf_Shdr *shdr,
                       struct status *st)
{
    Elf_Data *data = elf_rawdata(scn, NULL);
    struct code_section section = {.start = shdr->sh_addr, .index = (uint32_t)elf_ndxscn(scn)};

    if (!data || !data->d_buf || data->d_size < shdr->sh_size)
        return status__fail(st, "%s is truncated or damaged: code section %zu lies outside the file", path,
                            elf_ndxscn(scn));
    if (shdr->sh_size > INT_MAX || section.start + shdr->sh_size < section.start)
        return status__fail(st, "%s: code section %zu is too large (%llu bytes)", path, elf_ndxscn(scn),
                            (unsigned long long)shdr->sh_size);
    if (code->relocatable)
        section.start = code->section.n ? (uint64_t)section.index << 32 : 0;
    section.bytes = data->d_buf;
    section.size = (uint32_t)shdr->sh_size;
    if (!vector__push(&code->section, section))
        return status__fail(st, "out of memory");
    return 0;
}

/* A file without section headers: the executable segments. */
static int read_segments(struct code *code, const char *path, struct status *st)
{
    size_t n = 0;
    if (elf_getphdrnum(code->elf, &n) < 0)
        n = 0;
    for (size_t i = 0; i < n && i < USHRT_MAX; i++) {
        GElf_Phdr phdr;
        if (!gelf_getphdr(code->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) ||
            phdr.p_filesz == 0 || phdr.p_filesz > INT_MAX || phdr.p_vaddr + phdr.p_filesz < phdr.p_vaddr)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(code->elf, (int64_t)phdr.p_offset, phdr.p_filesz, ELF_T_BYTE);
        if (!data || !data->d_buf || data->d_size < phdr.p_filesz)
            return status__fail(st, "%s is truncated or damaged: segment %zu lies outside the file", path, i);
        struct code_section section = {
            .start = phdr.p_vaddr, .size = (uint32_t)phdr.p_filesz, .bytes = data->d_buf};
        if (!vector__push(&code->section, section))
            return status__fail(st, "out of memory");
    }
    return 0;
}

static int compare_sections(const void *a, const void *b)
{
    const struct code_section *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int read_sections(struct code *code, const char *path, struct status *st)
{
    bool any = false, lto = false, left_out = false;
    size_t names;

    if (elf_getshdrstrndx(code->elf, &names) < 0)
        names = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(code->elf, scn)) != NULL;) {
        GElf_Shdr shdr;
        if (!gelf_getshdr(scn, &shdr))
            continue;
        any = true;
        const char *name = elf_strptr(code->elf, names, shdr.sh_name);
        lto = lto || (name && strncmp(name, ".gnu.lto_", 9) == 0);
        /* linkage tables jump back to their start, but never in a loop */
        if (!(shdr.sh_flags & SHF_EXECINSTR) || shdr.sh_size == 0 || (name && strncmp(name, ".plt", 4) == 0))
            continue;
        if (shdr.sh_type == SHT_NOBITS) {
            left_out = true;
            continue;
        }
        if (add_section(code, path, scn, &shdr, st))
            return -1;
    }
    if (!any && read_segments(code, path, st))
        return -1;
    if (code->section.n == 0) {
        if (left_out)
            return status__fail(st, "%s holds debug information but no code: give the program it belongs to",
                                path);
        if (lto)
            return status__fail(
                st, "%s holds no machine code yet (compiled with -flto): give the linked program", path);
        return status__fail(st, "%s holds no code", path);
    }
    qsort(code->section.item, code->section.n, sizeof *code->section.item, compare_sections);
    return 0;
}

/* Position in code->section of a section of the file; -1: it holds no code. */
static int64_t section_position(const struct code *code, size_t index)
{
    return index < code->position.n ? code->position.item[index] : -1;
}

static bool index_sections(struct code *code)
{
    for (size_t i = 0; i < code->section.n; i++) {
        while (code->position.n <= code->section.item[i].index)
            if (!vector__push(&code->position, -1))
                return false;
        code->position.item[code->section.item[i].index] = (int32_t)i;
    }
    return true;
}

/* ---- symbols ---- */

static bool add_symbol(struct code *code, const GElf_Sym *sym, const char *name)
{
    int type = GELF_ST_TYPE(sym->st_info);
    int64_t position = section_position(code, sym->st_shndx);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;

    if (position < 0 || !name || !name[0] || (!function && type != STT_NOTYPE))
        return true;
    const struct code_section *section = &code->section.item[position];
    uint64_t offset = code->relocatable ? sym->st_value : sym->st_value - section->start;
    if (offset >= section->size)
        return true;
    uint64_t room = section->size - offset;
    struct code_symbol symbol = {.address = section->start + offset,
                                 .size = sym->st_size < room ? sym->st_size : room,
                                 .name = name,
                                 .section = (uint32_t)position,
                                 .function = function};
    return vector__push(&code->symbol, symbol);
}

static int compare_symbols(const void *a, const void *b)
{
    const struct code_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    if (x->function != y->function)
        return x->function ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool read_symbols(struct code *code)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(code->elf, scn)) != NULL;) {
        GElf_Shdr shdr;
        if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM) ||
            shdr.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        uint64_t n = data ? data->d_size / shdr.sh_entsize : 0;
        for (uint64_t i = 0; i < n && i < INT_MAX; i++) {
            GElf_Sym sym;
            if (gelf_getsym(data, (int)i, &sym) &&
                !add_symbol(code, &sym, elf_strptr(code->elf, shdr.sh_link, sym.st_name)))
                return false;
        }
    }
    if (code->symbol.n)
        qsort(code->symbol.item, code->symbol.n, sizeof *code->symbol.item, compare_symbols);
    return true;
}

/* ---- relocations of objects ---- */

static bool add_fixup(struct code_section *section, Elf *elf, Elf_Data *symbols, size_t names,
                      const GElf_Rela *rela)
{
    struct code_fixup fixup = {.offset = rela->r_offset, .target = -1};
    GElf_Sym sym;

    if (symbols && gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym)) {
        uint64_t type = GELF_R_TYPE(rela->r_info);
        /* the field holds S + A - P and is counted from its own end, 4 bytes on */
        uint64_t target = sym.st_value + (uint64_t)rela->r_addend + 4;
        if ((type == R_X86_64_PC32 || type == R_X86_64_PLT32) && sym.st_shndx == section->index &&
            target < section->size)
            fixup.target = (int64_t)target;
        const char *name = elf_strptr(elf, names, sym.st_name);
        if (name && name[0])
            fixup.symbol = name;
    }
    return vector__push(&section->fixup, fixup);
}

static int compare_fixups(const void *a, const void *b)
{
    uint64_t x = ((const struct code_fixup *)a)->offset, y = ((const struct code_fixup *)b)->offset;
    return x < y ? -1 : x > y;
}

static bool read_relocations(struct code *code)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(code->elf, scn)) != NULL;) {
        GElf_Shdr shdr, symtab_shdr;
        int64_t position;
        if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA || shdr.sh_entsize == 0 ||
            (position = section_position(code, shdr.sh_info)) < 0)
            continue;
        struct code_section *section = &code->section.item[position];
        Elf_Data *data = elf_getdata(scn, NULL);
        Elf_Scn *symtab = elf_getscn(code->elf, shdr.sh_link);
        Elf_Data *symbols = symtab && gelf_getshdr(symtab, &symtab_shdr) ? elf_getdata(symtab, NULL) : NULL;
        uint64_t n = data ? data->d_size / shdr.sh_entsize : 0;
        for (uint64_t i = 0; i < n && i < INT_MAX; i++) {
            GElf_Rela rela;
            if (gelf_getrela(data, (int)i, &rela) &&
                !add_fixup(section, code->elf, symbols, symbols ? symtab_shdr.sh_link : 0, &rela))
                return false;
        }
        if (section->fixup.n)
            qsort(section->fixup.item, section->fixup.n, sizeof *section->fixup.item, compare_fixups);
    }
    return true;
}

/* ---- the whole ---- */

int code__open(struct code *code, const char *path, struct status *st)
{
    *code = (struct code){.fd = -1};
    if (open_file(code, path, st) || read_sections(code, path, st))
        return -1;
    if (!index_sections(code) || !read_symbols(code) || (code->relocatable && !read_relocations(code)) ||
        !code__find_ranges(code))
        return status__fail(st, "out of memory");
    return 0;
}

void code__close(struct code *code)
{
    for (size_t i = 0; i < code->section.n; i++)
        vector__free(&code->section.item[i].fixup);
    vector__free(&code->section);
    vector__free(&code->position);
    vector__free(&code->symbol);
    vector__free(&code->range);
    if (code->elf)
        elf_end(code->elf);
    if (code->fd >= 0)
        close(code->fd);
    *code = (struct code){.fd = -1};
}

struct code_section *code__section(const struct code *code, uint64_t address)
{
    size_t low = 0, high = code->section.n; /* starts of [0, low) <= address */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (code->section.item[mid].start <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0 || address - code->section.item[low - 1].start >= code->section.item[low - 1].size)
        return NULL;
    return &code->section.item[low - 1];
}

size_t code__symbols_from(const struct code *code, uint64_t address)
{
    size_t low = 0, high = code->symbol.n; /* addresses of [0, low) < address */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (code->symbol.item[mid].address < address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct code_fixup *code_section__fixup(const struct code_section *section, uint64_t offset,
                                             unsigned len)
{
    size_t low = 0, high = section->fixup.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (section->fixup.item[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < section->fixup.n && section->fixup.item[low].offset < offset + len)
        return &section->fixup.item[low];
    return NULL;
}
