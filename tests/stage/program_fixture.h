/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a hand-made execution through the pipeline: instructions at addresses, and the order in which they
 * execute with the addresses they touch. Nothing but the truth account and the uops listen. */
#ifndef PROGRAM_FIXTURE_H
#define PROGRAM_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fathom/account.h"
#include "fathom/core.h"
#include "fathom/memory.h"
#include "fathom/pipe.h"
#include "fathom/predict.h"
#include "fathom/source.h"
#include "fathom/status.h"

static const uint64_t PROGRAM_TOP = 0x401000;

enum program_counts_flag { PROGRAM_FLAGS = 8 };

/* What only the cycle reports tell. */
struct program_counts {
    struct listener listener; /* first member */
    uint64_t cycles, mispredicts, branches, insns;
    uint64_t with_flag[PROGRAM_FLAGS]; /* cycles with bit k of enum report_flag */
    uint64_t by_stall[STALL_COUNT];    /* cycles */
    bool hashing;
    uint64_t hash;         /* of all reports, runs of idle cycles taken apart */
    unsigned slow_batches; /* the next ones take a long time */
};

struct program_step {
    struct site *site;
    uint64_t access; /* address of its memory operand, 0: none */
};

struct program_fixture {
    struct source source;       /* first member */
    struct uop_listener keeper; /* of the uops */
    struct core core;
    struct isa *isa;
    struct memory *memory; /* NULL: all hits */
    struct predictor *predictor;
    struct program_step *step;
    size_t n_steps, cap_steps, next;
    struct uop_record *uop;
    size_t n_uops, cap_uops;
    struct truth truth;
    struct stage_stacks stages;
    struct program_counts counts;
    bool single_cycles;    /* never skips idle cycles */
    bool accounts_apart;   /* as in struct pipe_config */
    uint64_t piece_cycles; /* 0: all at once */
};

static inline void program_fixture__must(bool ok, const struct status *st)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", st->text);
    abort();
}

static inline int program_fixture__fill(struct source *src, struct step_buffer *buf, unsigned want)
{
    struct program_fixture *fx = (struct program_fixture *)src;
    int n = 0;
    for (; n < (int)want + 64 && fx->next < fx->n_steps && buf->end < buf->begin + STEP_RING - 1; n++) {
        const struct program_step *s = &fx->step[fx->next++];
        const struct insn *insn = s->site->insn;
        struct step *out = &buf->step[buf->end++ % STEP_RING];
        *out = (struct step){.site = s->site, .first_access = buf->access_end};
        if (fx->next < fx->n_steps)
            out->next_addr = fx->step[fx->next].site->addr;
        if (out->next_addr && out->next_addr != s->site->addr + insn->len)
            out->flags = STEP_TAKEN;
        unsigned n_access = insn->flags & INSN_FLUSH ? 1 : insn->n_mem;
        for (unsigned k = 0; s->access && k < n_access; k++) {
            out->n_access++;
            buf->access[buf->access_end++ % ACCESS_RING] =
                (struct access){.addr = s->access,
                                .size_bytes = insn->mem[k].size_bytes,
                                .store = insn->mem[k].write,
                                .known = 1};
        }
    }
    return n;
}

static inline void program_fixture__keep(struct uop_listener *self, const struct uop_record *r)
{
    struct program_fixture *fx =
        (struct program_fixture *)((char *)self - offsetof(struct program_fixture, keeper));
    if (fx->n_uops == fx->cap_uops) {
        fx->cap_uops = fx->cap_uops ? 2 * fx->cap_uops : 4096;
        fx->uop = realloc(fx->uop, fx->cap_uops * sizeof *fx->uop);
    }
    fx->uop[fx->n_uops++] = *r;
}

