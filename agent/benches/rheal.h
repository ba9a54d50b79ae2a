/*
 * rheal.*: the components of Rhealstone (Kar and Porter 1989, Kar 1990), as Golatowski uses them;
 * here is what they share.
 *
 * Each has two forms.  `sampled` stamps every event: just before the call in the task that gives up
 * the CPU, first thing in the task that gains it.  `classic` is the published one: N passes with
 * the feature, N without it, and the difference divided by the number of events.
 *
 * All tasks of a case are on one CPU.  They work in rounds of a known number of events, and wait at
 * a semaphore in between: there a task can be ended, and there the CPU can be left to others before
 * the system's RT throttling takes it (rheal_rest()).  Nothing is counted or recorded
 * between two stamps.
 */
#ifndef RTS_RHEALSTONE_H
#define RTS_RHEALSTONE_H

#include "bench.h"

#define RHEAL_ROUND 256   /* events of a sampled round */
#define RHEAL_PARTS 8     /* of a classic measurement, at most */
#define RHEAL_SINGLE 1000 /* times that T_dir, T_back, T_obtain and T_recv are taken */

enum { RHEAL_SAMPLED, RHEAL_CLASSIC };

/* The parameters of every component; one that has more begins with these. */
typedef struct rheal_params {
    int64_t form, loops, measurements;
} rheal_params;

/* ---- a measurement --------------------------------------------------------------------------- */

typedef struct rheal_part {
    const char *name;
    double sum; /* ticks */
} rheal_part;

/* A case, what it has found out, and since when it has had the CPU without a rest. */
typedef struct rheal_frame {
    rts_case *c;
    const rheal_params *p;
    uint64_t scale; /* of the series, to a tick */
    uint64_t loops; /* N of the classic form, as many of it as fit */
    bool in_pieces; /* the classic form sees to RT throttling itself */
    rts_tick opened, fresh, pass;
    unsigned parts;
    rheal_part part[RHEAL_PARTS]; /* of classic measurements, by name; summed over all of them */
} rheal_frame;

/* State of a bench, which begins with its frame; NULL: the case has ended. */
void *rheal_open(rts_case *c, size_t size);

/* A round of the sampled form records; a measurement of the classic form is one sample. */
typedef int rheal_round(void *state);
typedef int rheal_once(void *state, double *ticks);

/* Measures in the form that the case has. */
int rheal_measure(rheal_frame *f, rheal_round *round, rheal_once *once);

static inline void rheal_record(rts_case *c, rts_tick value, rts_tick now)
{
    if (c->rec->running) /* else the round comes to its end without */
        rts_rec_add(c->rec, value, now);
}

/* Keeps a part of a classic measurement, for a figure. */
void rheal_note(rheal_frame *f, const char *name, double ticks);

/* A time as a figure, in the unit of the clock. */
void rheal_time_figure(rts_case *c, const char *name, double ticks);

/* Leaves the CPU to others, where the system throttles RT tasks; every other task is at its gate.
 */
void rheal_rest(rheal_frame *f);
void rheal_rest_if_due(rheal_frame *f);

/* A pass that RT throttling has stopped is worth nothing; how long it was tells what N fits. */
int rheal_check_pass(rheal_frame *f, rts_tick pass);

/* How long the case may take, in ticks of its clock. */
rts_tick rheal_time_limit(const rts_case *c);

/* False where the clock counts something else than time. */
bool rheal_in_ns(void);

/* ---- parts of a classic measurement ---------------------------------------------------------- */

/* (T_run - T_loop) / events, and both as figures; T_loop is made here: passes of an empty loop. */
double rheal_run_less_loop(rheal_frame *f, rts_tick run, uint64_t passes, uint64_t events);

/* (T_with - T_without) / events, and both as figures. */
double rheal_with_less_without(rheal_frame *f, double with, double without, uint64_t events);

/* Mean of n times between two stamps, less what reading the clock costs. */
double rheal_net_mean(rts_tick sum, uint64_t n);

/* The same of RHEAL_SINGLE times `op`; `before` and `after` are not timed. */
#define RHEAL_SINGLE_MEAN(before, op, after)                                                       \
    ({                                                                                             \
        rts_tick sum_ = 0;                                                                         \
        for (unsigned k_ = 0; k_ < RHEAL_SINGLE; k_++) {                                           \
            before;                                                                                \
            rts_tick a_ = rts_now();                                                               \
            op;                                                                                    \
            sum_ += rts_now() - a_;                                                                \
            after;                                                                                 \
        }                                                                                          \
        rheal_net_mean(sum_, RHEAL_SINGLE);                                                        \
    })

/* rheal.ts beside another component: its two tasks, at a level, and a measurement of it. */
void *rheal_switch_open(rts_case *c, int level);
int rheal_switch_once(void *state, double *ticks);

/* ---- putting a task to sleep and waking it --------------------------------------------------- */

typedef struct rheal_sleeper {
    bool suspends;
    rts_sem *sem;
    rts_task *task;
} rheal_sleeper;

/* Starts the task that is to sleep so. */
int rheal_sleeper_start(rts_case *c, rheal_sleeper *s, void (*run)(void *), void *arg, int level);

/* Tells by what it is put to sleep. */
void rheal_sleeper_tell(rts_case *c, const rheal_sleeper *s);

static inline void rheal_sleep(rheal_sleeper *s)
{
    if (s->suspends)
        rts_suspend();
    else
        rts_sem_take(s->sem);
}

static inline void rheal_wake(rheal_sleeper *s)
{
    if (s->suspends)
        rts_resume(s->task);
    else
        rts_sem_give(s->sem);
}

/* ---- for the tables -------------------------------------------------------------------------- */

#define RHEAL_PARAMS(n)                                                                            \
    RTS_CHOICE(rheal_params, form, "sampled|classic", RHEAL_SAMPLED,                               \
               "time stamps around every event, or the published loop difference"),                \
        RTS_INT(rheal_params, loops, "loop", n, 2, 10000000, "N of the classic form"),             \
        RTS_INT(rheal_params, measurements, "measurement", 1, 1, 1000,                             \
                "loop differences of the classic form, each of which is a sample")

#define RHEAL_TRAITS_AND_LIMITS                                                                    \
    .traits = RTS_OWN_SERIES | RTS_ONE_CPU, .samples = RTS_SAMPLES_DEFAULT, .warmup = 10,          \
    .time_ns = RTS_LIMIT(INT64_C(10000000000))

#endif
