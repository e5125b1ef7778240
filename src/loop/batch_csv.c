/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 4180 in place: fields are unquoted and ended where they stand. */
#include <string.h>

#include "loop/batch.h"

void csv__init(struct csv_reader *csv, char *text, size_t size)
{
    *csv = (struct csv_reader){.at = text, .end = text + size, .next_line = 1};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        csv->at += 3;
}

/* The field at csv->at, moved to its end; what ended it: ',', '\n' or 0. */
static char quoted(struct csv_reader *csv, struct csv_record *record)
{
    char *to = csv->at, *from = csv->at + 1;
    for (; from < csv->end; from++) {
        if (*from == '"') {
            if (from + 1 >= csv->end || from[1] != '"')
                break;
            from++;
        }
        csv->next_line += *from == '\n';
        *to++ = *from;
    }
    if (from >= csv->end)
        record->bad_quotes = true;
    else
        from++;
    while (from < csv->end && *from != ',' && *from != '\n') {
        record->bad_quotes |= *from != '\r';
        from++;
    }
    char ended = from < csv->end ? *from : 0;
    *to = 0;
    csv->at = from;
    return ended;
}

static char plain(struct csv_reader *csv)
{
    char *p = csv->at;
    while (p < csv->end && *p != ',' && *p != '\n')
        p++;
    char ended = p < csv->end ? *p : 0;
    if (ended != ',' && p > csv->at && p[-1] == '\r')
        p[-1] = 0;
    *p = 0;
    csv->at = p;
    return ended;
}

bool csv__next(struct csv_reader *csv, struct csv_record *record)
{
    char ended;

    while (csv->at < csv->end && (*csv->at == '\n' || (*csv->at == '\r' && csv->at[1] == '\n'))) {
        csv->next_line += *csv->at == '\n';
        csv->at++;
    }
    if (csv->at >= csv->end)
        return false;
    record->n = 0;
    record->bad_quotes = false;
    csv->line = csv->next_line;
    do {
        char *field = csv->at;
        ended = csv->at < csv->end && *csv->at == '"' ? quoted(csv, record) : plain(csv);
        if (record->n < CSV_MAX_FIELDS)
            record->field[record->n] = field;
        record->n++;
        if (csv->at < csv->end)
            csv->at++;
    } while (ended == ',');
    csv->next_line += ended == '\n';
    return true;
}

void csv__write(FILE *out, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        fputs(field, out);
        return;
    }
    putc('"', out);
    for (; *field; field++) {
        if (*field == '"')
            putc('"', out);
        putc(*field, out);
    }
    putc('"', out);
}
