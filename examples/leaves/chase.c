/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chase l1|l2|l3|pages: every load gives the address of the next, so each waits for the whole latency of
 * the level that the set of lines fits, and nothing else is to be done meanwhile. The order is random, so
 * that no prefetcher helps. "l2" and "pages" touch the same number of lines of the same cache; "pages" has
 * each on a page of its own, more pages than the second-level TLB holds.
 * Bound by: L1 Latency; L2 Bound; L3 Bound; DTLB Loads.
 */
#include "leaves.h"

enum { LOADS = 1500000 };

static const struct set {
    const char *name;
    unsigned n_lines; /* a power of two */
    unsigned stride_bytes;
} set[] = {
    {"l1", 256, LINE},
    {"l2", 2048, LINE},
    {"l3", 16384, LINE},
    {"pages", 2048, PAGE + LINE},
};
static _Alignas(PAGE) char field[2048 * (PAGE + LINE)];

/* A full-period generator modulo the number of lines visits each once. Its low bits repeat soon: they
 * become the high bits of the line number. */
static void *link_lines(const struct set *s)
{
    unsigned bits = (unsigned)__builtin_ctz(s->n_lines), half = bits / 2, x = 0;
    char *from = field;

    do {
        x = (x * 1664525u + 1013904223u) % s->n_lines;
        unsigned line = x >> half | (x & ((1u << half) - 1)) << (bits - half);
        char *to = field + (size_t)line * s->stride_bytes;

        *(void **)from = to;
        from = to;
    } while (x);
    return from;
}

int main(int argc, char **argv)
{
    for (const struct set *s = set; argc == 2 && s < set + sizeof set / sizeof *set; s++) {
        uint64_t n = LOADS;
        void *p;

        if (strcmp(argv[1], s->name))
            continue;
        p = link_lines(s);
        __asm__ volatile("1: mov (%0), %0\n"
                         "dec %1\n"
                         "jnz 1b"
                         : "+r"(p), "+r"(n)::"memory");
        return leaf__print(argv, (uint64_t)((char *)p - field));
    }
    fprintf(stderr, "usage: %s l1|l2|l3|pages\n", argv[0]);
    return 2;
}
