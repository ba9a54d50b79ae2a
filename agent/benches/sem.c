/*
 * sem.*: seven POSIX metrics of semaphores, creation and deletion (Gutsalov, table 3).
 *
 * The measuring task is A, one level below the case's priority; H has a higher priority, W and B a
 * lower one.
 */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

enum { LEVEL_H, LEVEL_A, LEVEL_B, LEVEL_W };
_Static_assert(LEVEL_W < RTS_LEVELS, "the task that shows when all others are blocked is lower");

enum { THREAD, PROCESS };
enum { LOWER, EQUAL };

typedef struct sem_params {
    int64_t type, entity, waiters, rank;
} sem_params;

#define TYPE                                                                                       \
    RTS_CHOICE(sem_params, type, "unnamed|named|pshared", RTS_SEM_UNNAMED,                         \
               "unnamed within a process, named, or unnamed and shared between processes")
#define ENTITY                                                                                     \
    RTS_CHOICE(sem_params, entity, "thread|process", THREAD,                                       \
               "kind of the other tasks; processes need type=named or type=pshared")

static const rts_param alone_param[] = {TYPE, RTS_PARAMS_END};
static const rts_param other_param[] = {TYPE, ENTITY, RTS_PARAMS_END};
static const rts_param busy_param[] = {
    TYPE,
    ENTITY,
    RTS_INT(sem_params, waiters, "waiter", 0, 0, 1024, "tasks that already wait on the semaphore"),
    RTS_CHOICE(sem_params, rank, "lower|equal", LOWER,
               "priority of the waiters relative to the measuring task"),
    RTS_PARAMS_END,
};

static rts_sem_kind kind_of(const rts_case *c)
{
    const sem_params *p = rts_params(c);
    return (rts_sem_kind)p->type;
}

static bool between_processes(const rts_case *c)
{
    const sem_params *p = rts_params(c);
    return p->entity == PROCESS;
}

/* Checks what the parameters need of the system beyond the table's needs. */
static int check(rts_case *c)
{
    uint32_t caps = rts_caps();
    if (kind_of(c) == RTS_SEM_NAMED && !(caps & RTS_CAP_SEM_NAMED))
        return rts_unsupported(c, "this system has no named semaphores");
    if (kind_of(c) == RTS_SEM_PSHARED && !(caps & RTS_CAP_SEM_PSHARED))
        return rts_unsupported(c, "this system has no semaphores shared between processes");
    if (between_processes(c) && !(caps & RTS_CAP_PROCESS))
        return rts_unsupported(c, "this system has no processes");
    if (between_processes(c) && kind_of(c) == RTS_SEM_UNNAMED)
        return rts_unsupported(c, "an unnamed semaphore that is not shared works within one "
                                  "process only: use type=named or type=pshared");
    return 0;
}

/*
 * Creates the semaphore that is measured; calls are timed on what rts_sem_at_hand() returns for it.
 */
static rts_sem *measured_sem(rts_case *c, unsigned value)
{
    return check(c) ? NULL : rts_sem_make(c, kind_of(c), value);
}

/* ---- without another task (template TA) ------------------------------------------------------ */

static int run_post_nowait(rts_case *c)
{
    rts_sem *sem = measured_sem(c, 0);
    if (!sem)
        return -1;
    rts_sem *s = rts_sem_at_hand(sem);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, rts_sem_give(s));
        for (unsigned i = 0; i < c->batch; i++)
            rts_sem_take(sem);
    }
    return 0;
}

/* Gives what the operations of one sample will take. */
static void give_batch(const rts_case *c, rts_sem *s)
{
    for (unsigned i = 0; i < c->batch; i++)
        rts_sem_give(s);
}

static int run_wait_free(rts_case *c)
{
    rts_sem *sem = measured_sem(c, 0);
    if (!sem)
        return -1;
    rts_sem *s = rts_sem_at_hand(sem);
    RTS_SAMPLES(c) {
        give_batch(c, sem);
        RTS_TIMED(c, rts_sem_take(s));
    }
    return 0;
}

static int run_try_free(rts_case *c)
{
    rts_sem *sem = measured_sem(c, 0);
    if (!sem)
        return -1;
    rts_sem *s = rts_sem_at_hand(sem);
    RTS_SAMPLES(c) {
        give_batch(c, sem);
        RTS_TIMED(c, rts_sem_try(s));
        if (!rts_sem_try(sem)) /* all of them must have been taken */
            return rts_failed(c, "the semaphore was still available");
    }
    return 0;
}

static int run_try_busy(rts_case *c)
{
    rts_sem *sem = measured_sem(c, 0);
    unsigned taken = 0;
    if (!sem)
        return -1;
    rts_sem *s = rts_sem_at_hand(sem);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, taken += !rts_sem_try(s));
    }
    return taken ? rts_failed(c, "a semaphore that was not available could be taken") : 0;
}

