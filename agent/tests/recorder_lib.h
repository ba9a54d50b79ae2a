#ifndef RTS_RECORDER_LIB_H
#define RTS_RECORDER_LIB_H

#include <stdint.h>

/* Returns the number of buckets of the histogram; one more counts the overflow. */
unsigned recorder_buckets(void);

/*
 * Records n values; counts has room for all buckets and the overflow, moments for n, sum, min, max.
 */
void recorder_record(const uint64_t *values, uint64_t n, uint64_t *counts, uint64_t *moments);

/*
 * Returns the lines of the last recorded series (`line` has room for 5) and its batches: rows has
 * room for 33 rows of 7 numbers, n, sum and how many are at or above each line. Returns the number
 * of batches.
 */
unsigned recorder_batches(unsigned *lines, unsigned *line, uint64_t *rows);

/*
 * Records the wake-ups of a periodic task, 1000 per second, until `due` of them were due. own: the
 * latency of each by itself. stall: ascending pairs of times between which nothing runs. counts and
 * moments are first of what was recorded, then, in as many elements again, of what was omitted.
 */
void recorder_periodic(const uint64_t *own, uint64_t due, const uint64_t *stall, uint64_t stalls,
                       uint64_t *counts, uint64_t *moments);

/*
 * Records n wake-ups of a periodic task, 1000 per second, after `warmup` of them, so late each.
 * limit: above which they are misses; 0: none. counts has room for the misses, those that were
 * late, the squared lengths of runs, and the activations that never happened; windows for as many
 * as this returns.
 */
unsigned recorder_misses(const uint64_t *late, uint64_t n, uint64_t warmup, uint64_t limit,
                         uint64_t *counts, uint64_t *windows);

/* Records n wake-ups until one is above the limit; returns how many, and the recorder's `ended`. */
uint64_t recorder_over(const uint64_t *late, uint64_t n, uint64_t limit, unsigned *ended);

/* Returns the samples in each window of the trace of the last series; n has room for `windows`. */
void recorder_windows(uint64_t *n, unsigned windows);

#endif
