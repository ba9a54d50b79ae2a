/*
 * sync.test1 to sync.test3: the cost of semaphores and mutexes, and whether they cause priority
 * inversion (Obenland, latency benchmarks).
 */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

enum { UNNAMED, NAMED, MUTEX };
enum { THREAD, PROCESS };

typedef struct sync_params {
    int64_t type, entity;
} sync_params;

static int check(rts_case *c, const sync_params *p)
{
    uint32_t caps = rts_caps();
    if (p->type == NAMED && !(caps & RTS_CAP_SEM_NAMED))
        return rts_unsupported(c, "this system has no named semaphores");
    if (p->entity == PROCESS && !(caps & RTS_CAP_PROCESS))
        return rts_unsupported(c, "this system has no processes");
    if (p->entity == PROCESS && p->type == UNNAMED && !(caps & RTS_CAP_SEM_PSHARED))
        return rts_unsupported(c, "this system has no semaphores shared between processes");
    return 0;
}

/* Creates a semaphore of the measured type, at 0. */
static rts_sem *measured_sem(rts_case *c, const sync_params *p)
{
    rts_sem_kind shared = p->entity == PROCESS ? RTS_SEM_PSHARED : RTS_SEM_UNNAMED;
    return rts_sem_make(c, p->type == NAMED ? RTS_SEM_NAMED : shared, 0);
}

/* ---- test1: both calls, no context switch ---------------------------------------------------- */

static int run_mutex(rts_case *c)
{
    rts_mutex mutex;
    int err = rts_mutex_create(&mutex, RTS_LOCK_NONE, (int)c->common.prio);
    if (err)
        return rts_port_failed(c, "cannot create a mutex", err);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, (rts_mutex_lock(&mutex), rts_mutex_unlock(&mutex)));
    }
    rts_mutex_destroy(&mutex);
    return 0;
}

static int run_test1(rts_case *c)
{
    const sync_params *p = rts_params(c);
    if (p->type == MUTEX)
        return run_mutex(c);
    rts_sem *s = check(c, p) ? NULL : measured_sem(c, p);
    if (!s)
        return -1;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, (rts_sem_give(s), rts_sem_take(s)));
    }
    return 0;
}

/* ---- test2: a round trip between two tasks --------------------------------------------------- */

typedef struct trip {
    rts_case *c;
    rts_sem *forth, *back;
    volatile uint64_t answered;
} trip;

static void answerer(void *arg)
{
    trip *t = arg;
    for (;;) {
        rts_sem_take(t->forth);
        if (t->c->stop)
            return;
        t->answered++;
        rts_sem_give(t->back);
    }
}

static int run_test2(rts_case *c)
{
    const sync_params *p = rts_params(c);
    trip *t = rts_alloc(c, sizeof *t);
    if (check(c, p))
        return -1;
    if (!t)
        return rts_unsupported(c, "no memory");
    t->c = c;
    t->forth = measured_sem(c, p);
    t->back = measured_sem(c, p);
    if (!t->forth || !t->back || rts_task_start(c, answerer, t, 0, RTS_FIFO, p->entity == PROCESS))
        return -1;
    uint64_t requests = 0;
    RTS_SAMPLES(c) {
        rts_stamp a = rts_stamp_now();
        rts_sem_give(t->forth);
        rts_sem_take(t->back);
        rts_stamp b = rts_stamp_now();
        requests++;
        rts_rec_span(c->rec, a, b);
    }
    if (t->answered != requests)
        return rts_failed(c, "%llu round trips, but %llu answers", (unsigned long long)requests,
                          (unsigned long long)t->answered);
    return 0;
}

/* ---- test3: priority inversion --------------------------------------------------------------- */

enum { LEVEL_H, LEVEL_M, LEVEL_L };
enum { LOCK_MUTEX, LOCK_SEMAPHORE };

typedef struct inversion_params {
    int64_t lock, protocol, loop;
} inversion_params;

/* H and L use the resource, M only uses the CPU. */
typedef struct inversion {
    rts_case *c;
    rts_sem *h_gate, *m_gate, *semaphore;
    rts_mutex mutex;
    bool is_mutex;
    rts_tick loop;           /* how long M keeps the CPU, in ticks */
    volatile rts_tick end;   /* stamp when H has the resource */
    volatile bool requested; /* H is about to request it */
    volatile uint64_t h_rounds, m_begun, m_rounds, m_before_h;
} inversion;

