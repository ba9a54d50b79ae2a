/* Shared by all benches with a period: activations, and those that were missed. */
#ifndef RTS_PERIODIC_H
#define RTS_PERIODIC_H

#include "bench.h"

/*
 * Counts the activations between the one that was `late` and now: they were missed. An activation
 * that is due exactly now is not missed. The latency that each would have had is added to
 * `omitted`; NULL: the series does not record latencies. Returns the number of missed activations.
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
    rts_rec_omit(rec, missed);
    return missed;
}

/*
 * Handles a wake-up at `now` that was `late`: records its latency as a sample, and sets *release to
 * the next release in the future. If the wake-up was late by more than a period, the releases in
 * between are counted as missed.
 */
RTS_HOT void periodic_woken(rts_rec *rec, rts_hist *omitted, rts_tick *release, rts_tick period,
                            rts_tick late, rts_tick now)
{
    *release += (periodic_missed(rec, omitted, period, late) + 1) * period;
    rts_rec_add(rec, late, now);
}

#define PERIODIC_EARLY 1000 /* early wake-ups, and more than samples: such a series never ends */

/*
 * Counts a wake-up before its release as negative: it has no lateness, and nothing was missed. Ends
 * a series of hardly any others.
 */
RTS_SHARED void periodic_early(rts_rec *rec, rts_tick now);
RTS_SHARED void periodic_early(rts_rec *rec, rts_tick now)
{
    rts_rec_look(rec, now);
    rec->negative++;
    if (rec->negative >= PERIODIC_EARLY && rec->negative > rts_rec_taken(rec))
        rec->running = false;
}

/* Fails the case if that has ended a series; returns -1 then. */
RTS_SHARED int periodic_check(rts_case *c, const rts_rec *rec);
RTS_SHARED int periodic_check(rts_case *c, const rts_rec *rec)
{
    uint64_t early = rec->negative, wake_ups = early + rts_rec_taken(rec);
    if (early < PERIODIC_EARLY || 2 * early <= wake_ups)
        return 0;
    return rts_failed(c, "of %llu wake-ups %llu came before their release",
                      (unsigned long long)wake_ups, (unsigned long long)early);
}

/* Inline where there is room, so that the clock is read as soon as the sleep returns. */
#ifdef RTS_SMALL_CODE
#define PERIODIC_HOT RTS_SHARED
#else
#define PERIODIC_HOT RTS_HOT
#endif

/*
 * One wake-up at *release, its lateness as a sample, and the next release. If the series' time is
 * over before that, it ends then, without a wake-up. Returns the time of the wake-up.
 */
PERIODIC_HOT rts_tick periodic_wake_up(rts_rec *rec, rts_hist *omitted, rts_tick *release,
                                       rts_tick period);
PERIODIC_HOT rts_tick periodic_wake_up(rts_rec *rec, rts_hist *omitted, rts_tick *release,
                                       rts_tick period)
{
    if (__builtin_expect(*release > rec->deadline, 0)) {
        rts_series_expire(rec, rts_time());
        return rts_time();
    }
    rts_sleep_until(*release);
    rts_tick now = rts_time();
    if (__builtin_expect(now < *release, 0)) {
        periodic_early(rec, now);
        *release += period;
    } else {
        periodic_woken(rec, omitted, release, period, now - *release, now);
    }
    return now;
}

#endif
