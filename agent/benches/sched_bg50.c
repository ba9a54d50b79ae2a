/* sched.bg50.*: fifty tasks of equal priority share a CPU (Sjöblom, scheduler). */
#include <stdatomic.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define SPINS 100 /* iterations of the empty loop between two checks whether the round is over */
#define TASKS 50
#define HALF 25

enum { OTHER, RR };

typedef struct bg_params {
    int64_t policy, work;
} bg_params;

static const rts_param no_param[] = {RTS_PARAMS_END};
static const rts_param half_param[] = {
    RTS_CHOICE(bg_params, policy, "other|rr", OTHER,
               "time sharing, or round robin one level below the case's priority"),
    RTS_DURATION(bg_params, work, 100000000, 100000, SECOND_NS,
                 "CPU time that each task needs by itself"),
    RTS_PARAMS_END,
};

typedef struct crowd crowd;

typedef struct worker {
    crowd *g;
    rts_sem *gate;
    rts_tick start, end;      /* stamps of this round */
    unsigned turn;            /* number of tasks that ran, or ended, before this one */
    uint64_t cpu_before, cpu; /* CPU time at the release, and at the end or at half-time */
    volatile bool ended;
    uint64_t product; /* result of its work: the same for all */
} worker;

struct crowd {
    rts_case *c;
    unsigned first_task; /* index of the first worker among the tasks of the case */
    uint64_t passes;     /* iterations of the work loop */
    atomic_uint turns;   /* workers that have run, or ended, in this round */
    atomic_uint back;    /* workers that wait at their gates again, or are about to */
    volatile bool over;
    uint64_t preempted;   /* involuntary switches since the case began */
    rts_sem *seen, *done; /* given at the last stamp, and when all workers are back */
    worker w[TASKS];
};

/* Ends the round for this worker. */
static void go_back(crowd *g)
{
    if (atomic_fetch_add(&g->back, 1) == TASKS - 1)
        rts_sem_give(g->done);
}

/* Creates fifty tasks that wait at their gates. */
static crowd *gather(rts_case *c, void (*run)(void *), int below, rts_policy policy)
{
    crowd *g = rts_alloc(c, sizeof *g);
    if (!g) {
        rts_unsupported(c, "no memory for %d tasks", TASKS);
        return NULL;
    }
    g->c = c;
    g->seen = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    g->done = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!g->seen || !g->done)
        return NULL;
    g->first_task = c->n_tasks;
    for (unsigned i = 0; i < TASKS; i++) {
        g->w[i].g = g;
        g->w[i].gate = rts_sem_make(c, RTS_SEM_PSHARED, 0);
        if (!g->w[i].gate || rts_task_start(c, run, &g->w[i], below, policy, false))
            return NULL;
    }
    return g;
}

/*
 * Waits until all workers are at their gates. The task to which the last one's return is reported
 * has preempted it, and tasks of the lowest policy run only while no other task does.
 */
static void await_gates(void)
{
    rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
}

/* Opens the gates; the caller has higher priority, so that no worker runs before it waits. */
static void release(crowd *g)
{
    g->turns = g->back = 0;
    g->over = false;
    g->preempted = rts_preemptions();
    for (unsigned i = 0; i < TASKS; i++) {
        g->w[i].ended = false;
        g->w[i].turn = TASKS; /* none yet */
        rts_sem_give(g->w[i].gate);
    }
}

/*
 * Returns how often workers were preempted since the release. Called by the measuring task, which
 * has itself just preempted the worker that woke it.
 */
static uint64_t handovers(const crowd *g)
{
    return rts_preemptions() - g->preempted - 1;
}

/* ---- sched.bg50.orig ------------------------------------------------------------------------- */

