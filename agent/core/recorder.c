#include "recorder.h"

#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
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

void rts_hist_init(rts_hist *h)
{
    memset(h, 0, sizeof *h);
    h->min = UINT64_MAX;
}

void rts_hist_add(rts_hist *h, uint64_t value)
{
    h->count[rts_bucket(value)]++;
    h->sum_high += h->sum + value < value;
    merge_window(&h->all, &(rts_window){1, value, value, value});
}

uint64_t rts_hist_percentile(const rts_hist *h, unsigned per_thousand)
{
    uint64_t seen = 0;
    unsigned i = 0;
    while (i < RTS_HIST_BUCKETS && (seen += h->count[i]) * 1000 < h->n * per_thousand)
        i++;
    return rts_bucket_start(i);
}

/* ---- lists whose entries are merged in pairs ----------------------------------------------- */

/*
 * Returns the place of entry i in a list that was halved `halved` times. Each time, the lower half
 * of the list takes the even places of the old one, and the upper half the odd places; the entries
 * there are merged into their even neighbours when their places are needed.
 */
static unsigned place(unsigned i, unsigned halved, unsigned size)
{
    unsigned bits = (unsigned)__builtin_ctz(size), by = halved % bits;
    return (i << by | i >> (bits - by)) & (size - 1);
}

/* Sorts the entries: moves entry i to place i. */
static void straighten(void *list, size_t entry, unsigned halved, unsigned size)
{
    unsigned char *bytes = list, first[sizeof(rts_window)];
    for (unsigned i = 0; i < size; i++) {
        unsigned at = place(i, halved, size);
        while (at > i)
            at = place(at, halved, size);
        if (at < i) /* part of a cycle that has been followed already */
            continue;
        memcpy(first, bytes + i * entry, entry);
        for (unsigned from; (from = place(at, halved, size)) != i; at = from)
            memcpy(bytes + at * entry, bytes + from * entry, entry);
        memcpy(bytes + at * entry, first, entry);
    }
}

/* ---- batches ------------------------------------------------------------------------------- */

#if RTS_BATCH_MAX

enum { ORDERED = RTS_BATCH_MAX * RTS_BATCH_SAMPLES, NONE = 255 };

static void start_batches(rts_rec *r)
{
    r->batch_samples = r->batch_end = RTS_BATCH_SAMPLES;
    r->spare_part = 1;
    r->count = r->part[0];
    r->spare = r->part[1];
}

/* Returns how many more samples the current batch takes. */
static uint64_t batch_room(const rts_rec *r)
{
    return r->batch_end - r->hist.n;
}

/* Moves some counts from one part to another, or to the total if batches are no longer counted. */
static void merge_step(rts_rec *r)
{
    uint32_t counts[RTS_BATCH_STEP];
    unsigned first = (unsigned)(r->merge_from - r->part[r->spare_part]);
    memcpy(counts, r->merge_from, sizeof counts);
    memset(r->merge_from, 0, sizeof counts);
    for (unsigned i = 0; i < RTS_BATCH_STEP && r->batch_samples; i++)
        r->merge_to[i] += counts[i];
    for (unsigned i = 0; i < RTS_BATCH_STEP && !r->batch_samples; i++)
        if (first + i <= RTS_HIST_BUCKETS)
            r->hist.count[first + i] += counts[i];
    r->merge_to += RTS_BATCH_STEP;
    r->merge_from += RTS_BATCH_STEP;
}

/* Returns how many more steps the merge of the current pair takes. */
static size_t merges(const rts_rec *r)
{
    return (size_t)(r->merge_end - r->merge_from) / RTS_BATCH_STEP;
}

/* Keeps the first samples in order; during warm-up, their places are written as well. */
static void begin_order(rts_rec *r)
{
    r->order_n = 0;
    r->order_step = 1;
}

/*
 * Continues a merge, or else prefetches the counter that a sample like this one will use next, so
 * that the first sample of a batch costs no more than the others.
 */
static void prepare_batch(rts_rec *r, uint64_t value)
{
    if (merges(r))
        merge_step(r);
    else
        __builtin_prefetch(&r->spare[rts_bucket(value)], 1);
}

