/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From executed addresses to modules, functions and lines. Works one module at a time, so that only
 * one file's tables are in memory:
 *
 *   place -> mapping -> module and file offset -> (sorted by module) -> ELF address, symbol, line
 *         -> (sorted by symbol) -> function
 *
 * Every place ends in exactly one function, so the functions' weights sum to the places'.
 */
#include "fathom/profile.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/object.h"
#include "profile/weight.h"

/* A place on its way to its function. */
struct hit {
    size_t place;
    int module;
    int64_t symbol; /* -1: none */
    const char *file;
    int line;
};

static const struct mapping *find_mapping(const struct mapping *map, size_t n_map, uint64_t addr)
{
    for (size_t i = n_map; i-- > 0;) /* the newest first: addresses are used again */
        if (addr >= map[i].start && addr < map[i].end)
            return &map[i];
    return NULL;
}

static int module_index(struct profile *profile, const char *path, size_t *cap)
{
    for (size_t i = 0; i < profile->n_modules; i++)
        if (strcmp(profile->module[i].path, path) == 0)
            return (int)i;
    if (profile->n_modules == *cap) {
        size_t more_cap = *cap ? 2 * *cap : 16;
        struct profile_module *more = realloc(profile->module, more_cap * sizeof *more);
        if (!more)
            return -1;
        profile->module = more;
        *cap = more_cap;
    }
    char *copy = strdup(path);
    if (!copy)
        return -1;
    profile->module[profile->n_modules] = (struct profile_module){.path = copy};
    return (int)profile->n_modules++;
}

static void forget_symbols(struct profile *profile)
{
    for (size_t i = 0; i < profile->n_modules; i++) {
        free(profile->module[i].path);
        free(profile->module[i].build_id);
    }
    for (size_t i = 0; i < profile->n_functions; i++) {
        free(profile->function[i].name);
        free(profile->function[i].file);
    }
    free(profile->module);
    free(profile->function);
    profile->module = NULL;
    profile->function = NULL;
    profile->n_modules = profile->n_functions = 0;
}

/* Gives places their module and, as `offset`, their file offset. */
static void place_in_modules(struct profile *profile, const struct mapping *map, size_t n_map)
{
    const struct mapping *last = NULL;
    int last_module = -1;
    size_t cap = 0;

    for (size_t i = 0; i < profile->n_places; i++) {
        struct profile_place *place = &profile->place[i];
        const struct mapping *here = find_mapping(map, n_map, place->addr);
        place->module = -1;
        place->function = -1;
        place->offset = 0;
        if (!here || !here->path || !here->path[0])
            continue;
        if (here != last) {
            last_module = module_index(profile, here->path, &cap);
            last = here;
        }
        place->module = last_module;
        place->offset = place->addr - here->start + here->file_offset;
    }
}

