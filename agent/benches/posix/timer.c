/* posix.timer.*: timers, sleeping, and the cost of the system's clocks. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "lateness.h"

#define GROUP "clocks and timers"

typedef struct timer_params {
    int64_t clock, delay;
} timer_params;

static const rts_param clock_param[] = {
    RTS_CHOICE(timer_params, clock, "realtime|monotonic|process_cputime|thread_cputime", 0,
               "which clock: CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID or "
               "CLOCK_THREAD_CPUTIME_ID"),
    RTS_PARAMS_END,
};

static const rts_param expiry_param[] = {
    RTS_DURATION(timer_params, delay, 1000000, 10000, SECOND_NS, "time to the expiration"),
    RTS_PARAMS_END,
};

/* ---- timers ---------------------------------------------------------------------------------- */

static const struct itimerspec far = {.it_value = {.tv_sec = 3600}}, never;

/* Timers send a signal that the case's task blocks. */
static void block_signal(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

static struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL};

static void delete_timers(const timer_t *row, uint64_t n)
{
    while (n > 0)
        timer_delete(row[--n]);
}

static int cannot_create(rts_case *c, int error)
{
    if (error == EAGAIN)
        return rts_unsupported(c, "%llu timers cannot be had at once (ulimit -i)",
                               (unsigned long long)c->batch);
    return rts_port_failed(c, "cannot create a timer", error);
}

/* Allocates the timers of one sample, and a harmless signal for them. */
static timer_t *timer_row(rts_case *c)
{
    sigset_t set;
    timer_t *row = rts_malloc(c->batch * sizeof *row);
    if (!row)
        rts_failed(c, "no memory for %llu timers", (unsigned long long)c->batch);
    by_signal.sigev_signo = SIGRTMIN;
    block_signal(&set);
    return row;
}

/* Creates all timers; returns 0, or an error after which none are left. */
static int create_timers(const rts_case *c, timer_t *row)
{
    for (unsigned i = 0; i < c->batch; i++)
        if (timer_create(CLOCK_MONOTONIC, &by_signal, &row[i])) {
            int error = errno;
            delete_timers(row, i);
            return error;
        }
    return 0;
}

static int run_create(rts_case *c)
{
    timer_t *row = timer_row(c);
    bool all = true;
    int error = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        uint64_t created = 0;
        RTS_TIMED(c, created += !timer_create(CLOCK_MONOTONIC, &by_signal, &row[created]));
        error = errno;
        all = created == c->batch;
        delete_timers(row, created);
        if (!all)
            break;
    }
    rts_free(row);
    return all ? 0 : cannot_create(c, error);
}

static int run_delete(rts_case *c)
{
    timer_t *row = timer_row(c);
    int error = 0, bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        error = create_timers(c, row);
        if (error)
            break;
        const timer_t *t = row;
        RTS_TIMED(c, bad |= timer_delete(*t++));
    }
    rts_free(row);
    if (error)
        return cannot_create(c, error);
    return bad ? rts_failed(c, "a timer could not be deleted") : 0;
}

static bool is_armed(timer_t timer)
{
    struct itimerspec left;
    return timer_gettime(timer, &left) == 0 && (left.it_value.tv_sec || left.it_value.tv_nsec);
}

static void set_all(const rts_case *c, const timer_t *row, const struct itimerspec *value)
{
    for (unsigned i = 0; i < c->batch; i++)
        timer_settime(row[i], 0, value, NULL);
}

/* Changes the setting of timers from `before` to `after`. */
static int run_set(rts_case *c, const struct itimerspec *before, const struct itimerspec *after)
{
    timer_t *row = timer_row(c);
    uint64_t wrong = 0;
    if (!row)
        return -1;
    int error = create_timers(c, row);
    if (error) {
        rts_free(row);
        return cannot_create(c, error);
    }
    RTS_SAMPLES(c) {
        set_all(c, row, before);
        const timer_t *t = row;
        wrong += is_armed(*t) != (before == &far);
        RTS_TIMED(c, timer_settime(*t++, 0, after, NULL));
        wrong += is_armed(row[c->batch - 1]) != (after == &far);
    }
    delete_timers(row, c->batch);
    rts_free(row);
    return wrong ? rts_failed(c, "a timer was not as it was set") : 0;
}

static int run_arm(rts_case *c)
{
    return run_set(c, &never, &far);
}

static int run_disarm(rts_case *c)
{
    return run_set(c, &far, &never);
}

static int run_left(rts_case *c)
{
    timer_t timer;
    struct itimerspec left;
    uint64_t wrong = 0;
    sigset_t set;
    block_signal(&set);
    by_signal.sigev_signo = SIGRTMIN;
    if (timer_create(CLOCK_MONOTONIC, &by_signal, &timer))
        return cannot_create(c, errno);
    timer_settime(timer, 0, &far, NULL);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, timer_gettime(timer, &left));
        wrong += left.it_value.tv_sec >= far.it_value.tv_sec || left.it_value.tv_sec <= 0;
    }
    timer_delete(timer);
    return wrong ? rts_failed(c, "a timer did not run down from what it was set to") : 0;
}

