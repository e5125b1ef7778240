/* SPDX-License-Identifier: Apache-2.0 */
/* One execution for several pipelines: a source read once, handed out as any number of sources. */
#ifndef FATHOM_TEE_H
#define FATHOM_TEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/source.h"

struct status;
struct tee;

/* The instruction that stands for `insn` in another reader's instruction set; NULL: memory is out. */
typedef struct insn *(*tee_translate)(void *arg, const struct insn *insn);

/*
 * `in` has a struct code and is read by the tee alone. Every reader has a struct code of its own that
 * grows as the one of `in` does: at each fill it holds what `in` would have shown a single reader, under
 * the same ids, so that a pipeline behind a tee counts what it counts without one.
 */
struct tee *tee__new(struct source *in, unsigned n_readers, struct status *st);
void tee__free(struct tee *tee);

/* Reader `k`; valid until tee__free. Its fill answers as that of `in`. */
struct source *tee__source(struct tee *tee, unsigned k);
/* To be called before the first fill of reader `k`; without it the readers share instructions. */
void tee__set_translate(struct tee *tee, unsigned k, tee_translate translate, void *arg);

/*
 * Steps handed to reader `k`. What some reader has not taken is kept in memory: keep it small by letting
 * that reader's pipeline run next that has taken least.
 */
uint64_t tee__taken(const struct tee *tee, unsigned k);
/* The reader was told that the execution is over or has failed. */
bool tee__ended(const struct tee *tee, unsigned k);
/* Reader `k` takes nothing more: nothing is kept for it. */
void tee__leave(struct tee *tee, unsigned k);
/* Steps in memory. */
uint64_t tee__held(const struct tee *tee);
/* Whether a fill failed because memory was out and not because `in` failed. */
bool tee__out_of_memory(const struct tee *tee);

#endif
