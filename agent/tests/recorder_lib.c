/* The recorder for tests from Python. */
#include "recorder_lib.h"

#include "../benches/periodic.h"

#define HZ 1000000000
#define PERIOD 1000000

static rts_rec r;
static rts_hist omitted;

unsigned recorder_buckets(void)
{
    return RTS_HIST_BUCKETS;
}

static void copy_out(const rts_hist *h, uint64_t *counts, uint64_t *moments)
{
    for (unsigned i = 0; i <= RTS_HIST_BUCKETS; i++)
        counts[i] = h->count[i];
    moments[0] = h->n;
    moments[1] = h->sum;
    moments[2] = h->min;
    moments[3] = h->max;
}

void recorder_record(const uint64_t *values, uint64_t n, uint64_t *counts, uint64_t *moments)
{
    rts_rec_setup setup = {.hz = HZ, .samples = n};
    rts_rec_init(&r, &setup);
    rts_rec_start(&r, 0);
    for (uint64_t i = 0; i < n; i++)
        rts_rec_add(&r, values[i], i);
    rts_rec_finish(&r);
    copy_out(&r.hist, counts, moments);
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

void recorder_periodic(const uint64_t *own, uint64_t due, const uint64_t *stall, uint64_t stalls,
                       uint64_t *counts, uint64_t *moments)
{
    rts_rec_setup setup = {.hz = HZ, .time = due * PERIOD};
    rts_rec_init(&r, &setup);
    rts_hist_init(&omitted);
    rts_rec_start(&r, 0);
    for (rts_tick release = 0; r.running && release / PERIOD < due;) {
        rts_tick now = release + own[release / PERIOD];
        for (; stalls && stall[1] <= release; stall += 2)
            stalls--;
        if (stalls && stall[0] <= now && now < stall[1])
            now = stall[1];
        rts_tick late = now - release;
        release += (periodic_missed(&r, &omitted, PERIOD, late) + 1) * PERIOD;
        rts_rec_add(&r, late, now);
    }
    rts_rec_finish(&r);
    copy_out(&r.hist, counts, moments);
    copy_out(&omitted, counts + RTS_HIST_BUCKETS + 1, moments + 4);
}

unsigned recorder_misses(const uint64_t *late, uint64_t n, uint64_t warmup, uint64_t limit,
                         uint64_t *counts, uint64_t *windows)
{
    rts_rec_setup setup = {
        .hz = HZ, .samples = n, .warmup = warmup, .late_from = limit ? limit + 1 : 0};
    rts_rec_init(&r, &setup);
    rts_rec_start(&r, 0);
    rts_tick release = 0;
    for (uint64_t i = 0; i < n + warmup; i++) {
        rts_tick now = release + late[i];
        release += (periodic_missed(&r, NULL, PERIOD, late[i]) + 1) * PERIOD;
        rts_rec_add(&r, late[i], now);
    }
    rts_rec_finish(&r);
    counts[0] = r.misses.n;
    counts[1] = r.misses.late;
    counts[2] = r.misses.squares;
    counts[3] = r.missed;
    for (unsigned k = 0; k < RTS_MISSES; k++)
        windows[k] = r.misses.window[k];
    return RTS_MISSES;
}

uint64_t recorder_over(const uint64_t *late, uint64_t n, uint64_t limit, unsigned *ended)
{
    volatile bool over = false;
    rts_rec_setup setup = {
        .hz = HZ, .samples = n, .late_from = limit + 1, .over_from = limit + 1, .over = &over};
    rts_rec_init(&r, &setup);
    rts_rec_start(&r, 0);
    for (uint64_t i = 0; r.running && i < n; i++)
        rts_rec_add(&r, late[i], i * PERIOD + late[i]);
    rts_rec_finish(&r);
    *ended = r.ended;
    return r.hist.n;
}

void recorder_windows(uint64_t *n, unsigned windows)
{
    for (unsigned i = 0; i < windows; i++)
        n[i] = i < RTS_TRACE ? r.window[i].n : 0;
}
