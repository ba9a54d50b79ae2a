/* dk.periodic: absolute periodic wake-up (Dankwardt, part 3; cyclictest is its modern relative). */
#include <stdio.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define LEAD_NS 10000000 /* for the start of each task, before the first release */

typedef struct periodic_params {
    int64_t period, distance, align;
} periodic_params;

static const rts_param periodic_param[] = {
    RTS_DURATION(periodic_params, period, 1000000, 10000, 3600 * SECOND_NS,
                 "time between two releases"),
    RTS_DURATION(periodic_params, distance, 0, 0, 3600 * SECOND_NS,
                 "by how much the releases of each further CPU lie behind the one before; 0: "
                 "spread evenly over a period"),
    RTS_DURATION(periodic_params, align, -1, -1, 3600 * SECOND_NS,
                 "releases lie so long after multiples of the period of the system's clock; -1: "
                 "where they fall"),
    RTS_PARAMS_END,
};

/* One periodic task. */
typedef struct periodic {
    rts_case *c;
    rts_rec *rec;
    rts_hist *omitted;
    rts_sem *ended; /* given once it has all its samples; NULL for the measuring task */
    rts_tick first, period;
    int cpu;
} periodic;

/*
 * Counts the activations after the one that came `late` and before now: they never happened.  One
 * that is due just now still does.
 */
static rts_tick count_missed(const periodic *t, rts_tick late)
{
    rts_tick missed = late ? (late - 1) / t->period : 0;
    if (!t->rec->warm) {
        for (rts_tick i = 1; i <= missed; i++)
            rts_hist_add(t->omitted, late - i * t->period);
        t->rec->missed += missed;
    }
    return missed;
}

/*
 * Lateness of each wake-up against its release.  A wake-up later than a period has swallowed
 * others: they are counted as missed, with the lateness each would have had, and the next release
 * is the first that lies ahead.
 */
static void periodic_task(void *arg)
{
    const periodic *t = arg;
    rts_tick release = t->first;
    for (rts_rec_start(t->rec, t->first); t->rec->running && !t->c->stop; release += t->period) {
        rts_sleep_until(release);
        rts_tick now = rts_time();
        rts_tick late = now - release;
        release += count_missed(t, late) * t->period;
        rts_rec_add(t->rec, late, now);
    }
    if (t->ended)
        rts_sem_give(t->ended);
}

/* The first release: soon, and where the parameters want it. */
static rts_tick first_release(const periodic_params *p, int tasks)
{
    rts_tick first = rts_time() + rts_ns_to_ticks((uint64_t)LEAD_NS * (uint64_t)tasks, RTS_TIME_HZ);
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    if (p->align < 0)
        return first;
    rts_tick align = rts_ns_to_ticks((uint64_t)p->align, RTS_TIME_HZ) % period;
    return first - first % period + period + align;
}

static unsigned cpus_of(const rts_case *c)
{
    return rts_cpuset_count(&c->common.cpus);
}

/* Opens a series for every CPU of the case; how many, or -1. */
static int open_series(rts_case *c, periodic *task)
{
    const periodic_params *p = rts_params(c);
    bool several = cpus_of(c) > 1;
    int n = 0;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
        char name[16] = "";
        if (!rts_cpuset_has(&c->common.cpus, cpu))
            continue;
        if (several)
            snprintf(name, sizeof name, "cpu%u", cpu);
        periodic *t = &task[n++];
        *t = (periodic){
            .c = c, .cpu = (int)cpu, .period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ)};
        t->rec = rts_series(c, name, RTS_TIME_HZ, 0, true, &t->omitted);
        if (!t->rec)
            return -1;
    }
    return n;
}

/* The measuring task itself is the first of the periodic ones. */
static int run_periodic(rts_case *c)
{
    const periodic_params *p = rts_params(c);
    periodic *task = rts_alloc(c, cpus_of(c) * sizeof *task);
    if (!task)
        return rts_failed(c, "no memory for the tasks");
    int n = open_series(c, task);
    if (n < 0)
        return -1;
    if ((uint64_t)p->period * 3 > c->patience_ns)
        c->patience_ns = (uint64_t)p->period * 3;
    int64_t distance = p->distance ? p->distance : p->period / n;
    rts_tick first = first_release(p, n);
    for (int i = 0; i < n; i++)
        task[i].first = first + rts_ns_to_ticks((uint64_t)(distance * i), RTS_TIME_HZ);
    for (int i = 1; i < n; i++) {
        task[i].ended = rts_sem_make(c, RTS_SEM_PSHARED, 0);
        if (!task[i].ended || rts_task_start_on(c, periodic_task, &task[i], task[i].cpu))
            return -1;
    }
    periodic_task(&task[0]);
    for (int i = 1; i < n; i++)
        rts_sem_take(task[i].ended); /* each takes all its samples, whoever is first */
    rts_end(c, task[0].rec);
    return 0;
}

static const rts_bench benches[] = {
    {.id = "dk.periodic",
     .title = "Periodic wake-up at an absolute time",
     .source = "Dankwardt, part 3; as cyclictest does",
     .help = "A task per CPU sleeps until absolute times a period apart; the sample is how late it "
             "runs. Missed activations are counted, and the corrected distribution holds the "
             "lateness they would have had.",
     .params = periodic_param,
     .traits = RTS_OWN_SERIES,
     .samples = 100000,
     .warmup = 2,
     .time_ns = 0,
     .series = cpus_of,
     .run = run_periodic},
};

RTS_BENCHES(benches);
