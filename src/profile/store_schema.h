/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a result file (docs/profile-format.md) and its scalar fields. */
#ifndef PROFILE_STORE_SCHEMA_H
#define PROFILE_STORE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "fathom/profile.h"

enum {
    STORE_APPLICATION_ID = 0x66746d31, /* "ftm1" */
    STORE_VERSION = 2,                 /* PRAGMA user_version; raised when a reader must know */
    STORE_OLDEST_VERSION = 1,          /* that can be read */
};

#define STORE_WEIGHTS                                                                                        \
    "cycles_840 INTEGER NOT NULL, insns INTEGER NOT NULL, slots_retiring INTEGER NOT NULL,"                  \
    " slots_bad_speculation INTEGER NOT NULL, slots_frontend INTEGER NOT NULL,"                              \
    " slots_memory INTEGER NOT NULL, slots_core INTEGER NOT NULL"
#define STORE_WEIGHT_COLUMNS                                                                                 \
    "cycles_840,insns,slots_retiring,slots_bad_speculation,slots_frontend,slots_memory,slots_core"

/* The views are for people with the sqlite3 shell; fathom itself reads only tables. */
#define STORE_SCHEMA                                                                                         \
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"                                          \
    "CREATE TABLE tree(id INTEGER PRIMARY KEY, name TEXT);"                                                  \
    "CREATE TABLE tree_node(id INTEGER PRIMARY KEY, tree INTEGER NOT NULL REFERENCES tree(id), name TEXT,"   \
    " path TEXT, level INTEGER NOT NULL, value REAL, unit TEXT, flagged INTEGER NOT NULL, source TEXT,"      \
    " hint TEXT);"                                                                                           \
    "CREATE TABLE stack(id INTEGER PRIMARY KEY, name TEXT);"                                                 \
    "CREATE TABLE stack_component(id INTEGER PRIMARY KEY, stack INTEGER NOT NULL REFERENCES stack(id),"      \
    " component TEXT, cycles REAL, cpi REAL);"                                                               \
    "CREATE TABLE event(id INTEGER PRIMARY KEY, name TEXT, value INTEGER NOT NULL);"                         \
    "CREATE TABLE module(id INTEGER PRIMARY KEY, path TEXT, build_id TEXT);"                                 \
    "CREATE TABLE function(id INTEGER PRIMARY KEY, name TEXT, module INTEGER REFERENCES module(id),"         \
    " file TEXT, line INTEGER NOT NULL, entry INTEGER NOT NULL, " STORE_WEIGHTS ");"                         \
    "CREATE TABLE place(id INTEGER PRIMARY KEY, addr INTEGER NOT NULL,"                                      \
    " module INTEGER REFERENCES module(id), offset INTEGER NOT NULL, text TEXT,"                             \
    " function INTEGER REFERENCES function(id), " STORE_WEIGHTS ");"                                         \
    "CREATE TABLE unknown(id INTEGER PRIMARY KEY, name TEXT, count INTEGER NOT NULL, note TEXT);"            \
    "CREATE TABLE nondeterminism(id INTEGER PRIMARY KEY, name TEXT, count INTEGER NOT NULL, note TEXT);"     \
    "CREATE TABLE multiplexing(counters INTEGER NOT NULL, turn_cycles INTEGER NOT NULL,"                     \
    " groups INTEGER NOT NULL, turns INTEGER NOT NULL);"                                                     \
    "CREATE TABLE ideal(id INTEGER PRIMARY KEY, name TEXT, instructions INTEGER NOT NULL,"                   \
    " cycles INTEGER NOT NULL, speedup REAL, claim TEXT, claim_percent REAL);"                               \
    "CREATE TABLE core(id INTEGER PRIMARY KEY, name TEXT, title TEXT, self INTEGER NOT NULL,"                \
    " instructions INTEGER NOT NULL, cycles INTEGER NOT NULL, unknown INTEGER NOT NULL);"                    \
    "CREATE TABLE core_node(id INTEGER PRIMARY KEY, core INTEGER NOT NULL REFERENCES core(id), name TEXT,"   \
    " path TEXT, level INTEGER NOT NULL, value REAL, unit TEXT, flagged INTEGER NOT NULL, source TEXT,"      \
    " hint TEXT);"                                                                                           \
    "CREATE TABLE copy(id INTEGER PRIMARY KEY, name TEXT, alone INTEGER NOT NULL,"                           \
    " starts_at INTEGER NOT NULL, instructions INTEGER NOT NULL, cycles INTEGER NOT NULL, slowdown REAL);"   \
    "CREATE TABLE copy_node(id INTEGER PRIMARY KEY, copy INTEGER NOT NULL REFERENCES copy(id), name TEXT,"   \
    " path TEXT, level INTEGER NOT NULL, value REAL, unit TEXT, flagged INTEGER NOT NULL, source TEXT,"      \
    " hint TEXT);"                                                                                           \
    "CREATE TABLE sample(id INTEGER PRIMARY KEY, windows INTEGER NOT NULL, period INTEGER NOT NULL,"         \
    " window INTEGER NOT NULL, warm INTEGER NOT NULL, head INTEGER NOT NULL, measured INTEGER NOT NULL,"     \
    " cpi_low REAL, cpi_high REAL);"                                                                         \
    "CREATE TABLE host(id INTEGER PRIMARY KEY, key TEXT, value TEXT);"                                       \
    "CREATE VIEW hot_functions AS SELECT function.name AS function, module.path AS module, file, line,"      \
    " cycles_840/840.0 AS cycles, insns FROM function LEFT JOIN module ON module.id=function.module"         \
    " ORDER BY function.id;"                                                                                 \
    "CREATE VIEW hot_places AS SELECT printf('0x%x',addr) AS address, module.path AS module,"                \
    " printf('0x%x',offset) AS offset, function.name AS function, text,"                                     \
    " place.cycles_840/840.0 AS cycles, place.insns AS insns FROM place"                                     \
    " LEFT JOIN module ON module.id=place.module LEFT JOIN function ON function.id=place.function"           \
    " ORDER BY place.cycles_840 DESC, addr;"

enum store_type { STORE_TEXT, STORE_U64, STORE_U32, STORE_INT, STORE_BOOL };
struct store_field {
    const char *key;
    enum store_type type;
    size_t offset; /* in struct profile */
};
/* Fields of struct profile that are rows of meta, sorted by key; ends with a NULL key. */
extern const struct store_field store_fields[];

#endif
