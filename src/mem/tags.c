/* SPDX-License-Identifier: Apache-2.0 */
#include "mem/tags.h"

#include <assert.h>
#include <stdlib.h>

#include "fathom/status.h"

enum { QLRU_INSERT_AGE = 1, QLRU_OLDEST = 3, QLRU_AGES = 32 /* in a word */ };

/* Ways of the full tree: the next power of two. */
static uint32_t tree__leaves(const struct tags *t)
{
    uint32_t leaves = 1;

    while (leaves < t->ways)
        leaves *= 2;
    return leaves;
}

/* Leftmost leaf below `node`. */
static uint32_t tree__first_leaf(uint32_t node, uint32_t leaves)
{
    while (node < leaves)
        node *= 2;
    return node - leaves;
}

/* Node 1 is the root, node k has children 2k and 2k+1; a node's bit points to the half to evict. A half
 * without ways is never pointed to. */
static void tree__init(struct tags *t)
{
    uint32_t leaves = tree__leaves(t);

    for (uint32_t way = 0; way < t->ways; ++way) {
        uint64_t path = 0;
        uint64_t away = 0;
        for (uint32_t node = way + leaves; node > 1; node /= 2) {
            uint64_t bit = (uint64_t)1 << (node / 2);
            path |= bit;
            if ((node & 1U) == 0 && tree__first_leaf(node + 1, leaves) < t->ways)
                away |= bit;
        }
        t->tree_keep[way] = ~path;
        t->tree_set[way] = away;
    }
}

int tags__init(struct tags *t, uint64_t n_entries, uint32_t ways, bool hashed, enum replacement replacement,
               const char *what, struct status *st)
{
    *t = (struct tags){.ways = ways, .hashed = hashed, .replacement = replacement};
    if (ways == 0 || ways > TAG_WAYS_MAX)
        return status__fail(st, "%s: %u ways cannot be modelled; use 1 to %d", what, ways, TAG_WAYS_MAX);
    if (n_entries == 0 || n_entries % ways != 0 || n_entries / ways > (1U << 26))
        return status__fail(st,
                            "%s: %llu entries are no whole number of sets of %u ways; change size or ways",
                            what, (unsigned long long)n_entries, ways);
    t->sets = (uint32_t)(n_entries / ways);
    t->odd = t->sets;
    while (t->odd % 2 == 0) {
        t->odd /= 2;
        ++t->low_bits;
    }
    if (replacement == REPLACEMENT_PLRU)
        tree__init(t);
    t->word = calloc(n_entries, sizeof *t->word);
    t->ready = calloc(n_entries, sizeof *t->ready);
    t->policy = calloc((size_t)t->sets * (ways > QLRU_AGES ? 2 : 1), sizeof *t->policy);
    t->used = replacement == REPLACEMENT_LRU ? calloc(n_entries, sizeof *t->used) : NULL;
    if (t->word == NULL || t->ready == NULL || t->policy == NULL ||
        (replacement == REPLACEMENT_LRU && t->used == NULL)) {
        tags__fini(t);
        return status__fail(st, "%s: no memory for %llu entries; use a smaller one", what,
                            (unsigned long long)n_entries);
    }
    return 0;
}

void tags__fini(struct tags *t)
{
    free(t->word);
    free(t->ready);
    free(t->policy);
    free(t->used);
    *t = (struct tags){0};
}

static uint64_t *qlru__word(const struct tags *t, uint32_t set, uint32_t way)
{
    return &t->policy[(way / QLRU_AGES) * t->sets + set];
}

static unsigned qlru__age(const struct tags *t, uint32_t set, uint32_t way)
{
    return (unsigned)(*qlru__word(t, set, way) >> (2 * (way % QLRU_AGES))) & 3U;
}

static void qlru__set_age(struct tags *t, uint32_t set, uint32_t way, unsigned age)
{
    uint64_t *word = qlru__word(t, set, way);
    uint32_t shift = 2 * (way % QLRU_AGES);

    *word = (*word & ~((uint64_t)3 << shift)) | ((uint64_t)age << shift);
}

/* A hit makes old entries young (3, 2 -> 1) and young ones youngest. */
void tags__touch_qlru(struct tags *t, uint32_t set, uint32_t way)
{
    qlru__set_age(t, set, way, qlru__age(t, set, way) >= 2 ? 1 : 0);
}

/* First way of the oldest age; everybody grows older until there is one. */
static uint32_t qlru__victim(struct tags *t, uint32_t set)
{
    unsigned oldest = 0;
    uint32_t victim = 0;

    for (uint32_t way = 0; way < t->ways; ++way) {
        unsigned age = qlru__age(t, set, way);
        if (age > oldest) {
            oldest = age;
            victim = way;
        }
    }
    if (oldest < QLRU_OLDEST) {
        for (uint32_t way = 0; way < t->ways; ++way)
            qlru__set_age(t, set, way, qlru__age(t, set, way) + QLRU_OLDEST - oldest);
    }
    return victim;
}

static uint32_t tree__victim(const struct tags *t, uint32_t set)
{
    uint32_t leaves = tree__leaves(t), node = 1;

    while (node < leaves)
        node = 2 * node + ((t->policy[set] >> node) & 1U);
    return node - leaves;
}

static uint32_t lru__victim(const struct tags *t, uint32_t set)
{
    const uint64_t *used = t->used + (uint64_t)set * t->ways;
    uint32_t victim = 0;

    for (uint32_t way = 1; way < t->ways; ++way)
        if (used[way] < used[victim])
            victim = way;
    return victim;
}

static uint32_t tags__victim(struct tags *t, uint32_t set)
{
    const uint64_t *word = t->word + (uint64_t)set * t->ways;

    for (uint32_t way = 0; way < t->ways; ++way)
        if ((word[way] & TAG_VALID) == 0)
            return way;
    if (t->replacement == REPLACEMENT_LRU)
        return lru__victim(t, set);
    return t->replacement == REPLACEMENT_PLRU ? tree__victim(t, set) : qlru__victim(t, set);
}

int64_t tags__insert(struct tags *t, uint64_t key, unsigned flags, uint64_t ready, uint64_t *evicted)
{
    uint32_t set = tags__set(t, key);
    uint32_t way = tags__victim(t, set);
    int64_t pos = (int64_t)set * t->ways + way;

    assert((key & TAG_FLAGS) == 0 && tags__find(t, key) < 0);
    *evicted = (t->word[pos] & TAG_VALID) != 0 ? t->word[pos] : 0;
    t->word[pos] = key | flags | TAG_VALID;
    t->ready[pos] = ready;
    if (t->replacement == REPLACEMENT_QLRU)
        qlru__set_age(t, set, way, QLRU_INSERT_AGE);
    else
        tags__touch(t, key, pos);
    return pos;
}

uint64_t tags__remove(struct tags *t, uint64_t key)
{
    int64_t pos = tags__find(t, key);

    if (pos < 0)
        return 0;
    uint64_t word = t->word[pos];
    t->word[pos] = 0;
    return word;
}
