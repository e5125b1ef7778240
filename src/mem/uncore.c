/* SPDX-License-Identifier: Apache-2.0 */
#include "mem/uncore.h"

#include <stdlib.h>

#include "fathom/core.h"
#include "fathom/status.h"

uint64_t uncore__member_key(unsigned member)
{
    const uint64_t frames = 0x00007ffffffff000;
    uint64_t mixed = member * UINT64_C(0x9e3779b97f4a7c15);

    mixed ^= mixed >> 32;
    return (uint64_t)member << UNCORE_MEMBER_SHIFT | (mixed & frames);
}

static int uncore__init(struct uncore *uncore, const struct core *core, struct status *st)
{
    double dram_cyc = core->dram_lat_ns * core->freq_ghz;
    char what[96];

    snprintf(what, sizeof what, "core %s: l3", core->name);
    if (tags__init(&uncore->l3, core->l3.size_bytes / 64, core->l3.ways, true,
                   (enum replacement)core->l3.replacement, what, st) != 0)
        return -1;
    if (core->mem_queue_entries == 0 || core->mem_queue_entries > POOL_MAX)
        return status__fail(st, "core %s: mem_queue_entries is %u; the memory model takes 1 to %d",
                            core->name, core->mem_queue_entries, POOL_MAX);
    if (core->l3.lat_cyc == 0 || dram_cyc < core->l3.lat_cyc + 1.0 || dram_cyc > 1e6)
        return status__fail(st, "core %s: DRAM (%.0f cycles) must be further away than the l3 (%u)",
                            core->name, dram_cyc, core->l3.lat_cyc);
    if (core->dram_bandwidth_gbs < 0.01)
        return status__fail(st, "core %s: dram_bandwidth_gbs must be above 0", core->name);
    uncore->controller.n = core->mem_queue_entries;
    uncore->dram_after_l3_cyc = (uint32_t)(dram_cyc + 0.5) - core->l3.lat_cyc;
    lane__init(&uncore->dram_lane, 64.0 * core->freq_ghz / core->dram_bandwidth_gbs);
    return 0;
}

struct uncore *uncore__new(const struct core *core, struct status *st)
{
    struct uncore *uncore = calloc(1, sizeof *uncore);

    if (uncore == NULL) {
        status__fail(st, "core %s: no memory for the cache model; free some", core->name);
        return NULL;
    }
    if (uncore__init(uncore, core, st) != 0) {
        uncore__free(uncore);
        return NULL;
    }
    return uncore;
}

void uncore__free(struct uncore *uncore)
{
    if (uncore == NULL)
        return;
    tags__fini(&uncore->l3);
    free(uncore);
}

size_t uncore__bytes(const struct core *core)
{
    return sizeof(struct uncore) + tags__bytes(core->l3.size_bytes / 64, core->l3.ways);
}

uint64_t uncore__read(struct uncore *uncore, uint64_t t, uint64_t now)
{
    uint64_t begin;
    uint32_t slot = pool__take(&uncore->controller, t, &begin);
    uint64_t ready = lane__take(&uncore->dram_lane, begin) + uncore->dram_after_l3_cyc;

    uncore->controller.free_at[slot] = ready;
    outstanding__add(&uncore->outstanding, t, ready, now);
    return ready;
}