/* Takes a stamp, then runs an empty loop until the last worker has taken its stamp. */
static void spinner(void *arg)
{
    worker *w = arg;
    crowd *g = w->g;
    for (;;) {
        rts_sem_take(w->gate);
        if (g->c->stop)
            return;
        w->start = rts_now();
        w->turn = atomic_fetch_add(&g->turns, 1);
        if (w->turn == TASKS - 1)
            rts_sem_give(g->seen);
        while (!g->over && !g->c->stop) {
            for (unsigned i = 0; i < SPINS; i++)
                RTS_BARRIER();
            rts_worked(RTS_WORK_ADD, SPINS);
        }
        go_back(g);
    }
}

static int run_orig(rts_case *c)
{
    crowd *g = gather(c, spinner, 1, RTS_OTHER);
    double rounds = 0, disorder = 0, changes = 0;
    if (!g)
        return -1;
    RTS_SAMPLES(c) {
        await_gates();
        release(g);
        rts_sem_take(g->seen);
        uint64_t lost = handovers(g);
        g->over = true;
        rts_tick first = 0, last = 0;
        unsigned late = 0;
        for (unsigned i = 0; i < TASKS; i++) {
            late += g->w[i].turn != i;
            if (g->w[i].turn == 0)
                first = g->w[i].start;
            if (g->w[i].turn == TASKS - 1)
                last = g->w[i].start;
        }
        if (!c->rec->warm) { /* the figures are of the samples */
            rounds++;
            changes += (double)lost;
            disorder += late;
        }
        rts_rec_add(c->rec, last - first, last);
        rts_sem_take(g->done);
    }
    if (rounds == 0)
        return 0;
    if (rts_caps() & RTS_CAP_CPU_TIME) /* whoever counts it counts preemptions */
        rts_figure_add(c, "hand-overs from first to last stamp", changes / rounds, "");
    rts_figure_add(c, "tasks that ran out of order", disorder / rounds, "tasks");
    return 0;
}

/* ---- sched.bg50.half ------------------------------------------------------------------------- */

static uint64_t work(uint64_t passes)
{
    uint64_t x = 1;
    rts_worked(RTS_WORK_ADD, passes);
    for (; passes > 0; passes--) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x)); /* the compiler must not drop an iteration */
    }
    return x;
}

#define TRIALS 5
#define TRIAL_PASSES 1000000

/* Returns the iterations of the loop that take `ns` of an otherwise unused CPU. */
static uint64_t calibrate(uint64_t ns)
{
    volatile uint64_t result;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIALS; i++) {
        rts_tick a = rts_now();
        result = work(TRIAL_PASSES);
        rts_tick b = rts_now();
        least = b - a < least ? b - a : least;
    }
    (void)result;
    double pass_ns = rts_clock_ns((double)least) / TRIAL_PASSES;
    return (uint64_t)((double)ns / pass_ns) + 1;
}

/*
 * The 25th worker to finish wakes the measuring task, which has a higher priority, at once: Linux
 * checks the time slice when a task asks for CPU time, so that asking first could cost the CPU.
 * Its turn comes before its stamp: one that lost the CPU between them would be the 25th by a stamp
 * from before others ran.
 */
static void labourer(void *arg)
{
    worker *w = arg;
    crowd *g = w->g;
    for (;;) {
        rts_sem_take(w->gate);
        if (g->c->stop)
            return;
        w->product = work(g->passes);
        w->turn = atomic_fetch_add(&g->turns, 1);
        w->end = rts_now();
        if (w->turn == HALF - 1)
            rts_sem_give(g->seen);
        w->cpu = rts_cpu_time();
        w->ended = true;
        go_back(g);
    }
}

/* Totals over all rounds. */
typedef struct totals {
    uint64_t rounds, ended, preempted;
    double elapsed_ns, cpu_ns, unfair, work_ns;
    double taken_ns; /* by tasks that are not of the case, and a hypervisor */
    bool unknown;    /* nobody knows how much that was */
} totals;

/* Adds a round; elapsed_ns is the time in which the workers got their CPU time. */
static void add_round(totals *t, const crowd *g, double elapsed_ns)
{
    double sum = 0, least = 0, most = 0;
    for (unsigned i = 0; i < TASKS; i++) {
        double got = (double)(g->w[i].cpu - g->w[i].cpu_before);
        least = i == 0 || got < least ? got : least;
        most = got > most ? got : most;
        sum += got;
    }
    t->rounds++;
    t->elapsed_ns += elapsed_ns;
    t->cpu_ns += sum;
    t->unfair += (most - least) / (sum / TASKS);
}

