/* The clock of the samples: which one, its frequency, its granule, and what reading it costs. */
#ifndef RTS_CLOCK_H
#define RTS_CLOCK_H

#include "port.h"

extern rts_clock rts_the_clock;

/* Number of consecutive reads behind the overhead (benchmarks 1.1). */
#define RTS_OVERHEAD_READS 1000000u

/* Chooses and measures the clock of this agent; once, before the first case. */
int rts_clock_start(void);

/* Minimum difference of two consecutive reads over `reads` pairs, in ticks (Gutsalov, figures 2-4).
 */
uint64_t rts_clock_overhead(unsigned reads);

/*
 * The largest step g, in units of `reading`, such that 99 of 100 differences between readings are
 * multiples of g: the granule of a clock that advances in steps larger than its unit.
 */
uint64_t rts_clock_granule(rts_tick (*reading)(void));

/* Converts nanoseconds to ticks of a clock of hz, without overflow for up to 100 years. */
RTS_SHARED uint64_t rts_ns_to_ticks(uint64_t ns, uint64_t hz);
RTS_SHARED uint64_t rts_ns_to_ticks(uint64_t ns, uint64_t hz)
{
    return ns / 1000000000u * hz + ns % 1000000000u * hz / 1000000000u;
}

/* Ticks of this agent's clock, or a fraction of one, in nanoseconds. */
double rts_clock_ns(double ticks);

/*
 * a b / c, rounded down, modulo 2^64: exact as long as (c - 1) min(b, c - 1) fits into 64 bits, as
 * it does for every c up to 2^32.
 */
RTS_SHARED uint64_t rts_scale(uint64_t a, uint64_t b, uint64_t c);
RTS_SHARED uint64_t rts_scale(uint64_t a, uint64_t b, uint64_t c)
{
    return a / c * b + a % c * (b / c) + a % c * (b % c) / c;
}

#endif
