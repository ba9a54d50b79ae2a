/*
 * The recorder: keeps a distribution of samples in fixed memory, at a cost of a few ns per sample.
 *
 * Every sample is accounted for when it is recorded: nothing is buffered to be sorted in later, and
 * no large block of memory is moved at once. The work that every sample needs is inline: its
 * bucket, the sum, its place among the first samples, and a check against two bounds. New extremes,
 * negative samples and the worst samples lie outside these bounds and are handled by
 * rts_rec_add_unusual(). When a block, batch or window ends, or a limit has to be checked,
 * rts_rec_flush() adds the sums since the last flush to the totals. Between two clock readings the
 * longest step counts, not the mean: neither function takes as long as a hundred samples do
 * (docs/studies/hot-path.md).
 *
 * Trace and blocks: when there is no more room for windows (or block maxima), two of them become
 * one of twice the width. A pair is merged when the place of its second half is needed for a new
 * window, so that each new window costs one merge; until then both halves stay where they were.
 *
 * Batches: a short series is stored sample by sample and cut into batches after it has ended. In a
 * longer series each batch has a histogram of its own, and the series' histogram is their sum. When
 * the maximum number of batches is reached, two become one: one pair at the start of each new
 * batch, 32 buckets per sample, which frees the histogram for the batch after it.
 *
 * Histogram: log-linear, 128 buckets per power of two. A value v >= 256 with s = floor(log2 v) - 7
 * falls into a bucket of width 2^s that starts at or above 2^(s+7), so its relative width is at
 * most 1/128. Values below 256 have a bucket each and are exact.
 *
 * Misses: activations that never happened (rts_rec_omit) and, where the series has a limit, samples
 * above it. Both take rts_rec_add_unusual(), so that any other sample costs nothing more. Of how
 * they lie, the recorder keeps for each k the fewest successive activations that held k of them,
 * which answers "m in n" for every n without keeping samples (docs/studies/hot-path.md).
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
    uint64_t n, min, sum, max; /* n = 0: no samples in this window */
} rts_window;

typedef struct rts_hist {
    union {
        struct {
            uint64_t n, min, sum, max;
        };
        rts_window all;
    };
    uint64_t sum_high; /* of the sum of separate values: a stall's omissions grow with its square */
    rts_count count[RTS_HIST_BUCKETS + 1]; /* the last one counts the overflow */
} rts_hist;

/* Buckets merged per sample: a pair of batches must be merged before the next batch ends. */
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

/* Percentiles for which batches are counted: p50, p90, p99, p999, p9999. */
#define RTS_LINES 5

/* Successive samples: their number, their sum, and how many are at or above each line. */
typedef struct rts_batch {
    uint64_t n, sum, above[RTS_LINES];
} rts_batch;

#if RTS_BATCH_MAX
typedef uint32_t rts_tally; /* count within a batch, which has fewer than 2^32 samples */
#else
typedef rts_count rts_tally;
#endif

/*
 * A batch of a long series: samples and their sum up to its end, and the indexes of its histograms.
 */
typedef struct rts_mark {
    uint64_t n, sum;
    uint8_t part, second; /* second: of the later of two combined batches, until it is merged */
} rts_mark;

typedef enum rts_ended {
    RTS_RUNNING,
    RTS_BY_SAMPLES,
    RTS_BY_TIME,
    RTS_BY_STOP,
    RTS_BY_LIMIT
} rts_ended;

#if RTS_MISSES
/* How the misses of a series lie among its activations, which count from 0. */
typedef struct rts_misses {
    uint64_t n;                  /* how many there were */
    uint64_t late;               /* those of them that are samples above the limit */
    uint64_t squares;            /* sum of the squared lengths of runs of successive misses */
    uint64_t run;                /* length of the latest such run */
    uint64_t window[RTS_MISSES]; /* [k - 1]: fewest successive activations with k misses */
    uint64_t place[RTS_MISSES];  /* ring: activations of the latest misses */
} rts_misses;
#endif

/* Limits of a series, and its clock; all times in ticks of that clock. */
typedef struct rts_rec_setup {
    uint64_t hz;       /* ticks per second */
    uint64_t overhead; /* subtracted by the host; samples below it are counted as negative */
    uint64_t samples;  /* end after this many; 0: no limit */
    uint64_t time;     /* end after this time; 0: no limit */
    uint64_t warmup;   /* samples discarded first */
    uint64_t busy;     /* call on_rest after this time without a rest; 0: never */
    const volatile bool *stop; /* end when it becomes true; may be NULL */
    uint64_t *raw;             /* room for `samples` values, or NULL: do not keep them */
    uint64_t late_from;        /* a sample of at least this value is a miss; 0: none is */
    uint64_t over_from;        /* the same, which ends the series; late_from or more; 0: none */
    volatile bool *over;       /* set by such a sample: ends all series that share it */
} rts_rec_setup;

