/* SPDX-License-Identifier: Apache-2.0 */
/* libiberty (static, FATHOM_HAVE_LIBIBERTY) knows all schemes without a C++ runtime. */
#include "profile/demangle.h"

#include <stddef.h>

#ifdef FATHOM_HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#include <string.h>

enum { SYMBOL_MAX_BYTES = 4096 }; /* longer ones cost more than they tell */

char *demangle(const char *symbol)
{
    if (symbol[0] != '_' || strlen(symbol) > SYMBOL_MAX_BYTES)
        return NULL;
    return cplus_demangle(symbol, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
#else
char *demangle(const char *symbol)
{
    (void)symbol;
    return NULL;
}
#endif
