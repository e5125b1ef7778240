/* SPDX-License-Identifier: Apache-2.0 */
/* Views: renderings of a profile. They compute nothing that another view would need. */
#ifndef FATHOM_VIEW_H
#define FATHOM_VIEW_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

struct text_options {
    bool all;     /* every node, not only flagged ones */
    int level;    /* deepest level shown; 0: no limit */
    bool compare; /* exact tree beside the counter-derived one and the difference */
    bool color;
    int functions; /* hot functions shown; 0: 10 */
};
void view__text(const struct profile *profile, const struct text_options *opt, FILE *out);
/* The object of docs/json.md; the same bytes for the same profile apart from "host". */
void view__json(const struct profile *profile, FILE *out);

#endif
