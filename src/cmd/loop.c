/* SPDX-License-Identifier: Apache-2.0 */
/* fathom loop: cycles per iteration of loops and blocks, and why. */
#include "cmd/loop.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "fathom/from_run.h"
#include "fathom/status.h"
#include "loop/batch.h"

static const char usage_text[] =
    "Usage: fathom loop [OPTION]... FILE | - | --hex H | --batch FILE | --from-run FILE\n"
    "Cycles per iteration of a loop or block with all data in the L1 cache, what bounds it, and why.\n"
    "FILE is an ELF file (its innermost loops), or assembly text (regions between markers of llvm-mca,\n"
    "OSACA or IACA; else its loops, or all of it); '-' is assembly text from standard input. Code that\n"
    "does not end in a branch is repeated (unrolled).\n"
    "\n"
    "What:\n"
    "      --function NAME       only loops of that function\n"
    "      --line FILE:N         only loops whose source has that line\n"
    "      --at A..B             only loops between these addresses\n"
    "      --intel               the assembly text is in Intel syntax\n"
    "      --hex H               code as hexadecimal digits\n"
    "      --batch FILE          CSV with columns id,hex and optionally core, alignment, measured;\n"
    "                            prints CSV id,cycles (and fidelity = 1 - relative error)\n"
    "      --from-run FILE       the hottest loops of a result of fathom run: cycles per iteration in\n"
    "                            the program, with all data in L1, and the difference by cause\n"
    "  -n, --loops N             as many of them (10)\n"
    "How:\n"
    "  -c, --core NAME|FILE      the core: snb ivb hsw bdw skl, or a description of your own (skl; with\n"
    "                            --from-run that of the result)\n"
    "      --set KEY=VALUE       change one value of the core\n"
    "      --align N             the code starts N bytes after a multiple of 64 (ELF: its address; else 0)\n"
    "      --init diff|same|stack  registers at the start: all different, all equal (so that addresses\n"
    "                            are), all equal but RSP and RBP (stack)\n"
    "      --model full|ufs      the full pipeline, or the published rules of Uop Flow Simulation (full)\n"
    "      --bounds-only         no simulation, only the analytical bounds\n"
    "      --measured N          cycles per iteration that were measured: prints the fidelity\n"
    "Answer:\n"
    "  -a, --all                 every loop in full, every tree node, bound and uop\n"
    "      --timeline N          the first N iterations, uop by uop, cycle by cycle\n"
    "      --json[=FILE]         everything as JSON, instead of text or into FILE\n"
    "      --dot FILE            dependency graphs for Graphviz\n"
    "      --konata FILE         trace for Konata; for gem5's O3PipeView if FILE ends in .o3\n"
    "      --sweep SPEC          cycles over a range of core values, such as load_latency=4..40 or\n"
    "                            rs=0.4..2:0.1,others=0.4..2:0.1\n"
    "      --what-if             which single change of the core would gain most\n"
    "      --format text|csv|json|svg  of sweeps\n"
    "  -o, --output FILE         of batches and sweeps, instead of standard output\n"
    "  -j, --jobs N              threads for batches and sweeps (1; sweeps: all)\n"
    "  -h, --help                this text\n"
    "\n"
    "Examples:\n"
    "  fathom loop ./app                                all innermost loops, one line each\n"
    "  fathom loop --function dot --timeline 3 dot.o    one in full\n"
    "  echo 'l: add (%rsi,%rax,8), %rbx; inc %rax; cmp %rcx, %rax; jne l' | fathom loop -\n"
    "  fathom loop --core hsw --hex 4801d84801d149ffcf75f5\n"
    "  fathom loop --batch blocks.csv >cycles.csv\n"
    "  fathom run -o app.fathom -- ./app; fathom loop --from-run app.fathom\n"
    "\n"
    "Exit status: 0 if any loop could be analysed; 2 for usage errors; 125 if there was nothing to "
    "analyse.\n";

