/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of the instruction tables; docs/data.md describes the format. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"
#include "isa/isa.h"

struct parser {
    const char *name;
    const char *at, *end; /* of the line that is being read */
    unsigned line;
    const char *problem; /* NULL: none yet */
    uint16_t fuse[26];   /* macro-fusion classes by letter, MF-1 */
};

static void parser__fail(struct parser *p, const char *problem)
{
    if (!p->problem)
        p->problem = problem;
}

/* The text up to `stop` (skipped) or the end of `from`. */
static struct text text__cut(struct text *from, char stop)
{
    const char *hit = memchr(from->at, stop, from->len);
    struct text part = {from->at, hit ? (uint32_t)(hit - from->at) : from->len};
    uint32_t used = part.len + (hit ? 1 : 0);

    from->at += used;
    from->len -= used;
    return part;
}

static unsigned text__number(struct parser *p, struct text text)
{
    unsigned value = 0;

    if (!text.len || text.len > 5)
        parser__fail(p, "number expected");
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            parser__fail(p, "number expected");
        value = value * 10 + (unsigned)(text.at[i] - '0');
    }
    if (value > 32767) {
        parser__fail(p, "number too large");
        value = 0;
    }
    return value;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A growing array: the tables are read once, so doubling is enough. */
static void *grow(struct parser *p, void *array, uint32_t n, size_t size)
{
    void *bigger = array;

    if (n & (n - 1) || (n && n < 64))
        return array;
    bigger = realloc(array, (n ? n * 2u : 64u) * size);
    if (!bigger)
        parser__fail(p, "out of memory");
    return bigger ? bigger : array;
}

/* `2*0156+23`, or `-` for none. */
static void parse_ports(struct parser *p, struct table *t, struct text text, struct row_fields *f)
{
    f->first_port_group = t->n_port_groups;
    f->n_port_groups = 0;
    f->no_ports = text__is(text, "-");
    f->has |= VARIANT_PORTS;
    while (text.len && !f->no_ports && !p->problem) {
        struct text part = text__cut(&text, '+');
        struct port_group group = {1, 0};

        if (memchr(part.at, '*', part.len))
            group.count = (uint16_t)text__number(p, text__cut(&part, '*'));
        for (uint32_t i = 0; i < part.len; i++) {
            int port = hex_digit(part.at[i]);
            if (port < 0)
                parser__fail(p, "port expected");
            else
                group.ports |= (uint16_t)(1u << port);
        }
        t->port_groups = grow(p, t->port_groups, t->n_port_groups, sizeof *t->port_groups);
        if (p->problem)
            return;
        t->port_groups[t->n_port_groups++] = group;
        f->n_port_groups++;
    }
}

/* `r5;p3*0156+2*23+4` */
static void parse_variant(struct parser *p, struct table *t, struct text text, struct row_fields *f)
{
    while (text.len && !p->problem) {
        struct text part = text__cut(&text, ';'), value = {part.at + 1, part.len - 1};

        if (part.len < 2) {
            parser__fail(p, "field of a variant expected");
            return;
        }
        if (part.at[0] == 'p') {
            parse_ports(p, t, value, f);
            continue;
        }
        if (part.at[0] == 'c') {
            f->has |= VARIANT_SIMPLE;
            f->simple = text__is(value, "-") ? -1 : (int16_t)text__number(p, value);
            continue;
        }
        const struct {
            char key;
            uint16_t bit, *field;
        } map[] = {
            {'u', VARIANT_UOPS, &f->uops},       {'r', VARIANT_FUSED, &f->fused},
            {'m', VARIANT_DECODER, &f->decoder}, {'s', VARIANT_MS, &f->ms},
            {'d', VARIANT_DIV, &f->div_cyc},     {'t', VARIANT_TP, &f->tp_cyc},
        };
        size_t i = 0;
        while (i < sizeof map / sizeof *map && map[i].key != part.at[0])
            i++;
        if (i == sizeof map / sizeof *map) {
            parser__fail(p, "unknown field of a variant");
            return;
        }
        f->has |= map[i].bit;
        *map[i].field = text__is(value, "-") ? 0 : (uint16_t)text__number(p, value);
    }
}

static uint8_t parse_groups(struct text text)
{
    uint8_t groups = 0;

    for (uint32_t i = 0; i < text.len; i++)
        groups |= (uint8_t)(text.at[i] == 'C' ? GROUP_C : text.at[i] == 'X' ? GROUP_SPAZO : 0);
    return groups;
}

