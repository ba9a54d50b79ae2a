/* The clock that times the samples: its source, frequency, granule and read overhead. */
#ifndef RTS_CLOCK_H
#define RTS_CLOCK_H

#include "port.h"

extern rts_clock rts_the_clock;

/* Number of consecutive reads over which the overhead is measured. */
#ifndef RTS_OVERHEAD_READS
#define RTS_OVERHEAD_READS 1000000u
#endif

/* Chooses and calibrates the agent's clock; called once, before the first case. */
int rts_clock_start(void);

/*
 * Measures overhead and granule again on the CPU of the caller: processors of different kinds
 * differ. With a tenth of the reads, as it is for each case.
 */
void rts_clock_measure(void);

/*
 * Returns the minimum difference between consecutive clock reads, over `reads` pairs, in ticks
 * (Gutsalov, figures 2-4).
 */
uint64_t rts_clock_overhead(unsigned reads);

/*
 * Returns the granule of a clock that advances in steps larger than its unit: the largest step g,
 * in units of `reading`, such that 99 of 100 differences between readings are multiples of g.
 */
uint64_t rts_clock_granule(rts_tick (*reading)(void));

/* Converts ns to ticks of a clock of `hz`; does not overflow for up to 100 years. */
RTS_SHARED uint64_t rts_ns_to_ticks(uint64_t ns, uint64_t hz);
RTS_SHARED uint64_t rts_ns_to_ticks(uint64_t ns, uint64_t hz)
{
    return ns / 1000000000u * hz + ns % 1000000000u * hz / 1000000000u;
}

/* Converts ticks of the agent's clock, which may be fractional, to ns. */
double rts_clock_ns(double ticks);

/*
 * Returns a b / c, rounded down, modulo 2^64. Exact as long as (c - 1) min(b, c - 1) fits into 64
 * bits, which it does for every c up to 2^32.
 */
RTS_SHARED uint64_t rts_scale(uint64_t a, uint64_t b, uint64_t c);
RTS_SHARED uint64_t rts_scale(uint64_t a, uint64_t b, uint64_t c)
{
    return a / c * b + a % c * (b / c) + a % c * (b % c) / c;
}

/* ---- times in ns --------------------------------------------------------------------------- */

/*
 * An instant of rts_time(), or a duration, in ns, whatever RTS_TIME_HZ is. It is a struct so that
 * the compiler rejects mixing it with a clock reading in ticks: code that schedules, waits or adds
 * up times uses this type, code that takes samples uses rts_tick.
 */
typedef struct rts_ns {
    uint64_t ns;
} rts_ns;

#define RTS_NS_PER_S UINT64_C(1000000000)

static inline rts_ns rts_ns_of(uint64_t ns)
{
    return (rts_ns){ns};
}

/* Returns the current time, rounded down to ns. */
static inline rts_ns rts_time_ns(void)
{
    rts_tick time = rts_time();
    return rts_ns_of(RTS_TIME_HZ == RTS_NS_PER_S ? time
                                                 : rts_scale(time, RTS_NS_PER_S, RTS_TIME_HZ));
}

/* Returns the first tick of rts_time() at or after an instant. */
static inline rts_tick rts_time_at(rts_ns time)
{
    if (RTS_TIME_HZ == RTS_NS_PER_S)
        return time.ns;
    rts_tick tick = rts_ns_to_ticks(time.ns, RTS_TIME_HZ);
    return tick + (rts_scale(tick, RTS_NS_PER_S, RTS_TIME_HZ) < time.ns);
}

/* Sleeps until rts_time_ns() is at or after this instant. */
static inline void rts_sleep_until_ns(rts_ns time)
{
    rts_sleep_until(rts_time_at(time));
}

/* Returns the first instant at or after this one at which a sleep can end. */
static inline rts_ns rts_release_at_ns(rts_ns time)
{
    rts_tick tick = rts_release_at(rts_time_at(time));
    return rts_ns_of(RTS_TIME_HZ == RTS_NS_PER_S ? tick
                                                 : rts_scale(tick, RTS_NS_PER_S, RTS_TIME_HZ));
}

static inline rts_ns rts_ns_add(rts_ns a, rts_ns b)
{
    return rts_ns_of(a.ns + b.ns);
}

static inline bool rts_ns_less(rts_ns a, rts_ns b)
{
    return a.ns < b.ns;
}

/* Returns the duration from `from` to `to`, which must not be earlier. */
static inline rts_ns rts_ns_between(rts_ns from, rts_ns to)
{
    return rts_ns_of(to.ns - from.ns);
}

/* Returns how far `now` is past `due`; 0 if it is not due yet. */
static inline rts_ns rts_ns_late(rts_ns now, rts_ns due)
{
    return rts_ns_of(now.ns > due.ns ? now.ns - due.ns : 0);
}

#endif
