/* The recorder, compared with an exact count of the same samples. */
#include "recorder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define HZ 1000000000u
#define LAST (UINT64_MAX >> (64 - RTS_HIST_RANGE)) /* the largest value that has a bucket */

static rts_rec r;
static rts_rec_setup setup;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void start(uint64_t t)
{
    rts_rec_init(&r, &setup);
    rts_rec_start(&r, t);
}

static void defaults(void)
{
    setup = (rts_rec_setup){.hz = HZ, .samples = 1000000};
}

static void test_buckets_are_contiguous_and_narrow(void)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < RTS_HIST_BUCKETS; i++) {
        CHECK_EQ(rts_bucket_start(i), v);
        CHECK_EQ(rts_bucket(v), i);
        uint64_t next = i + 1 < RTS_HIST_BUCKETS ? rts_bucket_start(i + 1) : LAST + 1;
        CHECK_EQ(rts_bucket(next - 1), i);
        CHECK(next - v == 1 || (next - v) * 128 <= v);
        v = next;
    }
    CHECK_EQ(v, LAST + 1);
#if RTS_HIST_RANGE < 64
    CHECK_EQ(rts_bucket(v), RTS_HIST_BUCKETS);
    CHECK_EQ(rts_bucket(UINT64_MAX), RTS_HIST_BUCKETS);
#endif
}

static void test_count_sum_extremes_and_overflow_are_exact(void)
{
    const uint64_t large = RTS_HIST_RANGE < 64 ? LAST + 1 : UINT64_C(1) << 60;
    const uint64_t values[] = {5, 0, 1000000, large, 300};
    defaults();
    setup.overhead = 6;
    start(0);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 5; i++) {
        rts_rec_add(&r, values[i], i);
        sum += values[i];
    }
    rts_rec_finish(&r);
    rts_rec_finish(&r); /* a second call must change nothing */
    CHECK_EQ(r.hist.n, 5);
    CHECK_EQ(r.hist.sum, sum);
    CHECK_EQ(r.hist.min, 0);
    CHECK_EQ(r.hist.max, large);
    CHECK_EQ(r.hist.count[RTS_HIST_BUCKETS], RTS_HIST_RANGE < 64);
    CHECK_EQ(r.negative, 2);
    CHECK_EQ(r.hist.count[5], 1);
}

static void test_ends_after_exactly_the_samples_asked_for(void)
{
    const uint64_t wanted[] = {1, 63, 64, 65, 1000};
    for (unsigned i = 0; i < 5; i++) {
        defaults();
        setup.samples = wanted[i];
        setup.warmup = 7;
        start(0);
        uint64_t added = 0;
        for (; r.running; added++)
            rts_rec_add(&r, 1, added);
        rts_rec_finish(&r);
        CHECK_EQ(r.hist.n, wanted[i]);
        CHECK_EQ(added, wanted[i] + 7);
        CHECK_EQ(r.discarded, 7);
        CHECK_EQ(r.ended, RTS_BY_SAMPLES);
    }
}

static void test_ends_when_the_time_is_up_or_it_is_told_to(void)
{
    bool stop = false;
    defaults();
    setup.samples = 0;
    setup.time = 1000;
    start(5000);
    for (uint64_t t = 5000; r.running; t += 10)
        rts_rec_add(&r, 1, t);
    rts_rec_finish(&r);
    CHECK_EQ(r.ended, RTS_BY_TIME);
    CHECK_EQ(r.hist.n, 101); /* the sample that reaches the limit is the last */
    setup.time = 0;
    setup.stop = &stop;
    start(0);
    for (uint64_t i = 0; r.running && i < 1000; i++) {
        stop = i >= 100;
        rts_rec_add(&r, 1, i);
    }
    rts_rec_finish(&r);
    CHECK_EQ(r.ended, RTS_BY_STOP);
    CHECK(r.hist.n > 100 && r.hist.n <= 100 + RTS_BLOCK_SAMPLES);
}

static void test_warmup_leaves_no_trace(void)
{
    for (uint64_t warmup = 0; warmup < 300; warmup += 37) {
        defaults();
        setup.warmup = warmup;
        setup.samples = 100;
        start(0);
        for (uint64_t i = 0; r.running; i++)
            rts_rec_add(&r, i < warmup ? 1000000 + i : 5, i);
        rts_rec_finish(&r);
        CHECK_EQ(r.discarded, warmup);
        CHECK_EQ(r.hist.max, 5);
        CHECK_EQ(r.hist.sum, 500);
        CHECK_EQ(r.hist.count[5], 100);
        CHECK_EQ(r.worst[0].value, 5);
        uint64_t counted = 0;
        for (unsigned i = 0; i <= RTS_HIST_BUCKETS; i++)
            counted += r.hist.count[i];
        CHECK_EQ(counted, 100);
    }
}

