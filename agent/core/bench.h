/*
 * The interface of benches: their tables, and the functions that they may call.
 *
 * A family of benches is one file: a struct of parameters, a procedure per bench, and one table
 * registered with RTS_BENCHES(). The table is the only description of a bench: the command parser,
 * the help texts, `rtstone list` and the docs are derived from it.
 */
#ifndef RTS_BENCH_H
#define RTS_BENCH_H

#include "caps.h"
#include "clock.h"
#include "params.h"
#include "port.h"
#include "recorder.h"
#include "text.h"
#include "wire.h"
#include "work.h"

typedef struct rts_case rts_case;

/* ---- the table --------------------------------------------------------------------------- */

enum {
    RTS_BATCHES = 1 << 0, /* can time several operations between two stamps: see c->batch */
    RTS_RESTS = 1 << 1, /* tasks of the case may pause between samples: nothing is due, and no other
                           one runs on */
    RTS_OWN_SERIES = 1 << 2, /* opens its series itself, with rts_series() */
    RTS_ONE_CPU = 1 << 3,    /* relies on priorities alone to decide who runs next */
    RTS_OMITTED = 1 << 4,    /* also records the latencies that missed activations would have had */
    RTS_NO_SAMPLES = 1 << 5, /* reports figures and tables; any other bench must have samples */
};

typedef struct rts_bench {
    const char *id; /* group.name[.variant] */
    rts_text title;
    rts_text source;    /* publication, section */
    rts_text help;      /* what is timed, and between which time stamps */
    const char *metric; /* group of POSIX.1 metrics that it measures, or NULL */
    const rts_param *params;
    uint32_t needs;         /* RTS_CAP_... */
    uint16_t traits;        /* RTS_BATCHES ... */
    uint16_t warmup;        /* default number of warm-up samples */
    int32_t samples;        /* default number of samples; 0: no limit */
    rts_limit time_ns;      /* default time limit: RTS_LIMIT(); 0: no limit */
    const char *slope_over; /* parameter with which the time is expected to grow, or NULL */
    const char *slope_of; /* the figure that grows with it, in place of the least sample, or NULL */
    unsigned (*series)(const rts_case *c); /* number of series; NULL: one */
    int (*run)(rts_case *c);
} rts_bench;

typedef struct rts_family {
    const rts_bench *bench;
    unsigned n;
} rts_family;

/* Registers a table: every table that is linked in is available. */
#define RTS_BENCHES(table)                                                                         \
    static const rts_family rts_family_here                                                        \
        __attribute__((used, section("rts_families"), aligned(sizeof(void *)))) = {                \
            table, sizeof table / sizeof table[0]}

/* Find one, or call a function for each, of the benches that are linked in. */
const rts_bench *rts_registry_find(const char *id);
void rts_registry_each(void (*call)(const rts_bench *bench));

/* State of the caches when a sample begins. */
typedef enum rts_cache { RTS_WARM_CACHE, RTS_COLD_CACHE } rts_cache;

/* Parameters that every case has. */
typedef struct rts_common {
    int64_t samples, warmup, time_ns, prio, batch, raw, config, cache;
    rts_cpuset cpus; /* empty: the default CPU */
} rts_common;

extern const rts_param rts_common_params[];

/* ---- a case ------------------------------------------------------------------------------ */

#define RTS_FIGURES 24
#define RTS_TABLES 4
#define RTS_PROGRESS_BYTES 128

typedef struct rts_figure {
    const char *name, *unit;
    double value;
} rts_figure;

/* A table of texts: columns separated by tabs, rows by newlines. */
typedef struct rts_text_table {
    const char *title, *columns, *rows;
} rts_text_table;

/* One distribution measured by a case. */
typedef struct rts_series_out {
    char name[16];
    uint64_t hz, overhead;
    rts_rec *rec;
    uint64_t *raw;     /* room for all samples, or NULL */
    rts_hist *omitted; /* latencies of missed activations, or NULL */
    bool periodic;     /* activations can be missed: rec->missed is meaningful */
} rts_series_out;

