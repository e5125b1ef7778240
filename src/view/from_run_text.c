/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a stored result beside their predictions, on a terminal. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "fathom/from_run.h"

enum { COLUMNS = 100, INDENT = 6 };

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

struct page {
    const struct from_run *run;
    bool color;
    FILE *out;
};

/* Hundredths of cycles, so that what is printed adds up too. */
struct column {
    int64_t whole, by[FROM_RUN_CAUSES];
};

static void paint(const struct page *page, const char *color)
{
    if (page->color)
        fputs(color, page->out);
}

/* Names come from files: no control character reaches the terminal. */
static void plain(FILE *out, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
}

/* Words from column `indent` on, continued there; the caller has written `indent` columns. */
static void wrapped(FILE *out, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent)
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", n, text);
        text += n;
        text += strspn(text, " ");
    }
    putc('\n', out);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "multiply, matmul.c:12-13 (matmul)" */
static void place(const struct page *page, const struct from_run_loop *l)
{
    const struct found_loop *code = l->code;
    plain(page->out, code->function ? code->function : "[unknown]");
    if (code->file) {
        fputs(", ", page->out);
        plain(page->out, base_name(code->file));
        if (code->line)
            fprintf(page->out, ":%d", code->line);
        if (code->line && code->last_line > code->line)
            fprintf(page->out, "-%d", code->last_line);
    }
    fputs(" (", page->out);
    plain(page->out, base_name(l->module));
    putc(')', page->out);
}

static int64_t hundredths(double value)
{
    return isnan(value) ? 0 : llround(100 * value);
}

/* Of the figures as they are printed. */
static double printed_difference(const struct from_run_loop *l)
{
    return (double)(hundredths(l->in_program) - hundredths(l->predicted)) / 100;
}

/* --- all loops ------------------------------------------------------------------------------------- */

static void figure(FILE *out, double value, int columns, const char *sign)
{
    if (isnan(value))
        fprintf(out, " %*s", columns, "-");
    else
        fprintf(out, *sign ? " %+*.2f" : " %*.2f", columns, value);
}

static void table(const struct page *page)
{
    paint(page, BOLD);
    fprintf(page->out, "%4s %8s %12s %9s %9s %9s  %s\n", "#", "cycles%", "iterations", "program", "predicted",
            "diff.", "loop");
    paint(page, PLAIN);
    for (size_t i = 0; i < page->run->n; i++) {
        const struct from_run_loop *l = &page->run->loop[i];
        fprintf(page->out, "%4zu %8.1f", i + 1, 100 * l->share);
        if (l->iterations)
            fprintf(page->out, " %12" PRIu64, l->iterations);
        else
            fprintf(page->out, " %12s", "-");
        figure(page->out, l->in_program, 9, "");
        figure(page->out, l->predicted, 9, "");
        figure(page->out, isnan(l->difference) ? l->difference : printed_difference(l), 9, "+");
        fputs("  ", page->out);
        place(page, l);
        putc('\n', page->out);
    }
}

/* --- one loop -------------------------------------------------------------------------------------- */

/* What rounding leaves over goes into the part `rest`. */
static struct column column(double whole, const double *by, enum from_run_cause rest)
{
    struct column c = {.whole = hundredths(whole)};
    int64_t left = c.whole;
    for (int k = 0; k < FROM_RUN_CAUSES; k++)
        left -= c.by[k] = hundredths(by[k]);
    c.by[rest] += left;
    return c;
}

static enum from_run_cause largest(const double *by)
{
    int best = 0;
    for (int k = 1; k < FROM_RUN_CAUSES; k++)
        if (by[k] > by[best])
            best = k;
    return (enum from_run_cause)best;
}

static void line(const struct page *page, const char *name, int64_t program, int64_t predicted, bool both)
{
    fprintf(page->out, "%*s%-24s %10.2f", INDENT, "", name, (double)program / 100);
    if (both)
        fprintf(page->out, " %10.2f %+11.2f", (double)predicted / 100, (double)(program - predicted) / 100);
    putc('\n', page->out);
}

static void causes(const struct page *page, const struct from_run_loop *l)
{
    bool both = !isnan(l->difference);
    struct column program = column(l->in_program, l->program_by, FROM_RUN_ELSEWHERE);
    struct column predicted = column(l->predicted, l->predicted_by, largest(l->predicted_by));

    fprintf(page->out, "%*s%-24s %10s", INDENT, "", "", "program");
    fprintf(page->out, both ? " %10s %11s\n" : "\n", "predicted", "difference");
    line(page, "cycles per iteration", program.whole, predicted.whole, both);
    for (int c = 0; c < FROM_RUN_CAUSES; c++) {
        char name[32];
        if (!program.by[c] && !predicted.by[c])
            continue;
        snprintf(name, sizeof name, "  %s", from_run_cause__name((enum from_run_cause)c));
        line(page, name, program.by[c], predicted.by[c], both);
    }
}

static void words(const struct page *page, const char *title, const char *text)
{
    int n;
    if (!text[0])
        return;
    n = fprintf(page->out, "%*s%s: ", INDENT, "", title);
    wrapped(page->out, text, n);
}

static void detail(const struct page *page, size_t i)
{
    const struct from_run_loop *l = &page->run->loop[i];
    const struct found_loop *code = l->code;

    fprintf(page->out, "\n%4zu  ", i + 1);
    paint(page, BOLD);
    place(page, l);
    paint(page, PLAIN);
    fprintf(page->out, "\n%*s0x%" PRIx64 "..0x%" PRIx64 ", %zu instructions; %.1f %% of the cycles", INDENT,
            "", code->start, code->end, code->n_insns, 100 * l->share);
    if (l->iterations)
        fprintf(page->out, ", %" PRIu64 " iterations\n", l->iterations);
    else
        fputs("; its last instruction was never executed\n", page->out);
    if (l->iterations)
        causes(page, l);
    if (l->why)
        words(page, "No prediction", l->why);
    else
        words(page, "Loop", l->report.sentence);
    words(page, "Program", l->sentence);
    words(page, "Try", l->next);
}

/* --- the page -------------------------------------------------------------------------------------- */

void view__from_run_text(const struct from_run *run, const char *input, bool color, FILE *out)
{
    const struct page page = {run, color, out};
    const struct profile *p = run->profile;

    plain(out, input);
    fputs(": ", out);
    plain(out, p->command ? p->command : "?");
    fprintf(out, "\n  core %s, %" PRIu64 " cycles; predictions for %s, data in the L1 cache%s\n",
            p->core ? p->core : "?", p->cycles, run->core,
            run->model == LOOPSIM_UFS ? ", published UFS rules" : "");
    if (run->other_core)
        fputs("  ! predicted for a core of your own choice: the difference is also one of cores\n", out);
    if (!p->complete)
        fputs("  ! the run is incomplete: figures are those until it ended\n", out);
    fprintf(out, "  the hottest innermost loops: %.1f %% of the cycles (without what they call)\n\n",
            100 * run->share);
    table(&page);
    for (size_t i = 0; i < run->n; i++)
        detail(&page, i);
    fputs("\nfathom loop --at START..END FILE shows a prediction in full.\n", out);
}
