/* Periodic timers: a signal handler, waiting for a signal, or sleeping. */
#include <signal.h>
#include <string.h>

#include "posix.h"

enum { BY_SIGNAL, BY_SIGWAITINFO, BY_SLEEP };

#define LEAD_NS 10000000 /* before the first expiration */

static rts_tick realtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return posix_ns(now);
}

/* Written by the handler; there is one measuring task in a process. */
static struct {
    volatile rts_tick stamp;
    volatile int overruns;
    volatile sig_atomic_t came;
} last;

/* What does not come from the timer says that the clock was set (posix_wall_watch()). */
static void on_expiry(int signal, siginfo_t *info, void *context)
{
    last.stamp = realtime(); /* the first statement */
    (void)signal, (void)context;
    last.overruns = info->si_code == SI_TIMER ? info->si_overrun : -1;
    last.came = 1;
}

/* Sets the timer to expiration t->next, and to all that follow. */
static int set_timer(rts_timer *t)
{
    const struct itimerspec when = {.it_value = posix_timespec(t->first + t->next * t->period),
                                    .it_interval = posix_timespec(t->period)};
    return timer_settime(t->id, TIMER_ABSTIME, &when, NULL) ? -errno : 0;
}

/* Directs the signal to this task alone: other threads of the process would accept it too. */
static int arm(rts_timer *t)
{
    struct sigevent event = {.sigev_signo = SIGRTMIN};
    posix_to_this_thread(&event);
    if (timer_create(CLOCK_REALTIME, &event, &t->id))
        return -errno;
    t->first = realtime() + LEAD_NS;
    int err = posix_wall_open(&t->wall, SIGRTMIN);
    t->wall.time = t->first - t->wall.low;
    if (!err)
        err = set_timer(t);
    if (err)
        timer_delete(t->id);
    return err;
}

static void discard_signals(void)
{
    static const struct timespec now = {0, 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    while (sigtimedwait(&set, NULL, &now) > 0)
        ;
    last.came = 0;
}

/* Continues after the clock was set: expirations move with it. */
static void go_on(rts_timer *t)
{
    t->first += (rts_tick)t->wall.by;
    rts_tick now = realtime();
    while (t->first + t->next * t->period <= now)
        t->next++;
    set_timer(t);
    discard_signals(); /* of the timer as it was */
}

int rts_timer_start(rts_timer *t, int kind, rts_tick period)
{
    sigset_t block;
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->period = period;
    if (kind == BY_SLEEP) {
        t->first = t->wall.time = rts_time() + LEAD_NS;
        return 0;
    }
    struct sigaction action = {.sa_sigaction = on_expiry, .sa_flags = SA_SIGINFO};
    sigemptyset(&block);
    sigaddset(&block, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &block, &t->mask);
    sigdelset(&t->mask, SIGRTMIN);
    if (sigaction(SIGRTMIN, &action, NULL))
        return -errno;
    return arm(t);
}

/* The handler takes the stamp; sigsuspend() returns after it. Returns the overruns; -1: not due. */
static int wait_signal(rts_timer *t, rts_expiry *e)
{
    while (!last.came)
        sigsuspend(&t->mask);
    last.came = 0;
    e->stamp = last.stamp;
    return last.overruns;
}

static int wait_siginfo(rts_expiry *e)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    while (sigwaitinfo(&set, &info) < 0)
        ;
    e->stamp = realtime();
    return info.si_code == SI_TIMER ? info.si_overrun : -1;
}

static void wait_sleep(rts_timer *t, rts_expiry *e)
{
    rts_tick due = t->first + t->next * t->period;
    rts_sleep_until(due);
    e->stamp = rts_time();
    e->overruns = e->stamp > due ? (e->stamp - due - 1) / t->period : 0;
}

void rts_timer_wait(rts_timer *t, rts_expiry *e)
{
    int overruns = 0;
    e->set = false;
    if (t->kind == BY_SLEEP) {
        wait_sleep(t, e);
        t->wall.time = e->stamp;
    } else {
        do {
            overruns = t->kind == BY_SIGNAL ? wait_signal(t, e) : wait_siginfo(e);
            e->set = posix_wall_was_set(&t->wall);
        } while (overruns < 0 && !e->set); /* the clock was set, and that has been noticed */
        e->overruns = (uint64_t)overruns;
    }
    /* Before its time: the clock was set back after the expiration, and that will be noticed. */
    bool early = e->stamp < t->first + t->next * t->period;
    if (e->set || (early && t->kind != BY_SLEEP)) {
        e->set = true;
        go_on(t);
        return;
    }
    /* Overruns follow the expiration for which the signal was sent. */
    e->k = t->next;
    t->next += 1 + e->overruns;
}

void rts_timer_stop(rts_timer *t)
{
    if (t->kind == BY_SLEEP)
        return;
    timer_delete(t->id);
    posix_wall_close(&t->wall);
    discard_signals(); /* nothing may reach the next measurement */
    signal(SIGRTMIN, SIG_DFL);
}
