/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of a stored result: a made-up profile of loops in this very program. */
#include <elf.h>
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "fathom/from_run.h"
#include "fathom/insn.h"
#include "fathom/status.h"
#include "loop/from_run_code.h"
#include "profile/object.h"

/* Two loops: a sum of four instructions whose end is a macro-fused pair, and one with a branch inside. */
__asm__(".pushsection .text\n"
        ".p2align 6\n"
        ".globl from_run_sum\n.type from_run_sum, @function\n"
        "from_run_sum:\n"
        "  xor %eax, %eax\n"
        ".p2align 6\n"
        ".globl from_run_sum_loop\nfrom_run_sum_loop:\n"
        "1: add (%rdi,%rax,8), %rcx\n" /* at 0 */
        "  inc %rax\n"                 /* at 4 */
        "  cmp %rdx, %rax\n"           /* at 7 */
        "  jne 1b\n"                   /* at 10 */
        "  ret\n"
        ".size from_run_sum, . - from_run_sum\n"
        ".globl from_run_branchy\n.type from_run_branchy, @function\n"
        "from_run_branchy:\n"
        ".p2align 6\n"
        ".globl from_run_branchy_loop\nfrom_run_branchy_loop:\n"
        "1: bt %eax, (%rdi)\n" /* at 0 */
        "  jc 2f\n"            /* at 3 */
        "  inc %rcx\n"         /* at 5 */
        "2: inc %rax\n"        /* at 8 */
        "  cmp %rdx, %rax\n"   /* at 11 */
        "  jne 1b\n"           /* at 14 */
        "  ret\n"
        ".size from_run_branchy, . - from_run_branchy\n"
        ".popsection\n");
extern const char from_run_sum_loop[], from_run_branchy_loop[];

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uint64_t *)base = info->dlpi_addr;
    return 1;
}

static uint64_t file_address(const char *code)
{
    uint64_t base = 0;
    dl_iterate_phdr(first_object, &base);
    return (uint64_t)(uintptr_t)code - base;
}

/* --- a profile ----------------------------------------------------------------------------------- */

static struct profile *new_profile(void)
{
    struct profile *p = profile__new();
    char path[4096], *text;
    size_t size;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    struct core core;
    FILE *out = open_memstream(&text, &size);

    assert_true(n > 0);
    path[n] = 0;
    assert_int_equal(core__load(&core, "skl", NULL, 0, NULL), 0);
    core__print(&core, out);
    fclose(out);
    p->core = strdup("skl");
    p->core_text = text;
    p->command = strdup("./app");
    p->complete = true;
    p->issue_width = 4;
    p->cycles = 100000;
    p->n_modules = 2;
    p->module = calloc(2, sizeof *p->module);
    p->module[0].path = strdup(path);
    p->module[1].path = strdup("[vdso]");
    struct object *object = object__open(path);
    if (object__build_id(object))
        p->module[0].build_id = strdup(object__build_id(object));
    object__close(object);
    p->place = calloc(16, sizeof *p->place);
    return p;
}

static struct profile_place *add(struct profile *p, const char *code, int at, uint64_t insns, uint64_t cycles)
{
    struct profile_place *place = &p->place[p->n_places++];
    *place = (struct profile_place){.addr = (uint64_t)(uintptr_t)(code + at),
                                    .module = 0,
                                    .offset = file_address(code) + (uint64_t)at,
                                    .function = -1,
                                    .weight = {.insns = insns, .cycles_tip = cycles * TIP_UNIT}};
    return place;
}

/* 1,000 iterations of 5 cycles, 10 of them without macro-fusion. */
static void add_sum(struct profile *p)
{
    struct profile_place *first = add(p, from_run_sum_loop, 0, 1000, 3000);
    first->weight.slots[PLACE_RETIRING] = 1000;
    first->weight.slots[PLACE_BACKEND_MEMORY] = 14000;
    add(p, from_run_sum_loop, 4, 1000, 1000)->weight.slots[PLACE_RETIRING] = 1000;
    struct profile_place *pair = add(p, from_run_sum_loop, 7, 1990, 990);
    pair->weight.slots[PLACE_RETIRING] = 1000;
    pair->weight.slots[PLACE_BAD_SPECULATION] = 400;
    pair->weight.slots[PLACE_FRONTEND] = 800;
    pair->weight.slots[PLACE_BACKEND_CORE] = 1200;
    add(p, from_run_sum_loop, 10, 10, 10)->weight.slots[PLACE_RETIRING] = 10;
}

