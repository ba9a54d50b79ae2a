/* grow.*: timers, and the wake-up of a task beside what any user can make. */
#include <semaphore.h>
#include <sys/timerfd.h>
#include <time.h>

#include "grow.h"

#define LATER 100 /* s after which timers expire that are only armed */
#define ARMED 5   /* s within which what is due together has to be prepared */

static int timerfds[GROW_MAX + 1];
static timer_t timers[GROW_MAX + 1];

/* Returns a time between LATER and 11 times that from now: the same sequence in every case. */
static struct itimerspec later(uint32_t *random)
{
    *random = (uint32_t)((uint64_t)*random * 16807 % 2147483647);
    return (struct itimerspec){
        .it_value = {.tv_sec = LATER + *random % 1000, .tv_nsec = *random % 1000000}};
}

static uint32_t sequence = 123;

/* ---- timers ---------------------------------------------------------------------------------- */

/* A timer that only counts (SIGEV_NONE) is not queued in the kernel: these send a signal. */
static int make_timers(rts_case *c, int n)
{
    struct sigevent expiry = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    sigset_t expired;
    sigemptyset(&expired);
    sigaddset(&expired, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &expired, NULL);
    for (int i = 0; i < n; i++)
        if (timer_create(CLOCK_MONOTONIC, &expiry, &timers[i]))
            return grow_refused(c, "POSIX timers (ulimit -i)", i);
    return 0;
}

static int armed_timers(rts_case *c, int n)
{
    if (make_timers(c, n + 1))
        return -1;
    for (int i = 0; i < n; i++) {
        struct itimerspec when = later(&sequence);
        timer_settime(timers[i], 0, &when, NULL);
    }
    return 0;
}

static int make_timerfds(rts_case *c, int n)
{
    for (int i = 0; i < n; i++)
        if ((timerfds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) < 0)
            return grow_refused(c, "timer descriptors", i);
    return 0;
}

static int armed_timerfds(rts_case *c, int n)
{
    if (make_timerfds(c, n + 1))
        return -1;
    for (int i = 0; i < n; i++) {
        struct itimerspec when = later(&sequence);
        timerfd_settime(timerfds[i], 0, &when, NULL);
    }
    return 0;
}

static bool arm_timer(int n, grow_span *span)
{
    struct itimerspec when = later(&sequence), off = {0};
    int err;
    GROW_TIME(span, err = timer_settime(timers[n], 0, &when, NULL));
    return !err && !timer_settime(timers[n], 0, &off, NULL);
}

static bool create_timer(int n, grow_span *span)
{
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    int err;
    (void)n;
    GROW_TIME(span, err = timer_create(CLOCK_MONOTONIC, &none, &timer));
    return !err && !timer_delete(timer);
}

static bool arm_timerfd(int n, grow_span *span)
{
    struct itimerspec when = later(&sequence), off = {0};
    int err;
    GROW_TIME(span, err = timerfd_settime(timerfds[n], 0, &when, NULL));
    return !err && !timerfd_settime(timerfds[n], 0, &off, NULL);
}

/* ---- wake-ups -------------------------------------------------------------------------------- */

/*
 * A thing beside which a task wakes up at `at`. Where it is due at the same moment, `arm` prepares
 * that, for each sample; it takes at most `each` ns for each of them.
 */
typedef struct neighbours {
    grow_thing *grow;
    void (*arm)(int n, rts_tick at);
    rts_tick each;
    rts_tick after; /* ns that each of them runs after the wake-up */
} neighbours;

static void arm_timerfds(int n, rts_tick at)
{
    struct itimerspec when = {.it_value = posix_timespec(at)};
    for (int i = 0; i < n; i++)
        timerfd_settime(timerfds[i], TFD_TIMER_ABSTIME, &when, NULL);
}

static void arm_timers(int n, rts_tick at)
{
    struct itimerspec when = {.it_value = posix_timespec(at)};
    for (int i = 0; i < n; i++)
        timer_settime(timers[i], TIMER_ABSTIME, &when, NULL);
}

/* Time-sharing threads that sleep until a time that the case gives. */
static sem_t round_begin;
static _Atomic rts_tick due;
static atomic_int sleeping;

