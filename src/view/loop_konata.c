/* SPDX-License-Identifier: Apache-2.0 */
/* The whole run for pipeline viewers. */
#include <inttypes.h>
#include <stdlib.h>

#include "fathom/loop_report.h"
#include "fathom/pipe.h"

/* --- Konata's own format: events in the order of time --------------------------------------------- */

enum event_kind { EVENT_BEGIN, EVENT_STAGE, EVENT_RETIRE };

struct event {
    int64_t cycle;
    uint32_t uop;
    uint8_t kind; /* enum event_kind */
    const char *stage;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->cycle != y->cycle)
        return x->cycle < y->cycle ? -1 : 1;
    if (x->uop != y->uop)
        return x->uop < y->uop ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static int64_t first_moment(const struct uop_record *u)
{
    int64_t first = u->delivered >= 0 ? u->delivered : u->issued;
    return u->predecoded >= 0 && u->predecoded < first ? u->predecoded : first;
}

static size_t events_of(const struct uop_record *u, uint32_t index, struct event *e)
{
    const struct {
        const char *name;
        int64_t cycle;
    } stages[] = {
        {"P", u->predecoded}, {"Q", u->delivered},  {"I", u->issued},
        {"W", u->ready},      {"X", u->dispatched}, {"C", u->dispatched >= 0 ? u->done : -1},
    };
    size_t n = 0;
    e[n++] = (struct event){.cycle = first_moment(u), .uop = index, .kind = EVENT_BEGIN};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (stages[i].cycle >= 0)
            e[n++] = (struct event){
                .cycle = stages[i].cycle, .uop = index, .kind = EVENT_STAGE, .stage = stages[i].name};
    e[n++] = (struct event){.cycle = u->retired, .uop = index, .kind = EVENT_RETIRE};
    return n;
}

static void begin(const struct loop_report *r, const struct event *e, FILE *out)
{
    const struct uop_record *u = &r->uop[e->uop];
    const struct loop_insn_row *row = &r->insn[u->site];
    fprintf(out, "I\t%" PRIu32 "\t%" PRIu64 "\t0\n", e->uop, u->fetched);
    fprintf(out, "L\t%" PRIu32 "\t0\t%" PRIx64 ": %s\n", e->uop, row->address, row->text);
    fprintf(out, "L\t%" PRIu32 "\t1\titeration %" PRIu32 ", uop %u", e->uop, u->iteration, u->index);
    if (u->port != UOP_RECORD_NO_PORT)
        fprintf(out, ", port %u", u->port);
    putc('\n', out);
}

void view__loop_konata(const struct loop_report *r, FILE *out)
{
    struct event *e = malloc((r->n_uops * 8 + 1) * sizeof *e);
    size_t n = 0;
    if (!e)
        return;
    for (size_t i = 0; i < r->n_uops; i++)
        n += events_of(&r->uop[i], (uint32_t)i, e + n);
    qsort(e, n, sizeof *e, by_time);
    fprintf(out, "Kanata\t0004\nC=\t%" PRId64 "\n", n ? e[0].cycle : 0);
    for (size_t i = 0; i < n; i++) {
        if (i && e[i].cycle > e[i - 1].cycle)
            fprintf(out, "C\t%" PRId64 "\n", e[i].cycle - e[i - 1].cycle);
        if (e[i].kind == EVENT_BEGIN)
            begin(r, &e[i], out);
        else if (e[i].kind == EVENT_STAGE)
            fprintf(out, "S\t%" PRIu32 "\t0\t%s\n", e[i].uop, e[i].stage);
        else
            fprintf(out, "R\t%" PRIu32 "\t%" PRIu32 "\t0\n", e[i].uop, e[i].uop);
    }
    free(e);
}

/* --- gem5's O3PipeView ------------------------------------------------------------------------------ */

enum { TICKS = 1000 }; /* a cycle */

static uint64_t tick(int64_t cycle, int64_t origin)
{
    return (uint64_t)(cycle - origin + 1) * TICKS;
}

void view__loop_o3pipeview(const struct loop_report *r, FILE *out)
{
    int64_t origin = r->n_uops ? first_moment(&r->uop[0]) : 0;
    for (size_t i = 0; i < r->n_uops; i++)
        origin = first_moment(&r->uop[i]) < origin ? first_moment(&r->uop[i]) : origin;
    for (size_t i = 0; i < r->n_uops; i++) {
        const struct uop_record *u = &r->uop[i];
        const struct loop_insn_row *row = &r->insn[u->site];
        int64_t delivered = u->delivered >= 0 ? u->delivered : u->issued;
        int64_t dispatched = u->dispatched >= 0 ? u->dispatched : u->issued;
        fprintf(out, "O3PipeView:fetch:%" PRIu64 ":0x%08" PRIx64 ":%u:%zu:%s\n",
                tick(first_moment(u), origin), row->address, u->index, i + 1, row->text);
        fprintf(out, "O3PipeView:decode:%" PRIu64 "\n", tick(delivered, origin));
        fprintf(out, "O3PipeView:rename:%" PRIu64 "\n", tick(u->issued, origin));
        fprintf(out, "O3PipeView:dispatch:%" PRIu64 "\n", tick(u->ready >= 0 ? u->ready : u->issued, origin));
        fprintf(out, "O3PipeView:issue:%" PRIu64 "\n", tick(dispatched, origin));
        fprintf(out, "O3PipeView:complete:%" PRIu64 "\n", tick(u->done, origin));
        fprintf(out, "O3PipeView:retire:%" PRIu64 ":store:0\n", tick(u->retired, origin));
    }
}