static int section_calls;
static uint64_t section_discarded;
static void on_section(void *arg)
{
    (void)arg;
    section_calls++;
    section_discarded = r.discarded;
}

static void test_section_starts_shortly_before_the_warmup_ends(void)
{
    const uint64_t warmups[] = {0, 1, 2, 10, 200, 100000};
    for (unsigned i = 0; i < 6; i++) {
        defaults();
        setup.warmup = warmups[i];
        setup.samples = 10;
        section_calls = 0;
        section_discarded = UINT64_MAX;
        rts_rec_init(&r, &setup);
        r.on_section = on_section;
        rts_rec_start(&r, 0);
        for (uint64_t k = 0; r.running; k++)
            rts_rec_add(&r, 1, k);
        CHECK_EQ(section_calls, 1);
        CHECK(section_discarded <= warmups[i] &&
              warmups[i] - section_discarded <= RTS_BLOCK_SAMPLES);
        CHECK(section_discarded < warmups[i] || warmups[i] < 2);
    }
}

static void test_a_stop_is_seen_within_a_second_also_in_the_warmup(void)
{
    bool stop = true;
    defaults();
    setup.samples = 0;
    setup.warmup = 1000;
    setup.stop = &stop;
    start(0);
    uint64_t t = 0;
    for (; r.running; t += HZ / 10)
        rts_rec_add(&r, 1, t);
    CHECK(t <= HZ + HZ / 5);
    rts_rec_finish(&r);
    CHECK_EQ(r.hist.n, 0);
    CHECK_EQ(r.ended, RTS_BY_STOP);
    setup.warmup = 0;
    stop = false;
    start(0);
    for (t = 0; t < 20000 * (uint64_t)HZ; t += 4 * (uint64_t)HZ) /* the trace is halved twice */
        rts_rec_add(&r, 1, t);
    stop = true;
    rts_rec_add(&r, 1, t);
    CHECK(!r.running);
}

