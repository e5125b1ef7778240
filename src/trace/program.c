/* SPDX-License-Identifier: Apache-2.0 */
/* A traced program: the child, the ring and the steps made of it. */
#include "fathom/program.h"

#include <signal.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "fathom/status.h"
#include "trace/program_blocks.h"
#include "trace/program_child.h"
#include "trace/program_expand.h"
#include "trace/program_launch.h"
#include "trace/program_observe.h"
#include "trace/program_reader.h"

/*
 * One block is always held back: how it ended shows only in what runs next. Its records stay in a
 * chunk that is not given back before the block has been expanded. A block that does not fit into the
 * caller's buffer goes into `stage` and from there piece by piece.
 */
struct program {
    struct source source; /* first: program__source */
    struct launch launch;
    struct reader reader;
    struct blocks blocks;
    struct expander expander;
    struct observations observations;
    bool holding;
    size_t held_id;
    const uint64_t *held_record;
    uint32_t held_n_records, held_n_snapshots;
    const uint64_t *held_snapshot;
    struct step_buffer *stage;
    VECTOR(struct mapping) mapping;
    struct code *code;
    struct status error;
    bool failed, finished, thread;
    struct {
        bool found, evex;
        uint64_t addr;
        uint8_t bytes[16];
    } illegal; /* what stands behind the block that ran last, if it is no instruction of this CPU */
    char exec_path[256];
};

struct source *program__source(struct program *program)
{
    return &program->source;
}

uint64_t program__instructions(const struct program *program)
{
    return program->expander.n_insns;
}

const char *program__error(const struct program *program)
{
    return program->error.text;
}

const struct mapping *program__mappings(const struct program *program, size_t *n)
{
    *n = program->mapping.n;
    return program->mapping.item;
}

const struct profile_count *program__nondeterminism(struct program *program, size_t *n)
{
    return observe__list(&program->observations, n);
}

void program__cancel(struct program *program)
{
    program->reader.cancelled = 1;
    child__kill(&program->reader);
}

/* ---- control records ---- */

static int note_mapping(struct program *p, const uint64_t *payload)
{
    struct mapping map = {.start = payload[0], .end = payload[1], .file_offset = payload[2]};
    const char *path = (const char *)&payload[3];

    for (size_t i = 0; i < p->mapping.n; i++) {
        const struct mapping *old = &p->mapping.item[i];

        if (old->start == map.start && old->end == map.end && old->file_offset == map.file_offset &&
            strcmp(old->path, path) == 0)
            return 0;
    }
    const char *name = strrchr(path, '/');
    if (name && strncmp(name, "/ld-linux", 9) == 0) {
        if (!p->blocks.loader_end || map.start < p->blocks.loader_start)
            p->blocks.loader_start = map.start;
        if (map.end > p->blocks.loader_end)
            p->blocks.loader_end = map.end;
    }
    map.path = strdup(path);
    if (!map.path || !vector__push(&p->mapping, map)) {
        free(map.path);
        return status__fail(&p->error, "out of memory after %zu mapped files", p->mapping.n);
    }
    return 0;
}

enum { NR_RT_SIGACTION = 13, NR_FORK = 57, NR_CLONE = 56, NR_VFORK = 58, NR_EXECVE = 59, NR_EXECVEAT = 322 };

static void note_syscall(struct program *p, const uint64_t *payload)
{
    observe__syscall(&p->observations, payload[0]);
    if (payload[0] == NR_RT_SIGACTION && payload[1] < N_SIGNALS && payload[2])
        p->expander.handler[payload[1]] = payload[3] ? payload[3] : NO_HANDLER;
}

static void note_syscall_ret(struct program *p, const uint64_t *payload)
{
    uint64_t number = payload[0];

    if ((number == NR_FORK || number == NR_CLONE || number == NR_VFORK) && (int64_t)payload[1] > 0)
        p->observations.count[OBSERVED_FORK]++;
}

static void note_string(struct program *p, const uint64_t *payload)
{
    const char *path = (const char *)&payload[1];

    if (payload[0] == NR_EXECVE || payload[0] == NR_EXECVEAT)
        snprintf(p->exec_path, sizeof p->exec_path, "%s", path);
    else
        observe__open(&p->observations, path);
}

static int take_control(struct program *p, uint64_t word, const uint64_t *payload)
{
    switch (RING_KIND(word)) {
    case RING_DEFINE:
        return blocks__define(&p->blocks, payload, RING_LENGTH(word), &p->error);
    case RING_SYSCALL:
        note_syscall(p, payload);
        return 0;
    case RING_SYSCALL_RET:
        note_syscall_ret(p, payload);
        return 0;
    case RING_MAP:
        return note_mapping(p, payload);
    case RING_STRING:
        note_string(p, payload);
        return 0;
    case RING_THREAD:
        p->thread = true;
        return 0;
    case RING_SNAPSHOTS:
        p->held_snapshot = payload;
        p->held_n_snapshots = RING_LENGTH(word) / RING_SNAPSHOT_WORDS;
        return 0;
    case RING_NO_REGISTERS:
        p->observations.no_registers = true;
        return 0;
    default:
        return status__fail(&p->error, "the tracer sent an unknown record (%#llx); please report this",
                            (unsigned long long)word);
    }
}

