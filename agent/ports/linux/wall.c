/* Whom to wake when the wall clock is set: the kernel cancels a timer for it. */
#include <signal.h>
#include <sys/timerfd.h>

#include "linux.h"

#define AGAIN_NS 10000000 /* between two signals, until the task has looked */
#define STACK (64u << 10)

static int set(int fd, time_t when)
{
    const struct itimerspec at = {.it_value.tv_sec = when};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, NULL) ? -errno : 0;
}

/* Sets the timer to a time that never comes. */
static int set_never(int fd)
{
    int err = set(fd, (time_t)1 << 40);
    return err == -EOVERFLOW ? set(fd, INT32_MAX) : err; /* Linux before 5.1, 32 bits */
}

/* A signal may come before the task waits: it is sent again until the task has looked. */
static void wake(posix_wall *wall)
{
    unsigned looks = wall->looks;
    wall->seen = true;
    while (!wall->over && wall->looks == looks) {
        pthread_kill(wall->task, wall->signal);
        rts_sleep_until(rts_time() + AGAIN_NS);
    }
}

static void *watch(void *arg)
{
    posix_wall *wall = arg;
    uint64_t expirations;
    while (!wall->over)
        if (read(wall->fd, &expirations, sizeof expirations) < 0 && errno == ECANCELED)
            wake(wall);
    return NULL;
}

/* Its signals are for the task alone, as all are. */
static int start_watcher(posix_wall *wall)
{
    pthread_attr_t attr;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int err = -pthread_create(&wall->watcher, &attr, watch, wall);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_attr_destroy(&attr);
    return err;
}

int posix_wall_watch(posix_wall *wall)
{
    wall->fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    if (wall->fd < 0)
        return -errno;
    int err = set_never(wall->fd);
    if (!err)
        err = start_watcher(wall);
    if (err)
        close(wall->fd);
    return err;
}

void posix_wall_unwatch(posix_wall *wall)
{
    wall->over = true;
    set(wall->fd, 1); /* long ago: it expires, which ends the watcher's read() */
    pthread_join(wall->watcher, NULL);
    close(wall->fd);
}

/* ---- for dk.periodic ------------------------------------------------------------------------- */

static void on_set(int signal)
{
    (void)signal;
}

int rts_wall_open(rts_wall *wall)
{
    const struct sigaction action = {.sa_handler = on_set}; /* so that it ends a sleep */
    if (sigaction(LINUX_WALL_SIGNAL, &action, NULL))
        return -errno;
    return posix_wall_open(wall, LINUX_WALL_SIGNAL);
}

bool rts_wall_was_set(rts_wall *wall)
{
    return posix_wall_was_set(wall);
}

void rts_wall_close(rts_wall *wall)
{
    posix_wall_close(wall);
}
