/* Latency relative to a due time of rts_time(). */
#ifndef RTS_LATENESS_H
#define RTS_LATENESS_H

#include "../metric.h"

static inline rts_rec *lateness_series(rts_case *c)
{
    return rts_series(c, "", RTS_TIME_HZ, 0, false, NULL);
}

/*
 * Adds a latency. An event before its time is no sample but an error of the system, and is counted.
 */
static inline void lateness_add(rts_rec *r, rts_tick due, rts_tick now, uint64_t *early)
{
    if (now < due)
        ++*early;
    else
        rts_rec_add(r, now - due, now);
}

#endif
