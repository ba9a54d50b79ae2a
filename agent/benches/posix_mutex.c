/* posix.mutex.*: locking and unlocking a mutex, and handing it over. */
#include "metric.h"

#define GROUP "mutexes and condition variables"

enum { LEVEL_H, LEVEL_A };

typedef struct mutex_params {
    int64_t protocol;
} mutex_params;

static const rts_param mutex_param[] = {
    RTS_CHOICE(mutex_params, protocol, "none|inherit|protect", RTS_LOCK_NONE,
               "priority protocol of the mutex; the ceiling is one level above the task"),
    RTS_PARAMS_END,
};

static rts_protocol protocol_of(const rts_case *c)
{
    const mutex_params *p = rts_params(c);
    return (rts_protocol)p->protocol;
}

/* Destroys the first n mutexes of an array. */
static void drop_row(rts_mutex *row, uint64_t n)
{
    while (n > 0)
        rts_mutex_destroy(&row[--n]);
    rts_free(row);
}

/* Creates as many mutexes as one sample needs; lowers the measuring task to below their ceiling. */
static rts_mutex *mutex_row(rts_case *c)
{
    uint64_t n = c->batch;
    uint32_t needs = RTS_CAP_LOCK_PROTECT | RTS_CAP_PRIORITIES;
    if (protocol_of(c) == RTS_LOCK_PROTECT && (rts_caps() & needs) != needs) {
        rts_unsupported(c, "protocol=protect needs mutexes with a ceiling, and the right to change "
                           "priorities");
        return NULL;
    }
    if (protocol_of(c) == RTS_LOCK_PROTECT && n > 1) {
        rts_unsupported(c, "of several mutexes that are locked at once only the first raises the "
                           "priority: protocol=protect cannot be batched");
        return NULL;
    }
    rts_mutex *row = rts_malloc(n * sizeof *row);
    if (!row || rts_own_level(c, LEVEL_A, RTS_FIFO)) {
        rts_free(row);
        rts_unsupported(c, "no memory for %llu mutexes", (unsigned long long)n);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        int err = rts_mutex_create(&row[i], protocol_of(c), (int)c->common.prio);
        if (err) {
            drop_row(row, i);
            rts_port_failed(c, "cannot create a mutex", err);
            return NULL;
        }
    }
    return row;
}

static int run_lock(rts_case *c)
{
    rts_mutex *row = mutex_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        rts_mutex *m = row;
        RTS_TIMED(c, bad |= rts_mutex_lock(m++));
        for (unsigned i = 0; i < c->batch; i++)
            bad |= rts_mutex_unlock(&row[i]);
    }
    drop_row(row, c->batch);
    return bad ? rts_failed(c, "a mutex could not be locked or unlocked") : 0;
}

static int run_unlock(rts_case *c)
{
    rts_mutex *row = mutex_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        for (unsigned i = 0; i < c->batch; i++)
            bad |= rts_mutex_lock(&row[i]);
        rts_mutex *m = row;
        RTS_TIMED(c, bad |= rts_mutex_unlock(m++));
    }
    drop_row(row, c->batch);
    return bad ? rts_failed(c, "a mutex could not be locked or unlocked") : 0;
}

/* ---- with another task ----------------------------------------------------------------------- */

typedef struct shared {
    rts_case *c;
    rts_mutex *mutex;
    rts_sem *gate;
    volatile rts_stamp end;
    volatile uint64_t tried, got;
} shared;

/* H: locks the mutex when released from its gate, notes when it got it, and unlocks it. */
static void waiter(void *arg)
{
    shared *s = arg;
    for (;;) {
        rts_sem_take(s->gate);
        if (s->c->stop)
            return;
        s->tried++;
        rts_mutex_lock(s->mutex);
        s->end = rts_stamp_now();
        s->got++;
        rts_mutex_unlock(s->mutex);
    }
}

/*
 * TB: A holds the mutex, H waits for it; from A's stamp before the unlock to H's first statement.
 */
static int hand_over(rts_case *c, shared *s)
{
    uint64_t unready = 0, late = 0;
    RTS_SAMPLES(c) {
        uint64_t got = s->got;
        rts_mutex_lock(s->mutex);
        rts_sem_give(s->gate); /* H preempts, and runs until it has to wait */
        unready += s->tried != got + 1 || s->got != got;
        rts_stamp a = rts_stamp_now();
        rts_mutex_unlock(s->mutex);
        if (s->got == got) { /* H did not run at once */
            late++;
            while (s->got == got)
                rts_yield();
        }
        rts_rec_span(c->rec, a, s->end);
    }
    rts_count_add(c, "waiter was not waiting", unready, "samples");
    rts_count_add(c, "waiter did not preempt", late, "samples");
    return 0;
}

static int run_hand_over(rts_case *c)
{
    if (protocol_of(c) == RTS_LOCK_PROTECT)
        return rts_unsupported(c, "with protocol=protect the owner runs at the highest priority of "
                                  "all users: on one CPU no task ever waits");
    shared *s = rts_alloc(c, sizeof *s);
    if (!s)
        return rts_unsupported(c, "no memory");
    s->c = c;
    s->mutex = mutex_row(c);
    s->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (!s->mutex || !s->gate || rts_task_start(c, waiter, s, LEVEL_H, RTS_FIFO, false) ||
        rts_wait_idle(c))
        return -1; /* the mutex is needed until the task has ended */
    int err = hand_over(c, s);
    drop_row(s->mutex, c->batch); /* H waits at its gate, and its next command is to end */
    return err;
}

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.mutex.lock", .metric = GROUP,
     .title = RTS_SAY("Lock a mutex that is free"),
     .help =
         RTS_SAY("Duration of pthread_mutex_lock, or the system's equivalent, on a free mutex."),
     .params = mutex_param, .traits = ALONE, .run = run_lock},
    {METRIC_COMMON, .id = "posix.mutex.unlock", .metric = GROUP,
     .title = RTS_SAY("Unlock a mutex without waiters"),
     .help = RTS_SAY("Duration of pthread_mutex_unlock, or the system's equivalent."),
     .params = mutex_param, .traits = ALONE, .run = run_unlock},
    {METRIC_COMMON, .id = "posix.mutex.handover", .metric = GROUP,
     .title = RTS_SAY("Unlock a mutex for which a higher-priority task waits"),
     .help = RTS_SAY("From the time stamp before the unlock to the first statement of the "
                     "higher-priority task after its lock."),
     .params = mutex_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_hand_over},
};

RTS_BENCHES(benches);
