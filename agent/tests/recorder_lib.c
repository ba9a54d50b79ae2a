/* The recorder for tests from Python. */
#include "recorder_lib.h"

#include "recorder.h"

static rts_rec r;

unsigned recorder_buckets(void)
{
    return RTS_HIST_BUCKETS;
}

void recorder_record(const uint64_t *values, uint64_t n, uint64_t *counts, uint64_t *moments)
{
    rts_rec_setup setup = {.hz = 1000000000, .samples = n};
    rts_rec_init(&r, &setup);
    rts_rec_start(&r, 0);
    for (uint64_t i = 0; i < n; i++)
        rts_rec_add(&r, values[i], i);
    rts_rec_finish(&r);
    for (unsigned i = 0; i <= RTS_HIST_BUCKETS; i++)
        counts[i] = r.hist.count[i];
    moments[0] = r.hist.n;
    moments[1] = r.hist.sum;
    moments[2] = r.hist.min;
    moments[3] = r.hist.max;
}

unsigned recorder_batches(unsigned *lines, unsigned *line, uint64_t *rows)
{
    rts_batch batch;
    unsigned i = 0;
    *lines = rts_rec_lines(&r, line);
    for (; rts_rec_batch(&r, i, *lines, line, &batch); i++) {
        *rows++ = batch.n;
        *rows++ = batch.sum;
        for (unsigned k = 0; k < RTS_LINES; k++)
            *rows++ = batch.above[k];
    }
    return i;
}
