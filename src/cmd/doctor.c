/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do for fathom, and how to change what it cannot. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "fathom/core.h"
#include "fathom/status.h"

extern char **environ;

enum { MIN_MEMORY_MIB = 256 };

static void line(const char *state, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void line(const char *state, const char *what, const char *fmt, ...)
{
    va_list args;

    printf("%-8s %-14s ", state, what);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

static void remedy(const char *text)
{
    printf("%-23s -> %s\n", "", text);
}

/* Standard output and error of a command, at most size - 1 bytes; its exit status, or -1. */
static int run_command(char *const argv[], char *output, size_t size)
{
    posix_spawn_file_actions_t actions;
    int pipe_fd[2], status = -1, error;
    size_t used = 0;
    ssize_t got;
    pid_t pid;

    output[0] = '\0';
    if (pipe2(pipe_fd, O_CLOEXEC))
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDERR_FILENO);
    error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fd[1]);
    while (!error && used + 1 < size && (got = read(pipe_fd[0], output + used, size - 1 - used)) > 0)
        used += (size_t)got;
    output[used] = '\0';
    close(pipe_fd[0]);
    if (error || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The emulator is there, and of a version whose plugin interface the tracer speaks (7.2 to 8.2). */
static bool check_qemu(void)
{
    char *const argv[] = {"qemu-x86_64", "--version", NULL};
    char text[512];
    const char *version;
    unsigned major = 0, minor = 0;

    if (run_command(argv, text, sizeof(text)) != 0) {
        line("missing", "qemu", "qemu-x86_64 is not in PATH; 'fathom run' needs it to execute programs");
        remedy("as root: apt-get install --no-install-recommends qemu-user");
        return false;
    }
    version = strstr(text, "version ");
    if (!version || sscanf(version, "version %u.%u", &major, &minor) != 2) {
        line("missing", "qemu", "qemu-x86_64 does not tell its version");
        remedy("install Debian's package qemu-user, 7.2 or later");
        return false;
    }
    if (major < 7 || (major == 7 && minor < 2) || major >= 9) {
        line("missing", "qemu", "qemu-x86_64 %u.%u has another plugin interface than 7.2 to 8.2", major,
             minor);
        remedy("install a version from 7.2 to 8.2, for example qemu-user of Debian 12");
        return false;
    }
    line("ok", "qemu", "qemu-x86_64 %u.%u", major, minor);
    return true;
}

static bool check_plugin(void)
{
    char *path = file__beside_executable("fathom-qemu.so");
    bool found = path && access(path, R_OK) == 0;

    if (found) {
        line("ok", "tracer", "fathom-qemu.so beside the executable");
    } else {
        line("missing", "tracer", "%s cannot be read", path ? path : "fathom-qemu.so");
        remedy("build it with the rest (ninja -C build) and keep it beside the executable");
    }
    free(path);
    return found;
}

/* A program runs on every modelled processor without a word on standard error. */
static bool check_guest_cpus(void)
{
    bool good = true;

    for (const char *const *name = core__names(); *name; name++) {
        struct core core;
        struct status st;
        char text[512];

        if (core__load(&core, *name, NULL, 0, &st)) {
            line("missing", "guest CPU", "%s", st.text);
            good = false;
            continue;
        }
        char *const argv[] = {"qemu-x86_64", "-cpu", core.guest_cpu, "/bin/true", NULL};
        int rc = run_command(argv, text, sizeof(text));

        text[strcspn(text, "\n")] = '\0';
        if (rc != 0) {
            line("missing", "guest CPU", "%s: /bin/true does not run under qemu: %s", *name, text);
            remedy("try it by hand: qemu-x86_64 -cpu max /bin/true");
            good = false;
        } else if (*text) {
            line("note", "guest CPU", "%s: qemu says: %s", *name, text);
        }
    }
    if (good)
        line("ok", "guest CPU", "programs run under the features of every modelled processor");
    return good;
}

static long read_number(const char *path, long otherwise)
{
    FILE *in = fopen(path, "re");
    long value = otherwise;

    if (in) {
        if (fscanf(in, "%ld", &value) != 1)
            value = otherwise;
        fclose(in);
    }
    return value;
}

/* A word in the "flags" line of /proc/cpuinfo. */
static bool cpu_flag(const char *flag)
{
    FILE *in = fopen("/proc/cpuinfo", "re");
    char *text = NULL;
    size_t cap = 0;
    bool found = false;

    while (in && !found && getline(&text, &cap, in) > 0) {
        if (!text__starts_with(text, "flags"))
            continue;
        for (char *save = NULL, *word = strtok_r(text, " \t\n", &save); word && !found;
             word = strtok_r(NULL, " \t\n", &save))
            found = strcmp(word, flag) == 0;
        break;
    }
    free(text);
    if (in)
        fclose(in);
    return found;
}

static void explain_no_counters(int error)
{
    long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", -100);

    switch (error) {
    case EACCES:
    case EPERM:
        if (paranoid > 2) {
            line("missing", "counters", "kernel.perf_event_paranoid is %ld: not for ordinary users",
                 paranoid);
            remedy("as root: sysctl kernel.perf_event_paranoid=2, or setcap cap_perfmon+ep on fathom");
        } else {
            line("missing", "counters", "perf_event_open is forbidden although perf_event_paranoid is %ld",
                 paranoid);
            remedy(
                "a container's seccomp profile: start it with --cap-add PERFMON, or allow perf_event_open");
        }
        break;
    case ENOSYS:
        line("missing", "counters", "this kernel has no perf_event_open");
        remedy("a kernel with CONFIG_PERF_EVENTS, or a sandbox that passes the call on");
        break;
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        if (cpu_flag("hypervisor")) {
            line("missing", "counters", "this virtual machine has no performance counters (%s)",
                 strerror(error));
            remedy(
                "have the host pass them on (a virtual PMU: qemu -cpu host,pmu=on; cloud: a metal instance)");
        } else {
            line("missing", "counters", "the kernel offers no cycle counter for this CPU (%s)",
                 strerror(error));
            remedy("look at 'dmesg | grep -i perf'");
        }
        break;
    default:
        line("missing", "counters", "perf_event_open: %s", strerror(error));
        break;
    }
}

/* Counters are a second opinion: `run` works without them. */
static void check_counters(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd < 0) {
        explain_no_counters(errno);
        return;
    }
    close(fd);
    line("ok", "counters", "cycles can be counted");
}

static void check_cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    if (n >= 2) {
        line("ok", "CPUs", "%d usable", n);
        return;
    }
    line("note", "CPUs", "one usable CPU: the emulated program and the model take turns");
    remedy("allow a second one (taskset, cgroup cpuset); results are the same, only later");
}

