/*
 * boot: the start of a guest, and how late a periodic task wakes up from then on. Kernels do a part
 * of their start-up work when the first process runs already; after the lab's settling it is over.
 */
#include "../../ports/linux/linux.h"
#include "../periodic.h"

typedef struct boot_params {
    int64_t period;
} boot_params;

static const rts_param boot_param[] = {
    RTS_DURATION(boot_params, period, 1000000, 10000, INT64_C(1000000000),
                 "time between two releases"),
    RTS_PARAMS_END,
};

/* The wake-ups that show when the system has settled, in ns of rts_time(); 0: there was none. */
typedef struct start {
    rts_tick first_timely, last_late;
    uint64_t late; /* by a period or more */
} start;

static void wake_up(rts_rec *rec, rts_hist *omitted, rts_tick *release, rts_tick period, start *s)
{
    rts_tick due = *release, now = periodic_wake_up(rec, omitted, release, period);
    if (now >= due + period) {
        s->late++;
        s->last_late = now;
    } else if (!s->first_timely) {
        s->first_timely = now;
    }
}

/* Converts instants of rts_time() to ns since reset. */
static void add_figures(rts_case *c, const start *s)
{
    rts_tick time = rts_time();
    double since_reset = rts_clock_ns((double)rts_now()) - (double)time;
    rts_figure_add(c, "reset to init", rts_clock_ns((double)linux_start.entered), "ns");
    if (s->first_timely)
        rts_figure_add(c, "reset to the first timely wake-up",
                       since_reset + (double)s->first_timely, "ns");
    if (s->last_late)
        rts_figure_add(c, "reset to the last wake-up late by a period",
                       since_reset + (double)s->last_late, "ns");
    rts_count_add(c, "late by a period or more", (int64_t)s->late, "wake-ups");
}

static int run_boot(rts_case *c)
{
    const boot_params *p = rts_params(c);
    if (!linux_start.measured)
        return rts_unsupported(c, "it is the start of a Linux guest of the lab (rtstone list "
                                  "targets), and has to be the first case of a run");
    rts_hist *omitted;
    rts_rec *rec = rts_series(c, "", RTS_TIME_HZ, 0, true, &omitted);
    if (!rec)
        return -1;
    start s = {0};
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    rts_tick release = rts_release_at(rts_time() + period);
    for (rts_rec_start(rec, release); rec->running && !c->stop;)
        wake_up(rec, omitted, &release, period, &s);
    rts_end(c, rec);
    add_figures(c, &s);
    return periodic_check(c, rec);
}

static const rts_bench benches[] = {
    {.id = "boot",
     .title = RTS_SAY("Start of a Linux guest"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("A task wakes up periodically from the first moment on that the agent runs; "
                     "the sample is how late it runs. All other benches begin when the guest has "
                     "settled for a second. Only in the lab, as in --target qemu:linux-6.1, as the "
                     "first case of a run, and without a load."),
     .params = boot_param,
     .needs = RTS_CAP_POSIX,
     .traits = RTS_OWN_SERIES | RTS_OMITTED,
     .samples = 4000,
     .warmup = 0,
     .time_ns = 0,
     .run = run_boot},
};

RTS_BENCHES(benches);
