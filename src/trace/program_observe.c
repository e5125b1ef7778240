/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_observe.h"

#include <string.h>

#define TIME_NOTE "the time of day or the CPU time differs between runs"
#define ID_NOTE "process and thread numbers differ between runs"
#define RANDOM_NOTE "random bytes differ between runs"
#define HOST_NOTE "the answer describes the machine and may differ elsewhere"

/* System calls by their x86-64 numbers. */
static const struct {
    uint16_t number;
    const char *name, *note;
} SYSCALLS[] = {
    {39, "getpid", ID_NOTE},           {63, "uname", HOST_NOTE},
    {96, "gettimeofday", TIME_NOTE},   {98, "getrusage", TIME_NOTE},
    {99, "sysinfo", HOST_NOTE},        {100, "times", TIME_NOTE},
    {110, "getppid", ID_NOTE},         {186, "gettid", ID_NOTE},
    {201, "time", TIME_NOTE},          {204, "sched_getaffinity", HOST_NOTE},
    {228, "clock_gettime", TIME_NOTE}, {309, "getcpu", HOST_NOTE},
    {318, "getrandom", RANDOM_NOTE},
};
enum { N_SYSCALLS = sizeof SYSCALLS / sizeof SYSCALLS[0] };
_Static_assert(OBSERVED_TABLED + N_SYSCALLS <= OBSERVED_MAX, "room for every observed system call");

static const struct {
    const char *name, *note;
} OTHERS[OBSERVED_TABLED] = {
    [OBSERVED_RDTSC] = {"RDTSC", "time-stamp counter: differs between runs"},
    [OBSERVED_RDTSCP] = {"RDTSCP", "time-stamp counter: differs between runs"},
    [OBSERVED_RDRAND] = {"RDRAND", RANDOM_NOTE},
    [OBSERVED_RDSEED] = {"RDSEED", RANDOM_NOTE},
    [OBSERVED_PROC_FILES] = {"open of /proc, /sys or a random device", HOST_NOTE},
    [OBSERVED_FORK] = {"fork", "child processes ran untraced and are not part of the figures"},
    [OBSERVED_UNKNOWN_HINT] = {"prefetch or flush without its address",
                               "its registers were overwritten before the tracer could read them; it is "
                               "simulated without effect on the caches"},
};

#define NO_REGISTERS_NOTE                                                                                    \
    "this qemu does not let guest registers be read; prefetches and flushes are simulated without effect "   \
    "on the caches"

/* Length of legacy and REX prefixes. */
static size_t prefix_length(const uint8_t *bytes, size_t len)
{
    size_t n = 0;

    while (n < len && (bytes[n] == 0x66 || bytes[n] == 0x67 || bytes[n] == 0xf2 || bytes[n] == 0xf3 ||
                       bytes[n] == 0x2e || bytes[n] == 0x36 || bytes[n] == 0x3e || bytes[n] == 0x26 ||
                       bytes[n] == 0x64 || bytes[n] == 0x65))
        n++;
    if (n < len && (bytes[n] & 0xf0) == 0x40)
        n++;
    return n;
}

unsigned observe__insn(const uint8_t *bytes, size_t len)
{
    size_t at = prefix_length(bytes, len);
    const uint8_t *op = bytes + at;

    if (len - at < 2 || op[0] != 0x0f)
        return OBSERVED_NONE;
    if (op[1] == 0x31)
        return OBSERVED_RDTSC;
    if (len - at < 3)
        return OBSERVED_NONE;
    if (op[1] == 0x01 && op[2] == 0xf9)
        return OBSERVED_RDTSCP;
    if (op[1] == 0xc7 && op[2] >= 0xf0 && op[2] <= 0xf7)
        return OBSERVED_RDRAND;
    if (op[1] == 0xc7 && op[2] >= 0xf8)
        return OBSERVED_RDSEED;
    return OBSERVED_NONE;
}

void observe__syscall(struct observations *obs, uint64_t number)
{
    for (unsigned i = 0; i < N_SYSCALLS; i++)
        if (SYSCALLS[i].number == number)
            obs->count[OBSERVED_TABLED + i]++;
}

void observe__open(struct observations *obs, const char *path)
{
    if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 ||
        strcmp(path, "/dev/random") == 0 || strcmp(path, "/dev/urandom") == 0)
        obs->count[OBSERVED_PROC_FILES]++;
}

const struct profile_count *observe__list(struct observations *obs, size_t *n)
{
    *n = 0;
    for (unsigned i = 1; i < OBSERVED_TABLED + N_SYSCALLS; i++) {
        const char *name = i < OBSERVED_TABLED ? OTHERS[i].name : SYSCALLS[i - OBSERVED_TABLED].name;
        const char *note = i < OBSERVED_TABLED ? OTHERS[i].note : SYSCALLS[i - OBSERVED_TABLED].note;

        if (!obs->count[i] || !name)
            continue;
        if (i == OBSERVED_UNKNOWN_HINT && obs->no_registers)
            note = NO_REGISTERS_NOTE;
        obs->shown[(*n)++] = (struct profile_count){
            .name = (char *)(uintptr_t)name, .count = obs->count[i], .note = (char *)(uintptr_t)note};
    }
    return obs->shown;
}