enum {
    OPT_SET = 256,
    OPT_FUNCTION,
    OPT_LINE,
    OPT_AT,
    OPT_INTEL,
    OPT_HEX,
    OPT_BATCH,
    OPT_FROM_RUN,
    OPT_ALIGN,
    OPT_INIT,
    OPT_MODEL,
    OPT_BOUNDS_ONLY,
    OPT_MEASURED,
    OPT_TIMELINE,
    OPT_JSON,
    OPT_DOT,
    OPT_KONATA,
    OPT_SWEEP,
    OPT_WHAT_IF,
    OPT_FORMAT,
};

static const struct option long_options[] = {
    {"core", required_argument, NULL, 'c'},
    {"set", required_argument, NULL, OPT_SET},
    {"function", required_argument, NULL, OPT_FUNCTION},
    {"line", required_argument, NULL, OPT_LINE},
    {"at", required_argument, NULL, OPT_AT},
    {"intel", no_argument, NULL, OPT_INTEL},
    {"hex", required_argument, NULL, OPT_HEX},
    {"batch", required_argument, NULL, OPT_BATCH},
    {"from-run", required_argument, NULL, OPT_FROM_RUN},
    {"loops", required_argument, NULL, 'n'},
    {"align", required_argument, NULL, OPT_ALIGN},
    {"init", required_argument, NULL, OPT_INIT},
    {"model", required_argument, NULL, OPT_MODEL},
    {"bounds-only", no_argument, NULL, OPT_BOUNDS_ONLY},
    {"measured", required_argument, NULL, OPT_MEASURED},
    {"timeline", required_argument, NULL, OPT_TIMELINE},
    {"json", optional_argument, NULL, OPT_JSON},
    {"dot", required_argument, NULL, OPT_DOT},
    {"konata", required_argument, NULL, OPT_KONATA},
    {"sweep", required_argument, NULL, OPT_SWEEP},
    {"what-if", no_argument, NULL, OPT_WHAT_IF},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"output", required_argument, NULL, 'o'},
    {"all", no_argument, NULL, 'a'},
    {"jobs", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* --- options --------------------------------------------------------------------------------------- */

static int set_line(struct loop_request *q, const char *text)
{
    const char *colon = strrchr(text, ':');
    uint64_t n;
    if (!colon || colon == text || !text__to_u64(colon + 1, &n) || n < 1 || n > INT32_MAX)
        return options__usage_error("loop", "--line needs FILE:NUMBER, not '%s'", text);
    free(q->line_file);
    q->line_file = strndup(text, (size_t)(colon - text));
    q->select.file = q->line_file;
    q->select.line = (int)n;
    return 0;
}

static int set_range(struct loop_request *q, const char *text)
{
    const char *dots = strstr(text, "..");
    char *first = dots ? strndup(text, (size_t)(dots - text)) : NULL;
    bool good = first && text__to_u64(first, &q->select.at_start) &&
                text__to_u64(dots + 2, &q->select.at_end) && q->select.at_start < q->select.at_end;
    free(first);
    return good ? 0
                : options__usage_error("loop",
                                       "--at needs two addresses, the lower first, such as "
                                       "0x401130..0x401150, not '%s'",
                                       text);
}

static int set_init(struct loop_request *q, const char *text)
{
    if (strcmp(text, "diff") == 0)
        q->registers = LOOP_REGISTERS_DIFFERENT;
    else if (strcmp(text, "same") == 0)
        q->registers = LOOP_REGISTERS_SAME;
    else if (strcmp(text, "stack") == 0)
        q->registers = LOOP_REGISTERS_STACK;
    else
        return options__usage_error("loop", "--init is one of diff, same, stack, not '%s'", text);
    return 0;
}

static int set_model(struct loop_request *q, const char *text)
{
    if (strcmp(text, "full") != 0 && strcmp(text, "ufs") != 0)
        return options__usage_error("loop", "--model is full or ufs, not '%s'", text);
    q->model = strcmp(text, "ufs") == 0 ? LOOPSIM_UFS : LOOPSIM_FULL;
    return 0;
}

static int set_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    if (text__to_u64(text, value) && *value >= min && *value <= max)
        return 0;
    return options__usage_error("loop", "%s needs a number from %llu to %llu, not '%s'", option,
                                (unsigned long long)min, (unsigned long long)max, text);
}

