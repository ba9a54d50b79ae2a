/*
 * int.latency.*: how long after its request an interrupt is served (Gutsalov, table 1), and the
 * upper bound of the longest time with interrupts masked that follows from it (Dankwardt).
 */
#include <string.h>

#include "bench.h"
#include "phase.h"

#define SECOND_NS INT64_C(1000000000)
#define SETTLE 32      /* arrivals discarded after the load has paused */
#define BELOW_NS 1000  /* ns that an activation may be below its line, as the phase drifts */
#define SPAN_MAX 40960 /* in a longer span the drift would show */
#define QUIET_MAX 4096

typedef struct latency_params {
    int64_t source, rate, quiet, span;
} latency_params;

static const rts_param latency_param[] = {
    RTS_CHOICE(
        latency_params, source, RTS_EVENTS, 0,
        "source of the interrupts; best: one that the system does not use itself, if available"),
    RTS_INT(latency_params, rate, "Hz", 8192, 64, 65536, "requests per second"),
    RTS_INT(latency_params, quiet, "request", 1024, 64, QUIET_MAX,
            "length of a quiet interval, in which the load pauses"),
    RTS_INT(latency_params, span, "request", SPAN_MAX, 1024, SPAN_MAX,
            "requests from one quiet interval to the next"),
    RTS_PARAMS_END,
};

typedef struct phase {
    rts_case *c;
    rts_rec *rec;
    rts_event event;
    rts_source source;
    rts_numbering numbering;
    size_t quiet, span;
    rts_arrival *anchor;  /* the quiet stretch before the span, then the one after it */
    rts_arrival *between; /* the span itself */
    uint32_t *hull;
    uint64_t below_ticks, lower, fits; /* lower: activations too far below the line */
    double slopes, largest_step;
} phase;

/* Takes the next n activations; returns -1 if the case has to end or the source has failed. */
static int take(phase *p, rts_arrival *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rts_tick stamp;
        uint64_t count;
        int err = rts_event_wait(&p->event, &stamp, &count);
        if (err)
            return rts_port_failed(p->c, "the source of interrupts ended", err);
        if (p->c->job.stop_requested)
            return -1;
        a[i] = rts_phase_number(&p->numbering, stamp, count);
    }
    return 0;
}

/* Takes a stretch of activations with the load paused. */
static int take_quiet(phase *p, rts_arrival *a)
{
    rts_port_load_pause(true);
    int err = take(p, a, SETTLE) || take(p, a, p->quiet) ? -1 : 0;
    rts_port_load_pause(false);
    return err;
}

/* Returns the length of the next span, within the limits of the series. */
static size_t next_span(const phase *p)
{
    const rts_rec *r = p->rec;
    uint64_t before = p->anchor[p->quiet - 1].m, n = p->span;
    if (r->setup.samples) {
        uint64_t left = r->setup.samples + r->setup.warmup - rts_rec_taken(r);
        n = left < n ? left : n;
    }
    if (r->deadline != UINT64_MAX) {
        uint64_t time = r->deadline > before ? r->deadline - before : 0;
        uint64_t left = (uint64_t)((double)time / p->numbering.period) + 2 + r->warm;
        n = left < n ? left : n;
    }
    return n ? (size_t)n : 1;
}

/* A value below the line becomes negative, because the overhead subtracted later is added here. */
static void record(phase *p, const rts_line *line, size_t n)
{
    const rts_arrival *a = p->between;
    for (size_t i = 0; i < n && p->rec->running; i++) {
        double value = rts_phase_excess(line, &a[i]) + (double)p->below_ticks;
        if (i) {
            double step = rts_phase_step(line, &a[i - 1], &a[i]);
            p->largest_step = step > p->largest_step ? step : p->largest_step;
        }
        p->lower += value < 0;
        rts_rec_add(p->rec, value < 0 ? 0 : (uint64_t)(value + 0.5), a[i].m);
    }
}

/*
 * Measures quiet stretch, span, quiet stretch and so on. The line is fitted to the quiet stretches
 * only and interpolated between them: a load that raises every latency would raise the line as
 * well.
 */
