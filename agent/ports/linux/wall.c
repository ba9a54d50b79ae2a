/* Whether the wall clock was set: the kernel cancels a timer for it. */
#include <sys/timerfd.h>

#include "linux.h"

int rts_wall_open(rts_wall *wall)
{
    const struct itimerspec never = {.it_value.tv_sec = (time_t)1 << 40};
    wall->fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (wall->fd < 0)
        return -errno;
    if (timerfd_settime(wall->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
        return 0;
    int err = -errno;
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
