/* SPDX-License-Identifier: Apache-2.0 */
/* Loops j and k exchanged: the inner loop runs along rows of b and c, every element of a line is used,
 * and no addition waits for another. */
#include "matmul.h"

static __attribute__((noinline)) void multiply(int rows, int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < n; k++) {
            double aik = a[i * n + k];

            for (int j = 0; j < n; j++)
                c[i * n + j] += aik * b[k * n + j];
        }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.rows, m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
