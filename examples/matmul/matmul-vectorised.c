/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanged loops four elements at a time (AVX, which every modelled core has), and sixteen
 * elements of c kept in registers over the whole sum: c is only written, once. */
#include "matmul.h"

typedef double vec4 __attribute__((vector_size(32)));
enum { WIDE = 16 };
_Static_assert(MULTIPLE % WIDE == 0, "strips must cover the matrix");

static __attribute__((noinline, target("avx"))) void multiply(int n, const double *a, const double *b,
                                                              double *c)
{
    for (int i = 0; i < n; i++)
        for (int jj = 0; jj < n; jj += WIDE) {
            vec4 sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
            vec4 *out = (vec4 *)&c[i * n + jj];

            for (int k = 0; k < n; k++) {
                const vec4 *row = (const vec4 *)&b[k * n + jj];
                double aik = a[i * n + k];

                sum0 += aik * row[0];
                sum1 += aik * row[1];
                sum2 += aik * row[2];
                sum3 += aik * row[3];
            }
            out[0] = sum0;
            out[1] = sum1;
            out[2] = sum2;
            out[3] = sum3;
        }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