static int run_expiry(rts_case *c)
{
    const timer_params *p = rts_params(c);
    uint64_t early = 0, overruns = 0, sent = 0;
    siginfo_t info;
    sigset_t set;
    timer_t timer;
    rts_rec *r = lateness_series(c);
    if (!r)
        return -1;
    block_signal(&set);
    by_signal.sigev_signo = SIGRTMIN;
    if (timer_create(CLOCK_MONOTONIC, &by_signal, &timer))
        return cannot_create(c, errno);
    for (rts_rec_start(r, rts_time()); r->running;) {
        rts_tick due = rts_time() + (rts_tick)p->delay;
        struct itimerspec once = {.it_value = posix_timespec(due)};
        timer_settime(timer, TIMER_ABSTIME, &once, NULL);
        while (sigwaitinfo(&set, &info) < 0)
            ;
        rts_tick now = rts_time();
        sent++;
        overruns += (uint64_t)timer_getoverrun(timer);
        lateness_add(r, due, now, &early);
    }
    rts_end(c, r);
    timer_delete(timer);
    rts_count_add(c, "signals received", sent, "signals");
    rts_count_add(c, "overruns", overruns, "expiries");
    rts_count_add(c, "expired before its time", early, "expiries");
    return 0;
}

/* ---- clocks and sleep ------------------------------------------------------------------------ */

static clockid_t clock_of(const rts_case *c)
{
    static const clockid_t ids[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                    CLOCK_THREAD_CPUTIME_ID};
    const timer_params *p = rts_params(c);
    return ids[p->clock];
}

static int run_getres(rts_case *c)
{
    clockid_t clock = clock_of(c);
    struct timespec step = {0};
    int bad = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, bad |= clock_getres(clock, &step));
    }
    if (bad)
        return rts_unsupported(c, "this system has no such clock");
    rts_figure_add(c, "resolution", (double)step.tv_sec * 1e9 + (double)step.tv_nsec, "ns");
    return 0;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static int run_gettime(rts_case *c)
{
    clockid_t clock = clock_of(c);
    struct timespec now = {0}, last = {0};
    uint64_t backwards = 0;
    int bad = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, bad |= clock_gettime(clock, &now));
        backwards += is_before(&now, &last);
        last = now;
    }
    if (bad)
        return rts_unsupported(c, "this system has no such clock");
    rts_count_add(c, "backward steps", backwards, "steps");
    return 0;
}

static int run_nanosleep(rts_case *c)
{
    const struct timespec shortest = {.tv_nsec = 1};
    uint64_t interrupted = 0;
    RTS_SAMPLES(c) {
        rts_tick a = rts_now();
        int err = nanosleep(&shortest, NULL);
        rts_tick b = rts_now();
        interrupted += err != 0;
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "sleeps interrupted", interrupted, "sleeps");
    return 0;
}

#define NEEDS_SIGNALS (RTS_CAP_POSIX | RTS_CAP_SIGNALS)

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.timer.create", .metric = GROUP, .title = RTS_SAY("Create a timer"),
     .help = RTS_SAY("Duration of timer_create on CLOCK_MONOTONIC, with notification by a signal."),
     .needs = NEEDS_SIGNALS, .traits = ALONE, .run = run_create},
    {METRIC_COMMON, .id = "posix.timer.delete", .metric = GROUP, .title = RTS_SAY("Delete a timer"),
     .help = RTS_SAY("Duration of timer_delete of a timer that is not armed."),
     .needs = NEEDS_SIGNALS, .traits = ALONE, .run = run_delete},
    {METRIC_COMMON, .id = "posix.timer.arm", .metric = GROUP, .title = RTS_SAY("Arm a timer"),
     .help = RTS_SAY("Duration of timer_settime that arms a timer to expire in an hour."),
     .needs = NEEDS_SIGNALS, .traits = ALONE, .run = run_arm},
    {METRIC_COMMON, .id = "posix.timer.disarm", .metric = GROUP, .title = RTS_SAY("Disarm a timer"),
     .help = RTS_SAY("Duration of timer_settime that disarms a timer."), .needs = NEEDS_SIGNALS,
     .traits = ALONE, .run = run_disarm},
    {METRIC_COMMON, .id = "posix.timer.left", .metric = GROUP,
     .title = RTS_SAY("Get the remaining time of a timer"),
     .help = RTS_SAY("Duration of timer_gettime of a timer that is armed."), .needs = NEEDS_SIGNALS,
     .traits = ALONE, .run = run_left},
    {METRIC_COMMON, .id = "posix.timer.expiry", .metric = GROUP,
     .title = RTS_SAY("Expiration of a one-shot timer"),
     .help = RTS_SAY("How late the signal of a timer, armed once for an absolute time, is "
                     "accepted: from that time to the clock reading after sigwaitinfo. The timer "
                     "is armed again for each expiration; det.timer_jitter has a periodic timer."),
     .params = expiry_param, .needs = NEEDS_SIGNALS, .traits = RTS_OWN_SERIES, .run = run_expiry},
    {METRIC_COMMON, .id = "posix.timer.getres", .metric = GROUP,
     .title = RTS_SAY("Get the resolution of a clock"),
     .help = RTS_SAY("Duration of clock_getres."), .params = clock_param, .needs = RTS_CAP_POSIX,
     .traits = ALONE, .run = run_getres},
    {METRIC_COMMON, .id = "posix.timer.gettime", .metric = GROUP, .title = RTS_SAY("Read a clock"),
     .help = RTS_SAY("Duration of clock_gettime, which need not enter the kernel."),
     .params = clock_param, .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_gettime},
    {METRIC_COMMON, .id = "posix.timer.nanosleep", .metric = GROUP,
     .title = RTS_SAY("The shortest possible sleep"),
     .help = RTS_SAY("Duration of nanosleep of 1 ns."), .needs = RTS_CAP_POSIX, .traits = RTS_RESTS,
     .run = run_nanosleep},
};

RTS_BENCHES(benches);
