/*
 * The recorder: keeps a distribution of samples in fixed memory, in a few nanoseconds a sample.
 *
 * The hot path keeps value and time of a sample and nothing else: it has no branch on the value, a
 * large sample costs what a small one does.  Every RTS_CHUNK samples, or when the clock passes a
 * mark, rts_rec_turn() moves them into histogram, moments, trace, blocks and the list of the worst.
 *
 * Batches: of a short series every sample is kept, and the batches are cut when it has ended.  Of a
 * longer one the histogram is copied whenever a batch ends: what it has more than the copy before
 * is the batch.  When there are no more copies every other one is given up.
 *
 * Histogram: log-linear, 128 buckets per power of two.  A value v >= 256 with s = floor(log2 v) - 7
 * falls into a bucket 2^s wide that starts at or above 2^(s+7), so its relative width is at most
 * 1/128; values below 256 have a bucket each and are exact.
 */
#ifndef RTS_RECORDER_H
#define RTS_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sizes.h"

#define RTS_HIST_BITS 7
#define RTS_HIST_BUCKETS ((RTS_HIST_RANGE - RTS_HIST_BITS + 1) << RTS_HIST_BITS)

#define RTS_WORST 16

#if RTS_COUNT_BITS == 32
typedef uint32_t rts_count;
#else
typedef uint64_t rts_count;
#endif

typedef struct rts_hist {
    uint64_t n, sum, min, max;
    rts_count count[RTS_HIST_BUCKETS + 1]; /* the last one counts the overflow */
} rts_hist;

typedef struct rts_sample {
    uint64_t value, at, index;
} rts_sample;

typedef struct rts_window {
    uint64_t n, min, sum, max; /* n = 0: nothing happened in this window */
} rts_window;

/* Percentiles for whose sake batches are counted: p50, p90, p99, p999, p9999. */
#define RTS_LINES 5

/* Successive samples: how many, their sum, and how many lie on or above each line. */
typedef struct rts_batch {
    uint64_t n, sum, above[RTS_LINES];
} rts_batch;

/* Where a batch of a long series ended: samples and their sum until then. */
typedef struct rts_mark {
    uint64_t n, sum;
    uint8_t copy; /* of the histogram */
} rts_mark;

typedef enum rts_ended { RTS_RUNNING, RTS_BY_SAMPLES, RTS_BY_TIME, RTS_BY_STOP } rts_ended;

/* Limits of a series and how it is read; all times in ticks of the series' clock. */
typedef struct rts_rec_setup {
    uint64_t hz;       /* ticks per second */
    uint64_t overhead; /* subtracted by the host; samples below it are counted as negative */
    uint64_t samples;  /* end after so many; 0: no limit */
    uint64_t time;     /* end after so long; 0: no limit */
    uint64_t warmup;   /* samples discarded first */
    uint64_t busy;     /* call on_rest after so long without a rest; 0: never */
    const volatile bool *stop; /* end when it becomes true; may be NULL */
    uint64_t *raw;             /* room for `samples` values, or NULL: do not keep them */
} rts_rec_setup;

