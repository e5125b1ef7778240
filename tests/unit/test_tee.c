/* SPDX-License-Identifier: Apache-2.0 */
/* Every reader of a tee sees what a single reader of the source would have seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fathom/status.h"
#include "fathom/tee.h"

enum { N_INSNS = 64 };

/* Made-up execution: groups of 1 to 40 steps, new code now and then, some of it over old code. */
struct fake {
    struct source source; /* first member */
    uint64_t n_steps, limit;
    int answer; /* at the end: 0 or -1 */
    uint32_t random;
    struct insn insn[N_INSNS];
};

static uint32_t draw(struct fake *f, uint32_t below)
{
    f->random = f->random * 1664525u + 1013904223u;
    return (f->random >> 8) % below;
}

static void append(struct fake *f, struct step_buffer *buf)
{
    struct step *s = &buf->step[buf->end % STEP_RING];
    uint32_t n_sites = code__count(f->source.code);
    struct site *site = n_sites ? code__site(f->source.code, draw(f, n_sites)) : NULL;

    if (!site || draw(f, 20) == 0)
        site = code__intern(f->source.code, 16 * draw(f, 500), &f->insn[draw(f, N_INSNS)]);
    *s = (struct step){.site = site,
                       .next_addr = f->n_steps + 1,
                       .flags = (uint8_t)draw(f, 4),
                       .n_access = (uint8_t)draw(f, 4),
                       .first_access = buf->access_end};
    for (unsigned k = 0; k < s->n_access; k++)
        buf->access[buf->access_end++ % ACCESS_RING] =
            (struct access){.addr = f->n_steps * 8 + k, .size_bytes = 8, .known = 1};
    buf->end++;
    f->n_steps++;
}

static int fake__fill(struct source *source, struct step_buffer *buf, unsigned want)
{
    struct fake *f = (struct fake *)source;
    unsigned n = 0;

    while (n < want && f->n_steps < f->limit)
        for (unsigned group = 1 + draw(f, 40); group-- && f->n_steps < f->limit; n++)
            append(f, buf);
    return n ? (int)n : f->answer;
}

static struct fake *fake__new(uint64_t limit, int answer)
{
    struct fake *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->source = (struct source){.fill = fake__fill, .code = code__new()};
    f->limit = limit;
    f->answer = answer;
    f->random = 1;
    for (unsigned i = 0; i < N_INSNS; i++)
        f->insn[i].len = (uint8_t)(1 + i % 15);
    return f;
}

static void fake__free(struct fake *f)
{
    code__free(f->source.code);
    free(f);
}

/* A reader that takes one fill after the other, and a checksum of all it sees. */
struct taker {
    struct source *source;
    struct step_buffer *buf;
    uint64_t sum, n_steps;
    int last;
};

static struct taker taker__new(struct source *source)
{
    struct taker t = {.source = source, .buf = calloc(1, sizeof *t.buf), .last = 1};

    assert_non_null(t.buf);
    return t;
}

static void mix(struct taker *t, uint64_t value)
{
    t->sum = (t->sum ^ value) * 0x9e3779b97f4a7c15u;
    t->sum ^= t->sum >> 29;
}

static void take(struct taker *t)
{
    struct step_buffer *buf = t->buf;

    t->last = t->source->fill(t->source, buf, 1);
    mix(t, (uint64_t)t->last);
    if (t->last > 0)
        mix(t, code__count(t->source->code));
    for (; buf->begin < buf->end; buf->begin++, t->n_steps++) {
        const struct step *s = &buf->step[buf->begin % STEP_RING];
        assert_ptr_equal(s->site, code__site(t->source->code, s->site->id));
        mix(t, s->site->id);
        mix(t, s->site->addr);
        mix(t, s->site->insn->len);
        mix(t, s->next_addr ^ (uint64_t)s->flags << 60);
        for (unsigned k = 0; k < s->n_access; k++)
            mix(t, buf->access[(s->first_access + k) % ACCESS_RING].addr);
    }
}

static struct taker take_all(struct source *source)
{
    struct taker t = taker__new(source);

    while (t.last > 0)
        take(&t);
    free(t.buf);
    return t;
}

enum { STEPS = 200000, READERS = 3 };

static void check_readers(int answer, const unsigned *pace)
{
    struct fake *alone = fake__new(STEPS, answer), *f = fake__new(STEPS, answer);
    struct taker reference = take_all(&alone->source), taker[READERS];
    struct tee *tee = tee__new(&f->source, READERS, NULL);
    unsigned n_running = READERS;

    assert_non_null(tee);
    for (unsigned k = 0; k < READERS; k++)
        taker[k] = taker__new(tee__source(tee, k));
    while (n_running) {
        n_running = 0;
        for (unsigned k = 0; k < READERS; k++) {
            for (unsigned i = 0; i < pace[k] && taker[k].last > 0; i++)
                take(&taker[k]);
            n_running += taker[k].last > 0;
            assert_int_equal(tee__taken(tee, k), taker[k].n_steps);
            assert_int_equal(tee__ended(tee, k), taker[k].last <= 0);
        }
    }
    for (unsigned k = 0; k < READERS; k++) {
        assert_int_equal(taker[k].last, answer);
        assert_int_equal(taker[k].n_steps, STEPS);
        assert_true(taker[k].sum == reference.sum);
        free(taker[k].buf);
    }
    assert_false(tee__out_of_memory(tee));
    tee__free(tee);
    fake__free(f);
    fake__free(alone);
}

