/* SPDX-License-Identifier: Apache-2.0 */
/* Markers in assembly text become labels, on the same line so that messages keep their line numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "loop/asm.h"

struct marker {
    const char *word;
    bool begin;
};

static const struct marker markers[] = {
    {"LLVM-MCA-BEGIN", true}, {"LLVM-MCA-END", false}, {"OSACA-BEGIN", true}, {"OSACA-END", false},
    {"IACA-BEGIN", true},     {"IACA-START", true},    {"IACA-END", false},   {"IACA_BEGIN", true},
    {"IACA_START", true},     {"IACA_END", false},
};

struct line {
    const char *text, *end;
    const char *comment; /* where its marking comment (or bare word) begins */
    const char *name;    /* what follows the marker */
    size_t name_size;
    const struct marker *marker; /* NULL: none */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Comment leaders at `p`: "#", "//", ";", "/" "*", repeated. */
static const char *skip_leader(const char *p, const char *end)
{
    while (p < end && (*p == '#' || *p == '/' || *p == ';' || *p == '*' || is_blank(*p)))
        p++;
    return p;
}

static bool try_marker(struct line *l, const char *word)
{
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
        size_t n = strlen(markers[i].word);
        if ((size_t)(l->end - word) < n || memcmp(word, markers[i].word, n) != 0)
            continue;
        const char *p = word + n, *e = l->end;
        if (p < e && !is_blank(*p) && *p != '*' && *p != ':')
            continue;
        while (p < e && (is_blank(*p) || *p == ':'))
            p++;
        while (e > p && (is_blank(e[-1]) || e[-1] == '/' || e[-1] == '*'))
            e--;
        l->marker = &markers[i];
        l->name = p;
        l->name_size = (size_t)(e - p);
        return true;
    }
    return false;
}

static void find_marker(struct line *l)
{
    bool start = true;
    for (const char *p = l->text; p < l->end; p++) {
        bool leader = *p == '#' || *p == ';' || (*p == '/' && p + 1 < l->end && (p[1] == '/' || p[1] == '*'));
        const char *word = leader ? skip_leader(p, l->end) : p;
        if ((leader || (start && memcmp(word, "IACA", l->end - word >= 4 ? 4 : 0) == 0)) &&
            try_marker(l, word)) {
            l->comment = p;
            return;
        }
        if (leader)
            p = word - 1 > p ? word - 1 : p;
        start = start && is_blank(*p);
    }
}

/* --- regions --------------------------------------------------------------------------------------- */

struct marking {
    FILE *out;
    const char *origin;
    int line;
    VECTOR(struct asm_region) regions;
};

static int open_region(struct marking *m, const struct line *l, struct status *st)
{
    if (m->regions.n == ASM_MAX_REGIONS)
        return status__fail(st, "%s:%d: more than %d marked regions", m->origin, m->line, ASM_MAX_REGIONS);
    struct asm_region *r = vector__add(&m->regions);
    if (!r)
        return status__fail(st, "%s: out of memory", m->origin);
    r->line = m->line;
    if (l->name_size)
        r->name = strndup(l->name, l->name_size);
    fprintf(m->out, "fathom.begin.%zu:", m->regions.n - 1);
    return 0;
}

static bool names(const struct asm_region *r, const struct line *l)
{
    return !l->name_size ||
           (r->name && strlen(r->name) == l->name_size && memcmp(r->name, l->name, l->name_size) == 0);
}

static int close_region(struct marking *m, const struct line *l, struct status *st)
{
    for (size_t i = m->regions.n; i-- > 0;)
        if (!m->regions.item[i].closed && names(&m->regions.item[i], l)) {
            m->regions.item[i].closed = true;
            fprintf(m->out, "fathom.end.%zu:", i);
            return 0;
        }
    return status__fail(st, "%s:%d: %s without a begin marker before it", m->origin, m->line,
                        l->marker->word);
}

/* Writes the line up to the marker's comment, the label, and the comment unless it is a bare word. */
static int put_line(struct marking *m, const struct line *l, struct status *st)
{
    if (!l->marker) {
        fwrite(l->text, 1, (size_t)(l->end - l->text), m->out);
        return 0;
    }
    const char *p = l->text;
    while (p < l->comment && is_blank(*p))
        p++;
    fwrite(l->text, 1, (size_t)(l->comment - l->text), m->out);
    if (p < l->comment)
        fputs("; ", m->out);
    if (l->marker->begin ? open_region(m, l, st) : close_region(m, l, st))
        return -1;
    putc(' ', m->out);
    /* A comment that begins with '/' and '*' may go on in the next line. */
    if (l->comment[0] == '/' && l->comment + 1 < l->end && l->comment[1] == '*')
        fwrite(l->comment, 1, (size_t)(l->end - l->comment), m->out);
    return 0;
}

static int put_lines(struct marking *m, const char *text, size_t size, struct status *st)
{
    const char *end = text + size;
    for (const char *p = text; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        struct line l = {.text = p, .end = newline ? newline : end};
        m->line++;
        find_marker(&l);
        if (put_line(m, &l, st))
            return -1;
        putc('\n', m->out);
        p = newline ? newline + 1 : end;
    }
    for (size_t i = 0; i < m->regions.n; i++)
        if (!m->regions.item[i].closed)
            return status__fail(st, "%s:%d: the region that begins here has no end marker", m->origin,
                                m->regions.item[i].line);
    return 0;
}

int asm__mark(const char *text, size_t size, const char *origin, struct asm_source *out, struct status *st)
{
    struct marking m = {.origin = origin};
    *out = (struct asm_source){0};
    if (memchr(text, 0, size))
        return status__fail(st, "%s is neither an ELF file nor assembly text: it holds a zero byte", origin);
    if (!(m.out = open_memstream(&out->text, &out->size)))
        return status__fail(st, "%s: out of memory", origin);
    int rc = put_lines(&m, text, size, st);
    if (fclose(m.out) != 0 && rc == 0)
        rc = status__fail(st, "%s: out of memory", origin);
    out->region = m.regions.item;
    out->n = m.regions.n;
    if (rc)
        asm_source__free(out);
    return rc;
}

void asm_source__free(struct asm_source *source)
{
    for (size_t i = 0; i < source->n; i++)
        free(source->region[i].name);
    free(source->region);
    free(source->text);
    *source = (struct asm_source){0};
}