/*
 * Gets the CPU time of each worker at half-time: those that have ended have noted it, the others
 * are queried. The 25th has only woken the measuring task.
 */
static void look_at_the_half(crowd *g, totals *t)
{
    t->preempted += handovers(g);
    t->ended += g->turns;
    for (unsigned i = 0; i < TASKS; i++)
        if (!g->w[i].ended)
            g->w[i].cpu = rts_task_cpu_time(g->c->task[g->first_task + i]);
}

/* Returns when the 25th worker ended. */
static rts_tick end_of_half(const crowd *g)
{
    unsigned i = 0;
    while (g->w[i].turn != HALF - 1)
        i++;
    return g->w[i].end;
}

/* Adds the CPU time of each worker's work; returns whether all did the same work. */
static bool check_work(const crowd *g, totals *t)
{
    bool same = true;
    for (unsigned i = 0; i < TASKS; i++) {
        t->work_ns += (double)(g->w[i].cpu - g->w[i].cpu_before) / TASKS;
        same = same && g->w[i].product == g->w[0].product;
    }
    return same;
}

static int one_round(rts_case *c, crowd *g, totals *t)
{
    await_gates();
    rts_port_taken_ns(&c->job);
    for (unsigned i = 0; i < TASKS; i++)
        g->w[i].cpu_before = rts_task_cpu_time(c->task[g->first_task + i]);
    release(g);
    rts_tick start = rts_now();
    rts_sem_take(g->seen);
    rts_tick seen = rts_now(); /* later than the end: the 25th may lose the CPU before it gives */
    look_at_the_half(g, t);
    rts_tick end = end_of_half(g);
    add_round(t, g, rts_clock_ns((double)(seen - start)));
    int64_t taken = rts_port_taken_ns(&c->job);
    t->unknown = t->unknown || taken < 0;
    t->taken_ns += (double)taken;
    rts_rec_add(c->rec, end - start, end);
    rts_sem_take(g->done);
    return check_work(g, t) ? 0 : rts_failed(c, "the tasks did not do the same work");
}

/* Checks the amount of work: too little shows no round robin, too much is throttled. */
static int check_rr(rts_case *c, uint64_t work_ns)
{
    uint64_t slice = rts_port_slice_ns(RTS_RR), all = TASKS * work_ns;
    if (!(rts_caps() & RTS_CAP_ROUND_ROBIN))
        return rts_unsupported(c, "needs round_robin: %s", rts_port_why_not(RTS_CAP_ROUND_ROBIN));
    if (work_ns <= slice)
        return rts_unsupported(c,
                               "the round-robin time slice of %llu us is not shorter than the "
                               "work: no task would lose the CPU (shorten the slice, on Linux "
                               "sysctl kernel.sched_rr_timeslice_ms)",
                               (unsigned long long)(slice / 1000));
    if (c->busy_ns && all > c->busy_ns)
        return rts_unsupported(
            c,
            "%d tasks with this work keep the CPU for %llu ms, and the "
            "RT throttling limit allows work of at most %llu us; or use policy=other",
            TASKS, (unsigned long long)(all / 1000000),
            (unsigned long long)(c->busy_ns / TASKS / 1000));
    return 0;
}

/*
 * What the tasks did not get is overhead, less what others got. If that is more than what is left,
 * it would be a difference of two large numbers, and there is no figure.
 */
