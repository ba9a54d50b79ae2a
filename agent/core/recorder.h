/*
 * The recorder: keeps a distribution of samples in fixed memory, in a few nanoseconds a sample.
 *
 * Every sample is accounted for when it comes: nothing is gathered to be sorted in later, and
 * nothing is moved about at once.  What every sample needs is inline: its bucket, the sum, its
 * place among the first, and whether it lies outside of two bounds.  Only there lie new extremes,
 * negative samples and the worst, which rts_rec_more() sees to.  Where a block, a batch or a window
 * ends, and where limits are due to be looked at, rts_rec_flush() adds the few sums since the last
 * flush to the totals.  For what is done between two readings of the clock the longest step counts,
 * not the mean: neither takes as much as a hundred samples do (docs/hot-path.md).
 *
 * Trace and blocks: when there is no more room for windows (or block maxima), two become one of
 * twice the width.  The pair is merged when its second place is needed for a new one, so that each
 * new one costs one merge; until then both lie where they were.
 *
 * Batches: of a short series every sample is kept, and the batches are cut when it has ended.  Of a
 * longer one each batch has a histogram of its own, and the series has their sum.  When there are
 * as many as there may be, two become one: one pair at the start of each new batch, 32 buckets a
 * sample, which gives the room for the batch after it.
 *
 * Histogram: log-linear, 128 buckets per power of two.  A value v >= 256 with s = floor(log2 v) - 7
 * falls into a bucket 2^s wide that starts at or above 2^(s+7), so its relative width is at most
 * 1/128; values below 256 have a bucket each and are exact.
 */
#ifndef RTS_RECORDER_H
#define RTS_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
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

typedef struct rts_window {
    uint64_t n, min, sum, max; /* n = 0: nothing happened in this window */
} rts_window;

typedef struct rts_hist {
    union {
        struct {
            uint64_t n, min, sum, max;
        };
        rts_window all;
    };
    rts_count count[RTS_HIST_BUCKETS + 1]; /* the last one counts the overflow */
} rts_hist;

/* Buckets that are merged with one sample: a pair of batches has to be before the next one ends. */
#if RTS_BATCH_MAX
enum {
    RTS_BATCH_STEP = 32,
    RTS_BATCH_STRIDE = (RTS_HIST_BUCKETS / RTS_BATCH_STEP + 1) * RTS_BATCH_STEP,
};
_Static_assert(RTS_BATCH_STRIDE / RTS_BATCH_STEP < RTS_BATCH_SAMPLES, "merged in half a batch");
#endif

typedef struct rts_sample {
    uint64_t value, at, index;
} rts_sample;

/* Percentiles for whose sake batches are counted: p50, p90, p99, p999, p9999. */
#define RTS_LINES 5

/* Successive samples: how many, their sum, and how many lie on or above each line. */
typedef struct rts_batch {
    uint64_t n, sum, above[RTS_LINES];
} rts_batch;

#if RTS_BATCH_MAX
typedef uint32_t rts_tally; /* of a batch, which has fewer than 2^32 samples */
#else
typedef rts_count rts_tally;
#endif

