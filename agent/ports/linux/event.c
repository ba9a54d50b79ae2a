/* Periodic hardware events, as far as user programs have access to them. */
#include <linux/hpet.h>
#include <linux/rtc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include "posix.h"

enum { BEST, HPET, RTC, TIMERFD };

#define WOKEN "a woken task"

/*
 * Opens a comparator of the HPET that the kernel does not use: it requests interrupts by a clock of
 * its own. Rates above 64 Hz require CAP_SYS_RESOURCE, or a higher dev.hpet.max-user-freq.
 */
static int open_hpet(rts_event *e, uint64_t hz, rts_source *s)
{
    struct hpet_info info;
    s->name = "hpet";
    s->independence = "independent";
    s->why =
        "no /dev/hpet, or it may not be read: a kernel with CONFIG_HPET on a board that has one";
    e->fd = open("/dev/hpet", O_RDONLY | O_CLOEXEC);
    if (e->fd < 0)
        return -errno;
    s->why = "the HPET refuses that rate: dev.hpet.max-user-freq, or CAP_SYS_RESOURCE";
    if (ioctl(e->fd, HPET_IRQFREQ, (unsigned long)hz) == 0 && ioctl(e->fd, HPET_INFO, &info) == 0) {
        s->hz = (double)info.hi_ireqfreq;
        s->why = "the HPET has no periodic comparator to spare";
        if (ioctl(e->fd, HPET_EPI, 0) == 0 && ioctl(e->fd, HPET_IE_ON, 0) == 0)
            return 0;
    }
    int err = -errno;
    close(e->fd);
    return err;
}

/* Since Linux 2.6.38 the kernel emulates these interrupts with a timer of its own (hrtimer). */
static int open_rtc(rts_event *e, uint64_t hz, rts_source *s)
{
    s->name = "rtc";
    s->independence = "dependent: the kernel makes it from a timer of its own";
    s->why = "no /dev/rtc0, or it may not be read";
    e->fd = open("/dev/rtc0", O_RDONLY | O_CLOEXEC);
    if (e->fd < 0)
        return -errno;
    s->why = "the RTC refuses that rate: a power of two up to 8192, beyond "
             "dev.rtc.max-user-freq with CAP_SYS_RESOURCE";
    s->hz = (double)hz;
    if (ioctl(e->fd, RTC_IRQP_SET, (unsigned long)hz) == 0 && ioctl(e->fd, RTC_PIE_ON, 0) == 0)
        return 0;
    int err = -errno;
    close(e->fd);
    return err;
}

static int open_timerfd(rts_event *e, uint64_t hz, rts_source *s)
{
    long period = (long)((RTS_TIME_HZ + hz / 2) / hz);
    struct itimerspec when = {
        .it_interval = {.tv_sec = period / 1000000000, .tv_nsec = period % 1000000000},
        .it_value = {.tv_nsec = 10000000}};
    s->name = "timerfd";
    s->independence = "dependent: a timer of the scheduler";
    s->why = "no timer of the kernel";
    s->hz = 1e9 / (double)period;
    e->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (e->fd < 0)
        return -errno;
    if (timerfd_settime(e->fd, 0, &when, NULL) == 0)
        return 0;
    int err = -errno;
    close(e->fd);
    return err;
}

int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *properties)
{
    *properties = (rts_source){.stamped = WOKEN};
    event->fd = -1;
    event->shift = source == RTC ? 8 : 0; /* the bits below the count are the kind of interrupt */
    switch (source) {
    case BEST:
        return open_hpet(event, hz, properties) ? open_timerfd(event, hz, properties) : 0;
    case HPET:
        return open_hpet(event, hz, properties);
    case RTC:
        return open_rtc(event, hz, properties);
    default:
        return open_timerfd(event, hz, properties);
    }
}

int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count)
{
    union {
        uint64_t expirations; /* of a timerfd */
        unsigned long data;   /* of the other sources */
    } reading = {0};
    ssize_t n = read(event->fd, &reading, sizeof reading);
    *stamp = rts_now();
    if (n < 0)
        return -errno;
    *count = (n == sizeof reading.expirations ? reading.expirations : reading.data) >> event->shift;
    return 0;
}

/*
 * Closing stops the interrupts. The kernel waits for a running handler, and on PREEMPT_RT does so
 * without releasing the CPU: a task of real-time priority would keep the handler's thread from
 * running, and so wait forever.
 */
void rts_event_close(rts_event *event)
{
    struct sched_param own, other = {0};
    int policy;
    bool urgent = pthread_getschedparam(pthread_self(), &policy, &own) == 0 &&
                  policy != SCHED_OTHER &&
                  pthread_setschedparam(pthread_self(), SCHED_OTHER, &other) == 0;
    close(event->fd);
    if (urgent)
        pthread_setschedparam(pthread_self(), policy, &own);
}
