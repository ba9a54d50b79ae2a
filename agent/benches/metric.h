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

/* An entry of a table of benches that all belong to one group. */
#define METRIC_BENCH(name, group, what, how, p, more_needs, more_traits, slope, fn)                \
    {.id = name,                                                                                   \
     .title = RTS_SAY(what),                                                                       \
     .source = RTS_SAY("ISO/IEC 9945-1:1996, performance metrics; procedure of rtstone"),          \
     .metric = group,                                                                              \
     .help = RTS_SAY(how),                                                                         \
     .params = p,                                                                                  \
     .needs = more_needs,                                                                          \
     .traits = more_traits,                                                                        \
     .slope_over = slope,                                                                          \
     .samples = RTS_SAMPLES_DEFAULT,                                                               \
     .warmup = 10,                                                                                 \
     .time_ns = RTS_LIMIT(10 * SECOND_NS),                                                         \
     .run = fn}

#endif
