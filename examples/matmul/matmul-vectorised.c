/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanged loops with a vectorised inner kernel (AVX, which every modelled core has): a panel of b,
 * copied together so that it stays in the L1 cache, meets two rows of a at a time; the sixteen elements of
 * each row of c that it adds to are kept in registers, and eight sums do not wait for each other. */
#include "matmul.h"

typedef double vec4 __attribute__((vector_size(32)));
enum { WIDE = 16, DEEP = 32, ROWS = 2 };
_Static_assert(MULTIPLE % WIDE == 0 && MULTIPLE % DEEP == 0 && MULTIPLE % ROWS == 0,
               "panels must cover the matrix");

static inline __attribute__((always_inline, target("avx"))) void
add_panel(int n, const double *a, const vec4 panel[DEEP][WIDE / 4], double *c)
{
    vec4 *out = (vec4 *)c, *out2 = (vec4 *)(c + n);
    vec4 s0 = out[0], s1 = out[1], s2 = out[2], s3 = out[3];
    vec4 t0 = out2[0], t1 = out2[1], t2 = out2[2], t3 = out2[3];

    for (int k = 0; k < DEEP; k++) {
        vec4 b0 = panel[k][0], b1 = panel[k][1], b2 = panel[k][2], b3 = panel[k][3];
        double up = a[k], down = a[n + k];

        s0 += up * b0;
        s1 += up * b1;
        s2 += up * b2;
        s3 += up * b3;
        t0 += down * b0;
        t1 += down * b1;
        t2 += down * b2;
        t3 += down * b3;
    }
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
    out2[0] = t0, out2[1] = t1, out2[2] = t2, out2[3] = t3;
}

static __attribute__((noinline, target("avx"))) void multiply(int n, const double *a, const double *b,
                                                              double *c)
{
    vec4 panel[DEEP][WIDE / 4];

    for (int kk = 0; kk < n; kk += DEEP)
        for (int jj = 0; jj < n; jj += WIDE) {
            for (int k = 0; k < DEEP; k++)
                for (int j = 0; j < WIDE / 4; j++)
                    panel[k][j] = *(const vec4 *)&b[(kk + k) * n + jj + 4 * j];
            for (int i = 0; i < n; i += ROWS)
                add_panel(n, &a[i * n + kk], panel, &c[i * n + jj]);
        }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