static int descending(const void *a, const void *b)
{
    uint64_t x = ((const rts_sample *)a)->value, y = ((const rts_sample *)b)->value;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void test_the_worst_are_the_worst(void)
{
    enum { N = 5000 };
    static rts_sample all[N];
    srand(1);
    for (int round = 0; round < 20; round++) {
        defaults();
        setup.samples = N;
        setup.warmup = 3;
        start(100);
        for (uint64_t i = 0; i < N + 3; i++) {
            uint64_t value = (uint64_t)rand() % 100000 + (round == 0 ? i * 100000 : 0);
            uint64_t t = 100 + 7 * i;
            rts_rec_add(&r, value, t);
            if (i >= 3)
                all[i - 3] = (rts_sample){value, t - (100 + 7 * 2), i - 3};
        }
        rts_rec_finish(&r);
        qsort(all, N, sizeof all[0], descending);
        CHECK_EQ(r.worst_n, RTS_WORST);
        for (unsigned i = 0; i < RTS_WORST; i++) {
            CHECK_EQ(r.worst[i].value, all[i].value);
            if (i + 1 < RTS_WORST && all[i].value != all[i + 1].value &&
                (!i || all[i].value != all[i - 1].value)) {
                CHECK_EQ(r.worst[i].index, all[i].index);
                CHECK_EQ(r.worst[i].at, all[i].at);
            }
        }
    }
}

static void test_trace_keeps_extremes_and_halves_when_full(void)
{
    defaults();
    setup.samples = 0;
    setup.time = UINT64_C(10000) * HZ; /* more windows than there is room for */
    start(0);
    uint64_t n = 0;
    for (uint64_t t = HZ / 2; r.running; t += HZ, n++)
        rts_rec_add(&r, n, t);
    rts_rec_finish(&r);
    uint64_t width = 1; /* 10,000 s in the available windows */
    while (width * RTS_TRACE < 10000)
        width *= 2;
    CHECK_EQ(r.window_ticks, width * (uint64_t)HZ);
    uint64_t total = 0, sum = 0;
    for (unsigned i = 0; i < RTS_TRACE; i++) {
        const rts_window *w = &r.window[i];
        if (!w->n)
            continue;
        total += w->n;
        sum += w->sum;
        CHECK_EQ(w->min, width * i); /* sample n ends half a second into second n */
        CHECK_EQ(w->max, least(width * (i + 1), n) - 1);
        CHECK_EQ(w->n, w->max - w->min + 1);
    }
    CHECK_EQ(total, n);
    CHECK_EQ(total, r.hist.n);
    CHECK_EQ(sum, r.hist.sum);
}

/* Few samples: many empty windows, gaps of more windows than there are, many samples in one. */
static void test_a_sample_belongs_to_the_window_in_which_it_ends(void)
{
    enum { N = 3000 };
    static uint64_t at[N];
    srand(2);
    for (unsigned round = 0; round < 20; round++) {
        defaults();
        setup.samples = N;
        start(HZ);
        uint64_t t = HZ;
        for (unsigned i = 0; i < N; i++) {
            unsigned kind = (unsigned)rand() % 1000;
            t += kind < 900 ? (uint64_t)rand() % (HZ / 50) : (uint64_t)rand() % (HZ * 5u);
            if (kind >= 980 && kind < 990) /* exactly where a window ends */
                t += HZ - t % HZ;
            t += kind == 999 ? HZ * (uint64_t)RTS_TRACE * (round % 4) : 0;
            at[i] = t;
            rts_rec_add(&r, i, t);
            if (i == 500) /* reading it changes nothing */
                rts_rec_finish(&r);
            r.running = true;
        }
        rts_rec_finish(&r);
        uint64_t n = 0;
        for (unsigned w = 0; w < RTS_TRACE; w++) {
            uint64_t first = n, sum = 0;
            for (; n < N && (at[n] - HZ) / r.window_ticks == w; n++)
                sum += n;
            CHECK_EQ(r.window[w].n, n - first);
            CHECK_EQ(r.window[w].sum, sum);
            CHECK_EQ(r.window[w].min, n > first ? first : 0);
            CHECK_EQ(r.window[w].max, n > first ? n - 1 : 0);
        }
        CHECK_EQ(n, N);
    }
}

static void test_block_maxima(void)
{
    defaults();
    setup.samples = RTS_BLOCK_SAMPLES * 3 + 5;
    start(0);
    for (uint64_t i = 0; r.running; i++)
        rts_rec_add(&r, i % RTS_BLOCK_SAMPLES == 3 ? 1000 + i / RTS_BLOCK_SAMPLES : 1, i);
    rts_rec_finish(&r);
    CHECK_EQ(r.blocks, 3);
    CHECK_EQ(r.block_samples, RTS_BLOCK_SAMPLES);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(r.block[i], 1000 + i);
    setup.samples = RTS_BLOCK_SAMPLES * (RTS_BLOCKS + 6);
    start(0);
    for (uint64_t i = 0; r.running; i++)
        rts_rec_add(&r, i / RTS_BLOCK_SAMPLES, i);
    rts_rec_finish(&r);
    CHECK_EQ(r.block_samples, 2 * RTS_BLOCK_SAMPLES);
    CHECK_EQ(r.blocks, RTS_BLOCKS / 2 + 3);
    for (unsigned i = 0; i < r.blocks; i++)
        CHECK_EQ(r.block[i], 2 * i + 1);
    const uint64_t long_series = RTS_BLOCK_SAMPLES * (5 * RTS_BLOCKS + 8); /* halved three times */
    setup.samples = long_series;
    start(0);
    for (uint64_t i = 0; r.running; i++)
        rts_rec_add(&r, i, i);
    rts_rec_finish(&r);
    CHECK_EQ(r.block_samples, 8 * RTS_BLOCK_SAMPLES);
    CHECK_EQ(r.blocks, long_series / r.block_samples);
    for (unsigned i = 0; i < r.blocks; i++)
        CHECK_EQ(r.block[i], (i + 1) * r.block_samples - 1);
}

/* A value without order: its block is larger than others by chance alone. */
static uint64_t unordered(uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ (x >> 27)) % 1000003;
}

/* The maximum of each complete block is that of its samples, however often blocks were halved. */
static void test_block_maxima_are_those_of_the_samples(void)
{
    const uint64_t rest = RTS_BLOCK_SAMPLES / 2 + 1; /* the last block is incomplete */
    for (unsigned halved = 0; halved <= 3; halved++) {
        uint64_t whole = halved ? (UINT64_C(1) << (halved - 1)) * (RTS_BLOCKS + 2) : 7;
        defaults();
        setup.samples = RTS_BLOCK_SAMPLES * whole + rest;
        start(0);
        for (uint64_t i = 0; r.running; i++)
            rts_rec_add(&r, unordered(i), i);
        rts_rec_finish(&r);
        CHECK_EQ(r.block_samples, (UINT64_C(1) << halved) * RTS_BLOCK_SAMPLES);
        CHECK_EQ(r.blocks, setup.samples / r.block_samples);
        for (unsigned block = 0; block < r.blocks; block++) {
            uint64_t max = 0;
            for (uint64_t i = block * r.block_samples; i < (block + 1) * r.block_samples; i++)
                max = unordered(i) > max ? unordered(i) : max;
            CHECK_EQ(r.block[block], max);
        }
    }
}

