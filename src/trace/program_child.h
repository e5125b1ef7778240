/* SPDX-License-Identifier: Apache-2.0 */
/* Starting qemu-user with the plugin. */
#ifndef FATHOM_TRACE_PROGRAM_CHILD_H
#define FATHOM_TRACE_PROGRAM_CHILD_H

#include <stdbool.h>

struct launch;
struct program_options;
struct reader;
struct status;

/*
 * Starts the program under the tracer; it waits for reader__go before its first instruction. Sets
 * reader->pid. The child dies with the calling thread.
 */
int child__start(struct reader *reader, struct launch *launch, const struct program_options *opt,
                 struct status *st);
/* Async-signal-safe. */
void child__kill(const struct reader *reader);
/* Without reaping it. */
bool child__is_dead(const struct reader *reader);
/* The signal that killed it, 0 if none did; without reaping it. */
int child__death_signal(const struct reader *reader);
/* Waits for its end, once; returns the wait status. A cancelled child is killed. */
int child__reap(struct reader *reader);

#endif
