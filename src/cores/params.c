/* SPDX-License-Identifier: Apache-2.0 */
#include "cores/params.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fathom/status.h"

#define MEMBER(m) .offset = offsetof(struct core, m), .size_bytes = sizeof(((struct core *)0)->m)
#define TEXT(k, m, r)                                                                                        \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_TEXT, .unit = "", .rule = r                                       \
    }
#define COUNT(k, m, u, lo, hi, r)                                                                            \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_COUNT, .unit = u, .min = lo, .max = hi, .rule = r                 \
    }
#define BYTES(k, m, lo, hi, r)                                                                               \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_BYTES, .unit = "B", .min = lo, .max = hi, .rule = r               \
    }
#define DOUBLE(k, m, u, lo, hi, r)                                                                           \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_DOUBLE, .unit = u, .min = lo, .max = hi, .rule = r                \
    }
#define BOOL(k, m, r)                                                                                        \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_BOOL, .unit = "", .max = 1, .rule = r                             \
    }
#define UNROLL(k, m, r)                                                                                      \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_UNROLL, .unit = "", .min = 1, .max = 16, .rule = r                \
    }
#define REPLACEMENT(k, m, r)                                                                                 \
    {                                                                                                        \
        .key = k, MEMBER(m), .type = PARAM_REPLACEMENT, .unit = "", .rule = r                                \
    }
#define CACHE(k, m)                                                                                          \
    BYTES(k "_size", m.size_bytes, 1024, 1 << 30, "12.1"), COUNT(k "_ways", m.ways, "ways", 1, 64, "12.1"),  \
        COUNT(k "_lat_cyc", m.lat_cyc, "cyc", 1, 1000, "12.1"),                                              \
        REPLACEMENT(k "_replacement", m.replacement, "ME-2")
#define TLB(k, m)                                                                                            \
    COUNT(k "_entries", m.entries, "entries", 1, 65536, "12.3"),                                             \
        COUNT(k "_ways", m.ways, "ways", 1, 64, "12.3")

