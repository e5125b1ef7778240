/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to uops: UOP-6..UOP-15, MF-5, MF-6, RN-4, RN-12, RN-15, RN-17, DSB-3, EX-9, EX-13a. */
#include <assert.h>
#include <string.h>

#include "isa/isa.h"

/* Values inside an instruction. Long microcode flows share the last name of a range: their loads
 * beyond the sixth and stores beyond the third are not told apart. */
enum {
    TEMP_LOAD = R_TEMP0,
    N_TEMP_LOAD = 6,
    TEMP_STORE = TEMP_LOAD + N_TEMP_LOAD,
    N_TEMP_STORE = 3,
    TEMP_DELAY = TEMP_STORE + N_TEMP_STORE,
    N_TEMP_DELAY = R_COUNT - TEMP_DELAY,
};

enum { PORT_LOAD = 1 << 2 | 1 << 3, PORT_STD = 1 << 4, PORT_STA = 1 << 7, PORT_MEMORY = 0x9c };

enum { MAX_INPUTS = 24, MAX_OUTPUTS = 16 };
enum input_kind { INPUT_REG, INPUT_FLAGS, INPUT_ADDRESS, INPUT_LOADED };

struct input {
    uint8_t kind;
    uint8_t operand; /* index into bound */
    uint8_t name;    /* what the uop reads */
    uint8_t extra_cyc;
    bool index; /* of INPUT_ADDRESS: index register */
};

struct output {
    uint8_t operand;
    uint8_t name;
    bool store;
};

/* Inputs and outputs of an instruction (UOP-8, UOP-9). */
struct flow {
    const struct isa *isa;
    struct facts *facts;
    unsigned n_in, n_reg_in; /* registers first, then flags, then LEA addresses, then loaded values */
    struct input in[MAX_INPUTS];
    unsigned n_out, n_reg_out; /* registers first, then flags, then stored values */
    struct output out[MAX_OUTPUTS];
    unsigned n_addr;
    uint8_t addr[BOUND_MAX_OPERANDS * 2];
    uint8_t loads[BOUND_MAX_OPERANDS], stores[BOUND_MAX_OPERANDS]; /* memory operands read, written */
    unsigned n_loads, n_stores;
    bool implicit_stack;
};

bool uop__add_src(struct uop *uop, unsigned id)
{
    for (unsigned i = 0; i < UOP_MAX_SRC; i++) {
        if (i == uop->n_src) {
            uop->src[i] = (uint8_t)id;
            uop->n_src++;
            return true;
        }
        if (uop->src[i] == id)
            return true;
    }
    return false;
}

void uop__add_dst(struct uop *uop, unsigned id, unsigned lat_cyc)
{
    unsigned i = 0;

    while (i < uop->n_dst && uop->dst[i] != id)
        i++;
    if (i == UOP_MAX_DST)
        return;
    if (i == uop->n_dst) {
        uop->dst[uop->n_dst++] = (uint8_t)id;
        uop->dst_lat[i] = (uint16_t)lat_cyc;
    } else if (uop->dst_lat[i] < lat_cyc) {
        uop->dst_lat[i] = (uint16_t)lat_cyc;
    }
    if (uop->max_lat < lat_cyc)
        uop->max_lat = (uint16_t)lat_cyc;
}

bool decoded__mnemonic_is(const struct decoded *d, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(d->mnemonic, *names))
            return true;
    return false;
}

bool decoded__is_string(const struct decoded *d)
{
    static const char *const stems[] = {"MOVS", "CMPS", "SCAS", "LODS", "STOS", "INS", "OUTS", NULL};

    for (unsigned i = 0; i < d->n_operands; i++)
        if (!d->operand[i].hidden)
            return false;
    for (const char *const *stem = stems; *stem; stem++) {
        size_t n = strlen(*stem);
        if (!strncmp(d->mnemonic, *stem, n) && d->mnemonic[n] && strchr("BWDQ", d->mnemonic[n]) &&
            !d->mnemonic[n + 1])
            return true;
    }
    return false;
}

enum branch_kind decoded__branch(const struct decoded *d)
{
    static const char *const loops[] = {"LOOP", "LOOPE", "LOOPNE", "XBEGIN", NULL};
    static const char *const leaves[] = {"SYSCALL", "SYSRET", "SYSENTER", "SYSEXIT", "IRET",  "IRETD",
                                         "IRETQ",   "INT",    "INT1",     "INT3",    "UIRET", NULL};
    bool direct = d->n_operands && d->operand[0].type == OPERAND_IMM;

    if (d->kind == DECODED_FAR || decoded__mnemonic_is(d, leaves))
        return BRANCH_OTHER;
    if (!strcmp(d->mnemonic, "JMP"))
        return direct ? BRANCH_JUMP : BRANCH_INDIRECT;
    if (!strcmp(d->mnemonic, "CALL"))
        return direct ? BRANCH_CALL : BRANCH_CALL_INDIRECT;
    if (!strcmp(d->mnemonic, "RET"))
        return BRANCH_RET;
    if (d->mnemonic[0] == 'J' || decoded__mnemonic_is(d, loops))
        return BRANCH_COND;
    return BRANCH_NONE;
}

/* ---- inputs and outputs ---- */

static const struct row_lat *find_lat(const struct flow *w, unsigned from, unsigned to)
{
    const struct row *row = w->facts->row;

    for (unsigned i = 0; row && i < row->n_lats; i++) {
        const struct row_lat *lat = &w->isa->table.lats[row->first_lat + i];
        if (lat->from == from && lat->to == to)
            return lat;
    }
    return NULL;
}

static int plain_lat(const struct flow *w, const struct row_lat *lat)
{
    return w->facts->keep_same && lat->same != LAT_NONE ? lat->same : lat->plain;
}