static int measure(phase *p)
{
    if (take_quiet(p, p->anchor))
        return -1;
    rts_rec_section(p->rec); /* a span is recorded after it has ended */
    for (rts_rec_start(p->rec, p->anchor[p->quiet - 1].m); p->rec->running;) {
        rts_line line;
        size_t n = next_span(p);
        if (take(p, p->between, n) || take_quiet(p, p->anchor + p->quiet))
            return -1;
        if (!rts_phase_fit(p->anchor, 2 * p->quiet, p->numbering.period, p->hull, &line))
            return rts_failed(p->c, "the source of interrupts does not go on");
        p->fits++;
        p->slopes += line.slope;
        record(p, &line, n);
        memcpy(p->anchor, p->anchor + p->quiet, p->quiet * sizeof *p->anchor);
    }
    return 0;
}

static phase *prepare(rts_case *c)
{
    const latency_params *q = rts_params(c);
    phase *p = rts_alloc(c, sizeof *p);
    if (!p)
        return NULL;
    *p = (phase){.c = c, .quiet = (size_t)q->quiet, .span = (size_t)q->span};
    p->anchor = rts_alloc(c, 2 * p->quiet * sizeof *p->anchor);
    p->between = rts_alloc(c, p->span * sizeof *p->between);
    p->hull = rts_alloc(c, 2 * p->quiet * sizeof *p->hull);
    p->below_ticks = rts_ns_to_ticks(BELOW_NS, rts_the_clock.hz);
    p->rec = rts_series(c, "", rts_the_clock.hz, p->below_ticks, false, NULL);
    if (!p->anchor || !p->between || !p->hull || !p->rec) {
        rts_unsupported(c, "no memory for the arrivals");
        return NULL;
    }
    uint64_t turn_ns = (uint64_t)SECOND_NS * (p->span + 2 * p->quiet) / (uint64_t)q->rate;
    if (3 * turn_ns > c->job.patience_ns)
        c->job.patience_ns = 3 * turn_ns;
    if (rts_event_open(&p->event, (int)q->source, (uint64_t)q->rate, &p->source)) {
        rts_unsupported(c, "source %s: %s", p->source.name, p->source.why);
        return NULL;
    }
    p->numbering.period = (double)rts_the_clock.hz / p->source.hz;
    return p;
}

static void report(rts_case *c, const phase *p)
{
    double ns = 1e9 / (double)rts_the_clock.hz, fits = p->fits ? (double)p->fits : 1;
    rts_table(c, "source of interrupts", "source\trate\tindependence\tstamped by");
    uint64_t mhz = (uint64_t)(p->source.hz * 1000 + 0.5);
    rts_row(c, "%s\t%llu.%.3u Hz\t%s\t%s", p->source.name, (unsigned long long)(mhz / 1000),
            (unsigned)(mhz % 1000), p->source.independence, p->source.stamped);
    rts_figure_add(c, "period against nominal", p->slopes / fits / p->numbering.period * 1e6,
                   "ppm");
    rts_count_add(c, "requests lost or merged", p->numbering.missing, "requests");
    rts_figure_add(c, "largest step, needs no phase", p->largest_step * ns, "ns");
    rts_count_add(c, "lines fitted", p->fits, "lines");
    rts_count_add(c, "more than 1 us below the line", p->lower, "samples");
}

static int run_phase(rts_case *c)
{
    phase *p = prepare(c);
    if (!p)
        return -1;
    int err = measure(p);
    rts_event_close(&p->event);
    rts_end(c, p->rec);
    report(c, p);
    return c->job.stop_requested ? 0 : err;
}

/* Dankwardt's masking time is bounded from above: the largest excess includes its maximum. */
static int run_irqsoff(rts_case *c)
{
    int err = run_phase(c);
    if (!err && c->series[0].rec->hist.n) {
        const rts_hist *h = &c->series[0].rec->hist;
        rts_figure_add(c, "bound, with the wake-up in it", rts_clock_ns((double)(h->max - h->min)),
                       "ns");
    }
    return err;
}

/* ---- a handler that reads its timer --------------------------------------------------------- */

typedef struct self_params {
    int64_t source, rate;
} self_params;

static const rts_param self_param[] = {
    RTS_CHOICE(self_params, source, RTS_EVENTS, 0, "timer that requests the interrupts"),
    RTS_INT(self_params, rate, "Hz", 1009, 1, 65536, "requests per second"),
    RTS_PARAMS_END,
};

static unsigned two_series(const rts_case *c)
{
    (void)c;
    return 2;
}

#ifdef RTS_IRQ_TIMER
/*
 * Activations that the port could not store while the task was busy have no sample; they are
 * counted.
 */
