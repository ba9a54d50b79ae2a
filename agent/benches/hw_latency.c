/* hw.latency: who stops the processor, hardware and firmware first, as hwlatdetect looks for it. */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define PRIMING 1000                  /* readings before the first that counts */
#define LISTED (RTS_TABLE_BYTES / 64) /* gaps that are listed: a row is shorter */

typedef struct hw_params {
    int64_t threshold, window, width;
} hw_params;

static const rts_param hw_param[] = {
    RTS_DURATION(hw_params, threshold, 10000, 0, 60 * SECOND_NS,
                 "a gap is longer than this, beyond the duration of a reading"),
    RTS_DURATION(hw_params, window, SECOND_NS, 1000, 3600 * SECOND_NS,
                 "time from one start of looking to the next"),
    RTS_DURATION(hw_params, width, SECOND_NS / 2, 1000, 3600 * SECOND_NS,
                 "how long it looks in each window; it sleeps for the rest. The whole window: it "
                 "never sleeps, to show what the system takes from a task that keeps the CPU"),
    RTS_PARAMS_END,
};

typedef struct gap {
    uint64_t at, length; /* ticks: from the start of the series to its start, and net */
} gap;

typedef struct watch {
    rts_case *c;
    uint64_t above;   /* readings further apart than this have a gap between them, in ticks */
    uint64_t notable; /* the same, or the longest distance yet if that is shorter */
    uint64_t longest, looked, gone, n;
    gap gap[LISTED];
} watch;

/* Takes account of two readings that are further apart than any before; true: a gap. */
static bool note(watch *w, rts_tick last, rts_tick now)
{
    rts_rec *r = w->c->rec;
    uint64_t took = now - last, net = took - rts_the_clock.overhead;
    w->longest = took > w->longest ? took : w->longest;
    w->notable = w->longest < w->above ? w->longest : w->above;
    if (took <= w->above)
        return false;
    if (w->n < LISTED)
        w->gap[w->n] = (gap){last - r->start, net};
    w->n++;
    w->gone += net;
    rts_rec_add(r, took, now);
    return true;
}

/*
 * Reads the counter until then, and nothing else.  Behind a gap a new chain of readings begins, or
 * keeping one could become the next.
 */
static rts_tick read_until(watch *w, rts_tick last, rts_tick end)
{
    const rts_rec *r = w->c->rec;
    while (last < end && r->running) {
        rts_tick now = rts_now();
        if (__builtin_expect(now - last > w->notable, 0) && note(w, last, now))
            now = rts_now();
        last = now;
    }
    return last;
}

/* Looks for the width of a window, and now and then whether it is over. */
static void look(watch *w, uint64_t width)
{
    rts_rec *r = w->c->rec;
    rts_tick began = rts_now(), last = began;
    rts_tick end = began + width < r->deadline ? began + width : r->deadline;
    do {
        rts_tick soon = last + rts_the_clock.hz / 10;
        last = read_until(w, last, soon < end ? soon : end);
        rts_rec_look(r, last);
    } while (last < end && r->running);
    w->looked += last - began;
}

static void report_progress(const watch *w)
{
    const rts_rec *r = w->c->rec;
    uint64_t spent = rts_now() - r->start;
    unsigned done = r->setup.time ? (unsigned)(spent * 1000 / r->setup.time) : 0;
    rts_progress(w->c, done, "%llu gaps, the longest %.0f %s", (unsigned long long)w->n,
                 w->n ? rts_clock_ns((double)(w->longest - rts_the_clock.overhead)) : 0,
                 rts_the_clock.unit);
}

/* Most of a period that a task looks in, wherever the period begins. */
static uint64_t looked_in(const hw_params *p, uint64_t period)
{
    uint64_t window = (uint64_t)p->window, width = (uint64_t)p->width, rest = period % window;
    return period / window * width + (rest < width ? rest : width);
}

/* Half the allowance is what a task may take at a time, and the rest what is left of the period. */
static int check(rts_case *c, const hw_params *p)
{
    uint64_t most = 2 * c->busy_ns, period = most + c->rest_ns;
    if (p->width > p->window)
        return rts_failed(c, "width=%lld ns is longer than window=%lld ns", (long long)p->width,
                          (long long)p->window);
    if (most && p->width < p->window && looked_in(p, period) > most)
        return rts_unsupported(
            c,
            "width=%lld of window=%lld ns: RT throttling takes the CPU from a task that keeps it "
            "for more than %llu of %llu ms; use a shorter width, or the whole window to see that",
            (long long)p->width, (long long)p->window, (unsigned long long)(most / 1000000),
            (unsigned long long)(period / 1000000));
    return 0;
}

