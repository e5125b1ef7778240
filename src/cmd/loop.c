/* SPDX-License-Identifier: Apache-2.0 */
#include "fathom/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "fathom/core.h"
#include "fathom/pipe.h"
#include "fathom/status.h"
#include "fathom/steady.h"

static double predict(const struct core *core, struct isa *isa, const uint8_t *bytes, size_t n,
                      uint64_t align, enum loop_registers regs, struct status *st)
{
    struct loop_options lo = {.isa = isa, .address = align, .registers = regs};
    struct loop *loop = loop__new(bytes, n, &lo, st);
    if (!loop)
        return -1;
    struct steady s;
    steady__init(&s, (uint32_t)loop__count(loop));
    struct pipe_config pc = {.core = core,
                             .isa = isa,
                             .source = loop__source(loop),
                             .listener = {&s.listener},
                             .n_listeners = 1,
                             .unrolled = loop__unrolled(loop),
                             .endless = true};
    struct pipe *p = pipe__new(&pc, st);
    double c = -1;
    if (p) {
        pipe__run(p, 502, NULL, NULL);
        for (int i = 0; i < 2000 && !s.done; i++)
            pipe__run(p, 50, NULL, NULL);
        c = steady__cycles(&s);
    }
    pipe__free(p);
    steady__free(&s);
    loop__free(loop);
    return c;
}

int cmd_loop(int argc, char **argv)
{
    struct status st = {0};
    char line[65536];
    enum loop_registers regs = argc > 1 && !strcmp(argv[1], "stack")  ? LOOP_REGISTERS_STACK
                               : argc > 1 && !strcmp(argv[1], "same") ? LOOP_REGISTERS_SAME
                                                                      : LOOP_REGISTERS_DIFFERENT;
    struct core core[8];
    struct isa *isa[8];
    const char *const *names = core__names();
    int nc = 0;
    for (; names[nc]; nc++) {
        if (core__load(&core[nc], names[nc], NULL, 0, &st) || !(isa[nc] = isa__open(&core[nc], &st))) {
            fprintf(stderr, "%s\n", st.text);
            return 125;
        }
    }
    while (fgets(line, sizeof line, stdin)) {
        char cname[32], hex[60000];
        unsigned align = 0;
        if (sscanf(line, "%31s %59999s %u", cname, hex, &align) < 2)
            continue;
        uint8_t b[30000];
        size_t n = 0;
        for (char *c = hex; c[0] && c[1]; c += 2) {
            unsigned v;
            sscanf(c, "%2x", &v);
            b[n++] = (uint8_t)v;
        }
        for (int i = 0; i < nc; i++)
            if (!strcmp(cname, names[i])) {
                double r = predict(&core[i], isa[i], b, n, align, regs, &st);
                printf("%.2f\n", r);
                fflush(stdout);
            }
    }
    return 0;
}
