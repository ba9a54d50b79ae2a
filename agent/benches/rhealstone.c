/*
 * rheal.*: the components of Rhealstone (Kar and Porter 1989, Kar 1990), as Golatowski uses them.
 *
 * Each has two forms.  `sampled` stamps every event: just before the call in the task that gives up
 * the CPU, first thing in the task that gains it.  `classic` is the published one: N passes with
 * the feature, N without it, and the difference divided by the number of events.
 *
 * All tasks of a case are on one CPU.  They work in rounds of a known number of events, and wait at
 * a semaphore in between: there a task can be ended, and there the CPU can be left to others before
 * the system's brake on real-time tasks takes it (rest()).  Nothing is counted or recorded between
 * two stamps.
 */
#include <string.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define ROUND 256   /* events of a sampled round */
#define SINGLE 1000 /* times that T_dir, T_back, T_obtain and T_recv are taken */

enum { SAMPLED, CLASSIC };
enum { VARIANT_RTEMS, VARIANT_KAR };
enum { LOCK_INHERIT, LOCK_PROTECT, LOCK_NONE };

typedef struct rheal_params {
    int64_t form, loops, measurements, variant, lock, tick, limit, irq, size;
} rheal_params;

/* ---- what all components share ----------------------------------------------------------------
 */

typedef struct part {
    const char *name;
    double sum; /* ticks */
} part;

/* A case, what it has found out, and since when it has had the CPU without a rest. */
typedef struct frame {
    rts_case *c;
    const rheal_params *p;
    uint64_t scale; /* of the series, to a tick */
    rts_tick opened, fresh;
    unsigned parts;
    part part[8];
} frame;

/* False where the clock counts something else than time. */
static bool in_ns(void)
{
    return !strcmp(rts_the_clock.unit, "ns");
}

#define FINEST UINT64_C(10000000000) /* parts of a second */

/*
 * A loop difference tells fractions of a tick, so its series counts finer.  It holds its own clock
 * readings and cancels them: nothing is to be subtracted from it.
 */
static int open_classic(frame *f)
{
    rts_case *c = f->c;
    c->common.warmup = 0;
    if (!c->common.samples || c->common.samples > f->p->measurements)
        c->common.samples = f->p->measurements;
    if (in_ns() && rts_the_clock.hz < FINEST)
        f->scale = FINEST / rts_the_clock.hz;
    c->rec = rts_series(c, "", rts_the_clock.hz * f->scale, 0, false, NULL);
    return c->rec ? 0 : -1;
}

