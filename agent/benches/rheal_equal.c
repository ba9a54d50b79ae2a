/* rheal.ts, rheal.ss: two tasks of equal priority. */
#include "rheal.h"

/*
 * A is the measuring task. When released, B yields once, so that both are at the same point of
 * their loops when A begins. A stamp is used once; if a task gets the CPU and there is no stamp,
 * the other one had not yielded.
 */
typedef struct pair {
    rheal_frame f;
    rts_sem *gate, *done;        /* of B's rounds */
    rts_sem *s;                  /* the semaphore that rheal.ss shuffles */
    void (*job)(struct pair *t); /* B's job in the next round */
    uint64_t n;                  /* repetitions of it */
    volatile rts_tick stamp;
    volatile bool armed;       /* the stamp has not been used yet */
    volatile rts_tick from_a;  /* duration measured by B; 0: none */
    volatile uint64_t unasked; /* how often a task got the CPU without a stamp */
    volatile rts_tick end;     /* of a classic pass, taken by B */
} pair;

static void partner(void *arg)
{
    pair *t = arg;
    for (;;) {
        rts_sem_take(t->gate);
        if (t->f.c->stop)
            return;
        rts_yield();
        t->job(t);
        rts_sem_give(t->done);
    }
}

static int open_pair(pair *t, rts_case *c, int level)
{
    t->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    t->done = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    t->s = rts_sem_make(c, RTS_SEM_UNNAMED, 1);
    if (!t->gate || !t->done || !t->s || rts_own_level(c, level, RTS_FIFO) ||
        rts_task_start(c, partner, t, level, RTS_FIFO, false))
        return -1;
    return rts_wait_idle(c);
}

/* `unasked` and `unit` name what tasks got without a stamp. */
static int run_pair(rts_case *c, rheal_round *round, rheal_once *once, const char *unasked,
                    const char *unit)
{
    pair *t = rheal_open(c, sizeof *t);
    if (!t || open_pair(t, c, 0) || rheal_measure(&t->f, round, once))
        return -1;
    if (t->f.p->form == RHEAL_SAMPLED)
        rts_count_add(c, unasked, t->unasked, unit);
    return 0;
}

static void begin_round(pair *t, void (*job)(pair *), uint64_t n)
{
    t->job = job;
    t->n = n;
    t->armed = false;
    t->from_a = 0;
    rts_sem_give(t->gate);
    rts_yield();
}

static void end_round(pair *t)
{
    rts_sem_take(t->done);
}

/* Returns the duration of the interval that ends at `now`, or 0 if none was begun. */
static rts_tick take_stamp(pair *t, rts_tick now)
{
    if (!t->armed) {
        t->unasked++;
        return 0;
    }
    t->armed = false;
    return now - t->stamp;
}

/* Records what A and B have measured. */
static void record_both(pair *t, rts_tick from_b, rts_tick now)
{
    rts_tick from_a = t->from_a;
    t->from_a = 0;
    if (from_a)
        rheal_record(t->f.c, from_a, now);
    if (from_b)
        rheal_record(t->f.c, from_b, now);
}

/* ---- rheal.ts -------------------------------------------------------------------------------- */

static void hand_over(pair *t)
{
    t->stamp = rts_now();
    t->armed = true; /* after it: a task that gets the CPU between them would use the last one */
    rts_yield();
}

static void ts_stamping(pair *t)
{
    for (uint64_t i = 0; i < t->n; i++) {
        rts_tick now = rts_now();
        t->from_a = take_stamp(t, now);
        hand_over(t);
    }
}

static int ts_round(void *state)
{
    pair *t = state;
    begin_round(t, ts_stamping, RHEAL_ROUND);
    for (uint64_t i = 0; i < RHEAL_ROUND; i++) {
        hand_over(t);
        rts_tick now = rts_now();
        record_both(t, take_stamp(t, now), now);
    }
    end_round(t);
    return 0;
}

static void yields(uint64_t n)
{
    for (; n; n--) {
        rts_yield();
        RTS_BARRIER();
    }
}

/* B yields once less: the last of 2N - 1 switches leads to its stamp. */
static void ts_yielding(pair *t)
{
    yields(t->n - 1);
    t->end = rts_now();
}

/* (T_run - T_loop) / (2N - 1) - T_dir */
int rheal_switch_once(void *state, double *ticks)
{
    pair *t = state;
    uint64_t n = t->f.loops;
    rheal_rest(&t->f);
    double dir = RHEAL_SINGLE_MEAN(, rts_yield(), );
    begin_round(t, ts_yielding, n);
    rts_tick start = rts_now();
    yields(n);
    end_round(t);
    rts_tick run = t->end - start;
    double each = rheal_run_less_loop(&t->f, run, 2 * n - 1, 2 * n - 1);
    *ticks = each - dir;
    rheal_note(&t->f, "T_dir", dir);
    rheal_note(&t->f, "task switch, T_dir not subtracted", each);
    return rheal_check_pass(&t->f, run);
}

