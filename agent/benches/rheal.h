/*
 * rheal.*: the components of Rhealstone (Kar and Porter 1989, Kar 1990), as used by Golatowski;
 * this header declares what they share.
 *
 * Each component has two forms. `sampled` time-stamps every event: just before the call in the task
 * that releases the CPU, and in the first statement of the task that gets it. `classic` is the
 * published form: N passes with the feature, N without, and the difference divided by the number of
 * events.
 *
 * All tasks of a case are on one CPU. They work in rounds of a known number of events, and wait at
 * a semaphore in between: there a task can be ended, and the CPU can be left to others before RT
 * throttling takes it away (rheal_rest()). Nothing is counted or recorded between two stamps.
 */
#ifndef RTS_RHEALSTONE_H
#define RTS_RHEALSTONE_H

#include "bench.h"

#define RHEAL_ROUND 256   /* events in a sampled round */
#define RHEAL_PARTS 8     /* parts of a classic measurement, at most */
#define RHEAL_SINGLE 1000 /* repetitions for T_dir, T_back, T_obtain and T_recv */

enum { RHEAL_SAMPLED, RHEAL_CLASSIC };

/* The parameters of every component; a struct with more parameters begins with these. */
typedef struct rheal_params {
    int64_t form, loops, measurements, pause;
} rheal_params;

/* ---- a measurement --------------------------------------------------------------------------- */

typedef struct rheal_part {
    const char *name;
    double sum; /* ticks */
} rheal_part;

/* A case, its results so far, and how long it has used the CPU without a rest. */
typedef struct rheal_frame {
    rts_case *c;
    const rheal_params *p;
    uint64_t scale; /* units of the series per tick */
    uint64_t loops; /* N of the classic form, limited to what fits */
    bool in_pieces; /* the classic form stays below the RT throttling limit itself */
    rts_tick opened, fresh, pass;
    unsigned parts;
    rheal_part part[RHEAL_PARTS]; /* of classic measurements, by name; sums over all of them */
} rheal_frame;

/* Returns the state of a bench, which begins with its frame; NULL: the case has ended. */
void *rheal_open(rts_case *c, size_t size);

/* A round of the sampled form records samples; a measurement of the classic form is one sample. */
typedef int rheal_round(void *state);
typedef int rheal_once(void *state, double *ticks);

/* Measures in the form that the case asks for. */
int rheal_measure(rheal_frame *f, rheal_round *round, rheal_once *once);

static inline void rheal_record(rts_case *c, rts_tick value, rts_tick now)
{
    if (c->rec->running) /* otherwise the round ends without recording */
        rts_rec_add(c->rec, value, now);
}

/* Adds a part of a classic measurement, for a figure. */
void rheal_note(rheal_frame *f, const char *name, double ticks);

/* Adds a time as a figure, in the unit of the clock. */
void rheal_time_figure(rts_case *c, const char *name, double ticks);

/* Leaves the CPU to others if the system throttles RT tasks; all other tasks are at their gates. */
void rheal_rest(rheal_frame *f);
void rheal_rest_if_due(rheal_frame *f);

/* Discards a pass that RT throttling interrupted; its duration shows how large N may be. */
int rheal_check_pass(rheal_frame *f, rts_tick pass);

/* Returns the time limit of the case, in ticks of its clock. */
rts_tick rheal_time_limit(const rts_case *c);

/* Returns false if the clock counts something other than time. */
bool rheal_in_ns(void);

/* ---- parts of a classic measurement ---------------------------------------------------------- */

/*
 * Returns (T_run - T_loop) / events and adds both times as figures. Measures T_loop here: passes of
 * an empty loop.
 */
double rheal_run_less_loop(rheal_frame *f, rts_tick run, uint64_t passes, uint64_t events);

/* Returns (T_with - T_without) / events and adds both times as figures. */
double rheal_with_less_without(rheal_frame *f, double with, double without, uint64_t events);

/* Returns the mean of n times between two stamps, net of overhead. */
double rheal_net_mean(rts_tick sum, uint64_t n);

/* The same for RHEAL_SINGLE repetitions of `op`; `before` and `after` are not timed. */
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

/* rheal.ts within another component: creates its two tasks at a level, and measures it. */
void *rheal_switch_open(rts_case *c, int level);
int rheal_switch_once(void *state, double *ticks);

/* ---- putting a task to sleep and waking it --------------------------------------------------- */

typedef struct rheal_sleeper {
    bool suspends;
    rts_sem *sem;
    rts_task *task;
} rheal_sleeper;

/* Starts a task that sleeps in this way. */
int rheal_sleeper_start(rts_case *c, rheal_sleeper *s, void (*run)(void *), void *arg, int level);

/* Reports how it is put to sleep. */
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
        RTS_INT(rheal_params, measurements, "measurement", 5, 1, 1000,                             \
                "loop differences of the classic form, each of which is a sample"),                \
        RTS_DURATION(rheal_params, pause, 0, 0, INT64_C(1000000000),                               \
                     "of the sampled form after each round, in which a load on this CPU runs")

#define RHEAL_TRAITS_AND_LIMITS                                                                    \
    .traits = RTS_OWN_SERIES | RTS_ONE_CPU, .samples = RTS_SAMPLES_DEFAULT, .warmup = 10,          \
    .time_ns = RTS_LIMIT(INT64_C(10000000000))

#endif