/* UOP-8: does the operand have latencies as a source, and are all known ones 0? */
static void source_lats(const struct flow *w, unsigned operand, bool *any, bool *all_zero)
{
    const struct row *row = w->facts->row;
    bool known = false, zero = true;

    *any = false;
    for (unsigned i = 0; row && i < row->n_lats; i++) {
        const struct row_lat *lat = &w->isa->table.lats[row->first_lat + i];
        int value;

        if (lat->from != operand)
            continue;
        *any = true;
        value = plain_lat(w, lat);
        if (value == LAT_NONE)
            continue;
        known = true;
        zero = zero && !value;
    }
    *all_zero = known && zero;
}

static void flow__in(struct flow *w, unsigned kind, unsigned operand, unsigned name, bool index)
{
    if (w->n_in < MAX_INPUTS)
        w->in[w->n_in++] = (struct input){(uint8_t)kind, (uint8_t)operand, (uint8_t)name, 0, index};
}

static void flow__out(struct flow *w, unsigned operand, unsigned name, bool store)
{
    if (w->n_out < MAX_OUTPUTS)
        w->out[w->n_out++] = (struct output){(uint8_t)operand, (uint8_t)name, store};
}

static void flow__registers(struct flow *w)
{
    const struct facts *facts = w->facts;

    for (unsigned i = 0; i < facts->n_bound; i++) {
        const struct bound *b = &facts->bound[i];
        bool any, all_zero;

        if (b->kind != ROW_REG || (w->implicit_stack && b->hidden && b->reg.id == R_RSP))
            continue;
        source_lats(w, i, &any, &all_zero);
        if (facts->row && facts->row->elim && !facts->same)
            all_zero = false;
        if ((b->read || any) && !all_zero)
            flow__in(w, INPUT_REG, i, b->reg.id, false);
        if (b->write)
            flow__out(w, i, b->reg.id, false);
    }
    w->n_reg_in = w->n_in;
    w->n_reg_out = w->n_out;
}

static void flow__flags(struct flow *w)
{
    for (unsigned i = 0; i < w->facts->n_bound; i++) {
        const struct bound *b = &w->facts->bound[i];
        bool any, all_zero;

        if (b->kind != ROW_FLAGS)
            continue;
        source_lats(w, i, &any, &all_zero);
        for (unsigned g = 0; g < 2; g++) {
            unsigned name = g ? R_FLAG_SPAZO : R_FLAG_C, group = g ? GROUP_SPAZO : GROUP_C;
            if ((b->flags_read & group) && !all_zero)
                flow__in(w, INPUT_FLAGS, i, name, false);
            if (b->flags_written & group)
                flow__out(w, i, name, false);
        }
    }
}

static bool is_address_reg(struct reg reg)
{
    return reg.cls != REG_CLASS_NONE && reg.cls != REG_CLASS_IP;
}

static void flow__memory(struct flow *w, const struct decoded *d)
{
    bool nop = !strcmp(d->mnemonic, "NOP") && !w->facts->n_ports;

    for (unsigned i = 0; i < w->facts->n_bound; i++) {
        const struct bound *b = &w->facts->bound[i];
        const struct reg part[2] = {b->base, b->index};

        if (b->kind == ROW_ADDRESS)
            for (unsigned k = 0; k < 2; k++)
                if (is_address_reg(part[k]))
                    flow__in(w, INPUT_ADDRESS, i, part[k].id, k == 1);
        if (b->kind != ROW_MEM || nop)
            continue;
        for (unsigned k = 0; k < 2; k++)
            if (is_address_reg(part[k]) && !memchr(w->addr, part[k].id, w->n_addr))
                w->addr[w->n_addr++] = part[k].id;
        if (b->read)
            w->loads[w->n_loads++] = (uint8_t)i;
        if (b->write)
            w->stores[w->n_stores++] = (uint8_t)i;
    }
}

static void flow__init(struct flow *w, const struct isa *isa, const struct decoded *d, struct facts *facts)
{
    memset(w, 0, sizeof *w);
    w->isa = isa;
    w->facts = facts;
    w->implicit_stack = facts->row && facts->row->rsp_delta != 0;
    flow__registers(w);
    flow__flags(w);
    flow__memory(w, d);
}

/* ---- decomposition ---- */

/* Adjusted latency of UOP-13. Default recipes have one latency from every input to every register. */
static unsigned adjusted_lat(const struct flow *w, const struct input *x, const struct output *y)
{
    const struct row_lat *lat = find_lat(w, x->operand, y->operand);
    int v = LAT_NONE;

    if (!w->facts->row)
        return y->store ? 1 : w->facts->lat_cyc;
    switch (x->kind) {
    case INPUT_REG:
    case INPUT_FLAGS:
        if (lat)
            v = plain_lat(w, lat);
        if (v == LAT_NONE)
            return 1u + x->extra_cyc;
        if (y->store)
            v = v > 5 ? v - 4 : 1;
        return (unsigned)v + x->extra_cyc;
    case INPUT_ADDRESS:
        if (lat)
            v = x->index ? lat->index : lat->addr;
        return v == LAT_NONE ? 1 : (unsigned)v;
    default:
        if (lat)
            v = y->store ? lat->mem : lat->addr != LAT_NONE ? lat->addr : lat->index;
        return v > 6 ? (unsigned)v - 5 : 1;
    }
}

struct split {
    uint16_t sta[CRACK_MAX_UOPS], load[CRACK_MAX_UOPS], std[CRACK_MAX_UOPS], compute[CRACK_MAX_UOPS];
    unsigned n_sta, n_load, n_std, n_compute;
};

