/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer on real processes: counts, addresses, pass-through, every way to end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "fathom/core.h"
#include "fathom/insn.h"
#include "fathom/program.h"
#include "fathom/source.h"
#include "fathom/status.h"

enum { KEPT_STEPS = 128, OUTPUT_BYTES = 16384 };

/* What a run showed. */
struct seen {
    struct status status; /* when it did not start */
    bool started, failed;
    struct program_end end;
    uint64_t instructions, insns, steps, bodies, unknown, hash;
    uint64_t broken;              /* steps that do not start where the one before said */
    struct step step[KEPT_STEPS]; /* the first ones */
    struct access access[KEPT_STEPS][4];
    struct insn insn[KEPT_STEPS];
    uint64_t addr[KEPT_STEPS];
    char output[OUTPUT_BYTES]; /* standard output and error */
    char maps[4096];
    char nondeterminism[4096];
};

static struct isa *open_isa(void)
{
    struct core core;
    struct status st;
    struct isa *isa;

    if (core__load(&core, "skl", NULL, 0, &st) != 0)
        fail_msg("%s", st.text);
    isa = isa__open(&core, &st);
    if (!isa)
        fail_msg("%s", st.text);
    return isa;
}

static void look_at(struct seen *seen, const struct step_buffer *buf, const struct step *step,
                    uint64_t expected)
{
    uint64_t n = seen->steps++;

    if (n > 0 && expected != step->site->addr)
        seen->broken++;
    if (step->flags & STEP_REP_BODY)
        seen->bodies++;
    else
        seen->insns++;
    seen->hash = hash__combine(seen->hash, step->site->addr);
    seen->hash = hash__combine(seen->hash, step->next_addr ^ step->flags);
    if (n < KEPT_STEPS) {
        seen->step[n] = *step;
        seen->insn[n] = *step->site->insn;
        seen->addr[n] = step->site->addr;
    }
    for (unsigned i = 0; i < step->n_access; i++) {
        const struct access *a = &buf->access[(step->first_access + i) % ACCESS_RING];

        seen->unknown += !a->known;
        seen->hash = hash__combine(seen->hash, a->addr * 2 + a->store);
        if (n < KEPT_STEPS && i < 4)
            seen->access[n][i] = *a;
    }
}

struct hint_check;
static void check_hint(struct hint_check *check, const struct step *step, const struct step_buffer *buf);

struct run {
    struct hint_check *hints; /* filled for the guest "hints" */
    const char *input;        /* on standard input */
    uint64_t cancel_after;    /* steps; 0: never */
    unsigned want;
    bool closed_output;
    const char *qemu, *plugin;
};

static void drain(struct seen *seen, struct program *program, const struct run *run)
{
    struct source *source = program__source(program);
    struct step_buffer *buf = calloc(1, sizeof *buf);
    uint64_t expected = 0;
    int n;

    assert_non_null(buf);
    while ((n = source->fill(source, buf, run->want ? run->want : 1000)) > 0) {
        assert_true(buf->end - buf->begin <= STEP_RING);
        assert_int_equal(n, buf->end - buf->begin);
        for (; buf->begin < buf->end; buf->begin++) {
            const struct step *step = &buf->step[buf->begin % STEP_RING];

            look_at(seen, buf, step, expected);
            if (run->hints)
                check_hint(run->hints, step, buf);
            expected = step->next_addr;
        }
        if (run->cancel_after && seen->steps >= run->cancel_after)
            program__cancel(program);
    }
    if (n < 0)
        status__fail(&seen->status, "%s", program__error(program));
    seen->failed = n < 0;
    free(buf);
}

/* A file without a name, as descriptor `as`; returns what was there. */
static int redirect(int as, const char *content)
{
    int saved = fcntl(as, F_DUPFD_CLOEXEC, 500), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    if (content) {
        assert_int_equal(write(fd, content, strlen(content)), strlen(content));
        lseek(fd, 0, SEEK_SET);
    }
    assert_int_equal(dup2(fd, as), as);
    close(fd);
    return saved;
}

static void restore(int as, int saved)
{
    dup2(saved, as);
    close(saved);
}

