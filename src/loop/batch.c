/* SPDX-License-Identifier: Apache-2.0 */
/* A batch: rows are read a chunk at a time, computed in any order, written in theirs. */
#include "loop/batch.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"
#include "base/vector.h"
#include "fathom/bounds.h"
#include "fathom/insn.h"
#include "fathom/loop_report.h"
#include "fathom/status.h"
#include "loop/asm.h"

enum {
    CHUNK = 2048,
    MAX_BLOCK_BYTES = 65536,
    MAX_THREADS = 64,
    /* Instruction tables remember every distinct instruction: renewed before they grow without limit. */
    BLOCKS_BEFORE_RENEWAL = 100000,
};

enum column { COLUMN_ID, COLUMN_HEX, COLUMN_CORE, COLUMN_ALIGNMENT, COLUMN_MEASURED, COLUMNS };

struct header {
    int index[COLUMNS]; /* -1: not there */
    size_t n_fields;
};

struct row {
    const char *field[COLUMNS]; /* NULL: not there */
    size_t line;
    double measured, cycles; /* NAN: none */
    char *message;           /* why there is no value */
};

struct batch_core {
    char *name;
    struct loopsim *sim; /* NULL: `why` */
    char *why;
    size_t n_blocks;
};

struct worker {
    struct batch *batch;
    VECTOR(struct batch_core) cores;
    size_t last_core;
    uint8_t bytes[MAX_BLOCK_BYTES];
    struct insn *insn[MAX_BLOCK_BYTES];
};

struct batch {
    const struct batch_options *opt;
    const char *name;
    struct header header;
    struct row row[CHUNK];
    size_t n;
    atomic_size_t next;
    struct worker *worker[MAX_THREADS];
    unsigned n_workers;
    struct progress progress;
    struct batch_result result;
};

/* --- reading -------------------------------------------------------------------------------------- */

static int read_header(struct csv_reader *csv, const char *name, struct header *h, struct status *st)
{
    static const char *const wanted[COLUMNS][2] = {
        [COLUMN_ID] = {"id", "id"},
        [COLUMN_HEX] = {"hex", "hex"},
        [COLUMN_CORE] = {"core", "core"},
        [COLUMN_ALIGNMENT] = {"alignment", "align"},
        [COLUMN_MEASURED] = {"measured", "measured"},
    };
    struct csv_record r;
    if (!csv__next(csv, &r))
        return status__fail(st, "%s is empty: the first line names the columns, at least id,hex", name);
    h->n_fields = r.n;
    for (int c = 0; c < COLUMNS; c++) {
        h->index[c] = -1;
        for (size_t i = 0; i < r.n && i < CSV_MAX_FIELDS; i++)
            if (strcmp(text__trim(r.field[i]), wanted[c][0]) == 0 || strcmp(r.field[i], wanted[c][1]) == 0)
                h->index[c] = (int)i;
    }
    for (int c = COLUMN_ID; c <= COLUMN_HEX; c++)
        if (h->index[c] < 0)
            return status__fail(st,
                                "%s:1: there is no column %s; the header has at least id,hex and may have "
                                "core, alignment and measured",
                                name, wanted[c][0]);
    return 0;
}

static void read_row(const struct header *h, const struct csv_reader *csv, const struct csv_record *r,
                     struct row *row)
{
    *row = (struct row){.line = csv->line, .measured = (double)NAN, .cycles = (double)NAN};
    for (int c = 0; c < COLUMNS; c++)
        if (h->index[c] >= 0 && (size_t)h->index[c] < r->n)
            row->field[c] = text__trim(r->field[h->index[c]]);
    if (r->bad_quotes)
        row->message = text__printf("quotes are not closed or text follows them");
    else if (r->n != h->n_fields)
        row->message = text__printf("%zu fields, but the header has %zu", r->n, h->n_fields);
}

static void read_chunk(struct batch *b, struct csv_reader *csv)
{
    struct csv_record r;
    for (b->n = 0; b->n < CHUNK && csv__next(csv, &r); b->n++)
        read_row(&b->header, csv, &r, &b->row[b->n]);
}

/* --- computing ------------------------------------------------------------------------------------ */

