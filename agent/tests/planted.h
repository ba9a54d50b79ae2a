/*
 * Deliberate mistakes in benches and loads, to check that the tests of their results detect them
 * (tests/agent/test_planted.py). Included before everything else in a bench or load of the planted
 * agent; the environment variable PLANT names the one mistake to make.
 */
#ifndef RTS_PLANTED_H
#define RTS_PLANTED_H

#include <stdlib.h>
#include <string.h>

#include "../benches/periodic.h"
#include "load.h"

static inline bool is_planted(const char *mistake)
{
    const char *plant = getenv("PLANT");
    return plant && !strcmp(plant, mistake);
}

/* Checked once per place, as some are executed a million times. */
#define planted(mistake)                                                                           \
    ({                                                                                             \
        static int planted_ = -1;                                                                  \
        planted_ = planted_ < 0 ? is_planted(mistake) : planted_;                                  \
        planted_ != 0;                                                                             \
    })

/* Every second reading, which ends most intervals, is off by a tick. */
static inline rts_tick planted_now(void)
{
    static unsigned readings;
    rts_tick now = rts_now();
    bool ends = readings++ % 2;
    return ends && planted("stamp late") ? now + 1 : ends && planted("stamp early") ? now - 1 : now;
}

/* Does something else within the interval. */
static inline int planted_give(rts_sem *sem)
{
    if (planted("a call too many"))
        rts_yield();
    return rts_sem_give(sem);
}

static inline int planted_mutex(rts_mutex *mutex, rts_protocol protocol, int ceiling)
{
    return rts_mutex_create(mutex, planted("no inheritance") ? RTS_LOCK_NONE : protocol, ceiling);
}

/* Loses one sample in fifty, or every long one. */
static inline void planted_add(rts_rec *r, uint64_t value, uint64_t t)
{
    static unsigned samples;
    static uint64_t least;
    bool drop = planted("sample dropped") && ++samples % 50 == 0;
    least = !least || value < least ? value : least;
    drop = drop || (planted("long sample dropped") && value > 2 * least);
    if (!drop)
        rts_rec_add(r, value, t);
}

/* Forgets the releases between a late wake-up and the next one. */
static inline rts_tick planted_wake_up(rts_rec *rec, rts_hist *omitted, rts_tick *release,
                                       rts_tick period)
{
    rts_sleep_until(*release);
    rts_tick now = rts_time(), late = now - *release;
    uint64_t missed = late ? (late - 1) / period : 0;
    if (!planted("missed not counted"))
        missed = periodic_missed(rec, omitted, period, late);
    *release += (missed + 1) * period;
    planted_add(rec, late, now);
    return now;
}

/* Gives helpers the case's priority: a task that should wait runs, or the other way round. */
static inline int planted_start(rts_case *c, void (*run)(void *), void *arg, int below,
                                rts_policy policy, bool process)
{
    return rts_task_start(c, run, arg, planted("no priorities") ? 1 : below, policy, process);
}

/* Reports work that a load did not do. */
static inline void planted_work(rts_work kind, uint64_t amount)
{
    rts_worked(kind, planted("half the work") ? amount / 2 : amount);
}

static inline bool planted_goes_on(rts_worker *w)
{
    if (planted("load asleep"))
        rts_sleep_for(RTS_TIME_HZ / 1000);
    return rts_load_goes_on(w);
}

#define rts_now() planted_now()
#define rts_stamp_now() planted_now()
#define rts_sem_give(sem) planted_give(sem)
#define rts_mutex_create(mutex, protocol, ceiling) planted_mutex(mutex, protocol, ceiling)
#define rts_rec_add(r, value, t) planted_add(r, value, t)
#define rts_rec_span(r, a, b) planted_add(r, (b) - (a), b)
#define periodic_wake_up(rec, omitted, release, period)                                            \
    planted_wake_up(rec, omitted, release, period)
#define rts_task_start(c, run, arg, below, policy, process)                                        \
    planted_start(c, run, arg, below, policy, process)
#define rts_worked(kind, amount) planted_work(kind, amount)
#define rts_load_goes_on(w) planted_goes_on(w)

#endif
