/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warming the branch predictor on a thread of its own: it needs nothing but branches and their outcomes, and
 * takes as long as all the rest. Steps are handed over by moving `given`; what is behind `done` has been
 * learned. The result is that of one thread: whoever looks at the predictor waits first (teacher__wait).
 *
 * Without a second thread (one CPU, no memory, a limit) the first one does it all.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "pipe/state.h"

enum { TEACH_AT_ONCE = 512, TEACH_SPIN = 64, TEACH_WORTH = 2048 /* steps; to wake a thread costs some µs */ };

struct teacher {
    pthread_t thread;
    struct predictor *predictor;
    const struct step_buffer *buffer;
    uint64_t addr; /* of the next step */
    _Atomic uint64_t given, done;
    _Atomic bool asleep, waited_for;
    bool end;
    pthread_mutex_t mutex;
    pthread_cond_t more, less;
};

static void teach_branch(struct predictor *predictor, const struct step *step, uint64_t addr)
{
    unsigned len = step->len;
    uint8_t kind = step->branch;
    bool taken = step->flags & STEP_TAKEN;

    if (len == 0) {
        len = step->site->insn->len;
        kind = step->site->insn->branch;
    }
    if (kind == BRANCH_NONE)
        return;
    struct branch b = {.addr = addr, .fallthrough = addr + len, .kind = kind};
    if (taken && (kind == BRANCH_COND || kind == BRANCH_JUMP || kind == BRANCH_CALL))
        b.direct = step->next_addr;
    predictor__warm(predictor, &b, taken, step->next_addr);
}

/* Each step is where the one before went. Returns the address after the last. */
static uint64_t teach_steps(struct predictor *predictor, const struct step_buffer *buffer, uint64_t from,
                            uint64_t to, uint64_t addr)
{
    for (uint64_t i = from; i < to; i++) {
        const struct step *step = &buffer->step[i % STEP_RING];
        if (!(step->flags & STEP_PLAIN))
            teach_branch(predictor, step, addr);
        addr = step->next_addr;
    }
    return addr;
}

static void *teacher__run(void *arg)
{
    struct teacher *t = arg;
    uint64_t done = atomic_load(&t->done);

    for (;;) {
        uint64_t given = atomic_load_explicit(&t->given, memory_order_acquire);
        if (done < given) {
            uint64_t to = given - done > TEACH_AT_ONCE ? done + TEACH_AT_ONCE : given;
            t->addr = teach_steps(t->predictor, t->buffer, done, to, t->addr);
            done = to;
            atomic_store(&t->done, done);
            if (!atomic_load(&t->waited_for))
                continue;
        }
        pthread_mutex_lock(&t->mutex);
        atomic_store(&t->asleep, true);
        pthread_cond_signal(&t->less);
        while (done == atomic_load(&t->given) && !t->end)
            pthread_cond_wait(&t->more, &t->mutex);
        atomic_store(&t->asleep, false);
        bool end = t->end && done == atomic_load(&t->given);
        pthread_mutex_unlock(&t->mutex);
        if (end)
            return NULL;
        done = atomic_load(&t->done); /* teacher__start */
    }
}

struct teacher *teacher__new(struct predictor *predictor, const struct step_buffer *buffer)
{
    struct teacher *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->predictor = predictor;
    t->buffer = buffer;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->more, NULL);
    pthread_cond_init(&t->less, NULL);
    if (thread__start(&t->thread, teacher__run, t))
        return t;
    free(t);
    return NULL;
}

void teacher__free(struct teacher *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->end = true;
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->mutex);
    pthread_join(t->thread, NULL);
    pthread_mutex_destroy(&t->mutex);
    pthread_cond_destroy(&t->more);
    pthread_cond_destroy(&t->less);
    free(t);
}

static void teacher__wake(struct teacher *t)
{
    if (!atomic_load(&t->asleep))
        return;
    pthread_mutex_lock(&t->mutex);
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->mutex);
}

void teacher__wait(struct teacher *t, uint64_t step)
{
    if (atomic_load(&t->done) >= step)
        return;
    teacher__wake(t);
    for (unsigned k = 0; k < TEACH_SPIN && atomic_load(&t->done) < step; k++)
        sched_yield();
    if (atomic_load(&t->done) >= step)
        return;
    pthread_mutex_lock(&t->mutex);
    atomic_store(&t->waited_for, true);
    while (atomic_load(&t->done) < step)
        pthread_cond_wait(&t->less, &t->mutex);
    atomic_store(&t->waited_for, false);
    pthread_mutex_unlock(&t->mutex);
}

void teacher__start(struct teacher *t, uint64_t step, uint64_t addr)
{
    pthread_mutex_lock(&t->mutex);
    while (!atomic_load(&t->asleep))
        pthread_cond_wait(&t->less, &t->mutex);
    assert(atomic_load(&t->done) == atomic_load(&t->given));
    t->addr = addr;
    atomic_store(&t->done, step);
    atomic_store(&t->given, step);
    pthread_mutex_unlock(&t->mutex);
}

void teacher__give(struct teacher *t, uint64_t step)
{
    atomic_store(&t->given, step);
    if (step - atomic_load(&t->done) >= TEACH_WORTH)
        teacher__wake(t);
}

uint64_t teacher__done(const struct teacher *t)
{
    return atomic_load(&t->done);
}
