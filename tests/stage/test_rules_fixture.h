/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of single rules share: all cores, a short way to write code, and figures by core.
 *
 * Code is written as hexadecimal bytes; "3*90 75fb" means three times 90, then 75fb. */
#ifndef TEST_RULES_FIXTURE_H
#define TEST_RULES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loop_fixture.h"

enum rules_core { SNB, IVB, HSW, BDW, SKL, RULES_CORES };
enum { RULES_HEX_MAX = 8192 };

static const char *const rules_names[RULES_CORES] = {"snb", "ivb", "hsw", "bdw", "skl"};
static struct loop_fixture rules_fixture[RULES_CORES];

static inline int rules__open(void **state)
{
    (void)state;
    for (int c = 0; c < RULES_CORES; c++) {
        loop_fixture__open(&rules_fixture[c], rules_names[c]);
        rules_fixture[c].keep_uops = true;
    }
    return 0;
}

static inline int rules__close(void **state)
{
    (void)state;
    for (int c = 0; c < RULES_CORES; c++)
        loop_fixture__close(&rules_fixture[c]);
    return 0;
}

static inline const char *rules__hex(const char *code, char *hex)
{
    char *out = hex;
    while (*code) {
        size_t repeat = 1, n = strcspn(code, " ");
        const char *star = memchr(code, '*', n);
        if (star) {
            repeat = strtoul(code, NULL, 10);
            n -= (size_t)(star + 1 - code);
            code = star + 1;
        }
        for (; repeat; repeat--, out += n) {
            assert_true((size_t)(out - hex) + n < RULES_HEX_MAX);
            memcpy(out, code, n);
        }
        code += n;
        code += strspn(code, " ");
    }
    *out = 0;
    return hex;
}

/* Runs the block on one core; its uops are in the fixture afterwards. */
static inline double rules__run_at(struct loop_fixture *fx, const char *code, uint64_t align)
{
    char hex[RULES_HEX_MAX];
    return loop_fixture__cycles(fx, rules__hex(code, hex), align);
}

static inline struct loop_fixture *rules__run(enum rules_core core, const char *code)
{
    rules__run_at(&rules_fixture[core], code, 0);
    return &rules_fixture[core];
}

/* Hundredths of a cycle per iteration with "key=value" settings. */
static inline int rules__cycles_set(enum rules_core core, const char *code, const char *const *set,
                                    size_t n_set)
{
    struct loop_fixture fx;
    loop_fixture__open_set(&fx, rules_names[core], set, n_set);
    double cycles = rules__run_at(&fx, code, 0);
    loop_fixture__close(&fx);
    return (int)(cycles * 100 + 0.5);
}

static inline int rules__cycles_with(enum rules_core core, const char *code, const char *set)
{
    return rules__cycles_set(core, code, &set, 1);
}

static inline int rules__cycles(enum rules_core core, const char *code)
{
    return (int)(rules__run_at(&rules_fixture[core], code, 0) * 100 + 0.5);
}

/* Cycles per iteration in hundredths; 0: not on this core. */
struct rules_figure {
    const char *code;
    unsigned align;
    int cycles[RULES_CORES];
};

static inline void rules__check_figures(const struct rules_figure *f, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < RULES_CORES; c++) {
            int cycles = (int)(rules__run_at(&rules_fixture[c], f[i].code, f[i].align) * 100 + 0.5);
            if (!f[i].cycles[c] || cycles == f[i].cycles[c])
                continue;
            print_error("%s at %u on %s: %d, not %d\n", f[i].code, f[i].align, rules_names[c], cycles,
                        f[i].cycles[c]);
            wrong++;
        }
    assert_int_equal(wrong, 0);
}
#define RULES_CHECK_FIGURES(table) rules__check_figures(table, sizeof(table) / sizeof(table)[0])

/* The k-th uop record of an instruction of the block in an iteration; NULL: there is none. */
static inline const struct uop_record *rules__find(const struct loop_fixture *fx, unsigned iteration,
                                                   unsigned insn, unsigned k)
{
    for (size_t i = 0; i < fx->n_uops; i++)
        if (fx->uop[i].iteration == iteration && fx->uop[i].site == insn && k-- == 0)
            return &fx->uop[i];
    return NULL;
}

static inline const struct uop_record *rules__uop(const struct loop_fixture *fx, unsigned iteration,
                                                  unsigned insn, unsigned k)
{
    const struct uop_record *r = rules__find(fx, iteration, insn, k);
    assert_non_null(r);
    return r;
}

/* Number of unfused uops, or of rename slots, of an instruction in one iteration. */
static inline unsigned rules__n_uops(const struct loop_fixture *fx, unsigned iteration, unsigned insn)
{
    unsigned n = 0;
    for (const struct uop_record *r; (r = rules__find(fx, iteration, insn, n)) != NULL;)
        n++;
    return n;
}

static inline unsigned rules__slots(const struct loop_fixture *fx, unsigned iteration, unsigned insn)
{
    unsigned slots = 0;
    const struct uop_record *r;
    for (unsigned k = 0; (r = rules__find(fx, iteration, insn, k)) != NULL; k++)
        slots += r->fused_head;
    return slots;
}

/* Which part of the front end delivers an instruction of the block in steady state. */
static inline unsigned rules__source(enum rules_core core, const char *code, uint64_t align, unsigned insn)
{
    rules__run_at(&rules_fixture[core], code, align);
    return rules__uop(&rules_fixture[core], 9, insn, 0)->from;
}

/* Instructions delivered, predecoded (what = 0, 1) in a cycle, or fused-domain uops issued in it (2). */
static inline unsigned rules__in_cycle(const struct loop_fixture *fx, int what, int64_t cycle)
{
    unsigned n = 0;
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < fx->n_uops; i++) {
        const struct uop_record *r = &fx->uop[i];
        int64_t at = what == 0 ? r->delivered : what == 1 ? r->predecoded : r->issued;
        if (at != cycle || (what == 2 ? !r->fused_head : r->fetched == last))
            continue;
        last = r->fetched;
        n++;
    }
    return n;
}

#define RULES_MAIN(tests) cmocka_run_group_tests(tests, rules__open, rules__close)

#endif
