/* SPDX-License-Identifier: Apache-2.0 */
/* A library is compiled here, loaded, and its addresses are symbolized from its several forms:
 * with symbols, stripped, with a separate debug file, cut short, overwritten, missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fathom/profile.h"

enum { MAX_MAPS = 64, SKIP = 77 };

static const char library_source[] =
    "#include <stdlib.h>\n"
    "__attribute__((noinline)) int alpha(int x) { return x * 3; }\n"
    "static __attribute__((noinline)) int hidden(int x) { return alpha(x) + 1; }\n"
    "int area(int x) __asm__(\"_ZN5shape4areaEi\");\n"
    "int area(int x) { return hidden(x) + atoi(getenv(\"HOME\")); }\n"
    "void *hidden_address(void) { return (void *)hidden; }\n"
    "int bare(void);\n"
    "__asm__(\".text\\n.p2align 6\\n.globl bare\\nbare: nop\\ninner: nop\\nret\\n\");\n";

struct library {
    char folder[64], path[96], stripped[96], linked[96];
    struct mapping map[MAX_MAPS];
    size_t n_maps;
    uint64_t alpha, hidden, area, bare;
};

static struct library library;

static bool command(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool command(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return system(text) == 0;
}

static void read_maps(const char *path)
{
    char line[512];
    FILE *in = fopen("/proc/self/maps", "r");
    while (in && fgets(line, sizeof line, in) && library.n_maps < MAX_MAPS) {
        struct mapping *map = &library.map[library.n_maps];
        char name[256] = "";
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &map->start, &map->end, &map->file_offset, name) >=
                3 &&
            strcmp(name, path) == 0) {
            map->path = library.path;
            library.n_maps++;
        }
    }
    if (in)
        fclose(in);
}

static int build(void **state)
{
    (void)state;
    strcpy(library.folder, "/tmp/fathom-symbols-XXXXXX");
    if (!mkdtemp(library.folder))
        return -1;
    snprintf(library.path, sizeof library.path, "%s/lib.so", library.folder);
    snprintf(library.stripped, sizeof library.stripped, "%s/stripped.so", library.folder);
    snprintf(library.linked, sizeof library.linked, "%s/linked.so", library.folder);
    char source[128];
    snprintf(source, sizeof source, "%s/lib.c", library.folder);
    FILE *out = fopen(source, "w");
    fputs(library_source, out);
    fclose(out);
    if (!command("cc -g -O1 -shared -fPIC -fcf-protection=none -Wl,--build-id=none -o %s %s 2>/dev/null",
                 library.path, source) ||
        !command("strip -o %s %s", library.stripped, library.path) ||
        !command("cd %s && objcopy --only-keep-debug lib.so lib.debug && strip -o linked.so lib.so && "
                 "objcopy --add-gnu-debuglink=lib.debug linked.so",
                 library.folder)) {
        print_message("skipped: needs cc, strip and objcopy\n");
        exit(SKIP);
    }
    void *handle = dlopen(library.path, RTLD_NOW);
    if (!handle)
        return -1;
    read_maps(library.path);
    void *(*hidden_address)(void) = (void *(*)(void))dlsym(handle, "hidden_address");
    library.alpha = (uint64_t)dlsym(handle, "alpha");
    library.area = (uint64_t)dlsym(handle, "_ZN5shape4areaEi");
    library.bare = (uint64_t)dlsym(handle, "bare");
    library.hidden = (uint64_t)hidden_address();
    return 0;
}

static int clean(void **state)
{
    (void)state;
    command("rm -r %s", library.folder);
    return 0;
}

static struct profile *profile_of(const uint64_t *addr, size_t n)
{
    struct profile *profile = profile__new();
    profile->n_places = n;
    profile->place = calloc(n, sizeof *profile->place);
    for (size_t i = 0; i < n; i++) {
        profile->place[i].addr = addr[i];
        profile->place[i].weight.cycles_tip = 840 * (n - i);
        profile->place[i].weight.insns = 1;
    }
    return profile;
}

static struct profile *symbolized(const uint64_t *addr, size_t n, char *path)
{
    struct mapping map[MAX_MAPS];
    struct profile *profile = profile_of(addr, n);
    for (size_t i = 0; i < library.n_maps; i++) {
        map[i] = library.map[i];
        map[i].path = path;
    }
    profile__symbolize(profile, map, library.n_maps);
    uint64_t sum = 0, places = 0;
    for (size_t i = 0; i < profile->n_functions; i++)
        sum += profile->function[i].weight.cycles_tip;
    for (size_t i = 0; i < n; i++) {
        places += profile->place[i].weight.cycles_tip;
        assert_in_range(profile->place[i].function, 0, profile->n_functions - 1);
    }
    assert_true(sum == places);
    for (size_t i = 1; i < profile->n_functions; i++)
        assert_true(profile->function[i - 1].weight.cycles_tip >= profile->function[i].weight.cycles_tip);
    return profile;
}

static const struct profile_function *function_of(const struct profile *profile, size_t place)
{
    return &profile->function[profile->place[place].function];
}

static const char *name_of(const struct profile *profile, size_t place)
{
    return function_of(profile, place)->name;
}

static void test_names_and_lines(void **state)
{
    (void)state;
    const uint64_t addr[] = {library.alpha, library.hidden, library.area, library.bare, library.bare + 1};
    struct profile *profile = symbolized(addr, 5, library.path);
    assert_int_equal(profile->n_modules, 1);
    assert_string_equal(profile->module[0].path, library.path);
    assert_string_equal(name_of(profile, 0), "alpha");
    assert_string_equal(name_of(profile, 1), "hidden");
#ifdef FATHOM_HAVE_LIBIBERTY
    assert_string_equal(name_of(profile, 2), "shape::area(int)");
#else
    assert_string_equal(name_of(profile, 2), "_ZN5shape4areaEi");
#endif
    assert_string_equal(name_of(profile, 3), "bare");
    assert_string_equal(name_of(profile, 4), "inner");
    assert_int_equal(function_of(profile, 0)->line, 2);
    assert_int_equal(function_of(profile, 1)->line, 3);
    assert_non_null(strstr(function_of(profile, 0)->file, "lib.c"));
    assert_true(profile->place[0].offset == function_of(profile, 0)->entry);
    profile__symbolize(profile, library.map, library.n_maps); /* again: the same, nothing leaks */
    assert_string_equal(name_of(profile, 1), "hidden");
    profile__free(profile);
}