static void lock(inversion *v)
{
    if (v->is_mutex)
        rts_mutex_lock(&v->mutex);
    else
        rts_sem_take(v->semaphore);
}

static void unlock(inversion *v)
{
    if (v->is_mutex)
        rts_mutex_unlock(&v->mutex);
    else
        rts_sem_give(v->semaphore);
}

static void high(void *arg)
{
    inversion *v = arg;
    for (;;) {
        rts_sem_take(v->h_gate);
        if (v->c->stop)
            return;
        v->requested = true;
        lock(v);
        v->end = rts_now();
        v->m_before_h += v->m_begun != v->h_rounds;
        v->h_rounds++;
        unlock(v);
    }
}

static void middle(void *arg)
{
    inversion *v = arg;
    for (;;) {
        rts_sem_take(v->m_gate);
        if (v->c->stop)
            return;
        v->m_begun++;
        for (rts_tick begin = rts_now(); rts_now() - begin < v->loop;)
            ;
        v->m_rounds++;
    }
}

static int check_inversion(rts_case *c, const inversion_params *p)
{
    if (p->lock == LOCK_SEMAPHORE && p->protocol != RTS_LOCK_NONE)
        return rts_unsupported(c, "a semaphore has no owner whose priority could be raised: use "
                                  "protocol=none");
    if (p->protocol == RTS_LOCK_PROTECT && !(rts_caps() & RTS_CAP_LOCK_PROTECT))
        return rts_unsupported(c, "no mutexes with a priority ceiling: %s",
                               rts_port_why_not(RTS_CAP_LOCK_PROTECT));
    return 0;
}

static inversion *prepare(rts_case *c, const inversion_params *p)
{
    inversion *v = rts_alloc(c, sizeof *v);
    if (!v || check_inversion(c, p))
        return NULL;
    v->c = c;
    v->is_mutex = p->lock == LOCK_MUTEX;
    v->loop = rts_ns_to_ticks((uint64_t)p->loop, rts_the_clock.hz);
    v->h_gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    v->m_gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    v->semaphore = rts_sem_make(c, RTS_SEM_UNNAMED, 1);
    int err = rts_mutex_create(&v->mutex, (rts_protocol)p->protocol, (int)c->common.prio);
    if (err)
        rts_port_failed(c, "cannot create a mutex of that protocol", err);
    bool complete = !err && v->h_gate && v->m_gate && v->semaphore;
    return complete ? v : NULL;
}

/* Runs one round of L; returns -1 if the tasks did not run in the intended order. */
static int round_of_l(inversion *v, bool ceiling, rts_tick *start)
{
    uint64_t rounds = v->h_rounds;
    v->requested = false;
    lock(v);
    *start = rts_now();
    rts_sem_give(v->h_gate);
    /* With a ceiling, L itself now has H's priority and continues. */
    bool blocked = v->h_rounds == rounds && (ceiling || v->requested);
    rts_sem_give(v->m_gate);
    unlock(v);
    return blocked && v->h_rounds == rounds + 1 && v->m_begun == rounds + 1 ? 0 : -1;
}

#define LOOPS 20 /* of M, in which another CPU has run H and M */

/*
 * Runs one round of L where H and M may have CPUs of their own: priorities do not decide who runs
 * next, so L waits until H is about to request the resource. The round is over when both are done.
 */
static int round_on_any_cpu(inversion *v, rts_tick *start)
{
    uint64_t rounds = v->h_rounds;
    v->requested = false;
    lock(v);
    *start = rts_now();
    rts_sem_give(v->h_gate);
    while (!v->requested && rts_now() - *start < LOOPS * v->loop)
        ;
    bool blocked = v->requested && v->h_rounds == rounds;
    rts_sem_give(v->m_gate);
    unlock(v);
    rts_tick released = rts_now();
    while ((v->h_rounds == rounds || v->m_rounds == rounds) &&
           rts_now() - released < LOOPS * v->loop)
        rts_sleep_until(rts_release_at(rts_time() + RTS_SLEEP_GRAIN));
    return blocked && v->h_rounds == rounds + 1 && v->m_rounds == rounds + 1 ? 0 : -1;
}

/* The verdict is based on the median: a single long sample need not be caused by M. */
static void report(rts_case *c, const inversion *v, uint64_t disorder)
{
    rts_rec_finish(c->rec);
    const rts_hist *h = &c->rec->hist;
    rts_tick half = v->loop / 2;
    bool inverted = rts_hist_percentile(h, 500) >= half;
    const char *verdict = !h->n ? "none, no sample" : inverted ? "inverted" : "bounded";
    rts_count_add(c, "M ran before H had the resource", v->m_before_h, "rounds");
    rts_count_add(c, "order was another", disorder, "rounds");
    rts_table(c, "priority inversion", "verdict\tthreshold");
    rts_row(c, "%s\thalf of M's loop, %llu us", verdict,
            (unsigned long long)(half * 1000000 / rts_the_clock.hz));
}