/* ---- creation and deletion ------------------------------------------------------------------- */

/* Returns as many semaphores as one sample needs. */
static rts_sem *sem_row(rts_case *c)
{
    if (check(c))
        return NULL;
    rts_sem *row = rts_malloc(c->batch * sizeof *row);
    for (unsigned i = 0; row && i < c->batch; i++)
        rts_sem_prepare(&row[i], kind_of(c), c->slot + i);
    if (!row)
        rts_unsupported(c, "no memory for %llu semaphores", (unsigned long long)c->batch);
    return row;
}

static int run_create(rts_case *c)
{
    rts_sem *row = sem_row(c);
    int err = 0;
    bool all = true;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        unsigned created = 0;
        RTS_TIMED(c, created += !(err = rts_sem_create(&row[created], 0)));
        all = created == c->batch;
        while (created > 0)
            rts_sem_destroy(&row[--created]);
        if (!all)
            break;
    }
    rts_free(row);
    return all ? 0 : rts_port_failed(c, "cannot create a semaphore", err);
}

static int run_delete(rts_case *c)
{
    rts_sem *row = sem_row(c);
    int err = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        uint64_t created = 0;
        while (created < c->batch && !(err = rts_sem_create(&row[created], 0)))
            created++;
        if (err) {
            while (created > 0)
                rts_sem_destroy(&row[--created]);
            break;
        }
        rts_sem *s = row;
        RTS_TIMED(c, rts_sem_destroy(s++));
    }
    rts_free(row);
    return err ? rts_port_failed(c, "cannot create a semaphore", err) : 0;
}

/* ---- with another task ----------------------------------------------------------------------- */

typedef struct shared {
    rts_case *c;
    rts_sem *sem, *gate;
    rts_sem *turn; /* of sem.wait.busy: A will wait at the gate */
    volatile rts_stamp end;
    volatile unsigned round;
} shared;

static shared *share(rts_case *c)
{
    shared *s = rts_alloc(c, sizeof *s);
    rts_sem *sem = measured_sem(c, 0);
    if (!s)
        rts_unsupported(c, "no memory");
    if (!s || !sem)
        return NULL;
    s->c = c;
    s->sem = sem;
    s->gate = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    return s->gate ? s : NULL;
}

/* Takes whatever is given, and notes when it got it. */
static void taker(void *arg)
{
    shared *s = arg;
    for (;;) {
        rts_sem_take(s->sem);
        s->end = rts_stamp_now();
        if (s->c->stop)
            return;
        s->round++;
    }
}

/* TA: W has lower priority, so A keeps the CPU; W waits again before the next sample. */
static int run_post_lower(rts_case *c)
{
    shared *s = share(c);
    if (!s || rts_own_level(c, LEVEL_A, RTS_FIFO) ||
        rts_task_start(c, taker, s, LEVEL_W, RTS_FIFO, between_processes(c)) || rts_wait_idle(c))
        return -1;
    uint64_t early = 0;
    rts_sem *sem = rts_sem_at_hand(s->sem);
    RTS_SAMPLES(c) {
        unsigned round = s->round;
        rts_stamp a = rts_stamp_now();
        rts_sem_give(sem);
        rts_stamp b = rts_stamp_now();
        early += s->round != round;
        rts_rec_span(c->rec, a, b);
        rts_wait_idle(c);
    }
    rts_count_add(c, "waiter ran within the interval", early, "samples");
    return 0;
}

/* TB: H waits and has higher priority; from A's stamp before the post to H's first statement. */
static int run_post_higher(rts_case *c)
{
    shared *s = share(c);
    if (!s || rts_own_level(c, LEVEL_A, RTS_FIFO) ||
        rts_task_start(c, taker, s, LEVEL_H, RTS_FIFO, between_processes(c)) || rts_wait_idle(c))
        return -1;
    uint64_t late = 0;
    rts_sem *sem = rts_sem_at_hand(s->sem);
    RTS_SAMPLES(c) {
        unsigned round = s->round;
        rts_stamp a = rts_stamp_now();
        rts_sem_give(sem);
        if (s->round == round) { /* H did not run at once */
            late++;
            while (s->round == round)
                rts_yield();
        }
        rts_rec_span(c->rec, a, s->end);
    }
    rts_count_add(c, "waiter did not preempt", late, "samples");
    return 0;
}

/*
 * Waits like the others, and passes on what it gets, so that A gets its turn in any order. Without
 * the yield it would take back its own post at once.
 */
static void bystander(void *arg)
{
    shared *s = arg;
    while (!s->c->stop) {
        rts_sem_take(s->sem);
        rts_sem_give(s->sem);
        rts_yield();
    }
}

