/* sched.yield, ctx.ballast: context switches (Sjöblom, scheduler; Gutsalov, table 2). */
#include <stdatomic.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

/* ---- sched.yield: no other task is ready ----------------------------------------------------- */

static int run_yield(rts_case *c)
{
    RTS_SAMPLES(c) {
        RTS_TIMED(c, rts_yield());
    }
    return 0;
}

/* ---- two tasks that yield to each other ------------------------------------------------------ */

/*
 * Template TB: the task that has the CPU takes a time stamp and yields; the task that gets the CPU
 * takes the second stamp in its first statement. Each stamp is used once: if a task gets the CPU
 * and there is no stamp, nobody yielded to it (a time slice ended), and that switch is counted
 * instead of measured. So is one whose second stamp is not of the turn after the first, as a slice
 * ended between a stamp and its use. Only a time slice that ends in the few instructions between
 * stamp and yield is mistaken for a yield; the next switch is then counted. Only A records samples,
 * including those that B measured.
 */
enum { A, B, BOTH };

typedef struct baton {
    volatile rts_stamp stamp;
    volatile bool armed;       /* a stamp was taken just before a yield */
    volatile rts_stamp from_a; /* duration of the switch from A to B, measured by B; 0: none */
    volatile uint64_t unasked;
    rts_sem *rested;  /* where tasks wait while the case rests... */
    atomic_uint away; /* ...and how many do */
    rts_case *c;
    volatile uint64_t turn;     /* how often a task got the CPU, as far as it knows by a yield */
    volatile uint64_t at[BOTH]; /* the turn in which that task yielded last */
} baton;

static baton *new_baton(rts_case *c)
{
    baton *t = rts_alloc(c, sizeof *t);
    if (!t) {
        rts_unsupported(c, "no memory");
        return NULL;
    }
    t->c = c;
    t->rested = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    return t->rested ? t : NULL;
}

/* Waits out a rest of A, during which nobody else may keep the CPU; returns whether there was one.
 */
static bool rest_along(baton *t)
{
    if (!t->c->resting)
        return false;
    atomic_fetch_add(&t->away, 1);
    rts_sem_take(t->rested);
    return true;
}

/* Makes tasks that have rested ready again; B runs to where it yields to A. */
static void bring_back(baton *t)
{
    for (unsigned away = atomic_exchange(&t->away, 0); away > 0; away--)
        rts_sem_give(t->rested);
    rts_yield();
}

/* Ports without time slices need not look for their ends. */
#define SLICES (!(RTS_NEVER & RTS_CAP_ROUND_ROBIN))

/* Returns the duration of the switch to `who` that ends at `now`, or 0 if no task had yielded. */
static rts_stamp take_stamp(baton *t, int who, rts_stamp now)
{
    uint64_t turn = SLICES ? ++t->turn : 0;
    if (!t->armed) {
        t->unasked++;
        return 0;
    }
    t->armed = false;
    rts_stamp took = now - t->stamp; /* negative if the other has taken a stamp since */
    if (SLICES && (t->at[who == A ? B : A] + 1 != turn || took > (rts_stamp)-1 / 2)) {
        t->unasked++;
        return 0;
    }
    return took;
}

static void hand_over(baton *t, int who)
{
    if (SLICES)
        t->at[who] = t->turn;
    t->stamp = rts_stamp_now();
    t->armed = true;
    rts_yield();
}

static void task_b(void *arg)
{
    baton *t = arg;
    rts_case *c = t->c;
    while (!c->stop) {
        rts_stamp now = rts_stamp_now();
        if (rest_along(t)) {
            rts_yield();
            continue;
        }
        t->from_a = take_stamp(t, B, now);
        hand_over(t, B);
    }
}

/* The measuring task is A; each switch yields one sample. */
static int exchange(rts_case *c, baton *t, rts_policy policy)
{
    if (rts_own_level(c, 0, policy) || rts_task_start(c, task_b, t, 0, policy, false))
        return -1;
    RTS_SAMPLES(c) {
        if (t->away)
            bring_back(t);
        hand_over(t, A);
        rts_stamp now = rts_stamp_now();
        rts_stamp from_b = take_stamp(t, A, now);
        rts_stamp from_a = t->from_a;
        t->from_a = 0;
        if (from_a)
            rts_rec_add(c->rec, from_a, rts_stamp_time(now));
        if (from_b && c->rec->running)
            rts_rec_add(c->rec, from_b, rts_stamp_time(now));
    }
    rts_count_add(c, "switches nobody asked for", t->unasked, "switches");
    return 0;
}