static bool check_memory(void)
{
    FILE *in = fopen("/proc/meminfo", "re");
    char text[128];
    long available_kib = -1;

    while (in && fgets(text, sizeof(text), in))
        if (sscanf(text, "MemAvailable: %ld kB", &available_kib) == 1)
            break;
    if (in)
        fclose(in);
    if (available_kib < 0) {
        line("note", "memory", "/proc/meminfo does not tell what is available");
        return true;
    }
    if (available_kib / 1024 < MIN_MEMORY_MIB) {
        line("missing", "memory", "%ld MiB available, at least %d are needed", available_kib / 1024,
             MIN_MEMORY_MIB);
        remedy("end other programs or give the machine more memory");
        return false;
    }
    line("ok", "memory", "%ld MiB available", available_kib / 1024);
    return true;
}

static bool check_host(void)
{
    struct utsname host;

    if (uname(&host) == 0 && strcmp(host.machine, "x86_64") == 0) {
        line("ok", "host", "Linux %s on x86-64", host.release);
        return true;
    }
    line("note", "host", "not an x86-64 host: addresses of prefetches and operands of divisions are unknown");
    return true;
}

static void print_help(void)
{
    puts("Usage: fathom doctor\n"
         "Check what this machine can and cannot do for fathom. Each line is ok, missing (with\n"
         "the remedy below it) or a note.\n"
         "\n"
         "  -h, --help   this text\n"
         "\n"
         "Exit status: 0 if 'fathom run' can work here, 125 if not. Missing counters do not\n"
         "matter to 'run': it simulates.\n"
         "\n"
         "Example:\n"
         "  fathom doctor");
}

int cmd_doctor(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool can_run, has_qemu;
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (c != 'h')
            return options__usage_error("doctor", "see the message above");
        print_help();
        return 0;
    }
    if (optind < argc)
        return options__usage_error("doctor", "takes no arguments, found \"%s\"", argv[optind]);
    can_run = check_host();
    has_qemu = check_qemu();
    can_run = check_plugin() && can_run;
    can_run = has_qemu && check_guest_cpus() && can_run;
    check_cpus();
    can_run = check_memory() && can_run;
    check_counters();
    printf("\n%s\n", can_run ? "'fathom run' works here." : "'fathom run' cannot work here yet.");
    return can_run ? 0 : EXIT_CODE_TOOL;
}