/* 6.2: port sets by kind. */
static void split__ports(struct split *s, const struct facts *facts, uint16_t fused_ports)
{
    uint16_t ports[CRACK_MAX_UOPS];
    unsigned n = facts->n_ports;
    bool placed = !fused_ports;

    memcpy(ports, facts->ports, n * sizeof *ports);
    for (unsigned i = 0; i < n && !placed; i++) { /* MF-5 */
        if ((ports[i] & fused_ports) == fused_ports) {
            ports[i] = fused_ports;
            placed = true;
        }
    }
    if (fused_ports && !n)
        ports[n++] = fused_ports;
    s->n_sta = s->n_load = s->n_std = s->n_compute = 0;
    for (unsigned i = 0; i < n; i++) {
        if (ports[i] & PORT_STA)
            s->sta[s->n_sta++] = ports[i];
        else if (ports[i] & PORT_LOAD)
            s->load[s->n_load++] = ports[i];
        else if (ports[i] & PORT_STD)
            s->std[s->n_std++] = ports[i];
        else
            s->compute[s->n_compute++] = ports[i];
    }
    while (s->n_std > s->n_sta) {
        if (s->n_load)
            s->sta[s->n_sta++] = s->load[--s->n_load];
        else
            s->n_std--;
    }
}

struct builder {
    struct uop uop[CRACK_MAX_UOPS];
    unsigned n;
};

static struct uop *builder__add(struct builder *b, enum uop_kind kind, uint16_t ports)
{
    struct uop *uop = &b->uop[b->n];

    assert(b->n < CRACK_MAX_UOPS);
    b->n++;
    memset(uop, 0, sizeof *uop);
    uop->kind = (uint8_t)kind;
    uop->ports = ports;
    uop->access = 255;
    return uop;
}

/* UOP-14: registers -> result, old flags -> t, both -> flags. */
static bool is_shift_by_cl(const struct flow *w, const struct split *s)
{
    unsigned reg_out, flags_in;
    bool has_flags_out = w->n_out > w->n_reg_out;

    if (s->n_compute != 3 || w->n_loads || w->n_stores || !w->n_reg_in || w->n_in <= w->n_reg_in ||
        w->in[w->n_reg_in].kind != INPUT_FLAGS || !w->n_reg_out || !has_flags_out)
        return false;
    reg_out = w->out[0].operand;
    flags_in = w->in[w->n_reg_in].operand;
    for (unsigned i = 0; i < w->n_reg_in; i++) {
        const struct row_lat *r = find_lat(w, w->in[i].operand, reg_out);
        const struct row_lat *f = find_lat(w, w->in[i].operand, flags_in);
        if (!r || !f || plain_lat(w, r) != 1 || plain_lat(w, f) != 2)
            return false;
    }
    const struct row_lat *r = find_lat(w, flags_in, reg_out), *f = find_lat(w, flags_in, flags_in);
    return r && f && plain_lat(w, r) == 0 && plain_lat(w, f) == 2;
}

static void build_shift_by_cl(const struct flow *w, const struct split *s, struct builder *b)
{
    struct uop *result = builder__add(b, UOP_COMPUTE, s->compute[0]);
    struct uop *old = builder__add(b, UOP_COMPUTE, s->compute[1]);
    struct uop *flags = builder__add(b, UOP_COMPUTE, s->compute[2]);

    for (unsigned i = 0; i < w->n_in; i++)
        uop__add_src(w->in[i].kind == INPUT_REG ? result : old, w->in[i].name);
    for (unsigned i = 0; i < w->n_out; i++)
        uop__add_dst(i < w->n_reg_out ? result : flags, w->out[i].name, 1);
    uop__add_dst(result, TEMP_DELAY, 1);
    uop__add_dst(old, TEMP_DELAY + 1, 1);
    uop__add_src(flags, TEMP_DELAY);
    uop__add_src(flags, TEMP_DELAY + 1);
}

/* Inputs by weight, ascending (UOP-13). */
struct weights {
    unsigned weight[MAX_INPUTS]; /* of each input */
    unsigned level[MAX_INPUTS];  /* distinct, ascending */
    unsigned n_levels;
};

static void weights__init(struct weights *g, const struct flow *w)
{
    g->n_levels = 0;
    for (unsigned i = 0; i < w->n_in; i++) {
        unsigned weight = w->n_out ? 0 : 1, k = 0;

        for (unsigned y = 0; y < w->n_out; y++) {
            unsigned lat = adjusted_lat(w, &w->in[i], &w->out[y]);
            weight = lat > weight ? lat : weight;
        }
        g->weight[i] = weight;
        while (k < g->n_levels && g->level[k] < weight)
            k++;
        if (k < g->n_levels && g->level[k] == weight)
            continue;
        memmove(&g->level[k + 1], &g->level[k], (g->n_levels - k) * sizeof *g->level);
        g->level[k] = weight;
        g->n_levels++;
    }
}

static void add_level(const struct flow *w, const struct weights *g, unsigned level, struct uop *uop)
{
    for (unsigned i = 0; i < w->n_in; i++)
        if (g->weight[i] == g->level[level])
            uop__add_src(uop, w->in[i].name);
}

static void build_core(const struct flow *w, const struct weights *g, struct uop *core)
{
    core->div_cyc = w->facts->f.div_cyc;
    if (g->n_levels)
        add_level(w, g, 0, core);
    for (unsigned y = 0; y < w->n_out; y++) {
        unsigned lat = g->n_levels || !w->facts->row ? 0 : 1;

        if (!w->facts->row)
            lat = w->out[y].store ? 1 : w->facts->lat_cyc;
        for (unsigned i = 0; i < w->n_in; i++) {
            unsigned v = adjusted_lat(w, &w->in[i], &w->out[y]);
            if (g->weight[i] == g->level[0] && v > lat)
                lat = v;
        }
        uop__add_dst(core, w->out[y].name, lat);
    }
}