static void open_core(const struct batch_options *opt, struct batch_core *c)
{
    struct status st = {0};
    struct core core;
    loopsim__close(c->sim);
    c->sim = NULL;
    c->n_blocks = 0;
    if (core__load(&core, c->name, opt->set, opt->n_set, &st) || !(c->sim = loopsim__open(&core, &st)))
        c->why = strdup(st.text);
}

static struct batch_core *find_core(struct worker *w, const char *name)
{
    if (w->last_core < w->cores.n && strcmp(w->cores.item[w->last_core].name, name) == 0)
        return &w->cores.item[w->last_core];
    for (size_t i = 0; i < w->cores.n; i++)
        if (strcmp(w->cores.item[i].name, name) == 0) {
            w->last_core = i;
            return &w->cores.item[i];
        }
    struct batch_core *c = vector__add(&w->cores);
    if (!c || !(c->name = strdup(name)))
        return NULL;
    w->last_core = w->cores.n - 1;
    open_core(w->batch->opt, c);
    return c;
}

static int bounds(struct worker *w, struct batch_core *c, const struct block_shape *shape, uint64_t align,
                  double *cycles, struct status *st)
{
    struct block block = {.insn = w->insn,
                          .n = shape->n,
                          .address = align % 64,
                          .unrolled = shape->unrolled,
                          .registers = (int)w->batch->opt->registers};
    struct bounds b;
    if (bounds__compute(&block, loopsim__core(c->sim), loopsim__isa(c->sim), false, &b))
        return status__fail(st, "the bounds of a block of %zu instructions cannot be computed", shape->n);
    *cycles = b.cycles;
    bounds__free(&b);
    return 0;
}

static int simulate(struct worker *w, struct batch_core *c, size_t size, uint64_t align, double *cycles,
                    struct status *st)
{
    const struct batch_options *opt = w->batch->opt;
    struct loopsim_options lo = {
        .address = align, .registers = opt->registers, .model = opt->model, .max_cycles = opt->max_cycles};
    struct loop_figures f;
    if (loopsim__run(c->sim, w->bytes, size, &lo, &f, st))
        return -1;
    *cycles = f.cycles;
    return 0;
}

static int compute(struct worker *w, struct row *row, struct status *st)
{
    const struct batch_options *opt = w->batch->opt;
    const char *name =
        row->field[COLUMN_CORE] && row->field[COLUMN_CORE][0] ? row->field[COLUMN_CORE] : opt->core;
    const char *text = row->field[COLUMN_ALIGNMENT], *end = NULL;
    uint64_t align = opt->alignment;
    struct block_shape shape;
    size_t size;

    if (text && text[0] && !text__to_u64(text, &align))
        return status__fail(st, "the alignment '%s' is not a number of bytes", text);
    text = row->field[COLUMN_MEASURED];
    if (text && text[0] && (!text__to_double(text, &row->measured, &end) || *end || row->measured <= 0)) {
        row->measured = (double)NAN;
        return status__fail(st, "the measurement '%s' is not a positive number of cycles", text);
    }
    struct batch_core *c = find_core(w, name);
    if (!c)
        return status__fail(st, "out of memory");
    if (!c->sim)
        return status__fail(st, "%s", c->why ? c->why : "out of memory");
    if (c->n_blocks++ >= BLOCKS_BEFORE_RENEWAL)
        open_core(opt, c);
    if (!c->sim)
        return status__fail(st, "%s", c->why ? c->why : "out of memory");
    if (hex__parse(row->field[COLUMN_HEX], w->bytes, sizeof w->bytes, &size, st) ||
        block__decode(loopsim__isa(c->sim), w->bytes, size, w->insn, &shape, st))
        return -1;
    return opt->bounds_only ? bounds(w, c, &shape, align, &row->cycles, st)
                            : simulate(w, c, size, align, &row->cycles, st);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct batch *b = w->batch;
    for (size_t i; (i = atomic_fetch_add_explicit(&b->next, 1, memory_order_relaxed)) < b->n;) {
        struct status st;
        if (b->row[i].message)
            continue;
        if (compute(w, &b->row[i], &st)) {
            b->row[i].cycles = (double)NAN;
            b->row[i].message = strdup(st.text);
        }
    }
    return NULL;
}

