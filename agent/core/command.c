/* Parses the command for a case, and describes cases and benches to the host. */
#include "command.h"

#include <string.h>

#define RAW_MAX 10000000
#define CENTURY_NS 3155760000000000000
#define SAMPLES_MAX 1000000000000000000

const rts_param rts_common_params[] = {
    {"samples", RTS_T_INT, offsetof(rts_common, samples), NULL, 0, 0, RTS_LIMIT(SAMPLES_MAX),
     RTS_SAY("number of samples; 0: until the time limit")},
    {"time", RTS_T_DURATION, offsetof(rts_common, time_ns), "ns", 0, 0, RTS_LIMIT(CENTURY_NS),
     RTS_SAY("time limit of the timed section; 0: none")},
    {"warmup", RTS_T_INT, offsetof(rts_common, warmup), NULL, 0, 0, 1000000,
     RTS_SAY("number of samples to discard first")},
    {"prio", RTS_T_INT, offsetof(rts_common, prio), NULL, RTS_PRIO_MAX, RTS_PRIO_MIN + RTS_LEVELS,
     RTS_PRIO_TOP, RTS_SAY("highest priority of the case's tasks")},
    {"cpus", RTS_T_CPUS, offsetof(rts_common, cpus), NULL, 0, 0, RTS_CPUS - 1,
     RTS_SAY("CPUs to measure on; default: the last of the largest, isolated first")},
    {"raw", RTS_T_BOOL, offsetof(rts_common, raw), NULL, 0, 0, 1,
     RTS_SAY("store every sample; needs a number of samples")},
    {"config", RTS_T_CHOICE, offsetof(rts_common, config), "bound|1cpu|2cpu|1rt", RTS_BOUND, 0, 0,
     RTS_SAY("where the tasks run: on one CPU, with everything else of rtstone on others; all on "
             "one CPU; on any CPU; as bound, but only if there is a second CPU")},
    {"batch", RTS_T_INT, offsetof(rts_common, batch), NULL, 0, 0, 4096,
     RTS_SAY("operations per sample; 0: as many as the clock's granule requires")},
    {"cache", RTS_T_CHOICE, offsetof(rts_common, cache), "warm|cold", RTS_WARM_CACHE, 0, 0,
     RTS_SAY("state of caches and TLB when a sample begins: as the sample before left them, or "
             "filled with unrelated lines before each sample")},
    RTS_PARAMS_END,
};

/* Returns whether a common parameter applies to this bench: two are for RTS_TIMED() only. */
static bool applies(const void *bench, const rts_param *p)
{
    bool timed =
        p->offset == offsetof(rts_common, batch) || p->offset == offsetof(rts_common, cache);
    return !timed || ((const rts_bench *)bench)->traits & RTS_BATCHES;
}

/* Returns the default of a parameter: a bench has its own limits and warm-up. */
static int64_t default_of(const void *entry, const rts_param *p)
{
    const rts_bench *bench = entry;
    if (!strcmp(p->name, "samples"))
        return bench->samples;
    if (!strcmp(p->name, "time"))
        return rts_limit_value(bench->time_ns);
    if (!strcmp(p->name, "warmup"))
        return bench->warmup;
    return rts_limit_value(p->def);
}

static const char *absent(const char *name)
{
    return strcmp(name, "cache") ? "" : ": its samples are more than calls of one task";
}

static rts_args args_of(rts_case *c)
{
    return (rts_args){.kind = "bench",
                      .id = c->bench->id,
                      .entry = c->bench,
                      .common = rts_common_params,
                      .common_applies = applies,
                      .common_absent = absent,
                      .common_default = default_of,
                      .own = c->bench->params,
                      .common_values = &c->common,
                      .own_values = c->params,
                      .reason = c->reason};
}

static int check(rts_case *c)
{
    const char *wrong = NULL;
    if (c->common.raw && (!c->common.samples || c->common.samples > RAW_MAX))
        wrong = "raw=1 needs a number of samples, 10000000 at most";
    else if (c->common.cache && c->common.batch > 1)
        wrong = "after its first operation a batch is no longer cold: cache=cold needs batch=1";
    if (wrong)
        rts_print(c->reason, sizeof c->reason, "%s", wrong);
    return wrong ? -1 : 0;
}

int rts_command_parse(rts_case *c, char *words)
{
    const char *id = rts_word(&words);
    const char *bench = rts_word(&words);
    int64_t number_of_case = 0;
    if (!id || !bench || !rts_number(&id, &number_of_case) || *id) {
        rts_print(c->reason, sizeof c->reason, "a case needs a number and a bench");
        return -1;
    }
    c->job.id = (uint64_t)number_of_case;
    c->bench = rts_registry_find(bench);
    if (!c->bench) {
        rts_print(c->reason, sizeof c->reason, "this agent has no bench '%s'", bench);
        return -1;
    }
    rts_args args = args_of(c);
    rts_args_defaults(&args);
    if (!(c->bench->traits & RTS_BATCHES))
        c->common.batch = 1;
    if (rts_args_parse(&args, words) || check(c))
        return -1;
    if (c->common.cache)
        c->common.batch = 1;
    return 0;
}

/* ---- descriptions for the host ----------------------------------------------------------- */

void rts_command_params(rts_wire *w, const rts_case *c)
{
    rts_args args = args_of((rts_case *)c); /* only read */
    rts_args_put(w, &args);
}

void rts_command_value(rts_wire *w, const rts_case *c, const char *name)
{
    for (const rts_param *p = rts_common_params; p->name; p++)
        if (!strcmp(p->name, name))
            rts_param_put(w, name, p, (const unsigned char *)&c->common + p->offset);
}

void rts_command_describe(const rts_bench *bench)
{
    rts_args args = {.entry = bench,
                     .common = rts_common_params,
                     .common_applies = applies,
                     .common_default = default_of,
                     .own = bench->params};
    rts_wire *w = rts_wire_begin("bench");
    rts_wire_str(w, "id", bench->id);
    rts_text_put(w, "title", bench->title);
    rts_text_put(w, "source", bench->source);
    rts_text_put(w, "help", bench->help);
    rts_wire_str(w, "metric", bench->metric);
    rts_wire_str(w, "slope_over", bench->slope_over);
    rts_wire_str(w, "slope_of", bench->slope_of);
    rts_args_describe(w, &args, bench->needs);
    rts_wire_end(w);
}