static void note(struct seen *seen, struct program *program)
{
    size_t n;
    const struct mapping *map = program__mappings(program, &n);
    const struct profile_count *count;

    for (size_t i = 0; i < n; i++)
        snprintf(seen->maps + strlen(seen->maps), sizeof seen->maps - strlen(seen->maps), "%s\n",
                 map[i].path);
    count = program__nondeterminism(program, &n);
    for (size_t i = 0; i < n; i++)
        snprintf(seen->nondeterminism + strlen(seen->nondeterminism),
                 sizeof seen->nondeterminism - strlen(seen->nondeterminism), "%s=%llu\n", count[i].name,
                 (unsigned long long)count[i].count);
    seen->instructions = program__instructions(program);
}

/* Runs `argv` to its end. Free the result. */
static struct seen *run_with(const struct run *run, char **argv)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct isa *isa = open_isa();
    struct program_options opt = {
        .argv = argv, .plugin = run->plugin ? run->plugin : FATHOM_PLUGIN, .qemu = run->qemu, .isa = isa};
    struct program *program;
    int in, out, err;

    assert_non_null(seen);
    fflush(stdout);
    fflush(stderr);
    in = redirect(0, run->input ? run->input : "");
    out = redirect(1, "");
    err = fcntl(2, F_DUPFD_CLOEXEC, 500);
    dup2(1, 2);
    if (run->closed_output) {
        close(1);
        close(2);
    }
    program = program__start(&opt, &seen->status);
    if (program) {
        seen->started = true;
        drain(seen, program, run);
        program__finish(program, &seen->end);
        note(seen, program);
        program__free(program);
    }
    if (!run->closed_output && pread(1, seen->output, sizeof seen->output - 1, 0) < 0)
        seen->output[0] = 0;
    restore(0, in);
    restore(1, out);
    restore(2, err);
    isa__close(isa);
    return seen;
}

#define GUEST(name) FATHOM_GUESTS "/" name
#define RUN(...) run_with(&(struct run){0}, (char *[]){__VA_ARGS__, NULL})

static void check_whole(const struct seen *seen, int exit_status)
{
    if (!seen->started || seen->failed)
        fail_msg("%s", seen->status.text);
    if (!seen->end.complete)
        fail_msg("%s", seen->end.why);
    assert_true(seen->end.exited);
    assert_int_equal(seen->end.exit_status, exit_status);
    assert_int_equal(seen->insns, seen->instructions);
    assert_int_equal(seen->broken, 0);
}

static void test_exact_count(void **state)
{
    struct seen *seen = RUN(GUEST("bare_loop"));

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(seen->instructions, 2000004);
    assert_int_equal(seen->steps, 2000004);
    assert_true(seen->step[2].flags & STEP_TAKEN);
    assert_true(seen->step[2].next_addr == seen->addr[1]);
    free(seen);
}

/* Bodies of a REP instruction that starts at step `i`; checks that its accesses are one area. */
static unsigned check_rep(const struct seen *seen, unsigned i, unsigned operand, uint64_t bytes)
{
    unsigned n = 0;
    uint64_t sum = 0;

    assert_int_equal(seen->step[i].flags & STEP_REP_BODY, 0);
    assert_int_equal(seen->step[i].n_access, seen->insn[i].n_mem);
    while (seen->step[i + n + 1].flags & STEP_REP_BODY) {
        n++;
        assert_true(seen->addr[i + n] == seen->addr[i]);
        assert_int_equal(seen->step[i + n].flags & STEP_TAKEN, 0);
        assert_true(seen->access[i + n][operand].known);
        sum += seen->access[i + n][operand].size_bytes;
        for (unsigned k = 0; k < seen->step[i + n].n_access; k++) { /* what is written stays in a line */
            const struct access *a = &seen->access[i + n][k];
            assert_true(!seen->insn[i + n].mem[k].write || a->addr % 64 + a->size_bytes <= 64);
        }
    }
    assert_int_equal(sum, bytes);
    return n;
}

