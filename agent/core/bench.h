/*
 * What a bench is made of, and what it may use while it runs.
 *
 * A family of benches is one file: a struct of parameters, a procedure per bench, and one table,
 * announced with RTS_BENCHES().  The table is the only place where anything is said about a bench:
 * parser, help, `rtstone list` and the docs are made from it.
 */
#ifndef RTS_BENCH_H
#define RTS_BENCH_H

#include "clock.h"
#include "port.h"
#include "recorder.h"
#include "text.h"

typedef struct rts_case rts_case;

/* ---- the table --------------------------------------------------------------------------- */

typedef enum rts_type {
    RTS_T_END, /* terminates a table of parameters */
    RTS_T_INT,
    RTS_T_DURATION, /* ns */
    RTS_T_SIZE,     /* bytes */
    RTS_T_BOOL,
    RTS_T_CHOICE, /* index into choices */
    RTS_T_CPUS,   /* an rts_cpuset */
    RTS_T_TEXT,   /* max + 1 characters; the others are int64_t */
} rts_type;

/*
 * What a person reads of a table: title, source, help.  A port that defines RTS_WITHOUT_TEXTS has
 * no room for it, not even for pointers; the host then takes it from its own agent.
 */
#ifdef RTS_WITHOUT_TEXTS
typedef struct rts_text {
} rts_text;
#define RTS_SAY(text)                                                                              \
    {                                                                                              \
    }
#define RTS_SAID(text) ""
#else
typedef const char *rts_text;
#define RTS_SAY(text) text
#define RTS_SAID(text) (text)
#endif

/*
 * Default and limits of a parameter.  Where code is dear they are kept in 32 bits: a number below
 * 2^29, and the factor it is to be taken by.  A value that cannot be kept so does not compile.
 */
#ifdef RTS_SMALL_CODE
typedef uint32_t rts_limit;
#define RTS_KEPT(v, by) ((int64_t)(v) % (by) == 0 && (uint64_t)((v) / (by)) < UINT64_C(1) << 29)
#define RTS_KEEP(v, factor, by) ((uint32_t)(factor) << 29 | (uint32_t)((v) / (by)))
#define RTS_2_30 (INT64_C(1) << 30)
#define RTS_KEPT_AT_ALL(v)                                                                         \
    (RTS_KEPT(v, 1) || RTS_KEPT(v, 1000) || RTS_KEPT(v, 1000000) || RTS_KEPT(v, 1000000000) ||     \
     RTS_KEPT(v, 1000000000000) || RTS_KEPT(v, RTS_2_30) || RTS_KEPT(v, -1))
#define RTS_LIMIT(v)                                                                               \
    (RTS_KEPT(v, 1)               ? RTS_KEEP(v, 0, 1)                                              \
     : RTS_KEPT(v, 1000)          ? RTS_KEEP(v, 1, 1000)                                           \
     : RTS_KEPT(v, 1000000)       ? RTS_KEEP(v, 2, 1000000)                                        \
     : RTS_KEPT(v, 1000000000)    ? RTS_KEEP(v, 3, 1000000000)                                     \
     : RTS_KEPT(v, 1000000000000) ? RTS_KEEP(v, 4, 1000000000000)                                  \
     : RTS_KEPT(v, RTS_2_30)      ? RTS_KEEP(v, 5, RTS_2_30)                                       \
                                  : RTS_KEEP(v, 6, -(int)sizeof(char[RTS_KEPT_AT_ALL(v) ? 1 : -1])))
#else
typedef int64_t rts_limit;
#define RTS_LIMIT(v) (v)
#endif

/* What RTS_LIMIT() was given. */
int64_t rts_limit_value(rts_limit limit);

typedef struct rts_param {
    const char *name;
    rts_type type;
    uint16_t offset;         /* within the family's struct of parameters */
    const char *domain;      /* of a number its unit, or NULL; of RTS_T_CHOICE "fifo|rr" */
    rts_limit def, min, max; /* limits are inclusive */
    rts_text help;
} rts_param;

/* The procedure of a bench that needs these capabilities, for its table. */
#define RTS_RUN(needs, fn) ((needs) & RTS_NEVER ? NULL : (fn))