/* Begins to empty a part, which will be filled after the current one. */
static void make_room(rts_rec *r, unsigned part, unsigned to)
{
    r->spare_part = part;
    r->spare = r->part[part];
    /* Buckets outside the extremes so far are 0 in every part. */
    size_t first = rts_bucket(r->hist.min) / RTS_BATCH_STEP * RTS_BATCH_STEP;
    size_t end = (rts_bucket(r->hist.max) / RTS_BATCH_STEP + 1) * RTS_BATCH_STEP;
    r->merge_from = r->part[part] + first;
    r->merge_to = r->part[to] + first;
    r->merge_end = r->part[part] + end;
}

/* Combines pairs of batches into batches of twice the length; their histograms are merged later. */
static void halve_marks(rts_rec *r)
{
    for (unsigned i = 0; i < RTS_BATCH_MAX / 2; i++) {
        uint8_t first = r->mark[2 * i].part;
        r->mark[i] = r->mark[2 * i + 1];
        r->mark[i].second = r->mark[i].part;
        r->mark[i].part = first;
    }
    r->marks = RTS_BATCH_MAX / 2;
    r->halved = true;
    r->batch_samples *= 2;
    if (r->batch_samples > UINT32_MAX)
        r->batch_samples = 0;
}

static void end_batch(rts_rec *r)
{
    const uint64_t most = UINT64_C(1) << 31;
    if (r->hist.n < r->batch_end)
        return;
    while (merges(r)) /* normally done by now, except after samples recorded past the end */
        merge_step(r);
    if (r->hist.n >= ORDERED)
        r->order_step = 0;
    if (r->batch_samples)
        r->mark[r->marks++] =
            (rts_mark){r->hist.n, r->hist.sum, (uint8_t)r->filling, (uint8_t)NONE};
    if (r->halved && r->batch_samples)
        r->mark[r->marks - 1 - RTS_BATCH_MAX / 2].second = NONE;
    r->filling = r->spare_part;
    r->count = r->spare;
    if (r->batch_samples && r->marks == RTS_BATCH_MAX)
        halve_marks(r);
    if (!r->batch_samples)
        make_room(r, (r->filling + 1) % (RTS_BATCH_MAX + 1), r->filling);
    else if (r->halved)
        make_room(r, r->mark[r->marks - RTS_BATCH_MAX / 2].second,
                  r->mark[r->marks - RTS_BATCH_MAX / 2].part);
    else
        r->spare = r->part[r->spare_part = r->filling + 1];
    r->batch_end = r->hist.n + (r->batch_samples ? r->batch_samples : most);
}

/* Returns the count of a bucket: the sum of all parts, however far merging has got. */
static rts_count count_of(const rts_rec *r, size_t bucket)
{
    rts_count n = r->batch_samples ? 0 : r->hist.count[bucket];
    for (unsigned k = 0; k <= RTS_BATCH_MAX; k++)
        n += r->part[k][bucket];
    return n;
}

/* Computes the histogram of the series. */
static void total(rts_rec *r)
{
    size_t first = rts_bucket(r->hist.min), last = rts_bucket(r->hist.max);
    for (size_t i = first; i <= last && r->hist.n; i++) {
        r->hist.count[i] = count_of(r, i);
        for (unsigned k = 0; k <= RTS_BATCH_MAX && !r->batch_samples; k++)
            r->part[k][i] = 0;
    }
}

/* Makes a batch of the stored samples first to last - 1. */
static void cut(const rts_rec *r, uint64_t first, uint64_t last, unsigned lines,
                const unsigned line[RTS_LINES], rts_batch *batch)
{
    batch->n = last - first;
    for (uint64_t i = first; i < last; i++) {
        size_t bucket = rts_bucket(r->order[i]);
        batch->sum += r->order[i];
        for (unsigned k = 0; k < lines; k++)
            batch->above[k] += bucket >= line[k];
    }
}