struct rts_case {
    const rts_bench *bench;
    rts_common common;
    _Alignas(8) unsigned char params[RTS_PARAM_BYTES];

    rts_rec *rec;          /* recorder of the series that is being measured, if it is one */
    unsigned batch;        /* operations per sample */
    unsigned slot;         /* next number for a named object */
    uint64_t busy_ns;      /* longest time without a rest of a measuring task that works alone */
    uint64_t rest_ns;      /* length of that rest */
    volatile bool resting; /* during a rest: tasks that would use the CPU meanwhile wait */
    bool watching;         /* whether operations enter the kernel, in a pass of its own */
    uint64_t granule;      /* of the clock, on the measured CPU */
    const char *why_not_watched; /* NULL: it was, or such a pass is not for this bench */
    volatile bool stop;          /* asks helper tasks to end */
    bool returned;               /* the measuring task did, at its end */
    rts_job job; /* what the port needs to know of the case, and the evidence it returns */

    rts_status status;
    char reason[RTS_REASON];
    unsigned figures;
    rts_figure figure[RTS_FIGURES];
    unsigned tables;
    rts_text_table table[RTS_TABLES];
    char *table_rows; /* rows of the last table */
    unsigned n_series;
    rts_series_out *series;

    /* helper tasks and semaphores of the case, joined and destroyed after it */
    unsigned n_tasks, n_sems, peak_tasks;
    rts_task **task;
    rts_sem **sem;
    rts_sem *idle_gate, *idle_done;
    rts_set *set;

    unsigned char *arena; /* shared memory of the case */
    size_t arena_size, arena_used;
    char progress[RTS_PROGRESS_BYTES]; /* last text of rts_progress() */
    volatile unsigned progress_done, progress_n;
    rts_trace *trace;   /* NULL: the case is not traced */
    uint64_t limit_ns;  /* a sample above it is a miss; 0: there is no such limit */
    uint64_t stop_ns;   /* the same, and one above it ends the case */
    volatile bool over; /* there was such a sample */
};

/* Returns the case of a job. */
static inline rts_case *rts_case_of(const rts_job *job)
{
    return (rts_case *)((char *)job - offsetof(rts_case, job));
}

/* Returns the parameters of the case, as the family's struct. */
static inline const void *rts_params(const rts_case *c)
{
    return c->params;
}

/* Returns memory for the state of a bench: zeroed, shared by all its tasks, freed after the case.
 */
void *rts_alloc(rts_case *c, size_t size);