static int set_measured(struct loop_request *q, const char *text)
{
    const char *end;
    if (text__to_double(text, &q->measured, &end) && !*end && q->measured > 0)
        return 0;
    return options__usage_error("loop", "--measured needs a positive number of cycles, not '%s'", text);
}

static int add_sweep(struct loop_request *q, const char *text)
{
    if (q->n_sweeps == LOOP_MAX_SWEEPS)
        return options__usage_error("loop", "more than %d --sweep options", LOOP_MAX_SWEEPS);
    q->sweep[q->n_sweeps++] = text;
    return 0;
}

static int parse_one(struct loop_request *q, int c)
{
    struct status st = {0};
    uint64_t n = 0;
    int rc = 0;
    switch (c) {
    case 'c':
        q->core.name = optarg;
        return 0;
    case OPT_SET:
        return core_options__set(&q->core, optarg, &st) ? options__usage_error("loop", "%s", st.text) : 0;
    case OPT_FUNCTION:
        q->select.function = optarg;
        return 0;
    case OPT_LINE:
        return set_line(q, optarg);
    case OPT_AT:
        return set_range(q, optarg);
    case OPT_INTEL:
        q->intel = true;
        return 0;
    case OPT_HEX:
        q->hex = optarg;
        return 0;
    case OPT_BATCH:
        q->batch = optarg;
        return 0;
    case OPT_FROM_RUN:
        q->from_run = optarg;
        return 0;
    case 'n':
        return set_number("--loops", optarg, 1, 100000, &q->n_loops);
    case OPT_ALIGN:
        q->has_align = true;
        return set_number("--align", optarg, 0, UINT32_MAX, &q->align);
    case OPT_INIT:
        return set_init(q, optarg);
    case OPT_MODEL:
        return set_model(q, optarg);
    case OPT_BOUNDS_ONLY:
        q->bounds_only = true;
        return 0;
    case OPT_MEASURED:
        return set_measured(q, optarg);
    case OPT_TIMELINE:
        rc = set_number("--timeline", optarg, 1, 1000, &n);
        q->timeline = (unsigned)n;
        return rc;
    case OPT_JSON:
        q->json = optarg ? optarg : "-";
        return 0;
    case OPT_DOT:
        q->dot = optarg;
        return 0;
    case OPT_KONATA:
        q->konata = optarg;
        return 0;
    case OPT_SWEEP:
        return add_sweep(q, optarg);
    case OPT_WHAT_IF:
        q->what_if = true;
        return 0;
    case OPT_FORMAT:
        q->format = optarg;
        return 0;
    case 'o':
        q->output = optarg;
        return 0;
    case 'a':
        q->all = true;
        return 0;
    case 'j':
        rc = set_number("--jobs", optarg, 1, 64, &n);
        q->threads = (unsigned)n;
        return rc;
    default:
        return options__usage_error("loop", "see the line above");
    }
}

static int check_from_run(const struct loop_request *q)
{
    if (q->n_loops && !q->from_run)
        return options__usage_error("loop", "--loops belongs to --from-run");
    if (!q->from_run)
        return 0;
    if (q->n_sweeps || q->what_if || q->timeline || q->dot || q->konata || q->bounds_only || q->has_align ||
        q->intel || !isnan(q->measured))
        return options__usage_error(
            "loop",
            "--from-run goes with --core, --loops, --function, --line, --at, --init, --model and --json "
            "only; for more, name the file and choose the loop with --at");
    if (q->core.n_set && !q->core.name)
        return options__usage_error("loop", "--from-run predicts for the core of the result: --set needs "
                                            "--core");
    return 0;
}

