/* SPDX-License-Identifier: Apache-2.0 */
/* The measured part of a window against a model that follows every single uop; and blending of accounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fathom/account.h"
#include "fathom/core.h"

enum { WIDTH = 4, ROB = 60, SITES = 50, REPORTS = 4000 };

static const struct core CORE = {.issue_width = WIDTH, .retire_width = 4, .mem_queue_entries = 32};

/* A made-up pipeline: uops in order, each with its site and when it was issued. */
struct model {
    uint64_t seed;
    struct {
        uint32_t site;
        bool inside, ms, pair;
    } rob[ROB];
    unsigned n;
    uint64_t seen, skip, count, begin; /* instructions; `begin` of the measured part */
    bool measuring, over;
    uint64_t cycles, instructions, issued, retired, ms, squashed[FLUSH_KINDS]; /* inside */
    uint64_t retired_at[SITES], insns_at[SITES];
};

static unsigned draw(struct model *m, unsigned below)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(m->seed >> 33) % below;
}

static void model__squash(struct model *m, struct cycle_report *r, unsigned n, bool clear)
{
    if (n)
        r->flush_kind = (uint8_t)((clear ? FLUSH_MEMORY_ORDERING : FLUSH_CONDITIONAL) + draw(m, 3));
    if (n && STALL_IS_RECOVERY(r->stall))
        r->stall = clear ? STALL_RECOVERY_CLEAR : STALL_RECOVERY_MISPREDICT;
    for (unsigned k = 0; k < n; k++)
        m->squashed[r->flush_kind] += m->rob[--m->n].inside;
    r->squashed = (uint16_t)n;
    r->clears = clear;
    r->mispredict_site = draw(m, SITES);
}

static void model__issue(struct model *m, struct cycle_report *r, unsigned n)
{
    for (; n && m->n < ROB; n--, r->issued++) {
        unsigned kind = draw(m, 8);
        m->rob[m->n].site = draw(m, SITES);
        m->rob[m->n].ms = kind == 0;
        m->rob[m->n].pair = kind == 1;
        m->rob[m->n++].inside = m->measuring;
        m->issued += m->measuring;
    }
}

static void model__retire(struct model *m, struct cycle_report *r, unsigned n)
{
    for (n = n < m->n ? n : m->n; r->retired < n; r->retired++) {
        uint32_t site = m->rob[r->retired].site;
        r->retired_site[r->retired] = site;
        r->retired_ms = (uint8_t)(r->retired_ms | m->rob[r->retired].ms << r->retired);
        r->retired_pair = (uint8_t)(r->retired_pair | m->rob[r->retired].pair << r->retired);
        if (m->rob[r->retired].inside) {
            m->retired++;
            m->ms += m->rob[r->retired].ms;
            m->retired_at[site]++;
        }
        if (m->measuring)
            m->insns_at[site] += 1U + m->rob[r->retired].pair;
        r->retired_insns = (uint8_t)(r->retired_insns + 1 + m->rob[r->retired].pair);
    }
    memmove(m->rob, m->rob + r->retired, (m->n - r->retired) * sizeof m->rob[0]);
    m->n -= r->retired;
    r->retired_uops = r->retired;
    r->retired_high = (uint8_t)((1U << r->retired) - 1);
}

static void model__cycle(struct model *m, struct cycle_report *r, bool drain)
{
    unsigned what = draw(m, 20);

    *r = (struct cycle_report){.cycles = 1, .stall = (uint8_t)(STALL_FE_MITE + draw(m, 3))};
    r->stall_site = r->wait_site = draw(m, SITES);
    r->mispredict_site = REPORT_NO_SITE;
    if (draw(m, 6) == 0) {
        bool clear = draw(m, 2);
        r->stall = clear ? STALL_RECOVERY_CLEAR : STALL_RECOVERY_MISPREDICT;
        r->flush_kind = (uint8_t)((clear ? FLUSH_MEMORY_ORDERING : FLUSH_CONDITIONAL) + draw(m, 3));
    }
    if (what == 0 && !drain) {
        r->cycles = 1 + draw(m, 30);
    } else {
        if (what == 1)
            model__squash(m, r, draw(m, m->n + 1), false);
        if (!drain)
            model__issue(m, r, draw(m, WIDTH + 1));
        model__retire(m, r, draw(m, 4));
        if (what == 2)
            model__squash(m, r, m->n, true);
    }
    if (r->issued == WIDTH)
        r->stall = STALL_NONE;
    if (r->stall == STALL_NONE && !r->squashed)
        r->flush_kind = FLUSH_NONE;
    if (m->measuring) {
        m->cycles += r->cycles;
        m->instructions += r->retired_insns;
    }
    m->seen += r->retired_insns;
    if (!m->measuring && !m->over && m->seen >= m->skip) {
        m->measuring = true;
        m->begin = m->seen;
    } else if (m->measuring && m->seen >= m->begin + m->count) {
        m->measuring = false;
        m->over = true;
    }
}

