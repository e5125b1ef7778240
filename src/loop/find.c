/* SPDX-License-Identifier: Apache-2.0 */
#include "fathom/find.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "fathom/status.h"
#include "loop/cfg.h"
#include "loop/elf.h"
#include "loop/find_name.h"
#include "profile/demangle.h"

enum { NAME_DISTANCE_MAX = 3 };

struct search {
    const char *path;
    struct isa *isa;
    const struct find_selection *sel;
    struct code code;
    struct places *places;
    struct cfg cfg;
    struct arena *arena;
    VECTOR(struct found_loop) found;
    VECTOR(uint32_t) wanted; /* symbols of the selected function */
    bool by_places;          /* it has none: compare the names that places knows */
    /* for the sentence when nothing is found */
    size_t n_loops;     /* of all */
    size_t n_in_wanted; /* ranges of the selected function */
    bool any_line, file_known;
    uint64_t nearest_distance;
    int nearest_line;
};

/* ---- the selected function ---- */

static bool find_wanted(struct search *search)
{
    const char *function = search->sel->function;
    if (!function)
        return true;
    for (uint32_t i = 0; i < search->code.symbol.n; i++)
        if (name__is_function(search->code.symbol.item[i].name, function) &&
            !vector__push(&search->wanted, i))
            return false;
    search->by_places = search->wanted.n == 0;
    return true;
}

static bool place_is_wanted(const struct search *search, uint64_t address)
{
    char *name = places__function(search->places, address);
    bool is = name && name__is_function(name, search->sel->function);
    free(name);
    return is;
}

static bool range_is_wanted(const struct search *search, const struct code_range *range)
{
    if (!search->sel->function)
        return true;
    if (search->by_places)
        return place_is_wanted(search, range->start);
    for (size_t i = 0; i < search->wanted.n; i++) {
        uint64_t address = search->code.symbol.item[search->wanted.item[i]].address;
        if (address >= range->start && address < range->end)
            return true;
    }
    return false;
}

/* A symbol without size reaches to the next one. */
static bool symbol_holds(const struct code *code, const struct code_symbol *symbol, uint64_t address)
{
    if (address < symbol->address)
        return false;
    if (symbol->size)
        return address - symbol->address < symbol->size;
    size_t next = code__symbols_from(code, symbol->address + 1);
    return next == code->symbol.n || address < code->symbol.item[next].address;
}

static bool address_is_wanted(const struct search *search, const struct code_range *range, uint64_t address)
{
    if (!search->sel->function || search->by_places)
        return true;
    for (size_t i = 0; i < search->wanted.n; i++) {
        const struct code_symbol *symbol = &search->code.symbol.item[search->wanted.item[i]];
        if (symbol_holds(&search->code, symbol, address) ||
            (range->function && symbol->function && symbol->address == range->start))
            return true;
    }
    return false;
}

static bool extent_is_wanted(const struct search *search, uint64_t start, uint64_t end)
{
    const struct find_selection *sel = search->sel;
    if (sel->at_start == 0 && sel->at_end == 0)
        return true;
    if (sel->at_end <= sel->at_start) /* a place instead of a range: the loop around it */
        return sel->at_start >= start && sel->at_start < end;
    return start >= sel->at_start && end <= sel->at_end;
}

/* ---- source lines ---- */

struct lines {
    const char *file;            /* of the first instruction that has one */
    int low, high;               /* in that file */
    int wanted_low, wanted_high; /* in the selected file */
};

static void widen(int *low, int *high, int line)
{
    *low = *low == 0 || line < *low ? line : *low;
    *high = line > *high ? line : *high;
}

static void find_lines(struct search *search, const struct cfg_loop *loop, uint64_t base, struct lines *lines)
{
    const struct cfg *cfg = &search->cfg;
    *lines = (struct lines){0};
    for (uint32_t i = 0; i < loop->n_body; i++) {
        const struct cfg_block *block = &cfg->block.item[cfg->body.item[loop->first_body + i]];
        for (uint32_t k = block->first; k < block->first + block->n; k++) {
            const char *file;
            int line;
            if (!places__line(search->places, base + cfg->insn.item[k].offset, &file, &line))
                continue;
            if (!lines->file)
                lines->file = file;
            if (file == lines->file || strcmp(file, lines->file) == 0)
                widen(&lines->low, &lines->high, line);
            if (search->sel->file && name__is_file(file, search->sel->file))
                widen(&lines->wanted_low, &lines->wanted_high, line);
        }
    }
}

static bool lines_are_wanted(struct search *search, const struct lines *lines)
{
    int line = search->sel->line;
    search->any_line = search->any_line || lines->file;
    if (!search->sel->file)
        return true;
    if (lines->wanted_low == 0)
        return false;
    search->file_known = true;
    if (line <= 0 || (line >= lines->wanted_low && line <= lines->wanted_high))
        return true;
    uint64_t distance =
        (uint64_t)(line < lines->wanted_low ? lines->wanted_low - line : line - lines->wanted_high);
    if (search->nearest_line == 0 || distance < search->nearest_distance) {
        search->nearest_distance = distance;
        search->nearest_line = lines->wanted_low;
    }
    return false;
}

