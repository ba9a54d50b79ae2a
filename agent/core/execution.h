/*
 * The execution of a case: in this order, a case is made, its command is parsed into it, its CPUs
 * are chosen, it is prepared, and runs.
 */
#ifndef RTS_EXECUTION_H
#define RTS_EXECUTION_H

#include "bench.h"

/* Returns a new case, whose progress is reported every so many ms (0: never); NULL: no memory. */
rts_case *rts_execution_new(unsigned progress_ms);

/* Frees a case and its memory. */
void rts_execution_free(rts_case *c);

/* Prepares zeroed memory that is not from rts_execution_new() for a case. */
void rts_execution_init(rts_case *c, unsigned progress_ms);

/*
 * Chooses the measured CPUs. A bench with one series is measured on one; the others stay free for
 * everything else.
 */
void rts_execution_choose_cpus(rts_case *c);

/* Opens the memory of a case; returns false with the reason if the system lacks what it needs. */
bool rts_execution_prepare(rts_case *c);

/* Measures: runs the bench in a task of its own, under the port's watchdog. */
void rts_execution_run(rts_case *c);

#endif
