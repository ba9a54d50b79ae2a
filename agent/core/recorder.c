#include "recorder.h"

#include <string.h>

void rts_hist_init(rts_hist *h)
{
    memset(h, 0, sizeof *h);
    h->min = UINT64_MAX;
}

void rts_hist_add(rts_hist *h, uint64_t value)
{
    h->count[rts_bucket(value)]++;
    h->n++;
    h->sum += value;
    h->min = value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
}

uint64_t rts_hist_percentile(const rts_hist *h, unsigned per_thousand)
{
    uint64_t seen = 0;
    unsigned i = 0;
    while (i < RTS_HIST_BUCKETS && (seen += h->count[i]) * 1000 < h->n * per_thousand)
        i++;
    return rts_bucket_start(i);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- batches ------------------------------------------------------------------------------- */

#if RTS_BATCH_MAX

enum { ORDERED = RTS_BATCH_MAX * RTS_BATCH_SAMPLES };

static void start_batches(rts_rec *r)
{
    r->batch_samples = r->batch_end = RTS_BATCH_SAMPLES;
    for (unsigned i = 0; i < RTS_BATCH_MAX; i++)
        r->mark[i].copy = (uint8_t)i;
}

/* How many samples the batch that is being filled still takes. */
static uint64_t batch_room(const rts_rec *r)
{
    return r->batch_end - r->hist.n;
}

/* Keeps the samples since the last turn in their order, while there is room. */
static void keep_order(rts_rec *r)
{
    uint64_t n = r->hist.n;
    if (n < ORDERED)
        memcpy(&r->order[n], r->value, least(r->used, ORDERED - n) * sizeof *r->value);
}

/* Gives up every other mark, so that a batch is twice as long, and with it its copy. */
static void halve_marks(rts_rec *r)
{
    uint8_t given_up[RTS_BATCH_MAX / 2];
    for (unsigned i = 0; i < RTS_BATCH_MAX / 2; i++) {
        given_up[i] = r->mark[2 * i].copy;
        r->mark[i] = r->mark[2 * i + 1];
    }
    for (unsigned i = 0; i < RTS_BATCH_MAX / 2; i++)
        r->mark[RTS_BATCH_MAX / 2 + i].copy = given_up[i];
    r->marks = RTS_BATCH_MAX / 2;
    r->batch_samples *= 2;
}

/*
 * Marks the end of a batch.  Up to where the order is known no copy is needed; and what lies
 * outside the extremes so far is 0 in every copy.
 */
static void mark_batch(rts_rec *r)
{
    rts_mark *m = &r->mark[r->marks++];
    uint32_t *copy = r->copy[m->copy];
    unsigned first = rts_bucket(r->hist.min), last = rts_bucket(r->hist.max);
    m->n = r->hist.n;
    m->sum = r->hist.sum;
    if (m->n < ORDERED)
        return;
    for (unsigned i = first; i <= last && i < RTS_HIST_BUCKETS; i++)
        copy[i] = (uint32_t)r->hist.count[i];
}

static void end_batch(rts_rec *r)
{
    if (r->hist.n < r->batch_end)
        return;
    r->batch_end += r->batch_samples;
    if (r->marks < RTS_BATCH_MAX)
        mark_batch(r);
    else
        halve_marks(r); /* the batch just completed is now the first half of one */
    if (r->batch_samples > UINT32_MAX) {
        r->batch_samples = 0;
        r->batch_end = UINT64_MAX;
    }
}

/* The samples first to last - 1 of those that are kept. */
static void cut(const rts_rec *r, uint64_t first, uint64_t last, unsigned lines,
                const unsigned line[RTS_LINES], rts_batch *batch)
{
    batch->n = last - first;
    for (uint64_t i = first; i < last; i++) {
        unsigned bucket = rts_bucket(r->order[i]);
        batch->sum += r->order[i];
        for (unsigned k = 0; k < lines; k++)
            batch->above[k] += bucket >= line[k];
    }
}

static uint32_t upto(const rts_rec *r, unsigned mark, unsigned bucket)
{
    return mark < r->marks ? r->copy[r->mark[mark].copy][bucket] : (uint32_t)r->hist.count[bucket];
}

/* What lies between two ends of batches that have a copy, or the start of the series and one. */
static void subtract(const rts_rec *r, unsigned mark, unsigned lines,
                     const unsigned line[RTS_LINES], rts_batch *batch)
{
    uint64_t below = 0;
    unsigned bucket = 0;
    for (unsigned k = 0; k < lines; k++) {
        for (; bucket < line[k]; bucket++)
            below += upto(r, mark, bucket) - (mark ? upto(r, mark - 1, bucket) : 0);
        batch->above[k] = batch->n - below;
    }
}

/* Batches between marks; behind the last mark, all that came after it. */
static void between(const rts_rec *r, unsigned mark, unsigned lines, const unsigned line[RTS_LINES],
                    rts_batch *batch)
{
    const rts_mark none = {0}, end = {.n = r->hist.n, .sum = r->hist.sum};
    const rts_mark *from = mark ? &r->mark[mark - 1] : &none;
    const rts_mark *to = mark < r->marks ? &r->mark[mark] : &end;
    if (to->n <= ORDERED) { /* which is the end of a batch, if none is longer */
        cut(r, from->n, to->n, lines, line, batch);
    } else {
        batch->n = to->n - from->n;
        batch->sum = to->sum - from->sum;
        subtract(r, mark, lines, line, batch);
    }
}

unsigned rts_rec_lines(const rts_rec *r, unsigned line[RTS_LINES])
{
    static const uint16_t percentile[RTS_LINES] = {5000, 9000, 9900, 9990, 9999};
    const uint64_t whole = 10000, n = r->hist.n;
    uint64_t below = 0;
    unsigned bucket = 0, lines = 0;
    for (; lines < RTS_LINES && n * (whole - percentile[lines]) >= 10 * whole; lines++) {
        uint64_t wanted = n * percentile[lines];
        while (bucket < RTS_HIST_BUCKETS && (below + r->hist.count[bucket]) * whole < wanted)
            below += r->hist.count[bucket++];
        uint64_t with = bucket < RTS_HIST_BUCKETS ? below + r->hist.count[bucket] : below;
        bool nearer = with * whole - wanted < wanted - below * whole;
        line[lines] = bucket + (bucket < RTS_HIST_BUCKETS && nearer);
    }
    return lines;
}

bool rts_rec_batch(const rts_rec *r, unsigned i, unsigned lines, const unsigned line[RTS_LINES],
                   rts_batch *batch)
{
    uint64_t n = r->hist.n, parts = least(n, RTS_BATCH_MAX);
    memset(batch, 0, sizeof *batch);
    if (!r->batch_samples)
        return false;
    if (n > ORDERED && i <= r->marks)
        between(r, i, lines, line, batch);
    else if (n <= ORDERED && i < parts)
        cut(r, i * n / parts, (i + 1) * n / parts, lines, line, batch);
    return batch->n > 0;
}

#else

static void start_batches(rts_rec *r)
{
    (void)r;
}

static uint64_t batch_room(const rts_rec *r)
{
    (void)r;
    return UINT64_MAX;
}

static void keep_order(rts_rec *r)
{
    (void)r;
}

static void end_batch(rts_rec *r)
{
    (void)r;
}

#endif

/* ---- the life of a series ------------------------------------------------------------------ */

void rts_rec_init(rts_rec *r, const rts_rec_setup *setup)
{
    memset(r, 0, sizeof *r); /* touches every page */
    r->setup = *setup;
    if (RTS_COUNT_BITS == 32) /* no counter can overflow, nor with what comes on the way out */
        r->setup.samples = least(setup->samples - 1, UINT32_MAX / 2) + 1;
    r->warm = setup->warmup;
    r->tail = least(setup->warmup / 2, RTS_CHUNK / 2);
    r->window_ticks = setup->hz;
    r->block_samples = RTS_CHUNK;
    start_batches(r);
    rts_hist_init(&r->hist);
}

/* Sets how many samples and until when the next chunk lasts: a second at most, to see a stop. */
static void next_chunk(rts_rec *r, uint64_t t)
{
    uint64_t n = RTS_CHUNK;
    if (r->warm)
        n = least(n, r->on_section ? r->warm - r->tail : r->warm);
    else if (r->setup.samples)
        n = least(n, r->setup.samples - r->hist.n);
    if (!r->warm)
        n = least(n, least(r->block_samples - r->block_n, batch_room(r)));
    r->used = 0;
    r->chunk = n;
    r->next = t + r->setup.hz;
    if (!r->warm)
        r->next = least(least(r->next, r->window_end), least(r->deadline, r->rest_at));
}

/* Takes t as the start of the section: times are counted, and limits set, from here. */
static void set_start(rts_rec *r, uint64_t t)
{
    r->start = t;
    r->window_end = t + r->window_ticks;
    r->deadline = r->setup.time ? t + r->setup.time : UINT64_MAX;
    r->rest_at = r->setup.busy ? t + r->setup.busy : UINT64_MAX;
}

void rts_rec_section(rts_rec *r)
{
    void (*call)(void *) = r->on_section;
    r->on_section = NULL;
    if (call)
        call(r->hook_arg);
}

void rts_rec_start(rts_rec *r, uint64_t t)
{
    if (!r->warm)
        rts_rec_section(r);
    set_start(r, t);
    r->running = true;
    next_chunk(r, t);
}

/* Puts a sample into the list of the worst, if it belongs there. */
static void insert_worst(rts_rec *r, const rts_sample *s)
{
    unsigned i = r->worst_n < RTS_WORST ? r->worst_n++ : RTS_WORST - 1;
    for (; i > 0 && r->worst[i - 1].value < s->value; i--)
        r->worst[i] = r->worst[i - 1];
    r->worst[i] = *s;
    if (r->worst_n == RTS_WORST)
        r->floor = r->worst[RTS_WORST - 1].value + 1;
}

static void merge_window(rts_window *a, const rts_window *b)
{
    if (!b->n)
        return;
    a->min = a->n ? least(a->min, b->min) : b->min;
    a->max = a->max > b->max ? a->max : b->max;
    a->n += b->n;
    a->sum += b->sum;
}

/* Makes one window of two, so that the trace covers twice the time. */
static void halve_trace(rts_rec *r)
{
    for (unsigned i = 0; i < RTS_TRACE / 2; i++) {
        rts_window w = r->window[2 * i];
        merge_window(&w, &r->window[2 * i + 1]);
        r->window[i] = w;
    }
    memset(&r->window[RTS_TRACE / 2], 0, sizeof r->window / 2);
    r->window_ticks *= 2;
    r->window_i /= 2;
}

/* Goes on to the window that t lies in. */
static void next_window(rts_rec *r, uint64_t t)
{
    while ((t - r->start) / r->window_ticks >= RTS_TRACE)
        halve_trace(r);
    r->window_i = (unsigned)((t - r->start) / r->window_ticks);
    r->window_end = r->start + (r->window_i + 1) * r->window_ticks;
}

static void end_block(rts_rec *r)
{
    if (r->blocks == RTS_BLOCKS) {
        for (unsigned i = 0; i < RTS_BLOCKS / 2; i++) {
            uint64_t a = r->block[2 * i], b = r->block[2 * i + 1];
            r->block[i] = a > b ? a : b;
        }
        r->blocks = RTS_BLOCKS / 2;
        r->block_samples *= 2;
        /* the block just completed is now the first half of one */
        return;
    }
    r->block[r->blocks++] = r->block_max;
    r->block_n = 0;
    r->block_max = 0;
}

/* Count, sum and extremes of a chunk; its k samples into the histogram and the list of the worst.
 */
static rts_window sort_in(rts_rec *r, uint64_t k)
{
    rts_window chunk = {.n = k, .min = UINT64_MAX};
    for (uint64_t i = 0; i < k; i++) {
        uint64_t v = r->value[i];
        r->hist.count[rts_bucket(v)]++;
        chunk.sum += v;
        chunk.min = least(chunk.min, v);
        chunk.max = chunk.max > v ? chunk.max : v;
        if (v >= r->floor)
            insert_worst(r, &(rts_sample){v, r->at[i] - r->start, r->hist.n + i});
    }
    return chunk;
}

/* What few chunks need: raw values kept, and samples below the clock's overhead counted. */
static void look_closer(rts_rec *r, const rts_window *chunk)
{
    for (uint64_t i = 0; chunk->min < r->setup.overhead && i < chunk->n; i++)
        r->negative += r->value[i] < r->setup.overhead;
    for (uint64_t i = 0; r->setup.raw && i < chunk->n && r->hist.n + i < r->setup.samples; i++)
        r->setup.raw[r->hist.n + i] = r->value[i];
}

/* Moves the samples since the last turn into the totals. */
static void fold(rts_rec *r)
{
    uint64_t k = r->used;
    if (!k)
        return;
    rts_window chunk = sort_in(r, k);
    look_closer(r, &chunk);
    keep_order(r);
    merge_window(&r->window[r->window_i], &chunk);
    r->hist.n += k;
    r->hist.sum += chunk.sum;
    r->hist.min = least(r->hist.min, chunk.min);
    r->hist.max = r->hist.max > chunk.max ? r->hist.max : chunk.max;
    r->block_n += k;
    r->block_max = r->block_max > chunk.max ? r->block_max : chunk.max;
    if (r->block_n >= r->block_samples)
        end_block(r);
    end_batch(r);
}

/* Discards the warm-up samples since the last turn, which came at t. */
static void discard(rts_rec *r, uint64_t t)
{
    r->warm -= r->used;
    r->discarded += r->used;
    if (r->warm <= r->tail)
        rts_rec_section(r);
    if (!r->warm)
        set_start(r, t);
}

static void check_limits(rts_rec *r, uint64_t t)
{
    if (r->setup.samples && r->hist.n >= r->setup.samples)
        r->ended = RTS_BY_SAMPLES;
    else if (t >= r->deadline)
        r->ended = RTS_BY_TIME;
    else if (r->setup.stop && *r->setup.stop)
        r->ended = RTS_BY_STOP;
    else
        return;
    r->running = false;
}

static void rest(rts_rec *r, uint64_t t)
{
    r->on_rest(r->hook_arg);
    r->rests++;
    r->rest_at = t + r->setup.busy; /* a little early: the rest itself is not known here */
}

void rts_rec_turn(rts_rec *r, uint64_t t)
{
    if (r->warm) {
        discard(r, t);
    } else {
        fold(r);
        if (t >= r->window_end)
            next_window(r, t);
    }
    check_limits(r, t);
    if (t >= r->rest_at && r->running)
        rest(r, t);
    next_chunk(r, t);
    if (!r->running) /* a bench of several tasks may add a few more on its way out */
        r->chunk = least(RTS_CHUNK, batch_room(r));
}

void rts_rec_finish(rts_rec *r)
{
    if (r->warm)
        r->discarded += r->used;
    else
        fold(r);
    r->used = 0;
    r->chunk = least(RTS_CHUNK, batch_room(r));
    r->running = false;
}
