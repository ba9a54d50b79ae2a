/*
 * posix.cancel.*: cancelling threads, and what cancellation costs threads that are not cancelled.
 */
#include <semaphore.h>

#include "thread.h"

#define GROUP "thread cancellation"
#define HEAD_START_NS 100000 /* for a lower-priority thread to start computing */

/* ---- a thread is cancelled (template TB) ----------------------------------------------------- */

typedef struct target {
    rts_case *c;
    sem_t never; /* never posted */
    volatile rts_tick end;
    volatile uint64_t ready, cleaned; /* threads in position; cleanup handlers that ran */
} target;

static void on_cancel(void *arg)
{
    target *t = arg;
    t->end = rts_now();
    t->cleaned++;
}

/* H: waits at a cancellation point. */
static void *wait_at_point(void *arg)
{
    target *t = arg;
    pthread_cleanup_push(on_cancel, t);
    t->ready++;
    while (!t->c->stop)
        sem_wait(&t->never);
    pthread_cleanup_pop(0);
    return NULL;
}

/* L: computes, and can be cancelled at any point. */
static void *compute(void *arg)
{
    target *t = arg;
    pthread_cleanup_push(on_cancel, t);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); /* NOLINT(cert-pos47-c): measured */
    t->ready++;
    while (!t->c->stop)
        RTS_BARRIER();
    pthread_cleanup_pop(0);
    return NULL;
}

typedef struct count {
    uint64_t unready, late, cancelled, uncancelled;
} count;

/* Joins the thread, which must have ended by cancellation. */
static void join_cancelled(pthread_t thread, count *n)
{
    void *result = NULL;
    pthread_join(thread, &result);
    if (result == PTHREAD_CANCELED)
        n->cancelled++;
    else
        n->uncancelled++;
}

static void report(rts_case *c, const target *t, const count *n)
{
    rts_count_add(c, "threads cancelled", n->cancelled, "threads");
    rts_count_add(c, "threads not cancelled", n->uncancelled, "threads");
    rts_count_add(c, "cleanup handlers run", t->cleaned, "handlers");
    rts_count_add(c, "thread was not at its place", n->unready, "samples");
}

static int run_deferred(rts_case *c)
{
    target t = {.c = c};
    count n = {0};
    pthread_attr_t attr;
    int err = 0;
    sem_init(&t.never, 0, 0);
    if (rts_own_level(c, LEVEL_LOW, RTS_FIFO) || thread_attributes(c, &attr, LEVEL_HIGH))
        return -1;
    RTS_SAMPLES(c) {
        pthread_t thread;
        uint64_t ready = t.ready, cleaned = t.cleaned;
        err = pthread_create(&thread, &attr, wait_at_point, &t);
        if (err)
            break;
        n.unready += t.ready == ready;
        rts_tick a = rts_now();
        pthread_cancel(thread);
        n.late += t.cleaned == cleaned;
        join_cancelled(thread, &n);
        if (t.cleaned != cleaned) /* otherwise the interval has no end, and is counted instead */
            rts_rec_add(c->rec, t.end - a, t.end);
    }
    report(c, &t, &n);
    rts_count_add(c, "thread did not preempt", n.late, "samples");
    sem_destroy(&t.never);
    return thread_end(c, &attr, err);
}

/*
 * The thread has lower priority: it computes while A sleeps, and is cancelled when A waits for it.
 */
static int run_asynchronous(rts_case *c)
{
    target t = {.c = c};
    count n = {0};
    pthread_attr_t attr;
    uint64_t early = 0;
    int err = 0;
    if (thread_attributes(c, &attr, LEVEL_LOW))
        return -1;
    RTS_SAMPLES(c) {
        pthread_t thread;
        uint64_t ready = t.ready, cleaned = t.cleaned;
        err = pthread_create(&thread, &attr, compute, &t);
        if (err)
            break;
        while (t.ready == ready && !c->job.stop_requested)
            rts_sleep_until(rts_time() + rts_ns_to_ticks(HEAD_START_NS, RTS_TIME_HZ));
        n.unready += t.ready == ready;
        rts_tick a = rts_now();
        pthread_cancel(thread);
        early += t.cleaned != cleaned;
        join_cancelled(thread, &n);
        if (t.cleaned != cleaned) /* otherwise the interval has no end, and is counted instead */
            rts_rec_add(c->rec, t.end - a, t.end);
    }
    report(c, &t, &n);
    rts_count_add(c, "thread ran before it was joined", early, "samples");
    return thread_end(c, &attr, err);
}

