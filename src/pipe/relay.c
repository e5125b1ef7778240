/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accounts on a thread of their own: they only read reports, and nothing reads them before the end of the
 * run. Batches are handed over by moving `given`; the buffers of those before `done` may be written again.
 * Listeners get the same reports in the same order as without it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "pipe/state.h"

enum {
    RELAY_BATCHES = 8,
    RELAY_WAKE =
        4, /* batches to wait for before a sleeping thread is woken, which takes the first one long */
    RELAY_SPIN = 16
};

struct relay {
    pthread_t thread;
    struct listener *const *listener;
    unsigned n_listeners;
    _Atomic uint64_t given, done;
    _Atomic bool asleep, full;
    bool end;
    pthread_mutex_t mutex;
    pthread_cond_t more, less;
    unsigned n_reports[RELAY_BATCHES];
    struct cycle_report report[RELAY_BATCHES][REPORT_BATCH];
};

static void consume(struct relay *r, uint64_t batch)
{
    unsigned k = batch % RELAY_BATCHES;

    for (unsigned i = 0; i < r->n_listeners; i++)
        r->listener[i]->consume(r->listener[i], r->report[k], r->n_reports[k]);
}

/* Returns whether there is more to do. */
static bool sleep_until_more(struct relay *r, uint64_t done)
{
    pthread_mutex_lock(&r->mutex);
    atomic_store(&r->asleep, true);
    while (done == atomic_load(&r->given) && !r->end)
        pthread_cond_wait(&r->more, &r->mutex);
    atomic_store(&r->asleep, false);
    bool more = done != atomic_load(&r->given);
    pthread_mutex_unlock(&r->mutex);
    return more;
}

static void *relay__run(void *arg)
{
    struct relay *r = arg;
    uint64_t done = 0;

    do {
        while (done < atomic_load(&r->given)) {
            consume(r, done);
            atomic_store(&r->done, ++done);
            if (!atomic_load(&r->full))
                continue;
            pthread_mutex_lock(&r->mutex);
            pthread_cond_signal(&r->less);
            pthread_mutex_unlock(&r->mutex);
        }
    } while (sleep_until_more(r, done));
    return NULL;
}

struct relay *relay__new(struct listener *const *listener, unsigned n_listeners)
{
    struct relay *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->listener = listener;
    r->n_listeners = n_listeners;
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->more, NULL);
    pthread_cond_init(&r->less, NULL);
    if (thread__start(&r->thread, relay__run, r))
        return r;
    free(r);
    return NULL;
}

static void relay__wake(struct relay *r, bool end)
{
    pthread_mutex_lock(&r->mutex);
    r->end = end;
    pthread_cond_signal(&r->more);
    pthread_mutex_unlock(&r->mutex);
}

static bool is_full(struct relay *r)
{
    return atomic_load(&r->given) - atomic_load(&r->done) == RELAY_BATCHES;
}

struct cycle_report *relay__buffer(struct relay *r)
{
    for (unsigned k = 0; k < RELAY_SPIN && is_full(r); k++)
        sched_yield();
    if (is_full(r)) {
        pthread_mutex_lock(&r->mutex);
        atomic_store(&r->full, true);
        while (is_full(r))
            pthread_cond_wait(&r->less, &r->mutex);
        atomic_store(&r->full, false);
        pthread_mutex_unlock(&r->mutex);
    }
    return r->report[atomic_load(&r->given) % RELAY_BATCHES];
}

void relay__give(struct relay *r, unsigned n_reports)
{
    uint64_t batch = atomic_load(&r->given);

    r->n_reports[batch % RELAY_BATCHES] = n_reports;
    atomic_store(&r->given, batch + 1);
    if (batch + 1 - atomic_load(&r->done) >= RELAY_WAKE && atomic_load(&r->asleep))
        relay__wake(r, false);
}

void relay__finish(struct relay *r)
{
    relay__wake(r, true);
    pthread_join(r->thread, NULL);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->more);
    pthread_cond_destroy(&r->less);
    free(r);
}