/* clang-format off */
static const struct param table[] = {
    TEXT("name", name, "name for --core"),
    TEXT("title", title, "name for readers"),
    TEXT("insn_table", insn_table, "file in data/insns"),
    TEXT("guest_cpu", guest_cpu, "qemu -cpu argument"),

    COUNT("predecode_width", predecode_width, "insns", 1, 16, "FE-6"),
    COUNT("predecode_delay_cyc", predecode_delay_cyc, "cyc", 0, 64, "FE-12"),
    COUNT("lcp_stall_cyc", lcp_stall_cyc, "cyc", 0, 64, "FE-13"),
    COUNT("iq_entries", iq_entries, "insns", 2, 64, "FE-7"),
    COUNT("decoders", decoders, "decoders", 1, 8, "DE-1"),
    COUNT("dsb_width", dsb_width, "uops", 2, 16, "DSB-10"),
    COUNT("dsb_sets", dsb_sets, "sets", 1, 4096, "DSB-16"),
    COUNT("dsb_ways", dsb_ways, "ways", 1, 64, "DSB-16"),
    COUNT("dsb_line_uops", dsb_line_uops, "uops", 1, 16, "DSB-1"),
    COUNT("dsb_lines_per_window", dsb_lines_per_window, "lines", 1, 16, "DSB-1"),
    BOOL("dsb_both_halves", dsb_both_halves, "DSB-8"),
    BOOL("jcc_erratum", jcc_erratum, "FE-17"),
    COUNT("ms_width", ms_width, "uops", 1, 16, "MS-1"),
    COUNT("ms_stall_dsb_cyc", ms_stall_dsb_cyc, "cyc", 0, 64, "MS-2"),
    COUNT("ms_stall_mite_cyc", ms_stall_mite_cyc, "cyc", 0, 64, "MS-2"),
    BOOL("lsd", lsd, "LSD-1"),
    UNROLL("lsd_unroll", lsd_unroll, "LSD-4"),
    COUNT("lsd_detect_iterations", lsd_detect_iterations, "iterations", 1, 100000, "LSD-7"),
    COUNT("idq_entries", idq_entries, "uops", 8, 240, "0.3"),
    BOOL("fuse_on_last_decoder", fuse_on_last_decoder, "DE-8"),
    BOOL("pop5c_ends_group", pop5c_ends_group, "DE-6"),

    COUNT("issue_width", issue_width, "uops", 2, 8, "0.3"),
    COUNT("retire_width", retire_width, "uops", 1, 8, "RT-2"),
    COUNT("rob_entries", rob_entries, "uops", 16, 512, "RT-1"),
    COUNT("rs_entries", rs_entries, "uops", 16, 512, "EX-1"),
    COUNT("load_buffer", load_buffer, "entries", 4, 512, "RT-5"),
    COUNT("store_buffer", store_buffer, "entries", 4, 512, "RT-5"),
    COUNT("load_matrix", load_matrix, "entries", 1, 512, "UFS-RT-4"),
    COUNT("prf_int", prf_int, "registers", 64, 8192, "RT-7"),
    COUNT("prf_vec", prf_vec, "registers", 64, 8192, "RT-7"),
    COUNT("elim_slots_gpr", elim_slots_gpr, "slots", 0, 8, "RN-9"),
    COUNT("elim_slots_vec", elim_slots_vec, "slots", 0, 8, "RN-9"),
    COUNT("elim_history", elim_history, "cyc", 1, 8, "RN-11"),
    BOOL("elim_gpr_all_aliases", elim_gpr_all_aliases, "RN-10"),
    BOOL("elim_movzx_high_encoding", elim_movzx_high_encoding, "RN-8"),

    COUNT("ports", ports, "ports", 6, 16, "0.4"),
    COUNT("issue_to_dispatch_cyc", issue_to_dispatch_cyc, "cyc", 1, 32, "EX-3"),
    COUNT("load_latency_cyc", load_latency_cyc, "cyc", 1, 1000, "EX-8"),
    BOOL("fast_pointer_chasing", fast_pointer_chasing, "EX-9"),
    BOOL("slow_256bit_memory", slow_256bit_memory, "EX-17"),
    BOOL("bank_conflicts", bank_conflicts, "EX-11"),
    COUNT("split_load_cyc", split_load_cyc, "cyc", 0, 1000, "EX-12"),
    COUNT("split_page_cyc", split_page_cyc, "cyc", 0, 1000, "EX-12"),
    COUNT("store_forward_cyc", store_forward_cyc, "cyc", 0, 100, "EX-13"),
    COUNT("store_forward_blocked_cyc", store_forward_blocked_cyc, "cyc", 0, 1000, "EX-22"),
    COUNT("alias_4k_cyc", alias_4k_cyc, "cyc", 0, 1000, "EX-23"),

    COUNT("resteer_cyc", resteer_cyc, "cyc", 0, 100, "BP-6"),
    COUNT("recovery_cyc", recovery_cyc, "cyc", 0, 100, "BP-4"),
    COUNT("machine_clear_cyc", machine_clear_cyc, "cyc", 0, 1000, "BP-7"),
    COUNT("smc_clear_cyc", smc_clear_cyc, "cyc", 0, 1000, "ME-15"),
    COUNT("baclear_cyc", baclear_cyc, "cyc", 0, 100, "BP-5"),
    COUNT("btb_entries", btb_entries, "entries", 1, 1 << 20, "11.2"),
    COUNT("btb_ways", btb_ways, "ways", 1, 64, "11.2"),
    COUNT("btb_fast_entries", btb_fast_entries, "entries", 1, 65536, "FE-20"),
    COUNT("rsb_entries", rsb_entries, "entries", 1, 64, "BP-8"),
    BOOL("rsb_underflow_indirect", rsb_underflow_indirect, "BP-8"),
    COUNT("bimodal_log2", bimodal_log2, "log2", 4, 24, "BP-9"),
    COUNT("tage_tables", tage_tables, "tables", 1, 16, "BP-9"),
    COUNT("tage_log2", tage_log2, "log2", 4, 20, "BP-9"),
    COUNT("tage_history_min", tage_history_min, "branches", 1, 640, "BP-9"),
    COUNT("tage_history_max", tage_history_max, "branches", 1, 640, "BP-9"),
    COUNT("loop_predictor_entries", loop_predictor_entries, "entries", 0, 4096, "BP-9"),
    COUNT("ittage_tables", ittage_tables, "tables", 1, 8, "BP-9"),
    COUNT("ittage_log2", ittage_log2, "log2", 4, 20, "BP-9"),
    COUNT("ittage_history_max", ittage_history_max, "branches", 4, 640, "BP-9"),
    BOOL("wrong_path", wrong_path, "WP-6"),

    DOUBLE("freq_ghz", freq_ghz, "GHz", 0.1, 10, "12.1"),
    CACHE("l1i", l1i),
    CACHE("l1d", l1d),
    CACHE("l2", l2),
    CACHE("l3", l3),
    BOOL("l3_inclusive", l3_inclusive, "ME-2"),
    DOUBLE("dram_lat_ns", dram_lat_ns, "ns", 1, 10000, "12.1"),
    DOUBLE("dram_bandwidth_gbs", dram_bandwidth_gbs, "GB/s", 0.1, 10000, "ME-3"),
    COUNT("l2_l1_bytes_cyc", l2_l1_bytes_cyc, "B/cyc", 1, 64, "ME-3"),
    COUNT("l3_l2_bytes_cyc", l3_l2_bytes_cyc, "B/cyc", 1, 64, "ME-3"),
    COUNT("lfb_entries", lfb_entries, "entries", 1, 64, "ME-4"),
    COUNT("sq_entries", sq_entries, "entries", 1, 64, "ME-5"),
    COUNT("mem_bandwidth_requests", mem_bandwidth_requests, "entries", 1, 64, "ME-6"),
    COUNT("mem_queue_entries", mem_queue_entries, "entries", 1, 64, "ME-6"),
    TLB("itlb", itlb),
    TLB("dtlb", dtlb),
    TLB("stlb", stlb),
    COUNT("stlb_hit_cyc", stlb_hit_cyc, "cyc", 0, 1000, "12.3"),
    COUNT("page_walkers", page_walkers, "walkers", 1, 16, "12.3"),
    BOOL("prefetch_l1_next", prefetch_l1_next, "ME-8"),
    BOOL("prefetch_l1_ip", prefetch_l1_ip, "ME-8"),
    BOOL("prefetch_l2_adjacent", prefetch_l2_adjacent, "ME-9"),
    BOOL("prefetch_l2_streamer", prefetch_l2_streamer, "ME-9"),
    BOOL("prefetch_next_page", prefetch_next_page, "ME-8"),
};

