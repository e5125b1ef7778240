/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/program_launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fathom/status.h"

enum {
    HEAD_BYTES = 256,     /* what the kernel reads of a file to recognise it */
    MAX_INTERPRETERS = 5, /* scripts run by scripts */
};

static bool is_executable_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

char *launch__search(struct arena *arena, const char *name)
{
    const char *path = getenv("PATH"), *dir, *end;
    char *file = NULL;

    if (strchr(name, '/'))
        return is_executable_file(name) ? arena__strdup(arena, name) : NULL;
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (dir = path;; dir = end + 1) {
        end = strchrnul(dir, ':');
        file = end == dir ? arena__printf(arena, "./%s", name)
                          : arena__printf(arena, "%.*s/%s", (int)(end - dir), dir, name);
        if (file && is_executable_file(file))
            return file;
        if (!*end)
            return NULL;
    }
}

/* Why `path` cannot be executed, although it was asked for. */
static int refuse_path(const char *path, struct status *st)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return status__fail_with(st, errno == EACCES ? EXIT_CODE_CANNOT_EXECUTE : EXIT_CODE_NOT_FOUND,
                                 "%s: %s; give the path of a program", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE,
                                 "%s: is a directory; give the path of a program", path);
    if (!S_ISREG(info.st_mode))
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: is not a regular file", path);
    return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: is not executable; try chmod +x %s", path,
                             path);
}

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "32-bit x86";
    case EM_AARCH64:
        return "64-bit ARM (AArch64)";
    case EM_ARM:
        return "32-bit ARM";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "64-bit PowerPC";
    case EM_S390:
        return "IBM S/390";
    case EM_MIPS:
        return "MIPS";
    default:
        return "another machine";
    }
}

/* The dynamic linker named by the program must be there, or execve itself would fail. */
static int check_interpreter(int fd, const char *path, const Elf64_Ehdr *ehdr, struct status *st)
{
    char name[4096];
    Elf64_Phdr phdr;

    for (unsigned i = 0; i < ehdr->e_phnum; i++) {
        off_t at = (off_t)(ehdr->e_phoff + (uint64_t)i * ehdr->e_phentsize);

        if (pread(fd, &phdr, sizeof phdr, at) != (ssize_t)sizeof phdr)
            return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE,
                                     "%s: is damaged: its program headers are not in the file", path);
        if (phdr.p_type != PT_INTERP)
            continue;
        if (phdr.p_filesz == 0 || phdr.p_filesz >= sizeof name ||
            pread(fd, name, phdr.p_filesz, (off_t)phdr.p_offset) != (ssize_t)phdr.p_filesz)
            return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE,
                                     "%s: is damaged: the name of its dynamic linker cannot be read", path);
        name[phdr.p_filesz] = 0;
        if (access(name, R_OK) != 0)
            return status__fail_with(st, EXIT_CODE_NOT_FOUND, "%s: its dynamic linker %s is missing", path,
                                     name);
        return 0;
    }
    return 0;
}

static int check_elf(int fd, const char *path, const uint8_t *head, size_t size, struct status *st)
{
    Elf64_Ehdr ehdr;

    if (size < sizeof ehdr)
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: is damaged: its ELF header is cut off",
                                 path);
    memcpy(&ehdr, head, sizeof ehdr);
    if (ehdr.e_ident[EI_DATA] == ELFDATA2MSB || ehdr.e_machine != EM_X86_64)
        return status__fail_with(
            st, EXIT_CODE_CANNOT_EXECUTE,
            "%s: is a program for %s; only 64-bit x86-64 programs can be simulated", path,
            ehdr.e_ident[EI_DATA] == ELFDATA2MSB ? "a big-endian machine" : machine_name(ehdr.e_machine));
    if (ehdr.e_ident[EI_CLASS] != ELFCLASS64)
        return status__fail_with(
            st, EXIT_CODE_CANNOT_EXECUTE,
            "%s: is a 32-bit (x32) program; only 64-bit x86-64 programs can be simulated", path);
    if (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE,
                                 "%s: is an object file or core dump, not a program; link it first", path);
    if (ehdr.e_phentsize != sizeof(Elf64_Phdr))
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE,
                                 "%s: is damaged: its program headers have an impossible size", path);
    return check_interpreter(fd, path, &ehdr, st);
}

