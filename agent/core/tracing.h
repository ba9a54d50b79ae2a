/*
 * Traced cases: the limit that the host has set, and the samples above it. Where the port cannot
 * trace (RTS_TRACED), the first four have the weak defaults of untraced.c.
 */
#ifndef RTS_TRACING_H
#define RTS_TRACING_H

#include "bench.h"

/*
 * Has the following cases traced: "ABOVE KEEP", the limit in ns and how many snapshots to keep.
 * Returns false if it is not of that form, or the port cannot trace.
 */
bool rts_tracing_command(char *words);

/* Traces no further case: another host comes. */
void rts_tracing_forget(void);

/* Runs a prepared case, traced if the host wants that (tracing_cost.c). */
void rts_tracing_run(rts_case *c);

/* Called for each of the worst samples so far: takes those above the limit. */
void rts_tracing_look(void *arg, const rts_rec *r, const rts_sample *sample);

/* ---- for tracing_cost.c ---------------------------------------------------------------------- */

/* Returns whether the next case is to be traced. */
bool rts_tracing_wanted(void);

/* Starts to trace a case whose CPUs are chosen. Returns 0, or -1 with the case unsupported. */
int rts_tracing_begin(rts_case *c);

/* Ends what the other has begun, if it has. */
void rts_tracing_end(rts_case *c);

#endif