typedef struct rts_rec {
    /* used for every sample, kept together */
    uint64_t next;      /* clock value at which limits have to be checked */
    uint64_t low, high; /* a sample < low or >= high takes rts_rec_add_unusual() */
    uint64_t sum;       /* of samples since the last flush */
    rts_tally *count;   /* of buckets, where samples are counted at present */
#if RTS_BATCH_MAX
    size_t order_n, order_step; /* place of the next sample in `order`, and its increment: 1 or 0 */
#endif
    uint32_t left;  /* samples until the next flush... */
    uint32_t chunk; /* ...of this many since the last one */
    volatile bool running;

    /* used by rts_rec_add_unusual() */
    bool attentive;    /* every sample of this chunk takes rts_rec_add_unusual(): high is 0 */
    uint64_t min, max; /* of the window, and since the last flush */
    uint64_t overhead, negative;
    uint64_t worst_floor; /* a sample of at least this value is one of the worst */
    uint64_t *raw_next, *raw_end;
#if RTS_BATCH_MAX
    rts_tally *spare; /* buckets used after those of `count` */
    uint32_t *merge_to, *merge_from, *merge_end;
#endif

    /* used only by rts_rec_flush() and readers */
    rts_rec_setup setup;
    uint64_t start;      /* clock value at the start of the section */
    uint64_t warm;       /* warm-up samples still to be discarded */
    uint64_t tail;       /* the last of these, before which on_section is called */
    uint64_t discarded;  /* warm-up samples discarded */
    uint64_t deadline;   /* clock value, UINT64_MAX: none */
    uint64_t rest_at;    /* clock value, UINT64_MAX: never */
    uint64_t window_end; /* clock value */
    uint64_t missed;     /* activations that never happened: rts_rec_omit() */
    uint64_t rests;
    rts_ended ended;
    void (*on_section)(void *arg); /* called once, shortly before the warm-up ends */
    void (*on_rest)(void *arg);    /* called between two samples */
    void *hook_arg;

    unsigned worst_n;
    rts_sample worst[RTS_WORST]; /* largest first */

    uint64_t window_ticks;
    unsigned window_i;
    unsigned trace_halved;        /* how often pairs of windows were merged since the last finish */
    rts_window window[RTS_TRACE]; /* in order once the series is finished, as is block */

    uint64_t block_samples, block_n, block_max;
    unsigned blocks, blocks_halved;
    uint64_t block[RTS_BLOCKS];

#if RTS_BATCH_MAX
    uint64_t batch_samples; /* samples in a batch of a long series; 0: too many to count */
    uint64_t batch_end;     /* number of samples at the end of the current batch */
    unsigned marks, filling, spare_part;
    bool halved;
    rts_mark mark[RTS_BATCH_MAX];
    uint64_t order[RTS_BATCH_MAX * RTS_BATCH_SAMPLES + 1]; /* the first; last: all others */
    uint32_t part[RTS_BATCH_MAX + 1][RTS_BATCH_STRIDE];
#endif

    rts_hist hist;

    uint64_t late_from, over_from; /* as in setup; UINT64_MAX: none, as during warm-up */
    uint64_t gap; /* activations missed after the next sample, which has yet to be recorded */
#if RTS_MISSES
    rts_misses misses;
#endif

    /* Called for a sample that is one of the worst so far, after it has been recorded. */
    void (*on_worst)(void *arg, const struct rts_rec *r, const rts_sample *sample);
} rts_rec;

/* Calls on_worst for entry i of the worst. On a port that never traces no instruction is spent. */
static inline void rts_rec_report_worst(const rts_rec *r, unsigned i)
{
#ifdef RTS_TRACED
    if (r->on_worst)
        r->on_worst(r->hook_arg, r, &r->worst[i]);
#else
    (void)r;
    (void)i;
#endif
}

/* Prepares the recorder and touches all of its memory. */
void rts_rec_init(rts_rec *r, const rts_rec_setup *setup);

/* Before the section: has it take at most so many samples, none of them to warm up. */
void rts_rec_limit(rts_rec *r, uint64_t samples);

