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

static void on_expiry(int signal, siginfo_t *info, void *context)
{
    last.stamp = realtime(); /* the first statement */
    (void)signal, (void)context;
    last.overruns = info->si_overrun;
    last.came = 1;
}

/* Directs the signal to this task alone: other threads of the process would accept it too. */
static int arm(rts_timer *t)
{
    struct sigevent event = {.sigev_signo = SIGRTMIN};
    posix_to_this_thread(&event);
    t->first = realtime() + LEAD_NS;
    const struct itimerspec when = {.it_value = posix_timespec(t->first),
                                    .it_interval = posix_timespec(t->period)};
    if (timer_create(CLOCK_REALTIME, &event, &t->id))
        return -errno;
    if (!timer_settime(t->id, TIMER_ABSTIME, &when, NULL))
        return 0;
    int err = -errno;
    timer_delete(t->id);
    return err;
}

int rts_timer_start(rts_timer *t, int kind, rts_tick period)
{
    sigset_t block;
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->period = period;
    if (kind == BY_SLEEP) {
        t->first = rts_time() + LEAD_NS;
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

/* The handler takes the stamp; sigsuspend() returns after it. */
static void wait_signal(rts_timer *t, rts_expiry *e)
{
    while (!last.came)
        sigsuspend(&t->mask);
    last.came = 0;
    e->stamp = last.stamp;
    e->overruns = (uint64_t)last.overruns;
}

static void wait_siginfo(rts_expiry *e)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    while (sigwaitinfo(&set, &info) < 0)
        ;
    e->stamp = realtime();
    e->overruns = (uint64_t)info.si_overrun;
}

static void wait_sleep(rts_timer *t, rts_expiry *e)
{
    rts_tick due = t->first + t->next * t->period;
    rts_sleep_until(due);
    e->stamp = rts_time();
    rts_tick late = e->stamp - due;
    e->overruns = late ? (late - 1) / t->period : 0;
}

void rts_timer_wait(rts_timer *t, rts_expiry *e)
{
    if (t->kind == BY_SIGNAL)
        wait_signal(t, e);
    else if (t->kind == BY_SIGWAITINFO)
        wait_siginfo(e);
    else
        wait_sleep(t, e);
    /* Overruns follow the expiration for which the signal was sent. */
    e->k = t->next;
    t->next += 1 + e->overruns;
}

void rts_timer_stop(rts_timer *t)
{
    static const struct timespec now = {0, 0};
    sigset_t set;
    if (t->kind == BY_SLEEP)
        return;
    timer_delete(t->id);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    while (sigtimedwait(&set, NULL, &now) > 0) /* nothing may reach the next measurement */
        ;
    signal(SIGRTMIN, SIG_DFL);
}
