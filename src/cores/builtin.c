/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cores/params.h"

#define DECLARE(name) extern const char fathom_core_##name[], fathom_core_##name##_end[]
DECLARE(snb);
DECLARE(ivb);
DECLARE(hsw);
DECLARE(bdw);
DECLARE(skl);

static const char *const names[] = {"snb", "ivb", "hsw", "bdw", "skl", NULL};
static const struct builtin builtins[] = {
    {"snb", fathom_core_snb, fathom_core_snb_end}, {"ivb", fathom_core_ivb, fathom_core_ivb_end},
    {"hsw", fathom_core_hsw, fathom_core_hsw_end}, {"bdw", fathom_core_bdw, fathom_core_bdw_end},
    {"skl", fathom_core_skl, fathom_core_skl_end},
};

const char *const *core__names(void)
{
    return names;
}

const struct builtin *builtin__find(const char *name)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}
