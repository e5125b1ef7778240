/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanged loops with a vectorised inner kernel, two elements at a time (SSE2, which every x86-64 core
 * has), on blocks: a block of b (16 KiB) and a strip of a row of c stay in the L1 cache. */
#include "matmul.h"

typedef double vec2 __attribute__((vector_size(16)));
enum { DEEP = 16, WIDE = 128 };
_Static_assert(MULTIPLE % DEEP == 0, "blocks must cover the matrix");

static inline void add_row(int width, double factor, const double *b, double *c)
{
    const vec2 *from = (const vec2 *)b;
    vec2 *to = (vec2 *)c, *end = (vec2 *)(c + width);

    for (; to < end; to += 4, from += 4) {
        to[0] += factor * from[0];
        to[1] += factor * from[1];
        to[2] += factor * from[2];
        to[3] += factor * from[3];
    }
}

static __attribute__((noinline)) void multiply(int rows, int n, const double *a, const double *b, double *c)
{
    static _Alignas(64) double block[DEEP * WIDE];

    for (int jj = 0; jj < n; jj += WIDE)
        for (int kk = 0; kk < n; kk += DEEP) {
            int width = n - jj < WIDE ? n - jj : WIDE;

            block__copy(block, &b[kk * n + jj], n, DEEP, width);
            for (int i = 0; i < rows; i++)
                for (int k = 0; k < DEEP; k++)
                    add_row(width, a[i * n + kk + k], &block[k * width], &c[i * n + jj]);
        }
}

int main(int argc, char **argv)
{
    struct matrices m = matrices__new(argc, argv);

    multiply(m.rows, m.n, m.a, m.b, m.c);
    matrices__print_checksum(&m);
    return 0;
}
