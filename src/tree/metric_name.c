/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tree/metrics.h"

/* The spelling of one word of a metric's name: abbreviations, and otherwise a capital. */
static void metric_name__word(char *word, size_t length)
{
    static const char *const fixed[] = {"L1",  "L2",  "L3",  "L4",   "DTLB", "ITLB",   "STLB", "DSB", "MITE",
                                        "LSD", "MS",  "LCP", "FP",   "INT",  "X87",    "SSE",  "AVX", "AMX",
                                        "SQ",  "FB",  "MEM", "DRAM", "HBM",  "PMM",    "NUMA", "TLB", "CISC",
                                        "ALU", "NOP", "IPC", "CPI",  "UPI",  "ICache", "4K",   "L1D", "L1I"};

    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (strlen(fixed[i]) == length && strncasecmp(fixed[i], word, length) == 0) {
            memcpy(word, fixed[i], length);
            return;
        }
    }
    word[0] = (char)toupper((unsigned char)word[0]);
}

char *metric_name__display(const char *name)
{
    char *display;
    size_t start = 0;

    if (strncmp(name, "tma_", 4) == 0 && name[4] != '\0')
        name += 4;
    display = strdup(name);
    if (!display)
        return NULL;
    for (size_t i = 0;; i++) {
        if (display[i] != '_' && display[i] != '\0')
            continue;
        if (i > start)
            metric_name__word(display + start, i - start);
        if (display[i] == '\0')
            break;
        display[i] = ' ';
        start = i + 1;
    }
    return display;
}

bool metric_groups__contain(const char *groups, const char *group)
{
    size_t length = strlen(group);

    while (groups && *groups) {
        size_t n = strcspn(groups, ";");

        if (n == length && memcmp(groups, group, n) == 0)
            return true;
        groups += n + (groups[n] == ';');
    }
    return false;
}
