/* Pausing: stops every process of the load, and continues it later. */
#include <signal.h>

#include "linux.h"

#define PATIENCE_TICKS (2 * RTS_TIME_HZ)
#define LOOK_TICKS (RTS_TIME_HZ / 1000)

static bool is_stopped(const linux_process *p)
{
    return p->state == 'T' || p->state == 't' || p->state == 'Z' || p->state == 'X';
}

/* Stops those that are not stopped yet; returns how many there were. */
static unsigned stop_all(void)
{
    unsigned awake = 0;
    unsigned n = linux_find_family(0, posix_load_group);
    for (unsigned i = 0; i < n; i++)
        if (!is_stopped(&linux_family[i])) {
            kill(linux_family[i].pid, SIGSTOP);
            awake++;
        }
    return awake;
}

void rts_port_load_pause(bool pause)
{
    if (!posix_load_group)
        return;
    if (!pause) {
        unsigned n = linux_find_family(0, posix_load_group);
        for (unsigned i = 0; i < n; i++)
            kill(linux_family[i].pid, SIGCONT);
        return;
    }
    /* Sleeps meanwhile, so that a load on the same CPU can reach the point where it stops. */
    for (rts_tick end = rts_time() + PATIENCE_TICKS; stop_all() && rts_time() < end;)
        rts_sleep_until(rts_time() + LOOK_TICKS);
}
