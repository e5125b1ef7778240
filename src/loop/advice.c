/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a loop in words: what limits it, which instructions, what to try. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "fathom/bounds.h"
#include "fathom/insn.h"

enum {
    NAMED = 4, /* instructions named before "and n more" */
    MOST_ACCUMULATORS = 8,
};

struct writer {
    char *text;
    size_t size, used;
    bool cut;
};

static void __attribute__((format(printf, 2, 3))) put(struct writer *w, const char *fmt, ...)
{
    va_list ap;
    if (w->cut || !w->size) {
        w->cut = true;
        return;
    }
    va_start(ap, fmt);
    int n = vsnprintf(w->text + w->used, w->size - w->used, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= w->size - w->used)
        w->cut = true;
    else
        w->used += (size_t)n;
}

/* "2", "2.5", "1.33" */
static void put_cycles(struct writer *w, double cycles)
{
    char text[32];
    size_t n = (size_t)snprintf(text, sizeof text, "%.2f", cycles);
    while (text[n - 1] == '0')
        text[--n] = 0;
    if (text[n - 1] == '.')
        text[--n] = 0;
    put(w, "%s cycle%s", text, cycles == 1 ? "" : "s");
}

static void put_insns(struct writer *w, const struct bound *b, const char *const *text)
{
    size_t named = b->n_insns <= NAMED + 1 ? b->n_insns : NAMED;
    for (size_t i = 0; i < named; i++)
        put(w, "%s`%s`", !i ? "" : i + 1 == b->n_insns ? " and " : ", ", text[b->insns[i]]);
    if (b->n_insns > named)
        put(w, " and %zu more", b->n_insns - named);
}

/* --- what the instructions of a bound are ----------------------------------------------------- */

struct traits {
    uint32_t flags; /* enum insn_flag of any */
    size_t n, loads, stores, vector, scalar_fp, packed_fp, branches, moves, ms, complex, in_block;
};

static struct traits traits_of(const struct block *block, const struct bound *b)
{
    struct traits t = {.n = b->n_insns, .in_block = block->n};
    for (size_t i = 0; i < b->n_insns; i++) {
        const struct insn *insn = block->insn[b->insns[i]];
        bool load = false, store = false;
        for (unsigned k = 0; k < insn->n_mem; k++) {
            load |= insn->mem[k].read;
            store |= insn->mem[k].write;
        }
        t.flags |= insn->flags;
        t.loads += load;
        t.stores += store;
        t.scalar_fp += insn->fp_width_bytes == 4 || insn->fp_width_bytes == 8;
        t.packed_fp += insn->fp_width_bytes >= 16;
        t.vector += insn->written[0] >> R_VEC0 != 0;
        t.branches += insn->branch != BRANCH_NONE;
        t.moves += insn->elim_dst != R_NONE;
        t.ms += insn->has_ms;
        t.complex += insn->flags & INSN_COMPLEX ? 1 : 0;
    }
    return t;
}

static double next_largest(const struct bounds *b, enum bound_kind *kind)
{
    double cycles = 0;
    *kind = b->largest;
    for (int k = BOUND_KINDS - 1; k >= 0; k--)
        if (k != (int)b->largest && b->bound[k].cycles > cycles) {
            cycles = b->bound[k].cycles;
            *kind = (enum bound_kind)k;
        }
    return cycles;
}

/* --- what limits ------------------------------------------------------------------------------ */

static void put_ports(struct writer *w, unsigned set)
{
    put(w, "port%s", set & (set - 1) ? "s" : "");
    for (unsigned p = 0, n = 0; set >> p; p++)
        if (set >> p & 1)
            put(w, "%s%u", n++ ? ", " : " ", p);
}

