/* SPDX-License-Identifier: Apache-2.0 */
/* What the four versions of the product share: the matrices, their content, the proof of the result. Few rows
 * are enough to see what each version is bound by: b as a whole (8 MiB) is what does not fit the caches. */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ROWS = 6, DEFAULT_N = 1024, MULTIPLE = 64 };

/* c = a * b: a and c have few rows, b is n x n. All row by row; rows begin on cache lines. */
struct matrices {
    int rows, n;
    double *a, *b, *c;
};

static double *matrix__new(int rows, int n, int row_factor, int column_factor, int modulus)
{
    double *m = aligned_alloc(64, (size_t)rows * (size_t)n * sizeof(double));

    if (!m)
        exit(1);
    if (!modulus)
        return memset(m, 0, (size_t)rows * (size_t)n * sizeof(double));
    for (int i = 0; i < rows; i++) {
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

static int matrices__argument(int argc, char **argv, int k, int preset, int multiple, int most)
{
    int value = argc > k ? atoi(argv[k]) : preset;

    if (value <= 0 || value % multiple || value > most) {
        fprintf(stderr, "usage: %s [N [ROWS]]: ROWS x N times N x N; N is a multiple of %d\n", argv[0],
                MULTIPLE);
        exit(2);
    }
    return value;
}

/* Small whole numbers: every order of summation gives the same result. */
static struct matrices matrices__new(int argc, char **argv)
{
    int n = matrices__argument(argc, argv, 1, DEFAULT_N, MULTIPLE, 4800);
    int rows = matrices__argument(argc, argv, 2, DEFAULT_ROWS, 1, 4800);

    return (struct matrices){rows, n, matrix__new(rows, n, 7, 3, 11), matrix__new(n, n, 5, 2, 13),
                             matrix__new(rows, n, 0, 0, 0)};
}

/* Copies a block of height x width elements of b out of its long rows, so that it lies side by side and its
 * rows do not compete for the same sets of the caches. */
static inline void block__copy(double *block, const double *b, int n, int height, int width)
{
    for (int k = 0; k < height; k++)
        memcpy(&block[k * width], &b[(size_t)k * (size_t)n], (size_t)width * sizeof *block);
}

static void matrices__print_checksum(const struct matrices *m)
{
    double sum = 0;

    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->n; j++)
            sum += m->c[i * m->n + j] * ((i + 2 * j) % 17);
    printf("%d x %d, checksum %.0f\n", m->rows, m->n, sum);
}

#endif
