/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-order core: steps in, cycle reports out. */
#ifndef FATHOM_PIPE_H
#define FATHOM_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fathom/report.h"

struct core;
struct isa;
struct memory;
struct predictor;
struct source;
struct status;
struct pipe;

enum { PIPE_MAX_LISTENERS = 8 };

enum { UOP_RECORD_SYNC = 64, UOP_RECORD_MERGE = 65 }; /* as `index`: inserted uops, RN-17, RN-15 */
enum { UOP_RECORD_NO_PORT = 255 };

/* The life of one unfused uop, handed out when it retires. Cycles count from the start of the run; -1: the
 * uop never was there (no port: neither ready nor dispatched; delivered before cycle 0: -1). */
struct uop_record {
    uint32_t site;      /* of its instruction (a pair: of the first half) */
    uint32_t iteration; /* loops */
    uint64_t seq;       /* in program order; shared by nothing */
    uint64_t producer;  /* seq of the uop whose result it waited for last, 0: none in flight */
    uint64_t fetched;   /* number of its instruction on the correct path, to group uops */
    uint8_t kind;       /* enum uop_kind */
    uint8_t index;      /* position in the recipe, or UOP_RECORD_SYNC, _MERGE */
    uint8_t port;
    uint8_t fused_head; /* first of a fused-domain uop */
    uint8_t ends;       /* last uop of its instruction */
    uint8_t divides;    /* waited for and used the divider */
    uint8_t from;       /* enum fetch_source of its instruction */
    int64_t predecoded, delivered, issued;
    int64_t operands; /* last operand usable */
    int64_t ready;    /* joined its port's queue */
    int64_t dispatched, done, retired;
};
struct uop_listener {
    void (*retired)(struct uop_listener *self, const struct uop_record *uop);
};

struct pipe_config {
    const struct core *core;
    struct isa *isa;
    struct source *source;
    struct memory *memory;       /* NULL: every access hits L1 (loops) */
    struct predictor *predictor; /* NULL: every branch predicted (loops) */
    struct listener *listener[PIPE_MAX_LISTENERS];
    unsigned n_listeners;
    struct uop_listener *uops; /* NULL: nobody asks */
    bool unrolled;             /* loops: all uops from MITE, FE-2 */
    bool ideal_frontend;       /* loops: the uop queue is always full */
    bool stage_waits;          /* programs: reports tell execute_wait and retire_wait, for stage_stacks */
    bool every_cycle;          /* simulate idle cycles one by one: the same reports, slower (tests) */
    bool accounts_apart;       /* pipe__run calls listeners on a thread of their own; for long runs */
    bool ufs;                  /* loops: the published UFS rules instead (PIPELINE.md 4.1, 8.7, 9.3) */
    bool endless;              /* loops: DSB and LSD warm (DSB-9, TP-7), no load/store-buffer limits */
};

struct pipe *pipe__new(const struct pipe_config *config, struct status *st);
void pipe__free(struct pipe *pipe);
/* Memory that a pipeline for programs takes. */
size_t pipe__bytes(const struct core *core);
/* Ready for another run of the same kind (endless or not), keeping its memory. */
void pipe__reset(struct pipe *pipe, const struct pipe_config *config);

/*
 * Runs until `max_cycles` more cycles have passed, `stop` returned true (asked after every batch of
 * reports), or the source has ended and everything has retired. Returns 1 when the source has ended,
 * 0 when stopped, -1 on failure of the source. All reports up to then have been consumed.
 */
int pipe__run(struct pipe *pipe, uint64_t max_cycles, bool (*stop)(void *), void *arg);

/*
 * pipe__run in small pieces: what was reported last may wait until there is more of it. To have it consumed:
 * pipe__run for 0 cycles.
 */
int pipe__advance(struct pipe *pipe, uint64_t max_cycles);

/*
 * Pieces of an execution (docs/sample.md); needs a memory. pipe__hold: nothing beyond what has been laid out
 * is fetched; the next pipe__run ends with 1 once all of that has retired. pipe__warm then lets up to `n`
 * further instructions pass without taking time: they only teach memory, predictor, memory disambiguation
 * and, if `near`, the uop cache, which forgets within some thousand instructions. It returns their number,
 * less than `n` at the end of the execution, -1 on failure of the source. pipe__resume goes on after them,
 * with fetch as after a taken branch and every register ready.
 */
void pipe__hold(struct pipe *pipe);
int64_t pipe__warm(struct pipe *pipe, uint64_t n, bool near);
void pipe__resume(struct pipe *pipe);
/* Reports come in batches of at most `n` cycles, 1 to 512 (the default). */
void pipe__set_batch(struct pipe *pipe, unsigned n);

uint64_t pipe__cycles(const struct pipe *pipe);
uint64_t pipe__instructions(const struct pipe *pipe);

#endif
