/* SPDX-License-Identifier: Apache-2.0 */
/* fathom run: simulate a program, store the result, report it. */
#include <getopt.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/copies.h"
#include "cmd/options.h"
#include "cmd/simulate.h"
#include "fathom/account.h"
#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/view.h"

static const char usage_text[] =
    "Usage: fathom run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "Run the unmodified program on a simulated out-of-order core and tell where its cycles go.\n"
    "The program keeps stdin, stdout, stderr and its exit status; the report goes to stderr.\n"
    "\n"
    "  -c, --core NAME|FILE      the core: snb ivb hsw bdw skl (skl), or a description of your own\n"
    "      --set KEY=VALUE       change one value of the core ('fathom cores show skl' lists them)\n"
    "  -o, --output FILE         store the result there (PROGRAM.fathom); 'none' stores nothing\n"
    "      --json FILE           the result as JSON too; '-' is stdout\n"
    "  -n, --max-instructions N  stop after about N instructions\n"
    "  -a, --all                 every tree node and stack component, not only what matters\n"
    "  -l, --level N             the tree down to level N only\n"
    "      --compare             the exact tree beside the one derived from simulated counters\n"
    "      --stages              CPI stacks of rename, execution and retirement side by side (a few % "
    "slower)\n"
    "      --metrics FILE        evaluate a metric file in perf's JSON schema on the simulated counters too\n"
    "      --counters N[,CYCLES] the counter tree as N counters see it that take turns of CYCLES (20000),\n"
    "                            as under perf, and the error that makes\n"
    "      --ideal LIST          what would be gained without: any of l1 l2 l3 memory tlb branch icache\n"
    "                            frontend ports window, alone and together\n"
    "      --compare-cores LIST  the same execution on other cores too, side by side\n"
    "      --copies N            N copies on N cores that share L3 and memory, and one alone to compare\n"
    "      --sample[=PERIOD[,WINDOW[,WARM]]]\n"
    "                            simulate WINDOW (1000) of every PERIOD instructions in detail and estimate\n"
    "                            the rest: about ten times faster, with the interval of the error\n"
    "  -q, --quiet               no report and no progress, only the files\n"
    "  -h, --help                this text\n"
    "\n"
    "Not with one another: --copies, --sample; nor either with --ideal, --compare-cores, --stages, "
    "--counters.\n"
    "\n"
    "Examples:\n"
    "  fathom run -- ./app input.txt             what is ./app bound by?\n"
    "  fathom run --core hsw --set rob_entries=512 -- ./app\n"
    "  fathom run --ideal memory,branch -- ./app what would a perfect memory, perfect prediction bring?\n"
    "  fathom run --core ivb --compare-cores hsw,skl -- ./app\n"
    "  fathom run --core ivb --copies 4 -- ./app does it scale, and what stops it?\n"
    "  fathom run -q -o new.fathom -- gzip -c file >file.gz; fathom report new.fathom --all\n"
    "\n"
    "Exit status: the program's; 125 if fathom itself fails, 126 or 127 if the program cannot be run or\n"
    "is not found, 128 + N if signal N ended it.\n";

enum {
    OPT_SET = 256,
    OPT_JSON,
    OPT_COMPARE,
    OPT_IDEAL,
    OPT_COMPARE_CORES,
    OPT_METRICS,
    OPT_COPIES,
    OPT_COUNTERS,
    OPT_STAGES,
    OPT_SAMPLE
};

/* perf: 4 ms, some seconds' run being some thousand turns. A run here has some ten million cycles. */
enum { DEFAULT_TURN_CYCLES = 20000 };

