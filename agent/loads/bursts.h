/* Loads that work for 10 ms in every 100 ms (Obenland, Table 7). */
#ifndef RTS_LOAD_BURSTS_H
#define RTS_LOAD_BURSTS_H

#include "load.h"

#define RTS_BURST_PERIOD_NS (RTS_NS_PER_S / 10)
#define RTS_BURST_PHASES 5 /* different start times of bursts within a period */

/* A kind of work, done on what `state` points to. */
typedef struct rts_burst {
    bool (*step)(rts_worker *w, void *state); /* a bounded piece of it; false: the worker failed */
    bool (*end)(rts_worker *w, void *state);  /* after each burst, not counted as work; or NULL */
} rts_burst;

/*
 * Runs bursts with an absolute period on the system's clock, so that bursts of different phases
 * keep fixed distances. A burst that is late by a period or more is missed. Counts ns.
 */
void rts_load_bursts(rts_worker *w, const rts_burst *b, void *state, unsigned phase);

/*
 * Runs bursts of dynamic allocation: frees one of the `n` blocks held and allocates one of 16 to
 * `largest` bytes instead. `held` must be all NULL; everything is freed at the end.
 */
void rts_load_memory(rts_worker *w, size_t largest, void **held, unsigned n);

/* What all components with bursts have in common. */
#define RTS_BURST_COMPONENT                                                                        \
    .unit = "ms", .per_unit = RTS_NS_PER_S / 1000, .rate = 100, .periodic = true

#endif
