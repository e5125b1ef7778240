/* SPDX-License-Identifier: Apache-2.0 */
/* Per instruction and uop: ports used and cycles waited in the steady part. */
#include <stdlib.h>

#include "fathom/insn.h"
#include "loop/explain.h"

static int make_uop_rows(const struct explain *ex, struct loop_report *r)
{
    size_t *n = calloc(r->n_insns + 1, sizeof *n);
    if (!n)
        return -1;
    for (size_t i = 0; i < ex->uops.all.n; i++) {
        const struct uop_record *u = &ex->uops.all.item[i];
        if (explain__in_window(ex, u) && n[u->site] <= u->index)
            n[u->site] = u->index + 1u;
    }
    for (size_t i = 0; i < r->n_insns; i++)
        if (n[i] && !(r->insn[i].uop = calloc(n[i], sizeof *r->insn[i].uop))) {
            free(n);
            return -1;
        }
    for (size_t i = 0; i < r->n_insns; i++)
        r->insn[i].n_uops = n[i];
    free(n);
    return 0;
}

static void add_waits(const struct explain *ex, const struct uop_record *u, double *wait)
{
    if (u->dispatched < 0)
        return;
    struct uop_times t = explain__times(ex, u);
    wait[LOOP_WAIT_DATA] += (double)(t.ready - t.earliest);
    for (int64_t c = t.ready; c < u->dispatched; c++)
        wait[explain__port_wait(ex, u, c)]++;
}

/* A fused uop was the next to issue since the one before it had issued. */
static void add_issue_waits(const struct explain *ex, int64_t previous, const struct uop_record *u,
                            double *wait)
{
    for (int64_t c = previous < 0 ? 0 : previous; c < u->issued; c++) {
        enum loop_wait w = explain__issue_wait(ex, c);
        if (w < LOOP_WAITS)
            wait[w]++;
    }
}

static void sum(struct loop_report *r, double iterations)
{
    for (size_t i = 0; i < r->n_insns; i++) {
        struct loop_insn_row *row = &r->insn[i];
        row->fused /= iterations;
        for (size_t k = 0; k < row->n_uops; k++) {
            struct loop_uop_row *uop = &row->uop[k];
            uop->count /= iterations;
            for (int p = 0; p < BOUNDS_MAX_PORTS; p++) {
                uop->port[p] /= iterations;
                row->port[p] += uop->port[p];
                row->unfused += uop->port[p];
            }
            for (int w = 0; w < LOOP_WAITS; w++) {
                uop->wait[w] /= iterations;
                row->wait[w] += uop->wait[w];
            }
        }
        for (int p = 0; p < BOUNDS_MAX_PORTS; p++)
            r->port[p] += row->port[p];
        r->fused += row->fused;
        r->unfused += row->unfused;
    }
}

/* Indices of a recipe that no uop of the steady part had. */
static void squeeze(struct loop_report *r)
{
    for (size_t i = 0; i < r->n_insns; i++) {
        struct loop_insn_row *row = &r->insn[i];
        size_t n = 0;
        for (size_t k = 0; k < row->n_uops; k++)
            if (row->uop[k].count > 0)
                row->uop[n++] = row->uop[k];
        row->n_uops = n;
        row->fused_with_previous = i > 0 && n == 0;
    }
}

int explain__rows(const struct explain *ex, struct loop_report *r)
{
    int64_t previous = -1;
    if (make_uop_rows(ex, r))
        return -1;
    for (size_t i = 0; i < ex->uops.all.n; i++) {
        const struct uop_record *u = &ex->uops.all.item[i];
        int64_t before = previous;
        previous = u->issued;
        if (!explain__in_window(ex, u))
            continue;
        struct loop_uop_row *uop = &r->insn[u->site].uop[u->index];
        uop->kind = u->kind;
        uop->index = u->index;
        uop->count++;
        if (u->fused_head) {
            r->insn[u->site].fused++;
            add_issue_waits(ex, before, u, uop->wait);
        }
        if (u->port < BOUNDS_MAX_PORTS && u->dispatched >= 0)
            uop->port[u->port]++;
        add_waits(ex, u, uop->wait);
        uop->wait[LOOP_WAIT_RETIRE] += u->retired > u->done + 1 ? (double)(u->retired - u->done - 1) : 0;
    }
    sum(r, (double)r->window_iterations);
    squeeze(r);
    return 0;
}
