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
    uint32_t per_unit;   /* counts in a unit; 0: one */
    uint32_t rate;       /* units wanted per second; 0: as fast as it goes */
    const char *workers; /* parameter that says how many there are (bool: one or none); NULL: one */
    int (*prio)(const rts_worker *w); /* real-time, at this priority; NULL: time sharing */
    bool lowest;                      /* time sharing at the lowest level there is */
    bool periodic;                    /* counts missed periods */
    bool program; /* runs programs: what is counted is their CPU time, in ns; counts runs */
    void (*run)(rts_worker *w); /* returns when rts_load_goes_on() is false, or it has failed */
};

/* Where the workers run. */
typedef enum rts_place {
    RTS_PLACE_AUTO,     /* on the CPUs that are not measured; on the only one if there is no more */
    RTS_PLACE_OTHERS,   /* on the CPUs that are not measured */
    RTS_PLACE_MEASURED, /* on the measured ones */
    RTS_PLACE_ANY,      /* wherever the system puts them */
} rts_place;

struct rts_load {
    const char *id;
    rts_text title;
    rts_text source; /* publication, section */
    rts_text help;
    const rts_param *params;
    uint32_t needs;      /* RTS_CAP_... */
    rts_place place;     /* default */
    uint64_t ramp_up_ns; /* runs so long before the first case; at least RTS_RAMP_UP_NS */
    size_t (*state)(const void *params); /* bytes that its workers share; NULL: none */
    int (*prepare)(rts_running *l);      /* before the workers start; -1 with a reason */
    const rts_component *component;      /* RTS_PARTS(), up to one without a name */
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

#define RTS_RAMP_UP_NS UINT64_C(1100000000) /* a rate is measured over a second */

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
    rts_cpuset away; /* the measured CPUs; empty: the default one */
} rts_load_common;

/* A running load, in memory shared by its workers and the tasks of a case. */
struct rts_running {
    const rts_load *load;
    rts_load_common common;
    _Alignas(8) unsigned char params[RTS_PARAM_BYTES];
    rts_status status;
    char reason[RTS_REASON];

    rts_cpuset cpus;   /* where it runs */
    rts_ns busy, rest; /* real-time workers keep the CPU so long, and rest so long */
    volatile rts_ns busy_until, rest_until;
    volatile rts_ns silent_until; /* the measuring task rests: nor do real-time workers run */
    volatile bool stop;

    unsigned n_workers;
    rts_worker *worker;
    void *state;
    size_t size; /* of all this, in bytes */
};

/* The parameters of the load, as the family's struct. */
static inline const void *rts_load_params(const rts_running *l)
{
    return l->params;
}

/*
 * Called by a worker between two bounded steps; returns false when it has to end. A real-time
 * worker pauses here, so that neither it nor the measuring task is throttled.
 */
bool rts_load_goes_on(rts_worker *w);

/* Aborts the start of a load with a reason (printf); returns -1, for `return`. */
int rts_load_unsupported(rts_running *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int rts_load_failed(rts_running *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the agent's side ---------------------------------------------------------------------- */

/*
 * Starts the load that `words` (NAME [PARAM=VALUE]...) describe and waits for its ramp-up. NULL: it
 * does not run, and *refused says why.
 */
rts_running *rts_load_start(char *words, rts_running *refused);

/* Stops the running load, if any, and removes everything it created. */
void rts_load_stop(void);

/* Records the load's counts; called before a case. */
void rts_load_case_starts(void);

/* Writes the member `load` of a case that has just ended: what the load did meanwhile. */
void rts_load_put(rts_wire *w);

/* Returns the load's highest priority on these CPUs; 0: it is not real-time there. */
int rts_load_top_prio(const rts_cpuset *cpus);

/* The measuring task pauses until then: real-time workers must pause as well. */
void rts_load_silent_until(rts_ns until);

/* Carries out the command `load`, and answers it. */
void rts_load_command(char *words);

/* Returns RTS_S_OK, or why the load requested last does not run (RTS_REASON bytes). */
rts_status rts_load_refused(char *reason);

/* Sends the tables of all loads. */
void rts_load_list(void);

#endif
