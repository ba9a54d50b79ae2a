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
enum { SYSV = RTS_SEM_PSHARED + 1 }; /* the kind that is no rts_sem */

typedef struct sem_params {
    int64_t type, entity, waiters, rank;
} sem_params;

#define TYPE                                                                                       \
    RTS_CHOICE(                                                                                    \
        sem_params, type, "unnamed|named|pshared|sysv", RTS_SEM_UNNAMED,                           \
        "unnamed within a process, named, unnamed and shared between processes, or a set of "      \
        "one of System V")
#define ENTITY                                                                                     \
    RTS_CHOICE(sem_params, entity, "thread|process", THREAD,                                       \
               "kind of the other tasks; processes need another type than unnamed")

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

static int64_t kind_of(const rts_case *c)
{
    const sem_params *p = rts_params(c);
    return p->type;
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
    if (kind_of(c) == SYSV && !(caps & RTS_CAP_SEM_SYSV))
        return rts_unsupported(c, "needs sem_sysv: %s", rts_port_why_not(RTS_CAP_SEM_SYSV));
    if (between_processes(c) && !(caps & RTS_CAP_PROCESS))
        return rts_unsupported(c, "this system has no processes");
    if (between_processes(c) && kind_of(c) == RTS_SEM_UNNAMED)
        return rts_unsupported(c, "an unnamed semaphore that is not shared works within one "
                                  "process only: use type=named or type=pshared, or type=sysv");
    return 0;
}

/*
 * What is measured, of either kind. The procedures are compiled once for each, so that nothing
 * chooses between the calls within an interval.
 */
typedef struct hand {
    bool is_set;
    rts_sem *sem;   /* in the hand of the measuring task, where the port has such */
    rts_sem *whole; /* the semaphore itself, for what is not timed */
    rts_set set;
} hand;

#define INLINE static inline __attribute__((always_inline))
#define IS_SET(h) (RTS_SETS && (h).is_set) /* constant where there are none */

INLINE int give(hand h)
{
    return IS_SET(h) ? rts_set_give(&h.set) : rts_sem_give(h.sem);
}

INLINE int take(hand h)
{
    return IS_SET(h) ? rts_set_take(&h.set) : rts_sem_take(h.sem);
}

INLINE int try(hand h)
{
    return IS_SET(h) ? rts_set_try(&h.set) : rts_sem_try(h.sem);
}

/* Creates the semaphore that is measured, at 0; the case removes it. */
static int open_hand(rts_case *c, hand *h)
{
    if (check(c))
        return -1;
    h->is_set = kind_of(c) == SYSV;
    if (!h->is_set)
        return (h->sem = rts_sem_make(c, (rts_sem_kind)kind_of(c), 0)) ? 0 : -1;
    rts_set *set = rts_set_make(c);
    if (!set)
        return -1;
    h->set = *set;
    return 0;
}

/*
 * Makes the procedure of a bench without another task from one that takes what is measured. Each
 * kind has a function of its own, whose registers suffice for what lies between the stamps.
 */
#define RUN_ALONE(name)                                                                            \
    __attribute__((noinline)) static int name##_sem(rts_case *c, rts_sem *sem)                     \
    {                                                                                              \
        return name(c, (hand){.sem = rts_sem_at_hand(sem), .whole = sem});                         \
    }                                                                                              \
    __attribute__((noinline)) static int name##_set(rts_case *c, rts_set set)                      \
    {                                                                                              \
        return name(c, (hand){.is_set = true, .set = set});                                        \
    }                                                                                              \
    static int run_##name(rts_case *c)                                                             \
    {                                                                                              \
        hand h = {0};                                                                              \
        if (open_hand(c, &h))                                                                      \
            return -1;                                                                             \
        return IS_SET(h) ? name##_set(c, h.set) : name##_sem(c, h.sem);                            \
    }

/* ---- without another task (template TA) ------------------------------------------------------ */

INLINE int post_nowait(rts_case *c, hand h)
{
    RTS_SAMPLES(c) {
        RTS_TIMED(c, give(h));
        for (unsigned i = 0; i < c->batch; i++)
            take(h);
    }
    return 0;
}

/* Gives what the operations of one sample will take; apart, so that it needs no registers there. */
__attribute__((noinline)) static void give_all(unsigned n, rts_sem *sem, const rts_set *set)
{
    for (unsigned i = 0; i < n; i++)
        give((hand){.is_set = set != NULL, .sem = sem, .set = set ? *set : (rts_set){0}});
}

INLINE void give_batch(const rts_case *c, hand h)
{
    rts_set set = h.set;
    give_all(c->batch, h.whole, IS_SET(h) ? &set : NULL);
}

