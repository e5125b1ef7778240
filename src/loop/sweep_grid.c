/* SPDX-License-Identifier: Apache-2.0 */
/* Many loops on many variants of a core, on several threads. Every cell has its place and depends on nothing
 * but its loop and variant: which thread fills it, and when, does not show. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "fathom/status.h"
#include "loop/sweep.h"

enum { MAX_THREADS = 64, SHOW_MS = 100 };

struct worker {
    struct job *job;
    pthread_t thread;
    struct loopsim *sim;
    size_t variant;    /* that `sim` stands for */
    struct core table; /* for which its instructions are cracked */
    struct status st;
};

struct job {
    struct sweep_grid *grid;
    size_t first, end;  /* cells to fill */
    atomic_size_t next; /* the next one */
    atomic_size_t done;
    atomic_bool failed;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned running; /* under the lock */
};

/* Whether instructions are cracked alike for both cores. */
static bool same_table(const struct core *a, const struct core *b)
{
    return strcmp(a->insn_table, b->insn_table) == 0 && a->ports == b->ports &&
           (a->elim_slots_gpr > 0) == (b->elim_slots_gpr > 0) &&
           a->elim_movzx_high_encoding == b->elim_movzx_high_encoding &&
           a->pop5c_ends_group == b->pop5c_ends_group;
}

/* The worker's simulator for a variant. Cracking depends on few parameters, and an added port is none of
 * them: its uops are edited. */
static struct loopsim *simulator(struct worker *w, size_t i)
{
    const struct sweep_variant *v = &w->job->grid->variant[i];

    if (w->sim && w->variant == i)
        return w->sim;
    w->variant = i;
    struct core table = v->core;
    if (v->edit.kind == EDIT_PORT)
        table.ports = w->job->grid->variant[0].core.ports;
    if (w->sim && same_table(&table, &w->table)) {
        loopsim__set_core(w->sim, &v->core);
        return w->sim;
    }
    loopsim__close(w->sim);
    w->table = table;
    if ((w->sim = loopsim__open(&table, &w->st)))
        loopsim__set_core(w->sim, &v->core);
    return w->sim;
}

static int fill_cell(struct worker *w, size_t cell)
{
    struct sweep_grid *grid = w->job->grid;
    const struct sweep_config *config = grid->config;
    const struct sweep_loop *loop = &config->loop[cell % config->n_loops];
    const struct sweep_variant *v = &grid->variant[cell / config->n_loops];
    struct loopsim_options opt = {.address = loop->address,
                                  .registers = loop->registers,
                                  .model = config->model,
                                  .max_cycles = config->max_cycles};
    struct sweep_point *point = &grid->cell[cell];
    struct loop_figures figures;
    struct status st = {0};
    bool changed;

    *point = (struct sweep_point){.cycles = NAN, .speedup = NAN};
    if (cell >= config->n_loops && grid->error[cell % config->n_loops])
        return 0;
    struct loopsim *sim = simulator(w, cell / config->n_loops);
    if (!sim)
        return -1;
    struct recipe_patch *patch = recipe_patch__apply(loopsim__isa(sim), loop, &v->edit, &changed);
    if (!patch)
        return status__fail(&w->st, "not enough memory to change the uops of a loop");
    if (loopsim__run(sim, loop->bytes, loop->size, &opt, &figures, &st) == 0)
        *point = (struct sweep_point){.cycles = figures.cycles, .speedup = NAN, .periodic = figures.periodic};
    else if (cell < config->n_loops && !(grid->error[cell] = strdup(st.text)))
        status__fail(&w->st, "not enough memory for a message");
    recipe_patch__undo(patch);
    return w->st.text[0] ? -1 : 0;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct job *job = w->job;

    for (size_t cell; !job->failed && (cell = atomic_fetch_add(&job->next, 1)) < job->end;) {
        if (fill_cell(w, cell))
            job->failed = true;
        atomic_fetch_add(&job->done, 1);
    }
    pthread_mutex_lock(&job->lock);
    job->running--;
    pthread_cond_signal(&job->ended);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

static unsigned count_threads(const struct sweep_config *config, size_t n_cells)
{
    cpu_set_t set;
    unsigned n = config->threads;

    if (!n)
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    if (n > MAX_THREADS)
        n = MAX_THREADS;
    return n < n_cells ? n : (unsigned)n_cells;
}

static void wait_for_workers(struct job *job, size_t n_cells, struct progress *progress)
{
    struct timespec until;

    pthread_mutex_lock(&job->lock);
    while (job->running) {
        size_t done = job->first + atomic_load(&job->done);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SHOW_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (progress)
            progress__show(progress, "simulating loops: %zu of %zu (%zu %%)", done, n_cells,
                           100 * done / n_cells);
        pthread_cond_timedwait(&job->ended, &job->lock, &until);
    }
    pthread_mutex_unlock(&job->lock);
}

/* Fills the cells [first, end). */
static int run_cells(struct sweep_grid *grid, size_t first, size_t end, struct worker *worker, unsigned n,
                     struct progress *progress, struct status *st)
{
    struct job job = {.grid = grid,
                      .first = first,
                      .end = end,
                      .next = first,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .ended = PTHREAD_COND_INITIALIZER};
    unsigned started = 0;
    int rc = 0;

    pthread_mutex_lock(&job.lock);
    for (; started < n; started++) {
        worker[started].job = &job;
        job.running++;
        if (pthread_create(&worker[started].thread, NULL, work, &worker[started])) {
            job.running--;
            break;
        }
    }
    pthread_mutex_unlock(&job.lock);
    if (!started)
        return status__fail(st, "cannot start a thread for the simulation of loops: %s",
                            "raise the limit of processes (ulimit -u)");
    wait_for_workers(&job, grid->n_variants * grid->config->n_loops, progress);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(worker[i].thread, NULL);
        if (worker[i].st.text[0] && rc == 0) {
            *st = worker[i].st;
            rc = -1;
        }
    }
    pthread_cond_destroy(&job.ended);
    pthread_mutex_destroy(&job.lock);
    return rc;
}

int sweep_grid__run(struct sweep_grid *grid, struct status *st)
{
    size_t n_loops = grid->config->n_loops, n_cells = grid->n_variants * n_loops;
    unsigned n = count_threads(grid->config, n_cells);
    struct worker *worker = calloc(n ? n : 1, sizeof *worker);
    struct progress progress, *shown = grid->config->quiet ? NULL : &progress;
    struct status ignored;
    int rc = -1;

    if (!st)
        st = &ignored;
    if (!worker) {
        status__fail(st, "not enough memory for the threads of a sweep");
        goto out;
    }
    if (shown)
        progress__init(shown);
    /* The unmodified core first: what fails there is not tried again. */
    if (n_cells && run_cells(grid, 0, n_loops, worker, n, shown, st))
        goto out;
    if (n_cells > n_loops && run_cells(grid, n_loops, n_cells, worker, n, shown, st))
        goto out;
    rc = 0;
out:
    if (shown && worker)
        progress__clear(shown);
    for (unsigned i = 0; worker && i < n; i++)
        loopsim__close(worker[i].sim);
    free(worker);
    return rc;
}
