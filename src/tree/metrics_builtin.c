/* SPDX-License-Identifier: Apache-2.0 */
/* The metric sets in data/metrics/ that are part of the program. */
#include <string.h>

#include "fathom/status.h"
#include "fathom/tree.h"

/* clang-format off */
#define METRICS_EMBED(symbol, file)                \
    __asm__(".pushsection .rodata\n"               \
            ".local " #symbol "_begin\n"           \
            ".local " #symbol "_end\n"             \
            #symbol "_begin:\n"                    \
            ".incbin \"" file "\"\n"               \
            #symbol "_end:\n"                      \
            ".byte 0\n"                            \
            ".popsection\n");                      \
    extern const char symbol##_begin[] __attribute__((visibility("hidden"))); \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))
/* clang-format on */

METRICS_EMBED(metrics_topdown_generic, "data/metrics/topdown-generic.json");

struct metrics *metrics__builtin(const char *name, struct status *st)
{
    const struct {
        const char *name, *origin, *begin, *end;
    } set[] = {
        {"topdown-generic", "data/metrics/topdown-generic.json (built in)", metrics_topdown_generic_begin,
         metrics_topdown_generic_end},
    };

    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (strcmp(name, set[i].name) == 0)
            return metrics__parse(set[i].begin, (size_t)(set[i].end - set[i].begin), set[i].origin, st);
    status__fail(st, "there is no built-in metric set '%s'; there is 'topdown-generic', or give a file",
                 name);
    return NULL;
}