static int hit__by_module(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int compare_lines(const struct hit *x, const struct hit *y)
{
    if (!x->file || !y->file)
        return x->file ? -1 : y->file ? 1 : 0;
    int order = x->file == y->file ? 0 : strcmp(x->file, y->file);
    if (order)
        return order;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int hit__by_symbol(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    if (x->symbol != y->symbol)
        return x->symbol < y->symbol ? -1 : 1;
    int order = compare_lines(x, y);
    if (order)
        return order;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* The line with the most cycles, the first among equals. */
static void set_hottest_line(const struct profile *profile, const struct hit *hit, size_t n,
                             struct profile_function *function)
{
    const struct hit *best = NULL;
    uint64_t best_cycles = 0;
    for (size_t i = 0, k; i < n; i = k) {
        uint64_t cycles = 0;
        for (k = i; k < n && compare_lines(&hit[i], &hit[k]) == 0; k++)
            cycles += profile->place[hit[k].place].weight.cycles_tip;
        if (hit[i].file && (!best || cycles > best_cycles)) {
            best = &hit[i];
            best_cycles = cycles;
        }
    }
    if (best) {
        function->file = strdup(best->file);
        function->line = function->file ? best->line : 0;
    }
}

static char *unknown_name(const struct profile *profile, int module)
{
    char *name = NULL;
    if (module < 0)
        return strdup("[unknown]");
    const char *path = profile->module[module].path;
    const char *slash = strrchr(path, '/');
    if (asprintf(&name, "[unknown]+%s", slash && slash[1] ? slash + 1 : path) < 0)
        return NULL;
    return name;
}

/* One function out of the hits of one symbol. */
static void add_function(struct profile *profile, const struct object *object, const struct hit *hit,
                         size_t n)
{
    struct profile_function *function = &profile->function[profile->n_functions];
    *function = (struct profile_function){.module = hit->module};
    if (object && hit->symbol >= 0) {
        function->name = object__function_name(object, hit->symbol);
        function->entry = object__function_entry(object, hit->symbol);
    }
    if (!function->name)
        function->name = unknown_name(profile, hit->module);
    set_hottest_line(profile, hit, n, function);
    for (size_t i = 0; i < n; i++) {
        weight__add(&function->weight, &profile->place[hit[i].place].weight);
        profile->place[hit[i].place].function = (int)profile->n_functions;
    }
    profile->n_functions++;
}

/* `hit` are all hits of one module; only absolute paths are files. */
static void resolve_module(struct profile *profile, struct hit *hit, size_t n)
{
    struct object *object = NULL;
    if (hit->module >= 0 && profile->module[hit->module].path[0] == '/')
        object = object__open(profile->module[hit->module].path);
    for (size_t i = 0; object && i < n; i++) {
        struct profile_place *place = &profile->place[hit[i].place];
        place->offset = object__vaddr(object, place->offset);
        hit[i].symbol = object__function(object, place->offset);
        if (!object__line(object, place->offset, &hit[i].file, &hit[i].line))
            hit[i].file = NULL;
    }
    if (object && object__build_id(object))
        profile->module[hit->module].build_id = strdup(object__build_id(object));
    qsort(hit, n, sizeof *hit, hit__by_symbol);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && hit[k].symbol == hit[i].symbol; k++)
            ;
        add_function(profile, object, hit + i, k - i);
    }
    object__close(object);
}

static int compare_functions(const void *a, const void *b, void *arg)
{
    const struct profile_function *all = arg;
    const struct profile_function *x = &all[*(const int *)a], *y = &all[*(const int *)b];
    if (x->weight.cycles_tip != y->weight.cycles_tip)
        return x->weight.cycles_tip > y->weight.cycles_tip ? -1 : 1;
    int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");
    if (order)
        return order;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void sort_functions(struct profile *profile)
{
    size_t n = profile->n_functions;
    int *order = calloc(n + 1, sizeof *order), *rank = calloc(n + 1, sizeof *rank);
    struct profile_function *sorted = calloc(n + 1, sizeof *sorted);

    if (!order || !rank || !sorted)
        goto out;
    for (size_t i = 0; i < n; i++)
        order[i] = (int)i;
    qsort_r(order, n, sizeof *order, compare_functions, profile->function);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = profile->function[order[i]];
        rank[order[i]] = (int)i;
    }
    for (size_t i = 0; i < profile->n_places; i++)
        if (profile->place[i].function >= 0)
            profile->place[i].function = rank[profile->place[i].function];
    free(profile->function);
    profile->function = sorted;
    sorted = NULL;
out:
    free(order);
    free(rank);
    free(sorted);
}

void profile__symbolize(struct profile *profile, const struct mapping *map, size_t n_map)
{
    size_t n = profile->n_places;
    struct hit *hit = NULL;

    assert(profile && (map || n_map == 0));
    forget_symbols(profile);
    place_in_modules(profile, map, n_map);
    if (n == 0)
        return;
    hit = calloc(n, sizeof *hit);
    profile->function = calloc(n, sizeof *profile->function); /* no more functions than places */
    if (!hit || !profile->function)
        goto out;
    for (size_t i = 0; i < n; i++)
        hit[i] = (struct hit){.place = i, .module = profile->place[i].module, .symbol = -1};
    qsort(hit, n, sizeof *hit, hit__by_module);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && hit[k].module == hit[i].module; k++)
            ;
        resolve_module(profile, hit + i, k - i);
    }
    sort_functions(profile);
out:
    free(hit);
}
