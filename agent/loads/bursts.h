/* Loads that work for 10 ms in every 100 ms (Obenland, Table 7). */
#ifndef RTS_LOAD_BURSTS_H
#define RTS_LOAD_BURSTS_H

#include "load.h"

#define RTS_BURST_PERIOD_NS (RTS_NS_PER_S / 10)
#define RTS_BURST_PHASES 5 /* at which bursts can begin in a period */

/* A kind of work, on what `of` points to. */
typedef struct rts_burst {
    bool (*step)(rts_worker *w, void *of); /* a bounded piece of it; false: the worker has failed */
    bool (*end)(rts_worker *w, void *of);  /* after each burst, not counted in it; NULL: nothing */
} rts_burst;

/*
 * Bursts on wall time with an absolute period, that of the system's clock: those of different
 * phases lie at fixed distances.  One that is late by a period and more has missed it.  Counts ns.
 */
void rts_load_bursts(rts_worker *w, const rts_burst *b, void *of, unsigned phase);

/*
 * Bursts of dynamic allocation: frees one of the `n` blocks held and takes one of 16 bytes to
 * `largest` in its place.  `held` begins as NULLs; all is freed in the end.
 */
void rts_load_memory(rts_worker *w, size_t largest, void **held, unsigned n);

/* What a component of bursts has in common with the others. */
#define RTS_BURST_COMPONENT                                                                        \
    .unit = "ms", .per_unit = RTS_NS_PER_S / 1000, .rate = 100, .periodic = true

#endif
