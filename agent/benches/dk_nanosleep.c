/* dk.nanosleep: how reliably a real-time task is woken (Dankwardt, part 3). */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define EARLY_MAX 1000 /* a system with this many early wake-ups will not complete the samples */

enum { RELATIVE, ABSOLUTE };

typedef struct sleep_params {
    int64_t request, mode;
} sleep_params;

static const rts_param sleep_param[] = {
    RTS_DURATION(sleep_params, request, 50000000, 1000, 3600 * SECOND_NS, "length of each sleep"),
    RTS_CHOICE(
        sleep_params, mode, "relative|absolute", RELATIVE,
        "sleep for the requested time, or until the first time stamp plus the requested time"),
    RTS_PARAMS_END,
};

/* Sleeps that ended too early: too few for a distribution, but each of them is an error. */
typedef struct early {
    uint64_t n;
    rts_tick most; /* largest amount by which one was too early */
} early;

/* The first sleeps are discarded; by how much they exceeded the request shows what that leaves out.
 */
#define FIRST 2

typedef struct first {
    unsigned n;
    rts_tick late[FIRST];
} first;

/* Returns the cost of reading the clock that sleeps use, in its ticks. */
static rts_tick time_overhead(void)
{
    rts_tick least = UINT64_MAX;
    for (int i = 0; i < 10000; i++) {
        rts_tick a = rts_time();
        rts_tick b = rts_time();
        least = b - a < least ? b - a : least;
    }
    return least;
}

/*
 * Records the time that a sleep took beyond the request, so that the histogram's resolution applies
 * to the latency and not to the request. A sleep that was too short has no such sample: it is
 * counted as negative, and reported separately.
 */
static void keep(rts_rec *r, early *e, first *f, rts_tick request, rts_tick took, rts_tick at)
{
    if (took >= request) {
        if (r->warm && f->n < FIRST)
            f->late[f->n++] = took - request;
        rts_rec_add(r, took - request, at);
        return;
    }
    e->n++;
    e->most = request - took > e->most ? request - took : e->most;
    r->negative += !r->warm;
}

static void report(rts_case *c, const rts_rec *r, const early *e, const first *f)
{
    static const char *const names[FIRST] = {"first sleep, discarded", "second sleep, discarded"};
    double tick_ns = 1e9 / (double)RTS_TIME_HZ;
    uint64_t start = rts_hist_percentile(&r->hist, 500); /* of its bucket */
    double median = (double)(start > r->hist.min ? start : r->hist.min);
    if (r->hist.n) {
        rts_figure_add(c, "above the median, most", ((double)r->hist.max - median) * tick_ns, "ns");
        rts_figure_add(c, "below the median, most", (median - (double)r->hist.min) * tick_ns, "ns");
    }
    for (unsigned i = 0; i < f->n; i++)
        rts_figure_add(c, names[i], (double)f->late[i] * tick_ns, "ns");
    rts_count_add(c, "ended early", e->n, "sleeps");
    rts_figure_add(c, "ended early by, most", (double)e->most * tick_ns, "ns");
}

static int run_nanosleep(rts_case *c)
{
    const sleep_params *p = rts_params(c);
    /* A sleep until an absolute time takes one reading, not two: nothing to subtract. */
    rts_tick overhead = p->mode == RELATIVE ? time_overhead() : 0;
    rts_rec *r = rts_series(c, "", RTS_TIME_HZ, overhead, false, NULL);
    if (!r)
        return -1;
    if ((uint64_t)p->request * 3 > c->job.patience_ns)
        c->job.patience_ns = (uint64_t)p->request * 3;
    rts_tick request = rts_ns_to_ticks((uint64_t)p->request, RTS_TIME_HZ);
    early e = {0};
    first f = {0};
    rts_tick a, b = rts_time();
    rts_rec_start(r, b);
    while (r->running && e.n < EARLY_MAX) {
        if (b + request > r->deadline) {
            rts_series_expire(r, b);
            break;
        }
        if (p->mode == RELATIVE) {
            a = rts_time();
            rts_sleep_for(request);
            b = rts_time();
        } else {
            a = rts_time();
            rts_sleep_until(a + request);
            b = rts_time();
        }
        keep(r, &e, &f, request, b - a, b);
    }
    rts_end(c, r);
    report(c, r, &e, &f);
    if (e.n == EARLY_MAX)
        return rts_failed(c, "%d sleeps ended early, the last had %llu of %llu samples", EARLY_MAX,
                          (unsigned long long)r->hist.n, (unsigned long long)r->setup.samples);
    return 0;
}

static const rts_bench benches[] = {
    {.id = "dk.nanosleep",
     .title = RTS_SAY("Sleep of a given length"),
     .source = RTS_SAY("Dankwardt, part 3, figures 2-11"),
     .help =
         RTS_SAY("Time stamp, sleep for `request`, time stamp; the sample is by how much the sleep "
                 "exceeded the request. The time stamps are of the clock that the sleep uses. "
                 "Memory is locked and prefaulted, and the priority is the highest "
                 "(env.setup). A sleep that ended early counts as negative and is in no "
                 "percentile. The source took 1000 samples and discarded the first 2, because the "
                 "cache was cold; figures have by how much these exceeded the request."),
     .params = sleep_param,
     .traits = RTS_OWN_SERIES,
     .samples = 998,
     .warmup = 2,
     .run = run_nanosleep},
};

RTS_BENCHES(benches);
