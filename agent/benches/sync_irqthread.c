/*
 * sync.irqthread: whether the work that interrupts cause for a low-priority task delays a
 * high-priority task. On Solaris interrupt threads have priority over all real-time tasks, on
 * LynxOS half a level over the task that they serve (Obenland, table 4 and figure 2).
 */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define STEPS 100         /* most blocks in each of the two stages before the samples */
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

/*
 * The shortest of some blocks, as interference can only lengthen a block; and that of every other
 * one of them: the two halves differ by as much as other blocks might.
 */
typedef struct shortest {
    rts_tick half[2];
    uint64_t n;
} shortest;

static void take(shortest *s, rts_tick block)
{
    rts_tick *half = &s->half[s->n++ % 2];
    *half = s->n <= 2 || block < *half ? block : *half;
}

static rts_tick least(const shortest *s)
{
    return s->half[0] < s->half[1] ? s->half[0] : s->half[1];
}

static int64_t spread(const shortest *s)
{
    int64_t difference = (int64_t)(s->half[0] - s->half[1]);
    return difference < 0 ? -difference : difference;
}

/* Adds n blocks of the calling task. */
static void take_blocks(shortest *s, const rivalry *v, uint64_t n)
{
    for (uint64_t i = 0; i < n && !v->c->job.stop_requested; i++) {
        take(s, carry_out(v->additions));
        pause_after(v);
    }
}

/* Returns the fewest requests that come in a block. */
static double requests_in(const rivalry *v, rts_tick block)
{
    return (double)(uint64_t)((double)block / (double)rts_the_clock.hz * v->source.hz);
}

/* Returns the verdict if `own` of `all` delays the more urgent task; all > 0. */
static const char *verdict_at(int64_t own, int64_t all)
{
    return 4 * own >= 3 * all ? "served ahead of the more urgent task"
           : 4 * own > all    ? "served ahead of it in part"
                              : "left to the less urgent task";
}

/*
 * Reports a verdict if all delays that the spread of the blocks allows have the same one. The
 * delays are per block: what differs in one is as large as what a few interrupts add.
 */
static void report(rts_case *c, const rivalry *v, const shortest *alone, const shortest *below,
                   const shortest *urgent, uint64_t intruded)
{
    const char *verdict = "none, too few blocks";
    rts_figure_add(c, "shortest without interrupts", rts_clock_ns((double)least(alone)), "ns");
    if (alone->n > 1 && below->n > 1 && urgent->n > 1) {
        int64_t own = (int64_t)(least(urgent) - least(alone));
        int64_t all = (int64_t)(least(below) - least(alone));
        int64_t off_own = spread(alone) + spread(urgent), off_all = spread(alone) + spread(below);
        rts_figure_add(c, "delay by each interrupt",
                       rts_clock_ns((double)own / requests_in(v, least(urgent))), "ns");
        rts_figure_add(c, "the same of a task that is less urgent still",
                       rts_clock_ns((double)all / requests_in(v, least(below))), "ns");
        verdict = "none, blocks differ by more than interrupts add to them";
        if (all > off_all &&
            verdict_at(own - off_own, all + off_all) == verdict_at(own + off_own, all - off_all)) {
            rts_figure_add(c, "share that delays the more urgent one",
                           100 * (double)own / (double)all, "%");
            verdict = verdict_at(own, all);
        }
    }
    rts_count_add(c, "served within H's block", intruded, "samples");
    rts_count_add(c, "interrupts served", v->served, "interrupts");
    rts_table(c, "interrupts for a less urgent task", "verdict\tsource\trate\tindependence");
    rts_row(c, "%s\t%s\t%.3f Hz\t%s", verdict, v->source.name, v->source.hz,
            v->source.independence);
}

/*
 * H has a higher priority than L: its blocks include nothing that L does, only what the system does
 * for L.
 */
static uint64_t take_samples(rts_case *c, const rivalry *v, shortest *urgent)
{
    uint64_t intruded = 0;
    RTS_SAMPLES(c) {
        uint64_t served = v->served;
        rts_tick took = carry_out(v->additions);
        intruded += v->served != served;
        rts_rec_add(c->rec, took, rts_now());
        take(urgent, took);
        pause_after(v);
    }
    rts_rec_finish(c->rec);
    return intruded;
}

static int measure(rts_case *c, rivalry *v)
{
    uint64_t steps =
        c->common.samples && c->common.samples < STEPS ? (uint64_t)c->common.samples : STEPS;
    const irqthread_params *p = rts_params(c);
    shortest alone = {{0}, 0}, below = {{0}, 0}, urgent = {{0}, 0};
    take_blocks(&alone, v, steps);
    if (rts_event_open(&v->event, (int)p->source, (uint64_t)p->rate, &v->source))
        return rts_unsupported(c, "source %s: %s", v->source.name, v->source.why);
    int err = rts_task_start(c, server, v, LEVEL_L, RTS_FIFO, false) ||
                      rts_own_level(c, LEVEL_BELOW, RTS_FIFO)
                  ? -1
                  : 0;
    if (!err)
        take_blocks(&below, v, steps);
    err = err || rts_own_level(c, LEVEL_H, RTS_FIFO) ? -1 : 0;
    uint64_t intruded = err ? 0 : take_samples(c, v, &urgent);
    v->over = true;
    while (c->n_tasks && !v->gone) /* ends with the next request */
        pause_after(v);
    rts_event_close(&v->event);
    if (!err)
        take_blocks(&alone, v, steps);
    if (v->error)
        return rts_port_failed(c, "the source of interrupts ended", v->error);
    if (!err)
        report(c, v, &alone, &below, &urgent, intruded);
    return err;
}

static int run_irqthread(rts_case *c)
{
    const irqthread_params *p = rts_params(c);
    rivalry *v = rts_alloc(c, sizeof *v);
    if (!v)
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
    return err ? -1 : measure(c, v);
}

static const rts_bench benches[] = {
    {.id = "sync.irqthread",
     .title = RTS_SAY("Delay by interrupts for a lower-priority task"),
     .source = RTS_SAY("Obenland, table 4 and figure 2; procedure of rtstone"),
     .help = RTS_SAY(
         "A block of work of task H, calibrated to 10 ms, between two time stamps, while "
         "interrupts arrive for L, which has a lower priority. What each interrupt adds to the "
         "shortest block is compared with what it adds to the same block of a task below L, which "
         "is its full cost. The verdict says how much of that cost delays H, if the blocks of "
         "each kind differ by less than that."),
     .params = irqthread_param,
     .needs = RTS_CAP_PRIORITIES | RTS_CAP_EVENT,
     .traits = RTS_ONE_CPU,
     .samples = 500,
     .warmup = 2,
     .time_ns = RTS_LIMIT(30 * SECOND_NS),
     .run = run_irqthread},
};

RTS_BENCHES(benches);
