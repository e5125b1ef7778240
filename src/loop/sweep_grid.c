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
    size_t variant; /* that `sim` stands for */
    struct status st;
};

struct job {
    struct sweep_grid *grid;
    size_t first, end;   /* cells to fill */
    atomic_size_t next;  /* the next one */
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
