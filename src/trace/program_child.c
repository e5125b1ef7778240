/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/text.h"
#include "fathom/program.h"
#include "fathom/status.h"
#include "trace/program_launch.h"
#include "trace/program_reader.h"

extern char **environ;

#define QEMU_NAME "qemu-x86_64"
#define QEMU_REMEDY "install qemu-user 7.2 or another 5.x to 8.x (apt-get install qemu-user)"
#define PLUGIN_NAME "fathom-qemu.so"

enum { HIGH_FD = 1000, FIXED_QEMU_ARGS = 16 };

/* What execve gets. */
struct command {
    const char *qemu;
    char **argv, **envp;
};

static const char *find_plugin(struct arena *arena, const char *wanted, struct status *st)
{
    char *beside, *path;

    if (wanted) {
        if (access(wanted, R_OK) == 0)
            return wanted;
        status__fail(st, "%s: the tracer plugin cannot be read: %s", wanted, strerror(errno));
        return NULL;
    }
    beside = file__beside_executable(PLUGIN_NAME);
    path = beside ? arena__strdup(arena, beside) : NULL;
    free(beside);
    if (path && access(path, R_OK) == 0)
        return path;
    beside = file__beside_executable("../lib/fathom/" PLUGIN_NAME);
    path = beside ? arena__strdup(arena, beside) : NULL;
    free(beside);
    if (path && access(path, R_OK) == 0)
        return path;
    status__fail(
        st,
        "the tracer plugin %s is neither beside the fathom executable nor in ../lib/fathom; build or "
        "install it (it is made together with fathom)",
        PLUGIN_NAME);
    return NULL;
}

/* qemu separates plugin arguments by commas; a doubled one stands for itself. */
static char *double_commas(struct arena *arena, const char *text)
{
    char *doubled = arena__array(arena, 2 * strlen(text) + 1, 1), *to = doubled;

    for (; doubled && *text; text++) {
        *to++ = *text;
        if (*text == ',')
            *to++ = ',';
    }
    return doubled;
}

/* Variables that would act on the emulator instead of the program. */
static bool acts_on_qemu(const char *variable)
{
    return text__starts_with(variable, "QEMU_");
}

/* The dynamic linker's variables are for the program alone; qemu passes them on with -E. */
static bool acts_on_loader(const char *variable)
{
    return text__starts_with(variable, "LD_") && !strchr(variable, ',');
}

static int make_command(struct command *command, struct launch *launch, const struct program_options *opt,
                        int ring_fd, struct status *st)
{
    struct arena *arena = &launch->arena;
    const char *plugin = find_plugin(arena, opt->plugin, st);
    size_t n_argv = 0, n_env = 0, at = 0, env_at = 0;
    char **argv, **envp;

    if (!plugin)
        return -1;
    command->qemu = launch__search(arena, opt->qemu ? opt->qemu : QEMU_NAME);
    if (!command->qemu)
        return status__fail(st, "%s is not installed or not in PATH; " QEMU_REMEDY,
                            opt->qemu ? opt->qemu : QEMU_NAME);
    while (launch->argv[n_argv])
        n_argv++;
    while (environ[n_env])
        n_env++;
    argv = arena__array(arena, n_argv + 2 * n_env + FIXED_QEMU_ARGS, sizeof *argv);
    envp = arena__array(arena, n_env + 1, sizeof *envp);
    plugin = double_commas(arena, plugin);
    plugin = plugin ? arena__printf(arena, "%s%s,ring=%d", strchr(plugin, '/') ? "" : "./", plugin, ring_fd)
                    : NULL;
    if (!argv || !envp || !plugin)
        return status__fail(st, "out of memory");
    argv[at++] = "qemu-x86_64";
    argv[at++] = "-seed";
    argv[at++] = "1";
    if (opt->guest_cpu) {
        argv[at++] = "-cpu";
        argv[at++] = (char *)(uintptr_t)opt->guest_cpu;
    }
    argv[at++] = "-plugin";
    argv[at++] = (char *)(uintptr_t)plugin;
    for (size_t i = 0; i < n_env; i++) {
        if (acts_on_loader(environ[i])) {
            argv[at++] = "-E";
            argv[at++] = environ[i];
        } else if (!acts_on_qemu(environ[i])) {
            envp[env_at++] = environ[i];
        }
    }
    argv[at++] = "-0";
    argv[at++] = launch->argv[0];
    argv[at++] = (char *)(uintptr_t)launch->path;
    for (size_t i = 1; i < n_argv; i++)
        argv[at++] = launch->argv[i];
    command->argv = argv;
    command->envp = envp;
    return 0;
}

/* Between fork and exec: only async-signal-safe calls. Reports errno through `fail_fd`. */
static _Noreturn void run_child(const struct command *command, int ring_fd, int fail_fd, pid_t parent)
{
    int persona = personality(0xffffffff), why;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_CODE_TOOL);
    if (persona != -1)
        personality((unsigned long)persona |
                    ADDR_NO_RANDOMIZE); /* refused in some containers: qemu's own layout holds */
    fcntl(ring_fd, F_SETFD, 0);
    execve(command->qemu, command->argv, command->envp);
    why = errno;
    if (write(fail_fd, &why, sizeof why) < 0)
        _exit(EXIT_CODE_TOOL);
    _exit(EXIT_CODE_TOOL);
}

