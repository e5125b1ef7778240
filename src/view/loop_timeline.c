/* SPDX-License-Identifier: Apache-2.0 */
/* The first iterations as a picture: rows are uops, columns are cycles. */
#include <inttypes.h>
#include <string.h>

#include "fathom/loop_report.h"
#include "fathom/pipe.h"

enum { TEXT = 34 };

static void ruler(const struct timeline *t, FILE *out)
{
    fprintf(out, "%*s", TEXT + 15, "");
    for (size_t c = 0; c < t->n_columns;) {
        char mark[24];
        int64_t cycle = t->first_cycle + (int64_t)c;
        int n = cycle % 10 == 0 ? snprintf(mark, sizeof mark, "%" PRId64, cycle) : 0;
        if (n == 0)
            n = snprintf(mark, sizeof mark, " ");
        fputs(mark, out);
        c += (size_t)n;
    }
    putc('\n', out);
}

static const char *kind_name(const struct timeline_row *row)
{
    static const char *const name[] = {"", "load", "sta", "std", ""};
    if (row->index == UOP_RECORD_SYNC)
        return "sync";
    if (row->index == UOP_RECORD_MERGE)
        return "merge";
    return row->kind < 5 ? name[row->kind] : "";
}

static void legend(FILE *out)
{
    fprintf(out,
            "\n  P predecoded  Q delivered to the IDQ  I issued  D dispatched  e executing  C complete  R "
            "retired\n"
            "  waiting before issue: . its turn or delivery  %c ROB full  %c RS full  %c load buffer  "
            "%c store buffer  %c registers  %c serial\n"
            "  waiting after issue:  - on the way to the scheduler  %c data  %c unit not pipelined  %c port  "
            "%c divider  %c to retire\n",
            loop_wait__letter(LOOP_WAIT_ROB), loop_wait__letter(LOOP_WAIT_RS),
            loop_wait__letter(LOOP_WAIT_LOAD_BUFFER), loop_wait__letter(LOOP_WAIT_STORE_BUFFER),
            loop_wait__letter(LOOP_WAIT_REGISTERS), loop_wait__letter(LOOP_WAIT_SERIAL),
            loop_wait__letter(LOOP_WAIT_DATA), loop_wait__letter(LOOP_WAIT_UNIT),
            loop_wait__letter(LOOP_WAIT_PORT), loop_wait__letter(LOOP_WAIT_DIVIDER),
            loop_wait__letter(LOOP_WAIT_RETIRE));
}

void view__loop_timeline(const struct loop_report *report, FILE *out)
{
    const struct timeline *t = &report->timeline;
    fputs("\nTimeline (iteration, instruction, uop, port; a column for each cycle)\n", out);
    ruler(t, out);
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct timeline_row *row = &t->row[i];
        bool again = i && t->row[i - 1].iteration == row->iteration && t->row[i - 1].insn == row->insn;
        char text[TEXT + 1], port[8] = "";
        snprintf(text, sizeof text, "%s", again ? "" : report->insn[row->insn].text);
        if (row->port != UOP_RECORD_NO_PORT)
            snprintf(port, sizeof port, "p%u", row->port);
        fprintf(out, "%4" PRIu32 " %-*s %-5s %-3s%s\n", row->iteration, TEXT, text, kind_name(row), port,
                row->cell);
    }
    if (t->cut)
        fputs("  (cut: ask for fewer iterations, or use --konata for the whole run)\n", out);
    legend(out);
}
