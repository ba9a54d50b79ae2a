/* dk.periodic: absolute periodic wake-up (Dankwardt, part 3; cyclictest is its modern relative). */

#include "periodic.h"

#define SECOND_NS INT64_C(1000000000)
#define LEAD_NS 10000000 /* time to start all tasks, before the first release */
#define TASKS_MAX 32     /* on each CPU */

/* In the order of the parameter's choices. */
enum { FIFO, DEADLINE, RR, OTHER };
enum { MONOTONIC, REALTIME };

typedef struct periodic_params {
    int64_t period, distance, align, policy, runtime;
#ifndef RTS_SMALL_CODE
    int64_t tasks;
#endif
#ifdef RTS_WALL
    int64_t clock;
#endif
} periodic_params;

static const rts_param periodic_param[] = {
    RTS_DURATION(periodic_params, period, 1000000, 10000, 3600 * SECOND_NS,
                 "time between two releases"),
    RTS_DURATION(
        periodic_params, distance, 0, 0, 3600 * SECOND_NS,
        "offset of the releases from one task to the next; 0: spread evenly over a period"),
    RTS_DURATION(
        periodic_params, align, -1, -1, 3600 * SECOND_NS,
        "offset of the releases from multiples of the period of the system's clock; -1: arbitrary"),
    RTS_CHOICE(periodic_params, policy, "fifo|deadline|rr|other", FIFO,
               "scheduling policy of the tasks: other is time sharing, without prio; deadline "
               "needs config=2cpu, unless there is only one CPU"),
    RTS_DURATION(periodic_params, runtime, 0, 0, 3600 * SECOND_NS,
                 "with policy=deadline: runtime granted in each period; 0: a tenth of the period"),
#ifndef RTS_SMALL_CODE
    RTS_INT(periodic_params, tasks, NULL, 1, 1, TASKS_MAX,
            "number of tasks on each CPU, of equal priority, each with a distribution of its own"),
#endif
#ifdef RTS_WALL
    RTS_CHOICE(periodic_params, clock, "monotonic|realtime", MONOTONIC,
               "clock that the releases follow and lateness is measured by: CLOCK_MONOTONIC or "
               "CLOCK_REALTIME, which may be set meanwhile: wake-ups at which it was are counted, "
               "and are no samples"),
#endif
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
#ifdef RTS_WALL
    uint64_t set; /* wake-ups at which the clock had been set */
#endif
} periodic;

/* The constants that ports have spare them the code for what they never do. */
static unsigned cpus_of(const rts_case *c)
{
    return RTS_NEVER & RTS_CAP_SMP ? 1 : rts_cpuset_count(&c->common.cpus);
}

static unsigned tasks_of(const rts_case *c)
{
#ifndef RTS_SMALL_CODE
    return (unsigned)((const periodic_params *)rts_params(c))->tasks;
#else
    (void)c;
    return 1;
#endif
}

static unsigned series_of(const rts_case *c)
{
    return cpus_of(c) * tasks_of(c);
}

/*
 * Starts a series. Its time counts from the first release, unless that is later than the whole time
 * from now on: then there will be no sample.
 */
static void start(const periodic *t)
{
    rts_tick lead = rts_ns_to_ticks((uint64_t)LEAD_NS * series_of(t->c), RTS_TIME_HZ);
    rts_tick now = rts_time(), time = t->rec->setup.time;
    rts_rec_start(t->rec, time && t->first > now + lead + time ? now : t->first);
}

#ifdef RTS_WALL
/*
 * A wake-up by the wall clock.  The series itself follows the clock that nobody sets: its limits
 * and the times of its samples.
 */
static void wall_wake_up(periodic *t, rts_wall *wall, rts_tick *release)
{
    rts_tick time = rts_time(), wall_time = rts_wall_time(), end = t->rec->deadline;
    if (*release > wall_time && (end < time || *release - wall_time > end - time)) {
        rts_series_expire(t->rec, time);
        return;
    }
    rts_wall_sleep_until(*release);
    rts_tick now = rts_wall_time();
    if (rts_wall_was_set(wall) || now < *release) {
        t->set++;
        *release = now + t->period;
        rts_rec_look(t->rec, rts_time());
        return;
    }
    periodic_woken(t->rec, t->omitted, release, t->period, now - *release, rts_time());
}

