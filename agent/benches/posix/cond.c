/* posix.cond.*: condition variables without waiters, with waiters, and with a timeout. */
#include <pthread.h>

#include "lateness.h"

#define GROUP "mutexes and condition variables"
#define WAITERS_MAX 128

enum { LEVEL_H, LEVEL_A };

typedef struct cond_params {
    int64_t waiters, delay;
} cond_params;

static const rts_param broadcast_param[] = {
    RTS_INT(cond_params, waiters, "waiter", 1, 1, WAITERS_MAX, "number of waiting tasks"),
    RTS_PARAMS_END,
};

static const rts_param timed_param[] = {
    RTS_DURATION(cond_params, delay, 1000000, 10000, SECOND_NS, "length of each wait"),
    RTS_PARAMS_END,
};

/* ---- no task waits (template TA) ------------------------------------------------------------- */

static int run_signal_nobody(rts_case *c)
{
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_cond_signal(&cond));
    }
    pthread_cond_destroy(&cond);
    return 0;
}

/* Creates the array of condition variables; between samples all of them exist. */
static pthread_cond_t *new_row(rts_case *c)
{
    pthread_cond_t *row = rts_malloc(c->batch * sizeof(pthread_cond_t));
    if (!row)
        rts_failed(c, "no memory for %llu condition variables", (unsigned long long)c->batch);
    for (unsigned i = 0; row && i < c->batch; i++)
        pthread_cond_init(&row[i], NULL);
    return row;
}

static int end_row(rts_case *c, pthread_cond_t *row, int bad)
{
    for (unsigned i = 0; i < c->batch; i++)
        bad |= pthread_cond_destroy(&row[i]);
    rts_free(row);
    return bad ? rts_failed(c, "a condition variable could not be made or destroyed") : 0;
}

static int run_create(rts_case *c)
{
    pthread_cond_t *row = new_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        for (unsigned i = 0; i < c->batch; i++)
            bad |= pthread_cond_destroy(&row[i]);
        pthread_cond_t *v = row;
        RTS_TIMED(c, bad |= pthread_cond_init(v++, NULL));
    }
    return end_row(c, row, bad);
}

static int run_delete(rts_case *c)
{
    pthread_cond_t *row = new_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        pthread_cond_t *v = row;
        RTS_TIMED(c, bad |= pthread_cond_destroy(v++));
        for (unsigned i = 0; i < c->batch; i++)
            bad |= pthread_cond_init(&row[i], NULL);
    }
    return end_row(c, row, bad);
}

/* ---- higher-priority tasks wait (template TB) ------------------------------------------------ */

typedef struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    volatile rts_tick end; /* when the last of them ran */
    volatile uint64_t requests, waits, woken, spurious;
    volatile bool over;
} shared;

/* Counts are changed with the mutex held. */
static void waiter(void *arg)
{
    shared *s = arg;
    pthread_mutex_lock(&s->mutex);
    for (uint64_t seen = s->requests;;) {
        s->waits++;
        pthread_cond_wait(&s->cond, &s->mutex);
        s->end = rts_now();
        if (s->over)
            break;
        if (s->requests == seen) { /* a spurious wake-up, which POSIX allows */
            s->spurious++;
            continue;
        }
        seen = s->requests;
        s->woken++;
    }
    pthread_mutex_unlock(&s->mutex);
}

/* Makes all waiters return, so that they can be joined. */
static void end_waiters(shared *s)
{
    pthread_mutex_lock(&s->mutex);
    s->over = true;
    pthread_cond_broadcast(&s->cond);
    pthread_mutex_unlock(&s->mutex);
}

/*
 * From A's stamp before the wake-up, with the mutex free, to the first statement of the last
 * waiter.
 */
static inline __attribute__((always_inline)) void wake(rts_case *c, shared *s, uint64_t n,
                                                       int (*call)(pthread_cond_t *))
{
    uint64_t unready = 0, late = 0;
    RTS_SAMPLES(c) {
        pthread_mutex_lock(&s->mutex);
        s->requests++;
        unready += s->waits - s->woken - s->spurious != n;
        uint64_t all = s->woken + n;
        pthread_mutex_unlock(&s->mutex);
        rts_tick a = rts_now();
        call(&s->cond);
        if (s->woken != all) { /* not all of them ran at once */
            late++;
            while (s->woken != all)
                rts_yield();
        }
        rts_rec_add(c->rec, s->end - a, s->end);
    }
    rts_count_add(c, "waiters were not waiting", unready, "samples");
    rts_count_add(c, "waiters did not preempt", late, "samples");
    rts_count_add(c, "woken without a signal", s->spurious, "wake-ups");
}