/* Makes a batch of the counts of batch i; i = r->marks is the unfinished batch. */
static void counted(const rts_rec *r, unsigned i, unsigned lines, const unsigned line[RTS_LINES],
                    rts_batch *batch)
{
    const rts_mark none = {0};
    const rts_mark last = {r->hist.n, r->hist.sum, (uint8_t)r->filling, NONE};
    const rts_mark *from = i ? &r->mark[i - 1] : &none;
    const rts_mark *to = i < r->marks ? &r->mark[i] : &last;
    uint64_t below = 0;
    unsigned bucket = 0;
    batch->n = to->n - from->n;
    batch->sum = to->sum - from->sum;
    for (unsigned k = 0; k < lines; k++) {
        for (; bucket < line[k]; bucket++)
            below += (uint64_t)r->part[to->part][bucket] +
                     (to->second == NONE ? 0 : r->part[to->second][bucket]);
        batch->above[k] = batch->n - below;
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
        counted(r, i, lines, line, batch);
    else if (n <= ORDERED && i < parts)
        cut(r, i * n / parts, (i + 1) * n / parts, lines, line, batch);
    return batch->n > 0;
}

#else

static void start_batches(rts_rec *r)
{
    r->count = r->hist.count;
}

static uint64_t batch_room(const rts_rec *r)
{
    (void)r;
    return UINT64_MAX;
}

static void end_batch(rts_rec *r)
{
    (void)r;
}

static size_t merges(const rts_rec *r)
{
    (void)r;
    return 0;
}

static void begin_order(rts_rec *r)
{
    (void)r;
}

static void prepare_batch(rts_rec *r, uint64_t value)
{
    (void)r, (void)value;
}

static void total(rts_rec *r)
{
    (void)r;
}

static rts_count count_of(const rts_rec *r, size_t bucket)
{
    return r->hist.count[bucket];
}

#endif

/* ---- while it records ----------------------------------------------------------------------- */

/* Returns how many samples were recorded since the last flush. */
static uint32_t used(const rts_rec *r)
{
    return r->chunk - r->left;
}

/* Returns the sums since the last flush. */
static rts_window since_flush(const rts_rec *r)
{
    return (rts_window){used(r), r->min, r->sum, r->max};
}

rts_window rts_rec_so_far(const rts_rec *r)
{
    const rts_window chunk = since_flush(r);
    rts_window all = r->hist.all;
    merge_window(&all, &chunk);
    return all;
}

uint64_t rts_rec_percentile(const rts_rec *r, unsigned per_thousand)
{
    const rts_window all = rts_rec_so_far(r); /* buckets do not wait for a flush either */
    size_t i = rts_bucket(all.min), last = rts_bucket(all.max);
    uint64_t seen = count_of(r, i);
    while (i < last && seen * 1000 < all.n * per_thousand)
        seen += count_of(r, ++i);
    return rts_bucket_start((unsigned)i);
}

/* ---- misses -------------------------------------------------------------------------------- */

#if RTS_MISSES

/* Returns whether a sample has reached a bound; UINT64_MAX is none, although a sample may be so. */
static bool reaches(uint64_t value, uint64_t bound)
{
    return value >= bound && bound != UINT64_MAX;
}

/* Returns the activation of the k-th latest miss, from 1. */
static uint64_t *latest(rts_misses *m, uint64_t k)
{
    return &m->place[(m->n - k) % RTS_MISSES];
}

/* Adds the miss of one activation: the windows that end with it may be the shortest so far. */
static void add_miss(rts_misses *m, uint64_t place)
{
    m->n++;
    *latest(m, 1) = place;
    for (unsigned k = 1; k <= least(m->n, RTS_MISSES); k++) {
        uint64_t length = place - *latest(m, k) + 1;
        if (!m->window[k - 1] || length < m->window[k - 1])
            m->window[k - 1] = length;
    }
}

/*
 * Adds `count` successive misses from an activation on. Once a window has no room but for such,
 * it is as short as it can be: what a long stall takes does not grow with its length.
 */
static void add_misses(rts_misses *m, uint64_t place, uint64_t count)
{
    uint64_t single = least(count, RTS_MISSES);
    if (!m->n || place != *latest(m, 1) + 1)
        m->run = 0;
    m->squares += count * (2 * m->run + count);
    m->run += count;
    for (uint64_t i = 0; i < single; i++)
        add_miss(m, place + i);
    if (count == single)
        return;
    m->n += count - single;
    for (unsigned k = 1; k <= RTS_MISSES; k++)
        *latest(m, k) = place + count - k;
}

/* Adds the misses that a sample shows, which is about to be counted. */
static void show_misses(rts_rec *r, uint64_t value)
{
    uint64_t place = r->hist.n + used(r) + r->missed - r->gap;
    if (reaches(value, r->late_from)) {
        r->misses.late++;
        add_misses(&r->misses, place, 1);
    }
    if (r->gap)
        add_misses(&r->misses, place + 1, r->gap);
    r->gap = 0;
}

/* Adds the misses after a last sample that the bench did not record. */
static void finish_misses(rts_rec *r)
{
    if (r->gap)
        add_misses(&r->misses, r->hist.n + used(r) + r->missed - r->gap, r->gap);
    r->gap = 0;
}

#else

static void show_misses(rts_rec *r, uint64_t value)
{
    (void)r, (void)value;
}

static void finish_misses(rts_rec *r)
{
    (void)r;
}

#endif

/* Returns whether a sample is a miss, or misses come after it. */
static bool has_misses(const rts_rec *r, uint64_t value)
{
#if RTS_MISSES
    return reaches(value, r->late_from) || r->gap;
#else
    return (void)r, (void)value, false;
#endif
}

/* Returns whether a sample ends the series, and all others that share its limit. */
static bool is_over(const rts_rec *r, uint64_t value)
{
#if RTS_MISSES
    return reaches(value, r->over_from);
#else
    return (void)r, (void)value, false;
#endif
}

/* ---- start and end of a series ------------------------------------------------------------- */

enum { AHEAD = 16 }; /* samples left in a batch when the next one is prepared */

/* Resets the sums since the last flush. */
static void clear_sums(rts_rec *r)
{
    r->left = r->chunk;
    r->sum = r->max = 0;
}

/* Resets everything. */
static void begin(rts_rec *r)
{
    clear_sums(r);
    r->min = UINT64_MAX;
    r->negative = 0;
    r->raw_next = r->setup.raw;
    r->raw_end = r->setup.raw ? r->setup.raw + r->setup.samples : NULL;
    begin_order(r);
}

void rts_rec_init(rts_rec *r, const rts_rec_setup *setup)
{
    memset(r, 0, sizeof *r); /* touches every page */
    r->setup = *setup;
    if (RTS_COUNT_BITS == 32) /* no counter can overflow, even with samples recorded past the end */
        r->setup.samples = least(setup->samples - 1, UINT32_MAX / 2) + 1;
    r->overhead = setup->overhead;
    r->warm = setup->warmup;
    r->tail = least(setup->warmup / 2, RTS_BLOCK_SAMPLES / 2);
    r->window_ticks = setup->hz;
    r->block_samples = RTS_BLOCK_SAMPLES;
    r->late_from = r->over_from = UINT64_MAX; /* until it is started */
    start_batches(r);
    begin(r);
    rts_hist_init(&r->hist);
}

void rts_rec_limit(rts_rec *r, uint64_t samples)
{
    if (!r->setup.samples || r->setup.samples > samples)
        r->setup.samples = samples;
    r->warm = 0;
    r->tail = 0;
    begin(r);
}

/*
 * Sets the bounds outside of which are new extremes, negative samples, the worst and misses, or all
 * samples.
 */
static void set_bounds(rts_rec *r)
{
    r->low = r->min > r->overhead ? r->min : r->overhead;
    r->high = r->attentive ? 0 : least(least(r->max + 1, r->worst_floor), r->late_from);
}

/*
 * Sets the length of the next chunk, in samples and in time: at most one second, so that a stop is
 * noticed. During warm-up a chunk is one sample.
 */
static void next_chunk(rts_rec *r, uint64_t t)
{
    const uint64_t room = batch_room(r);
    uint64_t n = least(r->block_samples - r->block_n, room > AHEAD ? room - AHEAD : room);
    if (merges(r))
        n = least(n, merges(r));
    if (r->setup.samples && r->running)
        n = least(n, r->setup.samples - r->hist.n);
    r->chunk = r->left = r->warm ? 1 : (uint32_t)least(n, UINT32_MAX);
    r->next = least(t + r->setup.hz, least(r->deadline, r->rest_at));
    if (!r->warm)
        r->next = least(r->next, r->window_end);
    r->attentive = r->warm || room <= AHEAD || merges(r) || r->raw_next != r->raw_end;
    set_bounds(r);
}

/* Takes t as the start of the section: times and limits count from here. */
static void set_start(rts_rec *r, uint64_t t)
{
    r->start = t;
    r->window_end = t + r->window_ticks;
    r->deadline = r->setup.time ? t + r->setup.time : UINT64_MAX;
    r->rest_at = r->setup.busy ? t + r->setup.busy : UINT64_MAX;
    r->worst_floor = r->warm ? UINT64_MAX : 0; /* warm-up samples are never among the worst */
    r->late_from = r->warm || !r->setup.late_from ? UINT64_MAX : r->setup.late_from;
    r->over_from = r->warm || !r->setup.over_from ? UINT64_MAX : r->setup.over_from;
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

/* Inserts a sample into the sorted list of the worst. */
static void insert_worst(rts_rec *r, uint64_t value, uint64_t t)
{
    unsigned i = r->worst_n < RTS_WORST ? r->worst_n++ : RTS_WORST - 1;
    for (; i > 0 && r->worst[i - 1].value < value; i--)
        r->worst[i] = r->worst[i - 1];
    r->worst[i] = (rts_sample){value, t - r->start, r->hist.n + used(r)};
    if (r->worst_n == RTS_WORST)
        r->worst_floor = r->worst[RTS_WORST - 1].value + 1;
    rts_rec_report_worst(r, i);
}

static rts_window *window_at(rts_rec *r, unsigned i)
{
    return &r->window[place(i, r->trace_halved, RTS_TRACE)];
}

/*
 * Opens the next window. If its place is occupied, that window is first merged with its
 * predecessor.
 */
static void open_window(rts_rec *r)
{
    rts_window *w = window_at(r, ++r->window_i);
    if (!r->trace_halved)
        return;
    merge_window(window_at(r, r->window_i - RTS_TRACE / 2), w);
    memset(w, 0, sizeof *w);
}

static void open_windows_to(rts_rec *r, uint64_t i)
{
    while (r->window_i < i)
        open_window(r);
}

/* Advances to the window that contains t: usually the next one. */
static void next_window(rts_rec *r, uint64_t t)
{
    while ((t - r->start) / r->window_ticks >= RTS_TRACE) {
        open_windows_to(r, RTS_TRACE - 1);
        r->trace_halved++;
        r->window_ticks *= 2;
        r->window_i = RTS_TRACE / 2 - 1;
    }
    open_windows_to(r, (t - r->start) / r->window_ticks);
    r->window_end = r->start + (r->window_i + 1) * r->window_ticks;
}

/* Does the merges that are still pending, and puts the windows in order. */
static void finish_trace(rts_rec *r)
{
    unsigned i = r->window_i;
    if (!r->trace_halved)
        return;
    open_windows_to(r, RTS_TRACE - 1);
    straighten(r->window, sizeof *r->window, r->trace_halved, RTS_TRACE);
    r->trace_halved = 0;
    r->window_i = i;
}

static uint64_t *block_at(rts_rec *r, unsigned i)
{
    return &r->block[place(i, r->blocks_halved, RTS_BLOCKS)];
}

/* Stores block i. If its place is occupied, that block is first merged with its predecessor. */
static void put_block(rts_rec *r, unsigned i, uint64_t max)
{
    uint64_t *to = block_at(r, i);
    if (r->blocks_halved) {
        uint64_t *with = block_at(r, i - RTS_BLOCKS / 2);
        *with = *with > *to ? *with : *to;
    }
    *to = max;
}

static void end_block(rts_rec *r)
{
    if (r->blocks == RTS_BLOCKS) { /* the completed block becomes the first half of one */
        r->blocks_halved++;
        r->blocks = RTS_BLOCKS / 2;
        r->block_samples *= 2;
        return;
    }
    put_block(r, r->blocks++, r->block_max);
    r->block_n = 0;
    r->block_max = 0;
}

static void finish_blocks(rts_rec *r)
{
    if (!r->blocks_halved)
        return;
    for (unsigned i = r->blocks; i < RTS_BLOCKS; i++)
        put_block(r, i, 0);
    straighten(r->block, sizeof *r->block, r->blocks_halved, RTS_BLOCKS);
    r->blocks_halved = 0;
}

/* Adds the sums since the last flush to the totals. */
static void fold(rts_rec *r)
{
    const rts_window chunk = since_flush(r);
    if (!chunk.n)
        return;
    merge_window(window_at(r, r->window_i), &chunk);
    merge_window(&r->hist.all, &chunk);
    r->block_n += chunk.n;
    r->block_max = r->block_max > chunk.max ? r->block_max : chunk.max;
    clear_sums(r);
    if (r->block_n >= r->block_samples)
        end_block(r);
    end_batch(r);
}

/* Discards a warm-up sample, which was accounted for like any other. */
static void discard(rts_rec *r, uint64_t value, uint64_t t)
{
    r->count[rts_bucket(value)]--;
    begin(r);
    r->warm--;
    r->discarded++;
    if (r->warm <= r->tail)
        rts_rec_section(r);
    if (!r->warm)
        set_start(r, t);
}

static void check_limits(rts_rec *r, uint64_t t)
{
    if (r->setup.over && *r->setup.over)
        r->ended = RTS_BY_LIMIT;
    else if (r->setup.samples && r->hist.n >= r->setup.samples)
        r->ended = RTS_BY_SAMPLES;
    else if (t >= r->deadline)
        r->ended = RTS_BY_TIME;
    else if (r->setup.stop && *r->setup.stop)
        r->ended = RTS_BY_STOP;
    else
        return;
    r->running = false;
}

void rts_rec_look(rts_rec *r, uint64_t t)
{
    check_limits(r, t);
}

static void rest(rts_rec *r, uint64_t t)
{
    r->on_rest(r->hook_arg);
    r->rests++;
    r->rest_at = t + r->setup.busy; /* a little early, as the end of the rest is not known here */
}

/* After the last sample of a chunk: checks the limits, and begins the next chunk. */
static void go_on(rts_rec *r, uint64_t t)
{
    check_limits(r, t);
    if (t >= r->rest_at && r->running)
        rest(r, t);
    next_chunk(r, t);
}

void rts_rec_flush(rts_rec *r, uint64_t t)
{
    fold(r);
    go_on(r, t);
}

/* Ends the chunk with a sample: it ended at `next` or later, or ends the series. */
static void end_chunk(rts_rec *r, uint64_t t)
{
    if (!r->warm && t >= r->window_end) { /* earlier samples belong to another window */
        fold(r);
        next_window(r, t);
        r->min = UINT64_MAX;
    }
    r->chunk = used(r) + 1;
    r->left = 1;
}

/* Accounts for a sample that may be negative or an extreme. */
static inline void account_outside(rts_rec *r, uint64_t value)
{
    rts_rec_account(r, value);
    r->min = least(r->min, value);
    r->max = value > r->max ? value : r->max;
    r->negative += value < r->overhead;
}

/* The rare work for a sample: a few instructions now and then, and the end of a chunk. */
static __attribute__((noinline)) void add_rare(rts_rec *r, uint64_t value, uint64_t t)
{
    if (t >= r->next || is_over(r, value))
        end_chunk(r, t);
    account_outside(r, value);
    if (value >= r->worst_floor)
        insert_worst(r, value, t);
    if (has_misses(r, value))
        show_misses(r, value);
    if (is_over(r, value))
        *r->setup.over = true;
    if (r->raw_next != r->raw_end)
        *r->raw_next++ = value;
    if (r->attentive)
        prepare_batch(r, value);
    if (--r->left) {
        set_bounds(r);
    } else if (r->warm) {
        discard(r, value, t);
        go_on(r, t);
    } else {
        rts_rec_flush(r, t);
    }
}

void rts_rec_add_unusual(rts_rec *r, uint64_t value, uint64_t t)
{
    if (r->attentive || value >= r->worst_floor || r->left == 1 || t >= r->next ||
        has_misses(r, value)) {
        add_rare(r, value, t);
        return;
    }
    account_outside(r, value);
    r->left--;
    set_bounds(r);
}

void rts_rec_finish(rts_rec *r)
{
    finish_misses(r);
    if (!r->warm)
        fold(r);
    total(r);
    finish_trace(r);
    finish_blocks(r);
    r->running = false;
    next_chunk(r, r->start); /* a bench with several tasks may add a few more samples */
}
