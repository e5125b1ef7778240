/* SPDX-License-Identifier: Apache-2.0 */
/* Helper threads, where there is a CPU for them. */
#ifndef FATHOM_BASE_THREAD_H
#define FATHOM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts `run(arg)` on a thread that takes no signals; to be joined. False, and nothing started, if this
 * process has one CPU only or may have no more threads. */
bool thread__start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