static void put_gaps(rts_case *c, const watch *w)
{
    bool time = rts_the_clock.unit[0] == 'n'; /* or what an emulated machine counts */
    if (!w->n)
        return;
    rts_table(c, "gaps", time ? "began (s)\tlength (us)" : "began\tlength");
    for (uint64_t i = 0; i < w->n && i < LISTED; i++) {
        double at = rts_clock_ns((double)w->gap[i].at);
        double length = rts_clock_ns((double)w->gap[i].length);
        if (time)
            rts_row(c, "%.9f\t%.3f", at / 1e9, length / 1e3);
        else
            rts_row(c, "%.0f\t%.0f", at, length);
    }
}

static int run_latency(rts_case *c)
{
    const hw_params *p = rts_params(c);
    uint64_t hz = rts_the_clock.hz, width = rts_ns_to_ticks((uint64_t)p->width, hz);
    watch *w = rts_alloc(c, sizeof *w);
    if (!w)
        return rts_unsupported(c, "no memory for the gaps");
    if (check(c, p))
        return -1;
    w->c = c;
    w->above = rts_ns_to_ticks((uint64_t)p->threshold, hz) + rts_the_clock.overhead;
    if ((uint64_t)p->window * 3 > c->job.patience_ns)
        c->job.patience_ns = (uint64_t)p->window * 3;
    for (unsigned i = 0; i < PRIMING; i++)
        rts_now();
    rts_ns next = rts_time_ns();
    for (rts_rec_start(c->rec, rts_now()); c->rec->running;) {
        look(w, width);
        report_progress(w);
        next = rts_ns_add(next, rts_ns_of((uint64_t)p->window));
        if (!c->rec->running)
            break;
        rts_ns now = rts_time_ns();
        rts_tick start = rts_now() + rts_ns_to_ticks(rts_ns_late(next, now).ns, hz);
        if (start >= c->rec->deadline)
            rts_series_expire(c->rec, rts_now());
        else
            rts_sleep_until_ns(next);
    }
    rts_count_add(c, "gaps", (int64_t)w->n, "");
    rts_figure_add(c, "longest time between two readings",
                   rts_clock_ns((double)w->longest - (double)rts_the_clock.overhead),
                   rts_the_clock.unit);
    rts_figure_add(c, "looked at", rts_clock_ns((double)w->looked), rts_the_clock.unit);
    rts_figure_add(c, "taken away", 100.0 * (double)w->gone / (double)w->looked, "%");
    if (w->n > LISTED)
        rts_count_add(c, "gaps that are not listed", (int64_t)(w->n - LISTED), "");
    put_gaps(c, w);
    return 0;
}

static const rts_bench benches[] = {
    {.id = "hw.latency",
     .title = RTS_SAY("Gaps in which hardware or firmware stops the CPU"),
     .source = RTS_SAY("as hwlatdetect and the hwlat tracer of Linux do"),
     .help = RTS_SAY(
         "A task of the highest priority reads the counter in a loop without any system call, for "
         "`width` of every `window`, and sleeps for the rest, so that neither RT throttling nor a "
         "deadline server interferes; with both equal it never sleeps, and shows how long and how "
         "often these take the CPU from a busy real-time task. Readings further apart than "
         "`threshold`, beyond the duration of a reading, "
         "have a gap between them: each gap is a sample, net of that duration, and is listed with "
         "the time at which it began. No gap is a good result, without samples. In user space "
         "interrupts cannot be masked, which hwlatdetect does in the kernel: gaps include the "
         "timer tick, other interrupts and more urgent tasks of the kernel as well as firmware "
         "(SMIs, counted where they can be read), the hypervisor, and stalls of bus or memory. "
         "Measure on an isolated CPU with nohz_full and interrupts elsewhere to leave mainly the "
         "latter. What happens while a gap is being stored is not seen."),
     .params = hw_param,
     .traits = RTS_ONE_CPU | RTS_NO_SAMPLES,
     .samples = 0,
     .warmup = 0,
     .time_ns = RTS_LIMIT(60 * SECOND_NS),
     .run = run_latency},
};

RTS_BENCHES(benches);