static int check(const struct loop_request *q, int argc)
{
    bool sweeps = q->n_sweeps || q->what_if;
    int n = (q->input != NULL) + (q->hex != NULL) + (q->batch != NULL) + (q->from_run != NULL);
    if (n != 1 || optind + 1 < argc)
        return options__usage_error("loop",
                                    n ? "one input at a time: a file, '-', --hex, --batch or --from-run"
                                      : "which code? Give a file, '-' for standard input, --hex, --batch or "
                                        "--from-run");
    if (q->hex && (q->select.function || q->select.file || q->select.at_end))
        return options__usage_error("loop", "--function, --line and --at choose loops of a file");
    if (q->batch && (sweeps || q->timeline || q->dot || q->konata || q->json))
        return options__usage_error("loop", "--batch prints CSV only; look at single blocks with --hex");
    if (q->bounds_only && (q->timeline || q->konata || sweeps))
        return options__usage_error("loop", "--bounds-only simulates nothing that could be shown");
    if (q->format && !sweeps)
        return options__usage_error("loop", "--format belongs to --sweep and --what-if");
    if (q->output && !q->batch && !sweeps)
        return options__usage_error("loop", "--output belongs to --batch, --sweep and --what-if");
    return check_from_run(q);
}

static int parse(int argc, char **argv, struct loop_request *q)
{
    int c, rc;
    optind = 0;
    while ((c = getopt_long(argc, argv, "c:o:aj:n:h", long_options, NULL)) != -1) {
        if (c == 'h') {
            q->help = true;
            return 0;
        }
        if ((rc = parse_one(q, c)))
            return rc;
    }
    if (optind < argc)
        q->input = argv[optind];
    return check(q, argc);
}

/* --- output ---------------------------------------------------------------------------------------- */

FILE *loop_output__open(const char *path, struct status *st)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!out)
        status__fail(st, "%s: cannot be written: %m", path);
    return out;
}

int loop_output__close(FILE *out, const char *path, struct status *st)
{
    bool bad = ferror(out) != 0;
    bad |= (out == stdout ? fflush(out) : fclose(out)) != 0;
    return bad ? status__fail(st, "%s: cannot be written: %m", path) : 0;
}

/* --- batches --------------------------------------------------------------------------------------- */

static int batch(const struct loop_request *q, struct status *st)
{
    struct batch_options bo = {.core = q->core.name ? q->core.name : OPTIONS_DEFAULT_CORE,
                               .set = q->core.set,
                               .n_set = q->core.n_set,
                               .alignment = q->align,
                               .registers = q->registers,
                               .model = q->model,
                               .bounds_only = q->bounds_only,
                               .threads = q->threads,
                               .progress = true};
    const char *path = q->output ? q->output : "-";
    struct batch_result result = {0};
    struct core core;
    size_t size;
    char *text = NULL;
    FILE *out = NULL;
    int rc = -1;

    if (core_options__load(&q->core, &core, st) ||
        !(text = file__read(q->batch, (size_t)1 << 32, &size, st)) || !(out = loop_output__open(path, st)))
        goto out;
    rc = batch__run(text, size, strcmp(q->batch, "-") == 0 ? "standard input" : q->batch, &bo, out, stderr,
                    &result, st);
    if (loop_output__close(out, path, rc ? NULL : st))
        rc = -1;
    if (!rc && result.n_measured)
        fprintf(stderr, "fathom: mean fidelity %.4f over %zu measured block%s\n", result.fidelity,
                result.n_measured, result.n_measured == 1 ? "" : "s");
    if (!rc && result.n_failed)
        fprintf(stderr, "fathom: %zu of %zu blocks could not be predicted\n", result.n_failed, result.n_rows);
    if (!rc && result.n_rows && result.n_failed == result.n_rows)
        rc = status__fail(st, "%s: no block could be predicted", q->batch);
out:
    free(text);
    return rc;
}

/* --- loops ------------------------------------------------------------------------------------------ */

struct answers {
    struct loop_report *report;
    struct loop_entry *entry;
    struct status *status;
    size_t n, n_good;
};