/* Batch of a long series: samples and their sum up to its end, and its histograms. */
typedef struct rts_mark {
    uint64_t n, sum;
    uint8_t part, second; /* second: of two batches that became one, until it is merged */
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
    /* what every sample needs, together */
    uint64_t next;      /* limits are due to be looked at when the clock has this value */
    uint64_t low, high; /* a sample below low, or of at least high, takes rts_rec_more() */
    uint64_t sum;       /* of the samples since the last flush */
    rts_tally *count;   /* of buckets, where samples are counted now */
#if RTS_BATCH_MAX
    size_t kept, keep; /* place in `order` of the next sample, and how far it goes on: 1 or 0 */
#endif
    uint32_t left;  /* samples until the next flush... */
    uint32_t chunk; /* ...of so many since the last one */
    volatile bool running;

    /* what rts_rec_more() needs */
    bool attentive;    /* each sample of this chunk takes it: high is 0 */
    uint64_t min, max; /* of the window, and since the last flush */
    uint64_t overhead, negative;
    uint64_t worst_floor; /* a sample of at least this size belongs to the worst */
    uint64_t *raw_next, *raw_end;
#if RTS_BATCH_MAX
    rts_tally *spare; /* where samples will be counted after `count` */
    uint32_t *merge_to, *merge_from, *merge_end;
#endif

    /* from here on only rts_rec_flush() and readers */
    rts_rec_setup setup;
    uint64_t start;      /* clock value at the start of the section */
    uint64_t warm;       /* warm-up samples still to discard */
    uint64_t tail;       /* the last of them, before which on_section is called */
    uint64_t discarded;  /* warm-up samples discarded */
    uint64_t deadline;   /* clock value, UINT64_MAX: none */
    uint64_t rest_at;    /* clock value, UINT64_MAX: never */
    uint64_t window_end; /* clock value */
    uint64_t missed;     /* activations that never happened; kept by periodic benches */
    uint64_t rests;
    rts_ended ended;
    void (*on_section)(void *arg); /* called once, shortly before the warm-up ends */
    void (*on_rest)(void *arg);    /* called between two samples */
    void *hook_arg;

    unsigned worst_n;
    rts_sample worst[RTS_WORST]; /* largest first */

    uint64_t window_ticks;
    unsigned window_i;
    unsigned trace_halved;        /* times that two windows became one, since the last finish */
    rts_window window[RTS_TRACE]; /* in order once the series is finished; so is block */

    uint64_t block_samples, block_n, block_max;
    unsigned blocks, blocks_halved;
    uint64_t block[RTS_BLOCKS];

#if RTS_BATCH_MAX
    uint64_t batch_samples; /* in a batch of a long series; 0: too many to be counted */
    uint64_t batch_end;     /* samples at the end of the batch that is filled */
    unsigned marks, filling, spare_part;
    bool halved;
    rts_mark mark[RTS_BATCH_MAX];
    uint64_t order[RTS_BATCH_MAX * RTS_BATCH_SAMPLES + 1]; /* the first; then one for all others */
    uint32_t part[RTS_BATCH_MAX + 1][RTS_BATCH_STRIDE];
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

/* Looks at the limits at clock value t, where no sample comes: for who may wait long for one. */
void rts_rec_look(rts_rec *r, uint64_t t);

/* Closes the series: everything recorded is in hist, worst, window and block afterwards. */
void rts_rec_finish(rts_rec *r);

/* Samples that have come by now, those of the warm-up among them. */
static inline uint64_t rts_rec_taken(const rts_rec *r)
{
    return r->hist.n + r->discarded + (r->chunk - r->left);
}

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

/* The same of a series that has samples, also while it is recorded: then nearly so. */
#if RTS_BATCH_MAX
uint64_t rts_rec_percentile(const rts_rec *r, unsigned per_thousand);
#else
static inline uint64_t rts_rec_percentile(const rts_rec *r, unsigned per_thousand)
{
    return rts_hist_percentile(&r->hist, per_thousand);
}
#endif

/* Smallest value of bucket i. */
static inline uint64_t rts_bucket_start(unsigned i)
{
    unsigned half = 1u << RTS_HIST_BITS;
    return i < 2 * half ? i : (uint64_t)(i % half + half) << (i / half - 1);
}

static inline size_t rts_bucket(uint64_t v)
{
#if RTS_HIST_RANGE < 64
    if (v >> RTS_HIST_RANGE)
        return RTS_HIST_BUCKETS;
#endif
#if RTS_HIST_RANGE <= 32
    uint32_t u = (uint32_t)v;
#else
    uint64_t u = v;
#endif
    /* 63 ^ clz is the position of the highest bit set; of 32 bits where the values have no more */
    unsigned s = sizeof u == 4 ? 31u ^ (unsigned)__builtin_clz((unsigned)(u >> RTS_HIST_BITS | 1))
                               : 63u ^ (unsigned)__builtin_clzll(u >> RTS_HIST_BITS | 1);
    return (s << RTS_HIST_BITS) + (unsigned)(u >> s);
}

/* ---- the hot path --------------------------------------------------------------------------- */

/* Records a sample that ends its chunk or lies outside of the bounds. */
void rts_rec_more(rts_rec *r, uint64_t value, uint64_t t);

/* Adds the sums of a chunk, whose last sample ended at t, to the totals, and begins the next. */
void rts_rec_flush(rts_rec *r, uint64_t t);

/* What is done with every sample. */
RTS_HOT void rts_rec_account(rts_rec *r, uint64_t value)
{
    r->sum += value;
#if RTS_BATCH_MAX
    r->order[r->kept] = value;
    r->kept += r->keep;
#endif
    r->count[rts_bucket(value)]++;
}

/*
 * Records one sample: its value in ticks, and the clock at its end, which says what window it
 * belongs to.  It lies behind the second stamp.
 */
RTS_SHARED void rts_rec_add(rts_rec *r, uint64_t value, uint64_t t);
RTS_SHARED void rts_rec_add(rts_rec *r, uint64_t value, uint64_t t)
{
    if (__builtin_expect(t >= r->next || value < r->low || value >= r->high, 0)) {
        rts_rec_more(r, value, t);
        return;
    }
    rts_rec_account(r, value);
    if (__builtin_expect(--r->left == 0, 0))
        rts_rec_flush(r, t);
}

#endif
