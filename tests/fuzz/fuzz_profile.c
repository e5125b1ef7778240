/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a result file. Random bytes do not get past the header, so an input whose first byte is
 * odd is a list of changes to a valid file instead: three bytes each, position (two) and value.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/test_profile_fixture.h"
#include "fathom/status.h"
#include "fathom/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *valid;
static size_t valid_size;

static void make_valid(void)
{
    char path[] = "/tmp/fathom-fuzz-XXXXXX";
    struct profile *profile = fixture__profile();
    int fd = mkstemp(path);
    struct status st;
    if (fd < 0 || profile__save(profile, path, &st) < 0)
        abort();
    close(fd);
    FILE *in = fopen(path, "rb");
    valid = malloc(1 << 20);
    valid_size = in && valid ? fread(valid, 1, 1 << 20, in) : 0;
    if (!valid_size)
        abort();
    fclose(in);
    unlink(path);
    profile__free(profile);
}

static void write_input(int fd, const uint8_t *data, size_t size)
{
    if (write(fd, valid, size && data[0] & 1 ? valid_size : 0) < 0)
        abort();
    if (size && data[0] & 1) {
        for (size_t i = 1; i + 3 <= size; i += 3)
            if (pwrite(fd, data + i + 2, 1, (off_t)(((size_t)data[i] << 8 | data[i + 1]) % valid_size)) < 0)
                abort();
    } else if (write(fd, data, size) < 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct status st = {0};
    struct text_options all = {.all = true, .compare = size % 2};
    static FILE *nowhere;

    if (!valid)
        make_valid();
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    int fd = memfd_create("fathom", MFD_CLOEXEC);
    if (fd < 0 || !nowhere)
        abort();
    write_input(fd, data, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct profile *profile = profile__load(path, &st);
    if (profile) {
        view__text(profile, &all, nowhere);
        view__json(profile, nowhere);
    } else if (!st.text[0] || st.exit_code != EXIT_CODE_TOOL) {
        abort();
    }
    profile__free(profile);
    close(fd);
    return 0;
}