static int answer(const struct loop_request *q, const struct loop_inputs *in, struct loopsim *sim,
                  struct answers *a, struct status *st)
{
    a->report = calloc(in->n + 1, sizeof *a->report);
    a->entry = calloc(in->n + 1, sizeof *a->entry);
    a->status = calloc(in->n + 1, sizeof *a->status);
    if (!a->report || !a->entry || !a->status)
        return status__fail(st, "not enough memory for %zu loops", in->n);
    for (; a->n < in->n; a->n++) {
        const struct loop_input *i = &in->item[a->n];
        struct loop_question question = {.name = i->name,
                                         .bytes = i->bytes,
                                         .size = i->size,
                                         .address = i->address,
                                         .registers = q->registers,
                                         .model = q->model,
                                         .bounds_only = q->bounds_only,
                                         .timeline_iterations = q->timeline,
                                         .keep_uops = q->konata != NULL,
                                         .measured = q->measured};
        struct loop_entry *e = &a->entry[a->n];
        *e = (struct loop_entry){.name = i->name,
                                 .function = i->function,
                                 .file = i->file,
                                 .why = i->why,
                                 .line = i->line,
                                 .last_line = i->last_line,
                                 .depth = i->depth,
                                 .start = i->address,
                                 .end = i->address + i->size};
        if (i->why)
            continue;
        if (loop_report__make(sim, &question, &a->report[a->n], &a->status[a->n])) {
            e->why = a->status[a->n].text;
            continue;
        }
        e->report = &a->report[a->n];
        a->n_good++;
    }
    return 0;
}

static void answers__free(struct answers *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->entry[i].report)
            loop_report__free(&a->report[i]);
    free(a->report);
    free(a->entry);
    free(a->status);
}

static void print_text(const struct loop_request *q, const struct answers *a)
{
    struct loop_view_options vo = {.all = q->all, .color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR")};
    bool table = a->n > 1;
    if (table)
        view__loop_table(a->entry, a->n, stdout);
    if (table && !q->all && a->n_good > 1) {
        fputs("\n--function, --line or --at show one of them in full, --all shows all.\n", stdout);
        return;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (!a->entry[i].report)
            continue;
        if (table)
            putc('\n', stdout);
        view__loop_text(a->entry[i].report, &vo, stdout);
    }
}

static int print_dot(const struct loop_request *q, const struct loop_inputs *in, const struct answers *a,
                     struct loopsim *sim, struct status *st)
{
    FILE *out = loop_output__open(q->dot, st);
    if (!out)
        return -1;
    for (size_t i = 0; i < a->n; i++) {
        const struct loop_input *item = &in->item[i];
        struct insn **insn = calloc(item->size + 1, sizeof(struct insn *));
        struct block_shape shape;
        struct status ignored;
        if (a->entry[i].report && insn &&
            block__decode(loopsim__isa(sim), item->bytes, item->size, insn, &shape, &ignored) == 0) {
            struct block block = {.insn = insn,
                                  .n = shape.n,
                                  .address = item->address % 64,
                                  .unrolled = shape.unrolled,
                                  .registers = (int)q->registers};
            bounds__dot(&block, loopsim__core(sim), loopsim__isa(sim), out);
        }
        free(insn);
    }
    return loop_output__close(out, q->dot, st);
}

static int print_konata(const struct loop_request *q, const struct answers *a, struct status *st)
{
    FILE *out;
    if (a->n_good != 1)
        return status__fail_with(st, EXIT_CODE_USAGE,
                                 "a trace is of one loop, and there are %zu: choose one with --function, "
                                 "--line or --at",
                                 a->n_good);
    if (!(out = loop_output__open(q->konata, st)))
        return -1;
    for (size_t i = 0; i < a->n; i++)
        if (a->entry[i].report)
            (text__ends_with(q->konata, ".o3") ? view__loop_o3pipeview
                                               : view__loop_konata)(a->entry[i].report, out);
    return loop_output__close(out, q->konata, st);
}

static int print_json(const struct loop_request *q, const struct answers *a, struct status *st)
{
    FILE *out = loop_output__open(q->json, st);
    if (!out)
        return -1;
    view__loop_json(a->entry, a->n, q->hex ? "--hex" : q->input, out);
    return loop_output__close(out, q->json, st);
}

/* Why single loops have no answer, on standard error; the only one's is the command's failure. */
static int complain(const struct loop_inputs *in, const struct answers *a, struct status *st)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct loop_entry *e = &a->entry[i];
        if (e->report)
            continue;
        if (a->n == 1)
            return status__fail(st, "%s: %s", e->name, e->why);
        if (!in->item[i].why)
            fprintf(stderr, "fathom: %s: %s\n", e->name, e->why);
    }
    return 0;
}