/* UOP-13 */
static void build_compute(const struct flow *w, const struct split *s, struct builder *b)
{
    struct weights g;
    struct uop core;
    unsigned n_delays;

    weights__init(&g, w);
    n_delays = g.n_levels ? g.n_levels - 1 : 0;
    if (n_delays > s->n_compute - 1)
        n_delays = s->n_compute - 1;
    if (n_delays > N_TEMP_DELAY)
        n_delays = N_TEMP_DELAY;
    memset(&core, 0, sizeof core);
    build_core(w, &g, &core);
    for (unsigned k = n_delays; k > 0; k--) { /* the slowest group's is the oldest */
        struct uop *delay = builder__add(b, UOP_COMPUTE, s->compute[k]);
        add_level(w, &g, k, delay);
        uop__add_dst(delay, TEMP_DELAY + k - 1, g.level[k] - g.level[0]);
        uop__add_src(&core, TEMP_DELAY + k - 1);
    }
    core.kind = UOP_COMPUTE;
    core.ports = s->compute[0];
    core.access = 255;
    *builder__add(b, UOP_COMPUTE, 0) = core;
    for (unsigned k = n_delays + 1; k < s->n_compute; k++) {
        struct uop *surplus = builder__add(b, UOP_COMPUTE, s->compute[k]);
        for (unsigned i = 0; i < w->n_in; i++)
            uop__add_src(surplus, w->in[i].name);
    }
    for (unsigned k = n_delays + 1; k < g.n_levels; k++)
        add_level(w, &g, k, &b->uop[b->n - 1]);
}

/* Index in insn->mem of the k-th operand read (or written), clamped to the last one. */
static uint8_t access_of(const struct insn *insn, bool write, unsigned k)
{
    uint8_t access = 255;
    unsigned n = 0;

    if (!write && (insn->flags & INSN_GATHER))
        return k < 254 ? (uint8_t)k : 254;
    for (unsigned i = 0; i < insn->n_mem; i++) {
        if (!(write ? insn->mem[i].write : insn->mem[i].read))
            continue;
        access = (uint8_t)i;
        if (n++ == k)
            break;
    }
    return access;
}

static bool is_wide(const struct flow *w, const uint8_t *operands, unsigned n, unsigned k)
{
    return n && w->facts->bound[operands[k < n ? k : n - 1]].size_bits >= 256;
}

/* UOP-10 */
static void build_loads(struct flow *w, const struct split *s, const struct insn *insn, struct builder *b)
{
    for (unsigned k = 0; k < s->n_load; k++) {
        struct uop *load = builder__add(b, UOP_LOAD, s->load[k]);

        for (unsigned i = 0; i < w->n_addr; i++)
            uop__add_src(load, w->addr[i]);
        load->access = access_of(insn, false, k);
        if (is_wide(w, w->loads, w->n_loads, k))
            load->flags |= UOP_WIDE256;
        if (!s->n_compute) {
            for (unsigned i = 0; i < w->n_out; i++)
                uop__add_dst(load, w->out[i].name, 5);
        } else if (k < N_TEMP_LOAD) {
            unsigned operand = w->n_loads ? w->loads[k < w->n_loads ? k : w->n_loads - 1] : 0;
            uop__add_dst(load, TEMP_LOAD + k, 5);
            flow__in(w, INPUT_LOADED, operand, TEMP_LOAD + k, false);
        }
    }
}

/* UOP-11 */
static void build_stores(const struct flow *w, const struct split *s, const struct insn *insn,
                         struct builder *b)
{
    for (unsigned k = 0; k < s->n_sta; k++) {
        struct uop *sta = builder__add(b, UOP_STA, s->sta[k]), *std;

        for (unsigned i = 0; i < w->n_addr; i++)
            uop__add_src(sta, w->addr[i]);
        if (k >= s->n_std)
            continue;
        sta->access = access_of(insn, true, k);
        std = builder__add(b, UOP_STD, s->std[k]);
        std->access = sta->access;
        if (is_wide(w, w->stores, w->n_stores, k))
            std->flags |= UOP_WIDE256;
        if (s->n_compute) {
            uop__add_src(std, TEMP_STORE + (k < N_TEMP_STORE ? k : N_TEMP_STORE - 1));
            continue;
        }
        for (unsigned i = 0; i < w->n_in; i++)
            if (w->in[i].kind == INPUT_REG || w->in[i].kind == INPUT_FLAGS)
                uop__add_src(std, w->in[i].name);
    }
}

/* How much the ports of a uop look like those of a branch. */
static unsigned branch_rank(const struct isa *isa, const struct uop *uop)
{
    if (!(uop->ports & isa->branch_port))
        return 1;
    return uop->ports & ~isa->branch_ports ? 2 : 3;
}

/* The uop that resolves the branch: the youngest compute uop with the ports of branches. */
static void mark_branch(const struct isa *isa, struct builder *b)
{
    struct uop *branch = NULL;

    for (unsigned i = 0; i < b->n; i++) {
        struct uop *uop = &b->uop[i];
        if (uop->kind == UOP_COMPUTE && (!branch || branch_rank(isa, uop) >= branch_rank(isa, branch)))
            branch = uop;
    }
    if (branch)
        branch->flags |= UOP_BRANCH;
}

