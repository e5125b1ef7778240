/* SPDX-License-Identifier: Apache-2.0 */
/* Core files: whatever comes in is refused with a sentence or prints as a file that loads the same. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cores/params.h"
#include "fathom/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core core, again;
    struct status st = {0};
    char *text = NULL;
    size_t printed;
    FILE *out;

    if (core__parse(&core, (const char *)data, size, "fuzz.core", &st)) {
        assert(st.text[0]);
        return 0;
    }
    out = open_memstream(&text, &printed);
    core__print(&core, out);
    fclose(out);
    assert(core__parse(&again, text, printed, "printed", &st) == 0);
    assert(memcmp(&core, &again, sizeof(core)) == 0);
    free(text);
    return 0;
}
