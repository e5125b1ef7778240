/* SPDX-License-Identifier: Apache-2.0 */
/* The table of core parameters: everything that parsing, checking, --set and printing know of a key. */
#ifndef FATHOM_CORES_PARAMS_H
#define FATHOM_CORES_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "fathom/core.h"

struct status;

enum param_type {
    PARAM_TEXT,
    PARAM_COUNT,
    PARAM_BYTES,
    PARAM_DOUBLE,
    PARAM_BOOL,
    PARAM_UNROLL,
    PARAM_REPLACEMENT
};

struct param {
    const char *key;
    uint16_t offset;     /* into struct core */
    uint16_t size_bytes; /* of the member */
    uint8_t type;        /* enum param_type */
    const char *unit;    /* "" without */
    double min, max;
    const char *rule; /* where the parameter is defined: a rule of the pipeline facts, or words */
};

enum { PARAM_VALUE_MAX = 320 };

const struct param *params__table(size_t *n);
/* The parameter `key`, which may lack its last word when that is a unit or "entries" ("rob",
 * "l2_lat"). NULL if there is none. */
const struct param *params__find(const char *key);
/* Title of the section that this parameter begins in a printed description, or NULL. */
const char *params__section(const struct param *param);
/* The known key that looks most like `key`, or NULL. */
const char *params__suggest(const char *key);
/* Sets one value from "value [unit]"; `place` ("skl.core:12", "--set rob=x") begins the message. */
int params__set(struct core *core, const struct param *param, const char *text, const char *place,
                struct status *st);
/* The value with its unit as it stands in a file; returns `buf`. */
const char *params__format(const struct core *core, const struct param *param, char buf[PARAM_VALUE_MAX]);

/* The text of a core file; `origin` names it in messages. */
int core__parse(struct core *core, const char *text, size_t size, const char *origin, struct status *st);

/* What no single value shows: sets, orders, minima that depend on each other. */
int core__check(const struct core *core, const char *origin, struct status *st);

/* A built-in core file: text up to `end`, not terminated. */
struct builtin {
    const char *name, *text, *end;
};
const struct builtin *builtin__find(const char *name);

#endif
