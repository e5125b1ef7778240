/* SPDX-License-Identifier: Apache-2.0 */
/* One ELF file as a source of names and lines for addresses in it. Anything may be missing from it. */
#ifndef PROFILE_OBJECT_H
#define PROFILE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;

/* Never NULL unless out of memory: a missing, deleted or corrupt file is an object that knows nothing. */
struct object *object__open(const char *path);
void object__close(struct object *object);

/* Hex, or NULL; owned by the object. */
const char *object__build_id(const struct object *object);
/* The ELF virtual address of a file offset; the offset itself if no segment holds it. */
uint64_t object__vaddr(const struct object *object, uint64_t file_offset);

/* Number of the function that holds `vaddr`, or -1. Numbers have no gaps bigger than the symbol table. */
int64_t object__function(const struct object *object, uint64_t vaddr);
uint64_t object__function_entry(const struct object *object, int64_t function);
/* Readable name, to be freed; "qsort+0x1a0" for the first code after qsort that has no name itself. */
char *object__function_name(const struct object *object, int64_t function);

/* Source file (owned by the object) and line of an address. */
bool object__line(struct object *object, uint64_t vaddr, const char **file, int *line);

#endif
