#ifndef RTS_RECORDER_LIB_H
#define RTS_RECORDER_LIB_H

#include <stdint.h>

/* Buckets of the histogram; one more counts the overflow. */
unsigned recorder_buckets(void);

/* Records n values; counts has room for all buckets and the overflow, moments for n, sum, min, max.
 */
void recorder_record(const uint64_t *values, uint64_t n, uint64_t *counts, uint64_t *moments);

#endif