static void build_uops(struct flow *w, const struct insn *insn, unsigned variant, struct builder *b)
{
    struct split s;
    uint16_t fused_ports = 0;

    if (variant & RECIPE_FUSED)
        fused_ports = variant & RECIPE_NOT_TAKEN ? w->isa->branch_ports : w->isa->branch_port;
    if ((variant & RECIPE_NOT_TAKEN) && !(variant & RECIPE_FUSED))
        for (unsigned i = 0; i < w->facts->n_ports; i++)
            if (w->facts->ports[i] == w->isa->branch_port)
                w->facts->ports[i] = w->isa->branch_ports; /* MF-6 */
    if (variant & RECIPE_CLEAN_HIGH)
        for (unsigned i = 0; i < w->n_reg_in; i++)
            if (w->facts->bound[w->in[i].operand].reg.cls == REG_CLASS_GPR8H)
                w->in[i].extra_cyc = 1; /* RN-15 */
    split__ports(&s, w->facts, fused_ports);
    b->n = 0;
    build_loads(w, &s, insn, b);
    for (unsigned k = 0; k < s.n_std; k++) {
        unsigned operand = w->n_stores ? w->stores[k < w->n_stores ? k : w->n_stores - 1] : 0;
        if (s.n_compute)
            flow__out(w, operand, TEMP_STORE + (k < N_TEMP_STORE ? k : N_TEMP_STORE - 1), true);
    }
    if (s.n_compute && is_shift_by_cl(w, &s))
        build_shift_by_cl(w, &s, b);
    else if (s.n_compute)
        build_compute(w, &s, b);
    build_stores(w, &s, insn, b);
    while (b->n < w->facts->f.fused)
        builder__add(b, UOP_EMPTY, 0);
    b->uop[0].flags |= UOP_FIRST;
    if (insn->branch != BRANCH_NONE || (variant & RECIPE_FUSED))
        mark_branch(w->isa, b);
}

/* Sizes of exactly `n` groups of `n_items`; an item that joins takes its successor (UOP-15). */
static void group_items(unsigned n_items, unsigned n, const bool *joins, uint16_t *size)
{
    unsigned i = 0;

    for (unsigned g = 0; g < n; g++) {
        if (g == n - 1)
            size[g] = (uint16_t)(n_items - i);
        else if (joins[i] && n_items - i >= n - g - 1 + 2)
            size[g] = 2;
        else
            size[g] = 1;
        i += size[g];
    }
}

static uint8_t results_of(const struct uop *uop)
{
    unsigned results = 0;
    for (unsigned i = 0; i < uop->n_dst; i++)
        results |= uop->dst[i] < R_VEC0 ? 1u : uop->dst[i] < R_MMX0 ? 2u : 0u;
    return (uint8_t)results;
}

const struct recipe *crack__group(struct isa *isa, const struct uop *uops, unsigned n_uops, unsigned n_fused,
                                  unsigned n_lams)
{
    uint16_t fused[CRACK_MAX_UOPS], lam[CRACK_MAX_UOPS];
    bool joins[CRACK_MAX_UOPS];
    struct recipe *recipe = isa__alloc(isa, recipe__bytes(n_uops) + n_lams * sizeof *recipe->lams);
    struct uop *copy = recipe->uops;
    struct lam *lams = (struct lam *)(copy + n_uops);
    unsigned at = 0, f = 0;

    assert(n_uops && n_uops <= CRACK_MAX_UOPS && n_fused && n_fused <= n_uops && n_lams && n_lams <= n_fused);
    memcpy(copy, uops, n_uops * sizeof *copy);
    for (unsigned i = 0; i < n_uops; i++)
        joins[i] = copy[i].kind == UOP_LOAD || copy[i].kind == UOP_STA;
    group_items(n_uops, n_fused, joins, fused);
    for (unsigned i = 0; i < n_fused; i++) {
        copy[at].flags |= UOP_FUSED_HEAD;
        joins[i] = fused[i] == 1 && (copy[at].kind == UOP_LOAD || copy[at].kind == UOP_STA);
        at += fused[i];
    }
    group_items(n_fused, n_lams, joins, lam);
    for (unsigned i = 0; i < n_lams; i++) {
        unsigned n = 0;
        for (unsigned k = 0; k < lam[i]; k++)
            n += fused[f++];
        lams[i] = (struct lam){(uint8_t)lam[i], (uint8_t)n};
    }
    recipe->lams = lams;
    recipe->n_uops = (uint16_t)n_uops;
    recipe->n_fused = (uint16_t)n_fused;
    recipe->n_lams = (uint16_t)n_lams;
    recipe->zero = true;
    for (unsigned i = 0; i < n_uops; i++) {
        copy[i].results = results_of(&copy[i]);
        recipe->n_loads = (uint16_t)(recipe->n_loads + (copy[i].kind == UOP_LOAD));
        recipe->n_stores = (uint16_t)(recipe->n_stores + (copy[i].kind == UOP_STA));
        recipe->zero = recipe->zero && !copy[i].ports;
    }
    return recipe;
}

static void mark_plain(struct recipe *recipe, const struct insn *insn)
{
    if (recipe->n_lams != 1 || recipe->n_uops > PLAIN_UOPS || recipe->tp_cyc || recipe->eliminated ||
        insn->flags & (INSN_SERIALIZING | INSN_FENCE_LOAD | INSN_FENCE_STORE | INSN_LOCKED))
        return;
    struct fused_counts *n = recipe->plain_fused;
    for (unsigned i = 0; i < recipe->n_uops; i++) {
        const struct uop *uop = &recipe->uops[i];
        if (!uop->ports && recipe->n_uops > 1)
            return;
        n += i > 0 && uop->flags & UOP_FUSED_HEAD; /* the first is one */
        if (!uop->ports)
            continue;
        n->uops++;
        n->loads = 7 & (unsigned)(n->loads + (uop->kind == UOP_LOAD));
        n->stores = 7 & (unsigned)(n->stores + (uop->kind == UOP_STA));
        n->ints = 7 & (unsigned)(n->ints + (uop->results & 1));
        n->vecs = 7 & (unsigned)(n->vecs + (uop->results >> 1));
    }
    recipe->plain = true;
}

