/* SPDX-License-Identifier: Apache-2.0 */
/* Does what the user typed mean this function, this file? */
#ifndef FATHOM_LOOP_FIND_NAME_H
#define FATHOM_LOOP_FIND_NAME_H

#include <stdbool.h>

/* `symbol` as in a symbol table or readable: equal as it stands, without version ("@GLIBC_2.2.5") or
 * clone suffix (".constprop.0"), demangled, without argument list, without return type, without template
 * arguments. */
bool name__is_function(const char *symbol, const char *wanted);
/* Equal to `path` or to its last components. */
bool name__is_file(const char *path, const char *wanted);

#endif