/* The first key of each part of a printed description. */
static const struct { const char *key, *title; } sections[] = {
    {"name", "identity"},
    {"predecode_width", "front end"},
    {"issue_width", "rename and retirement"},
    {"ports", "scheduler and execution"},
    {"resteer_cyc", "branches"},
    {"freq_ghz", "memory"},
};
/* clang-format on */

enum { N_PARAMS = sizeof(table) / sizeof(table[0]) };

const struct param *params__table(size_t *n)
{
    *n = N_PARAMS;
    return table;
}

const char *params__section(const struct param *param)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (strcmp(sections[i].key, param->key) == 0)
            return sections[i].title;
    return NULL;
}

/* Last words of keys that say only what is counted or in which unit. */
static const char *const droppable[] = {"_entries", "_cyc", "_ns", "_ghz", "_gbs"};

/* Length of a key without its droppable last word. */
static size_t short_length(const char *key)
{
    for (size_t i = 0; i < sizeof(droppable) / sizeof(droppable[0]); i++)
        if (text__ends_with(key, droppable[i]))
            return strlen(key) - strlen(droppable[i]);
    return strlen(key);
}

static bool is_called(const struct param *param, const char *key)
{
    size_t n = strlen(key);

    return strcmp(param->key, key) == 0 ||
           (n == short_length(param->key) && strncmp(param->key, key, n) == 0);
}

const struct param *params__find(const char *key)
{
    for (size_t i = 0; i < N_PARAMS; i++)
        if (is_called(&table[i], key))
            return &table[i];
    return NULL;
}

