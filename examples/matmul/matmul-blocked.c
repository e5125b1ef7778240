/* SPDX-License-Identifier: Apache-2.0 */
/* The textbook product on blocks: a block of b (8 KiB) stays in the L1 cache while every row of a
 * passes over it. The chain of additions is as long as before. */
#include "matmul.h"

enum { BLOCK = 32 };
_Static_assert(MULTIPLE % BLOCK == 0, "blocks must cover the matrix");

static __attribute__((noinline)) void multiply(int n, const double *a, const double *b, double *c)
{
    for (int kk = 0; kk < n; kk += BLOCK)
        for (int jj = 0; jj < n; jj += BLOCK)
            for (int i = 0; i < n; i++)
                for (int j = jj; j < jj + BLOCK; j++) {
                    double sum = c[i * n + j];

                    for (int k = kk; k < kk + BLOCK; k++)
                        sum += a[i * n + k] * b[k * n + j];
                    c[i * n + j] = sum;
                }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