static void compute_chunk(struct batch *b)
{
    pthread_t thread[MAX_THREADS];
    unsigned n = 0;
    atomic_store(&b->next, 0);
    for (unsigned i = 1; i < b->n_workers && pthread_create(&thread[n], NULL, work, b->worker[i]) == 0; i++)
        n++;
    work(b->worker[0]);
    while (n)
        pthread_join(thread[--n], NULL);
}

/* --- writing -------------------------------------------------------------------------------------- */

/* Four decimals at most, without zeros at the end. */
static void write_number(FILE *out, double value)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%.4f", value);
    while (n > 2 && text[n - 1] == '0' && text[n - 2] != '.')
        text[--n] = 0;
    fputs(text, out);
}

static void write_row(struct batch *b, struct row *row, FILE *out, FILE *messages)
{
    bool fidelity = b->header.index[COLUMN_MEASURED] >= 0;
    double f = loop_report__fidelity(row->cycles, row->measured);

    csv__write(out, row->field[COLUMN_ID] ? row->field[COLUMN_ID] : "");
    putc(',', out);
    if (isfinite(row->cycles)) /* hundredths, as measurements of loops are published (TP-6) */
        fprintf(out, "%.2f", row->cycles);
    if (fidelity)
        putc(',', out);
    if (fidelity && !isnan(f)) {
        write_number(out, f);
        b->result.fidelity += f;
        b->result.n_measured++;
    }
    putc('\n', out);
    b->result.n_rows++;
    if (isfinite(row->cycles))
        return;
    b->result.n_failed++;
    if (b->progress.out)
        progress__clear(&b->progress);
    fprintf(messages, "fathom: %s:%zu: %s\n", b->name, row->line,
            row->message ? row->message : "out of memory");
}

static void write_chunk(struct batch *b, FILE *out, FILE *messages)
{
    for (size_t i = 0; i < b->n; i++) {
        write_row(b, &b->row[i], out, messages);
        free(b->row[i].message);
    }
    if (b->opt->progress && progress__due(&b->progress))
        progress__show(&b->progress, "%zu blocks, %.0f a second", b->result.n_rows,
                       (double)b->result.n_rows / progress__seconds(&b->progress));
}

/* --- the whole ------------------------------------------------------------------------------------ */

static void batch__free(struct batch *b)
{
    for (unsigned i = 0; b && i < b->n_workers; i++) {
        struct worker *w = b->worker[i];
        for (size_t k = 0; k < w->cores.n; k++) {
            loopsim__close(w->cores.item[k].sim);
            free(w->cores.item[k].name);
            free(w->cores.item[k].why);
        }
        vector__free(&w->cores);
        free(w);
    }
    free(b);
}

static struct batch *batch__new(const char *name, const struct batch_options *opt)
{
    struct batch *b = calloc(1, sizeof *b);
    unsigned threads = opt->threads < 1 ? 1 : opt->threads > MAX_THREADS ? MAX_THREADS : opt->threads;
    if (!b)
        return NULL;
    b->opt = opt;
    b->name = name;
    for (; b->n_workers < threads; b->n_workers++) {
        if (!(b->worker[b->n_workers] = calloc(1, sizeof(struct worker)))) {
            batch__free(b);
            return NULL;
        }
        b->worker[b->n_workers]->batch = b;
    }
    if (opt->progress)
        progress__init(&b->progress);
    return b;
}

int batch__run(char *text, size_t size, const char *name, const struct batch_options *opt, FILE *out,
               FILE *messages, struct batch_result *result, struct status *st)
{
    struct csv_reader csv;
    struct batch *b = batch__new(name, opt);
    int rc = -1;

    if (!b) {
        status__fail(st, "not enough memory for a batch");
        goto out;
    }
    csv__init(&csv, text, size);
    if (read_header(&csv, name, &b->header, st))
        goto out;
    fputs(b->header.index[COLUMN_MEASURED] >= 0 ? "id,cycles,fidelity\n" : "id,cycles\n", out);
    for (read_chunk(b, &csv); b->n; read_chunk(b, &csv)) {
        compute_chunk(b);
        write_chunk(b, out, messages);
    }
    if (opt->progress)
        progress__clear(&b->progress);
    *result = b->result;
    result->fidelity = result->n_measured ? result->fidelity / (double)result->n_measured : (double)NAN;
    rc = 0;
out:
    batch__free(b);
    return rc;
}