const char *params__suggest(const char *key)
{
    const char *best = NULL;
    unsigned distance = 4;

    for (size_t i = 0; i < N_PARAMS; i++) {
        char brief[64];
        unsigned d, whole = text__distance(key, table[i].key, distance);

        snprintf(brief, sizeof(brief), "%.*s", (int)short_length(table[i].key), table[i].key);
        d = text__distance(key, brief, distance);
        d = whole < d ? whole : d;
        if (d < distance) {
            distance = d;
            best = table[i].key;
        }
    }
    return best;
}

static int set_text(char *dst, const struct param *param, const char *text, const char *place,
                    struct status *st)
{
    size_t n = strlen(text);
    bool plain = n > 0 && n < param->size_bytes;

    for (const char *p = text; *p && plain; p++)
        plain = isprint((unsigned char)*p) && *p != '#';
    if (!plain)
        return status__fail(st, "%s: %s takes 1 to %u printable characters without '#'", place, param->key,
                            param->size_bytes - 1u);
    /* Equal descriptions are equal bytes. */
    memset(dst, 0, param->size_bytes);
    memcpy(dst, text, n);
    return 0;
}

/* Multiples of a unit; NULL-terminated. */
static const struct scale {
    const char *unit, *written;
    double factor;
} scales[] = {
    {"B", "B", 1},         {"B", "KiB", 1024}, {"B", "MiB", 1048576}, {"B", "GiB", 1073741824},
    {"GHz", "MHz", 0.001}, {"ns", "us", 1000}, {NULL, NULL, 0},
};

static int unit_factor(const struct param *param, const char *written, double *factor)
{
    *factor = 1;
    if (!*written || strcmp(written, param->unit) == 0)
        return 0;
    for (const struct scale *s = scales; s->unit; s++)
        if (strcmp(s->unit, param->unit) == 0 && strcmp(s->written, written) == 0) {
            *factor = s->factor;
            return 0;
        }
    return -1;
}

static int set_number(void *dst, const struct param *param, const char *text, const char *place,
                      struct status *st)
{
    const char *unit;
    double value, factor;
    bool is_double = param->type == PARAM_DOUBLE;

    if (!text__to_double(text, &value, &unit))
        return status__fail(st, "%s: %s takes a number, not \"%s\"", place, param->key, text);
    while (isspace((unsigned char)*unit))
        unit++;
    if (unit_factor(param, unit, &factor))
        return status__fail(st, "%s: %s is given in %s, not in \"%s\"", place, param->key,
                            param->type == PARAM_BYTES ? "B, KiB, MiB or GiB" : param->unit, unit);
    value *= factor;
    if (value < param->min || value > param->max)
        return status__fail(st, "%s: %s = %s is out of range: %.10g to %.10g %s", place, param->key, text,
                            param->min, param->max, param->unit);
    if (!is_double && value != (double)(uint32_t)value)
        return status__fail(st, "%s: %s takes a whole number, not \"%s\"", place, param->key, text);
    if (is_double)
        *(double *)dst = value;
    else
        *(uint32_t *)dst = (uint32_t)value;
    return 0;
}

static int set_bool(bool *dst, const struct param *param, const char *text, const char *place,
                    struct status *st)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(text, words[i]) == 0) {
            *dst = i & 1;
            return 0;
        }
    return status__fail(st, "%s: %s takes yes or no, not \"%s\"", place, param->key, text);
}

static const char *const replacements[] = {
    [REPLACEMENT_PLRU] = "plru", [REPLACEMENT_QLRU] = "qlru", [REPLACEMENT_LRU] = "lru"};

static int set_replacement(uint32_t *dst, const struct param *param, const char *text, const char *place,
                           struct status *st)
{
    for (uint32_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++)
        if (strcmp(text, replacements[i]) == 0) {
            *dst = i;
            return 0;
        }
    return status__fail(st, "%s: %s takes plru, qlru or lru, not \"%s\"", place, param->key, text);
}

/* "1-4:8 5:6": bodies of 1 to 4 uops are repeated 8 times, of 5 uops 6 times; the others once. */
static int set_unroll(uint8_t *dst, const struct param *param, const char *text, const char *place,
                      struct status *st)
{
    const char *p = text;

