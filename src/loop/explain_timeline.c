/* SPDX-License-Identifier: Apache-2.0 */
/* The first iterations, a row for each uop and a column for each cycle. */
#include <stdlib.h>
#include <string.h>

#include "loop/explain.h"

enum { MAX_ROWS = 20000, MAX_COLUMNS = 2000 };

struct canvas {
    const struct explain *ex;
    int64_t first, last; /* cycles of the columns */
    char *cell;
};

static void mark(struct canvas *c, int64_t from, int64_t to, char letter)
{
    for (int64_t cycle = from < c->first ? c->first : from; cycle < to && cycle <= c->last; cycle++)
        c->cell[cycle - c->first] = letter;
}

static void mark_one(struct canvas *c, int64_t cycle, char letter)
{
    mark(c, cycle, cycle + 1, letter);
}

static void mark_queue(struct canvas *c, const struct uop_record *u)
{
    int64_t from = u->delivered > c->first ? u->delivered : c->first;
    for (int64_t cycle = from; cycle < u->issued && cycle <= c->last; cycle++) {
        enum loop_wait w = explain__issue_wait(c->ex, cycle);
        mark_one(c, cycle, w == LOOP_WAITS ? '.' : loop_wait__letter(w));
    }
}

static void draw(struct canvas *c, const struct uop_record *u)
{
    int64_t done = u->done < u->retired ? u->done : u->retired;
    if (u->predecoded >= 0) {
        mark(c, u->predecoded, u->delivered, '.');
        mark_one(c, u->predecoded, 'P');
    }
    mark_queue(c, u);
    if (u->delivered >= 0)
        mark_one(c, u->delivered, 'Q');
    mark(c, done + 1, u->retired, loop_wait__letter(LOOP_WAIT_RETIRE));
    if (u->dispatched >= 0) {
        struct uop_times t = explain__times(c->ex, u);
        mark(c, u->issued + 1, t.earliest, '-');
        mark(c, t.earliest, t.ready, loop_wait__letter(LOOP_WAIT_DATA));
        for (int64_t cycle = t.ready; cycle < u->dispatched; cycle++)
            mark_one(c, cycle, loop_wait__letter(explain__port_wait(c->ex, u, cycle)));
        mark(c, u->dispatched + 1, done, 'e');
        mark_one(c, done, 'C');
        mark_one(c, u->dispatched, 'D');
    } else {
        mark(c, u->issued + 1, u->retired, loop_wait__letter(LOOP_WAIT_RETIRE));
    }
    mark_one(c, u->issued, 'I');
    mark_one(c, u->retired, 'R');
}

static int64_t first_moment(const struct uop_record *u)
{
    if (u->predecoded >= 0)
        return u->predecoded;
    return u->delivered >= 0 ? u->delivered : u->issued;
}

static size_t measure(const struct explain *ex, unsigned iterations, struct canvas *c, struct timeline *t)
{
    size_t n = 0;
    int64_t end = 0;
    c->first = INT64_MAX;
    for (; n < ex->uops.all.n && ex->uops.all.item[n].iteration < iterations; n++) {
        const struct uop_record *u = &ex->uops.all.item[n];
        c->first = first_moment(u) < c->first ? first_moment(u) : c->first;
        end = u->retired > end ? u->retired : end;
    }
    t->cut = n > MAX_ROWS || end - c->first >= MAX_COLUMNS;
    c->last = end - c->first >= MAX_COLUMNS ? c->first + MAX_COLUMNS - 1 : end;
    return n > MAX_ROWS ? MAX_ROWS : n;
}

int explain__timeline(const struct explain *ex, unsigned iterations, struct loop_report *r)
{
    struct timeline *t = &r->timeline;
    struct canvas c = {.ex = ex};
    size_t n = iterations ? measure(ex, iterations, &c, t) : 0;
    if (!n)
        return 0;
    t->n_columns = (size_t)(c.last - c.first + 1);
    t->first_cycle = c.first;
    t->row = calloc(n, sizeof *t->row);
    t->storage = malloc(n * (t->n_columns + 1));
    if (!t->row || !t->storage)
        return -1;
    for (; t->n_rows < n; t->n_rows++) {
        const struct uop_record *u = &ex->uops.all.item[t->n_rows];
        c.cell = t->storage + t->n_rows * (t->n_columns + 1);
        memset(c.cell, ' ', t->n_columns);
        draw(&c, u);
        size_t used = t->n_columns;
        while (used && c.cell[used - 1] == ' ')
            used--;
        c.cell[used] = 0;
        t->row[t->n_rows] = (struct timeline_row){.iteration = u->iteration,
                                                  .insn = u->site,
                                                  .index = u->index,
                                                  .kind = u->kind,
                                                  .port = u->port,
                                                  .cell = c.cell};
    }
    return 0;
}
