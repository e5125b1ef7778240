/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands share around getopt_long. */
#ifndef FATHOM_CMD_OPTIONS_H
#define FATHOM_CMD_OPTIONS_H

#include <stddef.h>

struct core;
struct status;

enum { OPTIONS_MAX_SET = 64 };

/* --core NAME|FILE and any number of --set KEY=VALUE. Strings point into argv. */
struct core_options {
    const char *name; /* NULL: the default core */
    const char *set[OPTIONS_MAX_SET];
    size_t n_set;
};

/* The core simulated when none is named. */
#define OPTIONS_DEFAULT_CORE "skl"

/* Remembers one --set; -1 and `st` when there are too many. */
int core_options__set(struct core_options *opt, const char *assignment, struct status *st);
int core_options__load(const struct core_options *opt, struct core *core, struct status *st);

/* "fathom: TEXT" to standard error; returns the status's exit code. */
int options__fail(const struct status *st);
/* "fathom COMMAND: FORMAT" and where the help is; returns EXIT_CODE_USAGE. */
int options__usage_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