#if RTS_BATCH_MAX
/* A sample of the series for testing batches: it drifts, and has occasional outliers. */
static uint64_t planted(uint64_t i)
{
    return i * 2654435761u % 1000 + i / 100 + (i % 97 ? 0 : 100000);
}

/* Compares the batches of the recorded series with its samples; returns their number. */
static unsigned check_batches(uint64_t n)
{
    unsigned line[RTS_LINES], lines = rts_rec_lines(&r, line), i = 0;
    uint64_t at = 0, all[RTS_LINES] = {0};
    for (rts_batch batch; rts_rec_batch(&r, i, lines, line, &batch); i++) {
        uint64_t sum = 0, above[RTS_LINES] = {0}, end = at + batch.n;
        for (; at < end; at++) {
            sum += planted(at);
            for (unsigned k = 0; k < lines; k++)
                above[k] += rts_bucket(planted(at)) >= line[k];
        }
        CHECK_EQ(batch.sum, sum);
        for (unsigned k = 0; k < lines; k++) {
            CHECK_EQ(batch.above[k], above[k]);
            all[k] += above[k];
        }
    }
    CHECK_EQ(at, n);
    for (unsigned k = 0; k < lines; k++) { /* no other line is nearer to the percentile */
        static const double share[RTS_LINES] = {0.5, 0.1, 0.01, 0.001, 0.0001};
        double off = (double)all[k] - (double)n * share[k];
        double down = off + (double)r.hist.count[line[k] - 1];
        double up = off - (double)r.hist.count[line[k]];
        CHECK(fabs(off) <= fabs(down) + 1e-6 && fabs(off) <= fabs(up) + 1e-6);
    }
    return i;
}

static void test_batches_are_exact_at_every_length(void)
{
    const uint64_t in_batches = RTS_BATCH_MAX * RTS_BATCH_SAMPLES;
    const uint64_t lengths[] = {1,
                                19,
                                20,
                                1000,
                                10007,
                                in_batches - 3,
                                in_batches + 1,
                                in_batches + 1024,
                                3 * in_batches + 5,
                                40 * in_batches + 77};
    for (unsigned k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        uint64_t n = lengths[k];
        defaults();
        setup.samples = n;
        start(0);
        for (uint64_t i = 0; r.running; i++)
            rts_rec_add(&r, planted(i), i);
        for (uint64_t i = n; i < n + k; i++) /* a few more after the end */
            rts_rec_add(&r, planted(i), i);
        rts_rec_finish(&r);
        unsigned batches = check_batches(n + k);
        if (n + k <= in_batches)
            CHECK_EQ(batches, n + k < RTS_BATCH_MAX ? n + k : RTS_BATCH_MAX);
        else
            CHECK(batches >= RTS_BATCH_MAX / 2 && batches <= RTS_BATCH_MAX + 1);
    }
}

static void test_a_line_has_ten_samples_above_it(void)
{
    const struct {
        uint64_t n;
        unsigned lines;
    } series[] = {{19, 0},   {20, 1},   {99, 1},    {100, 2},   {999, 2},
                  {1000, 3}, {9999, 3}, {10000, 4}, {99999, 4}, {100000, 5}};
    for (unsigned i = 0; i < sizeof series / sizeof series[0]; i++) {
        unsigned line[RTS_LINES];
        defaults();
        start(0);
        for (uint64_t k = 0; k < series[i].n; k++)
            rts_rec_add(&r, k, k);
        rts_rec_finish(&r);
        CHECK_EQ(rts_rec_lines(&r, line), series[i].lines);
    }
}