/*
 * Begins the timed section: calls on_section unless that has been done. For benches that record
 * samples later than they take them; otherwise it is called shortly before the warm-up ends.
 */
void rts_rec_section(rts_rec *r);

/* Counts activations that never happened, as the one before them was late: the next sample. */
RTS_SHARED void rts_rec_omit(rts_rec *r, uint64_t missed);
RTS_SHARED void rts_rec_omit(rts_rec *r, uint64_t missed)
{
    r->missed += missed;
#if RTS_MISSES
    r->gap += missed;
    if (missed)
        r->high = 0; /* the next sample takes rts_rec_add_unusual() */
#endif
}

/* Starts the series at clock value t. */
void rts_rec_start(rts_rec *r, uint64_t t);

/* Checks the limits at clock value t without a sample: for benches that may wait long for one. */
void rts_rec_look(rts_rec *r, uint64_t t);

/* Ends the series; from then on hist, worst, window and block contain everything recorded. */
void rts_rec_finish(rts_rec *r);

/* Returns the number of samples recorded so far, including warm-up. */
static inline uint64_t rts_rec_taken(const rts_rec *r)
{
    return r->hist.n + r->discarded + (r->chunk - r->left);
}

/*
 * Returns number, extremes and sum of the samples recorded so far, without warm-up: more than hist
 * has until the next flush. Approximate if read while the series is being recorded.
 */
rts_window rts_rec_so_far(const rts_rec *r);

#if RTS_BATCH_MAX

/*
 * Finds the lines of a finished series as bucket indexes: each line divides the samples into those
 * in buckets below it and those in buckets from it on. A line is the bucket boundary nearest to its
 * percentile, which must have at least ten samples above it. Returns the number of lines.
 */
unsigned rts_rec_lines(const rts_rec *r, unsigned line[RTS_LINES]);

/* Fills in batch i of a finished series; returns false if there is none. */
bool rts_rec_batch(const rts_rec *r, unsigned i, unsigned lines, const unsigned line[RTS_LINES],
                   rts_batch *batch);

#endif

void rts_hist_init(rts_hist *h);

/* Adds a value to a separate histogram (not on the hot path). */
void rts_hist_add(rts_hist *h, uint64_t value);

/* Returns the start of the bucket that contains the percentile (nearest rank). */
uint64_t rts_hist_percentile(const rts_hist *h, unsigned per_thousand);

/* Returns the same of a series that has samples; approximate while the series is being recorded. */
uint64_t rts_rec_percentile(const rts_rec *r, unsigned per_thousand);

/* Returns the smallest value of bucket i. */
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
    /* 63 ^ clz is the position of the highest set bit; 31 ^ clz if values have 32 bits */
    unsigned s = sizeof u == 4 ? 31u ^ (unsigned)__builtin_clz((unsigned)(u >> RTS_HIST_BITS | 1))
                               : 63u ^ (unsigned)__builtin_clzll(u >> RTS_HIST_BITS | 1);
    return (s << RTS_HIST_BITS) + (unsigned)(u >> s);
}

/* ---- the hot path --------------------------------------------------------------------------- */

/* Records a sample that ends its chunk or is outside the bounds. */
void rts_rec_add_unusual(rts_rec *r, uint64_t value, uint64_t t);

/*
 * Adds the sums of a chunk whose last sample ended at t to the totals, and begins the next chunk.
 */
void rts_rec_flush(rts_rec *r, uint64_t t);

/* The work for every sample. */
RTS_HOT void rts_rec_account(rts_rec *r, uint64_t value)
{
    r->sum += value;
#if RTS_BATCH_MAX
    r->order[r->order_n] = value;
    r->order_n += r->order_step;
#endif
    r->count[rts_bucket(value)]++; /* marked: sample */
}

/*
 * Records one sample: its value in ticks, and the clock at its end, which determines its window.
 * Runs after the second time stamp.
 */
RTS_SHARED void rts_rec_add(rts_rec *r, uint64_t value, uint64_t t);
RTS_SHARED void rts_rec_add(rts_rec *r, uint64_t value, uint64_t t)
{
    if (__builtin_expect(t >= r->next || value < r->low || value >= r->high, 0)) {
        rts_rec_add_unusual(r, value, t);
        return;
    }
    rts_rec_account(r, value);
    if (__builtin_expect(--r->left == 0, 0))
        rts_rec_flush(r, t);
}

#endif
