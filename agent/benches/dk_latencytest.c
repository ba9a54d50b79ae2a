/* dk.latencytest: an audio thread under load (Senoner's latencytest, as used by Dankwardt). */
#include "periodic.h"

#define LEAD_NS 10000000
#define TRIALS 5

typedef struct audio_params {
    int64_t period;
} audio_params;

static const rts_param audio_param[] = {
    RTS_DURATION(audio_params, period, 2902494, 100000, 50000000,
                 "one audio period; 2.9 ms are 128 frames at 44.1 kHz"),
    RTS_PARAMS_END,
};

/* How many durations are near their target, by the two limits that latencytest prints. */
typedef struct within {
    rts_tick target, near, far; /* ticks */
    uint64_t n, in_near, in_far;
} within;

static void judge(within *w, const rts_rec *r, rts_tick value)
{
    if (r->warm)
        return;
    rts_tick off = value > w->target ? value - w->target : w->target - value;
    w->n++;
    w->in_near += off <= w->near;
    w->in_far += off <= w->far;
}

/*
 * Work that is the same on every system and takes a measurable time on each: readings of the
 * counter. Returns the last reading.
 */
static rts_tick work(uint64_t reads)
{
    rts_tick last = 0;
    for (uint64_t i = 0; i < reads; i++)
        last = rts_now();
    return last;
}

/* Returns the least time that this many readings took. */
static rts_tick least_of(uint64_t reads)
{
    rts_tick least = UINT64_MAX;
    for (int i = 0; i < TRIALS; i++) {
        rts_tick a = rts_now();
        rts_tick took = work(reads) - a;
        least = took < least ? took : least;
    }
    return least;
}

/*
 * Returns the number of readings that take `target` ticks undisturbed: an estimate, corrected by a
 * run at full length. 0: the counter stands still.
 */
static uint64_t calibrate(rts_tick target)
{
    uint64_t reads = 1000;
    for (int i = 0; i < 3 && reads; i++) {
        rts_tick least = least_of(reads);
        reads = least ? (uint64_t)((double)target * (double)reads / (double)least) : 0;
    }
    return reads;
}

typedef struct audio {
    rts_rec *cycle, *loop;
    within cycles, loops;
} audio;

/*
 * One cycle: sleep until the release, time stamp, work, time stamp. The distance between two
 * wake-ups is the actual period, the distance between the two stamps the loop time.
 */
static void play(audio *s, uint64_t reads, rts_tick first, rts_tick period)
{
    rts_tick release = first, last = 0;
    rts_rec_start(s->loop, rts_now());
    rts_rec_start(s->cycle, rts_now());
    for (; s->cycle->running && s->loop->running; release += period) {
        rts_sleep_until(release);
        rts_tick time = rts_time(), late = time > release ? time - release : 0;
        rts_tick a = rts_now();
        work(reads);
        rts_tick b = rts_now();
        release += periodic_missed(s->cycle, NULL, period, late) * period;
        if (last) { /* the first cycle has no wake-up before it */
            judge(&s->cycles, s->cycle, a - last);
            judge(&s->loops, s->loop, b - a);
            rts_rec_add(s->cycle, a - last, a);
            rts_rec_add(s->loop, b - a, b);
        }
        last = a;
    }
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_shares(rts_case *c, const within *w, const char *near, const char *far)
{
    rts_figure_add(c, near, percent(w->in_near, w->n), "%");
    rts_figure_add(c, far, percent(w->in_far, w->n), "%");
}

static rts_tick counter_ticks(int64_t ns)
{
    return rts_ns_to_ticks((uint64_t)ns, rts_the_clock.hz);
}

static int run_latencytest(rts_case *c)
{
    const audio_params *p = rts_params(c);
    rts_tick target = counter_ticks(p->period / 10 * 8);
    audio s = {.cycles = {counter_ticks(p->period), counter_ticks(1000000), counter_ticks(2000000),
                          0, 0, 0},
               .loops = {target, counter_ticks(100000), counter_ticks(200000), 0, 0, 0}};
    s.cycle = rts_series(c, "period", rts_the_clock.hz, 0, true, NULL);
    s.loop = rts_series(c, "loop", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
    uint64_t reads = calibrate(target);
    if (!s.cycle || !s.loop)
        return -1;
    if (!reads)
        return rts_unsupported(c, "the counter stands still while the task works");
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    play(&s, reads, rts_release_at(rts_time() + rts_ns_to_ticks(LEAD_NS, RTS_TIME_HZ)), period);
    rts_end(c, s.cycle);
    add_shares(c, &s.cycles, "periods within 1 ms", "periods within 2 ms");
    add_shares(c, &s.loops, "loops within 0.1 ms", "loops within 0.2 ms");
    rts_count_add(c, "requests lost or merged", s.cycle->missed, "requests");
    rts_table(c, "source of interrupts", "source\trate\tindependence\tstamped by");
    rts_row(c, "the timer of a sleep\t%.3f Hz\tdependent: the system's own timer\ta woken task",
            1e9 / (double)p->period);
    rts_figure_add(c, "loop as calibrated", rts_clock_ns((double)target), "ns");
    return 0;
}

static unsigned two(const rts_case *c)
{
    (void)c;
    return 2;
}

static const rts_bench benches[] = {
    {.id = "dk.latencytest",
     .title = RTS_SAY("Audio thread that works for 80% of its period"),
     .source = RTS_SAY("Dankwardt, part 3, after Senoner's latencytest"),
     .help = RTS_SAY(
         "A task of the highest priority wakes up once per audio period and runs a loop "
         "that by itself takes 80% of it (readings of the counter). Series period: time "
         "between wake-ups; series loop: duration of the loop. The figures give the shares "
         "within 1 and 2 ms of the period, and within 0.1 and 0.2 ms of the calibrated "
         "loop. A timer of the system's own replaces latencytest's wait for the sound card."),
     .params = audio_param,
     .traits = RTS_OWN_SERIES,
     .samples = 10000,
     .warmup = 2,
     .series = two,
     .run = run_latencytest},
};

RTS_BENCHES(benches);