/* ---- no thread is cancelled (template TA) ---------------------------------------------------- */

static int run_test(rts_case *c)
{
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_testcancel());
    }
    return 0;
}

static int run_state(rts_case *c)
{
    static const int states[2] = {PTHREAD_CANCEL_DISABLE, PTHREAD_CANCEL_ENABLE};
    uint64_t i = 0, wrong = 0;
    int before;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_setcancelstate(states[i++ & 1], &before));
        wrong += before != states[i & 1];
    }
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    return wrong ? rts_failed(c, "the state of cancellation was not as it was set") : 0;
}

static int run_type(rts_case *c)
{
    static const int types[2] = {PTHREAD_CANCEL_ASYNCHRONOUS, PTHREAD_CANCEL_DEFERRED};
    uint64_t i = 0, wrong = 0;
    int before;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_setcanceltype(types[i++ & 1], &before));
        wrong += before != types[i & 1];
    }
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    return wrong ? rts_failed(c, "the type of cancellation was not as it was set") : 0;
}

static void count_call(void *arg)
{
    ++*(volatile uint64_t *)arg;
}

/* Its setjmp returns a second time only in a thread that is cancelled, and this one is not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wclobbered"
static int run_cleanup(rts_case *c)
{
    volatile uint64_t runs = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_cleanup_push(count_call, (void *)&runs); pthread_cleanup_pop(0));
    }
    return runs ? rts_failed(c, "a cleanup handler ran that was only taken away") : 0;
}
#pragma GCC diagnostic pop

#define NEEDS_LEVELS (RTS_CAP_POSIX | RTS_CAP_PRIORITIES)
#define ONE_BY_ONE (RTS_RESTS | RTS_ONE_CPU)

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.cancel.deferred", .metric = GROUP,
     .title = RTS_SAY("Cancel a thread at a cancellation point"),
     .help = RTS_SAY("From the time stamp before pthread_cancel to the first statement of the "
                     "cleanup handler of a higher-priority thread that waits in sem_wait."),
     .needs = NEEDS_LEVELS, .traits = ONE_BY_ONE, .run = run_deferred},
    {METRIC_COMMON, .id = "posix.cancel.asynchronous", .metric = GROUP,
     .title = RTS_SAY("Cancel a thread that computes"),
     .help =
         RTS_SAY("From the time stamp before pthread_cancel of a lower-priority thread, which can "
                 "be cancelled anywhere, to the first statement of its cleanup handler. It gets "
                 "the CPU when the task waits in pthread_join, which is part of the interval."),
     .needs = NEEDS_LEVELS, .traits = ONE_BY_ONE, .run = run_asynchronous},
    {METRIC_COMMON, .id = "posix.cancel.test", .metric = GROUP,
     .title = RTS_SAY("Test for a pending cancellation"),
     .help = RTS_SAY("Duration of pthread_testcancel with nothing pending."),
     .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_test},
    {METRIC_COMMON, .id = "posix.cancel.state", .metric = GROUP,
     .title = RTS_SAY("Disable or enable cancellation"),
     .help = RTS_SAY("Duration of pthread_setcancelstate, alternately disabling and enabling."),
     .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_state},
    {METRIC_COMMON, .id = "posix.cancel.type", .metric = GROUP,
     .title = RTS_SAY("Set the type of cancellation"),
     .help = RTS_SAY("Duration of pthread_setcanceltype, alternately asynchronous and deferred."),
     .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_type},
    {METRIC_COMMON, .id = "posix.cancel.cleanup", .metric = GROUP,
     .title = RTS_SAY("Push and pop a cleanup handler"),
     .help = RTS_SAY(
         "Duration of pthread_cleanup_push and pthread_cleanup_pop, without running the handler."),
     .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_cleanup},
};

RTS_BENCHES(benches);
