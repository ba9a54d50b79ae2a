/*
 * sync.rwlock, sync.barrier, sync.spin: the cost of the locks that 1003.1j added to POSIX
 * (read-write locks, barriers and spin locks), and whether they respect priorities (Obenland, table
 * 1).
 */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

typedef struct locks_params {
    int64_t op, tasks, until;
} locks_params;

enum { READ, WRITE };
enum { URGENT, LAST };
enum { LEVEL_H, LEVEL_M, LEVEL_A };

#define TASKS_MAX 64

static const rts_param rwlock_param[] = {
    RTS_CHOICE(locks_params, op, "read|write", READ, "mode in which it is locked"),
    RTS_PARAMS_END,
};

static const rts_param barrier_param[] = {
    RTS_INT(locks_params, tasks, "task", 4, 2, TASKS_MAX,
            "tasks that meet, including the last one"),
    RTS_CHOICE(locks_params, until, "urgent|last", URGENT,
               "whether the sample ends when the highest-priority task runs, or the last one"),
    RTS_PARAMS_END,
};

#ifdef RTS_LOCKS

/* ---- no other task waits --------------------------------------------------------------------- */

static int run_rwlock(rts_case *c)
{
    const locks_params *p = rts_params(c);
    rts_rwlock lock;
    int bad = 0, err = rts_rwlock_create(&lock);
    if (err)
        return rts_port_failed(c, "cannot create a read-write lock", err);
    if (p->op == READ)
        RTS_SAMPLES(c) {
            RTS_TIMED(c, (bad |= rts_rwlock_read(&lock), bad |= rts_rwlock_unlock(&lock)));
        }
    else
        RTS_SAMPLES(c) {
            RTS_TIMED(c, (bad |= rts_rwlock_write(&lock), bad |= rts_rwlock_unlock(&lock)));
        }
    bad |= rts_rwlock_destroy(&lock);
    return bad ? rts_failed(c, "a read-write lock could not be locked or unlocked") : 0;
}

static int run_spin(rts_case *c)
{
    rts_spin lock;
    int bad = 0, err = rts_spin_create(&lock);
    if (err)
        return rts_port_failed(c, "cannot create a spin lock", err);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, (bad |= rts_spin_lock(&lock), bad |= rts_spin_unlock(&lock)));
    }
    bad |= rts_spin_destroy(&lock);
    return bad ? rts_failed(c, "a spin lock could not be locked or unlocked") : 0;
}

/* ---- two writers wait ------------------------------------------------------------------------ */

/* M requests the lock first, H has higher priority; both want to write while A holds it. */
typedef struct handover {
    rts_case *c;
    rts_rwlock lock;
    rts_sem *gate_h, *gate_m;
    volatile rts_tick end;                   /* when the first of them has it */
    volatile uint64_t h, m, requests, ahead; /* rounds; how often M was the first */
} handover;

static void write_once(handover *v, volatile uint64_t *rounds, const volatile uint64_t *other)
{
    v->requests++;
    rts_rwlock_write(&v->lock);
    rts_tick now = rts_now();
    if (*other == *rounds) { /* the other task has not had it yet */
        v->end = now;
        v->ahead += rounds == &v->m;
    }
    ++*rounds;
    rts_rwlock_unlock(&v->lock);
}

static void writer_h(void *arg)
{
    handover *v = arg;
    for (;;) {
        rts_sem_take(v->gate_h);
        if (v->c->stop)
            return;
        write_once(v, &v->h, &v->m);
    }
}

static void writer_m(void *arg)
{
    handover *v = arg;
    for (;;) {
        rts_sem_take(v->gate_m);
        if (v->c->stop)
            return;
        write_once(v, &v->m, &v->h);
    }
}

static void report_handover(rts_case *c, const handover *v, uint64_t unready, uint64_t late)
{
    bool all = v->ahead == v->m;
    rts_count_add(c, "writers were not waiting", unready, "samples");
    rts_count_add(c, "writers did not preempt", late, "samples");
    rts_count_add(c, "less urgent writer came first", v->ahead, "rounds");
    rts_table(c, "waiting writers", "who comes first");
    rts_row(c, "%s", !v->ahead ? "the more urgent" : all ? "who asked first" : "in turn");
}

/*
 * TB: from A's stamp before the unlock to the first statement of the first writer that has the
 * lock.
 */
static void hand_over(rts_case *c, handover *v)
{
    uint64_t unready = 0, late = 0;
    RTS_SAMPLES(c) {
        uint64_t rounds = v->h, requests = v->requests;
        rts_rwlock_write(&v->lock);
        rts_sem_give(v->gate_m);
        rts_sem_give(v->gate_h);
        unready += v->requests != requests + 2 || v->h != rounds || v->m != rounds;
        rts_tick a = rts_now();
        rts_rwlock_unlock(&v->lock);
        if (v->h != rounds + 1 || v->m != rounds + 1) { /* not both of them ran at once */
            late++;
            while (v->h != rounds + 1 || v->m != rounds + 1)
                rts_yield();
        }
        rts_rec_add(c->rec, v->end - a, v->end);
    }
    report_handover(c, v, unready, late);
}

