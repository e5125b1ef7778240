/* SPDX-License-Identifier: Apache-2.0 */
/* fathom loop --sweep and --what-if: the loops of the inputs into the sweep engine, its result into a view.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/loop.h"
#include "fathom/status.h"
#include "fathom/sweep.h"

enum sweep_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_SVG, FORMATS };

struct job {
    const struct loop_request *request;
    struct sweep_config config;
    struct core core;
    struct sweep_loop *loop;
    enum sweep_format format;
    struct sweep_text_options text;
    FILE *out;
    size_t n_failed; /* loops without a figure */
};

static int choose_format(struct job *j, struct status *st)
{
    static const char *const name[FORMATS] = {"text", "csv", "json", "svg"};
    const char *wanted = j->request->format ? j->request->format : j->request->json ? "json" : "text";
    for (int f = 0; f < FORMATS; f++)
        if (strcmp(wanted, name[f]) == 0) {
            j->format = (enum sweep_format)f;
            return 0;
        }
    return status__fail_with(st, EXIT_CODE_USAGE, "--format is text, csv, json or svg, not '%s'", wanted);
}

static const char *output_path(const struct loop_request *q)
{
    return q->output ? q->output : q->json ? q->json : "-";
}

static int prepare(struct job *j, const struct loop_inputs *in, struct status *st)
{
    const struct loop_request *q = j->request;
    if (choose_format(j, st) || core_options__load(&q->core, &j->core, st))
        return -1;
    if (!(j->loop = calloc(in->n + 1, sizeof *j->loop)))
        return status__fail(st, "not enough memory for %zu loops", in->n);
    size_t n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const struct loop_input *item = &in->item[i];
        if (item->why)
            fprintf(stderr, "fathom: %s: %s\n", item->name, item->why);
        else
            j->loop[n++] = (struct sweep_loop){.name = item->name,
                                               .bytes = item->bytes,
                                               .size = item->size,
                                               .address = item->address,
                                               .registers = q->registers};
    }
    if (!n)
        return status__fail(st, "there is no loop that could be simulated");
    j->config = (struct sweep_config){
        .core = &j->core, .model = q->model, .loop = j->loop, .n_loops = n, .threads = q->threads};
    if (!(j->out = loop_output__open(output_path(q), st)))
        return -1;
    j->text = (struct sweep_text_options){
        .color = j->out == stdout && isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), .all = q->all};
    return 0;
}

static int one_sweep(struct job *j, const char *text, struct status *st)
{
    struct sweep_spec spec;
    struct sweep sweep = {0};
    int rc = sweep_spec__parse(&spec, text, &j->core, j->request->model, st);
    if (!rc)
        rc = sweep__run(&sweep, &j->config, &spec, st);
    if (!rc && j->format == FORMAT_TEXT)
        view__sweep_text(&sweep, &j->text, j->out);
    else if (!rc)
        (j->format == FORMAT_CSV    ? view__sweep_csv
         : j->format == FORMAT_JSON ? view__sweep_json
                                    : view__sweep_svg)(&sweep, j->out);
    for (size_t i = 0; !rc && i < sweep.n_loops; i++)
        j->n_failed += sweep.loop[i].error != NULL;
    sweep__free(&sweep);
    sweep_spec__free(&spec);
    return rc;
}

static int ask_what_if(struct job *j, struct status *st)
{
    struct what_if what = {0};
    int rc = what_if__run(&what, &j->config, st);
    if (!rc && j->format == FORMAT_TEXT)
        view__what_if_text(&what, &j->text, j->out);
    else if (!rc)
        (j->format == FORMAT_CSV    ? view__what_if_csv
         : j->format == FORMAT_JSON ? view__what_if_json
                                    : view__what_if_svg)(&what, j->out);
    for (size_t i = 0; !rc && i < what.n_loops; i++)
        j->n_failed += what.loop[i].error != NULL;
    what_if__free(&what);
    return rc;
}

int loop_sweep(const struct loop_request *request, const struct loop_inputs *in)
{
    struct job j = {.request = request};
    struct status st = {0};
    int rc = prepare(&j, in, &st);

    for (size_t i = 0; !rc && i < request->n_sweeps; i++)
        rc = one_sweep(&j, request->sweep[i], &st);
    if (!rc && request->what_if)
        rc = ask_what_if(&j, &st);
    if (j.out && loop_output__close(j.out, output_path(request), rc ? NULL : &st))
        rc = -1;
    free(j.loop);
    if (rc)
        return options__fail(&st);
    return j.n_failed ? EXIT_CODE_TOOL : 0; /* each has said why in its place */
}