static void model__begin(struct model *m, uint64_t seed, uint64_t skip, uint64_t count)
{
    *m = (struct model){.seed = seed, .skip = skip, .count = count, .measuring = skip == 0};
}

static uint64_t class_slots(const struct tip *tip, unsigned class)
{
    uint64_t sum = tip->slots_unplaced[class];

    for (size_t s = 0; s < tip->n_sites; s++)
        sum += tip->site[s].slots[class];
    return sum;
}

/* The sums that hold for any set of accounts. */
static void check_sums(const struct account_set *set)
{
    uint64_t tip = set->tip.cycles_tip_unplaced, slots = 0, stack = 0, ms = 0;

    truth__check(&set->truth);
    for (size_t s = 0; s < set->tip.n_sites; s++) {
        const struct site_slots *special = &set->tip.special[s];
        tip += set->tip.site[s].cycles_tip;
        ms += special->ms;
        assert_true(special->ms + special->pairs <= set->tip.site[s].slots[PLACE_RETIRING]);
    }
    assert_int_equal(ms, set->truth.retired_ms);
    for (unsigned c = 0; c < PLACE_SLOTS; c++)
        slots += class_slots(&set->tip, c);
    for (unsigned w = 0; w < WAIT_COUNT; w++)
        stack += set->stack.cycles[w];
    assert_int_equal(tip, set->truth.cycles * TIP_UNIT);
    assert_int_equal(slots, set->truth.slots);
    assert_int_equal(class_slots(&set->tip, PLACE_RETIRING), set->truth.retired);
    assert_int_equal(stack, set->truth.cycles);
    for (unsigned e = 0; e < PMU_EVENTS; e++) {
        uint64_t cycles = 0;
        for (unsigned bin = 0; bin < PMU_HISTOGRAM; bin++)
            cycles += set->pmu.cycles_with[e][bin];
        assert_int_equal(cycles, set->truth.cycles);
    }
}

static void check_window(const struct model *m, const struct gate *gate, const struct account_set *set)
{
    uint64_t squashed = 0;

    assert_true(m->over && gate__is_measured(gate));
    gate__check(gate);
    check_sums(set);
    assert_int_equal(gate->cycles, m->cycles);
    assert_int_equal(gate->instructions, m->instructions);
    assert_in_range(gate->instructions, m->count, m->count + 5);
    assert_int_equal(set->truth.cycles, m->cycles);
    assert_int_equal(set->truth.retired, m->retired);
    assert_int_equal(set->truth.retired_ms, m->ms);
    for (unsigned k = 0; k < FLUSH_KINDS; k++) {
        assert_int_equal(set->truth.squashed[k], m->squashed[k]);
        squashed += m->squashed[k];
    }
    assert_int_equal(m->issued, m->retired + squashed);
    assert_int_equal(set->pmu.sum[PMU_INSTRUCTIONS], m->instructions);
    assert_int_equal(set->pmu.sum[PMU_SLOTS_ISSUED], m->issued);
    for (unsigned s = 0; s < set->tip.n_sites; s++) {
        assert_int_equal(set->tip.site[s].slots[PLACE_RETIRING], m->retired_at[s]);
        assert_int_equal(set->tip.site[s].insns, m->insns_at[s]);
    }
}

/* Runs a model through the gate in batches of odd sizes and drains it. */
static void run_window(struct model *m, struct gate *gate)
{
    struct cycle_report r[REPORTS];
    unsigned n = 0;

    while (n < REPORTS / 2 && !m->over)
        model__cycle(m, &r[n++], false);
    for (unsigned more = draw(m, 20); more; more--)
        model__cycle(m, &r[n++], false);
    while (m->n)
        model__cycle(m, &r[n++], true);
    for (unsigned i = 0; i < n;) {
        unsigned some = 1 + draw(m, 9);
        some = some < n - i ? some : n - i;
        gate->listener.consume(&gate->listener, r + i, some);
        i += some;
    }
}

