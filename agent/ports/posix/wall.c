/* Whether the wall clock was set: its distance to the clock that nobody sets has changed. */
#include <signal.h>

#include "posix.h"

/* Both clocks are slewed alike, so that the distance is constant, but for what lies between. */
static void look(posix_wall *wall, rts_tick *low, rts_tick *high)
{
    rts_tick before = rts_time();
    rts_tick real = posix_clock_ns(CLOCK_REALTIME);
    wall->time = rts_time();
    *low = real - wall->time;
    *high = real - before;
}

int posix_wall_open(posix_wall *wall, int signal)
{
    *wall = (posix_wall){.signal = signal, .fd = -1, .task = pthread_self()};
    look(wall, &wall->low, &wall->high);
    return posix_wall_watch(wall);
}

bool posix_wall_was_set(posix_wall *wall)
{
    rts_tick low, high;
    look(wall, &low, &high);
    wall->looks++;
    wall->by = 0;
    bool twice = wall->seen; /* forward and back since the last look, or just after that */
    wall->seen = false;
    bool forward = (int64_t)(low - wall->high) > 0, back = (int64_t)(wall->low - high) > 0;
    if (forward || back) {
        wall->by = (int64_t)(low + (high - low) / 2 - wall->low - (wall->high - wall->low) / 2);
        wall->low = low;
        wall->high = high;
        return true;
    }
    /* The distance is in both intervals. */
    wall->low = (int64_t)(low - wall->low) > 0 ? low : wall->low;
    wall->high = (int64_t)(wall->high - high) > 0 ? high : wall->high;
    return twice;
}

void posix_wall_close(posix_wall *wall)
{
    posix_wall_unwatch(wall);
}