/* First line of `qemu --version`; empty if it does not even start. */
static void read_version(const char *qemu, char *line, size_t size)
{
    int fds[2];
    pid_t pid;
    ssize_t n = 0;

    line[0] = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        execl(qemu, qemu, "--version", (char *)NULL);
        _exit(EXIT_CODE_NOT_FOUND);
    }
    close(fds[1]);
    if (pid > 0) {
        n = read(fds[0], line, size - 1);
        line[n > 0 ? n : 0] = 0;
        line[strcspn(line, "\n")] = 0;
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(fds[0]);
}

/* The emulator ended before the plugin said hello: why? */
static int explain_refusal(const char *qemu, struct status *st)
{
    char line[256];
    const char *version;
    int major = 0;

    read_version(qemu, line, sizeof line);
    version = strstr(line, "version ");
    if (!version || sscanf(version, "version %d", &major) != 1)
        return status__fail(st, "%s does not work as an emulator; " QEMU_REMEDY, qemu);
    if (major < 5 || major > 8)
        return status__fail(st, "%s is %s, whose plugin interface is too %s; " QEMU_REMEDY, qemu, version,
                            major < 5 ? "old" : "new");
    return status__fail(st, "%s (%s) refused to load the tracer plugin; " QEMU_REMEDY, qemu, version);
}

static void remember_executable(struct reader *reader)
{
    char link[64];
    struct stat info;

    snprintf(link, sizeof link, "/proc/%d/exe", (int)reader->pid);
    if (stat(link, &info) == 0) {
        reader->qemu_dev = info.st_dev;
        reader->qemu_ino = info.st_ino;
    }
}

void child__kill(const struct reader *reader)
{
    if (reader->pid > 0)
        kill(reader->pid, SIGKILL);
}

static siginfo_t peek_end(const struct reader *reader)
{
    siginfo_t info = {0};

    if (reader->pid <= 0 ||
        (waitid(P_PID, (id_t)reader->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD))
        info.si_code = CLD_EXITED;
    return info;
}

bool child__is_dead(const struct reader *reader)
{
    return peek_end(reader).si_code != 0;
}

int child__death_signal(const struct reader *reader)
{
    siginfo_t info = peek_end(reader);

    return info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED ? info.si_status : 0;
}

int child__reap(struct reader *reader)
{
    int status = 0;

    if (reader->pid <= 0)
        return 0;
    while (waitpid(reader->pid, &status, 0) < 0 && errno == EINTR)
        if (reader->cancelled)
            child__kill(reader);
    reader->pid = 0;
    return status;
}

static void kill_child(struct reader *reader)
{
    child__kill(reader);
    child__reap(reader);
}

/* Forks and execs; fails if the exec did. */
static int spawn(struct reader *reader, const struct command *command, int ring_fd, struct status *st)
{
    int fds[2], why = 0;
    pid_t parent = getpid();
    ssize_t n;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return status__fail(st, "cannot start %s: %s", command->qemu, strerror(errno));
    reader->pid = fork();
    if (reader->pid == 0)
        run_child(command, ring_fd, fds[1], parent);
    close(fds[1]);
    if (reader->pid < 0) {
        reader->pid = 0;
        close(fds[0]);
        return status__fail(st, "cannot start %s: %s", command->qemu, strerror(errno));
    }
    do
        n = read(fds[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(fds[0]);
    if (n == (ssize_t)sizeof why) {
        kill_child(reader);
        return status__fail(st, "cannot start %s: %s; " QEMU_REMEDY, command->qemu, strerror(why));
    }
    return 0;
}

int child__start(struct reader *reader, struct launch *launch, const struct program_options *opt,
                 struct status *st)
{
    struct command command = {0};
    int ring_fd = fcntl(reader->fd, F_DUPFD_CLOEXEC, HIGH_FD), rc = -1;

    if (ring_fd < 0) /* few descriptors allowed: the plugin closes it before the program starts anyway */
        ring_fd = fcntl(reader->fd, F_DUPFD_CLOEXEC, 3);
    if (ring_fd < 0)
        return status__fail(st, "cannot hand over the shared trace memory: %s", strerror(errno));
    if (make_command(&command, launch, opt, ring_fd, st) != 0 || spawn(reader, &command, ring_fd, st) != 0)
        goto out;
    if (!reader__wait_hello(reader)) {
        kill_child(reader);
        if (reader->cancelled)
            status__fail(st, "interrupted before the program started");
        else
            explain_refusal(command.qemu, st);
        goto out;
    }
    remember_executable(reader);
    close(reader->fd);
    reader->fd = -1;
    rc = 0;
out:
    close(ring_fd);
    return rc;
}
