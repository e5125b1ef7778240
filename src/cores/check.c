/* SPDX-License-Identifier: Apache-2.0 */
#include "cores/params.h"
#include "fathom/status.h"

enum { LINE_BYTES = 64 };

static bool is_power_of_two(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* The largest power of two that is not above `n`, which is not 0. */
static uint32_t power_below(uint32_t n)
{
    uint32_t power = 1;

    while (power <= n / 2)
        power *= 2;
    return power;
}

static int check_cache(const struct cache_geometry *cache, const char *key, bool indexed_by_bits,
                       const char *origin, struct status *st)
{
    uint32_t way_bytes = cache->ways * LINE_BYTES;

    if (cache->size_bytes % way_bytes)
        return status__fail(
            st,
            "%s: %s_size = %u B is no multiple of %s_ways = %u ways of %d-byte lines; %u B or "
            "%u B would be",
            origin, key, cache->size_bytes, key, cache->ways, LINE_BYTES,
            cache->size_bytes / way_bytes * way_bytes, (cache->size_bytes / way_bytes + 1) * way_bytes);
    if (indexed_by_bits && !is_power_of_two(cache->size_bytes / way_bytes))
        return status__fail(st,
                            "%s: %s_size = %u B with %s_ways = %u gives %u sets, which is no power of two; "
                            "only the L3 may have any number: use %u B, or %u B",
                            origin, key, cache->size_bytes, key, cache->ways, cache->size_bytes / way_bytes,
                            power_below(cache->size_bytes / way_bytes) * way_bytes,
                            2 * power_below(cache->size_bytes / way_bytes) * way_bytes);
    return 0;
}

/* Tables of entries in sets: TLBs and the BTB. */
static int check_sets(uint32_t entries, uint32_t ways, const char *key, const char *origin, struct status *st)
{
    if (entries % ways || !is_power_of_two(entries / ways)) {
        uint32_t sets = entries < ways ? 1 : power_below(entries / ways);

        return status__fail(st,
                            "%s: %s_entries = %u with %s_ways = %u gives no whole number of sets that is a "
                            "power of two; use %u or %u entries",
                            origin, key, entries, key, ways, sets * ways, 2 * sets * ways);
    }
    return 0;
}

/* a >= b, both named. */
static int check_at_least(uint32_t a, const char *a_key, uint32_t b, const char *b_key, const char *origin,
                          struct status *st)
{
    if (a >= b)
        return 0;
    return status__fail(st, "%s: %s = %u must not be less than %s = %u", origin, a_key, a, b_key, b);
}

static int check_memory(const struct core *core, const char *origin, struct status *st)
{
    double dram_cyc = core->dram_lat_ns * core->freq_ghz;

    if (check_cache(&core->l1i, "l1i", true, origin, st) ||
        check_cache(&core->l1d, "l1d", true, origin, st) || check_cache(&core->l2, "l2", true, origin, st) ||
        check_cache(&core->l3, "l3", false, origin, st))
        return -1;
    if (core->l1d.lat_cyc >= core->l2.lat_cyc || core->l2.lat_cyc >= core->l3.lat_cyc ||
        core->l3.lat_cyc >= dram_cyc)
        return status__fail(st,
                            "%s: latencies must grow with the distance: l1d_lat_cyc %u, l2_lat_cyc %u, "
                            "l3_lat_cyc %u, dram_lat_ns %g at freq_ghz %g (%.1f cycles)",
                            origin, core->l1d.lat_cyc, core->l2.lat_cyc, core->l3.lat_cyc, core->dram_lat_ns,
                            core->freq_ghz, dram_cyc);
    if (check_sets(core->itlb.entries, core->itlb.ways, "itlb", origin, st) ||
        check_sets(core->dtlb.entries, core->dtlb.ways, "dtlb", origin, st) ||
        check_sets(core->stlb.entries, core->stlb.ways, "stlb", origin, st))
        return -1;
    return 0;
}

/* DE-8: what could fuse waits for another decoder. */
static int check_decoders(const struct core *core, const char *origin, struct status *st)
{
    if (core->decoders > 1 || core->fuse_on_last_decoder)
        return 0;
    return status__fail(st,
                        "%s: decoders = 1 with fuse_on_last_decoder = no leaves no decoder for instructions "
                        "that could fuse; use 2 decoders, or yes",
                        origin);
}

static int check_front_end(const struct core *core, const char *origin, struct status *st)
{
    if (!is_power_of_two(core->dsb_sets))
        return status__fail(st, "%s: dsb_sets = %u is no power of two; use %u or %u", origin, core->dsb_sets,
                            power_below(core->dsb_sets), 2 * power_below(core->dsb_sets));
    /* FE-7, DSB-1, CY-1: with less the stage could never move. */
    if (check_at_least(core->iq_entries, "iq_entries", core->predecode_width, "predecode_width", origin,
                       st) ||
        check_at_least(core->dsb_ways, "dsb_ways", core->dsb_lines_per_window, "dsb_lines_per_window", origin,
                       st) ||
        check_at_least(core->idq_entries, "idq_entries", core->dsb_width, "dsb_width", origin, st) ||
        check_at_least(core->idq_entries, "idq_entries", 2 * core->issue_width, "twice issue_width", origin,
                       st))
        return -1;
    return check_decoders(core, origin, st);
}

static int check_branches(const struct core *core, const char *origin, struct status *st)
{
    if (check_sets(core->btb_entries, core->btb_ways, "btb", origin, st) ||
        check_at_least(core->btb_entries, "btb_entries", core->btb_fast_entries, "btb_fast_entries", origin,
                       st) ||
        check_at_least(core->tage_history_max, "tage_history_max", core->tage_history_min, "tage_history_min",
                       origin, st))
        return -1;
    return 0;
}

int core__check(const struct core *core, const char *origin, struct status *st)
{
    if (check_front_end(core, origin, st) || check_branches(core, origin, st) ||
        check_memory(core, origin, st))
        return -1;
    /* RT-4: issue waits for room for a whole group, each uop of which may hold several RS entries. */
    return check_at_least(core->rs_entries, "rs_entries", 4 * core->issue_width, "four times issue_width",
                          origin, st);
}
