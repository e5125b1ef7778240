/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands: argv[0] is the subcommand's name; the result is the exit status (status.h). */
#ifndef FATHOM_CMD_CMD_H
#define FATHOM_CMD_CMD_H

int cmd_run(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_loop(int argc, char **argv);
int cmd_cores(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