static int wall_task(periodic *t)
{
    rts_wall wall;
    int err = rts_wall_open(&wall);
    if (err)
        return rts_port_failed(t->c, "cannot watch the wall clock", err);
    rts_tick release = t->first + rts_wall_time() - rts_time();
    for (start(t); t->rec->running && !t->c->stop;)
        wall_wake_up(t, &wall, &release);
    t->set += rts_wall_was_set(&wall); /* after the last wake-up */
    rts_wall_close(&wall);
    return 0;
}
#endif

static void wake_up_periodically(periodic *t)
{
#ifdef RTS_WALL
    if (((const periodic_params *)rts_params(t->c))->clock == REALTIME) {
        wall_task(t);
        return;
    }
#endif
    rts_tick release = t->first;
    for (start(t); t->rec->running && !t->c->stop;)
        periodic_wake_up(t->rec, t->omitted, &release, t->period);
}

/* The calling task gets the policy that is asked for. */
static int take_policy(rts_case *c)
{
    const periodic_params *p = rts_params(c);
    if (p->policy < RR)
        return 0;
    int err = rts_own_level(c, 0, p->policy == RR ? RTS_RR : RTS_OTHER);
    if (p->policy == OTHER)
        c->job.evidence.prio = -1;
    return err;
}

static void periodic_task(void *arg)
{
    periodic *t = arg;
    if (!take_policy(t->c))
        wake_up_periodically(t);
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

/* Opens the series of a task on this CPU, which is named if there are others. */
static int open_cpu_series(rts_case *c, periodic *t, unsigned cpu, unsigned number)
{
    const periodic_params *p = rts_params(c);
    char name[16] = "";
    int used = 0;
    if (cpus_of(c) > 1)
        used = rts_print(name, sizeof name, "cpu%u", cpu);
    if (tasks_of(c) > 1)
        rts_print(name + used, sizeof name - (unsigned)used, "%stask%u", used ? " " : "", number);
    *t = (periodic){
        .c = c, .cpu = (int)cpu, .period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ)};
    t->rec = rts_series(c, name, RTS_TIME_HZ, 0, true, &t->omitted);
    return t->rec ? 0 : -1;
}

/* Opens a series for every task on every CPU of the case; how many, or -1. */
static int open_series(rts_case *c, periodic *task)
{
    int n = 0;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        for (unsigned i = 0; rts_cpuset_has(&c->common.cpus, cpu) && i < tasks_of(c); i++)
            if (open_cpu_series(c, &task[n++], cpu, i))
                return -1;
    return n;
}

/*
 * The same under deadline scheduling: a job of at most `runtime` in every period, to be done by its
 * end. When the runtime is used up, the system makes the task wait for the next period, and reports
 * that only to tasks that run for long, so jobs are distinguished by their CPU time: from one
 * wake-up to the next, both recorded. Returns how many used up their runtime.
 */
static uint64_t deadline_task(const periodic *t, uint64_t runtime)
{
    uint64_t beyond = 0;
    rts_tick release = t->first;
    rts_rec_section(t->rec); /* now: it takes long, and would be the work of a job */
    start(t);
    for (uint64_t last = rts_cpu_time(); t->rec->running;) {
        bool warm = t->rec->warm;
        periodic_wake_up(t->rec, t->omitted, &release, t->period);
        uint64_t used = rts_cpu_time();
        beyond += !warm && used - last >= runtime;
        last = used;
    }
    return beyond;
}