void *rheal_switch_open(rts_case *c, int level)
{
    pair *t = rts_alloc(c, sizeof *t);
    if (!t) {
        rts_unsupported(c, "no memory");
        return NULL;
    }
    t->f.c = c;
    t->f.p = rts_params(c);
    return open_pair(t, c, level) ? NULL : t;
}

static int run_ts(rts_case *c)
{
    return run_pair(c, ts_round, rheal_switch_once, "switches nobody asked for", "switches");
}

/* ---- rheal.ss -------------------------------------------------------------------------------- */

/* After a give and a yield, the waiting task owns the semaphore. */
static void release(pair *t)
{
    t->stamp = rts_now();
    t->armed = true;
    rts_sem_give(t->s);
    rts_yield();
}

static void ss_stamping(pair *t)
{
    for (uint64_t i = 0; i < t->n; i++) {
        rts_sem_take(t->s);
        rts_tick now = rts_now();
        t->from_a = take_stamp(t, now);
        rts_yield();
        release(t);
    }
}

/* A finds the semaphore free only the first time. */
static int ss_round(void *state)
{
    pair *t = state;
    begin_round(t, ss_stamping, RHEAL_ROUND + 1);
    rts_sem_take(t->s);
    rts_yield();
    release(t);
    for (uint64_t i = 0; i < RHEAL_ROUND; i++) {
        rts_sem_take(t->s);
        rts_tick now = rts_now();
        record_both(t, take_stamp(t, now), now);
        rts_yield();
        release(t);
    }
    end_round(t);
    return 0;
}

/* The loop of both tasks; without the semaphore only the yields remain. */
static void shuffle(pair *t, uint64_t n, bool with)
{
    for (; with && n; n--) {
        rts_sem_take(t->s);
        rts_yield();
        rts_sem_give(t->s);
        rts_yield();
    }
    for (; n; n--) {
        rts_yield();
        rts_yield();
    }
}

static void ss_with(pair *t)
{
    shuffle(t, t->n, true);
}

static void ss_without(pair *t)
{
    shuffle(t, t->n, false);
}

/*
 * From A's second pass to its N + 2nd, every take by either task finds the semaphore taken: between
 * the stamps there are 2N of these, and 2N gives.
 */
static rts_tick ss_pass(pair *t, bool with)
{
    uint64_t n = t->f.loops;
    rheal_rest(&t->f);
    begin_round(t, with ? ss_with : ss_without, n + 2);
    shuffle(t, 1, with);
    rts_tick start = rts_now();
    shuffle(t, n, with);
    rts_tick end = rts_now();
    shuffle(t, 1, with);
    end_round(t);
    return end - start;
}

/* (T_with - T_without) / 2N */
static int ss_once(void *state, double *ticks)
{
    pair *t = state;
    uint64_t n = t->f.loops;
    rts_tick without = ss_pass(t, false);
    rts_tick with = ss_pass(t, true);
    *ticks = rheal_with_less_without(&t->f, (double)with, (double)without, 2 * n);
    return rheal_check_pass(&t->f, with);
}

static int run_ss(rts_case *c)
{
    return run_pair(c, ss_round, ss_once, "semaphores nobody had given", "times");
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_param param[] = {RHEAL_PARAMS(50000), RTS_PARAMS_END};

static const rts_bench benches[] = {
    {.id = "rheal.ts",
     .title = RTS_SAY("Rhealstone: task switch"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar 1990"),
     .help = RTS_SAY("Two tasks of equal priority yield to each other. sampled: from the time "
                     "stamp before the yield of one to the first statement of the other. classic: "
                     "(T_run - T_loop)/(2N-1) - T_dir; T_run is N yields of each, T_loop the empty "
                     "loops, T_dir a yield with no other task ready."),
     .metric = "scheduling",
     .params = param,
     .needs = RTS_CAP_PRIORITIES,
     RHEAL_TRAITS_AND_LIMITS,
     .run = run_ts},
    {.id = "rheal.ss",
     .title = RTS_SAY("Rhealstone: semaphore shuffling"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar 1990"),
     .help = RTS_SAY(
         "Two tasks of equal priority loop: obtain the semaphore, yield, release it, yield; each "
         "obtain finds the semaphore taken. sampled: from the time stamp before the release (and "
         "the yield after it) to the return of the other's obtain. classic: (T_with - T_without)/"
         "2N; T_without is the same loop without the semaphore."),
     .metric = "semaphores",
     .params = param,
     .needs = RTS_CAP_PRIORITIES,
     RHEAL_TRAITS_AND_LIMITS,
     .run = run_ss},
};

RTS_BENCHES(benches);
