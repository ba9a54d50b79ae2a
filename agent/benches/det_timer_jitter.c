/* det.timer_jitter: lateness of a periodic timer of the system (Obenland, figure 5). */
#include "periodic.h"
#include "phase.h"

#define SECOND_NS INT64_C(1000000000)
/* The line is fitted below the first expirations, at most this many. */
#define EXPIRIES (RTS_STATE_BYTES < (1u << 20) ? RTS_STATE_BYTES / 40 : 32768u)

typedef struct jitter_params {
    int64_t period, by;
} jitter_params;

static const rts_param jitter_param[] = {
    RTS_DURATION(jitter_params, period, 1000000, 50000, 3600 * SECOND_NS,
                 "time between two expirations"),
    RTS_CHOICE(jitter_params, by, RTS_TIMERS, 0,
               "how the task is notified: by signal and sigwaitinfo from a POSIX timer of "
               "CLOCK_REALTIME, which may be set meanwhile: wake-ups at which it was are counted, "
               "and are no samples; or by sleeping until an absolute time"),
    RTS_PARAMS_END,
};

/* The expirations that the trend is fitted to. */
typedef struct expiries {
    uint64_t n;
    rts_arrival at[EXPIRIES];
    uint32_t hull[EXPIRIES];
} expiries;

/* Adds the drift as a figure. Late expirations do not move the line below all of them (phase.h). */
static void add_trend(rts_case *c, expiries *k, rts_tick first, rts_tick period)
{
    double above = 0, resolution = (double)rts_port_time_resolution_ns();
    rts_line line;
    if (!rts_phase_fit(k->at, k->n, (double)period, k->hull, &line))
        return;
    for (uint64_t i = 0; i < k->n; i++) {
        double late = (double)(int64_t)(k->at[i].m - first - k->at[i].k * period);
        double rest = late - line.slope * (double)(k->at[i].k - k->at[0].k);
        above = rest > above ? rest : above;
    }
    rts_figure_add(c, "drift", line.slope / (double)period * 1e6, "ppm");
    rts_figure_add(c, "largest, without drift", above * 1e9 / RTS_TIME_HZ, "ns");
    double period_ns = (double)period * 1e9 / RTS_TIME_HZ;
    if (period_ns < resolution)
        rts_figure_add(c, "clock resolution / period", resolution / period_ns, "");
}

#ifdef RTS_TIMERS_WALL
/* Returns the time, by the clock that the series follows, whatever the timer follows. */
static rts_tick time_of(const rts_timer *timer, rts_tick stamp)
{
    (void)stamp;
    return timer->wall.time;
}

static bool is_set(const rts_expiry *expiry)
{
    return expiry->set;
}
#else
static rts_tick time_of(const rts_timer *timer, rts_tick stamp)
{
    (void)timer;
    return stamp;
}

static bool is_set(const rts_expiry *expiry)
{
    (void)expiry;
    return false;
}
#endif

/*
 * Records expiration k, which is due at first + k period; merged expirations count as missed.
 * Returns at how many the clock was set, which are neither.
 */
static uint64_t take(rts_case *c, rts_rec *rec, rts_hist *omitted, rts_timer *timer, expiries *k)
{
    const rts_tick first = timer->first;
    uint64_t set = 0;
    rts_tick due = time_of(timer, first); /* the next, by the clock of the series */
    for (rts_rec_start(rec, due); rec->running;) {
        rts_expiry now;
        if (due > rec->deadline) {
            rts_series_expire(rec, rts_time());
            break;
        }
        rts_timer_wait(timer, &now);
        rts_tick time = time_of(timer, now.stamp);
        if (is_set(&now)) {
            set++;
            due = time + timer->period;
            rts_rec_look(rec, time);
            continue;
        }
        due = time + (timer->first + timer->next * timer->period - now.stamp);
        rts_tick late = now.stamp - (timer->first + now.k * timer->period);
        if ((int64_t)late < 0) {
            periodic_early(rec, time);
            continue;
        }
        if (!rec->warm) {
            rts_rec_omit(rec, now.overruns);
            for (uint64_t i = 1; i <= now.overruns; i++)
                rts_hist_add(omitted, late - i * timer->period);
            if (k->n < EXPIRIES)
                k->at[k->n++] = (rts_arrival){now.k, first + now.k * timer->period + late};
        }
        rts_rec_add(rec, late, time);
    }
    rts_end(c, rec);
    return set;
}

static int run_jitter(rts_case *c)
{
    const jitter_params *p = rts_params(c);
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    rts_hist *omitted;
    rts_rec *rec = rts_series(c, "", RTS_TIME_HZ, 0, true, &omitted);
    expiries *k = rts_alloc(c, sizeof *k);
    rts_timer timer;
    if (!rec || !k)
        return rts_unsupported(c, "no memory for the expirations");
    if ((uint64_t)p->period * 3 > c->job.patience_ns)
        c->job.patience_ns = (uint64_t)p->period * 3;
    int err = rts_timer_start(&timer, (int)p->by, period);
    if (err)
        return rts_port_failed(c, "cannot start the timer", err);
    rts_tick first = timer.first;
    uint64_t set = take(c, rec, omitted, &timer, k);
    rts_timer_stop(&timer);
    if (periodic_check(c, rec))
        return -1;
    add_trend(c, k, first, period);
#ifdef RTS_TIMERS_WALL
    rts_count_add(c, "wake-ups at which the clock was set", (int64_t)set, "");
#else
    (void)set;
#endif
    return 0;
}

static const rts_bench benches[] = {
    {.id = "det.timer_jitter",
     .title = RTS_SAY("Jitter of a periodic timer"),
     .source = RTS_SAY("Obenland, figure 5"),
     .help = RTS_SAY(
         "A timer is set to an absolute first expiration and an interval; the sample is how late "
         "the first statement after each expiration runs. Expirations that were merged into one "
         "count as missed. The figures include the drift, fitted to the first 32768 of them at "
         "most."),
     .metric = "clocks and timers",
     .params = jitter_param,
     .traits = RTS_OWN_SERIES | RTS_OMITTED,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 2,
     .time_ns = 0,
     .run = run_jitter},
};

RTS_BENCHES(benches);
