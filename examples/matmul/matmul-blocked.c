/* SPDX-License-Identifier: Apache-2.0 */
/* The textbook product on blocks: a block of b (16 KiB) stays in the L1 cache while every row of a
 * passes over it. Each addition still waits for the one before. */
#include "matmul.h"

enum { DEEP = 64, WIDE = 32 };
_Static_assert(MULTIPLE % DEEP == 0 && MULTIPLE % WIDE == 0, "blocks must cover the matrix");

static __attribute__((noinline)) void multiply(int rows, int n, const double *a, const double *b, double *c)
{
    static _Alignas(64) double block[DEEP * WIDE];

    for (int kk = 0; kk < n; kk += DEEP)
        for (int jj = 0; jj < n; jj += WIDE) {
            block__copy(block, &b[kk * n + jj], n, DEEP, WIDE);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < WIDE; j++) {
                    double sum = c[i * n + jj + j];

                    for (int k = 0; k < DEEP; k++)
                        sum += a[i * n + kk + k] * block[k * WIDE + j];
                    c[i * n + jj + j] = sum;
                }
        }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.rows, m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