static char *skip_blank(char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* Puts the interpreter of a #! line (`line` is what follows these two) and its argument before the script. */
static int apply_interpreter(struct launch *launch, char *line, struct status *st)
{
    char *name = skip_blank(line), *rest, *end, **argv;
    size_t n = 0, at = 0;

    for (end = line; *end && *end != '\n'; end++)
        ;
    *end = 0;
    while (end > name && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = 0;
    if (!*name)
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: its #! line names no interpreter",
                                 launch->path);
    rest = name + strcspn(name, " \t");
    if (*rest) {
        *rest = 0;
        rest = skip_blank(rest + 1);
    }
    while (launch->argv[n])
        n++;
    argv = arena__array(&launch->arena, n + 3, sizeof *argv);
    name = arena__strdup(&launch->arena, name);
    rest = arena__strdup(&launch->arena, rest);
    if (!argv || !name || !rest)
        return status__fail(st, "%s: out of memory", launch->path);
    argv[at++] = name;
    if (*rest)
        argv[at++] = rest;
    argv[at++] = (char *)(uintptr_t)launch->path;
    for (size_t i = 1; i < n; i++)
        argv[at++] = launch->argv[i];
    launch->argv = argv;
    if (!is_executable_file(name)) {
        struct status why = {0};

        refuse_path(name, &why);
        return status__fail_with(st, why.exit_code, "%s: its interpreter cannot be used: %s", launch->path,
                                 why.text);
    }
    launch->path = name;
    return 0;
}

/* One step: 1 when launch->path is a program, 0 when it was a script (replaced by its interpreter), -1. */
static int resolve_once(struct launch *launch, struct status *st)
{
    char head[HEAD_BYTES + 1];
    ssize_t size;
    int fd, rc = -1;

    fd = open(launch->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: cannot be read: %s", launch->path,
                                 strerror(errno));
    size = read(fd, head, HEAD_BYTES);
    if (size < 0) {
        status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: cannot be read: %s", launch->path,
                          strerror(errno));
        goto out;
    }
    head[size] = 0;
    if (size >= 2 && head[0] == '#' && head[1] == '!')
        rc = apply_interpreter(launch, head + 2, st);
    else if (size >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        rc = check_elf(fd, launch->path, (const uint8_t *)head, (size_t)size, st) == 0 ? 1 : -1;
    else
        status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE,
                          "%s: is neither an ELF program nor a script with a #! line", launch->path);
out:
    close(fd);
    return rc;
}

int launch__resolve(struct launch *launch, char *const *argv, struct status *st)
{
    size_t n = 0;
    int rc = 0;

    while (argv[n])
        n++;
    if (n == 0 || !argv[0][0])
        return status__fail_with(st, EXIT_CODE_USAGE, "no program given; write it after --");
    launch->argv = arena__copy(&launch->arena, argv, (n + 1) * sizeof *argv);
    if (!launch->argv)
        return status__fail(st, "%s: out of memory", argv[0]);
    launch->path = launch__search(&launch->arena, argv[0]);
    if (!launch->path && strchr(argv[0], '/'))
        return refuse_path(argv[0], st);
    if (!launch->path)
        return status__fail_with(st, EXIT_CODE_NOT_FOUND, "%s: no such program in PATH; give its path",
                                 argv[0]);
    for (int level = 0; level <= MAX_INTERPRETERS; level++) {
        rc = resolve_once(launch, st);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    return status__fail_with(st, EXIT_CODE_CANNOT_EXECUTE, "%s: too many #! interpreters in a row", argv[0]);
}

void launch__free(struct launch *launch)
{
    arena__free(&launch->arena);
}
