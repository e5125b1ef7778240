/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_COLUMNS = 200 };
static const uint64_t first_ns = 2000000000, interval_ns = 200000000;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void progress__init(struct progress *progress)
{
    const char *term = getenv("TERM");
    struct winsize size;

    memset(progress, 0, sizeof(*progress));
    progress->start_ns = now_ns();
    progress->next_ns = progress->start_ns + first_ns;
    if (!isatty(STDERR_FILENO) || (term && strcmp(term, "dumb") == 0))
        return;
    progress->out = stderr;
    progress->width = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10)
        progress->width = size.ws_col;
    if (progress->width > LINE_MAX_COLUMNS)
        progress->width = LINE_MAX_COLUMNS;
}

bool progress__due(struct progress *progress)
{
    return progress->out && now_ns() >= progress->next_ns;
}

void progress__show(struct progress *progress, const char *fmt, ...)
{
    char line[LINE_MAX_COLUMNS + 1];
    va_list args;

    if (!progress__due(progress))
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(progress->out, "\r\033[K%.*s", (int)progress->width - 1, line);
    fflush(progress->out);
    progress->shown = true;
    progress->next_ns = now_ns() + interval_ns;
}

void progress__clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", progress->out);
    fflush(progress->out);
    progress->shown = false;
}

double progress__seconds(const struct progress *progress)
{
    return (double)(now_ns() - progress->start_ns) / 1e9;
}