/* Reads on to the next block word: 1, 0 at the end of the trace, -1. */
static int next_block(struct program *p, struct block **block)
{
    for (;;) {
        uint64_t word = p->reader.at ? *p->reader.at : RING_WORD(RING_END, 0);

        if (word & RING_BLOCK) {
            uint64_t id = word & 0xffffffff;

            if (id >= p->blocks.block.n)
                return status__fail(&p->error, "the tracer sent block %llu without its definition",
                                    (unsigned long long)id);
            *block = &p->blocks.block.item[id];
            p->reader.at++;
            return 1;
        }
        if ((word & RING_CONTROL) != RING_CONTROL) {
            p->reader.at++; /* qemu saves the FPU state for a signal handler: no instruction's access */
            continue;
        }
        if (RING_KIND(word) == RING_END) {
            if (!reader__open_chunk(&p->reader))
                return 0;
            continue;
        }
        if (take_control(p, word, p->reader.at + 1) != 0)
            return -1;
        p->reader.at += 1 + RING_LENGTH(word);
    }
}

/* ---- fill ---- */

static int check_illegal(struct program *p, const struct block *b, const struct block *next)
{
    p->illegal.found = b->illegal;
    if (!b->illegal)
        return 0;
    p->illegal.evex = b->evex;
    p->illegal.addr = b->end;
    memcpy(p->illegal.bytes, b->illegal_bytes, sizeof p->illegal.bytes);
    if (!next || next->vaddr != b->end + b->illegal_bytes[15])
        return 0;
    return status__fail(
        &p->error, "the program executed an instruction at %#llx that cannot be decoded; please report this",
        (unsigned long long)b->end);
}

/* Expands the held block, into `buf` if it fits and else into the stage. */
static int expand_held(struct program *p, struct step_buffer *buf, const struct block *next)
{
    struct execution x = {.block = p->holding ? &p->blocks.block.item[p->held_id] : NULL,
                          .record = p->held_record,
                          .n_records = p->held_n_records,
                          .snapshot = p->held_snapshot,
                          .n_snapshots = p->held_n_snapshots,
                          .next = next};
    bool pending = p->expander.pending;

    if (!p->holding)
        return 0;
    if (!next) {
        x.signal = child__death_signal(&p->reader);
        x.killed = x.signal != 0;
    }
    if (expand__has_room(&p->expander, buf, x.block)) {
        expand__run(&p->expander, &x);
    } else {
        assert(p->stage->begin == p->stage->end);
        p->expander.out = p->stage;
        p->expander.pending = false;
        expand__run(&p->expander, &x);
        expand__commit(&p->expander, 0, false);
        p->expander.out = buf;
        p->expander.pending = pending;
    }
    p->holding = false;
    return check_illegal(p, x.block, next);
}

/* Moves steps from the stage while there is room for one. */
static void drain_stage(struct program *p, struct step_buffer *buf)
{
    static const struct block ONE_STEP = {.n = 1, .max_access = STEP_MAX_ACCESS};

    while (p->stage->begin != p->stage->end && expand__has_room(&p->expander, buf, &ONE_STEP))
        expand__copy(&p->expander, p->stage, &p->stage->step[p->stage->begin++ % STEP_RING]);
}

static void hold(struct program *p, struct block *block)
{
    const uint64_t *at = p->reader.at;

    while (*at >> 62 == 0)
        at++;
    p->holding = true;
    p->held_id = (size_t)(block - p->blocks.block.item);
    p->held_record = p->reader.at;
    p->held_n_records = (uint32_t)(at - p->reader.at);
    p->held_n_snapshots = 0;
    p->reader.at = at;
}

static int program__fill(struct source *source, struct step_buffer *buf, unsigned want)
{
    struct program *p = (struct program *)source;
    uint64_t first = buf->end;
    struct block *block;
    int rc;

    reader__go(&p->reader);
    p->expander.out = buf;
    while (!p->failed && buf->end - first < want) {
        drain_stage(p, buf);
        if (p->stage->begin != p->stage->end || p->finished)
            break;
        block = NULL;
        rc = next_block(p, &block);
        if (rc < 0 || expand_held(p, buf, block) != 0) {
            p->failed = true;
            break;
        }
        reader__release(&p->reader);
        if (rc > 0)
            hold(p, block);
        else
            p->finished = true;
    }
    if (p->finished && p->stage->begin == p->stage->end)
        expand__commit(&p->expander, 0, false);
    if (p->failed && buf->end == first)
        return -1;
    return (int)(buf->end - first);
}

/* ---- start and end ---- */