static void test_batches_that_would_overflow_are_given_up(void)
{
    rts_batch batch;
    static uint64_t counted[RTS_HIST_BUCKETS + 1];
    memset(counted, 0, sizeof counted);
    defaults();
    setup.samples = 0;
    setup.time = UINT64_MAX;
    start(0);
    for (uint64_t i = 0; i < 80 * 1000; i++) {
        if (i == 20 * 1000) { /* as if it had lasted that long */
            r.batch_samples = UINT64_C(1) << 31;
            r.marks = RTS_BATCH_MAX - 1;
        }
        if (i >= 20 * 1000 && i % 1000 == 0) /* and the next part were full: all take turns */
            r.batch_end = r.hist.n;
        rts_rec_add(&r, planted(i), i);
        counted[rts_bucket(planted(i))]++;
        if (i % 30000 == 29777)
            rts_rec_finish(&r); /* reading it loses or duplicates nothing */
    }
    rts_rec_finish(&r);
    CHECK(!rts_rec_batch(&r, 0, 0, NULL, &batch));
    CHECK_EQ(r.hist.n, 80 * 1000);
    for (unsigned i = 0; i <= RTS_HIST_BUCKETS; i++)
        CHECK_EQ(r.hist.count[i], counted[i]);
}
#else
static void test_batches_are_exact_at_every_length(void)
{
}

static void test_a_line_has_ten_samples_above_it(void)
{
}

static void test_batches_that_would_overflow_are_given_up(void)
{
}
#endif

static void test_percentiles_are_known_while_it_records(void)
{
    defaults();
    start(0);
    for (uint64_t i = 0; r.running; i++) {
        rts_rec_add(&r, 100 + i * 619 % 1000, i); /* each value equally often */
        if (i < 2000 || (i > 4000 && i % 12345))  /* first at any place of a chunk */
            continue;
        CHECK_EQ(rts_rec_so_far(&r).n, i + 1);
        for (unsigned share = 100; share < 1000; share += 200) {
            uint64_t percentile = rts_rec_percentile(&r, share), wanted = 100 + share;
            CHECK(percentile * 100 >= wanted * 98 && percentile * 100 <= wanted * 102);
        }
    }
    rts_rec_finish(&r);
    CHECK_EQ(rts_rec_percentile(&r, 500), rts_hist_percentile(&r.hist, 500));
}

static void test_no_counter_can_overflow(void)
{
    defaults();
    setup.samples = 0;
    start(0);
    CHECK_EQ(r.setup.samples, RTS_COUNT_BITS == 32 ? UINT64_C(1) << 31 : 0);
    setup.samples = UINT64_MAX;
    start(0);
    CHECK(RTS_COUNT_BITS == 64 || r.setup.samples == UINT64_C(1) << 31);
    setup.samples = 7;
    start(0);
    CHECK_EQ(r.setup.samples, 7);
}

static void test_raw_keeps_every_sample(void)
{
    static uint64_t raw[1000 + RTS_BLOCK_SAMPLES];
    defaults();
    setup.samples = 1000;
    setup.warmup = 70;
    setup.raw = raw;
    start(0);
    for (uint64_t i = 0; r.running; i++)
        rts_rec_add(&r, i * i, i);
    rts_rec_add(&r, 99, 2000); /* a sample after the end does not write past the buffer */
    rts_rec_finish(&r);
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_EQ(raw[i], (i + 70) * (i + 70));
    CHECK_EQ(raw[1000], 0);
}

static uint64_t rested;
static void on_rest(void *arg)
{
    (void)arg;
    rested++;
}

static void test_rests_after_so_long_without_one(void)
{
    defaults();
    setup.samples = 1000;
    setup.busy = 100;
    rts_rec_init(&r, &setup);
    r.on_rest = on_rest;
    rested = 0;
    rts_rec_start(&r, 0);
    for (uint64_t t = 0; r.running; t++)
        rts_rec_add(&r, 1, t);
    CHECK_EQ(rested, 9); /* at 100, 200, … 900 */
    CHECK_EQ(r.rests, rested);
}

TESTS(test_buckets_are_contiguous_and_narrow, test_count_sum_extremes_and_overflow_are_exact,
      test_ends_after_exactly_the_samples_asked_for, test_ends_when_the_time_is_up_or_it_is_told_to,
      test_warmup_leaves_no_trace, test_section_starts_shortly_before_the_warmup_ends,
      test_a_stop_is_seen_within_a_second_also_in_the_warmup, test_the_worst_are_the_worst,
      test_trace_keeps_extremes_and_halves_when_full,
      test_a_sample_belongs_to_the_window_in_which_it_ends, test_block_maxima,
      test_block_maxima_are_those_of_the_samples, test_batches_are_exact_at_every_length,
      test_a_line_has_ten_samples_above_it, test_batches_that_would_overflow_are_given_up,
      test_percentiles_are_known_while_it_records, test_no_counter_can_overflow,
      test_raw_keeps_every_sample, test_rests_after_so_long_without_one)
