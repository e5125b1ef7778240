/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read at once, written so that a crash leaves the old one or none. */
#ifndef FATHOM_BASE_FILE_H
#define FATHOM_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

struct status;

/* The content of a regular file or pipe, with a 0 byte behind it (not counted in *size); "-" is standard
 * input. Refuses more than `limit` bytes. NULL and `st` on failure; free() it. */
char *file__read(const char *path, size_t limit, size_t *size, struct status *st);

/* A file under construction: a temporary one in the folder of `path`, renamed over it at the end. */
struct file_writer {
    FILE *out;
    char *path, *temporary;
};
int file__begin(struct file_writer *writer, const char *path, struct status *st);
/* Flushes, syncs, renames. On failure nothing is left behind and the old file is untouched. */
int file__commit(struct file_writer *writer, struct status *st);
void file__abandon(struct file_writer *writer);
int file__write(const char *path, const void *data, size_t size, struct status *st);

/* A new string: the path of `name` in the folder of the running executable; NULL when unknown. */
char *file__beside_executable(const char *name);

#endif