    memset(dst, 1, CORE_LSD_SIZES);
    if (strcmp(text, "none") == 0)
        return 0;
    while (*p) {
        unsigned first, last, factor;
        int n = 0;

        if (sscanf(p, "%4u-%4u:%4u%n", &first, &last, &factor, &n) != 3 || !n) {
            if (sscanf(p, "%4u:%4u%n", &first, &factor, &n) != 2 || !n)
                break;
            last = first;
        }
        if (first < 1 || first > last || last >= CORE_LSD_SIZES || factor < param->min || factor > param->max)
            break;
        memset(dst + first, (int)factor, last - first + 1);
        p += n;
        while (isspace((unsigned char)*p))
            p++;
    }
    if (*p || !*text)
        return status__fail(
            st,
            "%s: %s takes \"none\" or sizes with factors such as \"1-4:8 5:6\" (sizes 1 to %d, "
            "factors 1 to %.0f), not \"%s\"",
            place, param->key, CORE_LSD_SIZES - 1, param->max, text);
    return 0;
}

int params__set(struct core *core, const struct param *param, const char *text, const char *place,
                struct status *st)
{
    void *dst = (char *)core + param->offset;

    switch ((enum param_type)param->type) {
    case PARAM_TEXT:
        return set_text(dst, param, text, place, st);
    case PARAM_BOOL:
        return set_bool(dst, param, text, place, st);
    case PARAM_UNROLL:
        return set_unroll(dst, param, text, place, st);
    case PARAM_REPLACEMENT:
        return set_replacement(dst, param, text, place, st);
    case PARAM_COUNT:
    case PARAM_BYTES:
    case PARAM_DOUBLE:
        break;
    }
    return set_number(dst, param, text, place, st);
}

static void format_bytes(uint32_t bytes, char buf[PARAM_VALUE_MAX])
{
    if (bytes % 1048576 == 0)
        snprintf(buf, PARAM_VALUE_MAX, "%u MiB", bytes / 1048576);
    else if (bytes % 1024 == 0)
        snprintf(buf, PARAM_VALUE_MAX, "%u KiB", bytes / 1024);
    else
        snprintf(buf, PARAM_VALUE_MAX, "%u B", bytes);
}

static void format_unroll(const uint8_t *unroll, char buf[PARAM_VALUE_MAX])
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned first = 1, last; first < CORE_LSD_SIZES && used + 16 < PARAM_VALUE_MAX; first = last + 1) {
        for (last = first; last + 1 < CORE_LSD_SIZES && unroll[last + 1] == unroll[first];)
            last++;
        if (unroll[first] == 1)
            continue;
        used += (size_t)snprintf(buf + used, PARAM_VALUE_MAX - used, "%s%u", used ? " " : "", first);
        if (last > first)
            used += (size_t)snprintf(buf + used, PARAM_VALUE_MAX - used, "-%u", last);
        used += (size_t)snprintf(buf + used, PARAM_VALUE_MAX - used, ":%u", unroll[first]);
    }
    if (!used)
        strcpy(buf, "none");
}

const char *params__format(const struct core *core, const struct param *param, char buf[PARAM_VALUE_MAX])
{
    const void *src = (const char *)core + param->offset;
    const char *space = *param->unit ? " " : "";
    char number[TEXT_DOUBLE_MAX];

    switch ((enum param_type)param->type) {
    case PARAM_TEXT:
        snprintf(buf, PARAM_VALUE_MAX, "%s", (const char *)src);
        break;
    case PARAM_COUNT:
        snprintf(buf, PARAM_VALUE_MAX, "%u%s%s", *(const uint32_t *)src, space, param->unit);
        break;
    case PARAM_BYTES:
        format_bytes(*(const uint32_t *)src, buf);
        break;
    case PARAM_DOUBLE:
        snprintf(buf, PARAM_VALUE_MAX, "%s%s%s", text__from_double(*(const double *)src, number), space,
                 param->unit);
        break;
    case PARAM_BOOL:
        strcpy(buf, *(const bool *)src ? "yes" : "no");
        break;
    case PARAM_UNROLL:
        format_unroll(src, buf);
        break;
    case PARAM_REPLACEMENT:
        strcpy(buf, replacements[*(const uint32_t *)src]);
        break;
    }
    return buf;
}
