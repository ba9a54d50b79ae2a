/*
 * Benches of the services for which POSIX asks for the average and the worst case, with the
 * conditions (ISO/IEC 9945-1:1996; the list of groups is Gutsalov's).
 */
#ifndef RTS_METRIC_H
#define RTS_METRIC_H

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

/* The measuring task works alone, and the service may be too short for the clock. */
#define ALONE (RTS_RESTS | RTS_BATCHES)

/* What the entries of these benches have in common; .metric is the group. */
#define METRIC_COMMON                                                                              \
    .source = RTS_SAY("ISO/IEC 9945-1:1996, performance metrics; procedure of rtstone"),           \
    .samples = RTS_SAMPLES_DEFAULT, .warmup = 10, .time_ns = RTS_LIMIT(10 * SECOND_NS)

#endif
