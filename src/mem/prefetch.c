/* SPDX-License-Identifier: Apache-2.0 */
#include "mem/prefetch.h"

#include <stddef.h>

enum { PAGE_LINES = 64 };

static uint32_t stream__find(struct stream_table *t, uint64_t page)
{
    uint32_t oldest = 0;

    for (uint32_t k = 0; k < STREAMS; ++k) {
        if (t->page[k] == page && t->used[k] != 0)
            return k;
        if (t->used[k] < t->used[oldest])
            oldest = k;
    }
    return oldest;
}

/* The stream of `page`, a new one if there is none. */
static struct stream *stream__of(struct stream_table *t, uint64_t page, int line, bool *fresh)
{
    uint8_t *hint = &t->hint[page % STREAM_HINTS];

    if (t->page[*hint] != page)
        *hint = (uint8_t)stream__find(t, page);
    *fresh = t->page[*hint] != page || t->used[*hint] == 0;
    t->used[*hint] = ++t->clock;
    if (*fresh) {
        t->page[*hint] = page;
        t->stream[*hint] = (struct stream){.last = (int8_t)line, .next = (int8_t)line};
    }
    return &t->stream[*hint];
}

/* Follows the access; true if the stream is sure of its direction. */
static bool stream__step(struct stream *s, int line)
{
    int step = line - s->last;
    int8_t direction = step > 0 ? 1 : -1;

    if (step == 0)
        return s->confidence >= STREAM_CONFIDENT;
    if (s->confidence >= STREAM_CONFIDENT && step * s->direction > STREAM_STEP_MAX &&
        step * s->direction <= STREAM_AHEAD_MAX)
        return false; /* an L1 prefetch inside what the stream covers: neither a step of it nor its end */
    s->last = (int8_t)line;
    if (step > STREAM_STEP_MAX || step < -STREAM_STEP_MAX) {
        s->confidence = 0;
        s->direction = 0;
        return false;
    }
    if (direction != s->direction) {
        s->direction = direction;
        s->confidence = 1;
        s->next = (int8_t)line;
        s->left = false;
    } else if (s->confidence < STREAM_CONFIDENT) {
        ++s->confidence;
    }
    return s->confidence >= STREAM_CONFIDENT;
}

struct stream *stream__train(struct stream_table *t, uint64_t line)
{
    int at = (int)((line >> 6) % PAGE_LINES);
    bool fresh;
    struct stream *s = stream__of(t, line >> 12, at, &fresh);

    if (fresh || !stream__step(s, at))
        return NULL;
    if ((s->next - at) * s->direction <= 0)
        s->next = (int8_t)(at + s->direction);
    return s;
}

bool stream__peek(const struct stream *s, uint64_t line, uint64_t *wanted)
{
    int at = (int)((line >> 6) % PAGE_LINES);

    *wanted = (line >> 12 << 12) | ((uint64_t)(unsigned)(s->next % PAGE_LINES) << 6);
    return s->next >= 0 && s->next < PAGE_LINES && (s->next - at) * s->direction <= STREAM_AHEAD_MAX;
}

bool stream__leaves_page(struct stream *s, uint64_t line, uint64_t *first)
{
    int at = (int)((line >> 6) % PAGE_LINES);
    int left = s->direction > 0 ? PAGE_LINES - 1 - at : at;

    if (s->left || left >= NEXT_PAGE_LINES)
        return false;
    s->left = true;
    *first = s->direction > 0 ? line + (uint64_t)(left + 1) * 64 : line - (uint64_t)(left + 1) * 64;
    return true;
}
