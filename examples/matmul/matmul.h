/* SPDX-License-Identifier: Apache-2.0 */
/* What the four versions of the product share: the matrices, their content, the proof of the result. */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_N = 192, MULTIPLE = 32 };

/* n x n elements, row by row; rows begin on cache lines when n is a multiple of 8. */
struct matrices {
    int n;
    double *a, *b, *c;
};

static double *matrix__new(int n, int row_factor, int column_factor, int modulus)
{
    double *m = aligned_alloc(64, (size_t)n * (size_t)n * sizeof(double));

    if (!m)
        exit(1);
    if (!modulus)
        return memset(m, 0, (size_t)n * (size_t)n * sizeof(double));
    for (int i = 0; i < n; i++) {
        double *row = &m[(size_t)i * (size_t)n];
        int value = i * row_factor % modulus;

        if (i >= modulus) { /* the same numbers again */
            memcpy(row, row - (size_t)modulus * (size_t)n, (size_t)n * sizeof *row);
            continue;
        }
        for (int j = 0; j < n; j++) { /* (i * row_factor + j * column_factor) mod modulus, around 0 */
            row[j] = value - modulus / 2;
            value += column_factor;
            value -= value >= modulus ? modulus : 0;
        }
    }
    return m;
}

/* Small whole numbers: every order of summation gives the same result. The size is the first argument. */
static struct matrices matrices__new(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : DEFAULT_N;

    if (n <= 0 || n % MULTIPLE || n > 4800) {
        fprintf(stderr, "%s: the size must be a multiple of %d, at most 4800\n", argv[0], MULTIPLE);
        exit(2);
    }
    return (struct matrices){n, matrix__new(n, 7, 3, 11), matrix__new(n, 5, 2, 13), matrix__new(n, 0, 0, 0)};
}

static void matrices__print_checksum(const struct matrices *m)
{
    double sum = 0;

    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++)
            sum += m->c[i * m->n + j] * ((i + 2 * j) % 17);
    printf("%d x %d, checksum %.0f\n", m->n, m->n, sum);
}

#endif