static void *sleep_until_due(void *arg)
{
    for (;;) {
        while (sem_wait(&round_begin))
            ;
        struct timespec at = posix_timespec(atomic_load(&due));
        atomic_fetch_add(&sleeping, 1);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    return arg;
}

static int sleepers(rts_case *c, int n)
{
    sem_init(&round_begin, 0, 0);
    return grow_threads(c, n, RTS_OTHER, sleep_until_due);
}

/* If the time does not suffice, some are not asleep: armed() says so. */
static void send_to_sleep(int n, rts_tick at)
{
    atomic_store(&due, at);
    atomic_store(&sleeping, 0);
    for (int i = 0; i < n; i++)
        sem_post(&round_begin);
    rts_sleep_until(at - RTS_TIME_HZ / 500);
}

static void *be_ready(void *arg)
{
    for (;;)
        RTS_BARRIER();
    return arg;
}

static int ready_sharing(rts_case *c, int n)
{
    int err = grow_threads(c, n, RTS_OTHER, be_ready);
    rts_sleep_until(rts_time() + RTS_TIME_HZ / 20);
    return err;
}

/* In the order of the choices of `over`. */
static const neighbours neighbours_of[] = {
    {armed_timerfds, NULL, 0, 0},        {make_timerfds, arm_timerfds, 60000, 0},
    {make_timers, arm_timers, 60000, 0}, {sleepers, send_to_sleep, 250000, 100000},
    {ready_sharing, NULL, 0, 0},
};

/* Returns whether all n are due at `at`, which is still to come. */
static bool armed(const neighbours *beside, int n, rts_tick at)
{
    return rts_time() < at && (beside->arm != send_to_sleep || atomic_load(&sleeping) == n);
}

/*
 * Has the neighbours due at the moment that it returns, *lead from now; 0: the case has failed.
 * Where the time does not suffice, as on a busy machine, it is doubled: before a sample is taken,
 * which is never taken twice.
 */
static rts_tick prepare_wakeup(rts_case *c, const neighbours *beside, int n, rts_tick *lead)
{
    const rts_tick end = rts_time() + ARMED * RTS_TIME_HZ;
    for (;; *lead *= 2) {
        rts_tick at = rts_time() + *lead;
        if (beside->arm)
            beside->arm(n, at);
        if (!beside->arm || armed(beside, n, at))
            return at;
        while (beside->arm == send_to_sleep && atomic_load(&sleeping) < n && rts_time() < end)
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 1000);
        rts_sleep_until(at + (rts_tick)n * beside->each);
        if (rts_time() >= end) {
            rts_failed(c, "the %d neighbours were not prepared within %d s", n, ARMED);
            return 0;
        }
    }
}

static int run_wakeup(rts_case *c)
{
    const grow_params *p = rts_params(c);
    const neighbours *beside = &neighbours_of[p->over];
    const int n = (int)p->n;
    rts_tick lead = 5 * (RTS_TIME_HZ / 1000) + (rts_tick)n * beside->each;
    rts_rec *r = rts_series(c, "", RTS_TIME_HZ, 0, false, NULL);
    if (!r)
        return -1;
    grow_limits(c);
    if (beside->grow(c, n))
        return -1;
    rts_rec_start(r, rts_time());
    while (r->running) {
        rts_tick at = prepare_wakeup(c, beside, n, &lead);
        if (!at)
            return -1;
        rts_sleep_until(at);
        rts_tick now = rts_time();
        rts_rec_add(r, now - at, now);
        rts_sleep_until(rts_time() + RTS_TIME_HZ / 1000 + (rts_tick)n * beside->after);
    }
    rts_end(c, r);
    return 0;
}

/* ---- benches --------------------------------------------------------------------------------- */

GROW_RUN(run_arm_timer, arm_timer, armed_timers)
GROW_RUN(run_create_timer, create_timer, armed_timers)
GROW_RUN(run_arm_timerfd, arm_timerfd, armed_timerfds)

GROW_PARAMS(timer_param, GROW_MAX, "armed-timers", "POSIX timers that expire later");
GROW_PARAMS(timerfd_param, GROW_MAX, "armed-timerfds", "timer descriptors that expire later");
GROW_PARAMS(user_param, GROW_MAX,
            "armed-timerfds|timerfds-due-together|timers-due-together|"
            "time-sharing-sleepers-due-together|ready-time-sharing-tasks",
            "what any user can make: timers that expire later or at the same moment, time-sharing "
            "tasks that wake up then or are ready");

static const rts_bench benches[] = {
    {GROW_COMMON, .id = "grow.timer.arm", .title = RTS_SAY("timer_settime"),
     .help = RTS_SAY("Duration of timer_settime that arms a POSIX timer."), .params = timer_param,
     .run = run_arm_timer},
    {GROW_COMMON, .id = "grow.timer.create", .title = RTS_SAY("timer_create"),
     .help = RTS_SAY("Duration of timer_create."), .params = timer_param, .run = run_create_timer},
    {GROW_COMMON, .id = "grow.timerfd.arm", .title = RTS_SAY("timerfd_settime"),
     .help = RTS_SAY("Duration of timerfd_settime that arms a timer descriptor."),
     .params = timerfd_param, .run = run_arm_timerfd},
    {.id = "grow.wakeup.user",
     .title = RTS_SAY("wake-up"),
     .source = RTS_SAY("procedure of rtstone"),
     .help = RTS_SAY("How late a task wakes up from a sleep until an absolute time, beside what an "
                     "unprivileged process can make. Where this grows, any user can delay the most "
                     "urgent task."),
     .params = user_param,
     .needs = RTS_CAP_POSIX | RTS_CAP_PRIORITIES,
     .traits = RTS_OWN_SERIES,
     .slope_over = "n",
     .samples = 15,
     .warmup = 5,
     .time_ns = RTS_LIMIT(60 * SECOND_NS),
     .run = run_wakeup},
};

RTS_BENCHES(benches);
