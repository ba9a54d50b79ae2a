/*
 * sync.irqthread: whether the work that interrupts cause for a low-priority task delays a
 * high-priority task. On Solaris interrupt threads have priority over all real-time tasks, on
 * LynxOS half a level over the task that they serve (Obenland, table 4 and figure 2).
 */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define STEPS (RTS_STATE_BYTES < (64u << 10) ? 32 : 100) /* most blocks of a kind */
#define FEWEST 4          /* requests per block; a block may have one less */
#define MOST (1ull << 40) /* additions per block */

enum { LEVEL_H, LEVEL_L, LEVEL_BELOW };

typedef struct irqthread_params {
    int64_t source, rate, block;
} irqthread_params;

static const rts_param irqthread_param[] = {
    RTS_CHOICE(irqthread_params, source, RTS_EVENTS, 0, "source of the interrupts"),
    RTS_INT(irqthread_params, rate, "Hz", 1000, 64, 65536, "requests per second"),
    RTS_DURATION(irqthread_params, block, 10000000, 1000000, SECOND_NS / 10,
                 "duration of a block of H's work by itself"),
    RTS_PARAMS_END,
};

typedef struct rivalry {
    rts_case *c;
    rts_event event;
    rts_source source;
    uint64_t additions; /* additions per block */
    rts_tick block;
    volatile uint64_t served;
    volatile bool over, gone;
    volatile int error;
} rivalry;

/* L: waits for interrupts, and only counts them. */
static void server(void *arg)
{
    rivalry *v = arg;
    while (!v->over && !v->error) {
        rts_tick stamp;
        uint64_t count = 0;
        v->error = rts_event_wait(&v->event, &stamp, &count);
        v->served += count;
    }
    v->gone = true;
}

static rts_tick carry_out(uint64_t additions)
{
    rts_tick start = rts_now();
    rts_additions(additions);
    return rts_now() - start;
}

/* Sleeps, so that L gets the CPU and RT throttling does not set in. */
static void pause_after(const rivalry *v)
{
    rts_tick quarter = v->block / 4 * RTS_TIME_HZ / rts_the_clock.hz;
    rts_sleep_until(rts_release_at(rts_time() + quarter + RTS_SLEEP_GRAIN));
}

/* Finds the number of additions per block; returns -1 if the clock stands still. */
static int calibrate(rivalry *v)
{
    rts_tick took = 0;
    for (v->additions = 1024; (took = carry_out(v->additions)) < v->block / 4; v->additions *= 2)
        if (v->additions > MOST)
            return rts_failed(v->c, "the clock does not go on while work is done");
    v->additions = (uint64_t)((double)v->additions * (double)v->block / (double)took);
    return 0;
}

/* Blocks of one kind, in ascending order. */
typedef struct blocks {
    rts_tick took[STEPS];
    unsigned n;
} blocks;

/* Bounds of a quantity in ticks. */
typedef struct bounds {
    int64_t low, high;
} bounds;

static void take(blocks *b, rts_tick took)
{
    unsigned i = b->n < STEPS ? b->n++ : STEPS;
    for (; i < STEPS && i > 0 && b->took[i - 1] > took; i--)
        b->took[i] = b->took[i - 1];
    if (i < STEPS)
        b->took[i] = took;
}

static rts_tick median(const blocks *b)
{
    return b->n ? b->took[b->n / 2] : 0;
}

/*
 * Sets the interval of the median that a sign test at 1.25% leaves, so that four of them hold
 * together with 95%: from the k-th shortest to the k-th longest block, with P(B(n, 1/2) < k) <=
 * 0.625%. Returns false if there are too few blocks.
 */
static bool median_bounds(const blocks *b, bounds *m)
{
    double chance = 1, sum = 0;
    unsigned k = 0;
    for (unsigned i = 0; i < b->n; i++)
        chance /= 2;
    for (unsigned i = 0; i < b->n; i++) {
        sum += chance; /* that at most i of n lie below the median */
        if (sum > 0.00625)
            break;
        k = i + 1;
        chance = chance * (b->n - i) / (i + 1);
    }
    if (!k)
        return false;
    *m = (bounds){(int64_t)b->took[k - 1], (int64_t)b->took[b->n - k]};
    return true;
}

/* Adds n blocks of the calling task. */
static void take_blocks(blocks *b, const rivalry *v, uint64_t n)
{
    for (uint64_t i = 0; i < n && !v->c->job.stop_requested; i++) {
        take(b, carry_out(v->additions));
        pause_after(v);
    }
}

/* Returns the fewest requests that come in a block. */
static double requests_in(const rivalry *v, rts_tick block)
{
    return (double)(uint64_t)((double)block / (double)rts_the_clock.hz * v->source.hz);
}

/* All that is measured: blocks without interrupts before and after, of L's rival, and of H. */
typedef struct stages {
    blocks before, after, below, urgent;
    uint64_t intruded; /* blocks of H in which L ran */
} stages;

/* Returns the verdict if `own` of `all` delays the more urgent task; all > 0. */
static const char *verdict_at(int64_t own, int64_t all)
{
    return 4 * own >= 3 * all ? "served ahead of the more urgent task"
           : 4 * own > all    ? "served ahead of it in part"
                              : "left to the less urgent task";
}

/*
 * Returns a verdict if all delays within the intervals have the same one. The reference is
 * anything from the blocks before to those after: drift widens it. *seen: interrupts add more to a
 * block than blocks differ by.
 */
