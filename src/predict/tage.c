/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/tage.h"

#include <stdlib.h>

enum {
    BIMODAL_SEEN = 0x80,
    BIMODAL_TAKEN = 2, /* counter from here on */
    COUNTER_MIN = -4,
    COUNTER_MAX = 3,
    USEFUL_MAX = 3,
    USE_ALT_MIN = -8,
    USE_ALT_MAX = 7,
    TAG_BITS_MIN = 8,
    TAG_BITS_MAX = 12,
    TAG_NONE = 0xffff,
    TAG_SHIFT = 16,
    PRESSURE_MAX = 1024, /* then all useful counters are halved */
};

int tage__init(struct tage *t, uint32_t bimodal_log2, uint32_t n_tables, uint32_t log2_entries,
               uint32_t first_fold)
{
    *t = (struct tage){.n_tables = n_tables,
                       .log2_entries = log2_entries,
                       .first_fold = first_fold,
                       .index_mask = (1U << log2_entries) - 1,
                       .bimodal_mask = ((uint64_t)1 << bimodal_log2) - 1,
                       .lfsr = 0xace1};
    for (uint32_t k = 0; k < n_tables; ++k) {
        uint32_t bits = TAG_BITS_MIN;
        if (n_tables > 1)
            bits += k * (TAG_BITS_MAX - TAG_BITS_MIN) / (n_tables - 1);
        t->tag_mask[k] = (uint16_t)((1U << bits) - 1);
    }
    t->bimodal = calloc((size_t)1 << bimodal_log2, 1);
    t->entry = calloc(((size_t)n_tables << log2_entries) + 1, sizeof *t->entry);
    if (t->bimodal == NULL || t->entry == NULL) {
        tage__fini(t);
        return -1;
    }
    for (uint64_t k = 0; k <= t->bimodal_mask; ++k)
        t->bimodal[k] = BIMODAL_TAKEN - 1;
    for (size_t k = 0; k < (size_t)n_tables << log2_entries; ++k)
        t->entry[k].tag = TAG_NONE;
    return 0;
}

void tage__fini(struct tage *t)
{
    free(t->bimodal);
    free(t->entry);
    *t = (struct tage){0};
}

/* A table's hash of address and path gives the index from its upper half, the tag from its middle. */
static struct tage_entry *tage__entry(const struct tage *t, const struct tage_lookup *look, uint32_t k)
{
    return &t->entry[(k << t->log2_entries) + ((uint32_t)(look->hash[k] >> 32) & t->index_mask)];
}

static uint16_t tage__tag(const struct tage *t, const struct tage_lookup *look, uint32_t k)
{
    return (uint16_t)((look->hash[k] >> TAG_SHIFT) & t->tag_mask[k]);
}

/* The two longest tables that have an entry. */
static void tage__find(const struct tage *t, const struct history *h, uint64_t addr, struct tage_lookup *look)
{
    uint64_t addr_hash = addr * 0xd6e8feb86659fd93U;
    uint64_t power = h->power;
    const uint64_t *fold = h->fold + t->first_fold;
    const struct tage_entry *table = t->entry;
    uint32_t mask = t->index_mask;
    uint32_t n = t->n_tables;
    int32_t provider = -1, alternative = -1;

    addr_hash ^= addr_hash >> 29;
    for (uint32_t k = 0; k < n; ++k, table += mask + 1) {
        uint64_t hash = (fold[k] * power ^ addr_hash) * 0x9fb21c651e98df25U;
        bool hit = table[(uint32_t)(hash >> 32) & mask].tag == ((hash >> TAG_SHIFT) & t->tag_mask[k]);
        look->hash[k] = hash;
        alternative = hit ? provider : alternative;
        provider = hit ? (int32_t)k : provider;
    }
    look->provider = provider;
    look->alternative = alternative;
}

