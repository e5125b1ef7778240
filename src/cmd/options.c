/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/options.h"

#include <stdarg.h>
#include <stdio.h>

#include "fathom/core.h"
#include "fathom/status.h"

int core_options__set(struct core_options *opt, const char *assignment, struct status *st)
{
    if (opt->n_set == OPTIONS_MAX_SET)
        return status__fail_with(st, EXIT_CODE_USAGE,
                                 "more than %d --set options; write a core file instead (docs/cores.md)",
                                 OPTIONS_MAX_SET);
    opt->set[opt->n_set++] = assignment;
    return 0;
}

int core_options__load(const struct core_options *opt, struct core *core, struct status *st)
{
    return core__load(core, opt->name ? opt->name : OPTIONS_DEFAULT_CORE, opt->set, opt->n_set, st);
}

int options__fail(const struct status *st)
{
    fprintf(stderr, "fathom: %s\n", st->text);
    return st->exit_code;
}

int options__usage_error(const char *command, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "fathom %s: ", command);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nTry 'fathom %s --help'.\n", command);
    return EXIT_CODE_USAGE;
}