static int loops(const struct loop_request *q, struct status *st)
{
    struct answers a = {0};
    struct loop_inputs in = {0};
    struct loopsim *sim = NULL;
    struct core core;
    int rc = -1;

    if (core_options__load(&q->core, &core, st) || !(sim = loopsim__open(&core, st)) ||
        loop_inputs__read(q, loopsim__isa(sim), &in, st))
        goto out;
    if (q->n_sweeps || q->what_if) {
        rc = loop_sweep(q, &in);
        goto out;
    }
    if (answer(q, &in, sim, &a, st) || complain(&in, &a, st))
        goto out;
    if ((q->konata && print_konata(q, &a, st)) || (q->dot && print_dot(q, &in, &a, sim, st)) ||
        (q->json && print_json(q, &a, st)))
        goto out;
    if (!q->json || strcmp(q->json, "-") != 0)
        print_text(q, &a);
    rc = a.n_good ? 0 : status__fail(st, "%s: none of the %zu loops could be analysed", q->input, a.n);
out:
    answers__free(&a);
    loop_inputs__free(&in);
    loopsim__close(sim);
    return rc;
}

/* --- loops of a stored result ------------------------------------------------------------------------ */

static int print_from_run(const struct loop_request *q, const struct from_run *run, struct status *st)
{
    if (q->json) {
        FILE *out = loop_output__open(q->json, st);
        if (!out)
            return -1;
        view__from_run_json(run, q->from_run, out);
        if (loop_output__close(out, q->json, st))
            return -1;
    }
    if (!q->json || strcmp(q->json, "-") != 0)
        view__from_run_text(run, q->from_run, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), stdout);
    return 0;
}

static int from_run(const struct loop_request *q, struct status *st)
{
    bool chosen = q->select.function || q->select.file || q->select.at_end;
    struct from_run_options fo = {.n = q->n_loops ? q->n_loops : 10,
                                  .sel = chosen ? &q->select : NULL,
                                  .registers = q->registers,
                                  .model = q->model};
    struct from_run run = {0};
    struct profile *profile = profile__load(q->from_run, st);
    struct core core;
    int rc = -1;

    if (!profile || (q->core.name && core_options__load(&q->core, &core, st)))
        goto out;
    if (q->core.name)
        fo.core = &core;
    rc = from_run__make(profile, &fo, &run, st);
    for (size_t i = 0; i < run.n_notes; i++)
        fprintf(stderr, "fathom: %s\n", run.note[i]);
    if (!rc)
        rc = print_from_run(q, &run, st);
out:
    from_run__free(&run);
    profile__free(profile);
    return rc;
}

int cmd_loop(int argc, char **argv)
{
    struct loop_request q = {.registers = LOOP_REGISTERS_STACK, .measured = (double)NAN};
    struct status st = {0};
    int rc = parse(argc, argv, &q);

    if (q.help) {
        fputs(usage_text, stdout);
    } else if (!rc) {
        rc = q.batch ? batch(&q, &st) : q.from_run ? from_run(&q, &st) : loops(&q, &st);
        if (rc < 0)
            rc = options__fail(&st);
    }
    free(q.line_file);
    return rc;
}