struct program *program__start(const struct program_options *opt, struct status *st)
{
    struct program *p = calloc(1, sizeof *p);

    if (!p) {
        status__fail(st, "out of memory");
        return NULL;
    }
    p->reader.fd = -1;
    p->stage = calloc(1, sizeof *p->stage);
    p->code = code__new();
    if (!p->stage || !p->code) {
        status__fail(st, "out of memory");
        goto fail;
    }
    p->source = (struct source){.fill = program__fill, .code = p->code};
    p->blocks.isa = opt->isa;
    p->blocks.code = p->code;
    p->blocks.rep_chunk_bytes = opt->rep_chunk_bytes ? opt->rep_chunk_bytes : 32;
    p->expander.blocks = &p->blocks;
    p->expander.observations = &p->observations;
    for (unsigned i = 0; i < N_SIGNALS; i++)
        p->expander.handler[i] = NO_HANDLER;
    if (launch__resolve(&p->launch, opt->argv, st) != 0 || reader__create(&p->reader, st) != 0 ||
        child__start(&p->reader, &p->launch, opt, st) != 0)
        goto fail;
    return p;
fail:
    program__free(p);
    return NULL;
}

static void explain_illegal(const struct program *p, char *why, size_t size)
{
    struct insn *insn =
        isa__decode(p->blocks.isa, p->illegal.bytes, p->illegal.evex ? 15 : p->illegal.bytes[15], NULL);
    char text[160] = "";

    if (insn)
        isa__format(p->blocks.isa, insn, p->illegal.addr, text, sizeof text);
    if (p->illegal.evex)
        snprintf(
            why, size,
            "illegal instruction: %s at %#llx is AVX-512, which the emulator does not have; build without it "
            "(-march=x86-64-v3 or -mno-avx512f); hand-written code must choose its path by CPUID",
            insn ? text : "an instruction", (unsigned long long)p->illegal.addr);
    else
        snprintf(why, size,
                 "illegal instruction at %#llx%s%s: the guest CPU does not have it; choose a core that has "
                 "(--core) or build for an older one (-march=)",
                 (unsigned long long)p->illegal.addr, insn ? ": " : "", text);
}

static void explain(const struct program *p, struct program_end *end)
{
    char *why = end->why;
    size_t size = sizeof end->why;

    if (p->failed) {
        snprintf(why, size, "%.500s", p->error.text);
    } else if (end->threaded) {
        snprintf(
            why, size,
            "%s was stopped when it started a second thread after %llu instructions: multi-threaded programs "
            "are not simulated yet; limit it to one thread (an option, or OMP_NUM_THREADS=1)",
            p->launch.path, (unsigned long long)program__instructions(p));
    } else if (end->execed) {
        snprintf(
            why, size,
            "%s replaced itself by %s (execve) after %llu instructions, and that ran untraced; give that "
            "program's command line instead",
            p->launch.path, p->exec_path, (unsigned long long)program__instructions(p));
    } else if (p->reader.cancelled) {
        snprintf(why, size, "interrupted after %llu instructions",
                 (unsigned long long)program__instructions(p));
    } else if (end->signal == SIGILL && p->illegal.found) {
        end->avx512 = p->illegal.evex;
        explain_illegal(p, why, size);
    } else if (end->signal) {
        snprintf(why, size, "%s was killed by signal %d (%s) after %llu instructions", p->launch.path,
                 end->signal, strsignal(end->signal), (unsigned long long)program__instructions(p));
    } else if (program__instructions(p) == 0) {
        snprintf(
            why, size,
            "the emulator ended before the first instruction of %s (status %d); its message stands above",
            p->launch.path, end->exit_status);
    } else if (!p->finished) {
        snprintf(why, size, "tracing ended before the program did");
    } else {
        end->complete = true;
    }
}

void program__finish(struct program *program, struct program_end *end)
{
    int status;

    memset(end, 0, sizeof *end);
    /* Nobody reads the ring any more: a program that is still writing would wait for ever. */
    if (program->failed || (!program->finished && !program->reader.execed))
        program__cancel(program);
    status = child__reap(&program->reader);
    if (WIFEXITED(status)) {
        end->exited = true;
        end->exit_status = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        end->signal = WTERMSIG(status);
    }
    end->threaded = program->thread;
    end->execed = program->reader.execed;
    end->forked = program->observations.count[OBSERVED_FORK] > 0;
    if (end->threaded)
        end->exited = false;
    explain(program, end);
}

void program__free(struct program *program)
{
    if (!program)
        return;
    child__kill(&program->reader);
    child__reap(&program->reader);
    reader__destroy(&program->reader);
    blocks__free(&program->blocks);
    for (size_t i = 0; i < program->mapping.n; i++)
        free(program->mapping.item[i].path);
    vector__free(&program->mapping);
    launch__free(&program->launch);
    code__free(program->code);
    free(program->stage);
    free(program);
}