/*
 * L takes the resource and a stamp. H is released, requests the resource and blocks; M is released,
 * and keeps the CPU from L unless L has inherited H's priority by then. H takes the second stamp
 * when it has the resource.
 */
static int run_test3(rts_case *c)
{
    const inversion_params *p = rts_params(c);
    inversion *v = prepare(c, p);
    if (!v || rts_own_level(c, LEVEL_L, RTS_FIFO) ||
        rts_task_start(c, high, v, LEVEL_H, RTS_FIFO, false) ||
        rts_task_start(c, middle, v, LEVEL_M, RTS_FIFO, false) || rts_wait_idle(c))
        return -1;
    uint64_t disorder = 0;
    RTS_SAMPLES(c) {
        rts_tick start;
        if (c->common.config == RTS_2CPU ? round_on_any_cpu(v, &start)
                                         : round_of_l(v, p->protocol == RTS_LOCK_PROTECT, &start)) {
            if (++disorder == 10)
                return rts_failed(c, "L, H and M did not run in the order that is measured");
            rts_wait_idle(c);
            continue;
        }
        rts_rec_add(c->rec, v->end - start, v->end);
    }
    report(c, v, disorder);
    rts_mutex_destroy(&v->mutex);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_param test1_param[] = {
    RTS_CHOICE(sync_params, type, "unnamed|named|mutex", UNNAMED, "kind of the object"),
    RTS_PARAMS_END,
};

static const rts_param test2_param[] = {
    RTS_CHOICE(sync_params, type, "unnamed|named", UNNAMED,
               "kind of the semaphores; unnamed ones are shared between processes if the tasks are "
               "processes"),
    RTS_CHOICE(sync_params, entity, "thread|process", THREAD, "kind of the other task"),
    RTS_PARAMS_END,
};

static const rts_param test3_param[] = {
    RTS_CHOICE(inversion_params, lock, "mutex|semaphore", LOCK_MUTEX,
               "kind of lock that guards the resource"),
    RTS_CHOICE(inversion_params, protocol, "none|inherit|protect", RTS_LOCK_NONE,
               "protocol of the mutex: none, priority inheritance, or priority ceiling"),
    RTS_DURATION(inversion_params, loop, 10000000, 100000, SECOND_NS / 10,
                 "how long M keeps the CPU"),
    RTS_PARAMS_END,
};

static const rts_bench benches[] = {
    {.id = "sync.test1",
     .title = RTS_SAY("Post and wait, or lock and unlock, without a switch"),
     .source = RTS_SAY("Obenland, figure 7"),
     .help = RTS_SAY(
         "One task posts a semaphore and waits for it, or locks and unlocks a mutex: the cost "
         "of the two calls."),
     .metric = "semaphores",
     .params = test1_param,
     .traits = RTS_RESTS | RTS_BATCHES,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_test1},
    {.id = "sync.test2",
     .title = RTS_SAY("Round trip over two semaphores"),
     .source = RTS_SAY("Obenland, figure 8"),
     .help = RTS_SAY(
         "A posts one semaphore and waits for the other, B the other way round: from A's time "
         "stamp before the post to its time stamp after the wait. Both have the same priority."),
     .metric = "semaphores",
     .params = test2_param,
     .traits = RTS_RESTS,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_test2},
    {.id = "sync.test3",
     .title = RTS_SAY("Priority inversion"),
     .source = RTS_SAY("Obenland, figure 9"),
     .help =
         RTS_SAY("Three tasks: L of low, M of middle and H of high priority. L locks a resource "
                 "and takes a time stamp, H blocks on the resource, M keeps the CPU for the "
                 "time `loop`: the sample is the time until H has the resource. The verdict "
                 "is inverted if the median is at least half of `loop`, else bounded. With "
                 "config=2cpu no task is bound, so that L need not wait for M."),
     .metric = "mutexes and condition variables",
     .params = test3_param,
     .needs = RTS_CAP_PRIORITIES,
     .traits = RTS_RESTS,
     .samples = 100,
     .warmup = 2,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_test3},
};

RTS_BENCHES(benches);
