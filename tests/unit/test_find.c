/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in object files and programs that are assembled, compiled, stripped and damaged here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "fathom/core.h"
#include "fathom/find.h"
#include "fathom/insn.h"
#include "fathom/status.h"
#include "loop/find_name.h"
#include "profile/demangle.h"

enum { SKIP = 77 };

static struct core core;
static struct isa *isa;
static char folder[] = "/tmp/test_find.XXXXXX";

static bool command(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool command(const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return system(text) == 0;
}

static void write_file(const char *name, const void *data, size_t size)
{
    char path[256];
    struct status st = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (file__write(path, data, size, &st))
        fail_msg("%s", st.text);
}

static struct found_loops find(const char *name, const struct find_selection *sel)
{
    char path[256];
    struct status st = {0};
    struct found_loops found;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (find__loops(path, isa, sel, &found, &st))
        fail_msg("%s", st.text);
    for (size_t i = 0; i < found.n; i++) {
        assert_true(found.loop[i].end > found.loop[i].start);
        assert_true(found.loop[i].depth >= 1);
        assert_true(found.loop[i].n_insns >= 1);
        assert_int_equal(found.loop[i].simple, found.loop[i].why == NULL);
        assert_true(i == 0 || found.loop[i - 1].start <= found.loop[i].start);
    }
    return found;
}

/* The refusal has to name the file and hold `text`. */
static void refuses(const char *name, const struct find_selection *sel, const char *text)
{
    char path[256];
    struct status st = {0};
    struct found_loops found;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(find__loops(path, isa, sel, &found, &st), -1);
    assert_int_equal(found.n, 0);
    if (!strstr(st.text, path) || !strstr(st.text, text))
        fail_msg("'%s' does not hold '%s'", st.text, text);
    found_loops__free(&found);
}

static void check(const struct found_loop *loop, uint64_t start, uint64_t end, size_t n_insns, int depth,
                  const char *why)
{
    assert_int_equal(loop->start, start);
    assert_int_equal(loop->end, end);
    assert_int_equal(loop->n_insns, n_insns);
    assert_int_equal(loop->depth, depth);
    if (why)
        assert_string_equal(loop->why ? loop->why : "simple", why);
    else
        assert_null(loop->why);
}

/* Assembles a function `f` at offset 0 of the only code section. */
static struct found_loops assemble(const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, ".text\n.globl f\n.type f,@function\nf:\n%s\n.size f,.-f\n", body);
    write_file("a.s", text, strlen(text));
    if (!command("cc -c -o %s/a.o %s/a.s", folder, folder))
        fail_msg("does not assemble:\n%s", body);
    return find("a.o", NULL);
}

/* ---- shapes ---- */

