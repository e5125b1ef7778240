/* SPDX-License-Identifier: Apache-2.0 */
/* Core descriptions: every parameter of the modelled processor. Text files in data/cores/. */
#ifndef FATHOM_CORE_H
#define FATHOM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct status;

enum { CORE_LSD_SIZES = 64 }; /* body sizes (laminated uops) with an entry in lsd_unroll */

struct cache_geometry {
    uint32_t size_bytes;
    uint32_t ways;
    uint32_t lat_cyc; /* load-to-use, core cycles (PIPELINE.md 12.1) */
};

struct tlb_geometry {
    uint32_t entries; /* 4 KiB pages */
    uint32_t ways;
};

/*
 * One core. Plain data, copied freely; loaded by core__load and never changed afterwards.
 * Names follow the master table 0.3 of the pipeline facts; units are in the names.
 */
struct core {
    char name[32];       /* "skl" */
    char title[96];      /* "Skylake (client)" */
    char insn_table[32]; /* instruction table in data/insns/, "skl" */
    char guest_cpu[256]; /* qemu -cpu argument that presents this core's features */

    /* front end */
    uint32_t predecode_width;           /* instructions a cycle, FE-6 */
    uint32_t predecode_delay_cyc;       /* FE-12 */
    uint32_t lcp_stall_cyc;             /* FE-13 */
    uint32_t iq_entries;                /* instructions, FE-7 */
    uint32_t decoders;                  /* DE-1 */
    uint32_t dsb_width;                 /* laminated uops a cycle, DSB-10 */
    uint32_t dsb_sets, dsb_ways;        /* DSB-16, ways of dsb_line_uops each */
    uint32_t dsb_line_uops;             /* DSB-1 */
    uint32_t dsb_lines_per_window;      /* DSB-1, 32-byte windows */
    bool dsb_both_halves;               /* DSB-8 */
    bool jcc_erratum;                   /* FE-17 */
    uint32_t ms_width;                  /* MS-1 */
    uint32_t ms_stall_dsb_cyc;          /* MS-2 */
    uint32_t ms_stall_mite_cyc;         /* MS-2: before the first MS uop and after the last, each */
    bool lsd;                           /* LSD-1 */
    uint8_t lsd_unroll[CORE_LSD_SIZES]; /* LSD-4, index = laminated uops of the body; 1 beyond */
    uint32_t lsd_detect_iterations;     /* LSD-7, whole programs */
    uint32_t idq_entries;
    bool fuse_on_last_decoder; /* DE-8 */
    bool pop5c_ends_group;     /* DE-6 */

    /* rename */
    uint32_t issue_width, retire_width; /* fused-domain uops a cycle */
    uint32_t rob_entries, rs_entries;
    uint32_t load_buffer, store_buffer; /* whole programs only, RT-5 */
    uint32_t load_matrix;               /* UFS-RT-4: loads in flight, the published UFS rules only */
    uint32_t prf_int, prf_vec;          /* RT-7 */
    uint32_t elim_slots_gpr, elim_slots_vec, elim_history; /* RN-9, RN-11; 0 slots: no elimination */
    bool elim_gpr_all_aliases;                             /* RN-10 */
    bool elim_movzx_high_encoding;                         /* RN-8: movzx from SPL..R15B encodings */

    /* scheduler and execution */
    uint32_t ports;                 /* 6 or 8 */
    uint32_t issue_to_dispatch_cyc; /* EX-3 */
    uint32_t load_latency_cyc;      /* EX-8: address to value on an L1 hit */
    bool fast_pointer_chasing;      /* EX-9 */
    bool slow_256bit_memory;        /* EX-17 */
    bool bank_conflicts;            /* EX-11 */

    /* branches */
    uint32_t resteer_cyc;       /* r of BP-6 */
    uint32_t recovery_cyc;      /* RC of BP-4 */
    uint32_t machine_clear_cyc; /* BP-7, added to the refill */
    uint32_t smc_clear_cyc;     /* ME-15, in which the allocator recovers as well */
    uint32_t baclear_cyc;       /* BP-5 */
    uint32_t btb_entries, btb_ways, btb_fast_entries;
    uint32_t rsb_entries;
    bool rsb_underflow_indirect; /* BP-8 */
    uint32_t bimodal_log2;       /* entries of the base predictor, log2 */
    uint32_t tage_tables, tage_log2, tage_history_min, tage_history_max;
    uint32_t loop_predictor_entries;
    uint32_t ittage_tables, ittage_log2, ittage_history_max;

    /* memory */
    double freq_ghz;
    struct cache_geometry l1i, l1d, l2, l3;
    bool l3_inclusive;
    double dram_lat_ns;        /* random access, load to use */
    double dram_bandwidth_gbs; /* per socket */
    uint32_t l2_l1_bytes_cyc, l3_l2_bytes_cyc;
    uint32_t lfb_entries, sq_entries, mem_queue_entries; /* ME-4, ME-5, ME-6 */
    uint32_t mem_bandwidth_requests; /* this many reads under way count as bandwidth bound, ME-6 */
    struct tlb_geometry itlb, dtlb, stlb;
    uint32_t stlb_hit_cyc, page_walkers;
    uint32_t split_load_cyc, split_page_cyc; /* EX-12 */
    uint32_t store_forward_cyc;              /* EX-13: data ready to forwarded value */
    uint32_t store_forward_blocked_cyc;      /* EX-22 */
    uint32_t alias_4k_cyc;                   /* EX-23 */
    bool prefetch_l1_next, prefetch_l1_ip, prefetch_l2_adjacent, prefetch_l2_streamer;
};

/*
 * Loads a core by name ("skl") or by the path of a user's own file (contains '/' or ends in
 * ".core"), checks it, and applies `n_set` assignments "key=value" after it.
 * Fails naming file, line and key. The built-in files are compiled in.
 */
int core__load(struct core *core, const char *name_or_path, const char *const *set, size_t n_set,
               struct status *st);
/* Names of the built-in cores, NULL-terminated, in the order shown to users. */
const char *const *core__names(void);
/* Prints the effective description in the file format (loads again to the same core). */
void core__print(const struct core *core, FILE *out);

#endif
