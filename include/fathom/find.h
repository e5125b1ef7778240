/* SPDX-License-Identifier: Apache-2.0 */
/* Innermost loops of a binary, from its disassembly. */
#ifndef FATHOM_FIND_H
#define FATHOM_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isa;
struct status;

/* An innermost natural loop. Strings and bytes are owned by the struct found_loops. */
struct found_loop {
    uint64_t start, end;  /* addresses in the file's address space; the back branch ends at `end` */
    const uint8_t *bytes; /* end - start bytes in memory order */
    size_t n_insns;
    const char *function; /* demangled or NULL */
    const char *file;     /* source file of the first instruction or NULL */
    int line, last_line;  /* lowest and highest source line; 0: unknown */
    int depth;            /* nesting, 1 = not inside another loop */
    bool simple;          /* one basic block: the bytes are the loop */
    const char *why;      /* not simple: what it contains ("a call at 0x401136 ..."), else NULL */
};
struct found_loops {
    struct found_loop *loop; /* by address */
    size_t n;
    void *storage;
};

/* Which loops are wanted; unset members select everything. */
struct find_selection {
    const char *function;
    const char *file; /* with `line`: a loop whose source lines contain it; matched by path suffix */
    int line;
    uint64_t at_start, at_end; /* loops that lie in the range; both 0: any */
};

/*
 * All innermost loops of an ELF executable, shared object or relocatable object: disassembly of every
 * function symbol (or of executable sections of a stripped file), control-flow graph, dominators, natural
 * loops. Fails naming the file when it is no x86-64 ELF file or nothing matches the selection.
 */
int find__loops(const char *path, struct isa *isa, const struct find_selection *sel, struct found_loops *out,
                struct status *st);
void found_loops__free(struct found_loops *loops);

#endif
