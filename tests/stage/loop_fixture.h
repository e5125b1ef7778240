/* SPDX-License-Identifier: Apache-2.0 */
/* Runs endless loops of given bytes through the pipeline, for tests of its stages. */
#ifndef LOOP_FIXTURE_H
#define LOOP_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/core.h"
#include "fathom/loop.h"
#include "fathom/pipe.h"
#include "fathom/status.h"
#include "fathom/steady.h"

struct loop_fixture {
    struct uop_listener listener; /* first member */
    struct core core;
    struct isa *isa;
    enum loop_registers registers;
    bool keep_uops;
    struct uop_record *uop; /* of the last run, with keep_uops */
    size_t n_uops, cap_uops;
};

static inline void loop_fixture__must(bool ok, const struct status *st)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", st->text);
    abort();
}

static inline void loop_fixture__keep(struct uop_listener *self, const struct uop_record *r)
{
    struct loop_fixture *fx = (struct loop_fixture *)self;
    if (fx->n_uops == fx->cap_uops) {
        fx->cap_uops = fx->cap_uops ? 2 * fx->cap_uops : 4096;
        fx->uop = realloc(fx->uop, fx->cap_uops * sizeof *fx->uop);
    }
    fx->uop[fx->n_uops++] = *r;
}

static inline void loop_fixture__open_set(struct loop_fixture *fx, const char *core, const char *const *set,
                                          size_t n_set)
{
    struct status st = {0};
    memset(fx, 0, sizeof *fx);
    fx->listener.retired = loop_fixture__keep;
    loop_fixture__must(core__load(&fx->core, core, set, n_set, &st) == 0, &st);
    fx->isa = isa__open(&fx->core, &st);
    loop_fixture__must(fx->isa != NULL, &st);
}

static inline void loop_fixture__open(struct loop_fixture *fx, const char *core)
{
    loop_fixture__open_set(fx, core, NULL, 0);
}

static inline void loop_fixture__close(struct loop_fixture *fx)
{
    isa__close(fx->isa);
    free(fx->uop);
}

static inline size_t loop_fixture__bytes(const char *hex, uint8_t *bytes)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

/* Cycles per iteration of the block that starts at offset `align` of a 64-byte line. */
static inline double loop_fixture__cycles(struct loop_fixture *fx, const char *hex, uint64_t align)
{
    uint8_t bytes[4096];
    struct status st = {0};
    struct loop_options lo = {.isa = fx->isa, .address = align, .registers = fx->registers};
    struct loop *loop = loop__new(bytes, loop_fixture__bytes(hex, bytes), &lo, &st);
    loop_fixture__must(loop != NULL, &st);
    struct steady s;
    steady__init(&s, (uint32_t)loop__count(loop));
    fx->n_uops = 0;
    struct pipe_config pc = {.core = &fx->core,
                             .isa = fx->isa,
                             .source = loop__source(loop),
                             .listener = {&s.listener},
                             .n_listeners = 1,
                             .uops = fx->keep_uops ? &fx->listener : NULL,
                             .unrolled = loop__unrolled(loop),
                             .endless = true};
    struct pipe *pipe = pipe__new(&pc, &st);
    loop_fixture__must(pipe != NULL, &st);
    while (!s.done)
        pipe__run(pipe, STEADY_MIN_CYCLES, NULL, NULL);
    double cycles = steady__cycles(&s);
    pipe__free(pipe);
    steady__free(&s);
    loop__free(loop);
    return cycles;
}

#endif