/* Ends the case as unsupported or failed, with a reason (printf); returns -1, for `return`. */
int rts_unsupported(rts_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rts_failed(rts_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Ends the case after a port error: as unsupported if a limit of the system is the cause, else as
 * failed. Returns -1.
 */
int rts_port_failed(rts_case *c, const char *failure, int error);

/* Adds a figure: a number that is not part of a distribution, such as a value or a count. */
void rts_figure_add(rts_case *c, const char *name, double value, const char *unit);
void rts_count_add(rts_case *c, const char *name, int64_t value, const char *unit);

/* Starts a table of texts with these columns, separated by tabs; each row has as many cells. */
void rts_table(rts_case *c, const char *title, const char *columns);
void rts_row(rts_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reports the progress of a case without samples: in parts per thousand, and as text. A case with
 * neither samples nor progress for c->job.patience_ns is considered hung.
 */
void rts_progress(rts_case *c, unsigned done, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Starts run(arg) as a task `below` levels below the case's priority, on its CPU. The task must
 * return once c->stop is set and whatever it waits for has been given.
 */
int rts_task_start(rts_case *c, void (*run)(void *), void *arg, int below, rts_policy policy,
                   bool process);

/* Starts run(arg) as a task on another CPU, at the case's priority. */
int rts_task_start_on(rts_case *c, void (*run)(void *), void *arg, int cpu);

/* Sets the calling task's priority to `below` levels below the case's. */
int rts_own_level(rts_case *c, int below, rts_policy policy);

/*
 * Creates a semaphore that is destroyed after the case. Returns NULL if that fails; the case
 * has then failed.
 */
rts_sem *rts_sem_make(rts_case *c, rts_sem_kind kind, unsigned value);

/* The same for the one semaphore of System V that a case may have, at 0. */
rts_set *rts_set_make(rts_case *c);

/*
 * Waits until every task of the case above level RTS_LEVELS is blocked: a task at that lowest level
 * signals it. Exact under fixed priorities on one CPU.
 */
int rts_wait_idle(rts_case *c);

/*
 * Opens a series whose clock has `hz` ticks per second and this read overhead (ticks): for several
 * CPUs, or for a clock other than the agent's.
 */
rts_rec *rts_series(rts_case *c, const char *name, uint64_t hz, uint64_t overhead, bool periodic,
                    rts_hist **omitted);

/*
 * Waits for the end of a series whose time is over before its next activation, and ends it. `now`:
 * by the series' clock.
 */
void rts_series_expire(rts_rec *r, uint64_t now);

/* Ends the timed section that rts_rec_start() began. */
void rts_end(rts_case *c, rts_rec *r);

/* ---- taking samples ---------------------------------------------------------------------- */

/*
 * Repeats its body until all samples are taken, the time limit is reached, or the host stops the
 * case.
 */
#define RTS_SAMPLES(c) for (rts_rec_start((c)->rec, rts_now()); (c)->rec->running;)

/* Records the interval from time stamp a to time stamp b. */
RTS_SHARED void rts_rec_span(rts_rec *r, rts_stamp a, rts_stamp b);
RTS_SHARED void rts_rec_span(rts_rec *r, rts_stamp a, rts_stamp b)
{
    rts_stamp took = b - a;
    rts_rec_add(r, took, rts_stamp_time(b));
}

/* If the case asks for cold caches, fills them with unrelated lines before the first time stamp. */
#ifdef RTS_COLD
#define RTS_CHILL(c)                                                                               \
    do {                                                                                           \
        if ((c)->common.cache)                                                                     \
            rts_port_chill();                                                                      \
    } while (0)
#else
#define RTS_CHILL(c) ((void)0)
#endif

/* In a pass of its own, counts the operations that enter the kernel. */
#ifdef RTS_ENTRIES
#define RTS_WATCH(c)                                                                               \
    do {                                                                                           \
        if ((c)->watching)                                                                         \
            rts_port_entries_watch();                                                              \
    } while (0)
#define RTS_WATCHED(c)                                                                             \
    do {                                                                                           \
        if ((c)->watching) {                                                                       \
            (c)->job.evidence.entered += rts_port_entries_seen();                                  \
            (c)->job.evidence.entered_of++;                                                        \
        }                                                                                          \
    } while (0)
#else
#define RTS_WATCH(c) ((void)0)
#define RTS_WATCHED(c) ((void)0)
#endif

/* Prevents the compiler from merging the code that follows with that of another branch. */
#define RTS_APART() __asm__ volatile("")

/*
 * Times `op` between two time stamps: once, or c->batch times if it is too short for the clock.
 * Between the time stamps there is only `op`, and in a batch the loop counter.
 */
#define RTS_TIMED(c, op)                                                                           \
    do {                                                                                           \
        unsigned k_ = (c)->batch;                                                                  \
        rts_stamp a_, b_;                                                                          \
        RTS_CHILL(c);                                                                              \
        RTS_WATCH(c);                                                                              \
        if (k_ == 1) {                                                                             \
            RTS_APART();                                                                           \
            a_ = rts_stamp_now();                                                                  \
            op;                                                                                    \
            b_ = rts_stamp_now();                                                                  \
        } else {                                                                                   \
            a_ = rts_stamp_now();                                                                  \
            do {                                                                                   \
                op;                                                                                \
            } while (--k_);                                                                        \
            b_ = rts_stamp_now();                                                                  \
        }                                                                                          \
        RTS_WATCHED(c);                                                                            \
        rts_rec_span((c)->rec, a_, b_);                                                            \
    } while (0)

#endif
