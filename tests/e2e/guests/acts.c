/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that does what its first argument says. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t n_signals;
static sigjmp_buf back;

static void count_signal(int number)
{
    (void)number;
    n_signals++;
}

static void jump_back(int number)
{
    siglongjmp(back, number);
}

static int act_echo(int argc, char **argv)
{
    char buffer[4096];
    ssize_t n;

    for (int i = 0; i < argc; i++)
        printf("%s\n", argv[i]);
    fflush(stdout);
    while ((n = read(0, buffer, sizeof buffer)) > 0)
        if (write(1, buffer, (size_t)n) != n)
            return 1;
    fprintf(stderr, "to stderr\n");
    return 7;
}

/* The first free descriptor, and the environment. */
static int act_surroundings(void)
{
    int fd = open("/dev/null", O_RDONLY), highest = -1;

    for (int i = 0; i < 70000; i++)
        if (fcntl(i, F_GETFD) >= 0)
            highest = i;
    printf("fd %d highest %d\n", fd, highest);
    for (char **e = environ; *e; e++)
        printf("%s\n", *e);
    return 0;
}

static int act_fork(void)
{
    int status = 0;
    volatile unsigned sum = 0;
    pid_t pid = fork();

    if (pid == 0) {
        for (unsigned i = 0; i < 3000000; i++)
            sum += i;
        if (fork() == 0)
            _exit(4);
        wait(&status);
        _exit(WEXITSTATUS(status));
    }
    for (unsigned i = 0; i < 100000; i++)
        sum += i;
    if (waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int act_spawn(void)
{
    char *args[] = {"sh", "-c", "exit 9", NULL};
    int status = 0;
    pid_t pid;

    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ) != 0 || waitpid(pid, &status, 0) != pid)
        return 99;
    return WEXITSTATUS(status);
}

static int act_exec(const char *path)
{
    char *args[] = {"sh", "-c", "exit 11", NULL};

    execv("/nonexistent/program", args);
    execv(path, args);
    return 5;
}

static void *in_thread(void *arg)
{
    return arg;
}

static int act_thread(void)
{
    pthread_t thread;

    puts("before the thread");
    fflush(stdout);
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}

static int act_alarm(void)
{
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    volatile uint64_t sum = 0;

    signal(SIGALRM, count_signal);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (n_signals < 30)
        for (unsigned i = 1; i < 1000; i++)
            sum += 1000000 / i;
    return 0;
}

static int act_divide(volatile int by)
{
    volatile int sum = 0;

    signal(SIGFPE, jump_back);
    for (volatile int i = 0; i < 10; i++)
        if (sigsetjmp(back, 1) == 0)
            sum += 100 / by;
    return sum;
}

static int act_fault(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int n = 0;

    signal(SIGSEGV, jump_back);
    for (volatile int i = 0; i < 10; i++)
        if (sigsetjmp(back, 1) == 0)
            page[n + 5] = 1;
        else
            n++;
    return n;
}

/* Code written, run and rewritten; and code that rewrites what follows it in the same block. */
static int act_modify(void)
{
    static const uint8_t patching[] = {
        0xc6, 0x05, 0x01, 0x00, 0x00, 0x00, 0x2a, /* movb $42, 1(%rip): the operand of the next mov */
        0xb8, 0x07, 0x00, 0x00, 0x00,             /* mov $7, %eax */
        0xc3,
    };
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*function)(void) = (int (*)(void))(void *)code, sum = 0;

    for (int i = 0; i < 20; i++) {
        code[0] = 0xb8;
        memcpy(code + 1, &i, 4);
        code[5] = 0xc3;
        sum += function();
    }
    memcpy(code, patching, sizeof patching);
    sum += function() * 1000;
    return sum == 190 + 42000 ? 0 : 1;
}

static int act_close(void)
{
    volatile unsigned sum = 0;

    for (int fd = 0; fd < 2048; fd++)
        close(fd);
    for (unsigned i = 0; i < 200000; i++)
        sum += i;
    return open("/dev/null", O_RDONLY) == 0 ? 0 : 1;
}

static int act_time(void)
{
    struct timespec now;

    for (int i = 0; i < 25; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    getppid();
    return 0;
}

static int act_spin(void)
{
    volatile uint64_t sum = 0;

    puts("spinning");
    fflush(stdout);
    while (sum != UINT64_MAX)
        sum++;
    return 0;
}

static int act_limit(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    printf("%llu\n", (unsigned long long)limit.rlim_cur);
    return 0;
}

int main(int argc, char **argv)
{
    const char *act = argc > 1 ? argv[1] : "";

    if (!strcmp(act, "echo"))
        return act_echo(argc, argv);
    if (!strcmp(act, "surroundings"))
        return act_surroundings();
    if (!strcmp(act, "kill"))
        return raise(atoi(argv[2]));
    if (!strcmp(act, "fork"))
        return act_fork();
    if (!strcmp(act, "spawn"))
        return act_spawn();
    if (!strcmp(act, "exec"))
        return act_exec(argv[2]);
    if (!strcmp(act, "thread"))
        return act_thread();
    if (!strcmp(act, "alarm"))
        return act_alarm();
    if (!strcmp(act, "divide"))
        return act_divide(0);
    if (!strcmp(act, "fault"))
        return act_fault();
    if (!strcmp(act, "crash"))
        return *(volatile int *)(uintptr_t)strtoul("16", NULL, 10);
    if (!strcmp(act, "modify"))
        return act_modify();
    if (!strcmp(act, "close"))
        return act_close();
    if (!strcmp(act, "time"))
        return act_time();
    if (!strcmp(act, "spin"))
        return act_spin();
    if (!strcmp(act, "limit"))
        return act_limit();
    fprintf(stderr, "acts: what?\n");
    return 2;
}
