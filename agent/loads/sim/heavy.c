/* Load heavy on a modelled system: different costs, as given by its publication. */
#include "load.h"
#include "model.h"

static const rts_param no_param[] = {RTS_PARAMS_END};

static int prepare(rts_running *l)
{
    if (sim_model_has_heavy())
        return 0;
    return rts_load_unsupported(l, "the model says nothing of this load");
}

/* No task of the load uses the CPU: its effect on the system is included in the costs. */
static void change_costs(rts_worker *w)
{
    rts_sem never;
    sim_model_heavy(&w->done);
    rts_sem_prepare(&never, RTS_SEM_UNNAMED, 0);
    int err = rts_sem_create(&never, 0);
    while (!err && rts_load_goes_on(w))
        err = rts_sem_take(&never);
    rts_worker_failed(w, "cannot wait: %s", rts_port_strerror(err));
}

static const rts_load loads[] = {
    {.id = "heavy",
     .title = RTS_SAY("Seven components that are not real-time, as in the model"),
     .source = RTS_SAY("Obenland, Table 7; on a simulated system"),
     .help = RTS_SAY("Nothing is run: operations have the costs that the model gives for this "
                     "load, derived from published figures. Counted are operations."),
     .params = no_param,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare,
     .component =
         RTS_PARTS({.name = "modelled",
                    .title = "operations that cost what the model says of them under this load",
                    .unit = "operations",
                    .run = change_costs})},
};

RTS_LOADS(loads);