enum { FIFO, RR };

typedef struct switch_params {
    int64_t policy, ballast, state;
} switch_params;

static rts_policy policy_of(const switch_params *p)
{
    return p->policy == RR ? RTS_RR : RTS_FIFO;
}

static const rts_param pair_param[] = {
    RTS_CHOICE(switch_params, policy, "fifo|rr", FIFO, "policy of the two tasks"),
    RTS_PARAMS_END,
};

static int run_pair(rts_case *c)
{
    baton *t = new_baton(c);
    return t ? exchange(c, t, policy_of(rts_params(c))) : -1;
}

/* ---- ctx.ballast: the same with many other tasks --------------------------------------------- */

enum { READY, BLOCKED };

static const rts_param ballast_param[] = {
    RTS_INT(switch_params, ballast, "task", 0, 0, 1024, "tasks besides the two measured ones"),
    RTS_CHOICE(switch_params, policy, "fifo|rr", FIFO, "policy of all tasks"),
    RTS_CHOICE(switch_params, state, "ready|blocked", READY,
               "whether ballast tasks are ready at a lower priority, or wait for a semaphore"),
    RTS_PARAMS_END,
};

typedef struct ballast {
    rts_case *c;
    baton *baton;
    rts_sem *sem;
    volatile uint64_t ran; /* how often a ready ballast task got the CPU */
} ballast;

/* Gets the CPU only when A and B have released it: while A rests, and at the end. */
static void ready_task(void *arg)
{
    ballast *b = arg;
    while (!b->c->stop) {
        if (rest_along(b->baton))
            continue;
        b->ran++;
        rts_yield();
    }
}

static void blocked_task(void *arg)
{
    ballast *b = arg;
    while (!b->c->stop)
        rts_sem_take(b->sem);
}

static int run_ballast(rts_case *c)
{
    const switch_params *p = rts_params(c);
    ballast *b = rts_alloc(c, sizeof *b);
    if (!b)
        return rts_unsupported(c, "no memory");
    b->c = c;
    b->baton = new_baton(c);
    b->sem = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!b->baton || !b->sem || rts_own_level(c, 0, policy_of(p)))
        return -1;
    for (int64_t i = 0; i < p->ballast; i++)
        if (rts_task_start(c, p->state == READY ? ready_task : blocked_task, b, 1, policy_of(p),
                           false))
            return -1;
    if (p->state == BLOCKED && rts_wait_idle(c))
        return -1;
    uint64_t before = b->ran;
    int err = exchange(c, b->baton, policy_of(p));
    if (!err && b->ran != before)
        return rts_failed(c, "ballast got the CPU while it was measured");
    return err;
}

static const rts_bench benches[] = {
    {.id = "sched.yield",
     .title = RTS_SAY("Yield with no other ready task"),
     .source = RTS_SAY("Sjöblom, scheduler"),
     .metric = "scheduling",
     .help = RTS_SAY("One task, alone at its priority: time stamp, yield, time stamp when it runs "
                     "again. A voluntary pass through the scheduler without a context switch."),
     .traits = RTS_RESTS | RTS_BATCHES,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_yield},
    {.id = "sched.yield.pair",
     .title = RTS_SAY("Yield from task to task"),
     .source = RTS_SAY("Sjöblom, scheduler; variant of rtstone"),
     .metric = "scheduling",
     .help = RTS_SAY("Two tasks of equal priority on one CPU: from the time stamp before the yield "
                     "of one to the first statement of the other."),
     .params = pair_param,
     .needs = RTS_CAP_PRIORITIES,
     .traits = RTS_ONE_CPU | RTS_RESTS,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_pair},
    {.id = "ctx.ballast",
     .title = RTS_SAY("Context switch among many tasks"),
     .source = RTS_SAY("Gutsalov, table 2 and figure 7"),
     .metric = "scheduling",
     .help =
         RTS_SAY("The switch of sched.yield.pair with `ballast` further tasks in the system: 0, "
                 "1, 33, 65 and 129 in the source. A constant-time scheduler shows no slope over "
                 "their number."),
     .params = ballast_param,
     .needs = RTS_CAP_PRIORITIES,
     .traits = RTS_ONE_CPU | RTS_RESTS,
     .slope_over = "ballast",
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_ballast},
};

RTS_BENCHES(benches);
