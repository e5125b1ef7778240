/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_DEMANGLE_H
#define PROFILE_DEMANGLE_H

/* The source name of a C++, Rust or D symbol, to be freed; NULL if it is none or without libiberty. */
char *demangle(const char *symbol);

#endif