/* B of sem.wait.busy: releases A, notes when it gets the CPU back, and posts what A waits for. */
static void releaser(void *arg)
{
    shared *s = arg;
    for (;;) {
        rts_sem_take(s->turn); /* A may rest before */
        if (s->c->stop)
            return;
        rts_sem_give(s->gate);
        s->end = rts_stamp_now();
        s->round++;
        rts_sem_give(s->sem);
    }
}

/*
 * TB: B releases A from a gate. A preempts B, takes a stamp, and waits on S, which is at 0. Control
 * returns to B, whose first statement is the second stamp. B then posts S; A, the waiter with the
 * highest priority, gets it, records, and returns to the gate.
 */
static int run_wait_busy(rts_case *c)
{
    const sem_params *p = rts_params(c);
    shared *s = share(c);
    if (!s || rts_own_level(c, LEVEL_A, RTS_FIFO))
        return -1;
    s->turn = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!s->turn)
        return -1;
    int level = p->rank == LOWER ? LEVEL_W : LEVEL_A;
    for (int64_t i = 0; i < p->waiters; i++)
        if (rts_task_start(c, bystander, s, level, RTS_FIFO, between_processes(c)))
            return -1;
    if (rts_wait_idle(c) || rts_task_start(c, releaser, s, LEVEL_B, RTS_FIFO, between_processes(c)))
        return -1;
    uint64_t early = 0;
    rts_sem *sem = rts_sem_at_hand(s->sem);
    RTS_SAMPLES(c) {
        rts_sem_give(s->turn);
        rts_sem_take(s->gate);
        unsigned round = s->round;
        rts_stamp a = rts_stamp_now();
        rts_sem_take(sem);
        if (s->round == round) /* A did not have to wait: not what is measured */
            early++;
        else
            rts_rec_span(c->rec, a, s->end);
    }
    rts_count_add(c, "did not have to wait", early, "samples");
    return 0;
}

#define SEM_COMMON                                                                                 \
    .source = RTS_SAY("Gutsalov, table 3"), .metric = "semaphores",                                \
    .samples = RTS_SAMPLES_DEFAULT, .warmup = 10, .time_ns = RTS_LIMIT(10 * SECOND_NS)

#define ALONE (RTS_RESTS | RTS_BATCHES)

static const rts_bench benches[] = {
    {SEM_COMMON, .id = "sem.post.nowait", .title = RTS_SAY("Post, no task waits"),
     .help = RTS_SAY("Duration of a post to a semaphore without waiters."), .params = alone_param,
     .traits = ALONE, .run = run_post_nowait},
    {SEM_COMMON, .id = "sem.post.lower", .title = RTS_SAY("Post, a lower-priority task waits"),
     .help = RTS_SAY("Duration of a post that makes a lower-priority task ready: no switch."),
     .params = other_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_post_lower},
    {SEM_COMMON, .id = "sem.post.higher", .title = RTS_SAY("Post, a higher-priority task waits"),
     .help = RTS_SAY("From the time stamp before the post to the first statement of the "
                     "higher-priority task that waited."),
     .params = other_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_post_higher},
    {SEM_COMMON, .id = "sem.wait.free", .title = RTS_SAY("Wait, semaphore available"),
     .help = RTS_SAY("Duration of a wait that does not block."), .params = alone_param,
     .traits = ALONE, .run = run_wait_free},
    {SEM_COMMON, .id = "sem.wait.busy", .title = RTS_SAY("Wait, semaphore not available"),
     .help = RTS_SAY("From the time stamp before the wait that blocks to the first statement of "
                     "the task that runs next, with 0, 1, 33, 65 or 129 tasks already waiting."),
     .params = busy_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .slope_over = "waiters", .run = run_wait_busy},
    {SEM_COMMON, .id = "sem.try.free", .title = RTS_SAY("Try, semaphore available"),
     .help = RTS_SAY("Duration of a trywait that succeeds."), .params = alone_param,
     .traits = ALONE, .run = run_try_free},
    {SEM_COMMON, .id = "sem.try.busy", .title = RTS_SAY("Try, semaphore not available"),
     .help = RTS_SAY("Duration of a trywait that fails."), .params = alone_param, .traits = ALONE,
     .run = run_try_busy},
    {SEM_COMMON, .id = "sem.create", .title = RTS_SAY("Create a semaphore"),
     .help = RTS_SAY("Duration of sem_init, or of sem_open with a new name."),
     .params = alone_param, .traits = ALONE, .run = run_create},
    {SEM_COMMON, .id = "sem.delete", .title = RTS_SAY("Delete a semaphore"),
     .help = RTS_SAY("Duration of sem_destroy, or of sem_unlink and sem_close."),
     .params = alone_param, .traits = ALONE, .run = run_delete},
};

RTS_BENCHES(benches);
