/* null, clk.*: the cost of reading the clock. */
#include "bench.h"

#define READS 1000000
#define SECOND_NS INT64_C(1000000000)

/* ---- null -------------------------------------------------------------------------------- */

/*
 * Not inlined, so that the loop has registers to spare: with it inlined, GCC for AArch64 put a move
 * of the first time stamp between the two reads.
 */
static __attribute__((noinline)) void record(rts_rec *r, rts_stamp a, rts_stamp b)
{
    rts_rec_span(r, a, b);
}

/* Two reads of the counter with nothing between them: the loop of every other bench, empty. */
static void read_pairs(rts_rec *r)
{
    for (rts_rec_start(r, rts_now()); r->running;) {
        rts_stamp a = rts_stamp_now();
        rts_stamp b = rts_stamp_now();
        record(r, a, b);
    }
}

static int run_null(rts_case *c)
{
    read_pairs(c->rec);
    return 0;
}

/* ---- clk.* ------------------------------------------------------------------------------- */

enum { COUNTER, TIME };

typedef struct clock_params {
    int64_t clock;
} clock_params;

static const rts_param clock_param[] = {
    RTS_CHOICE(clock_params, clock, "counter|time", COUNTER,
               "the counter that times all samples, or the clock that sleeps use"),
    RTS_PARAMS_END,
};

static bool uses_counter(const rts_case *c)
{
    const clock_params *p = rts_params(c);
    return p->clock == COUNTER;
}

/*
 * Opens the series of a bench that reads one of the two clocks; no overhead is subtracted from it.
 */
static rts_rec *clock_series(rts_case *c)
{
    return rts_series(c, "", uses_counter(c) ? rts_the_clock.hz : RTS_TIME_HZ, 0, false, NULL);
}

static int run_overhead(rts_case *c)
{
    rts_rec *r = clock_series(c);
    if (!r)
        return -1;
    if (uses_counter(c)) {
        read_pairs(r);
    } else {
        for (rts_rec_start(r, rts_time()); r->running;) {
            rts_tick a = rts_time();
            rts_tick b = rts_time();
            rts_rec_add(r, b - a, b);
        }
    }
    rts_end(c, r);
    return 0;
}

static rts_tick read_counter(void)
{
    return rts_now();
}

static rts_tick read_time(void)
{
    return rts_time();
}

/* Records every difference between consecutive readings; equal readings are counted separately. */
static int run_resolution(rts_case *c)
{
    rts_tick (*reading)(void) = uses_counter(c) ? read_counter : read_time;
    uint64_t hz = uses_counter(c) ? rts_the_clock.hz : RTS_TIME_HZ;
    rts_rec *r = clock_series(c);
    if (!r)
        return -1;
    uint64_t backwards = 0, equal = 0, rests = 0;
    rts_rec_start(r, reading()); /* may take a while: not a step of the clock */
    for (rts_tick last = reading(); r->running;) {
        rts_tick now = reading();
        if (now > last)
            rts_rec_add(r, now - last, now);
        else if (now == last)
            equal++;
        else
            backwards++;
        last = now;
        if (r->rests != rests) { /* a rest is not a step of the clock */
            rests = r->rests;
            last = reading();
        }
        /* A clock coarser than the loop still has to reach its time limit. */
        if (equal > 1000000000 || backwards > 1000)
            break;
    }
    rts_end(c, r);
    double tick_ns = 1e9 / (double)hz;
    rts_figure_add(c, "nominal resolution",
                   uses_counter(c) ? tick_ns : (double)rts_port_time_resolution_ns(), "ns");
    rts_figure_add(c, "smallest step", (double)r->hist.min * tick_ns, "ns");
    rts_figure_add(c, "granule", (double)rts_clock_granule(reading) * tick_ns, "ns");
    rts_count_add(c, "equal readings", equal, "readings");
    rts_count_add(c, "backward steps", backwards, "steps");
    if (backwards)
        return rts_failed(c, "the clock went backwards %llu times", (unsigned long long)backwards);
    return 0;
}

static const rts_bench benches[] = {
    {.id = "null",
     .title = RTS_SAY("Nothing between two time stamps"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("Two reads of the clock with nothing between them, net of the clock's "
                     "overhead: the error of the instrument itself."),
     .traits = RTS_RESTS,
     .samples = 100000,
     .warmup = 1000,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_null},
    {.id = "clk.overhead",
     .title = RTS_SAY("Cost of reading the clock"),
     .source = RTS_SAY("Gutsalov, figures 2-4"),
     .metric = "clocks and timers",
     .help =
         RTS_SAY("Two back-to-back reads of the clock. The minimum is subtracted from every sample "
                 "of the other benches; the maximum shows how long something else had the CPU."),
     .params = clock_param,
     .traits = RTS_RESTS | RTS_OWN_SERIES,
     .samples = READS,
     .warmup = 1000,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_overhead},
    {.id = "clk.resolution",
     .title = RTS_SAY("Resolution of the clock"),
     .source = RTS_SAY("rtstone, after Sjöblom's rule that no interval may be shorter than the "
                       "resolution of the clock"),
     .metric = "clocks and timers",
     .help = RTS_SAY(
         "Differences between consecutive readings: nominal resolution, smallest step, the granule "
         "by which the clock advances, and backward steps, of which there must be none."),
     .params = clock_param,
     .traits = RTS_RESTS | RTS_OWN_SERIES,
     .samples = READS,
     .warmup = 1000,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_resolution},
};

RTS_BENCHES(benches);
