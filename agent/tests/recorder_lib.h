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

#endif