static void test_rep_is_one_instruction(void **state)
{
    struct seen *seen = RUN(GUEST("bare_rep"));
    unsigned at = 3;

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(seen->instructions, 23);
    at += 1 + check_rep(seen, at, 0, 1000);
    assert_int_equal(at, 4 + 32);
    at += 2;
    at += 1 + check_rep(seen, at, 0, 800);
    at += 1;
    at += 1 + check_rep(seen, at, 0, 0);
    at += 2;
    at += 1 + check_rep(seen, at, 1, 50);
    at += 2;
    at += 1 + check_rep(seen, at, 0, 33);
    at += 4;
    at += 1 + check_rep(seen, at, 0, 11);
    assert_int_equal(at + 3, seen->steps);
    free(seen);
}

static void test_addresses_from_registers(void **state)
{
    struct seen *seen = RUN(GUEST("bare_hints"));
    uint64_t line = 0;

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(seen->unknown, 0);
    for (unsigned i = 0; i < 6; i++) {
        const struct access *a = &seen->access[5 + i][0];

        if (i == 0)
            line = a->addr;
        assert_int_equal(seen->step[5 + i].n_access, 1);
        assert_true(a->known);
        if (i < 5)
            assert_int_equal(a->addr - line, 64 * i);
        else
            assert_int_equal((a->addr - line) & ~63ull, 320);
    }
    assert_int_equal(line % 4096, 0);
    free(seen);
}

/* What the guest "hints" tells about its prefetches: see there. */
struct hint_check {
    uint64_t base, told, addr;
    unsigned n_bytes;
    bool pending, known;
    uint64_t n_known, n_unknown, n_wrong;
};

static void check_hint(struct hint_check *check, const struct step *step, const struct step_buffer *buf)
{
    static const uint8_t BASE[] = {0x80, 0x3e, 0x00}, BYTE[] = {0x42, 0x80, 0x3c, 0x2e, 0x00};
    const struct insn *insn = step->site->insn;
    const struct access *access = &buf->access[step->first_access % ACCESS_RING];
    const uint8_t *op = insn->bytes + insn->opcode_off;

    if (insn->len == sizeof BASE && memcmp(insn->bytes, BASE, sizeof BASE) == 0) {
        check->base = access->addr;
    } else if (check->base && insn->n_mem && op[-1] == 0x0f && (op[0] == 0x18 || op[0] == 0xae)) {
        assert_int_equal(step->n_access, 1);
        check->pending = true;
        check->known = access->known;
        check->addr = access->addr;
        check->told = 0;
        check->n_bytes = 0;
    } else if (check->pending && insn->len == sizeof BYTE && memcmp(insn->bytes, BYTE, sizeof BYTE) == 0) {
        assert_true(access->known && access->addr - check->base < 256);
        check->told |= (access->addr - check->base) << 8 * check->n_bytes++;
        if (check->n_bytes < 6)
            return;
        check->pending = false;
        check->n_known += check->known;
        check->n_unknown += !check->known;
        check->n_wrong += check->known && (check->addr & 0xffffffffffff) != check->told;
    }
}

static void test_random_hints(void **state)
{
    struct hint_check check = {0};
    struct run run = {.hints = &check};
    struct seen *seen = run_with(&run, (char *[]){GUEST("hints"), NULL});

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(check.n_wrong, 0);
    assert_int_equal(check.n_known + check.n_unknown, 3 * 3000);
    assert_true(check.n_unknown > 0 && check.n_unknown < check.n_known / 30);
    free(seen);
}

static void test_lost_hint(void **state)
{
    struct seen *seen = RUN(GUEST("hints"), "lost");

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(seen->unknown, 1);
    assert_non_null(strstr(seen->nondeterminism, "prefetch or flush without its address=1\n"));
    free(seen);
}

static void test_page_crossing_instruction(void **state)
{
    struct seen *seen = RUN(GUEST("bare_page"));

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(seen->instructions, 3 + 6 * 1000 + 3);
    free(seen);
}

static void test_avx512_is_named(void **state)
{
    struct seen *seen = RUN(GUEST("bare_avx512"));

    (void)state;
    assert_false(seen->end.complete);
    assert_int_equal(seen->end.signal, 4);
    assert_true(seen->end.avx512);
    assert_int_equal(seen->instructions, 3);
    assert_non_null(strstr(seen->end.why, "vpaddd"));
    assert_non_null(strstr(seen->end.why, "AVX-512"));
    free(seen);
}

