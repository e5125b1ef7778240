/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/btb.h"

#include <stdlib.h>

int btb__init(struct btb *b, uint32_t entries, uint32_t ways, uint32_t shift)
{
    if (ways > entries)
        ways = entries;
    *b = (struct btb){.ways = ways, .sets = ways != 0 ? entries / ways : 0, .shift = shift};
    if (b->sets == 0)
        return 0;
    if ((b->sets & (b->sets - 1)) == 0)
        b->mask = b->sets - 1;
    b->addr = calloc((size_t)b->sets * ways, sizeof *b->addr);
    return b->addr != NULL ? 0 : -1;
}

void btb__fini(struct btb *b)
{
    free(b->addr);
    *b = (struct btb){0};
}

static uint64_t *btb__set(const struct btb *b, uint64_t addr)
{
    uint64_t block = addr >> b->shift;
    uint64_t set = b->mask != 0 ? block & b->mask : block % b->sets;

    return b->addr + set * b->ways;
}

static void set__to_front(uint64_t *set, uint32_t way, uint64_t addr)
{
    for (; way > 0; --way)
        set[way] = set[way - 1];
    set[0] = addr;
}

bool btb__touch(struct btb *b, uint64_t addr)
{
    if (b->sets == 0)
        return false;
    uint64_t *set = btb__set(b, addr);
    for (uint32_t way = 0; way < b->ways; ++way) {
        if (set[way] == addr) {
            set__to_front(set, way, addr);
            return true;
        }
    }
    return false;
}

bool btb__has(const struct btb *b, uint64_t addr)
{
    if (b->sets == 0)
        return false;
    const uint64_t *set = btb__set(b, addr);
    for (uint32_t way = 0; way < b->ways; ++way)
        if (set[way] == addr)
            return true;
    return false;
}

void btb__insert(struct btb *b, uint64_t addr)
{
    if (b->sets != 0)
        set__to_front(btb__set(b, addr), b->ways - 1, addr);
}
