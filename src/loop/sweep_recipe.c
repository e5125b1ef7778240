/* SPDX-License-Identifier: Apache-2.0 */
/* Uops as they might be: recipes of a block's instructions replaced for the length of a run. The table keeps
 * recipes by instruction and situation; a patch puts edited copies in their place and takes them out again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vector.h"
#include "loop/sweep.h"

enum { MAX_EASY_LAMS = 16 }; /* of a DSB line as wide as it can be; longer ones stay microcode */

struct patched {
    struct insn *insn;
    struct insn was;
};

struct recipe_patch {
    struct arena arena;
    VECTOR(struct patched) insns;
};

const char *insn__mnemonic(struct isa *isa, const struct insn *insn, char buf[24])
{
    char form[160];

    isa__form_name(isa, insn, form, sizeof form);
    size_t n = strcspn(form, " ");
    if (n > 23)
        n = 23;
    memcpy(buf, form, n);
    buf[n] = '\0';
    return buf;
}

static void halve_latency(struct uop *uop)
{
    uop->max_lat = 0;
    for (unsigned k = 0; k < uop->n_dst; k++) {
        uop->dst_lat[k] = (uint16_t)((uop->dst_lat[k] + 1) / 2);
        if (uop->dst_lat[k] > uop->max_lat)
            uop->max_lat = uop->dst_lat[k];
    }
}

static bool edit_uop(struct uop *uop, const struct recipe_edit *edit)
{
    switch ((enum recipe_edit_kind)edit->kind) {
    case EDIT_LATENCY:
        if (uop->kind != UOP_COMPUTE || uop->max_lat < 2)
            return false;
        halve_latency(uop);
        return true;
    case EDIT_PORT:
        /* EX-14: the divider stays behind its port. */
        if (!(uop->ports >> edit->port & 1) || uop->div_cyc)
            return false;
        uop->ports = (uint16_t)(uop->ports | 1u << edit->new_port);
        return true;
    case EDIT_DIVIDER:
        if (!uop->div_cyc)
            return false;
        uop->div_cyc = 0;
        return true;
    case EDIT_NONE:
    case EDIT_FRONTEND:
        break;
    }
    return false;
}

/* The edited copy, or `recipe` itself where nothing differs. NULL without memory. */
static const struct recipe *edit_recipe(struct arena *arena, const struct recipe *recipe,
                                        const struct recipe_edit *edit)
{
    struct recipe *copy = arena__copy(arena, recipe, recipe__bytes(recipe->n_uops));
    bool changed = false;

    if (!copy)
        return NULL;
    for (unsigned k = 0; k < copy->n_uops; k++)
        changed |= edit_uop(&copy->uops[k], edit);
    if (edit->kind == EDIT_DIVIDER && copy->tp_cyc) {
        copy->tp_cyc = 0;
        changed = true;
    }
    return changed ? copy : recipe;
}

static bool is_edited(struct isa *isa, const struct insn *insn, const struct recipe_edit *edit)
{
    char mnemonic[24];
    return edit->kind != EDIT_LATENCY || strcmp(insn__mnemonic(isa, insn, mnemonic), edit->mnemonic) == 0;
}

static bool is_patched(const struct recipe_patch *patch, const struct insn *insn)
{
    for (size_t i = 0; i < patch->insns.n; i++)
        if (patch->insns.item[i].insn == insn)
            return true;
    return false;
}

/* DE-3, DE-6, DSB-3, FE-13, MS-1: one slot a laminated uop from any decoder or line, no microcode switch. */
static bool ease_frontend(struct insn *insn)
{
    unsigned n_lams = insn->recipe[RECIPE_BASE]->n_lams;

    insn->flags &= ~(uint32_t)(INSN_LCP | INSN_COMPLEX | INSN_POP5C | INSN_EXTRA_SLOT);
    if (n_lams <= MAX_EASY_LAMS) {
        insn->mite_lams = (uint8_t)n_lams;
        insn->dsb_slots = 1;
        insn->has_ms = false;
    }
    return true;
}

static bool edit_recipes(struct arena *arena, struct insn *insn, const struct recipe_edit *edit, bool *any)
{
    for (unsigned v = 0; v < RECIPE_VARIANTS; v++) {
        const struct recipe *edited = edit_recipe(arena, insn->recipe[v], edit);
        if (!edited)
            return false;
        *any |= edited != insn->recipe[v];
        insn->recipe[v] = edited;
    }
    return true;
}

static bool patch_insn(struct recipe_patch *patch, struct isa *isa, struct insn *insn,
                       const struct recipe_edit *edit, bool *changed)
{
    struct patched patched;
    bool any = false;

    for (unsigned v = 0; v < RECIPE_VARIANTS; v++)
        isa__recipe(isa, insn, v);
    patched.insn = insn;
    patched.was = *insn;
    if (edit->kind == EDIT_FRONTEND)
        any = ease_frontend(insn);
    else if (!edit_recipes(&patch->arena, insn, edit, &any))
        goto fail;
    if (any && !vector__push(&patch->insns, patched))
        goto fail;
    *changed |= any;
    return true;
fail:
    *insn = patched.was;
    return false;
}

struct recipe_patch *recipe_patch__apply(struct isa *isa, const struct sweep_loop *loop,
                                         const struct recipe_edit *edit, bool *changed)
{
    struct recipe_patch *patch = calloc(1, sizeof *patch);

    *changed = false;
    if (!patch)
        return NULL;
    for (size_t at = 0; at < loop->size && edit->kind != EDIT_NONE;) {
        struct insn *insn = isa__decode(isa, loop->bytes + at, loop->size - at, NULL);
        if (!insn)
            break;
        at += insn->len;
        if (is_patched(patch, insn) || !is_edited(isa, insn, edit))
            continue;
        if (!patch_insn(patch, isa, insn, edit, changed)) {
            recipe_patch__undo(patch);
            return NULL;
        }
    }
    return patch;
}

void recipe_patch__undo(struct recipe_patch *patch)
{
    if (!patch)
        return;
    for (size_t i = 0; i < patch->insns.n; i++)
        *patch->insns.item[i].insn = patch->insns.item[i].was;
    vector__free(&patch->insns);
    arena__free(&patch->arena);
    free(patch);
}
