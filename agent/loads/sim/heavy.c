/* Loads on a modelled system: different costs, as given by its publication. */
#include "load.h"
#include "model.h"

#define MEMBER(part) int64_t part;
#define SWITCH(part) RTS_BOOL(heavy_params, part, 1, "with component " #part),
#define ADD_BIT(part) parts |= (unsigned)(p->part != 0) << n++;
#define EACH(part) +1

typedef struct heavy_params {
    SIM_HEAVY_PARTS(MEMBER)
} heavy_params;

static const rts_param no_param[] = {RTS_PARAMS_END};

static const rts_param heavy_param[] = {
    SIM_HEAVY_PARTS(SWITCH) RTS_PARAMS_END,
};

static const unsigned every = (1u << (0 SIM_HEAVY_PARTS(EACH))) - 1;

/* Returns the parts that run as bits in the order of SIM_HEAVY_PARTS. */
static unsigned parts_of(const rts_running *l)
{
    const heavy_params *p = rts_load_params(l);
    unsigned parts = 0, n = 0;
    SIM_HEAVY_PARTS(ADD_BIT)
    return parts;
}

static int prepare(rts_running *l, sim_load_kind kind)
{
    if (sim_model_has_load(kind))
        return 0;
    return rts_load_unsupported(l, "the model says nothing of this load");
}

static int prepare_heavy(rts_running *l)
{
    if (parts_of(l) != every && !sim_model_has_parts())
        return rts_load_unsupported(l, "the model says nothing of the parts of this load");
    return prepare(l, SIM_HEAVY);
}

static int prepare_stress(rts_running *l)
{
    return prepare(l, SIM_STRESS);
}

/* No task of the load uses the CPU: its effect on the system is included in the costs. */
static void change_costs(rts_worker *w, sim_load_kind kind, unsigned parts)
{
    rts_sem never;
    sim_model_load(kind, &w->done, parts);
    rts_sem_prepare(&never, RTS_SEM_UNNAMED, 0);
    int err = rts_sem_create(&never, 0);
    while (!err && rts_load_goes_on(w))
        err = rts_sem_take(&never);
    rts_worker_failed(w, "cannot wait: %s", rts_port_strerror(err));
}

static void run_heavy(rts_worker *w)
{
    change_costs(w, SIM_HEAVY, parts_of(w->load));
}

static void run_stress(rts_worker *w)
{
    change_costs(w, SIM_STRESS, 0);
}

#define HELP                                                                                       \
    RTS_SAY("Nothing is run: operations have the costs that the model gives for this load, "       \
            "derived from published figures, and those that it adds for the parts that run. "      \
            "Counted are operations.")
#define MODELLED(settings, ready, work)                                                            \
    .help = HELP, .params = (settings), .place = RTS_PLACE_MEASURED, .prepare = (ready),           \
    .component =                                                                                   \
        RTS_PARTS({.name = "modelled",                                                             \
                   .title = "operations that cost what the model says of them under this load",    \
                   .unit = "operations",                                                           \
                   .run = (work)})
#define STRESS(name, action)                                                                       \
    {.id = (name),                                                                                 \
     .title = RTS_SAY(action ", as in the model"),                                                 \
     .source = RTS_SAY("Dankwardt, part 3, after Senoner's latencytest; on a simulated system"),   \
     MODELLED(no_param, prepare_stress, run_stress)}

static const rts_load loads[] = {
    {.id = "heavy",
     .title = RTS_SAY("Seven components that are not real-time, as in the model"),
     .source = RTS_SAY("Obenland, Table 7; on a simulated system"),
     MODELLED(heavy_param, prepare_heavy, run_heavy)},
    STRESS("copy", "Copying a file on disk"),
    STRESS("read", "Reading a file on disk"),
    STRESS("write", "Writing a file on disk"),
    STRESS("proc", "Reading the /proc tree"),
    STRESS("x11", "Drawing by x11perf"),
};

RTS_LOADS(loads);