static int run_handover(rts_case *c)
{
    handover *v = rts_alloc(c, sizeof *v);
    if (!v)
        return rts_failed(c, "no memory");
    v->c = c;
    v->gate_h = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    v->gate_m = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    int err = rts_rwlock_create(&v->lock);
    if (err)
        return rts_port_failed(c, "cannot create a read-write lock", err);
    if (!v->gate_h || !v->gate_m || rts_own_level(c, LEVEL_A, RTS_FIFO) ||
        rts_task_start(c, writer_h, v, LEVEL_H, RTS_FIFO, false) ||
        rts_task_start(c, writer_m, v, LEVEL_M, RTS_FIFO, false) || rts_wait_idle(c))
        return -1;
    hand_over(c, v);
    return rts_rwlock_destroy(&v->lock) ? rts_failed(c, "the lock was still held") : 0;
}

/* ---- a barrier ------------------------------------------------------------------------------- */

typedef struct meeting {
    rts_case *c;
    rts_barrier barrier;
    rts_sem *gate;                          /* until all tasks are there */
    volatile rts_tick urgent_end, last_end; /* the most urgent task ran, and the last one */
    volatile uint64_t passed, serial, refused;
    volatile bool over;
} meeting;

static void meet(meeting *m)
{
    int outcome = rts_barrier_wait(&m->barrier);
    m->serial += outcome > 0;
    m->refused += outcome < 0;
}

static void attend(meeting *m, volatile rts_tick *end)
{
    rts_sem_take(m->gate);
    while (!m->c->stop && !m->over) {
        meet(m);
        m->last_end = rts_now();
        if (end)
            *end = m->last_end;
        m->passed++;
    }
}

static void most_urgent(void *arg)
{
    meeting *m = arg;
    attend(m, &m->urgent_end);
}

static void attendant(void *arg)
{
    attend(arg, NULL);
}

/* The others have higher priority than A, so they wait at the barrier when A arrives last. */
static int assemble(rts_case *c, meeting *m, unsigned partners)
{
    if (rts_own_level(c, LEVEL_A, RTS_FIFO) ||
        rts_task_start(c, most_urgent, m, LEVEL_H, RTS_FIFO, false))
        return -1;
    for (unsigned i = 1; i < partners; i++)
        if (rts_task_start(c, attendant, m, LEVEL_M, RTS_FIFO, false))
            return -1;
    for (unsigned i = 0; i < partners; i++)
        rts_sem_give(m->gate);
    return rts_wait_idle(c);
}

static int run_meeting(rts_case *c, meeting *m, unsigned partners, bool last)
{
    uint64_t early = 0, late = 0, meetings = 0;
    RTS_SAMPLES(c) {
        uint64_t all = m->passed + partners;
        early += m->passed != meetings * partners;
        rts_tick a = rts_now();
        meet(m);
        if (m->passed != all) { /* not all of them ran at once */
            late++;
            while (m->passed != all)
                rts_yield();
        }
        meetings++;
        rts_tick end = last ? m->last_end : m->urgent_end;
        rts_rec_add(c->rec, end - a, end);
    }
    rts_count_add(c, "passed before the last one came", early, "samples");
    rts_count_add(c, "tasks did not preempt", late, "samples");
    if (m->serial == meetings && !m->refused)
        return 0;
    return rts_failed(c, "%llu meetings, but the barrier singled out %llu tasks",
                      (unsigned long long)meetings, (unsigned long long)m->serial);
}

static int run_barrier(rts_case *c)
{
    const locks_params *p = rts_params(c);
    unsigned partners = (unsigned)p->tasks - 1;
    meeting *m = rts_alloc(c, sizeof *m);
    if (!m)
        return rts_failed(c, "no memory");
    m->c = c;
    m->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    int err = rts_barrier_create(&m->barrier, partners + 1);
    if (err)
        return rts_port_failed(c, "cannot create a barrier", err);
    if (!m->gate || assemble(c, m, partners))
        return -1;
    err = run_meeting(c, m, partners, p->until == LAST);
    m->over = true;
    meet(m); /* so that the others can leave */
    return err;
}

/* ---- a spin lock that another CPU waits for -------------------------------------------------- */

typedef struct contest {
    rts_case *c;
    rts_spin lock;
    volatile rts_tick end; /* when B has it */
    volatile uint64_t requests, had, answered;
} contest;

/* B: requests the lock in each round, on its own CPU. */
static void contender(void *arg)
{
    contest *t = arg;
    while (!t->c->stop) {
        if (t->requests == t->had) {
            if (t->c->resting)
                rts_sleep_until(rts_time() + RTS_TIME_HZ / 1000);
            continue;
        }
        t->answered++;
        rts_spin_lock(&t->lock);
        t->end = rts_now();
        rts_spin_unlock(&t->lock);
        t->had++;
    }
}