/* `M64:rw,~RSP:rw,F:w:-:CX` */
static void parse_operands(struct parser *p, struct table *t, struct text text, struct row *row)
{
    row->first_operand = t->n_operands;
    while (text.len && !p->problem) {
        struct text part = text__cut(&text, ','), access;
        struct row_operand o = {0};

        o.cls = text__cut(&part, ':');
        access = text__cut(&part, ':');
        o.flags_read = parse_groups(text__cut(&part, ':'));
        o.flags_written = parse_groups(part);
        if (o.cls.len && o.cls.at[0] == '~') {
            o.hidden = true;
            o.cls.at++;
            o.cls.len--;
        }
        o.base = o.cls;
        o.cls = text__cut(&o.base, '@');
        o.read = memchr(access.at, 'r', access.len) != NULL;
        o.write = memchr(access.at, 'w', access.len) != NULL;
        if (!o.cls.len || row->n_operands == OPERAND_CLASS_MAX) {
            parser__fail(p, "operand expected");
            return;
        }
        if (text__is(o.cls, "F"))
            o.kind = ROW_FLAGS;
        else if (text__is(o.cls, "AGEN"))
            o.kind = ROW_ADDRESS;
        else if (o.base.len || (o.cls.at[0] == 'M' && o.cls.len > 1 && strchr("1234568", o.cls.at[1])) ||
                 (o.cls.len > 4 && (!memcmp(o.cls.at, "Moff", 4) || !memcmp(o.cls.at, "VSIB", 4))))
            o.kind = ROW_MEM;
        else if (strchr("01I", o.cls.at[0]) || (o.cls.len > 3 && !memcmp(o.cls.at, "Rel", 3)))
            o.kind = ROW_OTHER;
        else
            o.kind = ROW_REG;
        t->operands = grow(p, t->operands, t->n_operands, sizeof *t->operands);
        if (p->problem)
            return;
        t->operands[t->n_operands++] = o;
        row->n_operands++;
    }
}

/* `0>2:a6.i6.m3,1>2:1.s0`; `?`: the pair exists, the value is unknown. */
static void parse_lats(struct parser *p, struct table *t, struct text text, struct row *row)
{
    row->first_lat = t->n_lats;
    while (text.len && !p->problem) {
        struct text values = text__cut(&text, ','), pair = text__cut(&values, ':');
        struct row_lat lat = {0, 0, LAT_NONE, LAT_NONE, LAT_NONE, LAT_NONE, LAT_NONE};

        lat.from = (uint8_t)text__number(p, text__cut(&pair, '>'));
        lat.to = (uint8_t)text__number(p, pair);
        if (lat.from >= OPERAND_CLASS_MAX || lat.to >= OPERAND_CLASS_MAX)
            parser__fail(p, "latency between operands that do not exist");
        while (values.len && !p->problem) {
            struct text v = text__cut(&values, '.');
            int16_t *field = &lat.plain;

            if (text__is(v, "?") || !v.len)
                continue;
            if (v.at[0] > '9') {
                field = v.at[0] == 'a'   ? &lat.addr
                        : v.at[0] == 'i' ? &lat.index
                        : v.at[0] == 'm' ? &lat.mem
                                         : &lat.same;
                v.at++;
                v.len--;
            }
            *field = (int16_t)text__number(p, v);
        }
        t->lats = grow(p, t->lats, t->n_lats, sizeof *t->lats);
        if (p->problem)
            return;
        t->lats[t->n_lats++] = lat;
        row->n_lats++;
    }
}

/* `unfused/fused/decoder/ms` */
static void parse_counts(struct parser *p, struct text text, struct row_fields *f)
{
    f->uops = (uint16_t)text__number(p, text__cut(&text, '/'));
    f->fused = (uint16_t)text__number(p, text__cut(&text, '/'));
    f->decoder = (uint16_t)text__number(p, text__cut(&text, '/'));
    f->ms = (uint16_t)text__number(p, text);
}