typedef struct rts_rec {
    /* the hot path, together */
    uint64_t used;  /* samples since the last turn */
    uint64_t chunk; /* a turn is due when there are so many */
    uint64_t next;  /* and when the clock has this value */
    volatile bool running;
    uint64_t value[RTS_CHUNK], at[RTS_CHUNK];

    /* from here on only rts_rec_turn() and readers */
    rts_rec_setup setup;
    uint64_t start;      /* clock value at the start of the section */
    uint64_t warm;       /* warm-up samples still to discard */
    uint64_t tail;       /* the last of them, before which on_section is called */
    uint64_t discarded;  /* warm-up samples discarded */
    uint64_t deadline;   /* clock value, UINT64_MAX: none */
    uint64_t rest_at;    /* clock value, UINT64_MAX: never */
    uint64_t window_end; /* clock value */
    uint64_t negative;   /* samples below the overhead */
    uint64_t missed;     /* activations that never happened; kept by periodic benches */
    uint64_t rests;
    rts_ended ended;
    void (*on_section)(void *arg); /* called once, shortly before the warm-up ends */
    void (*on_rest)(void *arg);    /* called between two samples */
    void *hook_arg;

    uint64_t floor; /* a sample of at least this size belongs to the worst */
    unsigned worst_n;
    rts_sample worst[RTS_WORST]; /* largest first */

    uint64_t window_ticks;
    unsigned window_i;
    rts_window window[RTS_TRACE];

    uint64_t block_samples, block_n, block_max;
    unsigned blocks;
    uint64_t block[RTS_BLOCKS];

#if RTS_BATCH_MAX
    uint64_t batch_samples; /* in a batch of a long series; 0: too many to be counted */
    uint64_t batch_end;     /* samples at the end of the batch that is filled, likewise */
    unsigned marks;
    rts_mark mark[RTS_BATCH_MAX];
    uint64_t order[RTS_BATCH_MAX * RTS_BATCH_SAMPLES]; /* the first samples */
    uint32_t copy[RTS_BATCH_MAX][RTS_HIST_BUCKETS];    /* modulo 2^32, as is their difference */
#endif

    rts_hist hist;
} rts_rec;

/* Prepares the recorder and touches all its memory. */
void rts_rec_init(rts_rec *r, const rts_rec_setup *setup);

/*
 * The section begins: on_section is called, if it has not been.  For who records samples later than
 * they are taken; else it begins shortly before the warm-up ends.
 */
void rts_rec_section(rts_rec *r);

/* Starts the series at clock value t. */
void rts_rec_start(rts_rec *r, uint64_t t);

/* Closes the series: everything recorded is in hist, worst, window and block afterwards. */
void rts_rec_finish(rts_rec *r);

/* The rare part of rts_rec_add(). */
void rts_rec_turn(rts_rec *r, uint64_t t);

#if RTS_BATCH_MAX

/*
 * The lines of a series that is finished, as buckets: its samples are in those below the line or in
 * those from it on.  Each is the one nearest to its percentile, for which the number must have
 * at least ten samples above it.  Returns how many lines there are.
 */
unsigned rts_rec_lines(const rts_rec *r, unsigned line[RTS_LINES]);

/* Batch i of it; false if there is none. */
bool rts_rec_batch(const rts_rec *r, unsigned i, unsigned lines, const unsigned line[RTS_LINES],
                   rts_batch *batch);

#endif

void rts_hist_init(rts_hist *h);

/* Adds a value to a histogram of its own (not the hot path). */
void rts_hist_add(rts_hist *h, uint64_t value);

/* Start of the bucket that holds the percentile (nearest rank). */
uint64_t rts_hist_percentile(const rts_hist *h, unsigned per_thousand);

/* Smallest value of bucket i. */
static inline uint64_t rts_bucket_start(unsigned i)
{
    unsigned half = 1u << RTS_HIST_BITS;
    return i < 2 * half ? i : (uint64_t)(i % half + half) << (i / half - 1);
}

static inline unsigned rts_bucket(uint64_t v)
{
    /* 63 ^ clz is the position of the highest bit set */
    unsigned s = (63u ^ (unsigned)__builtin_clzll(v | ((2u << RTS_HIST_BITS) - 1))) - RTS_HIST_BITS;
    uint64_t i = ((uint64_t)s << RTS_HIST_BITS) + (v >> s);
    return RTS_HIST_RANGE == 64 || i < RTS_HIST_BUCKETS ? (unsigned)i : RTS_HIST_BUCKETS;
}

/*
 * Records one sample: its value in ticks, and the clock at its end.  It lies behind the second
 * stamp, so where code is dear it may be one function for all.
 */
RTS_SHARED void rts_rec_add(rts_rec *r, uint64_t value, uint64_t t);
RTS_SHARED void rts_rec_add(rts_rec *r, uint64_t value, uint64_t t)
{
    uint64_t i = r->used;
    r->value[i] = value;
    r->at[i] = t;
    r->used = ++i;
    if (i == r->chunk || t >= r->next)
        rts_rec_turn(r, t);
}

#endif