static void test_plt(void **state)
{
    (void)state;
    GElf_Shdr shdr;
    size_t names;
    bool found = false;
    int fd = open(library.path, O_RDONLY);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;) {
        gelf_getshdr(scn, &shdr);
        if (strncmp(elf_strptr(elf, names, shdr.sh_name), ".plt", 4) != 0)
            continue;
        for (uint64_t at = 0; at < shdr.sh_size; at += 8) {
            /* the base of the library is where its first mapping starts */
            const uint64_t addr = library.map[0].start + shdr.sh_addr + at;
            struct profile *profile = symbolized(&addr, 1, library.path);
            found |= strcmp(name_of(profile, 0), "getenv@plt") == 0;
            profile__free(profile);
        }
    }
    assert_true(found);
    elf_end(elf);
    close(fd);
}

static void test_stripped(void **state)
{
    (void)state;
    const uint64_t addr[] = {library.alpha, library.hidden};
    struct profile *profile = symbolized(addr, 2, library.stripped);
    assert_string_equal(name_of(profile, 0), "alpha");
    assert_non_null(strstr(name_of(profile, 1), "+0x")); /* bounds from the unwind table */
    assert_null(function_of(profile, 0)->file);
    profile__free(profile);
}

static void test_debug_link(void **state)
{
    (void)state;
    char debug[128];
    const uint64_t addr[] = {library.alpha, library.hidden};
    struct profile *profile = symbolized(addr, 2, library.linked);
    assert_string_equal(name_of(profile, 1), "hidden");
    assert_int_equal(function_of(profile, 1)->line, 3);
    profile__free(profile);
    snprintf(debug, sizeof debug, "%s/lib.debug", library.folder);
    assert_true(command("printf x >> %s", debug)); /* no longer the file that was linked */
    profile = symbolized(addr, 2, library.linked);
    assert_string_not_equal(name_of(profile, 1), "hidden");
    profile__free(profile);
}

static void test_nothing_to_read(void **state)
{
    (void)state;
    const uint64_t addr[] = {library.alpha, 0x10};
    static const char *const paths[] = {
        "/no/such/file.so",      "[vdso]",     "/dev/zero", "/tmp", "/etc/passwd",
        "/tmp/lib.so (deleted)", "relative.so"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[64], expected[80];
        snprintf(path, sizeof path, "%s", paths[i]);
        const char *slash = strrchr(path, '/');
        snprintf(expected, sizeof expected, "[unknown]+%s", slash ? slash + 1 : path);
        struct profile *profile = symbolized(addr, 2, path);
        assert_string_equal(name_of(profile, 0), expected);
        assert_string_equal(name_of(profile, 1), "[unknown]");
        assert_int_equal(profile->place[1].module, -1);
        profile__free(profile);
    }
    struct profile *profile = profile_of(addr, 2);
    profile__symbolize(profile, NULL, 0);
    assert_int_equal(profile->n_functions, 1);
    profile__free(profile);
    profile = profile__new();
    profile__symbolize(profile, NULL, 0);
    assert_int_equal(profile->n_functions, 0);
    profile__free(profile);
}

/* Any answer will do, as long as there is one. */
static void test_damaged(void **state)
{
    (void)state;
    char path[128];
    static unsigned char bytes[1 << 20], copy[1 << 20];
    const uint64_t addr[] = {library.alpha, library.hidden, library.area, library.bare};
    int fd = open(library.path, O_RDONLY);
    ssize_t size = read(fd, bytes, sizeof bytes);
    close(fd);
    assert_true(size > 0);
    snprintf(path, sizeof path, "%s/damaged.so", library.folder);
    unsigned seed = 1;
    for (int i = 0; i < 300; i++) {
        memcpy(copy, bytes, (size_t)size);
        size_t keep = i % 3 == 0 ? (size_t)size * (size_t)i / 300 : (size_t)size;
        for (int k = 0; i % 3 && k < 8; k++) {
            seed = seed * 1103515245 + 12345;
            /* headers and section table are hit more often than chance would */
            size_t at = k % 2 ? (seed >> 4) % (size_t)size : (size_t)size - 1 - (seed >> 4) % 2400;
            copy[at] = (unsigned char)(seed >> 16);
        }
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_int_equal(write(fd, copy, keep), keep);
        close(fd);
        profile__free(symbolized(addr, 4, path));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_lines), cmocka_unit_test(test_plt),
        cmocka_unit_test(test_stripped),        cmocka_unit_test(test_debug_link),
        cmocka_unit_test(test_nothing_to_read), cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, build, clean);
}
