/* SPDX-License-Identifier: Apache-2.0 */
#include "fathom/status.h"

#include <stdarg.h>
#include <stdio.h>

static void fill(struct status *st, int exit_code, const char *fmt, va_list args)
{
    if (!st)
        return;
    st->exit_code = exit_code;
    vsnprintf(st->text, sizeof(st->text), fmt, args);
}

int status__fail(struct status *st, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(st, EXIT_CODE_TOOL, fmt, args);
    va_end(args);
    return -1;
}

int status__fail_with(struct status *st, int exit_code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(st, exit_code, fmt, args);
    va_end(args);
    return -1;
}