static void test_same_as_alone(void **state)
{
    (void)state;
    check_readers(0, (const unsigned[]){1, 1, 1});
}

static void test_uneven(void **state)
{
    (void)state;
    check_readers(0, (const unsigned[]){1, 1000, 7});
    check_readers(0, (const unsigned[]){100000, 1, 3});
}

static void test_failure_reaches_all(void **state)
{
    (void)state;
    check_readers(-1, (const unsigned[]){5, 1, 50});
}

/* In step, the log holds two chunks at most, however long the execution. */
static void test_memory_is_bounded(void **state)
{
    struct fake *f = fake__new(1000000, 0);
    struct tee *tee = tee__new(&f->source, 2, NULL);
    struct taker a = taker__new(tee__source(tee, 0)), b = taker__new(tee__source(tee, 1));

    (void)state;
    while (a.last > 0 || b.last > 0) {
        struct taker *t = b.last > 0 && (a.last <= 0 || a.n_steps > b.n_steps) ? &b : &a;
        take(t);
        assert_true(tee__held(tee) < 20000);
    }
    free(a.buf);
    free(b.buf);
    tee__free(tee);
    fake__free(f);
}

/* Nothing is kept for a reader that has left, even if it never read. */
static void test_leave(void **state)
{
    struct fake *f = fake__new(500000, 0);
    struct tee *tee = tee__new(&f->source, 3, NULL);
    struct taker a = taker__new(tee__source(tee, 0)), b = taker__new(tee__source(tee, 1));

    (void)state;
    tee__leave(tee, 2);
    take(&b);
    for (int i = 0; i < 5000; i++)
        take(&a);
    assert_true(tee__held(tee) > 50000); /* b is still there */
    tee__leave(tee, 1);
    assert_true(tee__held(tee) < 20000);
    while (a.last > 0) {
        take(&a);
        assert_true(tee__held(tee) < 20000);
    }
    assert_int_equal(a.n_steps, 500000);
    free(a.buf);
    free(b.buf);
    tee__free(tee);
    fake__free(f);
}

/* A pipeline keeps steps it may need again: the rings are never overrun, nothing is lost. */
static void test_small_room(void **state)
{
    struct fake *f = fake__new(100000, 0);
    struct tee *tee = tee__new(&f->source, 1, NULL);
    struct source *source = tee__source(tee, 0);
    struct step_buffer *buf = calloc(1, sizeof *buf);
    uint64_t next = 1;

    (void)state;
    assert_non_null(buf);
    for (;;) {
        if (buf->end - buf->begin > STEP_RING - 3)
            for (int i = 0; i < 5; i++, buf->begin++)
                assert_true(buf->step[buf->begin % STEP_RING].next_addr == next++);
        if (source->fill(source, buf, 1) <= 0)
            break;
        assert_true(buf->end - buf->begin <= STEP_RING);
    }
    for (; buf->begin < buf->end; buf->begin++)
        assert_true(buf->step[buf->begin % STEP_RING].next_addr == next++);
    assert_int_equal(next, 100001);
    free(buf);
    tee__free(tee);
    fake__free(f);
}

static struct insn other[N_INSNS];

static struct insn *translate(void *arg, const struct insn *insn)
{
    const struct fake *f = arg;

    return &other[insn - f->insn];
}

static void test_translate(void **state)
{
    struct fake *f = fake__new(5000, 0);
    struct tee *tee = tee__new(&f->source, 2, NULL);
    struct source *plain = tee__source(tee, 0), *translated = tee__source(tee, 1);

    (void)state;
    tee__set_translate(tee, 1, translate, f);
    take_all(plain);
    for (unsigned i = 0; i < N_INSNS; i++)
        other[i].len = 3;
    take_all(translated);
    assert_int_equal(code__count(plain->code), code__count(translated->code));
    assert_true(code__count(plain->code) > 100);
    for (uint32_t id = 0; id < code__count(plain->code); id++) {
        const struct site *a = code__site(plain->code, id), *b = code__site(translated->code, id);
        assert_true(a->addr == b->addr);
        assert_ptr_equal(b->insn, &other[a->insn - f->insn]);
    }
    tee__free(tee);
    fake__free(f);
}

static struct insn *no_memory(void *arg, const struct insn *insn)
{
    (void)insn;
    return --*(int *)arg < 0 ? NULL : &other[0];
}

static void test_translation_fails(void **state)
{
    struct fake *f = fake__new(5000, 0);
    struct tee *tee = tee__new(&f->source, 1, NULL);
    struct taker t = taker__new(tee__source(tee, 0));
    int budget = 1;

    (void)state;
    tee__set_translate(tee, 0, no_memory, &budget);
    while (t.last > 0)
        take(&t);
    assert_int_equal(t.last, -1);
    assert_true(tee__out_of_memory(tee));
    free(t.buf);
    tee__free(tee);
    fake__free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_alone),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_failure_reaches_all),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_small_room),
        cmocka_unit_test(test_translate),
        cmocka_unit_test(test_translation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