const struct recipe *crack__recipe(struct isa *isa, const struct decoded *d, const struct insn *insn,
                                   unsigned variant)
{
    struct facts facts;
    struct builder b;
    struct flow w;
    struct recipe *recipe;
    unsigned n_lams;

    facts__find(isa, d, (variant & RECIPE_MOVE) != 0, &facts);
    flow__init(&w, isa, d, &facts);
    build_uops(&w, insn, variant, &b);
    n_lams = facts.f.decoder + facts.f.ms;
    if (n_lams > facts.f.fused)
        n_lams = facts.f.fused;
    assert(variant || insn->mite_lams <= n_lams);
    recipe = (struct recipe *)crack__group(isa, b.uop, b.n, facts.f.fused, n_lams);
    recipe->tp_cyc = facts.f.tp_cyc;
    recipe->eliminated = facts.elim;
    recipe->zero_idiom = recipe->zero && facts.row && facts.row->zero_idiom;
    mark_plain(recipe, insn);
    if (recipe->zero && !facts.elim && facts.row) { /* RN-4, RN-6: results are ready at rename */
        struct uop *first = recipe->uops;
        for (unsigned i = 0; i < w.n_out; i++)
            uop__add_dst(first, w.out[i].name, 0);
    }
    return recipe;
}

/* ---- facts of the instruction itself ---- */

static bool starts_with(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n >= m && !strcmp(s + n - m, suffix);
}

static void insn__add_mem(struct insn *insn, const struct decoded *d, const struct bound *b)
{
    struct mem_operand *m;
    bool dword = ends_with(d->mnemonic, "PS") || ends_with(d->mnemonic, "DD") || ends_with(d->mnemonic, "QD");

    if (insn->n_mem == INSN_MAX_MEM)
        return;
    m = &insn->mem[insn->n_mem++];
    memset(m, 0, sizeof *m);
    m->rip = b->base.cls == REG_CLASS_IP;
    m->base = is_address_reg(b->base) ? b->base.id : R_NONE;
    m->index = is_address_reg(b->index) ? b->index.id : R_NONE;
    m->scale = m->index == R_NONE ? 0 : b->scale;
    m->disp = b->disp;
    m->segment = b->segment;
    m->read = b->read;
    m->write = b->write;
    m->size_bytes = (uint16_t)(b->size_bits / 8);
    if (b->mem_type == OPERAND_MEM_VSIB)
        m->size_bytes = dword ? 4 : 8;
}

/* Reads before writes; CMPS reads RDI first. */
static void insn__mem(struct insn *insn, const struct decoded *d, const struct facts *facts)
{
    bool cmps = starts_with(d->mnemonic, "CMPS") && decoded__is_string(d);

    if (!strcmp(d->mnemonic, "NOP") || (!facts->row && starts_with(d->mnemonic, "INVLPG")))
        return;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < facts->n_bound; i++) {
            const struct bound *b = &facts->bound[cmps && i < 2 ? 1 - i : i];
            if (b->kind == ROW_MEM && (pass ? b->write && !b->read : b->read))
                insn__add_mem(insn, d, b);
        }
    }
}

static bool is_rsp(struct reg reg)
{
    return reg.id == R_RSP && is_address_reg(reg);
}

/* RN-17 */
static void insn__stack(struct insn *insn, const struct flow *w)
{
    insn->rsp_delta = w->facts->row ? w->facts->row->rsp_delta : 0;
    for (unsigned i = 0; i < w->facts->n_bound; i++) {
        const struct bound *b = &w->facts->bound[i];

        if (w->implicit_stack && b->hidden)
            continue;
        if (b->kind == ROW_REG && is_rsp(b->reg)) {
            insn->flags |= INSN_RSP_EXPLICIT;
            if (b->write)
                insn->flags |= INSN_RSP_WRITTEN;
        }
        if ((b->kind == ROW_MEM || b->kind == ROW_ADDRESS) && (is_rsp(b->base) || is_rsp(b->index)))
            insn->flags |= INSN_RSP_EXPLICIT;
    }
}

static uint8_t high_bit(struct reg reg)
{
    return (uint8_t)(reg.id <= R_RBX ? 1u << reg.id : 0u);
}

static bool is_wide_gpr(struct reg reg)
{
    return reg.cls == REG_CLASS_GPR16 || reg.cls == REG_CLASS_GPR32 || reg.cls == REG_CLASS_GPR64;
}

/* RN-15 */
static void insn__partial(struct insn *insn, const struct flow *w)
{
    for (unsigned i = 0; i < w->n_reg_in; i++) {
        struct reg reg = w->facts->bound[w->in[i].operand].reg;
        if (reg.cls == REG_CLASS_GPR8H)
            insn->high_read |= high_bit(reg);
        if (is_wide_gpr(reg))
            insn->wide_read |= high_bit(reg);
    }
    for (unsigned i = 0; i < w->facts->n_bound; i++) {
        const struct bound *b = &w->facts->bound[i];
        if (b->kind == ROW_REG && b->write && b->reg.cls == REG_CLASS_GPR8H)
            insn->high_write |= high_bit(b->reg);
        if (b->kind == ROW_REG && b->write && is_wide_gpr(b->reg))
            insn->wide_write |= high_bit(b->reg);
        if (b->kind == ROW_MEM || b->kind == ROW_ADDRESS) {
            if (is_wide_gpr(b->base))
                insn->wide_read |= high_bit(b->base);
            if (is_wide_gpr(b->index))
                insn->wide_read |= high_bit(b->index);
        }
    }
    if (insn->high_write)
        insn->flags |= INSN_WRITES_HIGH;
}

static const struct operand *first_immediate(const struct decoded *d)
{
    for (unsigned i = 0; i < d->n_operands; i++)
        if (d->operand[i].type == OPERAND_IMM)
            return &d->operand[i];
    return NULL;
}