static inline void program_fixture__count(struct listener *self, const struct cycle_report *reports,
                                          unsigned n)
{
    struct program_counts *c = (struct program_counts *)self;
    const struct timespec long_time = {.tv_nsec = 3000000};
    if (c->slow_batches && c->slow_batches--)
        nanosleep(&long_time, NULL);
    for (unsigned i = 0; i < n; i++) {
        struct cycle_report r = reports[i];
        uint32_t cycles = r.cycles;
        c->cycles += cycles;
        c->mispredicts += r.mispredicts;
        c->branches += r.branches;
        c->insns += r.retired_insns;
        for (unsigned k = 0; k < PROGRAM_FLAGS; k++)
            c->with_flag[k] += r.flags >> k & 1 ? cycles : 0;
        c->by_stall[r.stall] += cycles;
        r.cycles = 1;
        for (; c->hashing && cycles; cycles--)
            for (size_t k = 0; k < sizeof r; k++)
                c->hash = (c->hash ^ ((const uint8_t *)&r)[k]) * 0x100000001b3u;
    }
}

static inline void program_fixture__open(struct program_fixture *fx, const char *core, const char *const *set,
                                         size_t n_set)
{
    struct status st = {0};
    memset(fx, 0, sizeof *fx);
    fx->source.fill = program_fixture__fill;
    fx->keeper.retired = program_fixture__keep;
    fx->counts.listener.consume = program_fixture__count;
    program_fixture__must(core__load(&fx->core, core, set, n_set, &st) == 0, &st);
    program_fixture__must((fx->isa = isa__open(&fx->core, &st)) != NULL, &st);
    program_fixture__must((fx->predictor = predictor__new(&fx->core, &st)) != NULL, &st);
    fx->source.code = code__new();
    truth__init(&fx->truth, &fx->core);
    stage_stacks__init(&fx->stages, &fx->core);
}

static inline void program_fixture__with_memory(struct program_fixture *fx, bool prefetch)
{
    struct status st = {0};
    struct memory_options mo = {.no_prefetch = !prefetch};
    program_fixture__must((fx->memory = memory__new(&fx->core, &mo, &st)) != NULL, &st);
}

static inline void program_fixture__close(struct program_fixture *fx)
{
    predictor__free(fx->predictor);
    memory__free(fx->memory);
    code__free(fx->source.code);
    isa__close(fx->isa);
    free(fx->step);
    free(fx->uop);
}

/* Lays out instructions from `addr` on; returns the address after them. They do not execute by that. */
static inline uint64_t program_fixture__code(struct program_fixture *fx, uint64_t addr, const char *hex)
{
    uint8_t bytes[1024];
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    for (size_t i = 0; i < n;) {
        struct insn *insn = isa__decode(fx->isa, bytes + i, n - i, NULL);
        if (!insn) {
            fprintf(stderr, "no instruction: %s\n", hex + 2 * i);
            abort();
        }
        code__intern(fx->source.code, addr, insn);
        addr += insn->len;
        i += insn->len;
    }
    return addr;
}

/* Executes the instruction at `addr`; returns the address after it. */
static inline uint64_t program_fixture__exec(struct program_fixture *fx, uint64_t addr, uint64_t access)
{
    struct site *site = code__find(fx->source.code, addr);
    if (!site) {
        fprintf(stderr, "no instruction at %#llx\n", (unsigned long long)addr);
        abort();
    }
    if (fx->n_steps == fx->cap_steps) {
        fx->cap_steps = fx->cap_steps ? 2 * fx->cap_steps : 4096;
        fx->step = realloc(fx->step, fx->cap_steps * sizeof *fx->step);
    }
    fx->step[fx->n_steps++] = (struct program_step){site, access};
    return addr + site->insn->len;
}

/* Executes straight on from `addr` up to `end`. */
static inline void program_fixture__exec_to(struct program_fixture *fx, uint64_t addr, uint64_t end)
{
    while (addr < end)
        addr = program_fixture__exec(fx, addr, 0);
}