static void put_limit(struct writer *w, const struct bounds *b, const struct traits *t)
{
    switch (b->largest) {
    case BOUND_PREDECODE:
        put(w, t->flags & INSN_LCP
                   ? "the predecoder stalls on length-changing prefixes (16-bit immediates)"
                   : "the predecoder, which finds instructions in 16-byte blocks, delivers too slowly");
        break;
    case BOUND_DECODE:
        put(w, t->ms ? "decoders and microcode sequencer deliver too slowly"
                     : "the decoders deliver too slowly");
        break;
    case BOUND_DSB:
        put(w, t->ms ? "the uop cache and its switches to the microcode sequencer limit delivery"
                     : "the uop cache limits delivery");
        break;
    case BOUND_LSD:
        put(w, "the loop stream detector, which never issues two passes of the loop in one cycle, limits "
               "delivery");
        break;
    case BOUND_ISSUE:
        put(w, "the issue width is used up: every slot has a uop");
        break;
    case BOUND_PORTS:
        put_ports(w, b->port_set);
        put(w, " %s busy in every cycle", b->port_set & (b->port_set - 1) ? "are" : "is");
        break;
    case BOUND_DIVIDER:
        put(w, t->flags & INSN_DIVIDE ? "the divider is busy in every cycle"
                                      : "an instruction that is not pipelined limits the loop");
        break;
    case BOUND_DEPENDENCY:
        put(w, "each iteration waits for the previous one, in a chain of %zu instruction%s%s", t->n,
            t->n == 1 ? "" : "s", t->stores && t->loads ? " through memory" : "");
        break;
    case BOUND_KINDS:
        break;
    }
}

/* --- what to try ------------------------------------------------------------------------------ */

static void put_fewer(struct writer *w, const struct traits *t, const char *what)
{
    if (t->scalar_fp)
        put(w, "vectorise: packed instructions do several elements with the same %s; ", what);
    else if (!t->packed_fp)
        put(w, "vectorise if iterations are independent, or use fewer and simpler instructions; ");
    else
        put(w, "use wider vectors and fused multiply-add where the core has them; ");
}

static void put_accumulators(struct writer *w, const struct bounds *b)
{
    enum bound_kind kind;
    double rest = next_largest(b, &kind);
    unsigned n = rest > 0 ? (unsigned)fmin(ceil(b->cycles / rest - 1e-9), MOST_ACCUMULATORS) : 2;
    n = n < 2 ? 2 : n;
    put(w, "break the chain: keep %u independent accumulators (unroll by %u) and combine them after the loop",
        n, n);
    if (rest > 0)
        put(w, "; then %s (%.2f per iteration) limit%s", bound__name(kind), rest,
            kind == BOUND_PORTS || kind == BOUND_DEPENDENCY || kind == BOUND_DECODE ? "" : "s");
}

static void try_dependency(struct writer *w, const struct bounds *b, const struct traits *t)
{
    if (t->flags & INSN_DIVIDE)
        put(w,
            "take the division out of the chain: multiply by a reciprocal, or interleave independent chains");
    else if (t->stores && t->loads)
        put(w, "keep the value in a register over the iterations instead of storing and reloading it");
    else if (t->flags & INSN_LOCKED)
        put(w, "count locally and publish the sum once: a locked instruction waits for all memory accesses");
    else if (t->loads && t->flags & INSN_POINTER_LOAD)
        put(w,
            "each load needs the address from the one before: follow several lists at once, store indices or "
            "arrays instead of links, or prefetch");
    else if (b->cycles <= 1.001)
        put(w, "one step of the chain takes a cycle: unroll to do more work in each step");
    else
        put_accumulators(w, b);
}

static void try_ports(struct writer *w, const struct bounds *b, const struct traits *t)
{
    if (t->n && t->stores == t->n)
        put(w, "store less: combine neighbouring stores into wider ones, keep temporaries in registers");
    else if (t->n && t->loads + t->stores >= t->n && t->loads)
        put(w,
            "load less: keep values in registers, combine neighbouring loads into wider ones, reuse what was "
            "loaded");
    else if (t->branches == t->n && t->n)
        put(w, "the branch port allows one taken branch a cycle: unroll");
    else if (!(b->port_set & (b->port_set - 1)) && t->vector)
        put(w, "replace shuffles, inserts and conversions by forms that run on other ports or fold them into "
               "loads");
    else {
        put_fewer(w, t, "uops");
        put(w, "or choose instructions for other ports");
    }
}

