/* SPDX-License-Identifier: Apache-2.0 */
/* Any digits, and any bytes as a block: a sentence, or a report that adds up. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/loop_report.h"
#include "fathom/status.h"
#include "loop/asm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BLOCK = 48 };

static struct loopsim *simulator(void)
{
    static struct loopsim *sim;
    static unsigned uses;
    struct status st;
    struct core core;
    if (++uses % 4096 == 0) { /* instruction tables grow */
        loopsim__close(sim);
        sim = NULL;
    }
    if (!sim && (core__load(&core, "hsw", NULL, 0, &st) || !(sim = loopsim__open(&core, &st)))) {
        fprintf(stderr, "%s\n", st.text);
        abort();
    }
    return sim;
}

static void explain(const uint8_t *bytes, size_t size)
{
    struct status st = {0};
    struct loop_report r;
    struct loop_question q = {
        .name = "fuzz", .bytes = bytes, .size = size, .timeline_iterations = 2, .measured = (double)NAN};
    FILE *null = fopen("/dev/null", "w");
    if (loop_report__make(simulator(), &q, &r, &st)) {
        assert(st.text[0]);
    } else {
        assert(r.figures.cycles > 0 && r.n_insns > 0);
        view__loop_text(&r, &(struct loop_view_options){.all = true}, null);
        loop_report__free(&r);
    }
    fclose(null);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[256];
    size_t n;
    struct status st = {0};
    char *text = strndup((const char *)data, size);
    if (hex__parse(text, bytes, sizeof bytes, &n, &st) == 0)
        assert(n <= sizeof bytes);
    else
        assert(st.text[0]);
    free(text);
    if (size <= MAX_BLOCK)
        explain(data, size);
    return 0;
}
