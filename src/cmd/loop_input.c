/* SPDX-License-Identifier: Apache-2.0 */
/* Where the code comes from: ELF file, assembly text, hexadecimal digits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/loop.h"
#include "fathom/insn.h"
#include "fathom/status.h"

enum { MAX_TEXT_BYTES = 64 << 20 };

static struct loop_input *add(struct loop_inputs *in, char *name, const uint8_t *bytes, size_t size,
                              uint64_t address)
{
    struct loop_input *grown = realloc(in->item, (in->n + 1) * sizeof *grown);
    if (!grown || !name) {
        free(name);
        return NULL;
    }
    in->item = grown;
    in->item[in->n] = (struct loop_input){.name = name, .bytes = bytes, .size = size, .address = address};
    return &in->item[in->n++];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static char *place_name(const struct found_loop *l)
{
    char lines[64] = "";
    if (l->line && l->last_line > l->line)
        snprintf(lines, sizeof lines, ":%d-%d", l->line, l->last_line);
    else if (l->line)
        snprintf(lines, sizeof lines, ":%d", l->line);
    return text__printf("0x%llx..0x%llx%s%s%s%s%s", (unsigned long long)l->start, (unsigned long long)l->end,
                        l->function ? " in " : "", l->function ? l->function : "", l->file ? ", " : "",
                        l->file ? base_name(l->file) : "", l->file ? lines : "");
}

static int find_loops(const struct loop_request *q, const char *path, struct isa *isa, struct loop_inputs *in,
                      struct status *st)
{
    if (find__loops(path, isa, &q->select, &in->found, st))
        return -1;
    for (size_t i = 0; i < in->found.n; i++) {
        const struct found_loop *l = &in->found.loop[i];
        struct loop_input *item =
            add(in, place_name(l), l->bytes, l->end - l->start, q->has_align ? q->align : l->start);
        if (!item)
            return status__fail(st, "not enough memory for the loops of %s", path);
        item->function = l->function;
        item->file = l->file;
        item->line = l->line;
        item->last_line = l->last_line;
        item->depth = l->depth;
        item->why = l->simple ? NULL : l->why;
    }
    return 0;
}

/* Code without markers that has branches inside: the loops are looked for in it. */
static bool has_branches(struct isa *isa, const struct asm_block *b)
{
    struct insn **insn = calloc(b->size + 1, sizeof(struct insn *));
    struct block_shape shape = {0};
    struct status ignored;
    bool branches = insn && block__decode(isa, b->bytes, b->size, insn, &shape, &ignored) && shape.has_branch;
    free(insn);
    return branches;
}

static int read_assembly(const struct loop_request *q, const char *text, size_t size, struct isa *isa,
                         struct loop_inputs *in, struct status *st)
{
    const char *origin = strcmp(q->input, "-") == 0 ? "standard input" : q->input;
    if (asm__assemble(text, size, origin, q->intel, &in->blocks, st))
        return -1;
    if (!in->blocks.marked && (q->select.function || q->select.line || q->select.at_end ||
                               has_branches(isa, &in->blocks.block[0]))) {
        int rc = find_loops(q, in->blocks.object, isa, in, st);
        char *at = rc ? strstr(st->text, in->blocks.object) : NULL;
        if (at) { /* the user knows another name of it */
            char *better = text__printf("%.*s%s%s", (int)(at - st->text), st->text, origin,
                                        at + strlen(in->blocks.object));
            snprintf(st->text, sizeof st->text, "%s", better ? better : "out of memory");
            free(better);
        }
        return rc;
    }
    for (size_t i = 0; i < in->blocks.n; i++) {
        const struct asm_block *b = &in->blocks.block[i];
        char *name = b->name   ? text__printf("%s:%d %s", origin, b->line, b->name)
                     : b->line ? text__printf("%s:%d", origin, b->line)
                     : i       ? text__printf("%s, region %zu", origin, i + 1)
                               : strdup(origin);
        if (!add(in, name, b->bytes, b->size, q->align))
            return status__fail(st, "not enough memory for %s", origin);
    }
    return 0;
}

static int read_hex(const struct loop_request *q, struct loop_inputs *in, struct status *st)
{
    size_t cap = strlen(q->hex) / 2 + 1, size, at = 0, begin, end;
    if (!(in->bytes = malloc(cap)))
        return status__fail(st, "not enough memory for the block");
    if (hex__parse(q->hex, in->bytes, cap, &size, st))
        return -1;
    while (asm__byte_region(in->bytes, size, &at, &begin, &end))
        if (!add(in, text__printf("bytes %zu..%zu", begin, end), in->bytes + begin, end - begin, q->align))
            return status__fail(st, "not enough memory for the block");
    if (!in->n &&
        !add(in, text__printf("block of %zu byte%s", size, size == 1 ? "" : "s"), in->bytes, size, q->align))
        return status__fail(st, "not enough memory for the block");
    return 0;
}

static bool is_elf(const char *path)
{
    char magic[4] = "";
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    bool elf = fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    if (fd >= 0)
        close(fd);
    return elf;
}

int loop_inputs__read(const struct loop_request *q, struct isa *isa, struct loop_inputs *in,
                      struct status *st)
{
    size_t size;
    *in = (struct loop_inputs){0};
    if (q->hex)
        return read_hex(q, in, st);
    if (is_elf(q->input))
        return find_loops(q, q->input, isa, in, st);
    if (!(in->text = file__read(q->input, MAX_TEXT_BYTES, &size, st)))
        return -1;
    if (size >= 8 && memcmp(in->text, "!<arch>\n", 8) == 0)
        return status__fail(st, "%s is an archive: extract the object file with 'ar x' first", q->input);
    return read_assembly(q, in->text, size, isa, in, st);
}

void loop_inputs__free(struct loop_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->item[i].name);
    free(in->item);
    free(in->bytes);
    free(in->text);
    found_loops__free(&in->found);
    asm_blocks__free(&in->blocks);
    *in = (struct loop_inputs){0};
}