static void try_front_end(struct writer *w, const struct block *block, const struct bounds *b,
                          const struct traits *t)
{
    if (t->flags & INSN_LCP && b->largest == BOUND_PREDECODE)
        put(w, "avoid 16-bit immediates: use 32-bit operands, or load the constant into a register first");
    else if (t->ms)
        put(w, "replace the microcoded instructions by short sequences of simple ones");
    else if (b->largest == BOUND_LSD)
        put(w, "unroll, so that the uops of a pass fill whole issue groups");
    else if (b->largest == BOUND_DSB)
        put(w, "unroll, and align the loop to 32 bytes, so that lines of the uop cache are used to the end");
    else if (!block->unrolled)
        put(w, "make the loop fit the uop cache: align it to 32 or 64 bytes, keep its branches off 32-byte "
               "boundaries, have fewer uops in each 32 bytes");
    else if (b->largest == BOUND_DECODE && t->complex)
        put(w,
            "spread instructions of several uops, or replace them by simple ones; as a loop the code could "
            "come from the uop cache");
    else
        put(w, "use shorter encodings; as a loop the code could come from the uop cache");
}

static void put_next(struct writer *w, const struct block *block, const struct bounds *b,
                     const struct traits *t)
{
    switch (b->largest) {
    case BOUND_DEPENDENCY:
        try_dependency(w, b, t);
        break;
    case BOUND_DIVIDER:
        put(w, t->flags & INSN_DIVIDE ? "divide less: multiply by a reciprocal computed once, use narrower "
                                        "types, shifts for powers "
                                        "of two"
                                      : "execute the instruction less often: take it out of the loop");
        break;
    case BOUND_PORTS:
        try_ports(w, b, t);
        break;
    case BOUND_ISSUE:
        put_fewer(w, t, "uops");
        put(w, "unroll to save loop overhead; indexed addresses can cost an extra slot");
        break;
    default:
        try_front_end(w, block, b, t);
    }
}

/* --- simulation against bounds ---------------------------------------------------------------- */

static size_t eliminable(const struct block *block)
{
    size_t n = 0;
    for (size_t i = 0; i < block->n; i++)
        n += block->insn[i]->elim_dst != R_NONE;
    return n;
}

static void put_hazard(struct writer *w, const struct block *block, const struct bounds *b, double simulated)
{
    double hazard = simulated - b->cycles;
    if (!(simulated > 0))
        return;
    put(w, " The simulation takes ");
    put_cycles(w, simulated);
    if (hazard <= 0.02 * simulated) {
        put(w, ", as this bound says.");
        return;
    }
    put(w, ": %.2f (%.0f %%) more than any single bound, lost to hazards", hazard, 100 * hazard / simulated);
    put(w, eliminable(block) ? " (port binding, moves that are not eliminated, full buffers)."
                             : " (port binding, full buffers, stages waiting for each other).");
}

static void put_ties(struct writer *w, const struct bounds *b)
{
    unsigned n = 0;
    for (int k = BOUND_KINDS - 1; k >= 0; k--)
        if (k != (int)b->largest && b->bound[k].cycles >= 0.98 * b->cycles && b->cycles > 0) /* BD-7 */
            put(w, "%s%s", n++ ? ", " : "; equally tight: ", bound__name((enum bound_kind)k));
}

int loop_advice__sentence(const struct block *block, const struct bounds *bounds, double simulated_cycles,
                          const char *const *insn_text, char *sentence, size_t size, char *next,
                          size_t next_size)
{
    struct writer s = {.text = sentence, .size = size}, n = {.text = next, .size = next_size};
    const struct bound *b = &bounds->bound[bounds->largest];
    struct traits t = traits_of(block, b);
    bool whole = t.n >= block->n && block->n > NAMED;

    if (size)
        sentence[0] = 0;
    if (next_size)
        next[0] = 0;
    put(&s, "At least ");
    put_cycles(&s, bounds->cycles);
    put(&s, " per iteration: ");
    put_limit(&s, bounds, &t);
    if (whole)
        put(&s, " (all %zu instructions)", block->n);
    else if (t.n) {
        put(&s, " (");
        put_insns(&s, b, insn_text);
        put(&s, ")");
    }
    put_ties(&s, bounds);
    put(&s, ".");
    put_hazard(&s, block, bounds, simulated_cycles);

    put_next(&n, block, bounds, &t);
    if (simulated_cycles > 0 && simulated_cycles - bounds->cycles > 0.15 * simulated_cycles)
        put(&n, "; and look at the timeline: uops wait for ports or buffers that others hold");
    return s.cut || n.cut ? -1 : 0;
}
