/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log between one source and several readers: a list of chunks, oldest first. A chunk holds whole
 * groups; a group is what one fill of the source appended, and how much code was known after it.
 *
 * Invariants
 *  1. groups keep the source's fills apart: a reader sees code neither earlier nor later than alone, which
 *     decides how far a wrong path can be followed (WP-6).
 *  2. a reader's site ids are those of the source: code grows in the same order.
 *  3. a chunk that every reader has passed is used again.
 */
#include "fathom/tee.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "fathom/status.h"

enum { CHUNK_STEPS = 8192 };

struct group {
    uint32_t end;     /* in the chunk's steps */
    uint32_t n_sites; /* known after it */
};

struct chunk {
    struct chunk *next;
    uint64_t number;          /* 0, 1, 2 ... in order of execution */
    VECTOR(struct step) step; /* first_access counts from the chunk's first */
    VECTOR(struct access) access;
    VECTOR(struct group) group;
};

struct reader {
    struct source source; /* first member */
    struct tee *tee;
    tee_translate translate;
    void *translate_arg;
    uint32_t n_sites;     /* in source.code */
    struct chunk *chunk;  /* being read; NULL: nothing was there yet */
    uint32_t group, step; /* next in it */
    uint64_t taken;
    bool ended, left;
};

struct tee {
    struct source *in;
    struct step_buffer *buffer; /* the source's window; empty between fills */
    struct chunk *oldest, *newest, *spare;
    uint64_t n_read; /* steps */
    uint64_t first_held;
    int end; /* last answer of the source: 1 while there may be more */
    bool no_memory;
    unsigned n_readers;
    struct reader reader[];
};

/* --- the log ---------------------------------------------------------------------------------- */

static void chunk__free(struct chunk *chunk)
{
    if (!chunk)
        return;
    vector__free(&chunk->step);
    vector__free(&chunk->access);
    vector__free(&chunk->group);
    free(chunk);
}

/* A chunk that is not full, at the end of the log. */
static struct chunk *writable(struct tee *tee)
{
    struct chunk *chunk = tee->newest;

    if (chunk && chunk->step.n < CHUNK_STEPS)
        return chunk;
    chunk = tee->spare;
    if (chunk)
        tee->spare = chunk->next;
    else if (!(chunk = calloc(1, sizeof *chunk)))
        return NULL;
    chunk->next = NULL;
    chunk->number = tee->newest ? tee->newest->number + 1 : 0;
    chunk->step.n = chunk->access.n = chunk->group.n = 0;
    if (tee->newest)
        tee->newest->next = chunk;
    else
        tee->oldest = chunk;
    tee->newest = chunk;
    return chunk;
}

static void append_step(struct chunk *chunk, const struct step_buffer *from, const struct step *step)
{
    struct step copy = *step;

    copy.first_access = (uint32_t)chunk->access.n;
    for (uint32_t k = 0; k < step->n_access; k++)
        chunk->access.item[chunk->access.n++] = from->access[(step->first_access + k) % ACCESS_RING];
    chunk->step.item[chunk->step.n++] = copy;
}

/* Moves what the source has appended into the log as one group. */
static bool append_group(struct tee *tee)
{
    struct step_buffer *buf = tee->buffer;
    struct chunk *chunk = writable(tee);
    size_t n = (size_t)(buf->end - buf->begin), n_access = 0;

    if (!chunk)
        return false;
    for (uint64_t i = buf->begin; i < buf->end; i++)
        n_access += buf->step[i % STEP_RING].n_access;
    if (!vector__reserve(&chunk->step, chunk->step.n + n) ||
        !vector__reserve(&chunk->access, chunk->access.n + n_access) ||
        !vector__reserve(&chunk->group, chunk->group.n + 1))
        return false;
    for (; buf->begin < buf->end; buf->begin++)
        append_step(chunk, buf, &buf->step[buf->begin % STEP_RING]);
    chunk->group.item[chunk->group.n++] =
        (struct group){.end = (uint32_t)chunk->step.n, .n_sites = code__count(tee->in->code)};
    tee->n_read += n;
    return true;
}

/* One fill of the source: its answer. */
static int read_on(struct tee *tee)
{
    if (tee->end <= 0)
        return tee->end;
    tee->end = tee->in->fill(tee->in, tee->buffer, 1);
    if (tee->end > 0 && !append_group(tee)) {
        tee->no_memory = true;
        tee->end = -1;
    }
    return tee->end;
}

/* Takes chunks from the front that no reader needs. */
static void release(struct tee *tee)
{
    uint64_t needed = tee->newest ? tee->newest->number : 0;

    for (unsigned k = 0; k < tee->n_readers; k++) {
        const struct reader *r = &tee->reader[k];
        if (r->left)
            continue;
        uint64_t at = r->chunk ? r->chunk->number : 0;
        needed = at < needed ? at : needed;
    }
    while (tee->oldest && tee->oldest->number < needed) {
        struct chunk *chunk = tee->oldest;
        tee->oldest = chunk->next;
        tee->first_held += chunk->step.n;
        chunk->next = tee->spare;
        tee->spare = chunk;
    }
}

