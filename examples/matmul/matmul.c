/* SPDX-License-Identifier: Apache-2.0 */
/* The textbook product: row times column. The inner loop walks down a column of b, a new cache line
 * with every step, and adds into one sum, so that each addition waits for the one before. */
#include "matmul.h"

static __attribute__((noinline)) void multiply(int rows, int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;

            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.rows, m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