void tage__lookup(const struct tage *t, const struct history *h, uint64_t addr, struct tage_lookup *look)
{
    tage__find(t, h, addr, look);
    look->bimodal = &t->bimodal[(addr ^ addr >> 13) & t->bimodal_mask];
    look->seen = (*look->bimodal & BIMODAL_SEEN) != 0;
    look->alternative_taken = (*look->bimodal & BIMODAL_TAKEN) != 0;
    look->provider_taken = look->taken = look->alternative_taken;
    look->provider_new = false;
    if (look->provider < 0)
        return;
    if (look->alternative >= 0)
        look->alternative_taken = tage__entry(t, look, (uint32_t)look->alternative)->counter >= 0;
    const struct tage_entry *e = tage__entry(t, look, (uint32_t)look->provider);
    look->provider_taken = e->counter >= 0;
    look->provider_new = e->useful == 0 && (e->counter == 0 || e->counter == -1);
    look->taken = look->provider_new && t->use_alt >= 0 ? look->alternative_taken : look->provider_taken;
}

static bool tage__random_bit(struct tage *t)
{
    bool bit = t->lfsr & 1U;

    t->lfsr = t->lfsr >> 1 ^ (bit ? 0xb400U : 0);
    return bit;
}

static void counter__update(int8_t *counter, bool taken)
{
    if (taken && *counter < COUNTER_MAX)
        ++*counter;
    else if (!taken && *counter > COUNTER_MIN)
        --*counter;
}

static void bimodal__update(uint8_t *entry, bool taken)
{
    uint8_t counter = *entry & 3;

    if ((*entry & BIMODAL_SEEN) == 0)
        counter = taken ? BIMODAL_TAKEN : BIMODAL_TAKEN - 1;
    else if (taken && counter < 3)
        ++counter;
    else if (!taken && counter > 0)
        --counter;
    *entry = (uint8_t)(counter | BIMODAL_SEEN);
}

static void tage__age(struct tage *t)
{
    size_t n = (size_t)t->n_tables << t->log2_entries;

    for (size_t k = 0; k < n; ++k)
        t->entry[k].useful /= 2;
    t->pressure = 0;
}

/* One new entry in a longer table; a coin decides whether the next longer one is passed over. */
static void tage__allocate(struct tage *t, const struct tage_lookup *look, bool taken)
{
    uint32_t k = (uint32_t)(look->provider + 1);

    if (k + 1 < t->n_tables && tage__random_bit(t))
        ++k;
    for (; k < t->n_tables; ++k) {
        struct tage_entry *e = tage__entry(t, look, k);
        if (e->useful == 0) {
            *e = (struct tage_entry){.tag = tage__tag(t, look, k), .counter = taken ? 0 : -1};
            t->pressure -= t->pressure > 0;
            return;
        }
        --e->useful;
        ++t->pressure;
    }
    if (t->pressure >= PRESSURE_MAX)
        tage__age(t);
}

static void tage__train_provider(struct tage *t, const struct tage_lookup *look, bool taken)
{
    struct tage_entry *e = tage__entry(t, look, (uint32_t)look->provider);

    if (look->provider_taken != look->alternative_taken) {
        if (look->provider_new) {
            bool alternative_right = look->alternative_taken == taken;
            if (alternative_right && t->use_alt < USE_ALT_MAX)
                ++t->use_alt;
            else if (!alternative_right && t->use_alt > USE_ALT_MIN)
                --t->use_alt;
        }
        if (look->provider_taken == taken && e->useful < USEFUL_MAX)
            ++e->useful;
        else if (look->provider_taken != taken && e->useful > 0)
            --e->useful;
    }
    if (e->useful == 0) { /* the alternative may be needed again */
        if (look->alternative >= 0)
            counter__update(&tage__entry(t, look, (uint32_t)look->alternative)->counter, taken);
        else
            bimodal__update(look->bimodal, taken);
    }
    counter__update(&e->counter, taken);
}

void tage__update(struct tage *t, const struct tage_lookup *look, bool taken)
{
    /* a new provider that was right needs no longer helper, even if it was not believed */
    bool allocate =
        look->taken != taken && look->seen && !(look->provider_new && look->provider_taken == taken);

    if (look->provider >= 0)
        tage__train_provider(t, look, taken);
    else
        bimodal__update(look->bimodal, taken);
    if (!look->seen)
        *look->bimodal |= BIMODAL_SEEN;
    if (allocate && look->provider + 1 < (int32_t)t->n_tables)
        tage__allocate(t, look, taken);
}
