/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks from text: syntaxes, markers, relocations, what is wrong in which line; hexadecimal digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fathom/status.h"
#include "loop/asm.h"

static void expect_bytes(const struct asm_block *b, const char *hex)
{
    uint8_t bytes[256];
    struct status st;
    size_t n;
    assert_int_equal(hex__parse(hex, bytes, sizeof bytes, &n, &st), 0);
    assert_int_equal(b->size, n);
    assert_memory_equal(b->bytes, bytes, n);
}

static void assemble(struct asm_blocks *b, const char *text, bool intel)
{
    struct status st = {0};
    if (asm__assemble(text, strlen(text), "t.s", intel, b, &st))
        fail_msg("%s", st.text);
}

static void refuse(const char *text, const char *why)
{
    struct asm_blocks b;
    struct status st = {0};
    assert_int_equal(asm__assemble(text, strlen(text), "t.s", false, &b, &st), -1);
    if (!strstr(st.text, why))
        fail_msg("no \"%s\" in \"%s\"", why, st.text);
    assert_null(b.folder);
}

static void takes_all_code_without_markers(void **state)
{
    struct asm_blocks b;
    (void)state;
    assemble(&b, "l: add %rbx, %rax; add %rdx, %rcx\n dec %r15 # LLVM-MCA-NOTHING\n jnz l\n", false);
    assert_int_equal(b.n, 1);
    assert_false(b.marked);
    expect_bytes(&b.block[0], "4801d8 4801d1 49ffcf 75f5");
    char *object = strdup(b.object), *folder = strdup(b.folder);
    assert_int_equal(access(object, R_OK), 0);
    asm_blocks__free(&b);
    assert_int_not_equal(access(folder, F_OK), 0);
    free(object);
    free(folder);
}

static void understands_both_syntaxes(void **state)
{
    struct asm_blocks b;
    (void)state;
    assemble(&b, "add rax, rbx\n", true);
    expect_bytes(&b.block[0], "4801d8");
    asm_blocks__free(&b);
    assemble(&b, ".intel_syntax noprefix\nadd rax, rbx\n", false);
    expect_bytes(&b.block[0], "4801d8");
    asm_blocks__free(&b);
}

static void honours_comment_markers(void **state)
{
    struct asm_blocks b;
    (void)state;
    assemble(&b,
             "nop\n# LLVM-MCA-BEGIN outer loop\n nop # LLVM-MCA-BEGIN inner\n inc %eax\n"
             "# LLVM-MCA-END inner\n dec %eax\n/* LLVM-MCA-END outer loop */\n"
             "# OSACA-BEGIN\n add %rbx,%rax # OSACA-END\n// IACA-START\nret\n// IACA-END\n IACA_START\n "
             "cltq\nIACA_END\n",
             false);
    assert_int_equal(b.n, 5);
    assert_true(b.marked);
    assert_string_equal(b.block[0].name, "outer loop");
    assert_int_equal(b.block[0].line, 2);
    expect_bytes(&b.block[0], "90 ffc0 ffc8");
    assert_string_equal(b.block[1].name, "inner");
    expect_bytes(&b.block[1], "ffc0");
    expect_bytes(&b.block[2], "4801d8");
    assert_null(b.block[2].name);
    expect_bytes(&b.block[3], "c3");
    expect_bytes(&b.block[4], "4898");
    asm_blocks__free(&b);
}

static void honours_byte_markers(void **state)
{
    struct asm_blocks b;
    (void)state;
    assemble(&b,
             "nop\nmovl $111,%ebx\n.byte 100,103,144\ninc %eax\nmovl $222,%ebx\n.byte 100,103,144\nnop\n"
             "movl $111,%ebx\n.byte 100,103,144\ndec %eax\nmovl $222,%ebx\n.byte 100,103,144\n",
             false);
    assert_int_equal(b.n, 2);
    expect_bytes(&b.block[0], "ffc0");
    expect_bytes(&b.block[1], "ffc8");
    asm_blocks__free(&b);
}

/* A branch to a global label of the same section, two loads of one foreign symbol and one of another. */
static void applies_relocations(void **state)
{
    struct asm_blocks b;
    int32_t branch, first, second, other;
    (void)state;
    assemble(&b, ".globl l\nl: mov x(%rip),%rax\nmov x(%rip),%rbx\nmov y(%rip),%rcx\njmp l\n", false);
    assert_true(b.block[0].size == 3 * 7 + 5 || b.block[0].size == 3 * 7 + 2);
    if (b.block[0].size == 3 * 7 + 5) {
        memcpy(&branch, b.block[0].bytes + 22, 4);
        assert_int_equal(branch, -26);
    }
    memcpy(&first, b.block[0].bytes + 3, 4);
    memcpy(&second, b.block[0].bytes + 10, 4);
    memcpy(&other, b.block[0].bytes + 17, 4);
    assert_int_equal(first, second + 7);
    assert_true(other > second + 64 || other < second - 64);
    asm_blocks__free(&b);
}

static void names_the_line(void **state)
{
    (void)state;
    refuse("nop\nfrobnicate %eax\n", "t.s:2: no such instruction");
    refuse("nop\n# LLVM-MCA-BEGIN\nfrobnicate %eax\n# LLVM-MCA-END\n", "t.s:3: no such instruction");
    refuse("# LLVM-MCA-BEGIN\nnop\n", "t.s:1: the region that begins here has no end");
    refuse("nop\n# OSACA-END\n", "t.s:2: OSACA-END without a begin marker");
    refuse("", "there is no instruction");
    refuse(".data\n.long 1\n", "there is no instruction");
    struct asm_blocks b;
    struct status st;
    assert_int_equal(asm__assemble("a\0b", 3, "t.s", false, &b, &st), -1);
    assert_non_null(strstr(st.text, "neither an ELF file nor assembly text"));
}

static void reads_digits(void **state)
{
    uint8_t b[8];
    size_t n;
    struct status st;
    (void)state;
    assert_int_equal(hex__parse("0x48, 0x01 d8\t\\x90 Ff", b, sizeof b, &n, &st), 0);
    assert_int_equal(n, 5);
    assert_memory_equal(b, "\x48\x01\xd8\x90\xff", 5);
    assert_int_equal(hex__parse("", b, sizeof b, &n, &st), 0);
    assert_int_equal(n, 0);
    assert_int_equal(hex__parse("480", b, sizeof b, &n, &st), -1);
    assert_int_equal(hex__parse("48 g0", b, sizeof b, &n, &st), -1);
    assert_non_null(strstr(st.text, "character 4"));
    assert_int_equal(hex__parse("0x", b, sizeof b, &n, &st), -1);
    assert_int_equal(hex__parse("000102030405060708", b, sizeof b, &n, &st), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_all_code_without_markers),
        cmocka_unit_test(understands_both_syntaxes),
        cmocka_unit_test(honours_comment_markers),
        cmocka_unit_test(honours_byte_markers),
        cmocka_unit_test(applies_relocations),
        cmocka_unit_test(names_the_line),
        cmocka_unit_test(reads_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
