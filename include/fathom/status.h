/* SPDX-License-Identifier: Apache-2.0 */
/* How a function says that something could not be done. */
#ifndef FATHOM_STATUS_H
#define FATHOM_STATUS_H

/* Exit codes of the fathom command that are not the analysed program's own. */
enum exit_code {
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_GATE = 3,
    EXIT_CODE_TOOL = 125,
    EXIT_CODE_CANNOT_EXECUTE = 126,
    EXIT_CODE_NOT_FOUND = 127,
};

/*
 * One clear sentence for the user: the file, the place, what is wrong and the remedy.
 * A function that can fail takes a `struct status *` as its last argument, returns 0 or -1
 * (or a pointer, NULL on failure) and fills the status only when it fails.
 */
struct status {
    int exit_code; /* what the command should exit with; 125 unless the failing place knows better */
    char text[1024];
};

/* Fills `st` (exit code 125) from a printf format; always returns -1. `st` may be NULL. */
int status__fail(struct status *st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with a chosen exit code. */
int status__fail_with(struct status *st, int exit_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
