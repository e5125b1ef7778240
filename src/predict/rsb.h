/* SPDX-License-Identifier: Apache-2.0 */
/* Return stack buffer: a ring that forgets the oldest address when it is full (BP-8). */
#ifndef FATHOM_PREDICT_RSB_H
#define FATHOM_PREDICT_RSB_H

#include <stdbool.h>
#include <stdint.h>

enum { RSB_MAX = 64 };

struct rsb {
    uint64_t addr[RSB_MAX];
    uint32_t n, top; /* top: the entry to pop next */
    uint32_t depth;  /* entries pushed and not popped, at most n */
};

/* What is needed to take back one push or pop. */
struct rsb_undo {
    uint32_t top, depth;
    uint32_t slot;
    uint64_t addr;
};

static inline struct rsb_undo rsb__save(const struct rsb *r)
{
    uint32_t slot = r->top + 1 < r->n ? r->top + 1 : 0; /* what a push would overwrite */

    return (struct rsb_undo){.top = r->top, .depth = r->depth, .slot = slot, .addr = r->addr[slot]};
}

static inline void rsb__restore(struct rsb *r, const struct rsb_undo *undo)
{
    r->top = undo->top;
    r->depth = undo->depth;
    r->addr[undo->slot] = undo->addr;
}

static inline void rsb__push(struct rsb *r, uint64_t addr)
{
    if (r->n == 0)
        return;
    r->top = r->top + 1 == r->n ? 0 : r->top + 1;
    r->addr[r->top] = addr;
    r->depth += r->depth < r->n;
}

/* The next return address, stale when the ring has run empty; 0: never written. */
static inline uint64_t rsb__peek(const struct rsb *r, bool *underflow)
{
    *underflow = r->depth == 0;
    return r->addr[r->top];
}

static inline void rsb__pop(struct rsb *r)
{
    if (r->n == 0)
        return;
    r->top = r->top == 0 ? r->n - 1 : r->top - 1;
    r->depth -= r->depth > 0;
}

#endif