static void test_every_uop_has_one_owner(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct account_set set;
        struct gate gate;
        struct model m;

        account_set__init(&set, &CORE);
        gate__init(&gate);
        model__begin(&m, seed, seed % 4 * 50, 1 + seed % 7 * 40);
        gate__open(&gate, &set, m.skip, m.count);
        run_window(&m, &gate);
        check_window(&m, &gate, &set);
        account_set__free(&set);
    }
}

static void test_windows_add_up(void **state)
{
    struct account_set set;
    struct gate gate;
    struct model m;
    uint64_t cycles = 0, retired = 0;

    (void)state;
    account_set__init(&set, &CORE);
    gate__init(&gate);
    for (unsigned seed = 1; seed <= 50; seed++) {
        model__begin(&m, seed, 100, 100);
        gate__open(&gate, &set, 100, 100);
        run_window(&m, &gate);
        cycles += m.cycles;
        retired += m.retired;
        check_sums(&set);
    }
    assert_int_equal(set.truth.cycles, cycles);
    assert_int_equal(set.truth.retired, retired);
    account_set__free(&set);
}

static void near(uint64_t figure, double wanted, double off)
{
    if ((double)figure < wanted - off || (double)figure > wanted + off)
        fail_msg("%llu instead of about %.3f", (unsigned long long)figure, wanted);
}

/* Parts with awkward scales: the whole's sums are exact, each figure is the scaled sum but for rounding. */
static void test_blend(void **state)
{
    struct account_set part[3], whole;
    const double scale[3] = {1, 3.14159, 97.531};
    double cycles = 0, insns = 0;
    struct gate gate;
    struct model m;

    (void)state;
    account_set__init(&whole, &CORE);
    assert_true(pmu__prepare(&whole.pmu, "SlotsIssued:c1:e1"));
    gate__init(&gate);
    for (unsigned k = 0; k < 3; k++) {
        account_set__init(&part[k], &CORE);
        assert_true(pmu__prepare_like(&part[k].pmu, &whole.pmu));
        for (unsigned seed = 1; seed <= 10; seed++) {
            model__begin(&m, 100 * k + seed, 50 * k, 200);
            gate__open(&gate, &part[k], m.skip, m.count);
            run_window(&m, &gate);
            cycles += scale[k] * (double)m.cycles;
            insns += scale[k] * (double)m.instructions;
        }
    }
    account_set__blend(&whole, part, scale, 3, (uint64_t)(cycles + 0.5), (uint64_t)(insns + 0.5));
    double edges = 0;
    for (unsigned k = 0; k < 3; k++) {
        assert_true(part[k].pmu.edge[0].count > 0);
        edges += scale[k] * (double)part[k].pmu.edge[0].count;
    }
    near(whole.pmu.edge[0].count, edges, 1);
    check_sums(&whole);
    assert_int_equal(whole.truth.cycles, (uint64_t)(cycles + 0.5));
    assert_int_equal(whole.pmu.sum[PMU_INSTRUCTIONS], (uint64_t)(insns + 0.5));
    for (unsigned s = 0; s < STALL_COUNT; s++) {
        double wanted = 0;
        for (unsigned k = 0; k < 3; k++)
            wanted += scale[k] * (double)part[k].truth.empty[s];
        near(whole.truth.empty[s], wanted, 4);
    }
    for (unsigned site = 0; site < SITES; site++) {
        double slots = 0, tip = 0, at = 0;
        for (unsigned k = 0; k < 3; k++) {
            slots += scale[k] * (double)part[k].tip.site[site].slots[PLACE_RETIRING];
            tip += scale[k] * (double)part[k].tip.site[site].cycles_tip;
            at += scale[k] * (double)part[k].tip.site[site].insns;
        }
        near(whole.tip.site[site].slots[PLACE_RETIRING], slots, 2);
        near(whole.tip.site[site].cycles_tip, tip, 2 + TIP_UNIT);
        near(whole.tip.site[site].insns, at, 2);
    }
    for (unsigned k = 0; k < 3; k++)
        account_set__free(&part[k]);
    account_set__free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_uop_has_one_owner),
        cmocka_unit_test(test_windows_add_up),
        cmocka_unit_test(test_blend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