INLINE int wait_free(rts_case *c, hand h)
{
    RTS_SAMPLES(c) {
        give_batch(c, h);
        RTS_TIMED(c, take(h));
    }
    return 0;
}

INLINE int try_free(rts_case *c, hand h)
{
    RTS_SAMPLES(c) {
        give_batch(c, h);
        RTS_TIMED(c, try(h));
        if (!try(h)) /* all of them must have been taken */
            return rts_failed(c, "the semaphore was still available");
    }
    return 0;
}

INLINE int try_busy(rts_case *c, hand h)
{
    unsigned taken = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, taken += !try(h));
    }
    return taken ? rts_failed(c, "a semaphore that was not available could be taken") : 0;
}

RUN_ALONE(post_nowait)
RUN_ALONE(wait_free)
RUN_ALONE(try_free)
RUN_ALONE(try_busy)

/* ---- creation and deletion ------------------------------------------------------------------- */

/* As many semaphores as one sample needs, of one kind. */
typedef struct row {
    bool is_set;
    rts_sem *sem;
    rts_set *set;
} row;

INLINE int create(row r, uint64_t i)
{
    return IS_SET(r) ? rts_set_create(&r.set[i], 0) : rts_sem_create(&r.sem[i], 0);
}

INLINE int destroy(row r, uint64_t i)
{
    return IS_SET(r) ? rts_set_destroy(&r.set[i]) : rts_sem_destroy(&r.sem[i]);
}

static int new_row(rts_case *c, row *r)
{
    if (check(c))
        return -1;
    r->is_set = kind_of(c) == SYSV;
    if (r->is_set && c->batch > RTS_SETS)
        return rts_unsupported(c, "no more than %u semaphores of System V at a time: batch=%u",
                               RTS_SETS, RTS_SETS);
    void *memory = rts_malloc(c->batch * (r->is_set ? sizeof *r->set : sizeof *r->sem));
    if (!memory)
        return rts_unsupported(c, "no memory for %llu semaphores", (unsigned long long)c->batch);
    for (unsigned i = 0; i < c->batch; i++)
        if (r->is_set)
            rts_set_prepare(&(r->set = memory)[i], c->slot + i);
        else
            rts_sem_prepare(&(r->sem = memory)[i], (rts_sem_kind)kind_of(c), c->slot + i);
    return 0;
}

/* Returns whether all could be created, with the error of the last one if not. */
INLINE bool create_row(rts_case *c, row r, int *err)
{
    bool all = true;
    RTS_SAMPLES(c) {
        unsigned created = 0;
        RTS_TIMED(c, created += !(*err = create(r, created)));
        all = created == c->batch;
        while (created > 0)
            destroy(r, --created);
        if (!all)
            break;
    }
    return all;
}

INLINE bool delete_row(rts_case *c, row r, int *err)
{
    RTS_SAMPLES(c) {
        uint64_t created = 0, k = 0;
        while (created < c->batch && !(*err = create(r, created)))
            created++;
        if (*err) {
            while (created > 0)
                destroy(r, --created);
            return false;
        }
        RTS_TIMED(c, destroy(r, k++));
    }
    return true;
}

#define RUN_ROW(name)                                                                              \
    static int run_##name(rts_case *c)                                                             \
    {                                                                                              \
        row r = {0};                                                                               \
        if (new_row(c, &r))                                                                        \
            return -1;                                                                             \
        int err = 0;                                                                               \
        bool all = IS_SET(r) ? name(c, (row){.is_set = true, .set = r.set}, &err)                  \
                             : name(c, (row){.sem = r.sem}, &err);                                 \
        rts_free(r.is_set ? (void *)r.set : (void *)r.sem);                                        \
        return all ? 0 : rts_port_failed(c, "cannot create a semaphore", err);                     \
    }

RUN_ROW(create_row)
RUN_ROW(delete_row)

/* ---- with another task ----------------------------------------------------------------------- */

typedef struct shared {
    rts_case *c;
    hand measured;
    rts_sem *gate;
    rts_sem *turn; /* of sem.wait.busy: A will wait at the gate */
    volatile rts_stamp end;
    volatile unsigned round;
} shared;

static shared *share(rts_case *c)
{
    shared *s = rts_alloc(c, sizeof *s);
    if (!s)
        rts_unsupported(c, "no memory");
    if (!s || open_hand(c, &s->measured))
        return NULL;
    s->c = c;
    s->gate = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    return s->gate ? s : NULL;
}

/* Takes whatever is given, and notes when it got it. */
static void taker(void *arg)
{
    shared *s = arg;
    for (;;) {
        take(s->measured);
        s->end = rts_stamp_now();
        if (s->c->stop)
            return;
        s->round++;
    }
}

