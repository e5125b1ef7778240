/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/ittage.h"

#include <stdlib.h>

enum { BASE_ENTRIES = 512, TAG_BITS = 12, CONFIDENCE_MAX = 3, PRESSURE_MAX = 256 };

int ittage__init(struct ittage *t, uint32_t n_tables, uint32_t log2_entries, uint32_t first_fold)
{
    *t = (struct ittage){
        .n_tables = n_tables, .log2_entries = log2_entries, .first_fold = first_fold, .lfsr = 0xace1};
    t->entry = calloc(((size_t)n_tables << log2_entries) + 1, sizeof *t->entry);
    t->base = calloc(BASE_ENTRIES, sizeof *t->base);
    if (t->entry == NULL || t->base == NULL) {
        ittage__fini(t);
        return -1;
    }
    return 0;
}

void ittage__fini(struct ittage *t)
{
    free(t->entry);
    free(t->base);
    *t = (struct ittage){0};
}

void ittage__lookup(const struct ittage *t, const struct history *h, uint64_t addr,
                    struct ittage_lookup *look)
{
    uint64_t addr_hash = addr * 0xd6e8feb86659fd93U;

    addr_hash ^= addr_hash >> 31;
    look->base = &t->base[(addr ^ addr >> 9) % BASE_ENTRIES];
    look->provider = -1;
    look->target = look->alternative = look->base->addr == addr ? look->base->target : 0;
    for (uint32_t k = 0; k < t->n_tables; ++k) {
        uint64_t hash = (history__fold(h, t->first_fold + k) ^ addr_hash) * 0xc4ceb9fe1a85ec53U;
        look->index[k] = (k << t->log2_entries) + (uint32_t)(hash >> (64 - t->log2_entries));
        look->tag[k] = (uint16_t)(hash >> 24) & ((1U << TAG_BITS) - 1);
        const struct ittage_entry *e = &t->entry[look->index[k]];
        if (e->tag != look->tag[k] || e->target == 0)
            continue;
        look->alternative = look->target;
        look->provider = (int32_t)k;
        /* a new entry is not believed while there is something else */
        if (e->confidence > 0 || look->alternative == 0)
            look->target = e->target;
    }
}

static void ittage__age(struct ittage *t)
{
    size_t n = (size_t)t->n_tables << t->log2_entries;

    for (size_t k = 0; k < n; ++k)
        t->entry[k].useful = 0;
    t->pressure = 0;
}

static void ittage__allocate(struct ittage *t, const struct ittage_lookup *look, uint64_t target)
{
    uint32_t k = (uint32_t)(look->provider + 1);
    bool skip = t->lfsr & 1U;

    t->lfsr = t->lfsr >> 1 ^ (skip ? 0xb400U : 0);
    if (k + 1 < t->n_tables && skip)
        ++k;
    for (; k < t->n_tables; ++k) {
        struct ittage_entry *e = &t->entry[look->index[k]];
        if (e->useful == 0) {
            *e = (struct ittage_entry){.target = target, .tag = look->tag[k]};
            t->pressure -= t->pressure > 0;
            return;
        }
        ++t->pressure;
    }
    if (t->pressure >= PRESSURE_MAX)
        ittage__age(t);
}

static void base__update(struct ittage_base *base, uint64_t addr, uint64_t target)
{
    if (base->addr == addr && base->target == target)
        base->sure = true;
    else if (base->addr == addr && base->sure)
        base->sure = false;
    else
        *base = (struct ittage_base){.addr = addr, .target = target};
}

void ittage__update(struct ittage *t, const struct ittage_lookup *look, uint64_t addr, uint64_t target)
{
    bool provider_right = false;

    if (look->provider >= 0) {
        struct ittage_entry *e = &t->entry[look->index[look->provider]];
        provider_right = e->target == target;
        if (provider_right) {
            if (e->confidence < CONFIDENCE_MAX)
                ++e->confidence;
            if (look->alternative != target)
                e->useful = 1;
        } else if (e->confidence > 0) {
            --e->confidence;
            e->useful = 0;
        } else {
            e->target = target;
        }
    }
    base__update(look->base, addr, target);
    if (look->target != target && !provider_right && look->provider + 1 < (int32_t)t->n_tables)
        ittage__allocate(t, look, target);
}