static int take_self(rts_case *c, rts_event *event, rts_rec *handler, rts_rec *task)
{
    uint64_t lost = 0;
    rts_rec_start(handler, rts_now());
    rts_rec_start(task, rts_now());
    while (handler->running && task->running) {
        rts_tick stamp;
        uint64_t count;
        int err = rts_event_wait(event, &stamp, &count);
        rts_tick now = rts_now();
        if (err)
            return rts_port_failed(c, "the source of interrupts ended", err);
        lost += count - 1;
        rts_rec_add(handler, rts_event_late(event), stamp);
        rts_rec_add(task, now - stamp, now);
    }
    rts_count_add(c, "requests lost", lost, "requests");
    return 0;
}

static int run_self(rts_case *c)
{
    const self_params *p = rts_params(c);
    rts_rec *handler = rts_series(c, "handler", rts_the_clock.hz, 0, false, NULL);
    rts_rec *task = rts_series(c, "task", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
    rts_event *event = rts_alloc(c, sizeof *event);
    rts_source source;
    if (!handler || !task || !event)
        return rts_unsupported(c, "no memory for the samples");
    if (rts_event_open(event, (int)p->source, (uint64_t)p->rate, &source))
        return rts_unsupported(c, "source %s: %s", source.name, source.why);
    int err = take_self(c, event, handler, task);
    rts_event_close(event);
    rts_end(c, handler);
    rts_table(c, "source of interrupts", "source\trate\tindependence");
    rts_row(c, "%s\t%u Hz\t%s", source.name, (unsigned)(source.hz + 0.5), source.independence);
    return err;
}
#else
static int run_self(rts_case *c)
{
    return rts_unsupported(c, "needs irq_timer: %s", rts_port_why_not(RTS_CAP_IRQ_TIMER));
}
#endif

/* ---- the table ------------------------------------------------------------------------------ */

#define PHASE_COMMON                                                                               \
    .params = latency_param, .needs = RTS_CAP_EVENT, .traits = RTS_OWN_SERIES, .samples = 1000000, \
    .warmup = 2, .time_ns = RTS_LIMIT(150 * SECOND_NS)

static const rts_bench benches[] = {
    {PHASE_COMMON, .id = "int.latency.phase",
     .title = RTS_SAY("Interrupt latency, unknown-phase method"),
     .source = RTS_SAY("Gutsalov, table 1 and figure 6"),
     .help = RTS_SAY("How far each activation lies above the line through the promptest ones: its "
                     "latency minus the minimum latency. The line is fitted to quiet intervals "
                     "before and after each span. A table says whether the source is independent "
                     "of the system's own timers, and what takes the time stamps."),
     .run = RTS_RUN(RTS_CAP_EVENT, run_phase)},
    {PHASE_COMMON, .id = "dk.irq_latency", .title = RTS_SAY("Interrupt latency"),
     .source = RTS_SAY("Dankwardt, part 1"),
     .help = RTS_SAY(
         "How much later than after the promptest requests an interrupt's handler starts, by "
         "the procedure of int.latency.phase; where a woken task takes the time stamp, its "
         "wake-up is included."),
     .run = RTS_RUN(RTS_CAP_EVENT, run_phase)},
    {PHASE_COMMON, .id = "dk.irqsoff",
     .title = RTS_SAY("Longest time with interrupts masked, an upper bound"),
     .source = RTS_SAY("Dankwardt, part 1"),
     .help = RTS_SAY("Bounded by the maximum minus the minimum latency of int.latency.phase; where "
                     "a woken task takes the time stamp, its wake-up is included. Actions that "
                     "provoke it, according to the source: scrolling a framebuffer, hdparm, "
                     "closing a block device, switching consoles."),
     .run = RTS_RUN(RTS_CAP_EVENT, run_irqsoff)},
    {.id = "int.latency.self",
     .title = RTS_SAY("Interrupt latency, absolute"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("`handler`: how far the timer's counter is past its compare value when the "
                     "first statement of its handler reads it. `task`: from there to the first "
                     "statement of the task that the handler wakes."),
     .params = self_param,
     .needs = RTS_CAP_IRQ_TIMER,
     .traits = RTS_OWN_SERIES,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 2,
     .series = two_series,
     .run = run_self},
};

RTS_BENCHES(benches);