static int open_frame(frame *f, rts_case *c)
{
    f->c = c;
    f->p = rts_params(c);
    f->scale = 1;
    f->opened = f->fresh = rts_now();
    if (f->p->form == CLASSIC)
        return open_classic(f);
    c->rec = rts_series(c, "", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
    return c->rec ? 0 : -1;
}

/* State of a bench, which begins with its frame; NULL: the case has ended. */
static void *open_state(rts_case *c, size_t size)
{
    frame *f = rts_alloc(c, size);
    if (!f)
        rts_failed(c, "no memory");
    return f && !open_frame(f, c) ? f : NULL;
}

/* Leaves the CPU to others, where the system has a brake; every other task is at its gate. */
static void rest(frame *f)
{
    rts_case *c = f->c;
    if (!c->busy_ns)
        return;
    c->rec->on_rest(c->rec->hook_arg);
    c->rec->rests++;
    f->fresh = rts_now();
}

static void rest_if_due(frame *f)
{
    if (rts_now() - f->fresh >= rts_ns_to_ticks(f->c->busy_ns, rts_the_clock.hz))
        rest(f);
}

/* A pass that the brake has stopped is worth nothing. */
static int check_pass(frame *f, rts_tick pass)
{
    rts_case *c = f->c;
    if (!c->busy_ns || pass < rts_ns_to_ticks(2 * c->busy_ns, rts_the_clock.hz))
        return 0;
    return rts_failed(c,
                      "a pass took %llu ms, more than the system lets real-time tasks run without "
                      "a rest; use fewer loops",
                      (unsigned long long)(pass * 1000 / rts_the_clock.hz));
}

/* Time of so many passes of an empty loop. */
static rts_tick empty_loops(uint64_t n)
{
    rts_tick a = rts_now();
    for (; n; n--)
        RTS_BARRIER();
    return rts_now() - a;
}

/* Mean of n times between two stamps, less what reading the clock costs. */
static double net_mean(rts_tick sum, uint64_t n)
{
    return (double)sum / (double)n - (double)rts_the_clock.overhead;
}

/* Adds the times of SINGLE operations to `sum`; `before` is not timed. */
#define SUM_SINGLE(sum, before, op)                                                                \
    for (unsigned k_ = 0; k_ < SINGLE; k_++) {                                                     \
        rts_tick a_, b_;                                                                           \
        before;                                                                                    \
        a_ = rts_now();                                                                            \
        op;                                                                                        \
        b_ = rts_now();                                                                            \
        (sum) += b_ - a_;                                                                          \
    }

/* Keeps a part of a measurement, for a figure. */
static void note(frame *f, const char *name, double ticks)
{
    unsigned i = 0;
    while (i < f->parts && strcmp(f->part[i].name, name) != 0)
        i++;
    if (i == f->parts)
        f->part[f->parts++] = (part){name, 0};
    f->part[i].sum += ticks;
}

/* A time as a figure, in the unit of the clock. */
static void time_figure(rts_case *c, const char *name, double ticks)
{
    double per_tick = in_ns() ? 1e9 / (double)rts_the_clock.hz : 1;
    rts_figure_add(c, name, ticks * per_tick, rts_the_clock.unit);
}

/* What a loop difference below zero says: nothing. */
static int not_determined(rts_case *c, double ticks)
{
    return rts_unsupported(c,
                           "n.e.: by the loop difference an event takes %.1f ns, so the loops vary "
                           "by more than what they are to tell",
                           ticks * 1e9 / (double)rts_the_clock.hz);
}

/* The classic form: each sample is one whole measurement. */
static int measure_classic(frame *f, int (*once)(void *state, double *ticks))
{
    rts_case *c = f->c;
    double ticks = 0, n = 0;
    rts_rec_start(c->rec, 0);
    while (c->rec->running) {
        if (once(f, &ticks))
            return -1;
        if (ticks < 0)
            return not_determined(c, ticks);
        n++;
        rts_rec_add(c->rec, (uint64_t)(ticks * (double)f->scale + 0.5),
                    (rts_now() - f->opened) * f->scale);
    }
    for (unsigned i = 0; i < f->parts; i++)
        time_figure(c, f->part[i].name, f->part[i].sum / n);
    return 0;
}

/* How long the case may take, in ticks of its clock. */
static rts_tick time_limit(const rts_case *c)
{
    return c->common.time_ns ? rts_ns_to_ticks((uint64_t)c->common.time_ns, rts_the_clock.hz)
                             : UINT64_MAX;
}

/* The sampled form: rounds until the recorder has enough. */
static int measure_sampled(frame *f, int (*round)(void *state))
{
    rts_case *c = f->c;
    rts_tick start = rts_now(), limit = time_limit(c);
    rts_rec_start(c->rec, start);
    while (c->rec->running && !c->stop_asked) {
        if (round(f))
            return -1;
        rest_if_due(f);
        if (!c->rec->used && !c->rec->hist.n && !c->rec->discarded && rts_now() - start > limit)
            return rts_failed(c, "the event that is measured never came about");
    }
    return 0;
}

static void record(rts_case *c, rts_tick value, rts_tick now)
{
    if (c->rec->running) /* else the round comes to its end without */
        rts_rec_add(c->rec, value, now);
}

/* ---- two tasks of equal priority: rheal.ts, rheal.ss ------------------------------------------
 */

/*
 * A is the measuring task.  B, let go, yields once, so that both stand in the same place of their
 * loops when A begins.  A stamp is used once; who gains the CPU without one was not given it.
 */
typedef struct pair {
    frame f;
    rts_sem *gate, *done, *s;
    void (*job)(struct pair *t); /* what B does in the next round */
    uint64_t n;                  /* how often */
    volatile rts_tick stamp, end;
    volatile bool armed;
    volatile rts_tick from_a; /* duration that B measured; 0: none */
    volatile uint64_t unasked;
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
    t->f.c = c;
    t->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    t->done = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    t->s = rts_sem_make(c, RTS_SEM_UNNAMED, 1);
    if (!t->gate || !t->done || !t->s || rts_own_level(c, level, RTS_FIFO) ||
        rts_task_start(c, partner, t, level, RTS_FIFO, false))
        return -1;
    return rts_settle(c);
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

/* Duration of what ends at `now`, or 0 if nobody began it. */
static rts_tick take_stamp(pair *t, rts_tick now)
{
    if (!t->armed) {
        t->unasked++;
        return 0;
    }
    t->armed = false;
    return now - t->stamp;
}

/* A records what both have measured. */
static void record_both(pair *t, rts_tick from_b, rts_tick now)
{
    rts_tick from_a = t->from_a;
    t->from_a = 0;
    if (from_a)
        record(t->f.c, from_a, now);
    if (from_b)
        record(t->f.c, from_b, now);
}

static void hand_over(pair *t)
{
    t->armed = true;
    t->stamp = rts_now();
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
    begin_round(t, ts_stamping, ROUND);
    for (uint64_t i = 0; i < ROUND; i++) {
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

/* B yields once less: the last of 2N - 1 switches brings it to its stamp. */
static void ts_yielding(pair *t)
{
    yields(t->n - 1);
    t->end = rts_now();
}

/* (T_run - T_loop) / (2N - 1) - T_dir; f keeps the parts. */
static int classic_switch(frame *f, pair *t, double *ticks)
{
    uint64_t n = (uint64_t)f->p->loops;
    rts_tick dir = 0;
    rest(f);
    SUM_SINGLE(dir, (void)0, rts_yield());
    begin_round(t, ts_yielding, n);
    rts_tick start = rts_now();
    yields(n);
    end_round(t);
    rts_tick run = t->end - start, loop = empty_loops(2 * n - 1);
    double each = ((double)run - (double)loop) / (double)(2 * n - 1);
    *ticks = each - net_mean(dir, SINGLE);
    note(f, "T_run", (double)run);
    note(f, "T_loop", (double)loop);
    note(f, "T_dir", net_mean(dir, SINGLE));
    note(f, "task switch, T_dir not subtracted", each);
    return check_pass(f, run);
}

static int ts_once(void *state, double *ticks)
{
    pair *t = state;
    return classic_switch(&t->f, t, ticks);
}

static int run_ts(rts_case *c)
{
    pair *t = open_state(c, sizeof *t);
    if (!t || open_pair(t, c, 0))
        return -1;
    if (t->f.p->form == CLASSIC)
        return measure_classic(&t->f, ts_once);
    if (measure_sampled(&t->f, ts_round))
        return -1;
    rts_figure_add(c, "switches nobody asked for", (double)t->unasked, "switches");
    return 0;
}

/* The task that waits for the semaphore owns it when the other one has given it and yielded. */
static void release(pair *t)
{
    t->armed = true;
    t->stamp = rts_now();
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

/* Only the first time A finds the semaphore free. */
static int ss_round(void *state)
{
    pair *t = state;
    begin_round(t, ss_stamping, ROUND + 1);
    rts_sem_take(t->s);
    rts_yield();
    release(t);
    for (uint64_t i = 0; i < ROUND; i++) {
        rts_sem_take(t->s);
        rts_tick now = rts_now();
        record_both(t, take_stamp(t, now), now);
        rts_yield();
        release(t);
    }
    end_round(t);
    return 0;
}

static inline void shuffle(pair *t, bool with)
{
    if (with)
        rts_sem_take(t->s);
    rts_yield();
    if (with)
        rts_sem_give(t->s);
    rts_yield();
}

static void shuffles_with(pair *t, uint64_t n)
{
    for (; n; n--)
        shuffle(t, true);
}

static void shuffles_without(pair *t, uint64_t n)
{
    for (; n; n--)
        shuffle(t, false);
}

static void ss_with(pair *t)
{
    shuffles_with(t, t->n);
}

static void ss_without(pair *t)
{
    shuffles_without(t, t->n);
}

/*
 * From A's second pass to its N + 2nd, every obtain of both tasks meets a taken semaphore: 2N of
 * them lie between the stamps, and 2N releases.
 */
static rts_tick ss_pass(pair *t, void (*job)(pair *), void (*loop)(pair *, uint64_t))
{
    uint64_t n = (uint64_t)t->f.p->loops;
    rest(&t->f);
    begin_round(t, job, n + 2);
    loop(t, 1);
    rts_tick start = rts_now();
    loop(t, n);
    rts_tick end = rts_now();
    loop(t, 1);
    end_round(t);
    return end - start;
}

/* (T_with - T_without) / 2N */
static int ss_once(void *state, double *ticks)
{
    pair *t = state;
    rts_tick without = ss_pass(t, ss_without, shuffles_without);
    rts_tick with = ss_pass(t, ss_with, shuffles_with);
    *ticks = ((double)with - (double)without) / (2 * (double)t->f.p->loops);
    note(&t->f, "T_with", (double)with);
    note(&t->f, "T_without", (double)without);
    return check_pass(&t->f, with);
}

static int run_ss(rts_case *c)
{
    pair *t = open_state(c, sizeof *t);
    if (!t || open_pair(t, c, 0))
        return -1;
    if (t->f.p->form == CLASSIC)
        return measure_classic(&t->f, ss_once);
    if (measure_sampled(&t->f, ss_round))
        return -1;
    rts_figure_add(c, "semaphores nobody had given", (double)t->unasked, "times");
    return 0;
}

/* ---- putting a task to sleep and waking it ----------------------------------------------------
 */

typedef struct sleeper {
    bool suspends;
    rts_sem *sem;
    rts_task *task;
} sleeper;

static inline void go_to_sleep(sleeper *s)
{
    if (s->suspends)
        rts_suspend();
    else
        rts_sem_take(s->sem);
}

static inline void wake(sleeper *s)
{
    if (s->suspends)
        rts_resume(s->task);
    else
        rts_sem_give(s->sem);
}

/* Starts the task that is to sleep so. */
static int start_sleeper(rts_case *c, sleeper *s, void (*run)(void *), void *arg, int level)
{
    s->suspends = (rts_port_caps() & RTS_CAP_SUSPEND) != 0;
    s->sem = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (!s->sem || rts_task_start(c, run, arg, level, RTS_FIFO, false))
        return -1;
    s->task = &c->task[c->n_tasks - 1];
    return 0;
}

static void tell_how(rts_case *c, const sleeper *s)
{
    rts_table(c, "how a task is put to sleep and woken", "by\twhy");
    if (s->suspends)
        rts_row(c, "suspend, resume\tas published");
    else
        rts_row(c, "semaphore\tthis system has no suspension of tasks");
}

/* ---- a more urgent task and a less urgent one: rheal.pt, rheal.im, rheal.dt -------------------
 */

enum { LEVEL_H, LEVEL_L };
#define LONG_WORDS 4
#define QUEUE_LENGTH 10 /* messages; what Linux gives everybody */
#define DISORDER_MAX 10

/* H does its job when it is let go, and is back at its gate when L has done its part. */
typedef struct duo {
    frame f;
    rts_sem *gate;
    sleeper h;
    rts_queue there, back; /* to H and from it */
    unsigned char *out, *in, *ack_out, *ack_in;
    void (*job)(struct duo *d);
    uint64_t n;
    volatile rts_tick start, end, left; /* L calls, H has the CPU, H gives it back */
    volatile uint64_t came;             /* how often H had the CPU in this round */
    volatile uint64_t wrong;            /* messages not as they were sent */
    rts_tick back_sum;
    uint64_t back_n, disorder;
    pair other; /* for a task switch beside it */
} duo;

static void urgent(void *arg)
{
    duo *d = arg;
    for (;;) {
        rts_sem_take(d->gate);
        if (d->f.c->stop)
            return;
        d->job(d);
    }
}

static duo *open_duo(rts_case *c)
{
    duo *d = open_state(c, sizeof *d);
    if (!d)
        return NULL;
    d->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (!d->gate || rts_own_level(c, LEVEL_L, RTS_FIFO) ||
        start_sleeper(c, &d->h, urgent, d, LEVEL_H) || rts_settle(c))
        return NULL;
    return d;
}

static void let_go(duo *d, void (*job)(duo *), uint64_t n)
{
    d->job = job;
    d->n = n;
    d->came = 0;
    rts_sem_give(d->gate);
}

/* After the k-th call of a round: H has had the CPU k times.  0: it has not, which is counted. */
static bool in_order(duo *d, uint64_t k)
{
    if (d->came == k)
        return true;
    d->disorder++;
    rts_settle(d->f.c);
    return false;
}

static int check_order(duo *d, uint64_t came)
{
    if (d->disorder < DISORDER_MAX && d->came == came)
        return 0;
    return rts_failed(d->f.c, "the more urgent task did not get the CPU at once");
}

/* ---- rheal.pt */

static void pt_stamping(duo *d)
{
    for (uint64_t i = 0; i < d->n; i++) {
        go_to_sleep(&d->h);
        d->end = rts_now();
        d->came++;
        d->left = rts_now();
    }
}

/* n preemptions; and n - 1 ways back, from H's stamp before it sleeps to L's first statement. */
static int pt_stamps(duo *d, uint64_t n, bool recorded)
{
    let_go(d, pt_stamping, n);
    for (uint64_t i = 1; i <= n; i++) {
        d->start = rts_now();
        wake(&d->h);
        rts_tick now = rts_now();
        if (!in_order(d, i))
            continue;
        if (i < n) { /* the last time H goes to its gate */
            d->back_sum += now - d->left;
            d->back_n++;
        }
        if (recorded)
            record(d->f.c, d->end - d->start, now);
    }
    return check_order(d, n);
}

static int pt_round(void *state)
{
    return pt_stamps(state, ROUND, true);
}

/* The first resume brings H to its stamp, N - 1 lie before the next one. */
static void pt_sleeping(duo *d)
{
    go_to_sleep(&d->h);
    rts_tick start = rts_now();
    for (uint64_t i = d->n - 1; i; i--) {
        go_to_sleep(&d->h);
        RTS_BARRIER();
    }
    d->end = rts_now();
    d->start = start;
    d->came = d->n;
}

/* (T_run - T_loop) / (N - 1) - T_back */
static int pt_once(void *state, double *ticks)
{
    duo *d = state;
    uint64_t n = (uint64_t)d->f.p->loops;
    d->back_sum = d->back_n = 0;
    if (pt_stamps(d, SINGLE + 1, false))
        return -1;
    rest(&d->f);
    let_go(d, pt_sleeping, n);
    for (uint64_t i = n; i; i--) {
        wake(&d->h);
        RTS_BARRIER();
    }
    if (check_order(d, n))
        return -1;
    rts_tick run = d->end - d->start, loop = empty_loops(2 * (n - 1));
    double back = net_mean(d->back_sum, d->back_n);
    *ticks = ((double)run - (double)loop) / (double)(n - 1) - back;
    note(&d->f, "T_run", (double)run);
    note(&d->f, "T_loop", (double)loop);
    note(&d->f, "T_back", back);
    return check_pass(&d->f, run);
}

static int run_pt(rts_case *c)
{
    duo *d = open_duo(c);
    if (!d)
        return -1;
    tell_how(c, &d->h);
    if (d->f.p->form == CLASSIC)
        return measure_classic(&d->f, pt_once);
    if (measure_sampled(&d->f, pt_round))
        return -1;
    if (d->back_n)
        time_figure(c, "T_back", net_mean(d->back_sum, d->back_n));
    rts_figure_add(c, "order was another", (double)d->disorder, "times");
    return 0;
}

/* ---- rheal.im */

/* Room for a message at either end of a queue. */
static int open_queue(duo *d, rts_queue *queue, size_t size, unsigned char **out,
                      unsigned char **in)
{
    rts_case *c = d->f.c;
    *out = rts_alloc(c, size);
    *in = rts_alloc(c, size);
    if (!*out || !*in)
        return rts_failed(c, "no memory for messages");
    int err = rts_queue_create(queue, QUEUE_LENGTH, size, c->slot++);
    return err ? rts_port_failed(c, "cannot create a queue of 10 such messages", err) : 0;
}

static void im_stamping(duo *d)
{
    for (uint64_t i = 0; i < d->n; i++) {
        rts_queue_receive(&d->there, d->in);
        d->end = rts_now();
        d->came++;
        d->wrong += memcmp(d->in, d->out, LONG_WORDS * sizeof(long)) != 0;
    }
}

static void write_number(duo *d, uint64_t number)
{
    memcpy(d->out, &number, sizeof number);
}

static int im_round(void *state)
{
    duo *d = state;
    let_go(d, im_stamping, ROUND);
    for (uint64_t i = 1; i <= ROUND; i++) {
        write_number(d, i);
        d->start = rts_now();
        rts_queue_send(&d->there, d->out);
        if (in_order(d, i))
            record(d->f.c, d->end - d->start, d->end);
    }
    return check_order(d, ROUND);
}

static void im_receiving(duo *d)
{
    rts_queue_receive(&d->there, d->in);
    rts_tick start = rts_now();
    for (uint64_t i = d->n - 1; i; i--) {
        rts_queue_receive(&d->there, d->in);
        RTS_BARRIER();
    }
    d->end = rts_now();
    d->start = start;
    d->came = d->n;
}

/* The classic switch of rheal.ts, for the form that subtracts it. */
static int im_switch(duo *d, double *ticks)
{
    frame apart = d->f;
    apart.parts = 0;
    return classic_switch(&apart, &d->other, ticks);
}

/* (T_run - T_loop) / (N - 1) - T_recv; H is at its gate while L sends T_recv's to itself. */
static int im_once(void *state, double *ticks)
{
    duo *d = state;
    uint64_t n = (uint64_t)d->f.p->loops;
    rts_tick recv = 0;
    double ts;
    SUM_SINGLE(recv, rts_queue_send(&d->there, d->out), rts_queue_receive(&d->there, d->in));
    if (im_switch(d, &ts))
        return -1;
    rest(&d->f);
    let_go(d, im_receiving, n);
    for (uint64_t i = n; i; i--) {
        rts_queue_send(&d->there, d->out);
        RTS_BARRIER();
    }
    if (check_order(d, n))
        return -1;
    rts_tick run = d->end - d->start, loop = empty_loops(2 * (n - 1));
    double each = ((double)run - (double)loop) / (double)(n - 1);
    *ticks = each - net_mean(recv, SINGLE);
    note(&d->f, "T_run", (double)run);
    note(&d->f, "T_loop", (double)loop);
    note(&d->f, "T_recv", net_mean(recv, SINGLE));
    note(&d->f, "rheal.ts", ts);
    note(&d->f, "latency less T_recv", *ticks);
    note(&d->f, "latency less rheal.ts", each - ts);
    return check_pass(&d->f, run);
}

static int measure_messages(duo *d)
{
    rts_case *c = d->f.c;
    if (d->f.p->form == CLASSIC)
        return open_pair(&d->other, c, LEVEL_L) ? -1 : measure_classic(&d->f, im_once);
    if (measure_sampled(&d->f, im_round))
        return -1;
    rts_figure_add(c, "order was another", (double)d->disorder, "messages");
    return 0;
}

static int run_im(rts_case *c)
{
    duo *d = open_duo(c);
    if (!d || open_queue(d, &d->there, LONG_WORDS * sizeof(long), &d->out, &d->in))
        return -1;
    int err = measure_messages(d);
    rts_queue_destroy(&d->there);
    if (!err && d->wrong)
        return rts_failed(c, "%llu messages did not come as they were sent",
                          (unsigned long long)d->wrong);
    return err;
}

/* ---- rheal.dt */

/* One transfer more than is timed: behind the last one H goes to its gate. */
static void dt_answering(duo *d)
{
    for (uint64_t i = d->n + 1; i; i--) {
        rts_queue_receive(&d->there, d->in);
        rts_queue_send(&d->back, d->ack_out);
        d->came++;
    }
}

static void transfer(duo *d)
{
    rts_queue_send(&d->there, d->out);
    rts_queue_receive(&d->back, d->ack_in);
}

static int dt_round(void *state)
{
    duo *d = state;
    let_go(d, dt_answering, ROUND);
    for (uint64_t i = 1; i <= ROUND; i++) {
        rts_tick a = rts_now();
        transfer(d);
        rts_tick b = rts_now();
        record(d->f.c, b - a, b);
    }
    transfer(d);
    return check_order(d, ROUND + 1);
}

/* (T_run - T_loop) / N */
static int dt_once(void *state, double *ticks)
{
    duo *d = state;
    uint64_t n = (uint64_t)d->f.p->loops;
    rest(&d->f);
    let_go(d, dt_answering, n);
    rts_tick start = rts_now();
    for (uint64_t i = n; i; i--) {
        transfer(d);
        RTS_BARRIER();
    }
    rts_tick end = rts_now(), loop = empty_loops(2 * n);
    transfer(d);
    if (check_order(d, n + 1))
        return -1;
    *ticks = ((double)(end - start) - (double)loop) / (double)n;
    note(&d->f, "T_run", (double)(end - start));
    note(&d->f, "T_loop", (double)loop);
    return check_pass(&d->f, end - start);
}

/* By the mean; KB are 1024 bytes. */
static void add_throughput(duo *d)
{
    rts_case *c = d->f.c;
    rts_rec_finish(c->rec);
    const rts_hist *h = &c->rec->hist;
    double overhead = d->f.p->form == CLASSIC ? 0 : (double)rts_the_clock.overhead;
    double mean = h->n ? (double)h->sum / (double)h->n / (double)d->f.scale - overhead : 0;
    if (mean > 0 && in_ns())
        rts_figure_add(c, "throughput",
                       (double)d->f.p->size / 1024 * (double)rts_the_clock.hz / mean, "KB/s");
}

static int run_dt(rts_case *c)
{
    duo *d = open_duo(c);
    if (!d || open_queue(d, &d->there, (size_t)d->f.p->size, &d->out, &d->in))
        return -1;
    int err = open_queue(d, &d->back, sizeof(long), &d->ack_out, &d->ack_in);
    if (!err) {
        err = d->f.p->form == CLASSIC ? measure_classic(&d->f, dt_once)
                                      : measure_sampled(&d->f, dt_round);
        rts_queue_destroy(&d->back);
    }
    rts_queue_destroy(&d->there);
    if (!err)
        add_throughput(d);
    return err;
}

/* ---- rheal.il ---------------------------------------------------------------------------------
 */

typedef struct interrupts {
    frame f;
    rts_irq irq;
    volatile rts_tick end;
    volatile uint64_t served;
} interrupts;

static void service(void *arg)
{
    rts_tick now = rts_now();
    interrupts *i = arg;
    i->end = now;
    i->served++;
}

/* From the stamp before the request to the first statement of its routine. */
static inline rts_tick request(interrupts *i, rts_tick *end)
{
    rts_tick start = rts_now();
    rts_irq_raise(&i->irq);
    *end = i->end;
    return *end - start;
}

static int il_round(void *state)
{
    interrupts *i = state;
    uint64_t before = i->served;
    for (unsigned k = 0; k < ROUND; k++) {
        rts_tick end, took = request(i, &end);
        if (i->served != before + k + 1)
            return rts_failed(i->f.c, "the routine did not run before the request returned");
        record(i->f.c, took, end);
    }
    return 0;
}

/* N single latencies, as the one that RTEMS takes, less what two readings of the clock cost. */
static int il_once(void *state, double *ticks)
{
    interrupts *i = state;
    uint64_t n = (uint64_t)i->f.p->loops, before = i->served;
    rts_tick sum = 0, end;
    rest(&i->f);
    for (uint64_t k = n; k; k--)
        sum += request(i, &end);
    if (i->served != before + n)
        return rts_failed(i->f.c, "of %llu requests %llu were served", (unsigned long long)n,
                          (unsigned long long)(i->served - before));
    *ticks = net_mean(sum, n);
    note(&i->f, "stamp overhead, subtracted", (double)rts_the_clock.overhead);
    return check_pass(&i->f, sum);
}

/* The form's name: one of several that are parted by bars. */
static void tell_form(rts_case *c, int64_t form)
{
    const char *name = RTS_IRQ_FORMS;
    for (; form; form--)
        name = strchr(name, '|') + 1;
    rts_table(c, "what stands for an interrupt", "form");
    rts_row(c, "%.*s", (int)strcspn(name, "|"), name);
}

/* One level down: where a task stands in for the routine, it has to be more urgent. */
static int run_il(rts_case *c)
{
    interrupts *i = open_state(c, sizeof *i);
    if (!i || rts_own_level(c, 1, RTS_FIFO))
        return -1;
    int err = rts_irq_open(&i->irq, (int)i->f.p->irq, service, i);
    if (err)
        return rts_port_failed(c, "cannot have interrupts of this form", err);
    tell_form(c, i->f.p->irq);
    err = i->f.p->form == CLASSIC ? measure_classic(&i->f, il_once)
                                  : measure_sampled(&i->f, il_round);
    rts_irq_close(&i->irq);
    rts_figure_add(c, "requests served", (double)i->served, "requests");
    return err;
}

/* ---- rheal.db ---------------------------------------------------------------------------------
 */

enum { TOP, MIDDLE, BOTTOM };

/*
 * H is to get the lock that L holds while M has the CPU from L.  L is the measuring task.  M looks,
 * whenever it runs, whether H waits for the lock: if so, nothing has made L more urgent than M, and
 * a busy M would keep it from going on for as long as it likes.
 */
typedef struct blockade {
    frame f;
    rts_mutex mutex;
    rts_sem *h_gate, *m_gate, *m_done;
    sleeper h, m;
    void (*h_job)(struct blockade *b);
    void (*m_job)(struct blockade *b);
    uint64_t n;
    rts_tick tick, limit;   /* of the clock of the samples */
    volatile bool asked;    /* H waits for the lock */
    volatile bool held;     /* L has it, or is about to give it back */
    volatile bool cut;      /* L is to end its busy loop */
    volatile bool finished; /* H has done its loops */
    volatile bool inverted; /* M ran while H waited */
    volatile bool fresh;    /* took is of now */
    volatile rts_tick took, waited, start, end;
    volatile uint64_t done, found_free;
    uint64_t passes;       /* classic loops done */
    rts_tick delay, least; /* planted; the shortest that H has measured */
} blockade;

static void top(void *arg)
{
    blockade *b = arg;
    for (;;) {
        rts_sem_take(b->h_gate);
        if (b->f.c->stop)
            return;
        b->h_job(b);
    }
}

static void middle(void *arg)
{
    blockade *b = arg;
    for (;;) {
        rts_sem_take(b->m_gate);
        if (b->f.c->stop)
            return;
        b->m_job(b);
        rts_sem_give(b->m_done);
    }
}

static void keep_cpu(rts_tick time)
{
    for (rts_tick begin = rts_now(); rts_now() - begin < time;)
        ;
}

/* M has the CPU: if H waits, M keeps it as long as the case allows, to see that nothing ends it. */
static inline void look(blockade *b)
{
    if (!b->asked || b->inverted)
        return;
    b->inverted = true;
    keep_cpu(b->limit);
}

/* H gets the lock. */
static void take_stamped(blockade *b)
{
    bool taken = b->held;
    b->asked = true;
    rts_tick start = rts_now();
    rts_mutex_lock(&b->mutex);
    b->end = rts_now();
    b->asked = false;
    b->took = b->end - start;
    b->least = b->least && b->least < b->took ? b->least : b->took;
    b->fresh = taken || b->f.p->lock == LOCK_PROTECT;
    b->found_free += !taken;
    if (b->inverted && !b->waited)
        b->waited = b->took;
    b->done++;
    rts_mutex_unlock(&b->mutex);
}

static inline void take_plain(blockade *b)
{
    b->asked = true;
    rts_mutex_lock(&b->mutex);
    b->asked = false;
    rts_mutex_unlock(&b->mutex);
}

static void let_both_go(blockade *b, void (*h_job)(blockade *), void (*m_job)(blockade *),
                        uint64_t n)
{
    b->h_job = h_job;
    b->m_job = m_job;
    b->n = n;
    b->done = 0;
    b->finished = false;
    rts_sem_give(b->h_gate);
    rts_sem_give(b->m_gate);
}

/* L records what H has measured. */
static void record_blockade(blockade *b)
{
    if (b->fresh)
        record(b->f.c, b->took, b->end);
    b->fresh = false;
}

/* Source says n.e.: the time that a busy M would go on for is no property of the system. */
static int check_inversion(blockade *b)
{
    if (!b->inverted)
        return 0;
    rts_tick us = b->waited * 1000000 / rts_the_clock.hz;
    return rts_unsupported(b->f.c,
                           "n.e.: M ran while H waited for L's lock, until M let go of the CPU "
                           "(H waited %llu us; limit=%lld us): nothing breaks the deadlock. "
                           "sync.test3 has the inversion",
                           (unsigned long long)us, (long long)(b->f.p->limit / 1000));
}

/* ---- as RTEMS has it: each task wakes the next more urgent one */

static void db_h_stamping(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        go_to_sleep(&b->h);
        take_stamped(b);
    }
}

static void db_h_with(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        go_to_sleep(&b->h);
        take_plain(b);
    }
    b->done = b->n;
}

static void db_h_without(blockade *b)
{
    for (uint64_t i = b->n; i; i--)
        go_to_sleep(&b->h);
    b->done = b->n;
}

static void db_m(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        go_to_sleep(&b->m);
        wake(&b->h);
        look(b);
    }
}

static int end_both(blockade *b)
{
    rts_sem_take(b->m_done);
    if (b->done != b->n)
        return rts_failed(b->f.c, "H, M and L did not run in the order that is measured");
    return check_inversion(b);
}

/* L holds the lock while it wakes M, which wakes H. */
static int db_stamps(blockade *b, uint64_t n, bool recorded)
{
    let_both_go(b, db_h_stamping, db_m, n);
    for (uint64_t i = n; i; i--) {
        rts_mutex_lock(&b->mutex);
        b->held = b->f.p->lock != LOCK_PROTECT; /* there M and H run after the lock is free */
        wake(&b->m);
        rts_mutex_unlock(&b->mutex);
        b->held = false;
        if (recorded)
            record_blockade(b);
    }
    return end_both(b);
}

static rts_tick db_pass(blockade *b, bool with)
{
    let_both_go(b, with ? db_h_with : db_h_without, db_m, (uint64_t)b->f.p->loops);
    rts_tick start = rts_now();
    for (uint64_t i = b->n; with && i; i--) {
        rts_mutex_lock(&b->mutex);
        wake(&b->m);
        rts_mutex_unlock(&b->mutex);
    }
    for (uint64_t i = b->n; !with && i; i--)
        wake(&b->m);
    return rts_now() - start;
}

/* (T_with - T_without) / N - T_obtain */
static int db_once(void *state, double *ticks)
{
    blockade *b = state;
    rts_tick obtain = 0;
    for (unsigned k = 0; k < SINGLE; k++) {
        rts_tick start = rts_now();
        rts_mutex_lock(&b->mutex);
        obtain += rts_now() - start;
        rts_mutex_unlock(&b->mutex);
    }
    rest(&b->f);
    rts_tick without = db_pass(b, false);
    if (end_both(b) || check_pass(&b->f, without))
        return -1;
    rest(&b->f);
    rts_tick with = db_pass(b, true);
    *ticks = ((double)with - (double)without) / (double)b->n - net_mean(obtain, SINGLE);
    note(&b->f, "T_with", (double)with);
    note(&b->f, "T_without", (double)without);
    note(&b->f, "T_obtain", net_mean(obtain, SINGLE));
    return end_both(b) || check_pass(&b->f, with) ? -1 : 0;
}

/* Under a ceiling H never meets the lock: there is no blockade, and its stamps tell so. */
static int db_round(void *state)
{
    return db_stamps(state, ROUND, true);
}

/* ---- as Kar has it: paced by the clock */

#define KAR_LOOPS 50 /* of a round, or as many as the brake allows */
#define KAR_CHECKS 2 /* rounds with and without a planted delay */

static void kar_sleep(const blockade *b)
{
    rts_sleep_for(rts_ns_to_ticks((uint64_t)b->f.p->tick, RTS_TIME_HZ));
}

static void kar_h_stamping(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        kar_sleep(b);
        b->cut = true;
        take_stamped(b);
    }
    b->finished = true;
}

enum { WITHOUT, WITH, DELAYED };

static inline void kar_h(blockade *b, int what)
{
    rts_tick start = rts_now();
    for (uint64_t i = b->n; i; i--) {
        kar_sleep(b);
        b->cut = true;
        if (what == WITH)
            take_plain(b);
        if (what == DELAYED)
            keep_cpu(b->delay);
    }
    b->end = rts_now();
    b->start = start;
    b->done = b->n;
    b->finished = true;
}

static void kar_h_with(blockade *b)
{
    kar_h(b, WITH);
}

static void kar_h_without(blockade *b)
{
    kar_h(b, WITHOUT);
}

static void kar_h_delayed(blockade *b)
{
    kar_h(b, DELAYED);
}

static void kar_m(blockade *b)
{
    while (!b->finished) {
        for (rts_tick begin = rts_now(); rts_now() - begin < b->tick / 4;)
            look(b);
        kar_sleep(b);
    }
}

/* L, until H has done n loops.  What H does before L has the lock still cuts L's loop short. */
static int kar_loops(blockade *b, void (*h_job)(blockade *), uint64_t n, bool recorded)
{
    let_both_go(b, h_job, kar_m, n);
    while (!b->finished) {
        b->cut = false;
        rts_mutex_lock(&b->mutex);
        b->held = b->f.p->lock != LOCK_PROTECT;
        for (rts_tick begin = rts_now(); !b->cut && rts_now() - begin < 2 * b->tick;)
            ;
        rts_mutex_unlock(&b->mutex);
        b->held = false;
        if (recorded)
            record_blockade(b);
    }
    return end_both(b);
}

/* A loop may take two ticks and more. */
static uint64_t kar_round_loops(const blockade *b)
{
    uint64_t most = b->f.c->busy_ns / (4 * (uint64_t)b->f.p->tick);
    if (!b->f.c->busy_ns || most > KAR_LOOPS)
        return KAR_LOOPS;
    return most ? most : 1;
}

static int kar_round(void *state)
{
    blockade *b = state;
    return kar_loops(b, kar_h_stamping, kar_round_loops(b), true);
}

/* Adds the time that H's n loops take to `sum`. */
static int kar_pass(blockade *b, void (*h_job)(blockade *), uint64_t n, double *sum)
{
    if (kar_loops(b, h_job, n, false))
        return -1;
    *sum += (double)(b->end - b->start);
    rest_if_due(&b->f);
    return 0;
}

/*
 * A system whose sleeps end on ticks hides in its sleep what H does before.  So a delay as long as
 * the one that is looked for is planted first, and has to be seen.
 */
static int kar_check(blockade *b)
{
    uint64_t n = kar_round_loops(b);
    double without = 0, delayed = 0;
    b->delay = b->least;
    for (int i = 0; i < KAR_CHECKS; i++)
        if (kar_pass(b, kar_h_without, n, &without) || kar_pass(b, kar_h_delayed, n, &delayed))
            return -1;
    double seen = (delayed - without) / (double)(n * KAR_CHECKS);
    note(&b->f, "delay planted", (double)b->delay);
    note(&b->f, "delay seen", seen);
    if (seen >= (double)b->delay / 2)
        return 0;
    return rts_unsupported(
        b->f.c, "n.e.: a delay planted in H's loop does not show in the loop difference: "
                "the sleeps of this system end on ticks, or vary by more; sampled "
                "does without sleeps");
}

/* (T_with - T_without) / N, in pieces: the brake allows no pass of so many ticks. */
static int kar_once(void *state, double *ticks)
{
    blockade *b = state;
    rts_tick start = rts_now(), limit = time_limit(b->f.c);
    uint64_t loops = (uint64_t)b->f.p->loops, n = 0;
    double with = 0, without = 0;
    if (kar_check(b))
        return -1;
    do {
        uint64_t more = kar_round_loops(b);
        more = more < loops - n ? more : loops - n;
        if (kar_pass(b, kar_h_without, more, &without) || kar_pass(b, kar_h_with, more, &with))
            return -1;
        n += more;
    } while (n < loops && !b->f.c->stop_asked && rts_now() - start < limit);
    b->passes += n;
    *ticks = (with - without) / (double)n;
    note(&b->f, "T_with", with);
    note(&b->f, "T_without", without);
    return 0;
}

/* ---- both */

static blockade *open_blockade(rts_case *c)
{
    static const rts_protocol protocols[] = {
        [LOCK_INHERIT] = RTS_LOCK_INHERIT,
        [LOCK_PROTECT] = RTS_LOCK_PROTECT,
        [LOCK_NONE] = RTS_LOCK_NONE,
    };
    blockade *b = open_state(c, sizeof *b);
    if (!b)
        return NULL;
    if (b->f.p->lock == LOCK_PROTECT && !(rts_port_caps() & RTS_CAP_LOCK_PROTECT)) {
        rts_unsupported(c, "no mutexes with a priority ceiling: %s",
                        rts_port_why_not(RTS_CAP_LOCK_PROTECT));
        return NULL;
    }
    b->tick = rts_ns_to_ticks((uint64_t)b->f.p->tick, rts_the_clock.hz);
    b->limit = rts_ns_to_ticks((uint64_t)b->f.p->limit, rts_the_clock.hz);
    b->h_gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    b->m_gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    b->m_done = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    int err = rts_mutex_create(&b->mutex, protocols[b->f.p->lock], (int)c->common.prio);
    if (err)
        rts_port_failed(c, "cannot create a mutex of that protocol", err);
    return !err && b->h_gate && b->m_gate && b->m_done ? b : NULL;
}

/* The first round is not recorded: it tells whether the system breaks the deadlock at all. */
static int measure_blockade(blockade *b)
{
    bool kar = b->f.p->variant == VARIANT_KAR, classic = b->f.p->form == CLASSIC;
    if (kar ? kar_loops(b, kar_h_stamping, kar_round_loops(b), false) : db_stamps(b, 1, false))
        return -1;
    b->found_free = 0;
    b->fresh = false;
    rest_if_due(&b->f);
    if (classic)
        return measure_classic(&b->f, kar ? kar_once : db_once);
    return measure_sampled(&b->f, kar ? kar_round : db_round);
}

static int run_db(rts_case *c)
{
    blockade *b = open_blockade(c);
    if (!b || rts_own_level(c, BOTTOM, RTS_FIFO) || start_sleeper(c, &b->h, top, b, TOP) ||
        start_sleeper(c, &b->m, middle, b, MIDDLE) || rts_settle(c))
        return -1;
    if (b->f.p->variant == VARIANT_RTEMS)
        tell_how(c, &b->h);
    else /* a case of many ticks records nothing for long */
        c->patience_ns += 4 * (uint64_t)b->f.p->loops * (uint64_t)b->f.p->tick;
    int err = measure_blockade(b);
    rts_mutex_destroy(&b->mutex);
    if (err)
        return err;
    if (b->f.p->form == SAMPLED)
        rts_figure_add(c, "H met the lock free", (double)b->found_free, "times");
    else if (b->f.p->variant == VARIANT_KAR)
        rts_figure_add(c, "loops done", (double)b->passes, "loops");
    return 0;
}

/* ---- the table --------------------------------------------------------------------------------
 */

#define FORM                                                                                       \
    RTS_CHOICE(rheal_params, form, "sampled|classic", SAMPLED,                                     \
               "stamps around every event, or the published loop difference")
#define LOOPS(def)                                                                                 \
    RTS_INT(rheal_params, loops, "loop", def, 2, 10000000, "N of the classic form"),               \
        RTS_INT(rheal_params, measurements, "measurement", 1, 1, 1000,                             \
                "loop differences of the classic form, each of which is a sample")

static const rts_param plain_param[] = {FORM, LOOPS(50000), RTS_PARAMS_END};

static const rts_param il_param[] = {
    FORM,
    LOOPS(50000),
    RTS_CHOICE(rheal_params, irq, RTS_IRQ_FORMS, 0,
               "what stands for an interrupt and its routine; eventfd: a more urgent thread that "
               "waits in read()"),
    RTS_PARAMS_END,
};

static const rts_param dt_param[] = {
    FORM,
    LOOPS(50000),
    RTS_SIZE(rheal_params, size, 1024, 1, 64 << 10, "of a datagram"),
    RTS_PARAMS_END,
};

static const rts_param db_param[] = {
    FORM,
    LOOPS(20000),
    RTS_CHOICE(rheal_params, variant, "rtems|kar", VARIANT_RTEMS,
               "tasks that wake each other, or that sleep for a tick"),
    RTS_CHOICE(
        rheal_params, lock, "inherit|protect|none", LOCK_INHERIT,
        "the owner inherits priority, gets the ceiling (so H never meets the lock taken), or "
        "nothing is done (n.e.)"),
    RTS_DURATION(rheal_params, tick, 1000000, 100000, 100000000, "of variant kar"),
    RTS_DURATION(rheal_params, limit, 100000000, 1000000, 400000000,
                 "how long M keeps the CPU once it runs while H waits for the lock; then: n.e."),
    RTS_PARAMS_END,
};

#define LIMITS .samples = RTS_SAMPLES_DEFAULT, .warmup = 10, .time_ns = 10 * SECOND_NS
#define OF_TASKS .needs = RTS_CAP_PRIORITIES, .traits = RTS_OWN_SERIES | RTS_ONE_CPU

static const rts_bench benches[] = {
    {.id = "rheal.ts",
     .title = "Rhealstone: task switch",
     .source = "Golatowski, Rhealstone; Kar 1990",
     .help = "Two tasks of equal priority yield to each other. sampled: from the stamp before the "
             "yield of one to the first statement of the other. classic: (T_run - T_loop)/(2N-1) - "
             "T_dir; T_run is N yields of each, T_loop the empty loops, T_dir a yield with nobody "
             "else ready.",
     .metric = "scheduling",
     .params = plain_param,
     OF_TASKS,
     LIMITS,
     .run = run_ts},
    {.id = "rheal.pt",
     .title = "Rhealstone: preemption",
     .source = "Golatowski, Rhealstone; Kar 1990",
     .help =
         "L resumes H, which is more urgent and suspends itself again. sampled: from L's stamp "
         "before the resume to H's first statement. classic: (T_run - T_loop)/(N-1) - T_back; "
         "T_run is N-1 rounds by H's stamps, T_back the way back from H's suspend to L. Without "
         "suspension H waits for a semaphore; the result says which.",
     .metric = "scheduling",
     .params = plain_param,
     OF_TASKS,
     LIMITS,
     .run = run_pt},
    {.id = "rheal.il",
     .title = "Rhealstone: interrupt latency",
     .source = "Golatowski, Rhealstone; Kar 1990",
     .help = "The program asks for an interrupt: from the stamp before to the first statement of "
             "its routine. classic: the mean of N, less the stamps. On POSIX a real-time signal to "
             "the task itself, or an eventfd for which a more urgent thread waits: neither is an "
             "interrupt of hardware, for which there is int.latency.phase.",
     .params = il_param,
     .needs = RTS_CAP_SOFT_IRQ,
     .traits = RTS_OWN_SERIES | RTS_ONE_CPU,
     LIMITS,
     .run = run_il},
    {.id = "rheal.ss",
     .title = "Rhealstone: semaphore shuffling",
     .source = "Golatowski, Rhealstone; Kar 1990",
     .help =
         "Two tasks of equal priority loop: obtain the semaphore, yield, release it, yield; each "
         "obtain meets a taken semaphore. sampled: from the stamp before the release (and the "
         "yield behind it) to the return of the other's obtain. classic: (T_with - T_without)/"
         "2N; T_without is the same loop without the semaphore.",
     .metric = "semaphores",
     .params = plain_param,
     OF_TASKS,
     LIMITS,
     .run = run_ss},
    {.id = "rheal.db",
     .title = "Rhealstone: deadlock breaking",
     .source = "Golatowski, Rhealstone; Kar 1990",
     .help =
         "H asks for the lock that L holds while M has taken the CPU from L: L has to run "
         "instead of M. sampled: H's stamps around its obtain. classic, rtems: L obtains, wakes "
         "M, which wakes H, and releases; (T_with - T_without)/N - T_obtain. kar: L holds the "
         "lock in a busy loop, M and H sleep for a tick, H cuts L short; (T_with - T_without)/N. "
         "M that runs while H waits: n.e., after a time limit.",
     .metric = "mutexes and condition variables",
     .params = db_param,
     OF_TASKS,
     LIMITS,
     .run = run_db},
    {.id = "rheal.im",
     .title = "Rhealstone: intertask message latency",
     .source = "Golatowski, Rhealstone; Kar 1990",
     .help = "L sends messages of 4 long words to H, which waits for them. sampled: from L's stamp "
             "before the send to the return of H's receive. classic: (T_run - T_loop)/(N-1) - "
             "T_recv, a receive from a queue that holds a message; a figure has it less rheal.ts "
             "instead, as another port does.",
     .metric = "message passing",
     .params = plain_param,
     OF_TASKS,
     LIMITS,
     .run = run_im},
    {.id = "rheal.dt",
     .title = "Rhealstone: datagram throughput",
     .source = "Golatowski, Rhealstone; Kar and Porter 1989",
     .help = "L sends H a datagram through a queue and waits for the acknowledgement: the time of "
             "both, and KB/s as a figure. The component of 1989 that rheal.im replaced. classic: "
             "(T_run - T_loop)/N.",
     .metric = "message passing",
     .params = dt_param,
     OF_TASKS,
     .slope_over = "size",
     LIMITS,
     .run = run_dt},
};

RTS_BENCHES(benches);
