/* dk.setitimer: time between successive expirations of an interval timer (Dankwardt, part 1). */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

typedef struct itimer_params {
    int64_t interval;
} itimer_params;

static const rts_param itimer_param[] = {
    RTS_DURATION(itimer_params, interval, 15000000, 100000, 1000 * SECOND_NS,
                 "interval of the timer, in whole microseconds"),
    RTS_PARAMS_END,
};

/* For the only case that this process runs. */
static volatile rts_tick stamp;
static volatile uint64_t expirations;

/* The stamp is the first statement executed after an expiration. */
static void on_alarm(int signal)
{
    stamp = rts_now();
    expirations++;
    (void)signal;
}

static int set_timer(int64_t interval_ns)
{
    struct timeval interval = {.tv_sec = (time_t)(interval_ns / SECOND_NS),
                               .tv_usec = (suseconds_t)(interval_ns % SECOND_NS / 1000)};
    struct itimerval timer = {.it_interval = interval, .it_value = interval};
    return setitimer(ITIMER_REAL, &timer, NULL) ? -errno : 0;
}

/*
 * The signal is blocked except during the wait, so that each wait sees one expiration. Timer
 * signals do not queue: merged expirations show in the time that has passed. Returns the time from
 * the first to the last.
 */
static rts_tick take_expirations(rts_rec *r, const sigset_t *open, rts_tick interval)
{
    rts_tick first = 0, last = rts_now();
    for (rts_rec_start(r, last); r->running;) {
        if (last + interval > r->deadline) {
            rts_series_expire(r, rts_now());
            break;
        }
        sigsuspend(open);
        rts_tick now = stamp;
        if (first)
            rts_rec_add(r, now - last, now);
        else
            first = now;
        last = now;
    }
    return first ? last - first : 0;
}

static void report(rts_case *c, const rts_rec *r, rts_tick interval, rts_tick elapsed)
{
    double tick_ns = 1e9 / (double)r->setup.hz;
    uint64_t due = (elapsed + interval / 2) / interval, came = expirations - (expirations > 0);
    if (r->hist.n) {
        double mean = (double)r->hist.sum / (double)r->hist.n;
        rts_figure_add(c, "mean - interval", (mean - (double)interval) * tick_ns, "ns");
        rts_figure_add(c, "min - interval", ((double)r->hist.min - (double)interval) * tick_ns,
                       "ns");
        rts_figure_add(c, "max - interval", ((double)r->hist.max - (double)interval) * tick_ns,
                       "ns");
    }
    rts_count_add(c, "signals", expirations, "signals");
    rts_figure_add(c, "expirations without a signal", (double)due - (double)came, "expirations");
}

static int run_setitimer(rts_case *c)
{
    const itimer_params *p = rts_params(c);
    struct sigaction act = {.sa_handler = on_alarm}, before;
    sigset_t alarm, open;
    rts_rec *r = rts_series(c, "", rts_the_clock.hz, 0, false, NULL);
    if (!r)
        return -1;
    if ((uint64_t)p->interval * 3 > c->job.patience_ns)
        c->job.patience_ns = (uint64_t)p->interval * 3;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &open);
    sigdelset(&open, SIGALRM);
    sigaction(SIGALRM, &act, &before);
    expirations = 0;
    int err = set_timer(p->interval);
    if (!err) {
        rts_tick interval = rts_ns_to_ticks((uint64_t)(p->interval / 1000 * 1000), r->setup.hz);
        rts_tick elapsed = take_expirations(r, &open, interval);
        rts_end(c, r);
        set_timer(0);
        report(c, r, interval, elapsed);
    }
    sigaction(SIGALRM, &before, NULL);
    return err ? rts_port_failed(c, "setitimer", err) : 0;
}

static const rts_bench benches[] = {
    {.id = "dk.setitimer",
     .title = RTS_SAY("Time between expirations of a timer"),
     .source = RTS_SAY("Dankwardt, part 1"),
     .help =
         RTS_SAY("An interval timer (ITIMER_REAL) of `interval`: from the first statement of the "
                 "handler of one "
                 "SIGALRM to that of the next. Use minimum, mean and maximum, which are exact."),
     .params = itimer_param,
     .needs = RTS_CAP_POSIX,
     .traits = RTS_OWN_SERIES,
     .samples = 1000,
     .warmup = 2,
     .run = run_setitimer},
};

RTS_BENCHES(benches);
