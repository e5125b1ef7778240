/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a stored result beside their predictions, as JSON (docs/loop.md). */
#include "base/json_writer.h"
#include "fathom/from_run.h"

enum { SCHEMA_VERSION = 1 };

static const char *const cause_key[FROM_RUN_CAUSES] = {
    [FROM_RUN_RETIRING] = "retiring",  [FROM_RUN_BAD_SPECULATION] = "bad_speculation",
    [FROM_RUN_FRONTEND] = "front_end", [FROM_RUN_MEMORY] = "memory",
    [FROM_RUN_CORE] = "core",          [FROM_RUN_ELSEWHERE] = "charged_elsewhere",
};

static void figures(struct json_writer *json, const char *key, double cycles, const double *by)
{
    json__key(json, key);
    json__object_begin_inline(json);
    json__key_double(json, "cycles", cycles);
    for (int c = 0; c < FROM_RUN_CAUSES; c++)
        json__key_double(json, cause_key[c], by[c]);
    json__object_end(json);
}

static void loop(struct json_writer *json, const struct from_run_loop *l)
{
    const struct found_loop *code = l->code;
    json__object_begin(json);
    json__key_string(json, "module", l->module);
    json__key_uint(json, "start", code->start);
    json__key_uint(json, "end", code->end);
    json__key_string(json, "function", code->function);
    json__key_string(json, "file", code->file);
    json__key_int(json, "line", code->line);
    json__key_int(json, "last_line", code->last_line);
    json__key_int(json, "depth", code->depth);
    json__key_uint(json, "instructions", code->n_insns);
    json__key_double(json, "share", l->share);
    json__key_double(json, "cycles", (double)l->weight.cycles_tip / TIP_UNIT);
    json__key_uint(json, "instructions_executed", l->weight.insns);
    json__key_uint(json, "iterations", l->iterations);
    figures(json, "program", l->in_program, l->program_by);
    figures(json, "prediction", l->predicted, l->predicted_by);
    figures(json, "difference", l->difference, l->difference_by);
    json__key_string(json, "why_not", l->why);
    json__key_string(json, "limit", l->report.limit);
    json__key_string(json, "bottleneck", l->why ? NULL : l->report.sentence);
    json__key_string(json, "verdict", l->sentence[0] ? l->sentence : NULL);
    json__key_string(json, "try", l->next[0] ? l->next : NULL);
    json__object_end(json);
}

void view__from_run_json(const struct from_run *run, const char *input, FILE *out)
{
    static const char *const registers[] = {"diff", "same", "stack"};
    struct json_writer json;

    json__init(&json, out, 2);
    json__object_begin(&json);
    json__key_string(&json, "schema", "fathom-loop-from-run");
    json__key_int(&json, "version", SCHEMA_VERSION);
    json__key_string(&json, "fathom", FATHOM_VERSION);
    json__key_string(&json, "input", input);
    json__key_string(&json, "command", run->profile->command);
    json__key_bool(&json, "complete", run->profile->complete);
    json__key_string(&json, "core", run->profile->core);
    json__key_string(&json, "predicted_core", run->core);
    json__key_string(&json, "model", run->model == LOOPSIM_UFS ? "ufs" : "full");
    json__key_string(&json, "registers", registers[run->registers]);
    json__key_uint(&json, "cycles", run->profile->cycles);
    json__key_double(&json, "share", run->share);
    json__key(&json, "loops");
    json__array_begin(&json);
    for (size_t i = 0; i < run->n; i++)
        loop(&json, &run->loop[i]);
    json__array_end(&json);
    json__key(&json, "not_searched");
    json__array_begin(&json);
    for (size_t i = 0; i < run->n_notes; i++)
        json__string(&json, run->note[i]);
    json__array_end(&json);
    json__object_end(&json);
    json__end(&json);
}