static int start_waiters(rts_case *c, shared *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (rts_task_start(c, waiter, s, LEVEL_H, RTS_FIFO, false))
            return -1;
    return rts_wait_idle(c);
}

static shared *share(rts_case *c)
{
    shared *s = rts_alloc(c, sizeof *s);
    if (!s) {
        rts_failed(c, "no memory");
        return NULL;
    }
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->cond, NULL);
    return rts_own_level(c, LEVEL_A, RTS_FIFO) ? NULL : s;
}

static int run_signal_higher(rts_case *c)
{
    shared *s = share(c);
    if (!s)
        return -1;
    int err = start_waiters(c, s, 1);
    if (!err)
        wake(c, s, 1, pthread_cond_signal);
    end_waiters(s);
    return err;
}

static int run_broadcast(rts_case *c)
{
    const cond_params *p = rts_params(c);
    shared *s = share(c);
    if (!s)
        return -1;
    int err = start_waiters(c, s, p->waiters);
    if (!err)
        wake(c, s, (uint64_t)p->waiters, pthread_cond_broadcast);
    end_waiters(s);
    return err;
}

/* ---- a wait that times out ------------------------------------------------------------------- */

static int run_timed_wait(rts_case *c)
{
    const cond_params *p = rts_params(c);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    pthread_condattr_t attr;
    uint64_t early = 0, spurious = 0;
    rts_rec *r = lateness_series(c);
    if (!r)
        return -1;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* the clock that rts_time() reads */
    pthread_cond_init(&cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&mutex);
    for (rts_rec_start(r, rts_time()); r->running;) {
        rts_tick due = rts_time() + (rts_tick)p->delay;
        struct timespec until = posix_timespec(due);
        int err = pthread_cond_timedwait(&cond, &mutex, &until);
        rts_tick now = rts_time();
        if (err == ETIMEDOUT)
            lateness_add(r, due, now, &early);
        else
            spurious++;
    }
    rts_end(c, r);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&cond);
    rts_count_add(c, "returned before its time", early, "waits");
    rts_count_add(c, "woken without a signal", spurious, "wake-ups");
    return 0;
}

#define NEEDS_TASKS (RTS_CAP_POSIX | RTS_CAP_PRIORITIES)

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.cond.create", .metric = GROUP,
     .title = RTS_SAY("Create a condition variable"),
     .help = RTS_SAY("Duration of pthread_cond_init."), .needs = RTS_CAP_POSIX, .traits = ALONE,
     .run = run_create},
    {METRIC_COMMON, .id = "posix.cond.delete", .metric = GROUP,
     .title = RTS_SAY("Delete a condition variable"),
     .help = RTS_SAY("Duration of pthread_cond_destroy."), .needs = RTS_CAP_POSIX, .traits = ALONE,
     .run = run_delete},
    {METRIC_COMMON, .id = "posix.cond.signal.nobody", .metric = GROUP,
     .title = RTS_SAY("Signal a condition variable without waiters"),
     .help = RTS_SAY("Duration of pthread_cond_signal without a waiter."), .needs = RTS_CAP_POSIX,
     .traits = ALONE, .run = run_signal_nobody},
    {METRIC_COMMON, .id = "posix.cond.signal.higher", .metric = GROUP,
     .title = RTS_SAY("Signal a condition variable for which a higher-priority task waits"),
     .help = RTS_SAY("From the time stamp before pthread_cond_signal, with the mutex free, to the "
                     "first statement of the higher-priority task after pthread_cond_wait."),
     .needs = NEEDS_TASKS, .traits = RTS_ONE_CPU | RTS_RESTS, .run = run_signal_higher},
    {METRIC_COMMON, .id = "posix.cond.broadcast", .metric = GROUP,
     .title = RTS_SAY("Broadcast to waiting higher-priority tasks"),
     .help = RTS_SAY("From the time stamp before pthread_cond_broadcast, with the mutex free, to "
                     "the first statement of the last task after pthread_cond_wait."),
     .params = broadcast_param, .needs = NEEDS_TASKS, .traits = RTS_ONE_CPU | RTS_RESTS,
     .slope_over = "waiters", .run = run_broadcast},
    {METRIC_COMMON, .id = "posix.cond.timedwait", .metric = GROUP,
     .title = RTS_SAY("Wait for a condition variable with a timeout"),
     .help = RTS_SAY("How late pthread_cond_timedwait returns: from its timeout to the clock "
                     "reading that follows the call."),
     .params = timed_param, .needs = RTS_CAP_POSIX, .traits = RTS_OWN_SERIES,
     .run = run_timed_wait},
};

RTS_BENCHES(benches);