/* TA: W has lower priority, so A keeps the CPU; W waits again before the next sample. */
INLINE uint64_t post_lower(rts_case *c, shared *s, hand h)
{
    uint64_t early = 0;
    RTS_SAMPLES(c) {
        unsigned round = s->round;
        rts_stamp a = rts_stamp_now();
        give(h);
        rts_stamp b = rts_stamp_now();
        early += s->round != round;
        rts_rec_span(c->rec, a, b);
        rts_wait_idle(c);
    }
    return early;
}

/* TB: H waits and has higher priority; from A's stamp before the post to H's first statement. */
INLINE uint64_t post_higher(rts_case *c, shared *s, hand h)
{
    uint64_t late = 0;
    RTS_SAMPLES(c) {
        unsigned round = s->round;
        rts_stamp a = rts_stamp_now();
        give(h);
        if (s->round == round) { /* H did not run at once */
            late++;
            while (s->round == round)
                rts_yield();
        }
        rts_rec_span(c->rec, a, s->end);
    }
    return late;
}

/*
 * TB: B releases A from a gate. A preempts B, takes a stamp, and waits on S, which is at 0. Control
 * returns to B, whose first statement is the second stamp. B then posts S; A, the waiter with the
 * highest priority, gets it, records, and returns to the gate.
 */
INLINE uint64_t wait_busy(rts_case *c, shared *s, hand h)
{
    uint64_t early = 0;
    RTS_SAMPLES(c) {
        rts_sem_give(s->turn);
        rts_sem_take(s->gate);
        unsigned round = s->round;
        rts_stamp a = rts_stamp_now();
        take(h);
        if (s->round == round) /* A did not have to wait: not what is measured */
            early++;
        else
            rts_rec_span(c->rec, a, s->end);
    }
    return early;
}

#define BY_KIND(procedure, c, s)                                                                   \
    (IS_SET((s)->measured) ? procedure(c, s, (hand){.is_set = true, .set = (s)->measured.set})     \
                           : procedure(c, s, (hand){.sem = rts_sem_at_hand((s)->measured.sem)}))

/* Returns what A shares with a taker that waits for the semaphore; NULL: the case has a reason. */
static shared *share_with_taker(rts_case *c, int level)
{
    shared *s = share(c);
    if (!s || rts_own_level(c, LEVEL_A, RTS_FIFO) ||
        rts_task_start(c, taker, s, level, RTS_FIFO, between_processes(c)) || rts_wait_idle(c))
        return NULL;
    return s;
}

static int run_post_lower(rts_case *c)
{
    shared *s = share_with_taker(c, LEVEL_W);
    if (!s)
        return -1;
    uint64_t early = BY_KIND(post_lower, c, s);
    rts_count_add(c, "waiter ran within the interval", early, "samples");
    return 0;
}

static int run_post_higher(rts_case *c)
{
    shared *s = share_with_taker(c, LEVEL_H);
    if (!s)
        return -1;
    uint64_t late = BY_KIND(post_higher, c, s);
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
        take(s->measured);
        give(s->measured);
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
        give(s->measured);
    }
}

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
    uint64_t early = BY_KIND(wait_busy, c, s);
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
                     "the task that runs next, behind `waiters` tasks that wait already: 0, 1, "
                     "33, 65 and 129 in the source."),
     .params = busy_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .slope_over = "waiters", .run = run_wait_busy},
    {SEM_COMMON, .id = "sem.try.free", .title = RTS_SAY("Try, semaphore available"),
     .help = RTS_SAY("Duration of a trywait that succeeds."), .params = alone_param,
     .traits = ALONE, .run = run_try_free},
    {SEM_COMMON, .id = "sem.try.busy", .title = RTS_SAY("Try, semaphore not available"),
     .help = RTS_SAY("Duration of a trywait that fails."), .params = alone_param, .traits = ALONE,
     .run = run_try_busy},
    {SEM_COMMON, .id = "sem.create", .title = RTS_SAY("Create a semaphore"),
     .help =
         RTS_SAY("Duration of sem_init, of sem_open with a new name, or of semget with a new key "
                 "and semctl, which sets the value."),
     .params = alone_param, .traits = ALONE, .run = run_create_row},
    {SEM_COMMON, .id = "sem.delete", .title = RTS_SAY("Delete a semaphore"),
     .help = RTS_SAY("Duration of sem_destroy, of sem_unlink and sem_close, or of semctl."),
     .params = alone_param, .traits = ALONE, .run = run_delete_row},
};

RTS_BENCHES(benches);
