/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path: from the last completed uop back over what each uop waited for last. A uop that waited
 * for an operand leads to its producer, one that waited for a port to the uop that had it, any other to the
 * uop that issued before it (it could not run earlier because it was not there earlier).
 */
#include "fathom/insn.h"
#include "loop/explain.h"

enum { PORT_WINDOW = 1024 }; /* uops around one, among which the previous user of its port is */

const char *path_link__name(enum path_link link)
{
    static const char *const name[PATH_LINKS] = {
        [PATH_DATA] = "data", [PATH_PORT] = "ports",  [PATH_DIVIDER] = "divider",
        [PATH_UNIT] = "unit", [PATH_ISSUE] = "issue",
    };
    return name[link];
}

static const struct uop_record *last_of_window(const struct explain *ex)
{
    const struct uop_record *u = ex->uops.all.item, *best = NULL;
    for (size_t i = 0; i < ex->uops.all.n && u[i].iteration <= ex->last; i++)
        if (u[i].iteration == ex->last && (!best || u[i].done >= best->done))
            best = &u[i];
    return best;
}

/* The uop that left the port, or the divider, last before `u` got it. */
static const struct uop_record *user_before(const struct explain *ex, const struct uop_record *u,
                                            bool divider)
{
    const struct uop_record *all = ex->uops.all.item, *best = NULL;
    size_t at = (size_t)(u - all);
    size_t from = at > PORT_WINDOW ? at - PORT_WINDOW : 0;
    size_t to = at + PORT_WINDOW < ex->uops.all.n ? at + PORT_WINDOW : ex->uops.all.n;
    for (size_t i = from; i < to; i++) {
        bool user = divider ? all[i].divides : all[i].port == u->port;
        if (user && i != at && all[i].dispatched >= 0 && all[i].dispatched < u->dispatched &&
            (!best || all[i].dispatched > best->dispatched))
            best = &all[i];
    }
    return best;
}

static const struct uop_record *step_back(const struct explain *ex, const struct uop_record *u,
                                          enum path_link *link)
{
    const struct uop_record *from = NULL;
    *link = PATH_ISSUE;
    if (u->dispatched >= 0) {
        struct uop_times t = explain__times(ex, u);
        if (u->dispatched > t.ready) {
            enum loop_wait w = explain__port_wait(ex, u, u->dispatched - 1);
            *link = w == LOOP_WAIT_DIVIDER ? PATH_DIVIDER : w == LOOP_WAIT_UNIT ? PATH_UNIT : PATH_PORT;
            from = *link == PATH_UNIT ? NULL : user_before(ex, u, *link == PATH_DIVIDER);
        } else if (t.ready > t.earliest && u->producer) {
            *link = PATH_DATA;
            from = explain__by_seq(ex, u->producer);
        }
    }
    if (!from && u > ex->uops.all.item)
        from = u - 1;
    return from;
}

/* When the next on the path could go on. */
static int64_t moment(const struct uop_record *u)
{
    return u->dispatched >= 0 ? u->dispatched : u->issued;
}

void explain__path(const struct explain *ex, struct loop_report *r)
{
    const struct uop_record *u = last_of_window(ex), *from;
    size_t limit = ex->uops.all.n;
    double iterations = (double)r->window_iterations;
    enum path_link link;

    for (size_t n = 0; u && n < limit && u->iteration > ex->first; n++, u = from) {
        from = step_back(ex, u, &link);
        if (!from)
            break;
        if (moment(u) > moment(from))
            r->path[link] += (double)(moment(u) - moment(from)) / iterations;
        if (link != PATH_ISSUE)
            r->insn[u->site].critical += 1 / iterations;
    }
}
