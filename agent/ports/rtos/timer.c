/* Periodic timers: sleeps until the next release. */
#include "clock.h"
#include "port.h"

#define FIRST_NS 10000000

int rts_timer_start(rts_timer *timer, int kind, rts_tick period)
{
    (void)kind;
    rts_tick first = rts_time() + rts_ns_to_ticks(FIRST_NS, RTS_TIME_HZ);
    *timer = (rts_timer){.first = rts_release_at(first), .period = period};
    return 0;
}

void rts_timer_wait(rts_timer *timer, rts_expiry *expiry)
{
    rts_tick due = timer->first + timer->next * timer->period;
    rts_sleep_until(due);
    expiry->stamp = rts_time();
    expiry->overruns = expiry->stamp > due ? (expiry->stamp - due - 1) / timer->period : 0;
    expiry->k = timer->next;
    timer->next += 1 + expiry->overruns;
}

void rts_timer_stop(rts_timer *timer)
{
    (void)timer;
}