static void report(rts_case *c, const totals *t)
{
    double rounds = (double)t->rounds, taken = t->unknown ? 0 : t->taken_ns;
    double overhead = t->elapsed_ns - t->cpu_ns - taken;
    if (!t->unknown)
        rts_figure_add(c, "CPU time of other tasks meanwhile", taken / rounds, "ns");
    if (taken <= overhead)
        rts_figure_add(c, "overhead share", 100 * overhead / t->elapsed_ns, "%");
    rts_count_add(c, "involuntary switches", t->preempted, "switches");
    if (t->preempted && taken <= overhead)
        rts_figure_add(c, "overhead per switch", overhead / (double)t->preempted, "ns");
    rts_figure_add(c, "unfairness ((max - min) / mean of CPU time)", 100 * t->unfair / rounds, "%");
    rts_figure_add(c, "tasks that had ended at the half", (double)t->ended / rounds, "tasks");
    rts_figure_add(c, "CPU time of the work among the others", t->work_ns / rounds, "ns");
}

static int run_half(rts_case *c)
{
    const bg_params *p = rts_params(c);
    uint64_t work_ns = (uint64_t)p->work, patience = 3 * TASKS * work_ns;
    totals t = {0};
    if (p->policy == RR && check_rr(c, work_ns))
        return -1;
    c->job.patience_ns = c->job.patience_ns > patience ? c->job.patience_ns : patience;
    crowd *g = gather(c, labourer, 1, p->policy == RR ? RTS_RR : RTS_OTHER);
    if (!g)
        return -1;
    g->passes = calibrate(work_ns);
    RTS_SAMPLES(c) {
        if (p->policy == RR) /* so that the RT throttling budget is full again */
            rts_sleep_until(rts_time() + rts_ns_to_ticks(c->rest_ns, RTS_TIME_HZ));
        bool warm = c->rec->warm;
        if (one_round(c, g, &t))
            return -1;
        if (warm) /* the figures are of the samples */
            t = (totals){0};
    }
    if (t.rounds)
        report(c, &t);
    return 0;
}

static const rts_bench benches[] = {
    {.id = "sched.bg50.orig",
     .title = RTS_SAY("Fifty background tasks, first time stamp to last"),
     .source = RTS_SAY("Sjöblom, scheduler"),
     .metric = "scheduling",
     .help =
         RTS_SAY("50 tasks of the lowest scheduling class (time sharing) are released together "
                 "into a dummy loop and take a time stamp in its first pass; the sample is the "
                 "time from the first time stamp to the 50th: 49 hand-overs, each a time slice and "
                 "a context switch. The author's own objection: the result does not show how long "
                 "the CPU was idle, waiting for sleeping processes. Other time-sharing tasks on "
                 "that CPU are included as well. sched.bg50.half is the better variant."),
     .params = no_param,
     .needs = RTS_CAP_PRIORITIES | RTS_CAP_ROUND_ROBIN,
     .traits = RTS_ONE_CPU,
     .samples = 10,
     .warmup = 1,
     .time_ns = RTS_LIMIT(30 * SECOND_NS),
     .run = RTS_RUN(RTS_CAP_ROUND_ROBIN, run_orig)},
    {.id = "sched.bg50.half",
     .title = RTS_SAY("Fifty equal tasks until half of them are done"),
     .source = RTS_SAY("Sjöblom, scheduler; measures of rtstone"),
     .metric = "scheduling",
     .help =
         RTS_SAY("50 tasks with equal work wait at a gate; the sample is the time from their "
                 "release to the end of the 25th. The other 25 are still ready then, so the CPU "
                 "was never idle: what the CPU time of all 50 does not explain is overhead, less "
                 "the time of other tasks on that CPU and of a hypervisor, where the system tells "
                 "it; if they got more than is left, no overhead is reported. By default they are "
                 "under time sharing: round robin is a real-time policy, and 50 times 100 ms of it "
                 "would exceed the system's RT throttling limit, which is not what is measured. "
                 "policy=rr is for time slices short enough to stay within that limit."),
     .params = half_param,
     .needs = RTS_CAP_PRIORITIES | RTS_CAP_CPU_TIME,
     .traits = RTS_ONE_CPU,
     .samples = 3,
     .warmup = 0,
     .time_ns = RTS_LIMIT(60 * SECOND_NS),
     .run = RTS_RUN(RTS_CAP_CPU_TIME, run_half)},
};

RTS_BENCHES(benches);
