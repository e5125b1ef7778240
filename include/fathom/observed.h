/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen of a program besides its steps, from the tracer on down the road. */
#ifndef FATHOM_OBSERVED_H
#define FATHOM_OBSERVED_H

#include <stdint.h>

/* A file mapped into the program. */
struct mapping {
    uint64_t start, end, file_offset;
    char *path;
};

struct profile_count { /* unknown instruction forms, system calls: name and dynamic count */
    char *name;
    uint64_t count;
    char *note; /* example address or consequence; may be NULL */
};

#endif