static inline void program_fixture__run(struct program_fixture *fx)
{
    struct status st = {0};
    struct pipe_config pc = {.core = &fx->core,
                             .isa = fx->isa,
                             .source = &fx->source,
                             .memory = fx->memory,
                             .predictor = fx->predictor,
                             .listener = {&fx->truth.listener, &fx->counts.listener, &fx->stages.listener},
                             .n_listeners = 3,
                             .stage_waits = true,
                             .accounts_apart = fx->accounts_apart,
                             .uops = &fx->keeper};
    struct pipe *pipe = pipe__new(&pc, &st);
    program_fixture__must(pipe != NULL, &st);
    int rc;
    uint64_t piece = fx->single_cycles ? 1 : fx->piece_cycles ? fx->piece_cycles : 1000000;
    while ((rc = pipe__run(pipe, piece, NULL, NULL)) == 0) {
        if (fx->counts.cycles != pipe__cycles(pipe)) {
            fprintf(stderr, "reports of %llu of %llu cycles\n", (unsigned long long)fx->counts.cycles,
                    (unsigned long long)pipe__cycles(pipe));
            abort();
        }
        if (fx->counts.cycles > 1000000 + 10000 * fx->n_steps)
            break; /* it hangs */
    }
    if (rc != 1 || pipe__instructions(pipe) != fx->n_steps) {
        fprintf(stderr, "%llu of %zu instructions retired\n", (unsigned long long)pipe__instructions(pipe),
                fx->n_steps);
        abort();
    }
    truth__check(&fx->truth);
    pipe__free(pipe);
}

static inline uint32_t program_fixture__site(const struct program_fixture *fx, uint64_t addr)
{
    return code__find(fx->source.code, addr)->id;
}

/* A jump with a 32-bit displacement; "0f84" JZ, "e9" JMP. Returns the address after it. */
static inline uint64_t program_fixture__jump(struct program_fixture *fx, uint64_t at, const char *opcode,
                                             uint64_t target)
{
    char hex[32];
    uint32_t disp = (uint32_t)(target - at - strlen(opcode) / 2 - 4);
    snprintf(hex, sizeof hex, "%s%02x%02x%02x%02x", opcode, disp & 0xff, disp >> 8 & 0xff, disp >> 16 & 0xff,
             disp >> 24);
    return program_fixture__code(fx, at, hex);
}

/* Coin flips that no predictor learns. */
static inline bool program_fixture__flip(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 62 & 1;
}

/* top: nops; test rax,rax; jz other; lea; jmp top      other: lea; jmp top */
struct program_coins {
    uint64_t branch, one, one_end, other, other_end;
};

static inline struct program_coins program_fixture__flip_coins(struct program_fixture *fx, unsigned n)
{
    uint64_t seed = 7;
    struct program_coins c = {.other = PROGRAM_TOP + 0x100};
    c.branch = program_fixture__code(fx, PROGRAM_TOP, "90909090");
    c.one = program_fixture__jump(fx, program_fixture__code(fx, c.branch, /* test rax,rax */ "4885c0"),
                                  "0f84", c.other);
    c.one_end = program_fixture__jump(fx, program_fixture__code(fx, c.one, /* lea rcx,[rbx+1] */ "488d4b01"),
                                      "e9", PROGRAM_TOP);
    c.other_end = program_fixture__jump(
        fx, program_fixture__code(fx, c.other, /* lea rdx,[rbx+1] */ "488d5301"), "e9", PROGRAM_TOP);
    for (unsigned i = 0; i < n; i++) {
        bool other = program_fixture__flip(&seed);
        program_fixture__exec_to(fx, PROGRAM_TOP, c.one);
        program_fixture__exec_to(fx, other ? c.other : c.one, other ? c.other_end : c.one_end);
    }
    return c;
}

/* test rax,rax; jz far   far: lea ...; test; jz farther ... to code that has never run: forward branches
 * without history are predicted not taken. Returns the address of the n-th block, blocks are 64 KiB apart. */
static inline uint64_t program_fixture__far_block(unsigned i)
{
    return PROGRAM_TOP + 0x10000 * i;
}

static inline void program_fixture__jump_far(struct program_fixture *fx, unsigned n, const char *test,
                                             const char *opcode)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t at =
            program_fixture__code(fx, program_fixture__far_block(i), /* lea rcx,[rbx+1] */ "488d4b01");
        uint64_t end = program_fixture__jump(fx, program_fixture__code(fx, at, test), opcode,
                                             program_fixture__far_block(i + 1));
        program_fixture__code(fx, end, "9090909090909090");
        program_fixture__exec_to(fx, program_fixture__far_block(i), end);
    }
    program_fixture__exec_to(
        fx, program_fixture__far_block(n),
        program_fixture__code(fx, program_fixture__far_block(n), /* lea rcx,[rbx+1] */ "488d4b01"));
}

#endif