/* 500 iterations of 40 cycles; half of them skip the instruction at 5. */
static void add_branchy(struct profile *p)
{
    static const struct {
        int at;
        uint64_t insns;
    } row[] = {{0, 500}, {3, 500}, {5, 250}, {8, 500}, {11, 1000}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        add(p, from_run_branchy_loop, row[i].at, row[i].insns, 4000)->weight.slots[PLACE_BAD_SPECULATION] =
            12000;
}

static struct from_run_options options(size_t n)
{
    return (struct from_run_options){.n = n, .registers = LOOP_REGISTERS_STACK};
}

static void make(const struct profile *p, const struct from_run_options *opt, struct from_run *run)
{
    struct status st;
    if (from_run__make(p, opt, run, &st))
        fail_msg("%s", st.text);
}

static void check_sums(const struct from_run_loop *l)
{
    double program = 0, predicted = 0, difference = 0;
    for (int c = 0; c < FROM_RUN_CAUSES; c++) {
        program += l->program_by[c];
        predicted += l->predicted_by[c];
        difference += l->difference_by[c];
    }
    assert_true(fabs(program - l->in_program) < 1e-9);
    if (l->why)
        return;
    assert_true(fabs(predicted - l->predicted) < 1e-9);
    assert_true(fabs(difference - l->difference) < 1e-9);
    assert_true(fabs(l->in_program - l->predicted - l->difference) < 1e-12);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void parts_sum_to_the_difference(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    (void)state;
    add_sum(p);
    make(p, &opt, &run);
    assert_int_equal(run.n, 1);
    assert_int_equal(run.n_notes, 0);
    const struct from_run_loop *l = &run.loop[0];
    assert_null(l->why);
    assert_string_equal(l->code->function, "from_run_sum");
    assert_int_equal(l->iterations, 1000);
    assert_true(fabs(l->share - 0.05) < 1e-12 && fabs(run.share - 0.05) < 1e-12);
    assert_true(fabs(l->in_program - 5) < 1e-12);
    assert_true(l->predicted >= 1 && l->predicted < 1.5);
    assert_true(fabs(l->program_by[FROM_RUN_MEMORY] - 3.5) < 1e-12);
    assert_true(fabs(l->program_by[FROM_RUN_BAD_SPECULATION] - 0.1) < 1e-12);
    assert_true(fabs(l->program_by[FROM_RUN_FRONTEND] - 0.2) < 1e-12);
    assert_true(fabs(l->program_by[FROM_RUN_CORE] - 0.3) < 1e-12);
    assert_true(fabs(l->program_by[FROM_RUN_ELSEWHERE] - (5 - 0.7525 - 4.1)) < 1e-12);
    check_sums(l);
    assert_non_null(strstr(l->sentence, "mostly memory"));
    assert_non_null(strstr(l->next, "L1 cache"));
    from_run__free(&run);
    profile__free(p);
}

static void loops_that_cannot_be_predicted_keep_their_figures(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    (void)state;
    add_branchy(p);
    make(p, &opt, &run);
    assert_int_equal(run.n, 1);
    const struct from_run_loop *l = &run.loop[0];
    assert_non_null(l->why);
    assert_non_null(strstr(l->why, "an inner branch"));
    assert_int_equal(l->iterations, 500);
    assert_true(fabs(l->in_program - 40) < 1e-12);
    assert_true(isnan(l->predicted) && isnan(l->difference));
    check_sums(l);
    assert_non_null(strstr(l->sentence, "bad speculation"));
    from_run__free(&run);
    profile__free(p);
}

static void hottest_come_first(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    (void)state;
    add_sum(p);
    add_branchy(p);
    make(p, &opt, &run);
    assert_int_equal(run.n, 2);
    assert_string_equal(run.loop[0].code->function, "from_run_branchy");
    assert_string_equal(run.loop[1].code->function, "from_run_sum");
    from_run__free(&run);

    opt.n = 1;
    make(p, &opt, &run);
    assert_int_equal(run.n, 1);
    assert_string_equal(run.loop[0].code->function, "from_run_branchy");
    from_run__free(&run);

    opt.sel = &(struct find_selection){.function = "from_run_sum"};
    make(p, &opt, &run);
    assert_int_equal(run.n, 1);
    assert_string_equal(run.loop[0].code->function, "from_run_sum");
    from_run__free(&run);
    profile__free(p);
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = value ? strdup(value) : NULL;
}

/* Code between the first and last instruction of a loop that belongs to a shorter one is not counted twice.
 */
static void places_belong_to_the_shortest_loop(void **state)
{
    struct profile *p = new_profile();
    struct found_loop loop[] = {{.start = 0x10, .end = 0x40}, {.start = 0x20, .end = 0x30}};
    struct found_loops found = {.loop = loop, .n = 2};
    static const uint64_t offset[] = {0x0f, 0x10, 0x20, 0x2f, 0x30, 0x40};
    struct place_index index;
    struct status st;
    (void)state;
    for (size_t i = 0; i < sizeof offset / sizeof offset[0]; i++)
        p->place[p->n_places++] = (struct profile_place){.offset = offset[i], .weight.insns = 1u << i};
    p->place[p->n_places++] = (struct profile_place){.module = 1, .offset = 0x20, .weight.insns = 1u << 20};
    assert_int_equal(place_index__build(&index, p, &st), 0);
    struct site_weight *weight = place_index__loop_weights(&index, 0, &found);
    assert_non_null(weight);
    assert_int_equal(weight[0].insns, 1u << 1 | 1u << 4);
    assert_int_equal(weight[1].insns, 1u << 2 | 1u << 3);
    free(weight);
    place_index__free(&index);
    profile__free(p);
}

/* A module that is missing or another file is said once; what else there is is still shown. */
static void unusable_modules_are_named(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    struct status st;
    (void)state;
    add_sum(p);
    add(p, from_run_sum_loop, 0, 1, 50000)->module = 1;
    make(p, &opt, &run);
    assert_int_equal(run.n, 1);
    assert_int_equal(run.n_notes, 1);
    assert_string_equal(run.note[0], "50.0 % of the cycles are in [vdso], which is no file");
    from_run__free(&run);

    set_text(&p->module[1].path, "/no/such/file");
    make(p, &opt, &run);
    assert_int_equal(run.n, 1);
    assert_int_equal(run.n_notes, 1);
    assert_non_null(strstr(run.note[0], "/no/such/file: is not there any more"));
    assert_non_null(strstr(run.note[0], "50.0 %"));
    from_run__free(&run);

    set_text(&p->module[0].build_id, "0123456789abcdef");
    assert_int_equal(from_run__make(p, &opt, &run, &st), -1);
    assert_int_equal(run.n_notes, 2);
    assert_non_null(strstr(run.note[1], "is not the file that was run"));
    assert_non_null(strstr(st.text, "see the lines above"));
    from_run__free(&run);
    profile__free(p);
}

/* Without build ids the instructions are compared. */
static void changed_instructions_are_noticed(void **state)
{
    static const char *const text[] = {"add rcx, qword ptr [rdi+rax*8]", "inc rax", "cmp rax, rdx"};
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    (void)state;
    add_sum(p);
    set_text(&p->module[0].build_id, NULL);
    for (size_t i = 0; i < 3; i++)
        set_text(&p->place[i].text, text[i]);
    make(p, &opt, &run);
    assert_null(run.loop[0].why);
    from_run__free(&run);

    set_text(&p->place[1].text, "dec rax");
    make(p, &opt, &run);
    assert_non_null(run.loop[0].why);
    assert_non_null(strstr(run.loop[0].why, "file has changed"));
    from_run__free(&run);

    set_text(&p->place[1].text, "inc rax");
    p->place[1].offset++;
    make(p, &opt, &run);
    assert_non_null(run.loop[0].why);
    from_run__free(&run);
    profile__free(p);
}

static void core_is_the_stored_one(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    struct core core;
    struct status st;
    (void)state;
    add_sum(p);
    make(p, &opt, &run);
    assert_string_equal(run.core, "skl");
    assert_false(run.other_core);
    from_run__free(&run);

    assert_int_equal(core__load(&core, "snb", NULL, 0, &st), 0);
    opt.core = &core;
    make(p, &opt, &run);
    assert_string_equal(run.core, "snb");
    assert_true(run.other_core);
    from_run__free(&run);

    set_text(&p->core_text, "rob_entries = 224\nnonsense = 1\n");
    make(p, &opt, &run);
    from_run__free(&run);
    opt.core = NULL;
    assert_int_equal(from_run__make(p, &opt, &run, &st), -1);
    assert_non_null(strstr(st.text, "--core"));
    from_run__free(&run);

    set_text(&p->core_text, NULL);
    make(p, &opt, &run);
    assert_string_equal(run.core, "skl");
    from_run__free(&run);
    profile__free(p);
}

static void nothing_executed_is_said(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    struct status st;
    (void)state;
    assert_int_equal(from_run__make(p, &opt, &run, &st), -1);
    assert_string_equal(st.text, "the program executed no loop");
    from_run__free(&run);
    profile__free(p);
}

/* Every table of the text adds up in what is printed. */
static void check_table(const char *text)
{
    const char *at = strstr(text, "cycles per iteration");
    double whole[3], part[3], sum[3] = {0};
    int columns;
    assert_non_null(at);
    columns = sscanf(at + 20, "%lf %lf %lf", &whole[0], &whole[1], &whole[2]);
    assert_true(columns == 1 || columns == 3);
    while ((at = strchr(at, '\n')) && strncmp(++at, "        ", 8) == 0) {
        if (sscanf(at + 32, "%lf %lf %lf", &part[0], &part[1], &part[2]) != columns)
            break;
        for (int i = 0; i < columns; i++)
            sum[i] += part[i];
    }
    for (int i = 0; i < columns; i++)
        assert_true(fabs(sum[i] - whole[i]) < 1e-9);
}

static void views_say_it_all(void **state)
{
    struct profile *p = new_profile();
    struct from_run_options opt = options(10);
    struct from_run run;
    char *text;
    size_t size;
    (void)state;
    add_sum(p);
    add_branchy(p);
    make(p, &opt, &run);

    FILE *out = open_memstream(&text, &size);
    view__from_run_text(&run, "app.fathom", false, out);
    fclose(out);
    const char *branchy = strstr(text, "\n   1  from_run_branchy");
    const char *sum = strstr(text, "\n   2  from_run_sum");
    assert_true(branchy && sum && branchy < sum);
    assert_non_null(strstr(branchy, "No prediction: an inner branch"));
    check_table(branchy);
    check_table(sum);
    free(text);

    out = open_memstream(&text, &size);
    view__from_run_json(&run, "app.fathom", out);
    fclose(out);
    json_t *json = json_loadb(text, size, 0, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "fathom-loop-from-run");
    json_t *loops = json_object_get(json, "loops");
    assert_int_equal(json_array_size(loops), 2);
    json_t *last = json_array_get(loops, 1);
    assert_int_equal(json_integer_value(json_object_get(last, "iterations")), 1000);
    json_t *difference = json_object_get(last, "difference");
    assert_true(fabs(json_number_value(json_object_get(difference, "cycles")) - run.loop[1].difference) <
                1e-12);
    assert_true(json_is_null(json_object_get(json_array_get(loops, 0), "bottleneck")));
    json_decref(json);
    free(text);
    from_run__free(&run);
    profile__free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_sum_to_the_difference),
        cmocka_unit_test(loops_that_cannot_be_predicted_keep_their_figures),
        cmocka_unit_test(hottest_come_first),
        cmocka_unit_test(places_belong_to_the_shortest_loop),
        cmocka_unit_test(unusable_modules_are_named),
        cmocka_unit_test(changed_instructions_are_noticed),
        cmocka_unit_test(core_is_the_stored_one),
        cmocka_unit_test(nothing_executed_is_said),
        cmocka_unit_test(views_say_it_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