static int run_deadline(rts_case *c, const periodic *t)
{
    const periodic_params *p = rts_params(c);
    uint64_t runtime = (uint64_t)(p->runtime ? p->runtime : p->period / 10);
    if (series_of(c) > 1)
        return rts_unsupported(c, "policy=deadline: its tasks cannot be bound to a CPU each");
    const char *why = rts_port_allow_deadlines(c->job.cpu);
    if (why)
        return rts_unsupported(c, "policy=deadline: %s", why);
    int err = rts_task_set_own_deadline(runtime, (uint64_t)p->period);
    if (err)
        return rts_unsupported(c, "policy=deadline with %llu ns in every %lld ns: %s",
                               (unsigned long long)runtime, (long long)p->period,
                               rts_port_why_no_deadline(err));
    c->job.evidence.sched = "deadline";
    c->job.evidence.prio = -1;
    uint64_t beyond = deadline_task(t, runtime);
    rts_end(c, t->rec);
    if (periodic_check(c, t->rec))
        return -1;
    rts_count_add(c, "runtime used up", beyond, "jobs");
    return rts_own_level(c, 0, RTS_FIFO);
}

static int check_policy(rts_case *c)
{
    const periodic_params *p = rts_params(c);
    uint32_t need = p->policy == DEADLINE ? RTS_CAP_DEADLINE
                    : p->policy == RR     ? RTS_CAP_ROUND_ROBIN
                                          : 0;
    if (need & ~rts_caps())
        return rts_unsupported(c, "policy=%s: %s", p->policy == RR ? "rr" : "deadline",
                               rts_port_why_not(need));
    return 0;
}

#ifdef RTS_WALL
static void count_settings(rts_case *c, const periodic *task, int n)
{
    const periodic_params *p = rts_params(c);
    uint64_t set = 0;
    for (int i = 0; i < n; i++)
        set += task[i].set;
    if (p->clock == REALTIME)
        rts_count_add(c, "wake-ups at which the clock was set", (int64_t)set, "");
}
#endif

static int start_tasks(rts_case *c, periodic *task, int n)
{
    for (int i = 1; i < n; i++) {
        task[i].ended = rts_sem_make(c, RTS_SEM_PSHARED, 0);
        if (!task[i].ended || rts_task_start_on(c, periodic_task, &task[i], task[i].cpu))
            return -1;
    }
    return 0;
}

/* The measuring task itself is the first of the periodic ones. */
static int run_periodic(rts_case *c)
{
    const periodic_params *p = rts_params(c);
    if (check_policy(c))
        return -1;
    periodic *task = rts_alloc(c, series_of(c) * sizeof *task);
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
    if (!(RTS_NEVER & RTS_CAP_DEADLINE) && p->policy == DEADLINE)
        return run_deadline(c, &task[0]);
    if (take_policy(c) || (series_of(c) > 1 && start_tasks(c, task, n)))
        return -1;
    wake_up_periodically(&task[0]);
    for (int i = 1; series_of(c) > 1 && i < n; i++)
        rts_sem_take(task[i].ended); /* each takes all its samples, whoever is first */
    rts_end(c, task[0].rec);
    for (int i = 0; i < n; i++)
        if (periodic_check(c, task[i].rec))
            return -1;
#ifdef RTS_WALL
    count_settings(c, task, n);
#endif
    return 0;
}

static const rts_bench benches[] = {
    {.id = "dk.periodic",
     .title = RTS_SAY("Periodic wake-up at an absolute time"),
     .source = RTS_SAY("Dankwardt, part 3; as cyclictest does"),
     .help = RTS_SAY(
         "One task per CPU, or `tasks` of them, sleeps until absolute release times, one "
         "period apart; the sample is how late it runs. Missed activations are counted, and the "
         "corrected distribution includes the lateness they would have had. Under "
         "policy=deadline the task also sleeps until its release, so that both "
         "policies are measured alike; jobs that used up their runtime are counted."),
     .params = periodic_param,
     .traits = RTS_OWN_SERIES | RTS_OMITTED,
     .samples = 100000,
     .warmup = 2,
     .time_ns = 0,
     .series = series_of,
     .run = run_periodic},
};

RTS_BENCHES(benches);
