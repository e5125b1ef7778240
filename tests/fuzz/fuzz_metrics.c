/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a metric file, evaluated over an event lookup that knows every second name.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "fathom/profile.h"
#include "fathom/status.h"
#include "fathom/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fuzz__lookup(void *arg, const char *name, double *value)
{
    unsigned sum = 0;

    (void)arg;
    for (; *name; name++)
        sum += (unsigned char)*name;
    *value = sum;
    return sum % 2 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct status st = {0};
    struct metrics *metrics = metrics__parse((const char *)data, size, "fuzz", &st);
    struct profile_tree tree;
    char sentence[64], next[64];

    if (!metrics) {
        if (st.text[0] == '\0')
            abort(); /* every refusal says why */
        return 0;
    }
    if (metrics__evaluate(metrics, "fuzz", "fuzz", fuzz__lookup, NULL, &tree, &st) == 0) {
        tree__verdict(&tree, "f", sentence, sizeof sentence, next, sizeof next);
        profile_tree__free(&tree);
    }
    metrics__free(metrics);
    return 0;
}