static const struct option long_options[] = {
    {"core", required_argument, NULL, 'c'},
    {"set", required_argument, NULL, OPT_SET},
    {"output", required_argument, NULL, 'o'},
    {"json", required_argument, NULL, OPT_JSON},
    {"all", no_argument, NULL, 'a'},
    {"level", required_argument, NULL, 'l'},
    {"compare", no_argument, NULL, OPT_COMPARE},
    {"stages", no_argument, NULL, OPT_STAGES},
    {"metrics", required_argument, NULL, OPT_METRICS},
    {"counters", required_argument, NULL, OPT_COUNTERS},
    {"ideal", required_argument, NULL, OPT_IDEAL},
    {"compare-cores", required_argument, NULL, OPT_COMPARE_CORES},
    {"copies", required_argument, NULL, OPT_COPIES},
    {"sample", optional_argument, NULL, OPT_SAMPLE},
    {"quiet", no_argument, NULL, 'q'},
    {"max-instructions", required_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct run_options {
    struct core_options core;
    struct text_options text;
    struct ideal_list ideal;
    struct sample_plan sample;
    const char *output, *json, *compare_cores, *metrics;
    uint64_t max_instructions, n_copies;
    uint64_t counters, turn_cycles;
    bool stages, quiet, help;
};

/* "4" or "4,100000". */
static int parse_counters(struct run_options *o, const char *text)
{
    const char *comma = strchr(text, ',');
    char counters[32];

    snprintf(counters, sizeof counters, "%.*s", comma ? (int)(comma - text) : 31, text);
    o->turn_cycles = DEFAULT_TURN_CYCLES;
    if (!text__to_u64(counters, &o->counters) || o->counters < 1 || o->counters > PMU_MUX_MAX_COUNTERS)
        return options__usage_error("run", "--counters needs a number from 1 to %d, not '%s'",
                                    PMU_MUX_MAX_COUNTERS, counters);
    if (comma &&
        (!text__to_u64(comma + 1, &o->turn_cycles) || o->turn_cycles < 100 || o->turn_cycles > 1000000000))
        return options__usage_error(
            "run", "--counters: turns are 100 to 1000000000 cycles, as in 4,100000; not '%s'", comma + 1);
    return 0;
}

/* Copies and samples are other kinds of simulation: what follows every cycle of one core has no place there.
 */
static int check_combination(const struct run_options *o)
{
    const char *first = o->sample.period ? "--sample" : o->n_copies ? "--copies" : NULL;
    const char *second = o->sample.period && o->n_copies ? "--copies"
                         : o->ideal.n                    ? "--ideal"
                         : o->compare_cores              ? "--compare-cores"
                         : o->stages                     ? "--stages"
                         : o->counters                   ? "--counters"
                                                         : NULL;

    if (!first || !second)
        return 0;
    return options__usage_error("run", "%s cannot be combined with %s; ask for one in each run", first,
                                second);
}

static int parse(int argc, char **argv, struct run_options *o)
{
    struct status st = {0};
    uint64_t n;
    int c;

    optind = 0;
    while ((c = getopt_long(argc, argv, "+c:o:n:al:qh", long_options, NULL)) != -1) {
        switch (c) {
        case 'c':
            o->core.name = optarg;
            break;
        case OPT_SET:
            if (core_options__set(&o->core, optarg, &st))
                return options__usage_error("run", "%s", st.text);
            break;
        case 'o':
            o->output = optarg;
            break;
        case OPT_JSON:
            o->json = optarg;
            break;
        case 'n':
            if (!text__to_u64(optarg, &o->max_instructions) || !o->max_instructions)
                return options__usage_error("run", "--max-instructions needs a number from 1 on, not '%s'",
                                            optarg);
            break;
        case 'a':
            o->text.all = true;
            break;
        case 'l':
            if (!text__to_u64(optarg, &n) || n < 1 || n > 9)
                return options__usage_error("run", "--level needs a number from 1 to 9, not '%s'", optarg);
            o->text.level = (int)n;
            break;
        case OPT_COMPARE:
            o->text.compare = true;
            break;
        case OPT_STAGES:
            o->stages = true;
            break;
        case OPT_METRICS:
            o->metrics = optarg;
            break;
        case OPT_COUNTERS:
            if (parse_counters(o, optarg))
                return EXIT_CODE_USAGE;
            break;
        case OPT_IDEAL:
            if (ideal__parse(&o->ideal, optarg, &st))
                return options__usage_error("run", "%s", st.text);
            break;
        case OPT_COMPARE_CORES:
            if (o->compare_cores)
                return options__usage_error("run", "--compare-cores twice; give all cores in one list");
            o->compare_cores = optarg;
            break;
        case OPT_COPIES:
            if (!text__to_u64(optarg, &o->n_copies) || o->n_copies < 1 || o->n_copies > COPIES_MAX)
                return options__usage_error("run", "--copies needs a number from 1 to %d, not '%s'",
                                            COPIES_MAX, optarg);
            break;
        case OPT_SAMPLE:
            if (sample__parse(&o->sample, optarg, &st))
                return options__usage_error("run", "%s", st.text);
            break;
        case 'q':
            o->quiet = true;
            break;
        case 'h':
            o->help = true;
            return 0;
        default:
            return options__usage_error("run", "see the line above");
        }
    }
    if (check_combination(o))
        return EXIT_CODE_USAGE;
    if (optind >= argc)
        return options__usage_error("run", "which program? Give it after the options: fathom run -- ./app");
    return 0;
}

/* --- --compare-cores -------------------------------------------------------------------------- */

static int add_core(struct lane_plan *plan, const char *name, bool self, const struct core *own,
                    struct status *st)
{
    struct compare_core *c = &plan->compare[plan->n_compare];

    if (plan->n_compare == LANE_MAX_CORES)
        return status__fail_with(st, EXIT_CODE_USAGE, "--compare-cores: at most %d cores", LANE_MAX_CORES);
    c->self = self;
    snprintf(c->label, sizeof c->label, "%s", name);
    for (size_t i = 0; i < plan->n_compare; i++)
        if (strcmp(plan->compare[i].label, c->label) == 0)
            return status__fail_with(st, EXIT_CODE_USAGE, "--compare-cores has '%s' twice; give it once",
                                     c->label);
    if (self)
        c->core = *own;
    else if (core__load(&c->core, name, NULL, 0, st)) {
        st->exit_code = EXIT_CODE_USAGE;
        return -1;
    }
    plan->n_compare++;
    return 0;
}

/* The core of the run comes first unless the list has it. With --set it is another than the one listed. */
static int plan_cores(const struct run_options *o, const struct core *own, struct lane_plan *plan,
                      struct status *st)
{
    const char *own_name = o->core.name ? o->core.name : OPTIONS_DEFAULT_CORE;
    char *list = strdup(o->compare_cores), *rest = list, *name, label[64];
    size_t n_own = 0, n_names = 0;
    int rc = -1;

    while ((name = strsep(&rest, ","))) {
        n_names++;
        n_own += !o->core.n_set && strcmp(name, own_name) == 0;
    }
    snprintf(label, sizeof label, o->core.n_set ? "%.50s, set" : "%.60s", own->name);
    if (!n_own && add_core(plan, label, true, own, st))
        goto out;
    for (name = list; n_names--; name += strlen(name) + 1) {
        bool self = !o->core.n_set && strcmp(name, own_name) == 0;
        if (add_core(plan, name, self, own, st))
            goto out;
    }
    rc = 0;
    if (plan->n_compare < 2)
        rc = status__fail_with(st, EXIT_CODE_USAGE,
                               "--compare-cores names only %s, the core of the run; name another one",
                               own_name);
out:
    free(list);
    return rc;
}

/* Before a long run: can the file be written at all? Devices and pipes do for `streams`. */
static int check_writable(const char *path, const char *option, bool streams, struct status *st)
{
    char *copy = strdup(path);
    const char *dir = dirname(copy);
    struct stat info;
    int rc = 0;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        rc = status__fail(st, "%s: is a directory; give the name of a file with %s", path, option);
    else if (streams && stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        rc = 0;
    else if (access(dir, W_OK | X_OK) != 0)
        rc =
            status__fail(st, "%s: cannot write into %s: %m; choose another place with %s", path, dir, option);
    free(copy);
    return rc;
}

/* A device or pipe is written as it is; it is neither renamed over nor removed. */
static int write_json_stream(const struct profile *p, const char *path, struct status *st)
{
    FILE *out = fopen(path, "we");
    bool bad = !out;

    if (out) {
        view__json(p, out);
        bad = ferror(out) != 0;
        bad |= fclose(out) != 0;
    }
    return bad ? status__fail(st, "cannot write %s: %m; choose another place with --json", path) : 0;
}

static int write_json(const struct profile *p, const char *path, struct status *st)
{
    struct file_writer writer;
    struct stat info;
    char *real;
    int rc = -1;

    if (strcmp(path, "-") == 0) { /* main checks that it could be written */
        view__json(p, stdout);
        return 0;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return write_json_stream(p, path, st);
    real = realpath(path, NULL); /* through a symbolic link, so that the link stays one */
    if (file__begin(&writer, real ? real : path, st) == 0) {
        view__json(p, writer.out);
        rc = file__commit(&writer, st);
    }
    free(real);
    return rc;
}

static int finish(const struct run_options *o, const char *output, const struct profile *p)
{
    struct status st = {0};

    signal(SIGXFSZ, SIG_IGN); /* over a file-size limit: the error of write() tells it */
    if (!o->quiet)
        view__text(p, &o->text, stderr);
    if (p->incomplete_why && o->quiet)
        fprintf(stderr, "fathom: %s\n", p->incomplete_why);
    if (output && profile__save(p, output, &st)) {
        options__fail(&st);
        return o->output ? EXIT_CODE_TOOL : p->exit_status;
    }
    if (output && !o->quiet)
        fprintf(stderr, "Result: %s (fathom report %s --all shows everything)\n", output, output);
    if (o->json && write_json(p, o->json, &st))
        return options__fail(&st);
    return p->exit_status;
}

int cmd_run(int argc, char **argv)
{
    struct run_options o = {0};
    struct status st = {0};
    struct simulate_options so = {0};
    struct profile *p = NULL;
    char *output = NULL;
    int rc = parse(argc, argv, &o);

    if (rc || o.help) {
        if (o.help)
            fputs(usage_text, stdout);
        return rc;
    }
    so.argv = argv + optind;
    so.max_instructions = o.max_instructions;
    so.quiet = o.quiet;
    so.metrics = o.metrics;
    so.stages = o.stages;
    so.n_copies = (unsigned)o.n_copies;
    so.counters = (unsigned)o.counters;
    so.turn_cycles = (uint32_t)o.turn_cycles;
    so.sample = o.sample;
    rc = EXIT_CODE_TOOL;
    if (core_options__load(&o.core, &so.core, &st))
        goto fail;
    so.beside.ideal = o.ideal;
    if (o.compare_cores && plan_cores(&o, &so.core, &so.beside, &st))
        goto fail;
    o.text.color = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    if (!o.output || strcmp(o.output, "none") != 0) {
        char *copy = strdup(so.argv[0]);
        output = o.output ? strdup(o.output) : text__printf("%s.fathom", basename(copy));
        free(copy);
    }
    if (o.output && output && check_writable(output, "-o", false, &st))
        goto fail;
    if (o.json && strcmp(o.json, "-") != 0 && check_writable(o.json, "--json", true, &st))
        goto fail;
    if (!(p = simulate__program(&so, &st)))
        goto fail;
    rc = finish(&o, output, p);
    goto out;
fail:
    rc = options__fail(&st);
out:
    profile__free(p);
    free(output);
    return rc;
}
