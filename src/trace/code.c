/* SPDX-License-Identifier: Apache-2.0 */
/* All code seen so far: sites by id and by address. */
#include "fathom/source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vector.h"

enum { SITES_PER_BLOCK = 1024, FIRST_SLOTS = 4096, CACHE_LINE_BYTES = 64 };

/*
 * Sites live in blocks that never move. `slot` is an open-addressing table of the newest site of each
 * address: id + 1, 0 for empty; at most half full, a power of two long.
 */
struct code {
    VECTOR(struct site *) block;
    uint32_t n_sites;
    uint32_t *slot;
    size_t n_slots, n_used;
};

struct code *code__new(void)
{
    struct code *code = calloc(1, sizeof *code);

    if (!code)
        return NULL;
    code->n_slots = FIRST_SLOTS;
    code->slot = calloc(code->n_slots, sizeof *code->slot);
    if (!code->slot) {
        free(code);
        return NULL;
    }
    return code;
}

void code__free(struct code *code)
{
    if (!code)
        return;
    for (size_t i = 0; i < code->block.n; i++)
        free(code->block.item[i]);
    vector__free(&code->block);
    free(code->slot);
    free(code);
}

static struct site *site_by_id(const struct code *code, uint32_t id)
{
    return &code->block.item[id / SITES_PER_BLOCK][id % SITES_PER_BLOCK];
}

/* The slot of `addr`, or the empty one where it belongs. */
static uint32_t *slot_of(const struct code *code, uint64_t addr)
{
    size_t i = hash__mix(addr) & (code->n_slots - 1);

    while (code->slot[i] && site_by_id(code, code->slot[i] - 1)->addr != addr)
        i = (i + 1) & (code->n_slots - 1);
    return &code->slot[i];
}

struct site *code__find(const struct code *code, uint64_t addr)
{
    uint32_t id = *slot_of(code, addr);

    return id ? site_by_id(code, id - 1) : NULL;
}

static int grow_slots(struct code *code)
{
    uint32_t *old = code->slot, *bigger = calloc(code->n_slots * 2, sizeof *bigger);
    size_t n_old = code->n_slots;

    if (!bigger)
        return -1;
    code->slot = bigger;
    code->n_slots *= 2;
    for (size_t i = 0; i < n_old; i++)
        if (old[i])
            *slot_of(code, site_by_id(code, old[i] - 1)->addr) = old[i];
    free(old);
    return 0;
}

static struct site *new_site(struct code *code)
{
    if (code->n_sites % SITES_PER_BLOCK == 0) {
        struct site *block = aligned_alloc(CACHE_LINE_BYTES, SITES_PER_BLOCK * sizeof *block);

        if (!block || !vector__push(&code->block, block)) {
            free(block);
            return NULL;
        }
        memset(block, 0, SITES_PER_BLOCK * sizeof *block);
    }
    return site_by_id(code, code->n_sites);
}

struct site *code__intern(struct code *code, uint64_t addr, struct insn *insn)
{
    struct site *site = code__find(code, addr);
    uint32_t *slot;

    if (site && site->insn == insn)
        return site;
    if (code->n_used * 2 >= code->n_slots && grow_slots(code) != 0)
        return NULL;
    site = new_site(code);
    if (!site)
        return NULL;
    site->addr = addr;
    site->insn = insn;
    site->id = code->n_sites++;
    slot = slot_of(code, addr);
    code->n_used += *slot == 0;
    *slot = site->id + 1;
    return site;
}

uint32_t code__count(const struct code *code)
{
    return code->n_sites;
}

struct site *code__site(const struct code *code, uint32_t id)
{
    assert(id < code->n_sites);
    return site_by_id(code, id);
}
