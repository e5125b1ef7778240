/* SPDX-License-Identifier: Apache-2.0 */
/* Any text between markers, and any file in the place of the assembler's output. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"
#include "loop/asm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lines_of(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    return n;
}

static void mark(const uint8_t *data, size_t size, struct asm_source *source)
{
    struct status st = {0};
    if (asm__mark((const char *)data, size, "fuzz.s", source, &st)) {
        assert(strstr(st.text, "fuzz.s"));
        return;
    }
    assert(lines_of(source->text, source->size) ==
           lines_of((const char *)data, size) + (size && data[size - 1] != '\n'));
}

static void extract(const uint8_t *data, size_t size, const struct asm_source *source)
{
    struct asm_blocks blocks = {0};
    struct status st = {0};
    void *copy = malloc(size + 1);
    memcpy(copy, data, size);
    if (asm__extract(copy, size, source, "fuzz.s", &blocks, &st))
        assert(strstr(st.text, "fuzz.s"));
    asm_blocks__free(&blocks);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct asm_source source = {0};
    const struct asm_source two = {.region = (struct asm_region[2]){{.line = 1}, {.line = 2}}, .n = 2};
    size_t at = 0, begin, end;

    mark(data, size, &source);
    asm_source__free(&source);
    extract(data, size, &source);
    extract(data, size, &two);
    while (asm__byte_region(data, size, &at, &begin, &end))
        assert(begin <= end && end <= size);
    return 0;
}