/* EX-13a */
static void insn__symbol(struct insn *insn, const struct decoded *d, const struct flow *w)
{
    const struct operand *imm = first_immediate(d);
    const char *m = d->mnemonic;
    unsigned src = 0;
    bool add = !strcmp(m, "ADD"), sub = !strcmp(m, "SUB"), inc = !strcmp(m, "INC"), dec = !strcmp(m, "DEC");

    insn->sym = SYM_FRESH;
    insn->sym_dst = w->n_reg_out ? w->out[0].name : R_NONE;
    insn->sym_src = R_NONE;
    for (unsigned i = 0; i < w->n_out; i++)
        insn->written[w->out[i].name / 64] |= 1ull << (w->out[i].name % 64);
    if (!w->n_reg_in || !w->n_reg_out || w->n_loads)
        return;
    if (strstr(m, "MOV") && !starts_with(m, "CMOV")) {
        while (src < w->n_reg_in && w->in[src].operand == w->out[0].operand)
            src++;
        insn->sym = SYM_COPY;
        insn->sym_src = w->in[src < w->n_reg_in ? src : 0].name;
    } else if (inc || dec || ((add || sub) && imm)) {
        insn->sym = SYM_ADD;
        insn->sym_src = w->in[0].name;
        insn->sym_add = inc ? 1 : dec ? -1 : add ? imm->value : (int64_t)(0 - (uint64_t)imm->value);
    }
}

/* EX-9, RN-9, RN-13 */
static void insn__moves(struct insn *insn, const struct decoded *d, const struct flow *w)
{
    static const char *const plain[] = {"MOV", "MOVSXD", "POP", NULL};
    struct reg first = {REG_CLASS_NONE, R_NONE};

    insn->ptr_dst = insn->elim_dst = insn->elim_src = R_NONE;
    for (unsigned i = w->facts->n_bound; i-- > 0;)
        if (w->facts->bound[i].kind == ROW_REG)
            first = w->facts->bound[i].reg;
    if (decoded__mnemonic_is(d, plain) && w->n_loads && !w->n_stores && w->n_reg_out &&
        (first.cls == REG_CLASS_GPR32 || first.cls == REG_CLASS_GPR64)) {
        insn->flags |= INSN_POINTER_LOAD;
        insn->ptr_dst = w->out[0].name;
    }
    if (w->facts->elim && w->n_reg_in && w->n_reg_out) {
        insn->elim_dst = w->out[0].name;
        insn->elim_src = w->in[0].name;
        if (first.cls == REG_CLASS_GPR32)
            insn->flags |= INSN_MOVE32;
    }
}

/* DSB-3 */
static bool needs_extra_slot(const struct decoded *d)
{
    bool address = false;

    for (unsigned i = 0; i < d->n_operands; i++)
        address |= d->operand[i].type == OPERAND_MEM &&
                   (d->operand[i].base.cls != REG_CLASS_NONE || d->operand[i].index.cls != REG_CLASS_NONE);
    for (unsigned i = 0; i < d->n_operands; i++) {
        const struct operand *o = &d->operand[i];
        if (o->type != OPERAND_IMM || o->relative)
            continue;
        if (o->imm_bits == 64 && (o->value < INT32_MIN || o->value > INT32_MAX))
            return true;
        if (address && (o->value < INT16_MIN || o->value > INT16_MAX))
            return true;
    }
    return false;
}

static bool is_lcp(const struct decoded *d)
{
    for (unsigned i = 0; i < d->n_operands; i++)
        if (d->operand[i].type == OPERAND_IMM && d->operand[i].imm_bits == 16)
            return d->prefix_66;
    return false;
}

static bool is_serializing(const struct decoded *d, const struct facts *facts)
{
    static const char *const serial[] = {"LFENCE", "CPUID", "IRET", "IRETD", "IRETQ", "WBINVD", "WRMSR",
                                         "LGDT",   "LIDT",  "LLDT", "LTR",   "INVD",  "INVLPG", NULL};

    if (decoded__mnemonic_is(d, serial))
        return true;
    return !strcmp(d->mnemonic, "MOV") && facts->row &&
           (text__is(facts->row->suffix, "CR") || text__is(facts->row->suffix, "DR"));
}

/* FP_ARITH: bytes an arithmetic FP instruction works on. */
static uint8_t fp_width(const struct decoded *d)
{
    static const char *const stems[] = {"ADD", "SUB", "MUL",   "DIV",    "SQRT", "MIN",
                                        "MAX", "RCP", "RSQRT", "HADD",   "DP",   "HSUB",
                                        "FM",  "FNM", "ROUND", "ADDSUB", NULL};
    const char *m = d->mnemonic + (d->mnemonic[0] == 'V');
    bool any = false;
    unsigned bits = 128;

    for (const char *const *stem = stems; *stem; stem++)
        any |= starts_with(m, *stem);
    if (!any || strlen(m) < 4)
        return 0;
    if (ends_with(m, "SS"))
        return 4;
    if (ends_with(m, "SD"))
        return 8;
    if (!ends_with(m, "PS") && !ends_with(m, "PD"))
        return 0;
    for (unsigned i = 0; i < d->n_operands; i++) {
        if (d->operand[i].reg.cls == REG_CLASS_YMM && bits < 256)
            bits = 256;
        if (d->operand[i].reg.cls == REG_CLASS_ZMM)
            bits = 512;
    }
    return (uint8_t)(bits / 8);
}

/* What performance counters count it as when it retires (FP_ARITH_INST_RETIRED, INST_RETIRED.X87, .NOP). */
static uint8_t count_of(const struct decoded *d, const struct insn *insn)
{
    const char *m = d->mnemonic + (d->mnemonic[0] == 'V');
    bool twice = starts_with(m, "FM") || starts_with(m, "FNM") || starts_with(m, "DPP");
    bool is_double = ends_with(m, "PD");

    if (insn->flags & INSN_NOP)
        return INSN_COUNTED(INSN_COUNT_NOP, 1);
    if (d->kind == DECODED_X87)
        return INSN_COUNTED(INSN_COUNT_X87, 1);
    if (starts_with(m, "ROUND"))
        return 0;
    switch (insn->fp_width_bytes) {
    case 4:
        return INSN_COUNTED(INSN_COUNT_SCALAR_SINGLE, 1 + twice);
    case 8:
        return INSN_COUNTED(INSN_COUNT_SCALAR_DOUBLE, 1 + twice);
    case 16:
        return INSN_COUNTED(is_double ? INSN_COUNT_128_DOUBLE : INSN_COUNT_128_SINGLE, 1 + twice);
    case 32:
        return INSN_COUNTED(is_double ? INSN_COUNT_256_DOUBLE : INSN_COUNT_256_SINGLE, 1 + twice);
    default:
        return 0;
    }
}

