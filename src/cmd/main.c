/* SPDX-License-Identifier: Apache-2.0 */
/* The fathom command: a table of subcommands. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "fathom/status.h"

static const struct command {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "simulate a program: where its cycles go, and why", cmd_run},
    {"loop", "cycles per iteration of a loop or block, and what bounds it", cmd_loop},
    {"report", "show a stored result again, in any form", cmd_report},
    {"cores", "list and print the processors that are modelled", cmd_cores},
    {"doctor", "what this machine can and cannot do, and how to change that", cmd_doctor},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
    fputs("Usage: fathom COMMAND [OPTION]... [ARGUMENT]...\n"
          "Where do the cycles go, and what is there to gain?\n\nCommands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\n"
          "  -h, --help      this text; 'fathom COMMAND --help' tells about a command\n"
          "  -V, --version   the version\n"
          "\nExamples:\n"
          "  fathom run -- ./app input.txt        what is ./app bound by, and in which line?\n"
          "  fathom run -o app.fathom -- ./app    and keep the result in a file\n"
          "  fathom report app.fathom             look at it again\n"
          "  fathom cores show skl                the simulated processor, value by value\n"
          "\nExit status: that of the program for 'run'; 2 for usage errors, 3 for a failed gate,\n"
          "125 when fathom itself fails, 126 and 127 when the program cannot be run or found.\n",
          out);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    const char *like = NULL;
    unsigned distance = 3;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        unsigned d = text__distance(name, commands[i].name, distance);

        if (d < distance) {
            distance = d;
            like = commands[i].name;
        }
    }
    fprintf(stderr, "fathom: there is no %s \"%s\"", name[0] == '-' ? "option" : "command", name);
    if (like)
        fprintf(stderr, "; did you mean \"%s\"?", like);
    fputs("\nTry 'fathom --help'.\n", stderr);
    return EXIT_CODE_USAGE;
}

/* Figures that could not be written must not look like success: "fathom report >full-disk". */
static int close_output(int exit_code)
{
    bool failed = ferror(stdout) != 0 || fflush(stdout) != 0;

    /* Closed from the start and never written to is no failure. */
    if (failed || (fclose(stdout) != 0 && errno != EBADF)) {
        fputs("fathom: cannot write to standard output\n", stderr);
        return exit_code ? exit_code : EXIT_CODE_TOOL;
    }
    return exit_code;
}

int main(int argc, char **argv)
{
    const struct command *command;
    char *help[] = {NULL, "--help", NULL};

    if (argc < 2) {
        print_help(stderr);
        return EXIT_CODE_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        print_help(stdout);
        return close_output(0);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("fathom " FATHOM_VERSION);
        return close_output(0);
    }
    if (strcmp(argv[1], "help") == 0) {
        command = find(argv[2]);
        help[0] = argv[2];
        return command ? close_output(command->run(2, help)) : unknown(argv[2]);
    }
    command = find(argv[1]);
    return command ? close_output(command->run(argc - 1, argv + 1)) : unknown(argv[1]);
}