static void test_pass_through(void **state)
{
    struct run run = {.input = "from standard input\n"};
    struct seen *seen = run_with(&run, (char *[]){GUEST("acts"), "echo", "two words", "", NULL});

    (void)state;
    check_whole(seen, 7);
    assert_string_equal(seen->output, GUEST("acts") "\necho\ntwo words\n\nfrom standard input\nto stderr\n");
    assert_non_null(strstr(seen->maps, GUEST("acts") "\n"));
    assert_non_null(strstr(seen->maps, "libc.so.6\n"));
    assert_non_null(strstr(seen->maps, "ld-linux-x86-64.so.2\n"));
    assert_null(strstr(seen->maps, "qemu"));
    free(seen);
}

extern char **environ;

static void test_surroundings(void **state)
{
    struct seen *seen = RUN(GUEST("acts"), "surroundings");
    size_t n = 0, lines = 0;
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char first[32];

    (void)state;
    close(lowest);
    check_whole(seen, 0);
    snprintf(first, sizeof first, "fd %d ", lowest);
    assert_memory_equal(seen->output, first, strlen(first));
    while (environ[n])
        n++;
    for (const char *p = seen->output; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, n + 1);
    assert_null(strstr(seen->output, "FATHOM"));
    free(seen);
}

static void test_signals(void **state)
{
    struct seen *seen = RUN(GUEST("acts-static"), "kill", "15");

    (void)state;
    assert_false(seen->end.exited);
    assert_int_equal(seen->end.signal, 15);
    assert_true(seen->instructions > 20000);
    assert_int_equal(seen->step[0].flags & STEP_REP_BODY, 0);
    free(seen);
    seen = RUN(GUEST("acts-static"), "crash");
    assert_int_equal(seen->end.signal, 11);
    assert_non_null(strstr(seen->end.why, "signal 11"));
    free(seen);
}

static void test_faults(void **state)
{
    struct seen *seen = RUN(GUEST("acts-static"), "fault");

    (void)state;
    check_whole(seen, 10);
    assert_int_equal(seen->unknown, 0);
    free(seen);
    seen = RUN(GUEST("acts-static"), "divide");
    check_whole(seen, 0);
    free(seen);
    seen = RUN(GUEST("acts-static"), "modify");
    check_whole(seen, 0);
    assert_int_equal(seen->unknown, 0);
    free(seen);
}

static void test_alarm(void **state)
{
    struct seen *seen = RUN(GUEST("acts"), "alarm");

    (void)state;
    check_whole(seen, 0);
    assert_int_equal(seen->unknown, 0);
    free(seen);
}

static void test_children_run_untraced(void **state)
{
    struct seen *seen = RUN(GUEST("acts-static"), "fork");

    (void)state;
    check_whole(seen, 4);
    assert_true(seen->end.forked);
    assert_true(seen->instructions < 1000000);
    assert_non_null(strstr(seen->nondeterminism, "fork=1\n"));
    free(seen);
    seen = RUN(GUEST("acts"), "spawn");
    check_whole(seen, 9);
    assert_true(seen->end.forked);
    free(seen);
}

static void test_exec(void **state)
{
    struct seen *seen = RUN(GUEST("acts"), "exec", "/bin/sh");

    (void)state;
    assert_true(seen->end.execed);
    assert_false(seen->end.complete);
    assert_true(seen->end.exited);
    assert_int_equal(seen->end.exit_status, 11);
    assert_non_null(strstr(seen->end.why, "/bin/sh"));
    free(seen);
    seen = RUN(GUEST("acts"), "exec", "/nonexistent");
    check_whole(seen, 5);
    assert_false(seen->end.execed);
    free(seen);
}

static void test_threads_are_refused(void **state)
{
    struct seen *seen = RUN(GUEST("acts"), "thread");

    (void)state;
    assert_true(seen->end.threaded);
    assert_false(seen->end.complete);
    assert_true(seen->instructions > 20000);
    assert_int_equal(seen->broken, 0);
    assert_string_equal(seen->output, "before the thread\n");
    assert_non_null(strstr(seen->end.why, "multi-threaded programs are not simulated yet"));
    free(seen);
}