/*
 * What the system has, for what a bench or load asks beyond its table's needs: what a port never
 * has is known when that is compiled, and what would follow from it takes no code.
 */
static inline uint32_t rts_caps(void)
{
    return rts_port_caps() & ~(uint32_t)RTS_NEVER;
}

/* Offset of a parameter; an error in compiling where RTS_PARAM_BYTES are too few for the struct. */
#define RTS_AT(S, f) (offsetof(S, f) * sizeof(char[sizeof(S) <= RTS_PARAM_BYTES ? 1 : -1]))

/* Entries of a table: S is the struct of parameters, f the member and the parameter's name. */
#define RTS_INT(S, f, u, d, lo, hi, h)                                                             \
    {#f, RTS_T_INT, RTS_AT(S, f), u, RTS_LIMIT(d), RTS_LIMIT(lo), RTS_LIMIT(hi), RTS_SAY(h)}
#define RTS_DURATION(S, f, d, lo, hi, h)                                                           \
    {#f, RTS_T_DURATION, RTS_AT(S, f), "ns", RTS_LIMIT(d), RTS_LIMIT(lo), RTS_LIMIT(hi), RTS_SAY(h)}
#define RTS_SIZE(S, f, d, lo, hi, h)                                                               \
    {#f, RTS_T_SIZE, RTS_AT(S, f), "B", RTS_LIMIT(d), RTS_LIMIT(lo), RTS_LIMIT(hi), RTS_SAY(h)}
#define RTS_BOOL(S, f, d, h) {#f, RTS_T_BOOL, RTS_AT(S, f), NULL, d, 0, 1, RTS_SAY(h)}
#define RTS_CHOICE(S, f, c, d, h) {#f, RTS_T_CHOICE, RTS_AT(S, f), c, d, 0, 0, RTS_SAY(h)}
#define RTS_TEXT(S, f, h)                                                                          \
    {#f, RTS_T_TEXT, RTS_AT(S, f), NULL, 0, 0, sizeof(((S *)0)->f) - 1, RTS_SAY(h)}
#define RTS_PARAMS_END {.type = RTS_T_END}

enum {
    RTS_BATCHES = 1 << 0, /* can time several operations between two stamps: has parameter batch */
    RTS_RESTS = 1 << 1,   /* the measuring task is alone, so it may pause between samples */
    RTS_OWN_SERIES = 1 << 2, /* the bench opens its series itself, with rts_series() */
    RTS_ONE_CPU = 1 << 3,    /* who runs next follows from priorities on one CPU alone */
    RTS_OMITTED = 1 << 4,    /* series of it hold what missed activations would have had */
    RTS_NO_SAMPLES = 1
        << 5, /* its results are figures and tables; of any other, none is no result */
};

typedef struct rts_bench {
    const char *id; /* group.name[.variant] of benchmarks.md */
    rts_text title;
    rts_text source;    /* publication, section */
    rts_text help;      /* what is timed, between which stamps */
    const char *metric; /* group of POSIX.1 metrics it measures (benchmarks 4), or NULL */
    const rts_param *params;
    uint32_t needs;         /* RTS_CAP_... */
    uint16_t traits;        /* RTS_BATCHES ... */
    uint16_t warmup;        /* defaults, of this... */
    int32_t samples;        /* ...and these; 0: not limited by them */
    rts_limit time_ns;      /* RTS_LIMIT(); likewise */
    const char *slope_over; /* parameter over which the mean is expected to grow, or NULL */
    unsigned (*series)(const rts_case *c); /* how many series; NULL: one */
    int (*run)(rts_case *c);
} rts_bench;

typedef struct rts_family {
    const rts_bench *bench;
    unsigned n;
} rts_family;

/* Announces a table; whatever is linked is there, nothing has to be listed twice. */
#define RTS_BENCHES(table)                                                                         \
    static const rts_family rts_family_here                                                        \
        __attribute__((used, section("rts_families"), aligned(sizeof(void *)))) = {                \
            table, sizeof table / sizeof table[0]}

/* Where the tasks of a case run (benchmarks 5). */
typedef enum rts_config {
    RTS_BOUND, /* on one CPU, everything of rtstone's own elsewhere */
    RTS_1CPU,  /* on one CPU, with everything else of rtstone's */
    RTS_2CPU,  /* where the system puts them */
    RTS_1RT,   /* as RTS_BOUND, and only so: not without a second CPU */
} rts_config;

/* What the caches hold when a sample begins. */
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
#define RTS_REASON 256
#define RTS_TOLD 128

typedef enum rts_status { RTS_S_OK, RTS_S_UNSUPPORTED, RTS_S_FAILED } rts_status;

typedef struct rts_figure {
    const char *name, *unit;
    double value;
} rts_figure;

/* Facts that are no numbers: columns separated by tabs, rows by line ends. */
typedef struct rts_text_table {
    const char *title, *columns, *rows;
} rts_text_table;

/* One distribution of a case. */
typedef struct rts_series_out {
    char name[16];
    uint64_t hz, overhead;
    rts_rec *rec;
    uint64_t *raw;     /* room for every sample, or NULL */
    rts_hist *omitted; /* lateness of missed activations, or NULL */
    bool periodic;     /* rec->missed means something */
} rts_series_out;

/* What happened around the timed section; -1: not known (docs/wire.md). */
typedef struct rts_evidence {
    int64_t section_ns, cpu_ns, minflt, majflt, nvcsw, nivcsw, migrations, steal_ns, smi;
    int64_t others;                  /* other agents at work on this machine meanwhile */
    int64_t stack_bytes, heap_bytes; /* the most that a task's stack, and the heap, held */
    int64_t prio;                    /* of the measuring task */
    const char *sched;               /* its policy: "fifo", "rr", "deadline", "other" */
    bool locked, shared;
} rts_evidence;

/* Round R of case C, of a case that is run in rounds, has the id C * RTS_ROUNDS + R. */
#define RTS_ROUNDS UINT64_C(1000000)

struct rts_case {
    const rts_bench *bench;
    uint64_t id;
    rts_common common;
    _Alignas(8) unsigned char params[RTS_PARAM_BYTES];

    rts_rec *rec;             /* recorder of the only series, when there is only one */
    unsigned batch;           /* operations per sample */
    int cpu;                  /* the measured CPU, or the first of several; -1: any of them */
    uint64_t busy_ns;         /* longest a lonely measuring task may keep a CPU... */
    uint64_t rest_ns;         /* ...before it rests so long */
    unsigned slot;            /* next number for a named object */
    volatile bool stop;       /* helper tasks end */
    volatile bool stop_asked; /* the host wants the case to end early */
    uint64_t patience_ns;     /* a case without progress for so long is hung */

    rts_status status;
    char reason[RTS_REASON];
    rts_evidence evidence;
    unsigned figures;
    rts_figure figure[RTS_FIGURES];
    unsigned tables;
    rts_text_table table[RTS_TABLES];
    char *table_rows; /* of the last one */
    unsigned n_series;
    rts_series_out *series;

    /* tasks and semaphores of the case, ended and destroyed by the runner */
    unsigned n_tasks, n_sems, peak_tasks;
    rts_task **task;
    rts_sem **sem;
    rts_sem *idle_gate, *idle_done;

    unsigned char *arena; /* shared memory of the case */
    size_t arena_size, arena_used;
    unsigned progress_ms;
    char told[RTS_TOLD]; /* how far a case without samples says it is, see rts_tell() */
    volatile unsigned told_done, tellings;
};

/* The parameters of the case, as the family's struct. */
static inline const void *rts_params(const rts_case *c)
{
    return c->params;
}

/* Memory for the state of a bench: zeroed, shared by all its tasks, gone after the case. */
void *rts_alloc(rts_case *c, size_t size);

/* Ends the case as unsupported or failed with a reason (printf); returns -1, for `return`. */
int rts_unsupported(rts_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rts_failed(rts_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for an error of the port: limits of the system are `unsupported`, the rest `failed`. */
int rts_port_failed(rts_case *c, const char *what, int error);

/* Reports a number that is not a distribution: any, or a count. */
void rts_figure_add(rts_case *c, const char *name, double value, const char *unit);
void rts_count_add(rts_case *c, const char *name, int64_t value, const char *unit);

/* Begins a table of texts, with its columns separated by tabs; rows have as many texts. */
void rts_table(rts_case *c, const char *title, const char *columns);
void rts_row(rts_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Says how far a case without samples is while it runs: in parts per thousand, and in words.
 * Without samples and words for c->patience_ns a case is taken to be hung.
 */
void rts_tell(rts_case *c, unsigned done, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Starts run(arg) as a task `below` levels below the case's priority, on its CPU.  It has to return
 * once c->stop is set and what it waits for is given to it.
 */
int rts_task_start(rts_case *c, void (*run)(void *), void *arg, int below, rts_policy policy,
                   bool process);

/* The same for a task on another CPU, at the case's priority. */
int rts_task_start_on(rts_case *c, void (*run)(void *), void *arg, int cpu);

/* Puts the calling task `below` levels below the case's priority. */
int rts_own_level(rts_case *c, int below, rts_policy policy);

/* A semaphore that the runner destroys after the case; NULL: the case has failed. */
rts_sem *rts_sem_make(rts_case *c, rts_sem_kind kind, unsigned value);

/*
 * Waits until every task of the case that has a higher priority than level RTS_LEVELS is blocked:
 * a task at that lowest level tells.  Exact under fixed priorities on one CPU.
 */
int rts_settle(rts_case *c);
#define RTS_LEVELS                                                                                 \
    10 /* the lowest level below the case's priority that a bench may use is this - 1 */

/* Opens a series of its own: `hz` and `overhead` of its clock; more than one CPU or clock. */
rts_rec *rts_series(rts_case *c, const char *name, uint64_t hz, uint64_t overhead, bool periodic,
                    rts_hist **omitted);

/* Ends the timed section that rts_rec_start() began. */
void rts_end(rts_case *c, rts_rec *r);

/* A fixed piece of work: n integer additions, of which each sum is formed. */
RTS_SHARED void rts_additions(uint64_t n);
RTS_SHARED void rts_additions(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    rts_worked(RTS_WORK_ADD, n);
}

/* Sets of CPUs. */
bool rts_cpuset_has(const rts_cpuset *set, unsigned cpu);
void rts_cpuset_add(rts_cpuset *set, unsigned cpu);
unsigned rts_cpuset_count(const rts_cpuset *set);
int rts_cpuset_first(const rts_cpuset *set); /* -1: empty */

/* ---- taking samples ---------------------------------------------------------------------- */

/* Repeats its body until the samples are taken, the time is up or the host says stop. */
#define RTS_SAMPLES(c) for (rts_rec_start((c)->rec, rts_now()); (c)->rec->running;)

/* Keeps the compiler from moving or removing accesses to memory. */
#define RTS_BARRIER() __asm__ volatile("" ::: "memory")

/* Records the time from stamp a to stamp b. */
RTS_SHARED void rts_rec_span(rts_rec *r, rts_stamp a, rts_stamp b);
RTS_SHARED void rts_rec_span(rts_rec *r, rts_stamp a, rts_stamp b)
{
    rts_stamp took = b - a;
    rts_rec_add(r, took, rts_stamp_time(b));
}

/* Fills the caches with other things before the first stamp, if the case is to be cold. */
#ifdef RTS_COLD
#define RTS_CHILL(c)                                                                               \
    do {                                                                                           \
        if ((c)->common.cache)                                                                     \
            rts_port_chill();                                                                      \
    } while (0)
#else
#define RTS_CHILL(c) ((void)0)
#endif

/* Keeps the compiler from sharing what follows with another branch, and branching behind it. */
#define RTS_APART() __asm__ volatile("")

/*
 * Times `op` between two stamps: once, or c->batch times where one is too short for the clock.
 * Between the stamps stands what `op` is, and nothing else but the count of a batch.
 */
#define RTS_TIMED(c, op)                                                                           \
    do {                                                                                           \
        unsigned k_ = (c)->batch;                                                                  \
        rts_stamp a_, b_;                                                                          \
        RTS_CHILL(c);                                                                              \
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
        rts_rec_span((c)->rec, a_, b_);                                                            \
    } while (0)

#endif
