/* SPDX-License-Identifier: Apache-2.0 */
/* What can run as a loop: straight code, with at most one branch, at its end. */
#include <stdio.h>
#include <string.h>

#include "fathom/insn.h"
#include "fathom/loop_report.h"
#include "fathom/status.h"

static int not_decodable(const uint8_t *bytes, size_t size, size_t at, int need, struct status *st)
{
    char hex[64] = "";
    size_t n = 0;
    for (size_t i = at; i < size && i < at + 8; i++)
        n += (size_t)snprintf(hex + n, sizeof hex - n, " %02x", bytes[i]);
    return status__fail(st,
                        need ? "byte %zu of %zu: the instruction that starts with%s is cut short"
                             : "byte %zu of %zu: no instruction starts with%s",
                        at, size, hex);
}

static const char *trouble(const struct insn *insn, bool last)
{
    if (insn->flags & INSN_SYSCALL)
        return "a system call: the kernel's time is no property of the loop";
    switch (insn->branch) {
    case BRANCH_CALL:
    case BRANCH_CALL_INDIRECT:
        return "a call: inline the function, or use 'fathom run' for the whole program";
    case BRANCH_RET:
        return "a return: leave it out, a block is straight code";
    case BRANCH_INDIRECT:
        return "an indirect jump: a loop ends in a direct branch to its start";
    case BRANCH_OTHER:
        return "a far transfer of control";
    case BRANCH_COND:
    case BRANCH_JUMP:
        return last ? NULL : "a branch inside the block: only the last instruction can be one";
    default:
        return NULL;
    }
}

int block__decode(struct isa *isa, const uint8_t *bytes, size_t size, struct insn **insn,
                  struct block_shape *shape, struct status *st)
{
    *shape = (struct block_shape){.unrolled = true};
    if (!size)
        return status__fail(st, "the block is empty: give at least one instruction");
    for (size_t at = 0; at < size; at += insn[shape->n - 1]->len) {
        int need = 0;
        struct insn *i = isa__decode(isa, bytes + at, size - at, &need);
        if (!i)
            return not_decodable(bytes, size, at, need, st);
        insn[shape->n++] = i;
        if (i->branch == BRANCH_NONE && !(i->flags & INSN_SYSCALL))
            continue;
        const char *why = trouble(i, at + i->len == size);
        if (why) {
            char text[160];
            shape->has_branch = true;
            return status__fail(st, "byte %zu of %zu: `%s` is %s", at, size,
                                isa__format(isa, i, at, text, sizeof text), why);
        }
        shape->unrolled = false;
        shape->ends_elsewhere = (int64_t)(at + i->len) + i->branch_disp != 0;
    }
    return 0;
}
