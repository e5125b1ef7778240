/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of indirect jumps and calls: a base table by address and tagged tables by path (BP-9). */
#ifndef FATHOM_PREDICT_ITTAGE_H
#define FATHOM_PREDICT_ITTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/history.h"

enum { ITTAGE_TABLES_MAX = 8 };

struct ittage_entry {
    uint64_t target;
    uint16_t tag;
    uint8_t confidence; /* 0..3 */
    uint8_t useful;     /* 0, 1 */
};

struct ittage_base {
    uint64_t addr, target;
    bool sure;
};

struct ittage {
    uint32_t n_tables, log2_entries, first_fold;
    struct ittage_entry *entry;
    struct ittage_base *base;
    int32_t pressure;
    uint32_t lfsr;
};

struct ittage_lookup {
    uint32_t index[ITTAGE_TABLES_MAX];
    uint16_t tag[ITTAGE_TABLES_MAX];
    int32_t provider;
    struct ittage_base *base;
    uint64_t alternative; /* target without the provider, 0: none */
    uint64_t target;      /* 0: no prediction */
};

int ittage__init(struct ittage *t, uint32_t n_tables, uint32_t log2_entries, uint32_t first_fold);
void ittage__fini(struct ittage *t);
void ittage__lookup(const struct ittage *t, const struct history *h, uint64_t addr,
                    struct ittage_lookup *look);
void ittage__update(struct ittage *t, const struct ittage_lookup *look, uint64_t addr, uint64_t target);

#endif
