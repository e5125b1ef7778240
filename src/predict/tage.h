/* SPDX-License-Identifier: Apache-2.0 */
/* Direction prediction: a bimodal table and tagged tables with geometric history lengths (BP-9). */
#ifndef FATHOM_PREDICT_TAGE_H
#define FATHOM_PREDICT_TAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/history.h"

enum { TAGE_TABLES_MAX = 16 };

struct tage_entry {
    uint16_t tag;
    int8_t counter; /* 3 bits, -4..3; taken from 0 on */
    uint8_t useful; /* 2 bits */
};

struct tage {
    uint32_t n_tables, log2_entries, index_mask;
    uint32_t first_fold;      /* of the tables, in the history */
    struct tage_entry *entry; /* table k: from k << log2_entries */
    uint8_t *bimodal;         /* 2-bit counter, and BIMODAL_SEEN */
    uint64_t bimodal_mask;
    uint16_t tag_mask[TAGE_TABLES_MAX];
    int32_t use_alt;  /* >= 0: trust the alternative when the provider is new */
    int32_t pressure; /* failed less successful allocations */
    uint32_t lfsr;
};

/* What a lookup found; the update needs it again. */
struct tage_lookup {
    uint64_t hash[TAGE_TABLES_MAX];
    int32_t provider, alternative; /* table, -1: bimodal */
    uint8_t *bimodal;
    bool provider_taken, alternative_taken;
    bool provider_new;
    bool seen; /* the bimodal entry has been used before */
    bool taken;
};

/* Zero on success, -1 without memory. The tables take n_tables folds of the history from first_fold. */
int tage__init(struct tage *t, uint32_t bimodal_log2, uint32_t n_tables, uint32_t log2_entries,
               uint32_t first_fold);
void tage__fini(struct tage *t);
void tage__lookup(const struct tage *t, const struct history *h, uint64_t addr, struct tage_lookup *look);
void tage__update(struct tage *t, const struct tage_lookup *look, bool taken);

#endif