/* --- readers ---------------------------------------------------------------------------------- */

/* The code that the source knew after a group. */
static bool learn_code(struct reader *r, uint32_t n_sites)
{
    const struct code *code = r->tee->in->code;

    for (; r->n_sites < n_sites; r->n_sites++) {
        const struct site *site = code__site(code, r->n_sites);
        struct insn *insn = r->translate ? r->translate(r->translate_arg, site->insn) : site->insn;
        const struct site *own = insn ? code__intern(r->source.code, site->addr, insn) : NULL;
        if (!own) {
            r->tee->no_memory = true;
            return false;
        }
        assert(own->id == site->id);
    }
    return true;
}

static bool has_room(const struct step_buffer *buf)
{
    uint32_t used = 0;

    if (buf->end - buf->begin == STEP_RING)
        return false;
    if (buf->begin < buf->end)
        used = buf->access_end - buf->step[buf->begin % STEP_RING].first_access;
    return used + STEP_MAX_ACCESS <= ACCESS_RING;
}

static void hand_over(struct reader *r, struct step_buffer *buf)
{
    const struct chunk *chunk = r->chunk;
    const struct step *from = &chunk->step.item[r->step++];
    struct step *to = &buf->step[buf->end % STEP_RING];

    *to = *from;
    to->site = code__site(r->source.code, from->site->id);
    to->first_access = buf->access_end;
    for (uint32_t k = 0; k < from->n_access; k++)
        buf->access[buf->access_end++ % ACCESS_RING] = chunk->access.item[from->first_access + k];
    buf->end++;
    r->taken++;
}

/* The next group, read from the source if need be: 1, or the source's answer at its end. */
static int next_group(struct reader *r)
{
    struct tee *tee = r->tee;

    for (;;) {
        if (!r->chunk && tee->oldest) {
            assert(tee->oldest->number == 0);
            r->chunk = tee->oldest;
        }
        if (r->chunk && r->group < r->chunk->group.n)
            return 1;
        if (r->chunk && r->chunk->next) {
            r->chunk = r->chunk->next;
            r->group = r->step = 0;
            release(tee);
            continue;
        }
        int rc = read_on(tee);
        if (rc <= 0)
            return rc;
    }
}

static int tee__fill(struct source *source, struct step_buffer *buf, unsigned want)
{
    struct reader *r = (struct reader *)source;
    uint64_t first = buf->end;

    assert(!r->left && has_room(buf));
    while (buf->end - first < want && has_room(buf)) {
        int rc = next_group(r);
        if (rc > 0 && !learn_code(r, r->chunk->group.item[r->group].n_sites))
            rc = -1;
        if (rc <= 0) {
            if (buf->end != first)
                break;
            r->ended = true;
            return rc;
        }
        uint32_t end = r->chunk->group.item[r->group].end;
        while (r->step < end && has_room(buf))
            hand_over(r, buf);
        r->group += r->step == end;
    }
    return (int)(buf->end - first);
}

/* --- start and end ---------------------------------------------------------------------------- */

struct tee *tee__new(struct source *in, unsigned n_readers, struct status *st)
{
    struct tee *tee = calloc(1, sizeof *tee + n_readers * sizeof tee->reader[0]);

    assert(in->code && n_readers);
    if (!tee || !(tee->buffer = calloc(1, sizeof *tee->buffer)))
        goto fail;
    tee->in = in;
    tee->end = 1;
    for (; tee->n_readers < n_readers; tee->n_readers++) {
        struct reader *r = &tee->reader[tee->n_readers];
        r->tee = tee;
        r->source = (struct source){.fill = tee__fill, .code = code__new()};
        if (!r->source.code)
            goto fail;
    }
    return tee;
fail:
    tee__free(tee);
    status__fail(st, "not enough memory to simulate the program %u times at once", n_readers);
    return NULL;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;
        chunk__free(chunk);
        chunk = next;
    }
}

void tee__free(struct tee *tee)
{
    if (!tee)
        return;
    for (unsigned k = 0; k < tee->n_readers; k++)
        code__free(tee->reader[k].source.code);
    free_chunks(tee->oldest);
    free_chunks(tee->spare);
    free(tee->buffer);
    free(tee);
}

struct source *tee__source(struct tee *tee, unsigned k)
{
    assert(k < tee->n_readers);
    return &tee->reader[k].source;
}

void tee__set_translate(struct tee *tee, unsigned k, tee_translate translate, void *arg)
{
    assert(k < tee->n_readers && !tee->reader[k].n_sites);
    tee->reader[k].translate = translate;
    tee->reader[k].translate_arg = arg;
}

uint64_t tee__taken(const struct tee *tee, unsigned k)
{
    return tee->reader[k].taken;
}

bool tee__ended(const struct tee *tee, unsigned k)
{
    return tee->reader[k].ended;
}

void tee__leave(struct tee *tee, unsigned k)
{
    tee->reader[k].left = true;
    release(tee);
}

uint64_t tee__held(const struct tee *tee)
{
    return tee->n_read - tee->first_held;
}

bool tee__out_of_memory(const struct tee *tee)
{
    return tee->no_memory;
}