static bool is_divide(const struct decoded *d)
{
    static const char *const stems[] = {"DIVPS", "DIVPD", "DIVSS", "DIVSD", "SQRTP",
                                        "SQRTS", "FDIV",  "FIDIV", "FSQRT", NULL};
    const char *m = d->mnemonic + (d->mnemonic[0] == 'V');

    if (!strcmp(m, "DIV") || !strcmp(m, "IDIV"))
        return true;
    for (const char *const *stem = stems; *stem; stem++)
        if (starts_with(m, *stem))
            return true;
    return false;
}

static bool is_avx512(const struct decoded *d)
{
    bool mask = d->evex;

    for (unsigned i = 0; i < d->n_operands; i++)
        mask |= d->operand[i].type == OPERAND_REG && d->operand[i].reg.cls == REG_CLASS_MASK;
    return mask;
}

static uint32_t kind_flags(const struct decoded *d, const struct facts *facts)
{
    const char *m = d->mnemonic;
    bool vsib = false, memory = false, string = decoded__is_string(d);
    uint32_t flags = 0;

    for (unsigned i = 0; i < facts->n_bound; i++) {
        vsib |= facts->bound[i].kind == ROW_MEM && facts->bound[i].mem_type == OPERAND_MEM_VSIB;
        memory |= facts->bound[i].kind == ROW_MEM;
    }
    if (is_lcp(d))
        flags |= INSN_LCP;
    if (!strcmp(m, "POP") && d->map == 0 && d->opcode == 0x5c)
        flags |= INSN_POP5C;
    if (needs_extra_slot(d))
        flags |= INSN_EXTRA_SLOT;
    if (!strcmp(m, "LFENCE") || !strcmp(m, "MFENCE"))
        flags |= INSN_FENCE_LOAD;
    if (!strcmp(m, "SFENCE") || !strcmp(m, "MFENCE"))
        flags |= INSN_FENCE_STORE;
    if (d->lock || (memory && !strcmp(m, "XCHG")))
        flags |= INSN_LOCKED;
    if (string && (d->rep || d->repne))
        flags |= INSN_REP | INSN_CONDITIONAL_MEM;
    if (!strcmp(m, "SYSCALL"))
        flags |= INSN_SYSCALL;
    if (starts_with(m, "PREFETCH"))
        flags |= INSN_PREFETCH;
    if (!strcmp(m, "CLFLUSH") || !strcmp(m, "CLFLUSHOPT"))
        flags |= INSN_FLUSH;
    if (starts_with(m, "MOVNT") || starts_with(m, "VMOVNT") || strstr(m, "MASKMOVQ") ||
        strstr(m, "MASKMOVDQU"))
        flags |= INSN_NON_TEMPORAL;
    if (vsib && strstr(m, "GATHER"))
        flags |= INSN_GATHER | INSN_CONDITIONAL_MEM;
    if (strstr(m, "MASKMOV") && memory)
        flags |= INSN_CONDITIONAL_MEM;
    if (is_divide(d))
        flags |= INSN_DIVIDE;
    if (is_avx512(d))
        flags |= INSN_AVX512;
    if ((!strcmp(m, "NOP") || starts_with(m, "ENDBR")) && !facts->n_ports)
        flags |= INSN_NOP;
    return flags;
}

void crack__insn(struct isa *isa, const struct decoded *d, struct insn *insn)
{
    struct facts facts;
    struct flow w;
    unsigned n_lams, n_mite;

    facts__find(isa, d, false, &facts);
    flow__init(&w, isa, d, &facts);
    insn->len = d->len;
    insn->opcode_off = d->opcode_off;
    insn->branch = (uint8_t)decoded__branch(d);
    insn->cond = 255;
    if (insn->branch == BRANCH_COND &&
        ((d->map == 0 && (d->opcode & 0xf0) == 0x70) || (d->map == 1 && (d->opcode & 0xf0) == 0x80)))
        insn->cond = d->opcode & 15;
    for (unsigned i = 0; i < d->n_operands; i++)
        if (d->operand[i].type == OPERAND_IMM && d->operand[i].relative)
            insn->branch_disp = (int32_t)d->operand[i].value;
    insn->flags = kind_flags(d, &facts);
    if (!facts.known)
        insn->flags |= INSN_UNKNOWN;
    if (facts.complex)
        insn->flags |= INSN_COMPLEX;
    if (is_serializing(d, &facts))
        insn->flags |= INSN_SERIALIZING;
    n_lams = facts.f.decoder + facts.f.ms;
    if (n_lams > facts.f.fused)
        n_lams = facts.f.fused;
    n_mite = facts.f.decoder < n_lams ? facts.f.decoder : n_lams;
    insn->mite_lams = (uint8_t)n_mite;
    insn->has_ms = facts.f.ms > 0;
    insn->simple_after = facts.simple_after;
    insn->dsb_slots = (uint8_t)(facts.f.decoder + ((insn->flags & INSN_EXTRA_SLOT) ? 1 : 0));
    insn->fuses_with = facts.row ? facts.row->fuses_with : 0;
    insn->form = facts.row ? (uint16_t)(facts.row - isa->table.rows + 1) : 0;
    insn->fp_width_bytes = fp_width(d);
    insn->counted = count_of(d, insn);
    insn__mem(insn, d, &facts);
    insn->work = (uint8_t)decoded__work(d, insn);
    insn__stack(insn, &w);
    insn__partial(insn, &w);
    insn__symbol(insn, d, &w);
    insn__moves(insn, d, &w);
}
