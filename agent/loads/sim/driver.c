/* The driver of a simulated device: load driver on a modelled system. */
#include "load.h"

typedef struct driver_params {
    int64_t every;
} driver_params;

static const rts_param driver_param[] = {
    RTS_DURATION(driver_params, every, 100003, 1000, 1000000000,
                 "time between the end of a call and the next"),
    RTS_PARAMS_END,
};

/* A period incommensurable with those of other tasks, so that it meets them at every phase. */
static void call(rts_worker *w)
{
    const driver_params *p = rts_load_params(w->load);
    while (rts_load_goes_on(w)) {
        sim_device();
        w->done++;
        rts_sleep_until_ns(rts_ns_add(rts_time_ns(), rts_ns_of((uint64_t)p->every)));
    }
}

static const rts_load loads[] = {
    {.id = "driver",
     .title = RTS_SAY("A device driver that masks interrupts"),
     .source = RTS_SAY("Gutsalov; on a simulated system"),
     .help = RTS_SAY(
         "A time-sharing task continuously calls the driver of a simulated device; interrupts wait "
         "for the end of the call, whose length is given by the model. Counted are calls."),
     .params = driver_param,
     .place = RTS_PLACE_MEASURED,
     .component =
         RTS_PARTS({.name = "device", .title = "driver calls", .unit = "calls", .run = call})},
};

RTS_LOADS(loads);
