/*
 * The interface of loads: their tables, and the functions that workers may call.
 *
 * A load runs beside the cases and counts its work, so that its rate is known. A family of loads is
 * one file: a struct of parameters, a procedure per component, and one table, registered with
 * RTS_LOADS(). Workers are tasks that share memory with the agent; on a system with processes, each
 * is a process of its own.
 */
#ifndef RTS_LOAD_H
#define RTS_LOAD_H

#include "caps.h"
#include "clock.h"
#include "params.h"
#include "text.h"
#include "wire.h"
#include "work.h"

typedef struct rts_load rts_load;

struct rts_component {
    const char *name, *title;
    const char *unit;    /* of what is counted */
    uint32_t per_unit;   /* counts per unit; 0: one */
    uint32_t rate;       /* target rate in units per second; 0: unlimited */
    const char *workers; /* parameter with their number (bool: one or none; text: one for each piece
                            between commas); NULL: one */
    int (*prio)(const rts_worker *w); /* runs in real time, at this priority; NULL: time sharing */
    bool lowest;                      /* time sharing at the lowest level there is */
    bool periodic;                    /* counts missed periods */
    bool program; /* runs programs: counts their CPU time, in ns, and completed runs */
    void (*run)(rts_worker *w); /* returns when rts_load_goes_on() is false, or on failure */
};

/* Where the workers run. */
typedef enum rts_place {
    RTS_PLACE_AUTO,     /* on the CPUs that are not measured; if all are measured, on those */
    RTS_PLACE_OTHERS,   /* on the CPUs that are not measured */
    RTS_PLACE_MEASURED, /* on the measured CPUs */
    RTS_PLACE_ANY,      /* wherever the system schedules them */
} rts_place;

struct rts_load {
    const char *id;
    rts_text title;
    rts_text source; /* publication, section */
    rts_text help;
    const rts_param *params;
    uint32_t needs;      /* RTS_CAP_... */
    rts_place place;     /* default placement */
    uint64_t ramp_up_ns; /* minimum run time before the first case; at least RTS_RAMP_UP_NS */
    size_t (*state)(const void *params); /* size of the memory that its workers share; NULL: none */
    int (*prepare)(rts_running *l);      /* before the workers start; returns -1 with a reason */
    const rts_component *component;      /* RTS_PARTS(), terminated by one without a name */
};

/* The components of a load, for its table; more than RTS_COMPONENTS do not compile. */
#define RTS_N_PARTS(...) (sizeof((rts_component[]){__VA_ARGS__}) / sizeof(rts_component))
#define RTS_PARTS(...)                                                                             \
    (const rts_component[RTS_N_PARTS(__VA_ARGS__) <= RTS_COMPONENTS                                \
                             ? (int)RTS_N_PARTS(__VA_ARGS__) + 1                                   \
                             : -1])                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Shortest time over which a rate is measured; a longer case is measured as a whole. */
#ifndef RTS_RATE_NS
#define RTS_RATE_NS RTS_NS_PER_S
#endif
#define RTS_RAMP_UP_NS (RTS_RATE_NS + RTS_RATE_NS / 10)

typedef struct rts_load_family {
    const rts_load *load;
    unsigned n;
} rts_load_family;

/* Registers a table of loads. */
#define RTS_LOADS(table)                                                                           \
    static const rts_load_family rts_load_family_here                                              \
        __attribute__((used, section("rts_loads"), aligned(sizeof(void *)))) = {                   \
            table, sizeof table / sizeof table[0]}

/* Parameters that every load has. */
typedef struct rts_load_common {
    int64_t place;
    rts_cpuset away; /* the measured CPUs; empty: the default CPU */
} rts_load_common;

/* What each component of the load has done since it started, in counts. */
typedef struct rts_load_sums {
    rts_ns at;
    uint64_t done[RTS_COMPONENTS];
} rts_load_sums;

/* A running load, in memory shared by its workers and the tasks of a case. */
struct rts_running {
    const rts_load *load;
    rts_load_common common;
    _Alignas(8) unsigned char params[RTS_PARAM_BYTES];
    rts_status status;
    char reason[RTS_REASON];

    rts_cpuset cpus;   /* where the workers run */
    rts_ns busy, rest; /* real-time workers: longest time on the CPU, and rest after it */
    volatile rts_ns busy_until, rest_until;
    volatile rts_ns silent_until; /* real-time workers rest until then, as the measuring task */
    volatile bool stop;

    rts_load_sums counted; /* by rts_load_counts() in this case; `at`: the time of its parts */
    unsigned n_workers;
    rts_worker *worker;
    void *state;
    size_t size; /* of this struct and the memory behind it, in bytes */
};

/* Returns the parameters of the load, as the family's struct. */
static inline const void *rts_load_params(const rts_running *l)
{
    return l->params;
}

/*
 * Called by a worker between bounded steps. Returns false when the worker has to end. A real-time
 * worker pauses here, so that RT throttling stops neither it nor the measuring task.
 */
bool rts_load_goes_on(rts_worker *w);

/* Aborts the start of a load with a reason (printf); returns -1, for `return`. */
int rts_load_unsupported(rts_running *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int rts_load_failed(rts_running *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the agent's side ---------------------------------------------------------------------- */

/*
 * Starts the load that `words` (NAME [PARAM=VALUE]...) describes and waits for its ramp-up. Returns
 * NULL if it does not run, with the reason in *refused.
 */
rts_running *rts_load_start(char *words, rts_running *refused);

/* Stops the running load, if any, and removes everything it created. */
void rts_load_stop(void);

/* Record the load's counts; called before a case and after it. */
void rts_load_case_starts(void);
void rts_load_case_ends(void);

/* Writes the member `load` of the case that ended last: what the load did during the case. */
void rts_load_put(rts_wire *w);

/* Reads these sums, from any task of a case; without a load they stay as they are. */
void rts_load_read(rts_load_sums *sums);

/*
 * Adds what the load did between two readings to the parts of the case whose rate is reported
 * apart: not all that a case does need leave the load its time.
 */
void rts_load_counts(const rts_load_sums *from, const rts_load_sums *to);

/* Returns the load's highest priority on these CPUs; 0: it is not real-time there. */
int rts_load_top_prio(const rts_cpuset *cpus);

/* Makes real-time workers pause until then, because the measuring task rests. */
void rts_load_silent_until(rts_ns until);

/* Executes the command `load` and answers it. */
void rts_load_command(char *words);

/* Returns RTS_S_OK, or why the load requested last does not run (RTS_REASON bytes). */
rts_status rts_load_refused(char *reason);

/* Sends the tables of all loads. */
void rts_load_list(void);

#endif
