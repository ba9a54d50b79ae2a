/* Whether the wall clock was set: the kernel cancels a timer for it. */
#include <sys/timerfd.h>

#include "linux.h"

static int set(int fd, time_t when)
{
    const struct itimerspec never = {.it_value.tv_sec = when};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) ? -errno
                                                                                          : 0;
}

int rts_wall_open(rts_wall *wall)
{
    wall->fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (wall->fd < 0)
        return -errno;
    int err = set(wall->fd, (time_t)1 << 40);
    if (err == -EOVERFLOW) /* Linux before 5.1 on a processor of 32 bits */
        err = set(wall->fd, INT32_MAX);
    if (err)
        close(wall->fd);
    return err;
}

bool rts_wall_was_set(rts_wall *wall)
{
    uint64_t expirations;
    return read(wall->fd, &expirations, sizeof expirations) < 0 && errno == ECANCELED;
}

void rts_wall_close(rts_wall *wall)
{
    close(wall->fd);
}
