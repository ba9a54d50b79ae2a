/* What every bench with a period needs: activations met, and those that never happened. */
#ifndef RTS_PERIODIC_H
#define RTS_PERIODIC_H

#include "bench.h"

/*
 * Counts the activations after the one that came `late` and before now: they never happened.  One
 * that is due just now still does.  `omitted` gets the lateness each would have had; NULL: the
 * series does not hold lateness.  Returns how many there are.
 */
RTS_SHARED uint64_t periodic_missed(rts_rec *rec, rts_hist *omitted, rts_tick period,
                                    rts_tick late);
RTS_SHARED uint64_t periodic_missed(rts_rec *rec, rts_hist *omitted, rts_tick period, rts_tick late)
{
    uint64_t missed = late ? (late - 1) / period : 0;
    if (rec->warm)
        return missed;
    for (uint64_t i = 1; omitted && i <= missed; i++)
        rts_hist_add(omitted, late - i * period);
    rec->missed += missed;
    return missed;
}

/*
 * Takes account of a wake-up that was `late`, at `now` of the series, and sets the next release:
 * the first that lies ahead.  A wake-up later than a period has swallowed others, which are
 * counted.
 */
RTS_HOT void periodic_woken(rts_rec *rec, rts_hist *omitted, rts_tick *release, rts_tick period,
                            rts_tick late, rts_tick now)
{
    *release += (periodic_missed(rec, omitted, period, late) + 1) * period;
    rts_rec_add(rec, late, now);
}

/* One wake-up at *release, its lateness as a sample, and the next release. */
RTS_SHARED void periodic_wake_up(rts_rec *rec, rts_hist *omitted, rts_tick *release,
                                 rts_tick period);
RTS_SHARED void periodic_wake_up(rts_rec *rec, rts_hist *omitted, rts_tick *release,
                                 rts_tick period)
{
    rts_sleep_until(*release);
    rts_tick now = rts_time();
    periodic_woken(rec, omitted, release, period, now - *release, now);
}

#endif