static void test_closed_descriptors(void **state)
{
    struct run run = {.closed_output = true};
    struct seen *seen = RUN(GUEST("acts"), "close");

    (void)state;
    check_whole(seen, 0);
    free(seen);
    seen = run_with(&run, (char *[]){GUEST("acts"), "time", NULL});
    check_whole(seen, 0);
    assert_non_null(strstr(seen->nondeterminism, "clock_gettime=25\n"));
    assert_non_null(strstr(seen->nondeterminism, "getppid=1\n"));
    free(seen);
}

static void test_cancel(void **state)
{
    struct run run = {.cancel_after = 100000};
    struct seen *seen = run_with(&run, (char *[]){GUEST("acts"), "spin", NULL});

    (void)state;
    assert_true(seen->started);
    assert_false(seen->end.complete);
    assert_int_equal(seen->end.signal, 9);
    assert_non_null(strstr(seen->end.why, "interrupted"));
    free(seen);
}

/* The same steps however they are asked for, run after run. */
static void test_determinism(void **state)
{
    static const unsigned WANT[] = {1000, 1, 37, 7000};
    uint64_t hash = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
        struct run run = {.want = WANT[i], .input = "x"};
        struct seen *seen = run_with(&run, (char *[]){GUEST("acts"), "echo", NULL});

        check_whole(seen, 7);
        if (i > 0)
            assert_true(seen->hash == hash);
        hash = seen->hash;
        free(seen);
    }
}

static void check_refused(struct seen *seen, int exit_code, const char *word)
{
    assert_false(seen->started);
    assert_int_equal(seen->status.exit_code, exit_code);
    if (!strstr(seen->status.text, word))
        fail_msg("\"%s\" is not in: %s", word, seen->status.text);
    free(seen);
}

/* A file of that content in the build folder, executable or not. */
static char *make_file(const char *name, const void *content, size_t size, mode_t mode)
{
    static char path[4096];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", FATHOM_GUESTS, name);
    unlink(path);
    out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(content, 1, size, out), size);
    fclose(out);
    chmod(path, mode);
    return path;
}

static void test_refusals(void **state)
{
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 62, [54] = 56};

    (void)state;
    check_refused(RUN("no-such-program-anywhere"), EXIT_CODE_NOT_FOUND, "PATH");
    check_refused(RUN("/no/such/program"), EXIT_CODE_NOT_FOUND, "No such file");
    check_refused(RUN("/tmp"), EXIT_CODE_CANNOT_EXECUTE, "directory");
    check_refused(RUN(make_file("plain", "data", 4, 0644)), EXIT_CODE_CANNOT_EXECUTE, "chmod");
    check_refused(RUN(make_file("text", "data", 4, 0755)), EXIT_CODE_CANNOT_EXECUTE, "neither an ELF");
    check_refused(RUN(make_file("empty", "", 0, 0755)), EXIT_CODE_CANNOT_EXECUTE, "neither an ELF");
    check_refused(RUN(make_file("cut", elf, 20, 0755)), EXIT_CODE_CANNOT_EXECUTE, "cut off");
    elf[18] = 183;
    check_refused(RUN(make_file("arm", elf, 64, 0755)), EXIT_CODE_CANNOT_EXECUTE, "AArch64");
    elf[18] = 3;
    elf[4] = 1;
    check_refused(RUN(make_file("i386", elf, 64, 0755)), EXIT_CODE_CANNOT_EXECUTE, "32-bit");
    elf[18] = 62;
    check_refused(RUN(make_file("x32", elf, 64, 0755)), EXIT_CODE_CANNOT_EXECUTE, "x32");
    elf[4] = 2;
    elf[16] = 1;
    check_refused(RUN(make_file("object", elf, 64, 0755)), EXIT_CODE_CANNOT_EXECUTE, "object file");
}

