/* SPDX-License-Identifier: Apache-2.0 */
/* What to start: the user's command line resolved to a program that the tracer can run. */
#ifndef FATHOM_TRACE_PROGRAM_LAUNCH_H
#define FATHOM_TRACE_PROGRAM_LAUNCH_H

#include "base/arena.h"

struct status;

/* All strings live in `arena`. */
struct launch {
    struct arena arena;
    const char *path; /* the ELF file */
    char **argv;      /* as the program sees them; argv[0] may differ from path */
};

/*
 * Searches PATH, follows #! lines by the kernel's rules and checks the ELF header. Refuses with exit
 * code 127 (not found) or 126 (cannot be executed) and a sentence.
 */
int launch__resolve(struct launch *launch, char *const *argv, struct status *st);
void launch__free(struct launch *launch);

/* A new string: an executable of that name in PATH (or `name` itself if it has a slash); NULL: none. */
char *launch__search(struct arena *arena, const char *name);

#endif
