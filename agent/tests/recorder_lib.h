#ifndef RTS_RECORDER_LIB_H
#define RTS_RECORDER_LIB_H

#include <stdint.h>

/* Buckets of the histogram; one more counts the overflow. */
unsigned recorder_buckets(void);

/* Records n values; counts has room for all buckets and the overflow, moments for n, sum, min, max.
 */
void recorder_record(const uint64_t *values, uint64_t n, uint64_t *counts, uint64_t *moments);

/*
 * The lines of the series recorded last, which line has room for 5 of, and its batches: rows has
 * room for 33 times 7 numbers, n, sum and how many lie on or above each line.  Returns how many
 * there are.
 */
unsigned recorder_batches(unsigned *lines, unsigned *line, uint64_t *rows);

/*
 * Records the wake-ups of a periodic task, 1000 a second, until so many were due.  own: how late
 * each would be by itself.  stall: pairs of times, rising, between which nothing runs.  counts and
 * moments are of what was seen, and then, as many again, of what was omitted.
 */
void recorder_periodic(const uint64_t *own, uint64_t due, const uint64_t *stall, uint64_t stalls,
                       uint64_t *counts, uint64_t *moments);

/* Samples in each window of the trace of the series recorded last; n has room for so many. */
void recorder_windows(uint64_t *n, unsigned windows);

#endif
