/* Random numbers that are the same on every system: whole numbers and comparisons only. */
#ifndef RTS_RANDOM_H
#define RTS_RANDOM_H

#include "clock.h"

/* Returns 32 random bits: the upper half of a linear congruential generator's state (Knuth). */
static inline uint32_t rts_draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/*
 * Returns an exponentially distributed time, using comparisons only (von Neumann 1951): logarithms
 * differ between systems.
 */
RTS_SHARED rts_ns rts_draw_exponential(uint64_t *state, rts_ns mean);
RTS_SHARED rts_ns rts_draw_exponential(uint64_t *state, rts_ns mean)
{
    for (uint64_t whole = 0;; whole++) {
        uint32_t first = rts_draw(state), previous = first, next;
        unsigned n = 1;
        for (; (next = rts_draw(state)) < previous; n++)
            previous = next;
        if (n % 2)
            return rts_ns_of(mean.ns * whole + rts_scale(mean.ns, first, UINT64_C(1) << 32));
    }
}

#endif
