/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "fathom/loopsim.h"
#include "fathom/status.h"

int cmd_loop(int argc, char **argv)
{
    struct status st = {0};
    static char line[65536], hex[60000];
    enum loop_registers regs = argc > 1 && !strcmp(argv[1], "stack")  ? LOOP_REGISTERS_STACK
                               : argc > 1 && !strcmp(argv[1], "same") ? LOOP_REGISTERS_SAME
                                                                      : LOOP_REGISTERS_DIFFERENT;
    struct loopsim *sim[8];
    const char *const *names = core__names();
    int nc = 0;
    for (; names[nc]; nc++) {
        struct core core;
        if (core__load(&core, names[nc], NULL, 0, &st) || !(sim[nc] = loopsim__open(&core, &st))) {
            fprintf(stderr, "%s\n", st.text);
            return 125;
        }
    }
    while (fgets(line, sizeof line, stdin)) {
        char cname[32];
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
                struct loopsim_options o = {.address = align, .registers = regs};
                struct loop_figures f;
                if (loopsim__run(sim[i], b, n, &o, &f, &st))
                    f.cycles = -1;
                printf("%.2f\n", f.cycles);
            }
    }
    return 0;
}
