/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for one loop on a terminal. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "fathom/loop_report.h"
#include "fathom/pipe.h"

enum { BAR = 25, COLUMNS = 100, NAME = 30 };

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

struct page {
    const struct loop_report *r;
    const struct loop_view_options *opt;
    FILE *out;
};

static void paint(const struct page *page, const char *color)
{
    if (page->opt->color)
        fputs(color, page->out);
}

static void title(const struct page *page, const char *text, const char *of)
{
    putc('\n', page->out);
    paint(page, BOLD);
    fputs(text, page->out);
    if (of)
        fprintf(page->out, " (%s)", of);
    paint(page, PLAIN);
    putc('\n', page->out);
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

static void bar(FILE *out, double share)
{
    int n = share >= 1 ? BAR : share > 0 ? (int)(share * BAR + 0.5) : 0;
    while (n-- > 0)
        putc('#', out);
}

static const char *source_name(uint8_t source)
{
    static const char *const name[] = {"nothing", "the decoders (MITE)", "the DSB", "the LSD",
                                       "the microcode sequencer"};
    return source < sizeof name / sizeof name[0] ? name[source] : "?";
}

static const char *registers_name(enum loop_registers registers)
{
    return registers == LOOP_REGISTERS_SAME    ? "all registers equal at the start"
           : registers == LOOP_REGISTERS_STACK ? "all registers but RSP and RBP equal at the start"
                                               : "all registers different at the start";
}

static void header(const struct page *page)
{
    const struct loop_report *r = page->r;
    paint(page, BOLD);
    fputs(r->name, page->out);
    paint(page, PLAIN);
    fprintf(page->out, "\n  %s (%s), %s, %s, offset %u in its line\n", r->core, r->core_title,
            !r->simulated             ? "bounds only"
            : r->model == LOOPSIM_UFS ? "the published UFS rules"
                                      : "full model",
            r->figures.unrolled ? "unrolled" : "loop", r->offset);
    fprintf(page->out, "  %s\n", registers_name(r->registers));
    if (r->ends_elsewhere)
        fputs("  ! its last branch does not lead to its first instruction\n", page->out);
    if (r->n_unknown)
        fprintf(page->out, "  ! %zu instruction%s not in the instruction table (marked ?): default recipe\n",
                r->n_unknown, r->n_unknown == 1 ? "" : "s");
}

static void figures(const struct page *page)
{
    const struct loop_report *r = page->r;
    const struct loop_figures *f = &r->figures;
    FILE *out = page->out;

    putc('\n', out);
    paint(page, BOLD);
    fprintf(out, "  %-26s %9.2f", "cycles per iteration", f->cycles);
    paint(page, PLAIN);
    if (f->periodic)
        fprintf(out, "  exact: the machine repeats after %" PRIu64 " cycle%s, %" PRIu32 " iteration%s\n",
                f->period_cycles, f->period_cycles == 1 ? "" : "s", f->period_iterations,
                f->period_iterations == 1 ? "" : "s");
    else
        fprintf(out, "  no period found: mean of the last %" PRIu64 " of %" PRIu64 " iterations\n",
                r->window_iterations, f->simulated_iterations);
    if (!isnan(r->measured))
        fprintf(out, "  %-26s %9.2f  fidelity %.4f\n", "measured", r->measured, r->fidelity);
    fprintf(out, "  %-26s %9.2f  %zu instructions\n", "IPC", r->ipc, r->n_insns);
    fprintf(out, "  %-26s %9.2f  fused domain; %.2f unfused, dispatched to ports\n", "uops", r->fused,
            r->unfused);
    fprintf(out, "  %-26s %9.2f  %" PRIu32 " a cycle, %.1f %% used\n", "issue slots", r->slots,
            r->issue_width, r->slots > 0 ? 100 * r->fused / r->slots : 0);
    fprintf(out, "  %-26s %9s  %s\n", "uops come from", "", source_name(f->source));
}

/* --- bounds ---------------------------------------------------------------------------------------- */

static void port_names(char *text, size_t size, uint16_t set)
{
    size_t n = 0;
    for (int p = 0; p < 16 && n < size; p++)
        if (set >> p & 1)
            n += (size_t)snprintf(text + n, size - n, "%s%d", n ? "," : " ", p);
}

static void bound_insns(const struct page *page, const struct bound *b)
{
    char list[512];
    size_t n = 0;
    if (b->n_insns == 0)
        return;
    if (b->n_insns == page->r->n_insns) {
        fputs("all instructions", page->out);
        return;
    }
    for (size_t i = 0; i < b->n_insns; i++) {
        if (n + 32 > sizeof list || (!page->opt->all && i >= 12)) {
            snprintf(list + n, sizeof list - n, ", %zu more", b->n_insns - i);
            break;
        }
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%u", i ? "," : "#", b->insns[i] + 1u);
    }
    fputs(list, page->out);
}

static void bound_line(const struct page *page, enum bound_kind kind)
{
    const struct loop_report *r = page->r;
    const struct bound *b = &r->bounds.bound[kind];
    double whole = r->simulated ? r->figures.cycles : r->bounds.cycles;
    char name[64], ports[48] = "";

    if (isnan(b->cycles)) {
        if (page->opt->all)
            fprintf(page->out, "  %-26s %9s\n", bound__name(kind), "-");
        return;
    }
    if (kind == BOUND_PORTS)
        port_names(ports, sizeof ports, r->bounds.port_set);
    snprintf(name, sizeof name, "%s%s", bound__name(kind), ports);
    bool largest = kind == r->bounds.largest;
    if (largest)
        paint(page, RED);
    fprintf(page->out, "  %-26s %9.2f  %s ", name, b->cycles, largest ? "<--" : "   ");
    int n = whole > 0 ? (int)(b->cycles / whole * BAR + 0.5) : 0;
    for (int i = 0; i < BAR; i++)
        putc(i < n ? '#' : ' ', page->out);
    if (largest)
        paint(page, PLAIN);
    fputs("  ", page->out);
    bound_insns(page, b);
    putc('\n', page->out);
}

static void bounds(const struct page *page)
{
    const struct loop_report *r = page->r;
    if (!r->has_bounds) {
        fputs("\n  the analytical bounds of this block cannot be computed: it is too long\n", page->out);
        return;
    }
    title(page, "Bounds", "cycles per iteration; instructions that make them");
    for (int k = 0; k < BOUND_KINDS; k++)
        bound_line(page, (enum bound_kind)k);
    if (r->simulated) {
        fprintf(page->out, "  %-26s %9.2f      ", "hazards", r->hazard);
        bar(page->out, r->hazard_share);
        fprintf(page->out, " %.1f %% of the cycles: simulation - largest bound\n", 100 * r->hazard_share);
    }
}

/* --- instructions ---------------------------------------------------------------------------------- */

static void number(FILE *out, double value, int width)
{
    if (value < 0.005)
        fprintf(out, "%*s", width, ".");
    else
        fprintf(out, "%*.*f", width, value < 99.5 ? 2 : 0, value);
}

/* Wait columns that some instruction has a figure in. */
static unsigned used_waits(const struct loop_report *r)
{
    unsigned set = 0;
    for (size_t i = 0; i < r->n_insns; i++)
        for (int w = 0; w < LOOP_WAITS; w++)
            if (w != LOOP_WAIT_RETIRE && r->insn[i].wait[w] >= 0.005)
                set |= 1u << w;
    return set;
}

static void insn_heading(const struct page *page, unsigned waits)
{
    static const char *const shortened[LOOP_WAITS] = {
        [LOOP_WAIT_FRONTEND] = "front", [LOOP_WAIT_ROB] = "ROB",         [LOOP_WAIT_RS] = "RS",
        [LOOP_WAIT_LOAD_BUFFER] = "LB", [LOOP_WAIT_STORE_BUFFER] = "SB", [LOOP_WAIT_REGISTERS] = "PRF",
        [LOOP_WAIT_SERIAL] = "serial",  [LOOP_WAIT_DATA] = "data",       [LOOP_WAIT_UNIT] = "unit",
        [LOOP_WAIT_PORT] = "port",      [LOOP_WAIT_DIVIDER] = "div",     [LOOP_WAIT_RETIRE] = "retire",
    };
    fprintf(page->out, "%4s %6s %5s", "#", "cycles", "uops");
    for (uint32_t p = 0; p < page->r->n_ports; p++)
        fprintf(page->out, "   p%u", p);
    fputs(" |", page->out);
    for (int w = 0; w < LOOP_WAITS; w++)
        if (waits >> w & 1)
            fprintf(page->out, " %6s", shortened[w]);
    fprintf(page->out, " | %4s  instruction\n", "crit");
}

static void uop_line(const struct page *page, const struct loop_uop_row *u, unsigned waits)
{
    static const char *const kinds[] = {"compute", "load", "store address", "store data", "no port"};
    fprintf(page->out, "%4s %6s %5.2f", "", "", u->count);
    for (uint32_t p = 0; p < page->r->n_ports; p++)
        number(page->out, u->port[p], 5);
    fputs(" |", page->out);
    for (int w = 0; w < LOOP_WAITS; w++)
        if (waits >> w & 1)
            number(page->out, u->wait[w], 7);
    fprintf(page->out, " |         uop: %s\n",
            u->index == UOP_RECORD_SYNC    ? "stack engine sync"
            : u->index == UOP_RECORD_MERGE ? "register merge"
                                           : kinds[u->kind < 5 ? u->kind : 4]);
}

static void insn_line(const struct page *page, size_t i, unsigned waits)
{
    const struct loop_insn_row *row = &page->r->insn[i];
    FILE *out = page->out;
    fprintf(out, "%4zu", i + 1);
    number(out, row->cycles, 7);
    number(out, row->fused, 6);
    for (uint32_t p = 0; p < page->r->n_ports; p++)
        number(out, row->port[p], 5);
    fputs(" |", out);
    for (int w = 0; w < LOOP_WAITS; w++)
        if (waits >> w & 1)
            number(out, row->wait[w], 7);
    fputs(" |", out);
    number(out, row->critical, 5);
    fprintf(out, "  %s%s%s\n", row->unknown ? "? " : "", row->text,
            row->fused_with_previous ? "  (fused with the one before)" : "");
    if (page->opt->all && row->n_uops > 1)
        for (size_t k = 0; k < row->n_uops; k++)
            uop_line(page, &row->uop[k], waits);
}

static void insns(const struct page *page)
{
    const struct loop_report *r = page->r;
    unsigned waits = used_waits(r);
    title(page, "Instructions",
          "per iteration: cycles, issue slots, uops on each port | cycles its uops waited | times critical");
    insn_heading(page, waits);
    for (size_t i = 0; i < r->n_insns; i++)
        insn_line(page, i, waits);
    fprintf(page->out, "%4s", "");
    number(page->out, r->figures.cycles, 7);
    number(page->out, r->fused, 6);
    for (uint32_t p = 0; p < r->n_ports; p++)
        number(page->out, r->port[p], 5);
    fputs(" | sum\n", page->out);
    fputs("  critical path, cycles per iteration:", page->out);
    for (int l = 0; l < PATH_LINKS; l++)
        if (r->path[l] >= 0.005 || l == PATH_DATA)
            fprintf(page->out, "  %s %.2f", path_link__name((enum path_link)l), r->path[l]);
    putc('\n', page->out);
}

static void plain_insns(const struct page *page)
{
    title(page, "Instructions", NULL);
    for (size_t i = 0; i < page->r->n_insns; i++)
        fprintf(page->out, "%4zu  %8" PRIx64 "  %s%s\n", i + 1, page->r->insn[i].address,
                page->r->insn[i].unknown ? "? " : "", page->r->insn[i].text);
}

/* --- accounts -------------------------------------------------------------------------------------- */

static void tree(const struct page *page)
{
    const struct profile_tree *t = &page->r->tree;
    title(page, "Top-Down", "exact, steady state");
    for (size_t i = 0; i < t->n_nodes; i++) {
        const struct profile_node *n = &t->node[i];
        if (!page->opt->all && !n->flagged && n->level > 1)
            continue;
        if (n->flagged)
            paint(page, RED);
        fprintf(page->out, "%*s%-*s %6.1f %s %s ", 2 * n->level, "", 40 - 2 * n->level, n->name, n->value,
                n->unit, n->flagged ? "<--" : "   ");
        bar(page->out, n->value / 100);
        if (n->flagged)
            paint(page, PLAIN);
        putc('\n', page->out);
    }
}

static void stack(const struct page *page)
{
    const struct profile_stack *s = &page->r->stack;
    double total = 0;
    for (size_t i = 0; i < s->n_components; i++)
        total += s->component[i].cycles;
    title(page, "CPI stack", "cycles per iteration");
    for (size_t i = 0; i < s->n_components; i++) {
        const struct profile_component *c = &s->component[i];
        if (!(c->cycles > 0) && !page->opt->all)
            continue;
        fprintf(page->out, "  %-26s %9.2f  %5.1f %%  ", c->component, c->cycles,
                total > 0 ? 100 * c->cycles / total : 0);
        bar(page->out, total > 0 ? c->cycles / total : 0);
        putc('\n', page->out);
    }
}

static void verdict(const struct page *page)
{
    if (!page->r->sentence[0])
        return;
    title(page, "Verdict", NULL);
    fputs("  ", page->out);
    wrapped(page->out, page->r->sentence, 2);
    if (page->r->next[0]) {
        fputs("  Try: ", page->out);
        wrapped(page->out, page->r->next, 7);
    }
}

void view__loop_text(const struct loop_report *report, const struct loop_view_options *opt, FILE *out)
{
    const struct page page = {report, opt, out};
    header(&page);
    if (report->simulated)
        figures(&page);
    bounds(&page);
    if (report->simulated) {
        insns(&page);
        tree(&page);
        stack(&page);
    } else {
        plain_insns(&page);
    }
    verdict(&page);
    if (report->timeline.n_rows)
        view__loop_timeline(report, out);
}

/* --- several loops --------------------------------------------------------------------------------- */

static void table_line(const struct loop_entry *e, size_t number, FILE *out)
{
    const struct loop_report *r = e->report;
    const char *limit = r->limit ? r->limit : "?";
    if (r->simulated)
        fprintf(out, "%4zu %8.2f %6.2f  %-20s  %s\n", number, r->figures.cycles, r->ipc, limit, e->name);
    else
        fprintf(out, "%4zu %8.2f %6s  %-20s  %s\n", number, r->bounds.cycles, "-", limit, e->name);
}

void view__loop_table(const struct loop_entry *entry, size_t n, FILE *out)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        if (entry[i].report) {
            if (!good++)
                fprintf(out, "%4s %8s %6s  %-20s  %s\n", "#", "cycles", "IPC", "limit", "loop");
            table_line(&entry[i], good, out);
        }
    if (good == n)
        return;
    fprintf(out, "%s%zu not analysed:\n", good ? "\n" : "", n - good);
    for (size_t i = 0; i < n; i++)
        if (!entry[i].report)
            fprintf(out, "  %s: %s\n", entry[i].name, entry[i].why ? entry[i].why : "?");
}
