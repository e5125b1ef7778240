/* SPDX-License-Identifier: Apache-2.0 */
/* Any CSV: refused with a sentence, or a line of output for each record. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fathom/status.h"
#include "loop/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t records(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct csv_reader csv;
    struct csv_record record;
    size_t n = 0;
    memcpy(text, data, size);
    text[size] = 0;
    csv__init(&csv, text, size);
    while (csv__next(&csv, &record))
        n++;
    free(text);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch_options opt = {.core = "snb", .bounds_only = true};
    struct batch_result result = {0};
    struct status st = {0};
    char *text = malloc(size + 1), *out_text = NULL;
    size_t out_size;
    FILE *out = open_memstream(&out_text, &out_size), *messages = fopen("/dev/null", "w");

    memcpy(text, data, size);
    text[size] = 0;
    if (batch__run(text, size, "fuzz.csv", &opt, out, messages, &result, &st))
        assert(strstr(st.text, "fuzz.csv"));
    else
        assert(result.n_rows + 1 == records(data, size) && result.n_failed <= result.n_rows);
    fclose(out);
    fclose(messages);
    free(out_text);
    free(text);
    return 0;
}
