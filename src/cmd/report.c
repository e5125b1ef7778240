/* SPDX-License-Identifier: Apache-2.0 */
/* fathom report: any view of a stored result. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/view.h"

static const char usage_text[] =
    "Usage: fathom report [OPTION]... FILE\n"
    "Show a result that fathom run -o FILE has stored.\n"
    "\n"
    "  -a, --all            every tree node, stack component and source line, not only what matters\n"
    "  -l, --level N        the tree down to level N only\n"
    "  -c, --compare        the exact tree beside the one derived from counters\n"
    "  -n, --functions N    the N hottest functions (10)\n"
    "      --json           everything as one JSON object (docs/json.md)\n"
    "      --core-file      the description of the core it was made for, usable with --core\n"
    "  -h, --help           this text\n"
    "\n"
    "Examples:\n"
    "  fathom report app.fathom                    the report fathom run ended with\n"
    "  fathom report app.fathom --all --level 3    every node of the first three levels\n"
    "  fathom report app.fathom --compare          how far off counters would have been\n"
    "  fathom report app.fathom --json | jq '.trees.topdown[] | select(.flagged)'\n"
    "  fathom report app.fathom --core-file > my.core\n"
    "\n"
    "Exit status: 0; 2 wrong usage; 125 the file cannot be read or the output not be written\n";

enum { OPT_JSON = 256, OPT_CORE_FILE };

static const struct option long_options[] = {
    {"all", no_argument, NULL, 'a'},       {"level", required_argument, NULL, 'l'},
    {"compare", no_argument, NULL, 'c'},   {"functions", required_argument, NULL, 'n'},
    {"json", no_argument, NULL, OPT_JSON}, {"core-file", no_argument, NULL, OPT_CORE_FILE},
    {"help", no_argument, NULL, 'h'},      {NULL, 0, NULL, 0},
};

struct report_options {
    struct text_options text;
    bool json, core_file, help;
    const char *path;
};

static bool positive(const char *text, int *value)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < 1 || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

/* 0, or the exit code of wrong usage; getopt has then said what is wrong, or this has. */
static int parse(int argc, char **argv, struct report_options *opt)
{
    int c;
    optind = 0; /* start anew: main has read options of its own */
    while ((c = getopt_long(argc, argv, "al:cn:h", long_options, NULL)) != -1) {
        switch (c) {
        case 'a':
            opt->text.all = true;
            break;
        case 'l':
            if (!positive(optarg, &opt->text.level))
                return options__usage_error("report", "--level needs a number from 1 on, not '%s'", optarg);
            break;
        case 'c':
            opt->text.compare = true;
            break;
        case 'n':
            if (!positive(optarg, &opt->text.functions))
                return options__usage_error("report", "--functions needs a number from 1 on, not '%s'",
                                            optarg);
            break;
        case OPT_JSON:
            opt->json = true;
            break;
        case OPT_CORE_FILE:
            opt->core_file = true;
            break;
        case 'h':
            opt->help = true;
            return 0;
        default:
            return options__usage_error("report", "see the message above");
        }
    }
    if (opt->json && opt->core_file)
        return options__usage_error("report", "--json and --core-file exclude each other");
    if (optind >= argc)
        return options__usage_error("report", "the result file to show is missing");
    if (optind + 1 < argc)
        return options__usage_error("report", "one result file at a time, what is '%s'", argv[optind + 1]);
    opt->path = argv[optind];
    return 0;
}

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0);
}

static void render(const struct profile *profile, const struct report_options *opt)
{
    if (opt->json)
        view__json(profile, stdout);
    else if (opt->core_file)
        fputs(profile->core_text ? profile->core_text : "", stdout);
    else
        view__text(profile, &opt->text, stdout);
}

int cmd_report(int argc, char **argv)
{
    struct report_options opt = {0};
    struct status st = {0};
    struct profile *profile = NULL;
    int result = parse(argc, argv, &opt);

    if (result)
        goto out;
    if (opt.help) {
        fputs(usage_text, stdout);
        goto out;
    }
    opt.text.color = wants_color();
    profile = profile__load(opt.path, &st);
    if (!profile) {
        result = options__fail(&st);
        goto out;
    }
    render(profile, &opt); /* main checks that it could be written */
out:
    profile__free(profile);
    return result;
}