static void test_scripts(void **state)
{
    const char direct[] = "#! " GUEST("acts") " echo \t\nrest\n";
    const char missing[] = "#!/no/such/interpreter\n";
    char nested[8192], *path, first[16384];
    struct seen *seen;

    (void)state;
    path = make_file("script", direct, strlen(direct), 0755);
    seen = RUN(path, "more");
    check_whole(seen, 7);
    snprintf(first, sizeof first, "%s\necho\n%s\nmore\nto stderr\n", GUEST("acts"), path);
    assert_string_equal(seen->output, first);
    free(seen);
    snprintf(nested, sizeof nested, "#!%s\n", path);
    seen = RUN(make_file("nested", nested, strlen(nested), 0755));
    check_whole(seen, 7);
    assert_string_equal(seen->output,
                        GUEST("acts") "\necho\n" GUEST("script") "\n" GUEST("nested") "\nto stderr\n");
    free(seen);
    check_refused(RUN(make_file("noshell", missing, strlen(missing), 0755)), EXIT_CODE_NOT_FOUND,
                  "interpreter");
    snprintf(nested, sizeof nested, "#!%s/loop\n", FATHOM_GUESTS);
    check_refused(RUN(make_file("loop", nested, strlen(nested), 0755)), EXIT_CODE_CANNOT_EXECUTE, "too many");
}

static void test_bad_emulator(void **state)
{
    struct run no_qemu = {.qemu = "/no/such/qemu"}, other = {.qemu = "/bin/true"};
    struct run no_plugin = {.plugin = "/no/such/plugin.so"}, bad_plugin = {.plugin = GUEST("acts")};
    char *argv[] = {"/bin/true", NULL};

    (void)state;
    check_refused(run_with(&no_qemu, argv), EXIT_CODE_TOOL, "apt-get install qemu-user");
    check_refused(run_with(&other, argv), EXIT_CODE_TOOL, "apt-get install qemu-user");
    check_refused(run_with(&no_plugin, argv), EXIT_CODE_TOOL, "plugin");
    check_refused(run_with(&bad_plugin, argv), EXIT_CODE_TOOL, "refused to load");
}

static void run_tool(const char *input, const char *output, char **argv)
{
    struct run run = {.input = input};
    struct seen *seen = run_with(&run, argv);

    if (!seen->started && seen->status.exit_code == EXIT_CODE_NOT_FOUND) {
        print_message("SKIPPED: %s is not installed\n", argv[0]);
    } else {
        check_whole(seen, 0);
        if (output)
            assert_string_equal(seen->output, output);
        assert_true(seen->instructions > 100000);
    }
    free(seen);
}
#define TOOL(input, output, ...) run_tool(input, output, (char *[]){__VA_ARGS__, NULL})

static void test_real_programs(void **state)
{
    (void)state;
    TOOL("some text\n", NULL, "xz", "-1", "-T1", "-c");
    TOOL("some text\n", NULL, "gzip", "-c");
    TOOL("select 6*7;\n", "42\n", "sqlite3", ":memory:");
    TOOL("", "4950\n", "/usr/bin/python3", "-c", "print(sum(range(100)))");
    TOOL("", "4950\n", "perl", "-e", "my $s; $s += $_ for 0..99; print \"$s\\n\"");
    TOOL("", "42\n", "lua5.4", "-e", "print(6*7)");
    TOOL("abc", "SHA2-256(stdin)= ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n",
         "openssl", "dgst", "-sha256");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_count),
        cmocka_unit_test(test_rep_is_one_instruction),
        cmocka_unit_test(test_addresses_from_registers),
        cmocka_unit_test(test_random_hints),
        cmocka_unit_test(test_lost_hint),
        cmocka_unit_test(test_page_crossing_instruction),
        cmocka_unit_test(test_avx512_is_named),
        cmocka_unit_test(test_pass_through),
        cmocka_unit_test(test_surroundings),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_alarm),
        cmocka_unit_test(test_children_run_untraced),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_threads_are_refused),
        cmocka_unit_test(test_closed_descriptors),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_bad_emulator),
        cmocka_unit_test(test_real_programs),
    };

    if (access("/usr/bin/qemu-x86_64", X_OK) != 0) {
        print_message("SKIPPED: qemu-x86_64 is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
