/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/from_run_code.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fathom/find.h"
#include "fathom/insn.h"
#include "fathom/status.h"
#include "profile/object.h"
#include "profile/weight.h"

enum { TEXT_BYTES = 160 };

/* --- places ---------------------------------------------------------------------------------------- */

static int compare(const struct profile_place *place, int module, uint64_t offset)
{
    if (place->module != module)
        return place->module < module ? -1 : 1;
    return place->offset < offset ? -1 : place->offset > offset;
}

static int by_place(const void *a, const void *b)
{
    const struct profile_place *x = *(const struct profile_place *const *)a;
    const struct profile_place *y = *(const struct profile_place *const *)b;
    return compare(x, y->module, y->offset);
}

int place_index__build(struct place_index *index, const struct profile *profile, struct status *st)
{
    *index = (struct place_index){0};
    index->place = calloc(profile->n_places + 1, sizeof *index->place);
    index->owner = calloc(profile->n_places + 1, sizeof *index->owner);
    if (!index->place || !index->owner)
        return status__fail(st, "not enough memory for %zu places", profile->n_places);
    for (size_t i = 0; i < profile->n_places; i++)
        if (profile->place[i].module >= 0)
            index->place[index->n++] = &profile->place[i];
    qsort(index->place, index->n, sizeof *index->place, by_place);
    return 0;
}

void place_index__free(struct place_index *index)
{
    free(index->place);
    free(index->owner);
    *index = (struct place_index){0};
}

/* The first place at or behind an address. */
static size_t lower_bound(const struct place_index *index, int module, uint64_t offset)
{
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(index->place[middle], module, offset) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The places of a module in [start, end), as a range of index->place. */
static size_t range_of(const struct place_index *index, int module, uint64_t start, uint64_t end,
                       size_t *first)
{
    assert(start <= end);
    *first = lower_bound(index, module, start);
    return lower_bound(index, module, end) - *first;
}

static int longest_first(const void *a, const void *b, void *arg)
{
    const struct found_loop *loop = arg;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    uint64_t x = loop[i].end - loop[i].start, y = loop[k].end - loop[k].start;
    if (x != y)
        return x > y ? -1 : 1;
    return i < k ? -1 : i > k;
}

struct site_weight *place_index__loop_weights(struct place_index *index, int module,
                                              const struct found_loops *found)
{
    struct site_weight *weight = calloc(found->n + 1, sizeof *weight);
    size_t *order = calloc(found->n + 1, sizeof *order);
    size_t first, n;

    if (!weight || !order) {
        free(weight);
        weight = NULL;
        goto out;
    }
    for (size_t i = 0; i < found->n; i++)
        order[i] = i;
    qsort_r(order, found->n, sizeof *order, longest_first, found->loop);
    for (size_t i = 0; i < found->n; i++) {
        const struct found_loop *loop = &found->loop[order[i]];
        n = range_of(index, module, loop->start, loop->end, &first);
        for (size_t k = first; k < first + n; k++)
            index->owner[k] = order[i] + 1;
    }
    n = range_of(index, module, 0, UINT64_MAX, &first);
    for (size_t k = first; k < first + n; k++)
        if (index->owner[k])
            weight__add(&weight[index->owner[k] - 1], &index->place[k]->weight);
out:
    free(order);
    return weight;
}

/* --- instructions ---------------------------------------------------------------------------------- */

static bool can_fuse(const struct insn *a, const struct insn *b)
{
    return a && b->cond < 16 && a->fuses_with >> b->cond & 1;
}

/* What was counted at an address, if it is the loop's own. */
static uint64_t counted(const struct place_index *index, int module, uint64_t address, size_t number)
{
    uint64_t sum = 0;
    size_t first, n = range_of(index, module, address, address + 1, &first);
    for (size_t i = first; i < first + n; i++)
        if (index->owner[i] == number + 1)
            sum += index->place[i]->weight.insns;
    return sum;
}

uint64_t loop_code__iterations(const struct place_index *index, int module, const struct found_loop *loop,
                               size_t number, struct isa *isa)
{
    uint64_t size = loop->end - loop->start, previous = 0, last = 0, most = 0;
    const struct insn *insn, *before = NULL;

    for (uint64_t at = 0; at < size; at += insn->len, before = insn, previous = last) {
        if (!(insn = isa__decode(isa, loop->bytes + at, size - at, NULL)))
            break;
        last = counted(index, module, loop->start + at, number);
        if (can_fuse(before, insn) && previous > last)
            last += (previous - last) / 2;
        else if (previous > most) /* was no first half */
            most = previous;
    }
    return loop->simple || last > most ? last : most;
}

/* Operands may show addresses, which are others in the traced process than in the file. */
static bool same_mnemonic(const char *a, const char *b)
{
    size_t n = strcspn(a, " ");
    return n == strcspn(b, " ") && memcmp(a, b, n) == 0;
}

bool loop_code__is_what_ran(const struct place_index *index, int module, const struct found_loop *loop,
                            struct isa *isa)
{
    uint64_t size = loop->end - loop->start, at = 0;
    size_t first, n = range_of(index, module, loop->start, loop->end, &first);

    for (size_t i = first; i < first + n; i++) {
        const struct profile_place *place = index->place[i];
        const struct insn *insn = NULL;
        char text[TEXT_BYTES];
        while (at < size && loop->start + at <= place->offset) {
            if (!(insn = isa__decode(isa, loop->bytes + at, size - at, NULL)))
                return false;
            if (loop->start + at == place->offset)
                break;
            at += insn->len;
        }
        if (at >= size || loop->start + at != place->offset)
            return false;
        if (place->text &&
            !same_mnemonic(place->text, isa__format(isa, insn, place->offset, text, sizeof text)))
            return false;
    }
    return true;
}

/* --- files ----------------------------------------------------------------------------------------- */

int module__check(const struct profile_module *module, bool *checked, struct status *st)
{
    struct object *object = NULL;
    const char *now;
    int rc = -1;

    *checked = false;
    if (access(module->path, R_OK) != 0) {
        status__fail(st,
                     errno == ENOENT ? "%s: is not there any more; put it back, or run the program again"
                                     : "%s: cannot be read (%m); change that, or run the program again",
                     module->path);
        goto out;
    }
    if (!module->build_id) {
        rc = 0;
        goto out;
    }
    if (!(object = object__open(module->path))) {
        status__fail(st, "not enough memory for %s", module->path);
        goto out;
    }
    now = object__build_id(object);
    if (!now || strcmp(now, module->build_id) != 0) {
        status__fail(st,
                     "%s: is not the file that was run (its build id was %.16s and is %.16s): run the "
                     "program again",
                     module->path, module->build_id, now ? now : "missing");
        goto out;
    }
    *checked = true;
    rc = 0;
out:
    object__close(object);
    return rc;
}
