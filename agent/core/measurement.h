/* The measuring task of a case. */
#ifndef RTS_MEASUREMENT_H
#define RTS_MEASUREMENT_H

#include "bench.h"

/* The body of that task: runs the bench with its batch, its caches and its clock, and cleans up. */
void rts_measurement_run(rts_job *job);

/* Returns the median of the recorded samples, net of overhead, in ticks. */
uint64_t rts_median_net(const rts_rec *r);

#endif