static int other_cpu(const rts_case *c)
{
    rts_cpuset cpus;
    rts_port_cpus(&cpus);
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if ((int)cpu != c->job.cpu && rts_cpuset_has(&cpus, cpu))
            return (int)cpu;
    return -1;
}

#define SPIN_NS 2000 /* from B's announcement to the unlock: by then B spins */

static int run_contended(rts_case *c)
{
    contest *t = rts_alloc(c, sizeof *t);
    if (!t)
        return rts_failed(c, "no memory");
    t->c = c;
    int err = rts_spin_create(&t->lock), cpu = other_cpu(c);
    if (err)
        return rts_port_failed(c, "cannot create a spin lock", err);
    if (cpu < 0)
        return rts_unsupported(c, "there is no other CPU to wait on");
    if (rts_task_start_on(c, contender, t, cpu))
        return -1;
    rts_tick spin = rts_ns_to_ticks(SPIN_NS, rts_the_clock.hz);
    uint64_t early = 0;
    RTS_SAMPLES(c) {
        rts_spin_lock(&t->lock);
        uint64_t round = ++t->requests;
        while (t->answered != round && !c->job.stop_requested)
            ;
        for (rts_tick since = rts_now(); rts_now() - since < spin;)
            ;
        early += t->had == round;
        rts_tick a = rts_now();
        rts_spin_unlock(&t->lock);
        while (t->had != round && !c->job.stop_requested)
            ;
        if (t->end >= a) /* the CPUs' counters agree */
            rts_rec_add(c->rec, t->end - a, t->end);
        else
            early++;
    }
    rts_count_add(c, "had it before it was unlocked", early, "samples");
    return 0;
}

#define LOCK_RUN(fn) fn
#else
#define LOCK_RUN(fn) NULL
#endif

#define LOCK_COMMON                                                                                \
    .source = RTS_SAY("Obenland, table 1 (1003.1j); procedure of rtstone"), .warmup = 10,          \
    .time_ns = RTS_LIMIT(10 * SECOND_NS)

static const rts_bench benches[] = {
    {LOCK_COMMON, .id = "sync.rwlock",
     .title = RTS_SAY("Lock and unlock a read-write lock that is free"),
     .help = RTS_SAY(
         "Duration of the two calls, for reading or for writing; no other task has the lock."),
     .params = rwlock_param, .needs = RTS_CAP_RWLOCK, .traits = RTS_RESTS | RTS_BATCHES,
     .samples = RTS_SAMPLES_DEFAULT, .run = LOCK_RUN(run_rwlock)},
    {LOCK_COMMON, .id = "sync.rwlock.handover",
     .title = RTS_SAY("Hand a read-write lock to a writer"),
     .help = RTS_SAY("A holds the lock for writing; M, of higher priority, requests it, and after "
                     "M does H, of the highest priority. From A's time stamp before the unlock to "
                     "the first statement of the task that gets it first; a table says which one."),
     .needs = RTS_CAP_RWLOCK | RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .samples = RTS_SAMPLES_DEFAULT, .run = LOCK_RUN(run_handover)},
    {LOCK_COMMON, .id = "sync.barrier", .title = RTS_SAY("Release tasks from a barrier"),
     .help = RTS_SAY(
         "Tasks wait at a barrier, one of them with a higher priority than the others; A, of the "
         "lowest priority, arrives last: from its time stamp before the call to the first "
         "statement after the barrier of the highest-priority task, or of the last one."),
     .params = barrier_param, .needs = RTS_CAP_BARRIER | RTS_CAP_PRIORITIES,
     .traits = RTS_ONE_CPU | RTS_RESTS, .slope_over = "tasks", .samples = RTS_SAMPLES_DEFAULT,
     .run = LOCK_RUN(run_barrier)},
    {LOCK_COMMON, .id = "sync.spin", .title = RTS_SAY("Lock and unlock a spin lock that is free"),
     .help = RTS_SAY("Duration of the two calls; no other task has the lock."),
     .needs = RTS_CAP_SPIN, .traits = RTS_RESTS | RTS_BATCHES, .samples = RTS_SAMPLES_DEFAULT,
     .run = LOCK_RUN(run_spin)},
    {LOCK_COMMON, .id = "sync.spin.contended", .title = RTS_SAY("Hand a spin lock to another CPU"),
     .help = RTS_SAY("A task on another CPU spins on the lock: from the time stamp before the "
                     "unlock to its first statement with the lock, by the counter of that CPU."),
     .needs = RTS_CAP_SPIN | RTS_CAP_SMP, .traits = RTS_RESTS, .samples = 1000,
     .run = LOCK_RUN(run_contended)},
};

RTS_BENCHES(benches);
