/* Loads of tasks that only occupy the scheduler and the CPU; every system supports them. */
#include "load.h"

#define SPINS 1000 /* iterations of the empty loop between two checks whether to continue */

/* One unit of counted work: SPINS iterations of an empty loop. */
static void spin(rts_worker *w)
{
    while (rts_load_goes_on(w)) {
        for (unsigned i = 0; i < SPINS; i++)
            RTS_BARRIER();
        rts_worked(RTS_WORK_ADD, SPINS);
        w->done++;
    }
}

static int lowest_level(const rts_worker *w)
{
    (void)w;
    return RTS_PRIO_MIN;
}

/* This number of tasks, or as many as are allowed. */
#define WORKERS(n) ((n) < RTS_WORKERS_MAX ? (n) : RTS_WORKERS_MAX - 1)

/* ---- rt200: a ring ----------------------------------------------------------------------- */

typedef struct ring_params {
    int64_t tasks, tokens, prio;
} ring_params;

#define RING_TOP (RTS_PRIO_MAX - RTS_LEVELS - 1)

static const rts_param ring_param[] = {
    RTS_INT(ring_params, tasks, NULL, WORKERS(200), 2, RTS_WORKERS_MAX - 1, "tasks in the ring"),
    RTS_INT(ring_params, tokens, NULL, 4, 1, RTS_WORKERS_MAX - 1, "tokens that circulate"),
    RTS_INT(ring_params, prio, NULL, RING_TOP, RTS_PRIO_MIN, RTS_PRIO_MAX - 1,
            "highest priority of its tasks, which are spread from the lowest one up to it"),
    RTS_PARAMS_END,
};

static size_t ring_state(const void *params)
{
    const ring_params *p = params;
    return (size_t)p->tasks * sizeof(rts_sem);
}

static int ring_level(const rts_worker *w)
{
    const ring_params *p = rts_load_params(w->load);
    return RTS_PRIO_MIN + (int)(w->index % (unsigned)(p->prio - RTS_PRIO_MIN + 1));
}

/* Distributes the tokens evenly. */
static int prepare_ring(rts_running *l)
{
    const ring_params *p = rts_load_params(l);
    rts_sem *sem = l->state;
    uint32_t caps = rts_caps();
    if ((caps & RTS_CAP_PROCESS) && !(caps & RTS_CAP_SEM_PSHARED))
        return rts_load_unsupported(l, "%s", rts_port_why_not(RTS_CAP_SEM_PSHARED));
    if (p->tokens >= p->tasks)
        return rts_load_failed(l, "parameter tokens: a ring of %d tasks turns with fewer tokens",
                               (int)p->tasks);
    for (int64_t i = 0; i < p->tasks; i++) {
        unsigned tokens = (unsigned)((i + 1) * p->tokens / p->tasks - i * p->tokens / p->tasks);
        rts_sem_prepare(&sem[i], caps & RTS_CAP_PROCESS ? RTS_SEM_PSHARED : RTS_SEM_UNNAMED,
                        (unsigned)i);
        int err = rts_sem_create(&sem[i], tokens);
        if (err)
            return rts_load_failed(l, "cannot create a semaphore: %s", rts_port_strerror(err));
    }
    return 0;
}

/* Waits on its own semaphore and posts that of its successor. */
static void hop(rts_worker *w)
{
    const ring_params *p = rts_load_params(w->load);
    rts_sem *sem = w->load->state;
    rts_sem *next = &sem[(w->index + 1) % (unsigned)p->tasks];
    while (rts_load_goes_on(w)) {
        rts_sem_take(&sem[w->index]);
        if (!rts_load_goes_on(w))
            return;
        w->done++;
        rts_sem_give(next);
    }
}

/* ---- bg50 -------------------------------------------------------------------------------- */

typedef struct background_params {
    int64_t tasks;
} background_params;

static const rts_param background_param[] = {
    RTS_INT(background_params, tasks, NULL, WORKERS(50), 1, RTS_WORKERS_MAX - 1, "number of tasks"),
    RTS_PARAMS_END,
};

/* ---- the table --------------------------------------------------------------------------- */

static const rts_load loads[] = {
    {.id = "min",
     .title = RTS_SAY("One real-time task below the measuring task spins"),
     .source = RTS_SAY("Gutsalov"),
     .help = RTS_SAY("One task of the lowest real-time priority runs an empty loop on the measured "
                     "CPU and so keeps it from everything that is not real-time. It pauses when "
                     "the measuring task does, and as often as the system's RT throttling limit "
                     "requires. Counted are passes of 1000 rounds."),
     .needs = RTS_CAP_PRIORITIES,
     .place = RTS_PLACE_MEASURED,
     .component = RTS_PARTS({.name = "spin",
                             .title = "empty loop",
                             .unit = "passes",
                             .prio = lowest_level,
                             .run = spin})},
    {.id = "rt200",
     .title = RTS_SAY("200 real-time tasks that wake each other"),
     .source = RTS_SAY("Gutsalov; reconstructed as a ring"),
     .help = RTS_SAY("Each task of a ring waits on its own semaphore and posts its successor's; "
                     "tokens circulate continuously except for the pauses that the RT throttling "
                     "limit requires. Priorities are spread over the levels below the measuring "
                     "task. Counted are hops of a token."),
     .params = ring_param,
     .needs = RTS_CAP_PRIORITIES,
     .place = RTS_PLACE_MEASURED,
     .state = ring_state,
     .prepare = prepare_ring,
     .component = RTS_PARTS({.name = "ring",
                             .title = "ring of tasks",
                             .unit = "hops",
                             .workers = "tasks",
                             .prio = ring_level,
                             .run = hop})},
    {.id = "bg50",
     .title = RTS_SAY("50 tasks of the lowest priority"),
     .source = RTS_SAY("Sjöblom"),
     .help = RTS_SAY("50 time-sharing tasks of the lowest priority run dummy loops on the measured "
                     "CPU. Counted are passes of 1000 rounds."),
     .params = background_param,
     .place = RTS_PLACE_MEASURED,
     .component = RTS_PARTS({.name = "loops",
                             .title = "meaningless loops",
                             .unit = "passes",
                             .workers = "tasks",
                             .lowest = true,
                             .run = spin})},
};

RTS_LOADS(loads);
