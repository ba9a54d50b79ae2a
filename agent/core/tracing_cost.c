/* The run of a case that may be traced, and what tracing costs it. */
#include "tracing.h"

#ifdef RTS_TRACED

#include <string.h>

#include "command.h"
#include "execution.h"
#include "measurement.h"

#define SHORT_SAMPLES 1000
#define SHORT_NS 500000000

static int64_t at_most(int64_t limit, int64_t most)
{
    return limit && limit < most ? limit : most;
}

/*
 * Runs a parsed case for half a second at most, without a word to the host. Returns the median in
 * ns of its samples, -1 without any.
 */
static double short_median(rts_case *c)
{
    c->common.raw = 0;
    c->common.samples = at_most(c->common.samples, SHORT_SAMPLES);
    c->common.time_ns = at_most(c->common.time_ns, SHORT_NS);
    rts_execution_choose_cpus(c);
    if (c->bench->traits & RTS_NO_SAMPLES || !rts_execution_prepare(c))
        return -1;
    rts_execution_run(c);
    const rts_rec *r = c->n_series ? c->series[0].rec : NULL;
    if (!r || !r->hist.n || c->status != RTS_S_OK)
        return -1;
    return (double)rts_median_net(r) / c->batch * 1e9 / (double)r->setup.hz;
}

/* Returns that of the bench of a case, with the same parameters. */
static double median_of_bench(const rts_case *c)
{
    double median = -1;
    rts_case *run = rts_execution_new(0);
    if (!run)
        return median;
    run->job.id = c->job.id;
    run->bench = c->bench;
    run->common = c->common;
    memcpy(run->params, c->params, sizeof run->params);
    median = short_median(run);
    rts_execution_free(run);
    return median;
}

/* Returns that of the bench that does nothing, with its defaults. */
static double median_of_null(void)
{
    char words[] = "0 null";
    double median = -1;
    rts_case *run = rts_execution_new(0);
    if (!run)
        return median;
    if (!rts_command_parse(run, words))
        median = short_median(run);
    rts_execution_free(run);
    return median;
}

static void add_median(rts_case *c, const char *name, double median)
{
    if (median >= 0 && c->figures < RTS_FIGURES)
        rts_figure_add(c, name, median, "ns");
}

/*
 * Also reports what tracing costs: the medians of the bench itself and of `null`, in short runs
 * before the case, without and with tracing.
 */
void rts_tracing_run(rts_case *c)
{
    if (!rts_tracing_wanted()) {
        rts_execution_run(c);
        return;
    }
    double off = median_of_bench(c), null_off = median_of_null();
    if (rts_tracing_begin(c))
        return;
    double on = median_of_bench(c), null_on = median_of_null();
    rts_execution_run(c);
    rts_tracing_end(c);
    add_median(c, "median without tracing", off);
    add_median(c, "median with tracing", on);
    add_median(c, "null without tracing", null_off);
    add_median(c, "null with tracing", null_on);
}

#endif