static const char *verdict_of(const stages *s, bool *seen, bool *certain)
{
    bounds before, after, below, urgent;
    *seen = *certain = false;
    if (!median_bounds(&s->before, &before) || !median_bounds(&s->after, &after) ||
        !median_bounds(&s->below, &below) || !median_bounds(&s->urgent, &urgent))
        return "undetermined, too few blocks";
    int64_t least = before.low < after.low ? before.low : after.low;
    int64_t most = before.high > after.high ? before.high : after.high;
    bounds own = {urgent.low - most, urgent.high - least};
    bounds all = {below.low - most, below.high - least};
    *seen = all.low > 0;
    if (!*seen)
        return "undetermined, blocks differ by more than interrupts add to them";
    const char *verdict = verdict_at(own.low, all.high);
    *certain = verdict == verdict_at(own.high, all.low);
    return *certain ? verdict : "undetermined, the share has an interval of more than one verdict";
}

static double delay(const rivalry *v, const blocks *b, double alone)
{
    return rts_clock_ns(((double)median(b) - alone) / requests_in(v, median(b)));
}

static void report(rts_case *c, const rivalry *v, const stages *s)
{
    bool seen, certain;
    const char *verdict = verdict_of(s, &seen, &certain);
    double alone = ((double)median(&s->before) + (double)median(&s->after)) / 2;
    rts_figure_add(c, "median without interrupts", rts_clock_ns(alone), "ns");
    if (seen) {
        rts_figure_add(c, "delay by each interrupt", delay(v, &s->urgent, alone), "ns");
        rts_figure_add(c, "the same of a task that is less urgent still",
                       delay(v, &s->below, alone), "ns");
    }
    if (certain)
        rts_figure_add(
            c, "share that delays the more urgent one",
            100 * ((double)median(&s->urgent) - alone) / ((double)median(&s->below) - alone), "%");
    rts_count_add(c, "served within H's block", s->intruded, "samples");
    rts_count_add(c, "interrupts served", v->served, "interrupts");
    rts_table(c, "interrupts for a less urgent task", "verdict\tsource\trate\tindependence");
    rts_row(c, "%s\t%s\t%.3f Hz\t%s", verdict, v->source.name, v->source.hz,
            v->source.independence);
}

/*
 * H has a higher priority than L: its blocks include nothing that L does, only what the system does
 * for L. Before each, the same task takes a block below L, so that drift affects both alike.
 */
static int take_samples(rts_case *c, const rivalry *v, stages *s)
{
    RTS_SAMPLES(c) {
        if (s->below.n < STEPS) {
            if (rts_own_level(c, LEVEL_BELOW, RTS_FIFO))
                return -1;
            take_blocks(&s->below, v, 1);
            if (rts_own_level(c, LEVEL_H, RTS_FIFO))
                return -1;
        }
        uint64_t served = v->served;
        rts_tick took = carry_out(v->additions);
        s->intruded += v->served != served;
        rts_rec_add(c->rec, took, rts_now());
        take(&s->urgent, took);
        pause_after(v);
    }
    rts_rec_finish(c->rec);
    return 0;
}

static int measure(rts_case *c, rivalry *v, stages *s)
{
    uint64_t steps =
        c->common.samples && c->common.samples < STEPS ? (uint64_t)c->common.samples : STEPS;
    const irqthread_params *p = rts_params(c);
    take_blocks(&s->before, v, steps);
    if (rts_event_open(&v->event, (int)p->source, (uint64_t)p->rate, &v->source))
        return rts_unsupported(c, "source %s: %s", v->source.name, v->source.why);
    int err = rts_task_start(c, server, v, LEVEL_L, RTS_FIFO, false) ||
                      rts_own_level(c, LEVEL_H, RTS_FIFO)
                  ? -1
                  : 0;
    err = err ? err : take_samples(c, v, s);
    v->over = true;
    while (c->n_tasks && !v->gone) /* ends with the next request */
        pause_after(v);
    rts_event_close(&v->event);
    if (!err)
        take_blocks(&s->after, v, steps);
    if (v->error)
        return rts_port_failed(c, "the source of interrupts ended", v->error);
    if (!err)
        report(c, v, s);
    return err;
}

static int run_irqthread(rts_case *c)
{
    const irqthread_params *p = rts_params(c);
    rivalry *v = rts_alloc(c, sizeof *v);
    stages *s = rts_alloc(c, sizeof *s);
    if (!v || !s)
        return rts_failed(c, "no memory");
    if (p->rate * (p->block / 1000) < FEWEST * (SECOND_NS / 1000))
        return rts_unsupported(c,
                               "fewer than %d requests come in a block: let rate or block be "
                               "larger",
                               FEWEST);
    v->c = c;
    v->block = rts_ns_to_ticks((uint64_t)p->block, rts_the_clock.hz);
    rts_port_load_pause(true); /* the reference is the unloaded system */
    int err = calibrate(v);
    rts_port_load_pause(false);
    return err ? -1 : measure(c, v, s);
}

static const rts_bench benches[] = {
    {.id = "sync.irqthread",
     .title = RTS_SAY("Delay by interrupts for a lower-priority task"),
     .source = RTS_SAY("Obenland, table 4 and figure 2; procedure of rtstone"),
     .help = RTS_SAY(
         "A block of work of task H, calibrated to take `block`, between two time stamps, while "
         "interrupts arrive for L, which has a lower priority. What each interrupt adds to the "
         "median block is compared with what it adds to the same block of a task below L, which "
         "is its full cost; blocks of both alternate. The verdict says how much of that cost "
         "delays H, and is undetermined if the intervals of the medians, which hold together with "
         "95%, allow more than one."),
     .params = irqthread_param,
     .needs = RTS_CAP_PRIORITIES | RTS_CAP_EVENT,
     .traits = RTS_ONE_CPU,
     .samples = 500,
     .warmup = 2,
     .time_ns = RTS_LIMIT(30 * SECOND_NS),
     .run = run_irqthread},
};

RTS_BENCHES(benches);