static void one_block(void **state)
{
    (void)state;
    struct found_loops found = assemble("xor %eax,%eax\n0: add $1,%eax\ncmp $100,%eax\njne 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 2, 10, 3, 1, NULL);
    assert_memory_equal(found.loop[0].bytes, "\x83\xc0\x01\x83\xf8\x64\x75\xf8", 8);
    assert_string_equal(found.loop[0].function, "f");
    assert_null(found.loop[0].file);
    assert_int_equal(found.loop[0].line, 0);
    found_loops__free(&found);
}

/* As compilers write `for` without optimisation: the header is in the middle. */
static void entered_at_the_condition(void **state)
{
    (void)state;
    struct found_loops found = assemble("jmp 1f\n0: add $2,%eax\n1: cmp $100,%eax\njne 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 2, 10, 3, 1, NULL);
    found_loops__free(&found);
}

static void loop_instruction_and_endless(void **state)
{
    (void)state;
    struct found_loops found = assemble("0: nop\nloop 0b\n1: pause\njmp 1b\n");
    assert_int_equal(found.n, 2);
    check(&found.loop[0], 0, 3, 2, 1, NULL);
    check(&found.loop[1], 3, 7, 2, 1, NULL);
    found_loops__free(&found);
}

static void nested(void **state)
{
    (void)state;
    struct found_loops found = assemble(
        "0: xor %edx,%edx\n1: xor %ecx,%ecx\n2: inc %ecx\ncmp %esi,%ecx\njne 2b\n"
        "inc %edx\ncmp %esi,%edx\njne 1b\n3: dec %ecx\njnz 3b\ninc %eax\ncmp %esi,%eax\njne 0b\nret");
    assert_int_equal(found.n, 2);
    check(&found.loop[0], 4, 10, 3, 3, NULL);
    check(&found.loop[1], 16, 20, 2, 2, NULL);
    found_loops__free(&found);
}

/* The inner loop and the loop around it have one header: only the inner one is innermost. */
static void shared_header(void **state)
{
    (void)state;
    struct found_loops found =
        assemble("0: inc %ecx\ncmp %esi,%ecx\njne 0b\ninc %edx\ncmp %edi,%edx\njne 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 6, 3, 2, NULL);
    found_loops__free(&found);
}

static void inner_branch(void **state)
{
    (void)state;
    struct found_loops found =
        assemble("0: inc %ecx\ntest $1,%cl\nje 1f\nadd %ecx,%eax\n1: cmp %esi,%ecx\njne 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 13, 6, 1, "an inner branch at 0x5");
    found_loops__free(&found);
}

/* An early exit is a branch, too; what lies behind the back branch is not in the loop. */
static void exit_branch(void **state)
{
    (void)state;
    struct found_loops found = assemble("0: inc %ecx\njz 1f\ncmp %esi,%ecx\njne 0b\nxor %eax,%eax\n1: ret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 8, 4, 1, "an inner branch at 0x2");
    found_loops__free(&found);
}

static void system_call(void **state)
{
    (void)state;
    struct found_loops found = assemble("0: syscall\ndec %ebx\njnz 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 6, 3, 1, "a system call at 0x0");
    found_loops__free(&found);
}

static void calls(void **state)
{
    (void)state;
    struct found_loops found =
        assemble("0: dec %ebx\njz 1f\ncall puts\njmp 0b\n1: call *%rax\ndec %ebx\njnz 1b\nret");
    assert_int_equal(found.n, 2);
    check(&found.loop[0], 0, 11, 4, 1, "a call at 0x4 to puts");
    check(&found.loop[1], 11, 17, 3, 1, "a call at 0xb");
    found_loops__free(&found);
}

static void undecodable(void **state)
{
    (void)state;
    struct found_loops found = assemble("0: .byte 0x06\ndec %ebx\njnz 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 5, 3, 1, "an instruction that cannot be decoded at 0x0 (06 ff cb 75 fb c3)");
    found_loops__free(&found);
}

static void into_the_middle(void **state)
{
    (void)state;
    struct found_loops found = assemble("0: lock incl (%rdi)\ndec %ebx\njnz 0b+1\nret");
    assert_int_equal(found.n, 1);
    assert_string_equal(found.loop[0].why, "a branch into the middle of an instruction at 0x5");
    found_loops__free(&found);
}

/* A table of cases: each leads back to the header, and one of them has a loop of its own. */
static void jump_table(void **state)
{
    (void)state;
    struct found_loops found =
        assemble("0: inc %ecx\njmp *(%rdi,%rcx,8)\nadd $1,%eax\njmp 0b\n1: dec %edx\njnz 1b\njmp 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 10, 14, 2, 2, NULL);
    found_loops__free(&found);
    found = assemble("0: inc %ecx\njmp *(%rdi,%rcx,8)\nadd $1,%eax\njmp 0b\nadd $2,%eax\njmp 0b\nret");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 15, 6, 1, "an indirect jump at 0x2");
    found_loops__free(&found);
}

/* Cases lie before and behind the jump, and a function that is called between them. */
static void cases_around_a_table(void **state)
{
    (void)state;
    struct found_loops found = assemble("jmp 2f\n0: add $1,%eax\njmp 2f\n1: add $2,%eax\nret\n"
                                        "2: inc %ecx\ncall 1b\njmp *(%rdi,%rcx,8)\nadd $4,%eax\njmp 2b\n");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 2, 26, 7, 1, "a call at 0xd to f");
    found_loops__free(&found);
}

/* Nothing visible leads to the handler that jumps into the loop. */
static void landing_pad(void **state)
{
    (void)state;
    struct found_loops found =
        assemble("0: dec %ebx\ncall g\n2: test %ebx,%ebx\njnz 0b\nret\nmov %rax,%rdi\njmp 2b");
    assert_int_equal(found.n, 1);
    check(&found.loop[0], 0, 11, 4, 1, "a call at 0x2 to g");
    found_loops__free(&found);
}

/* ---- objects ---- */

/* The field of a relocated branch holds 0: taken as it stands it would lead to the next instruction. */
static void relocated_branches(void **state)
{
    (void)state;
    struct status st = {0};
    struct found_loops found;
    char path[64];
    const char text[] = ".text\nnop\nf: jmp elsewhere\ndec %eax\njs f\nret\n";
    write_file("r.s", text, sizeof text - 1);
    assert_true(command("cc -c -o %s/r.o %s/r.s", folder, folder));
    snprintf(path, sizeof path, "%s/r.o", folder);
    assert_int_equal(find__loops(path, isa, NULL, &found, &st), -1);
    assert_non_null(strstr(st.text, "no loop"));

    /* a branch to a global symbol of the same section is relocated and comes back */
    const char back[] = ".text\nnop\n.globl f\nf: dec %eax\njne f\nret\n";
    write_file("r.s", back, sizeof back - 1);
    assert_true(command("cc -c -o %s/r.o %s/r.s", folder, folder));
    found = find("r.o", NULL);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.loop[0].start, 1);
    assert_true(found.loop[0].simple);
    assert_string_equal(found.loop[0].function, "f"); /* a label will do */
    found_loops__free(&found);
}

static void sections_of_an_object(void **state)
{
    (void)state;
    const char text[] =
        "int f(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }\n"
        "int g(int *p, int n) { int s = 1; for (int i = 0; i < n; i++) s *= p[i]; return s; }\n";
    write_file("s.c", text, sizeof text - 1);
    assert_true(command("cc -g -O1 -ffunction-sections -c -o %s/s.o %s/s.c", folder, folder));
    struct found_loops found = find("s.o", NULL);
    assert_int_equal(found.n, 2);
    assert_true(found.loop[0].start < 0x1000);
    assert_true(found.loop[1].start >> 32 > 0);
    assert_string_equal(found.loop[0].function, "f");
    assert_string_equal(found.loop[1].function, "g");
    assert_int_equal(found.loop[0].line, 1);
    assert_int_equal(found.loop[1].line, 2);
    assert_non_null(strstr(found.loop[1].file, "s.c"));
    found_loops__free(&found);
    /* not every compiler writes a table of the units' addresses */
    assert_true(command("objcopy --remove-section=.debug_aranges %s/s.o", folder));
    found = find("s.o", &(struct find_selection){.file = "s.c", .line = 2});
    assert_int_equal(found.n, 1);
    assert_string_equal(found.loop[0].function, "g");
    found_loops__free(&found);
}

/* ---- programs ---- */

static const char program[] = "#include <stdio.h>\n"
                              "int twice(int x) __asm__(\"_ZN5shape5twiceEi\");\n"
                              "__attribute__((noinline)) int twice(int x)\n"
                              "{\n"
                              "    int s = 0;\n"
                              "    for (int i = 0; i < x; i++)\n" /* line 6 */
                              "        s ^= i;\n"
                              "    return s;\n"
                              "}\n"
                              "__attribute__((noinline)) void talk(int n)\n"
                              "{\n"
                              "    for (int i = 0; i < n; i++)\n" /* line 12 */
                              "        puts(\"x\");\n"
                              "}\n"
                              "int main(int argc, char **argv)\n"
                              "{\n"
                              "    (void)argv;\n"
                              "    talk(argc);\n"
                              "    return twice(argc);\n"
                              "}\n";

static void make_program(void)
{
    static bool made;
    if (made)
        return;
    write_file("p.c", program, sizeof program - 1);
    assert_true(command("cc -g -O1 -o %s/p %s/p.c", folder, folder));
    assert_true(command("strip -o %s/p.stripped %s/p", folder, folder));
    made = true;
}

static void selections(void **state)
{
    (void)state;
    make_program();
    struct found_loops found = find("p", &(struct find_selection){.function = "talk"});
    assert_int_equal(found.n, 1);
    assert_non_null(strstr(found.loop[0].why, "to puts@plt"));
    assert_int_equal(found.loop[0].line, 12);
    assert_int_equal(found.loop[0].last_line, 13);
    uint64_t talk = found.loop[0].start, talk_end = found.loop[0].end;
    found_loops__free(&found);

    found = find("p", &(struct find_selection){.file = "p.c", .line = 7});
    assert_int_equal(found.n, 1);
    assert_true(found.loop[0].simple);
    found_loops__free(&found);

    found = find("p", &(struct find_selection){.at_start = talk, .at_end = talk_end});
    assert_int_equal(found.n, 1);
    assert_int_equal(found.loop[0].start, talk);
    found_loops__free(&found);
    found = find("p", &(struct find_selection){.at_start = talk + 1});
    assert_int_equal(found.n, 1);
    found_loops__free(&found);

    refuses("p", &(struct find_selection){.function = "tolk"}, "did you mean 'talk'");
    refuses("p", &(struct find_selection){.function = "main"}, "'main' has no loop");
    refuses("p", &(struct find_selection){.file = "p.c", .line = 20}, "the nearest begins at line 12");
    refuses("p", &(struct find_selection){.file = "q.c", .line = 20}, "'q.c'");
    refuses("p", &(struct find_selection){.at_start = talk + 1, .at_end = talk_end},
            "no innermost loop lies in");
    refuses("p", &(struct find_selection){.at_start = 1}, "contains the address 0x1");
    refuses("p.stripped", &(struct find_selection){.file = "p.c", .line = 7}, "compile with -g");
    refuses("p.stripped", &(struct find_selection){.function = "twice"}, "twice");
}

static void readable_names(void **state)
{
    (void)state;
    char *name = demangle("_ZN5shape5twiceEi");
    make_program();
    struct found_loops found = find("p", &(struct find_selection){.function = "_ZN5shape5twiceEi"});
    assert_int_equal(found.n, 1);
    assert_string_equal(found.loop[0].function, name ? name : "_ZN5shape5twiceEi");
    found_loops__free(&found);
    if (name) {
        found = find("p", &(struct find_selection){.function = "shape::twice"});
        assert_int_equal(found.n, 1);
        found_loops__free(&found);
    } else {
        print_message("skipped: built without libiberty, so that no name is demangled\n");
    }
    free(name);
}

/* The same loops, whether functions are known from symbols, from the unwind table or not at all. */
static void stripped(void **state)
{
    (void)state;
    make_program();
    assert_true(command("objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr %s/p.stripped "
                        "%s/p.bare",
                        folder, folder));
    struct found_loops whole = find("p", NULL);
    const char *const others[] = {"p.stripped", "p.bare"};
    for (int i = 0; i < 2; i++) {
        struct found_loops less = find(others[i], NULL);
        assert_int_equal(less.n, whole.n);
        for (size_t k = 0; k < whole.n; k++) {
            assert_int_equal(less.loop[k].start, whole.loop[k].start);
            assert_int_equal(less.loop[k].end, whole.loop[k].end);
            assert_int_equal(less.loop[k].simple, whole.loop[k].simple);
        }
        found_loops__free(&less);
    }
    found_loops__free(&whole);
}

/* ---- refusals ---- */

static char *read_program(size_t *size)
{
    char path[64];
    struct status st = {0};
    make_program();
    snprintf(path, sizeof path, "%s/p", folder);
    char *data = file__read(path, 1 << 24, size, &st);
    assert_non_null(data);
    return data;
}

static void no_section_headers(void **state)
{
    (void)state;
    size_t size;
    char *data = read_program(&size);
    Elf64_Ehdr *ehdr = (Elf64_Ehdr *)data;
    ehdr->e_shoff = 0;
    ehdr->e_shnum = ehdr->e_shstrndx = 0;
    write_file("segments", data, size);
    struct found_loops whole = find("p", NULL), found = find("segments", NULL);
    size_t n = 0; /* the linkage table is code like any other here */
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < whole.n; k++)
            n += found.loop[i].start == whole.loop[k].start && found.loop[i].end == whole.loop[k].end;
    assert_int_equal(n, whole.n);
    found_loops__free(&found);
    found_loops__free(&whole);
    free(data);
}

static void other_files(void **state)
{
    (void)state;
    size_t size;
    char *data = read_program(&size);
    Elf64_Ehdr *ehdr = (Elf64_Ehdr *)data;
    refuses("missing", NULL, "No such file");
    refuses(".", NULL, "not a regular file");
    write_file("empty", "", 0);
    refuses("empty", NULL, "is empty");
    refuses("p.c", NULL, "not an ELF file");
    write_file("cut", data, size / 2);
    refuses("cut", NULL, "truncated");
    write_file("stub", data, 20);
    refuses("stub", NULL, "truncated");
    assert_true(command("ar rc %s/p.a %s/p", folder, folder));
    refuses("p.a", NULL, "archive");
    assert_true(command("objcopy --only-keep-debug %s/p %s/p.debug", folder, folder));
    refuses("p.debug", NULL, "no code");
    static const struct {
        uint16_t machine;
        const char *text;
    } machines[] = {{EM_AARCH64, "AArch64"}, {EM_386, "32-bit"}, {EM_RISCV, "another processor"}};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        ehdr->e_machine = machines[i].machine;
        write_file("machine", data, size);
        refuses("machine", NULL, machines[i].text);
    }
    ehdr->e_machine = EM_X86_64;
    ehdr->e_type = ET_CORE;
    write_file("machine", data, size);
    refuses("machine", NULL, "core dump");
    ehdr->e_type = ET_DYN;
    Elf64_Shdr *shdr = (Elf64_Shdr *)(data + ehdr->e_shoff);
    for (int i = 0; i < ehdr->e_shnum; i++)
        if (shdr[i].sh_flags & SHF_EXECINSTR)
            shdr[i].sh_size = size;
    write_file("machine", data, size);
    refuses("machine", NULL, "outside the file");
    free(data);
}

/* ---- names ---- */

static void names(void **state)
{
    (void)state;
    assert_true(name__is_function("f", "f"));
    assert_true(name__is_function("memcpy@@GLIBC_2.14", "memcpy"));
    assert_true(name__is_function("work.constprop.0", "work"));
    assert_true(name__is_function("shape::area(int) const", "shape::area"));
    assert_true(name__is_function("shape::area(int) const", "shape::area(int) const"));
    assert_true(name__is_function("(anonymous namespace)::go(void (*)(int))", "(anonymous namespace)::go"));
    assert_true(name__is_function("void sort<int, std::less<int> >(int*)", "sort"));
    assert_true(name__is_function("void sort<int>(int*)", "sort<int>"));
    assert_true(name__is_function("shape::operator()(int)", "shape::operator()"));
    assert_false(name__is_function("shape::area(int)", "area"));
    assert_false(name__is_function("ff", "f"));
    assert_false(name__is_function("f", "ff"));
    assert_false(name__is_function("", "f"));
    assert_true(name__is_file("/src/a/b.c", "b.c"));
    assert_true(name__is_file("/src/a/b.c", "a/b.c"));
    assert_true(name__is_file("/src/a/b.c", "./b.c"));
    assert_true(name__is_file("/src/a/b.c", "/src/a/b.c"));
    assert_false(name__is_file("/src/a/bb.c", "b.c"));
    assert_false(name__is_file("b.c", ""));
}

static int set_up(void **state)
{
    (void)state;
    struct status st = {0};
    if (core__load(&core, "skl", NULL, 0, &st) || !(isa = isa__open(&core, &st))) {
        print_message("%s\n", st.text);
        return -1;
    }
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    isa__close(isa);
    return command("rm -rf %s", folder) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(one_block),
        cmocka_unit_test(entered_at_the_condition),
        cmocka_unit_test(loop_instruction_and_endless),
        cmocka_unit_test(nested),
        cmocka_unit_test(shared_header),
        cmocka_unit_test(inner_branch),
        cmocka_unit_test(exit_branch),
        cmocka_unit_test(system_call),
        cmocka_unit_test(calls),
        cmocka_unit_test(undecodable),
        cmocka_unit_test(into_the_middle),
        cmocka_unit_test(jump_table),
        cmocka_unit_test(cases_around_a_table),
        cmocka_unit_test(landing_pad),
        cmocka_unit_test(relocated_branches),
        cmocka_unit_test(sections_of_an_object),
        cmocka_unit_test(selections),
        cmocka_unit_test(readable_names),
        cmocka_unit_test(stripped),
        cmocka_unit_test(no_section_headers),
        cmocka_unit_test(other_files),
    };
    if (!command("cc --version >/dev/null 2>&1 && objcopy --version >/dev/null 2>&1")) {
        fprintf(stderr, "skipped: needs a C compiler and binutils (apt-get install gcc)\n");
        return SKIP;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
