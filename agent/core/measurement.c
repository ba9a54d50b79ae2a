/* The measuring task of a case. */
#include "measurement.h"

#include <string.h>

#include "case.h"
#include "series.h"

uint64_t rts_median_net(const rts_rec *r)
{
    uint64_t median = rts_hist_percentile(&r->hist, 500);
    return median > r->setup.overhead ? median - r->setup.overhead : 0;
}

/* What a case has before a trial. */
typedef struct state {
    size_t used;
    unsigned figures, tables;
} state;

static state state_of(const rts_case *c)
{
    return (state){c->arena_used, c->figures, c->tables};
}

/* Forgets a trial: frees what it allocated, which is zeroed again, and drops what it reported. */
static void restore(rts_case *c, state before)
{
    memset(c->arena + before.used, 0, c->arena_used - before.used);
    c->arena_used = before.used;
    c->figures = before.figures;
    c->tables = before.tables;
    c->task = NULL;
    c->sem = NULL;
    c->table_rows = NULL;
}

/*
 * Doubles the number of operations between two time stamps until an interval lasts at least 10
 * granules of the clock.
 */
static void find_batch(rts_case *c)
{
    rts_series_out *s = &c->series[0];
    state before = state_of(c);
    rts_tick start = rts_time();
    for (c->batch = 1; c->batch < 4096; c->batch *= 2) {
        rts_series_setup(c, s, true);
        int err = c->bench->run(c);
        rts_rec_finish(s->rec);
        rts_case_clean_up(c);
        restore(c, before);
        if (err || c->job.stop_requested || rts_median_net(s->rec) >= 10 * rts_the_clock.granule)
            break;
    }
    rts_series_setup(c, s, false);
    if (s->rec->setup.busy && rts_time() - start > rts_ns_to_ticks(c->busy_ns / 4, RTS_TIME_HZ))
        rts_series_rest(c);
}

#ifdef RTS_ENTRIES
/* Counts, of the operations of a short trial, those that enter the kernel. */
static void count_entries(rts_case *c)
{
    state before = state_of(c);
    c->why_not_watched = rts_port_entries_open();
    if (c->why_not_watched)
        return;
    rts_series_setup(c, c->series, true);
    c->batch = 1;
    c->job.evidence.entered = c->job.evidence.entered_of = 0;
    c->watching = true;
    c->bench->run(c);
    c->watching = false;
    rts_rec_finish(c->rec);
    rts_port_entries_close();
    rts_case_clean_up(c);
    restore(c, before);
    rts_series_setup(c, c->series, false);
}
#endif

/*
 * Times the operations of a batched case one by one, for the maximum and the tail that means of a
 * batch do not have: in a series of its own, for at most half of the case's time, which the batches
 * then lack. Returns what the bench returns.
 */
static int run_single(rts_case *c)
{
    unsigned batch = c->batch;
    rts_rec *batches = c->rec;
    rts_rec *r = rts_series(c, "single", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
    if (!r)
        return -1;
    state before = state_of(c);
    r->setup.time /= 2;
    c->rec = r;
    c->batch = 1;
    int err = c->bench->run(c);
    uint64_t took = rts_now() - r->start;
    rts_end(c, r);
    c->rec = batches;
    c->batch = batch;
    if (err)
        return err;
    rts_case_clean_up(c);
    restore(c, before); /* what the batches report is the case's */
    batches->setup.time -= took < r->setup.time ? took : r->setup.time;
    if (batches->setup.busy)
        rts_series_rest(c);
    return 0;
}

/* Prepares for a case with cold caches. */
static int prepare_cold(rts_case *c)
{
#ifdef RTS_COLD
    size_t bytes = 0;
    int err = rts_port_cold(&bytes);
    if (err)
        return rts_port_failed(c, "no memory to fill the caches with", err);
    rts_figure_add(c, "read before each sample", (double)bytes, "B");
#endif
    return c->status == RTS_S_OK ? 0 : -1;
}

/* Fails a case that has measured nothing, so that it is not taken for a success. */
static void demand_result(rts_case *c, int err)
{
    bool any = c->job.stop_requested || c->bench->traits & RTS_NO_SAMPLES;
    for (unsigned i = 0; i < c->n_series; i++)
        any = any || c->series[i].rec->hist.n;
    if (err && !c->job.stop_requested)
        rts_failed(c, "it gave up without a reason");
    if (!any && c->n_series && c->series[0].rec->ended == RTS_BY_TIME)
        rts_failed(c, "its time was over before the first sample: give it a longer one");
    else if (!any)
        rts_failed(c, "it ended without a sample");
}

/* Measures the clock where it will be read, unless that is the CPU on which it has been. */
static void measure_clock(rts_case *c)
{
    if (RTS_NEVER & RTS_CAP_SMP)
        return;
    if (c->job.cpu >= 0 && c->job.cpu != rts_port_default_cpu())
        rts_clock_measure();
    c->granule = rts_the_clock.granule;
}

static void measure(rts_case *c)
{
    int err = 0;
    measure_clock(c);
    if (c->common.cache && prepare_cold(c))
        return;
    if (!(c->bench->traits & RTS_OWN_SERIES)) {
        c->rec = rts_series(c, "", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
        if (!c->rec)
            return;
    }
#ifdef RTS_ENTRIES
    if (c->bench->traits & RTS_BATCHES)
        count_entries(c);
    if (c->status != RTS_S_OK) {
        demand_result(c, -1);
        return;
    }
#endif
    c->batch = (unsigned)c->common.batch;
    if (!c->batch)
        find_batch(c);
    if (RTS_SINGLE && c->batch > 1 && c->status == RTS_S_OK && c->bench->traits & RTS_BATCHES)
        err = run_single(c);
    if (c->status == RTS_S_OK && !err)
        err = c->bench->run(c);
    if (c->rec)
        rts_end(c, c->rec);
    rts_case_clean_up(c);
    for (unsigned i = 0; i < c->n_series; i++)
        rts_rec_finish(c->series[i].rec); /* series of tasks on other CPUs, which have ended now */
    demand_result(c, err);
}

void rts_measurement_run(rts_job *job)
{
    rts_case *c = rts_case_of(job);
    measure(c);
    c->returned = true;
}
