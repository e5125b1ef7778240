/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels share. Each is one loop in assembly, so that no compiler changes what is measured;
 * "control" as the first argument runs the twin in which the cause is taken away and little else. */
#ifndef LEAVES_H
#define LEAVES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, PAGE = 4096, KIB = 1024, MIB = 1024 * 1024 };

/* x * LEAF_FACTOR + LEAF_STEP: a full-period generator; the upper bits are the random ones. */
#define LEAF_FACTOR 6364136223846793005u
#define LEAF_STEP 1442695040888963407u

__attribute__((unused)) static bool leaf__is_control(int argc, char **argv)
{
    if (argc < 2)
        return false;
    if (argc == 2 && !strcmp(argv[1], "control"))
        return true;
    fprintf(stderr, "usage: %s [control]\n", argv[0]);
    exit(2);
}

static int leaf__print(char **argv, uint64_t result)
{
    const char *slash = strrchr(argv[0], '/');

    printf("%s: %llu\n", slash ? slash + 1 : argv[0], (unsigned long long)result);
    return 0;
}

#endif
