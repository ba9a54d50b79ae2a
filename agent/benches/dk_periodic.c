/* dk.periodic: absolute periodic wake-up (Dankwardt, part 3; cyclictest is its modern relative). */

#include "periodic.h"

#define SECOND_NS INT64_C(1000000000)
#define LEAD_NS 10000000 /* time to start all tasks, before the first release */

enum { FIFO, DEADLINE };

typedef struct periodic_params {
    int64_t period, distance, align, policy, runtime;
} periodic_params;

static const rts_param periodic_param[] = {
    RTS_DURATION(periodic_params, period, 1000000, 10000, 3600 * SECOND_NS,
                 "time between two releases"),
    RTS_DURATION(periodic_params, distance, 0, 0, 3600 * SECOND_NS,
                 "offset of the releases from one CPU to the next; 0: spread evenly over a period"),
    RTS_DURATION(
        periodic_params, align, -1, -1, 3600 * SECOND_NS,
        "offset of the releases from multiples of the period of the system's clock; -1: arbitrary"),
    RTS_CHOICE(
        periodic_params, policy, "fifo|deadline", FIFO,
        "scheduling policy of the task; deadline needs config=2cpu, unless there is only one CPU"),
    RTS_DURATION(periodic_params, runtime, 0, 0, 3600 * SECOND_NS,
                 "with policy=deadline: runtime granted in each period; 0: a tenth of the period"),
    RTS_PARAMS_END,
};

/* One periodic task. */
typedef struct periodic {
    rts_case *c;
    rts_rec *rec;
    rts_hist *omitted;
    rts_sem *ended; /* given when it has taken all samples; NULL for the measuring task */
    rts_tick first, period;
    int cpu;
} periodic;

static void periodic_task(void *arg)
{
    const periodic *t = arg;
    rts_tick release = t->first;
    for (rts_rec_start(t->rec, release); t->rec->running && !t->c->stop;)
        periodic_wake_up(t->rec, t->omitted, &release, t->period);
    if (t->ended)
        rts_sem_give(t->ended);
}

/* Returns the first release: soon, and aligned as the parameters ask. */
static rts_tick first_release(const periodic_params *p, int tasks)
{
    rts_tick first = rts_time() + rts_ns_to_ticks((uint64_t)LEAD_NS * (uint64_t)tasks, RTS_TIME_HZ);
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    if (p->align < 0)
        return rts_release_at(first);
    rts_tick align = rts_ns_to_ticks((uint64_t)p->align, RTS_TIME_HZ) % period;
    return first - first % period + period + align;
}

static unsigned cpus_of(const rts_case *c)
{
    return rts_cpuset_count(&c->common.cpus);
}

/* Opens a series for every CPU of the case; returns their number, or -1. */
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
            rts_print(name, sizeof name, "cpu%u", cpu);
        periodic *t = &task[n++];
        *t = (periodic){
            .c = c, .cpu = (int)cpu, .period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ)};
        t->rec = rts_series(c, name, RTS_TIME_HZ, 0, true, &t->omitted);
        if (!t->rec)
            return -1;
    }
    return n;
}

/*
 * The same under deadline scheduling: a job of at most `runtime` in every period, to be done by its
 * end. When the runtime is used up, the system makes the task wait for the next period, and reports
 * that only to tasks that run for long, so jobs are told apart by their CPU time. Returns the
 * number of jobs.
 */
static uint64_t deadline_task(const periodic *t, uint64_t runtime)
{
    uint64_t beyond = 0, last = rts_cpu_time();
    rts_tick release = t->first;
    for (rts_rec_start(t->rec, release); t->rec->running;) {
        periodic_wake_up(t->rec, t->omitted, &release, t->period);
        uint64_t used = rts_cpu_time();
        beyond += used - last >= runtime;
        last = used;
    }
    return beyond;
}

static int run_deadline(rts_case *c, const periodic *t)
{
    const periodic_params *p = rts_params(c);
    uint64_t runtime = (uint64_t)(p->runtime ? p->runtime : p->period / 10);
    uint32_t caps = rts_caps();
    if (!(caps & RTS_CAP_DEADLINE))
        return rts_unsupported(c, "policy=deadline: %s", rts_port_why_not(RTS_CAP_DEADLINE));
    if (cpus_of(c) > 1)
        return rts_unsupported(c, "policy=deadline: its tasks cannot be bound to a CPU each");
    int err = rts_task_set_own_deadline(runtime, (uint64_t)p->period);
    if (err)
        return rts_unsupported(c, "policy=deadline with %llu ns in every %lld ns: %s%s",
                               (unsigned long long)runtime, (long long)p->period,
                               rts_port_strerror(err),
                               c->job.cpu < 0 ? ""
                                              : "; a task bound to one of several CPUs is not "
                                                "taken: use config=2cpu");
    c->job.evidence.sched = "deadline";
    c->job.evidence.prio = -1;
    uint64_t beyond = deadline_task(t, runtime);
    rts_end(c, t->rec);
    rts_count_add(c, "runtime used up", beyond, "jobs");
    return rts_own_level(c, 0, RTS_FIFO);
}

/* The measuring task itself is the first of the periodic tasks. */
static int run_periodic(rts_case *c)
{
    const periodic_params *p = rts_params(c);
    periodic *task = rts_alloc(c, cpus_of(c) * sizeof *task);
    if (!task)
        return rts_unsupported(c, "no memory for the tasks");
    int n = open_series(c, task);
    if (n < 0)
        return -1;
    if ((uint64_t)p->period * 3 > c->job.patience_ns)
        c->job.patience_ns = (uint64_t)p->period * 3;
    int64_t distance = p->distance ? p->distance : p->period / n;
    rts_tick first = first_release(p, n);
    for (int i = 0; i < n; i++)
        task[i].first = first + rts_ns_to_ticks((uint64_t)(distance * i), RTS_TIME_HZ);
    if (p->policy == DEADLINE)
        return run_deadline(c, &task[0]);
    for (int i = 1; i < n; i++) {
        task[i].ended = rts_sem_make(c, RTS_SEM_PSHARED, 0);
        if (!task[i].ended || rts_task_start_on(c, periodic_task, &task[i], task[i].cpu))
            return -1;
    }
    periodic_task(&task[0]);
    for (int i = 1; i < n; i++)
        rts_sem_take(task[i].ended); /* each takes all its samples, in any order */
    rts_end(c, task[0].rec);
    return 0;
}

static const rts_bench benches[] = {
    {.id = "dk.periodic",
     .title = RTS_SAY("Periodic wake-up at an absolute time"),
     .source = RTS_SAY("Dankwardt, part 3; as cyclictest does"),
     .help = RTS_SAY("One task per CPU sleeps until absolute release times, one period apart; the "
                     "sample is how late it runs. Missed activations are counted, and the "
                     "corrected distribution includes the lateness they would have had. Under "
                     "policy=deadline the task also sleeps until its release, so that both "
                     "policies are measured alike; jobs that used up their runtime are counted."),
     .params = periodic_param,
     .traits = RTS_OWN_SERIES | RTS_OMITTED,
     .samples = 100000,
     .warmup = 2,
     .time_ns = 0,
     .series = cpus_of,
     .run = run_periodic},
};

RTS_BENCHES(benches);
