/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>

bool thread__start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < 2)
        return false;
    sigfillset(&all); /* signals are for the first thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0;
}
