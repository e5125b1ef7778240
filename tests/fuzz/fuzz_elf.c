/* SPDX-License-Identifier: Apache-2.0 */
/* Any file is refused with a sentence that names it, or has loops that lie in it and are sorted. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fathom/core.h"
#include "fathom/find.h"
#include "fathom/insn.h"
#include "fathom/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct isa *open_isa(void)
{
    static struct core core;
    static struct isa *isa;
    struct status st = {0};
    if (!isa && (core__load(&core, "skl", NULL, 0, &st) || !(isa = isa__open(&core, &st)))) {
        fprintf(stderr, "%s\n", st.text);
        abort();
    }
    return isa;
}

static void look(const char *path, const struct find_selection *sel)
{
    struct found_loops found;
    struct status st = {0};

    if (find__loops(path, open_isa(), sel, &found, &st)) {
        assert(strstr(st.text, path) && found.n == 0);
        return;
    }
    assert(found.n > 0);
    for (size_t i = 0; i < found.n; i++) {
        const struct found_loop *loop = &found.loop[i];
        volatile uint8_t last = loop->bytes[loop->end - loop->start - 1];
        (void)last;
        assert(loop->end > loop->start && loop->n_insns > 0 && loop->depth > 0);
        assert(loop->simple == !loop->why && loop->line <= loop->last_line);
        assert(i == 0 || loop[-1].start <= loop->start);
    }
    found_loops__free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    look(path, NULL);
    look(path, &(struct find_selection){.function = "main"});
    look(path, &(struct find_selection){.file = "a.c", .line = 3});
    close(fd);
    return 0;
}