static void parse_field(struct parser *p, struct table *t, struct text text, struct row *row)
{
    struct text value = text, key = text__cut(&value, '=');

    if (text__is(key, "eosz"))
        row->operand_bits = (uint16_t)text__number(p, value);
    else if (text__is(key, "zero"))
        row->imm_zero = (int8_t)text__number(p, value);
    else if (text__is(key, "rm"))
        for (uint32_t i = 0; i < value.len; i++)
            row->rm_set |= (uint16_t)(1u << (value.at[i] & 7));
    else if (text__is(key, "n"))
        parse_counts(p, value, &row->base);
    else if (text__is(key, "dec"))
        row->base.simple = (int16_t)text__number(p, value);
    else if (text__is(key, "div"))
        row->base.div_cyc = (uint16_t)text__number(p, value);
    else if (text__is(key, "tp"))
        row->base.tp_cyc = (uint16_t)text__number(p, value);
    else if (text__is(key, "ports"))
        parse_ports(p, t, value, &row->base);
    else if (text__is(key, "ops"))
        parse_operands(p, t, value, row);
    else if (text__is(key, "lat"))
        parse_lats(p, t, value, row);
    else if (text__is(key, "fuse") && value.len == 1 && value.at[0] >= 'A' && value.at[0] <= 'Z')
        row->fuses_with = p->fuse[value.at[0] - 'A'];
    else if (text__is(key, "idx"))
        parse_variant(p, t, value, &row->indexed);
    else if (text__is(key, "same"))
        parse_variant(p, t, value, &row->same);
    else if (text__is(key, "elim"))
        row->elim = true;
    else if (text__is(key, "zidiom"))
        row->zero_idiom = true;
    else if (text__is(key, "rsp") && value.len && value.at[0] == '-')
        row->rsp_delta = (int8_t)-text__number(p, (struct text){value.at + 1, value.len - 1});
    else if (text__is(key, "rsp"))
        row->rsp_delta = (int8_t)text__number(p, value);
    else
        parser__fail(p, "unknown field");
}

static void parse_row(struct parser *p, struct table *t, struct text line)
{
    struct row row = {.imm_zero = -1, .base = {.simple = -1}};

    row.mnemonic = text__cut(&line, ' ');
    row.suffix = text__cut(&line, ' ');
    row.form = text__cut(&line, ' ');
    if (!row.form.len)
        parser__fail(p, "mnemonic, suffix and form expected");
    if (row.form.len && row.form.at[0] != '-') {
        row.n_classes = 1;
        for (uint32_t i = 0; i < row.form.len; i++)
            row.n_classes = (uint8_t)(row.n_classes + (row.form.at[i] == ','));
    }
    while (line.len && !p->problem)
        parse_field(p, t, text__cut(&line, ' '), &row);
    if (!p->problem && row.n_operands)
        for (uint32_t i = row.first_lat; i < row.first_lat + row.n_lats; i++)
            if (t->lats[i].from >= row.n_operands || t->lats[i].to >= row.n_operands)
                parser__fail(p, "latency between operands that do not exist");
    t->rows = grow(p, t->rows, t->n_rows, sizeof *t->rows);
    if (!p->problem)
        t->rows[t->n_rows++] = row;
}

static void parse_fuse(struct parser *p, struct text line)
{
    struct text name = text__cut(&line, ' ');

    if (name.len != 1 || name.at[0] < 'A' || name.at[0] > 'Z') {
        parser__fail(p, "macro-fusion class expected");
        return;
    }
    for (uint32_t i = 0; i < line.len; i++) {
        int condition = hex_digit(line.at[i]);
        if (condition < 0)
            parser__fail(p, "condition code expected");
        else
            p->fuse[name.at[0] - 'A'] |= (uint16_t)(1u << condition);
    }
}

static void parse_line(struct parser *p, struct table *t, struct text line)
{
    struct text rest = line, word = text__cut(&rest, ' ');

    if (p->line == 1) {
        if (!text__is(word, "fathom-insns") || !text__is(rest, "1"))
            parser__fail(p, "\"fathom-insns 1\" expected");
    } else if (!line.len || line.at[0] == '#' || text__is(word, "core") || text__is(word, "rows")) {
        /* for the reader */
    } else if (text__is(word, "decode_uops")) {
        t->decode_uops = text__number(p, rest);
    } else if (text__is(word, "fuse")) {
        parse_fuse(p, rest);
    } else {
        parse_row(p, t, line);
    }
}

int table__parse(struct table *table, const char *name, const char *text, size_t size, struct status *st)
{
    struct parser p = {.name = name};
    struct text all = {text, (uint32_t)size};

    memset(table, 0, sizeof *table);
    table->decode_uops = 4;
    while (all.len && !p.problem) {
        struct text line = text__cut(&all, '\n');
        p.line++;
        parse_line(&p, table, line);
    }
    if (!p.problem && !table->n_rows)
        parser__fail(&p, "no rows");
    if (!p.problem)
        return 0;
    table__close(table);
    return status__fail(st, "instruction table %s, line %u: %s", name, p.line, p.problem);
}

int table__open(struct table *table, const char *name, struct status *st)
{
    memset(table, 0, sizeof *table);
    for (const struct table_text *t = table__texts; t->name; t++)
        if (!strcmp(t->name, name))
            return table__parse(table, name, t->start, (size_t)(t->end - t->start), st);
    return status__fail(st,
                        "there is no instruction table \"%s\"; the core's insn_table must be one of snb ivb "
                        "hsw bdw skl",
                        name);
}

void table__close(struct table *table)
{
    free(table->rows);
    free(table->operands);
    free(table->lats);
    free(table->port_groups);
    memset(table, 0, sizeof *table);
}
