/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "fathom/core.h"
#include "fathom/status.h"

static void print_help(void)
{
    puts("Usage: fathom cores\n"
         "       fathom cores show [--set KEY=VALUE]... NAME|FILE\n"
         "List the processors that are modelled, or print one, value by value, with unit,\n"
         "source and confidence. The printed text is a core file: change it and name it\n"
         "with --core. A file is checked when it is loaded.\n"
         "\n"
         "  --set KEY=VALUE   change one value, for example --set rob=512\n"
         "  -h, --help        this text\n"
         "\n"
         "Examples:\n"
         "  fathom cores\n"
         "  fathom cores show skl\n"
         "  fathom cores show --set rob=512 skl >big.core\n"
         "  fathom run --core ./big.core -- ./app");
}

static int list(void)
{
    for (const char *const *name = core__names(); *name; name++) {
        struct core core;
        struct status st;

        if (core__load(&core, *name, NULL, 0, &st))
            return options__fail(&st);
        printf("%-5s %-24s %u wide, ROB %u, RS %u, L2 %u KiB, L3 %g MiB, %g GHz\n", core.name, core.title,
               core.issue_width, core.rob_entries, core.rs_entries, core.l2.size_bytes / 1024,
               core.l3.size_bytes / 1048576.0, core.freq_ghz);
    }
    return 0;
}

static int show(const struct core_options *opt)
{
    struct core core;
    struct status st;

    if (core_options__load(opt, &core, &st))
        return options__fail(&st);
    core__print(&core, stdout);
    return 0;
}

int cmd_cores(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"set", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
    struct core_options opt = {0};
    struct status st;
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (c == 'h') {
            print_help();
            return 0;
        }
        if (c != 's')
            return options__usage_error("cores", "see the message above");
        if (core_options__set(&opt, optarg, &st))
            return options__fail(&st);
    }
    if (optind == argc && !opt.n_set)
        return list();
    if (optind < argc && strcmp(argv[optind], "list") == 0 && optind + 1 == argc && !opt.n_set)
        return list();
    if (optind == argc || strcmp(argv[optind], "show") != 0)
        return options__usage_error("cores", "expected \"show NAME\" or nothing");
    if (optind + 2 != argc)
        return options__usage_error("cores", "show takes one core, by name or by file");
    opt.name = argv[optind + 1];
    return show(&opt);
}