/* ---- why a loop is not simple ---- */

/* " to memcpy@plt" of a direct call, or nothing. */
static void callee(const struct search *search, const struct code_section *section, uint64_t address,
                   const struct cfg_insn *insn, char *text, size_t size)
{
    const uint8_t *bytes = section->bytes + (address - section->start);
    const struct code_fixup *fixup = code_section__fixup(section, address - section->start, insn->len);
    char *name = NULL;
    int32_t displacement;

    text[0] = '\0';
    if (fixup) {
        name = fixup->symbol ? demangle(fixup->symbol) : NULL;
        if (!name && fixup->symbol)
            name = strdup(fixup->symbol);
    } else if (insn->len >= 5 && bytes[insn->len - 5] == 0xe8) {
        memcpy(&displacement, bytes + insn->len - 4, sizeof displacement);
        name = places__function(search->places, address + insn->len + (uint64_t)(int64_t)displacement);
    }
    if (name)
        snprintf(text, size, " to %s", name);
    free(name);
}

static const char *explain(const struct search *search, const struct code_section *section, uint64_t base,
                           const struct cfg_insn *insn)
{
    uint64_t address = base + insn->offset;
    char text[512];

    if (insn->into_middle)
        return arena__printf(search->arena, "a branch into the middle of an instruction at 0x%" PRIx64,
                             address);
    switch ((enum cfg_kind)insn->kind) {
    case CFG_CALL:
        callee(search, section, address, insn, text, sizeof text);
        return arena__printf(search->arena, "a call at 0x%" PRIx64 "%s", address, text);
    case CFG_SYSTEM:
        return arena__printf(search->arena, "a system call at 0x%" PRIx64, address);
    case CFG_INDIRECT:
        return arena__printf(search->arena, "an indirect jump at 0x%" PRIx64, address);
    case CFG_BAD: {
        size_t at = (size_t)(address - section->start), n = 0;
        for (size_t i = 0; i < 8 && at + i < section->size; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%02x", i ? " " : "", section->bytes[at + i]);
        return arena__printf(search->arena, "an instruction that cannot be decoded at 0x%" PRIx64 " (%s)",
                             address, text);
    }
    default:
        return arena__printf(search->arena, "an inner branch at 0x%" PRIx64, address);
    }
}

/* ---- loops ---- */

/* The name of the function around the loop, or NULL. */
static const char *function_name(const struct search *search, uint64_t address)
{
    char *name = places__function(search->places, address);
    const char *kept = name ? arena__strdup(search->arena, name) : NULL;
    free(name);
    return kept;
}

static bool add_loop(struct search *search, const struct code_range *range, const struct cfg_loop *loop)
{
    const struct code_section *section = &search->code.section.item[range->section];
    uint64_t start = range->start + loop->start, end = range->start + loop->end;
    struct lines lines;

    search->n_loops++;
    if (!extent_is_wanted(search, start, end) || !address_is_wanted(search, range, start))
        return true;
    find_lines(search, loop, range->start, &lines);
    if (!lines_are_wanted(search, &lines))
        return true;
    struct found_loop found = {
        .start = start,
        .end = end,
        .bytes = arena__copy(search->arena, section->bytes + (start - section->start), (size_t)(end - start)),
        .n_insns = loop->n_insns,
        .function = function_name(search, start),
        .file = lines.file ? arena__strdup(search->arena, lines.file) : NULL,
        .line = lines.low,
        .last_line = lines.high,
        .depth = (int)(loop->depth > INT_MAX ? INT_MAX : loop->depth),
        .simple = loop->simple,
    };
    if (!loop->simple)
        found.why = explain(search, section, range->start, &search->cfg.insn.item[loop->obstacle]);
    return found.bytes && (loop->simple || found.why) && vector__push(&search->found, found);
}

struct range_context {
    const struct code_section *section;
    uint32_t offset; /* of the range in its section */
};

static bool relocated(const void *context, uint32_t offset, unsigned len, int64_t *target)
{
    const struct range_context *range = context;
    const struct code_fixup *fixup =
        code_section__fixup(range->section, (uint64_t)range->offset + offset, len);
    if (!fixup)
        return false;
    *target = fixup->target < 0 ? -1 : fixup->target - (int64_t)range->offset;
    return true;
}

static bool search_range(struct search *search, const struct code_range *range)
{
    const struct code_section *section = &search->code.section.item[range->section];
    const struct find_selection *sel = search->sel;

    if ((sel->at_start || sel->at_end) &&
        (sel->at_start >= range->end || (sel->at_end > sel->at_start && sel->at_end <= range->start) ||
         (sel->at_end <= sel->at_start && sel->at_start < range->start)))
        return true;
    if (!range_is_wanted(search, range))
        return true;
    search->n_in_wanted++;
    struct range_context context = {section, (uint32_t)(range->start - section->start)};
    struct cfg_code code = {.bytes = section->bytes + context.offset,
                            .size = (uint32_t)(range->end - range->start),
                            .relocated = section->fixup.n ? relocated : NULL,
                            .context = &context};
    if (!cfg__build(&search->cfg, search->isa, &code))
        return false;
    for (size_t i = 0; i < search->cfg.loop.n; i++)
        if (search->cfg.loop.item[i].innermost && !add_loop(search, range, &search->cfg.loop.item[i]))
            return false;
    return true;
}

static int compare_loops(const void *a, const void *b)
{
    const struct found_loop *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->depth > y->depth ? -1 : x->depth < y->depth;
}

/* Functions may overlap: the same loop counts once, as the one that is deepest. */
static void sort_loops(struct search *search)
{
    struct found_loop *loop = search->found.item;
    size_t n = 0;
    if (search->found.n == 0)
        return;
    qsort(loop, search->found.n, sizeof *loop, compare_loops);
    for (size_t i = 0; i < search->found.n; i++)
        if (n == 0 || loop[n - 1].start != loop[i].start || loop[n - 1].end != loop[i].end)
            loop[n++] = loop[i];
    search->found.n = n;
}

/* ---- nothing found ---- */

static int no_function(const struct search *search, struct status *st)
{
    const char *function = search->sel->function, *near = NULL;
    unsigned best = NAME_DISTANCE_MAX + 1;
    for (size_t i = 0; i < search->code.symbol.n; i++) {
        const struct code_symbol *symbol = &search->code.symbol.item[i];
        unsigned distance =
            symbol->function ? text__distance(symbol->name, function, NAME_DISTANCE_MAX) : best;
        if (distance < best) {
            best = distance;
            near = symbol->name;
        }
    }
    if (near)
        return status__fail(st, "%s: no function is called '%s'; did you mean '%s'?", search->path, function,
                            near);
    if (search->code.symbol.n == 0)
        return status__fail(
            st, "%s: no function is called '%s': the file has no symbols (stripped); select by address",
            search->path, function);
    return status__fail(st, "%s: no function is called '%s'; 'nm -C' lists the names", search->path,
                        function);
}

static int nothing_found(const struct search *search, struct status *st)
{
    const struct find_selection *sel = search->sel;

    if (sel->function && search->n_in_wanted == 0)
        return no_function(search, st);
    if (sel->at_end <= sel->at_start && sel->at_start)
        return status__fail(st, "%s: no innermost loop contains the address 0x%" PRIx64, search->path,
                            sel->at_start);
    if (sel->at_end)
        return status__fail(st, "%s: no innermost loop lies in 0x%" PRIx64 "-0x%" PRIx64, search->path,
                            sel->at_start, sel->at_end);
    if (search->n_loops == 0)
        return status__fail(st, "%s: %s%s%s", search->path, sel->function ? "function '" : "the code ",
                            sel->function ? sel->function : "",
                            sel->function ? "' has no loop" : "has no loop");
    if (sel->file && !search->any_line)
        return status__fail(st,
                            "%s has no line information: compile with -g, or select by function or address",
                            search->path);
    if (sel->file && search->nearest_line)
        return status__fail(st, "%s: no innermost loop at %s:%d; the nearest begins at line %d", search->path,
                            sel->file, sel->line, search->nearest_line);
    if (sel->file)
        return status__fail(st, "%s: no loop comes from the source file '%s'", search->path, sel->file);
    return status__fail(st, "%s: no loop in function '%s'", search->path, sel->function);
}

static void search__free(struct search *search)
{
    vector__free(&search->found);
    vector__free(&search->wanted);
    cfg__free(&search->cfg);
    places__close(search->places);
    code__close(&search->code);
    if (search->arena)
        arena__free(search->arena);
    free(search->arena);
}

static int run(struct search *search, struct found_loops *out, struct status *st)
{
    if (code__open(&search->code, search->path, st))
        return -1;
    search->places = places__open(search->path, &search->code);
    search->arena = calloc(1, sizeof *search->arena);
    if (!search->places || !search->arena || !find_wanted(search))
        return status__fail(st, "out of memory");
    for (size_t i = 0; i < search->code.range.n; i++)
        if (!search_range(search, &search->code.range.item[i]))
            return status__fail(st, "out of memory while looking for loops in %s", search->path);
    sort_loops(search);
    if (search->found.n == 0)
        return nothing_found(search, st);
    out->loop = arena__copy(search->arena, search->found.item, search->found.n * sizeof *out->loop);
    if (!out->loop)
        return status__fail(st, "out of memory");
    out->n = search->found.n;
    out->storage = search->arena;
    search->arena = NULL;
    return 0;
}

int find__loops(const char *path, struct isa *isa, const struct find_selection *sel, struct found_loops *out,
                struct status *st)
{
    static const struct find_selection everything;
    struct search search = {.path = path, .isa = isa, .sel = sel ? sel : &everything, .code.fd = -1};
    int result;

    *out = (struct found_loops){0};
    result = run(&search, out, st);
    search__free(&search);
    return result;
}

void found_loops__free(struct found_loops *loops)
{
    struct arena *arena = loops->storage;
    if (arena)
        arena__free(arena);
    free(arena);
    *loops = (struct found_loops){0};
}
