/* The execution of a case: its CPUs, what it needs of the system, its memory, and its run. */
#include "execution.h"

#include <string.h>

#include "load.h"
#include "measurement.h"
#include "series.h"

#define PATIENCE_NS UINT64_C(20000000000)

void rts_execution_init(rts_case *c, unsigned progress_ms)
{
    c->job.progress_ms = progress_ms;
    c->job.patience_ns = PATIENCE_NS;
    c->batch = 1;
    memset(c->job.evidence.number, -1, sizeof c->job.evidence.number);
}

rts_case *rts_execution_new(unsigned progress_ms)
{
    rts_case *c = rts_port_shared(sizeof *c);
    if (c)
        rts_execution_init(c, progress_ms);
    return c;
}

void rts_execution_free(rts_case *c)
{
    if (c->arena)
        rts_port_unshare(c->arena, c->arena_size);
    rts_port_unshare(c, sizeof *c);
}

void rts_execution_choose_cpus(rts_case *c)
{
    c->job.cpu = rts_cpuset_first(&c->common.cpus);
    if (c->job.cpu < 0)
        c->job.cpu = rts_port_default_cpu();
    if (!c->bench->series || rts_cpuset_first(&c->common.cpus) < 0) {
        c->common.cpus = (rts_cpuset){{0}};
        rts_cpuset_add(&c->common.cpus, (unsigned)c->job.cpu);
    }
    if (c->common.config != RTS_2CPU)
        return;
    c->job.cpu = -1;
    if (!c->bench->series)
        rts_port_cpus(&c->common.cpus);
}

/* Returns -1 with a reason if a parameter names what its user must not choose. */
static int check_guard(rts_case *c)
{
    const rts_param *p = rts_args_guarded(c->bench->params, c->params);
    return p ? rts_unsupported(c, "parameter %s: %s", p->name, rts_port_guard()) : 0;
}

/* Checks what the bench needs. Returns 0, or -1 with the reason if this system lacks something. */
static int check_needs(rts_case *c)
{
    bool second = c->common.config == RTS_2CPU || c->common.config == RTS_1RT;
    uint32_t needs =
        c->bench->needs | (second ? RTS_CAP_SMP : 0) | (c->common.cache ? RTS_CAP_COLD : 0);
    if (rts_caps_lack(needs, c->reason)) {
        c->status = RTS_S_UNSUPPORTED;
        return -1;
    }
    if (c->common.config == RTS_2CPU && c->bench->traits & RTS_ONE_CPU)
        return rts_unsupported(c, "its procedure needs all its tasks on one CPU, so there is no "
                                  "config=2cpu of it");
    if (check_guard(c))
        return -1;
    c->status = rts_load_refused(c->reason);
    if (c->status != RTS_S_OK)
        return -1;
    int top = rts_load_top_prio(&c->common.cpus);
    int lowest = (int)c->common.prio - RTS_LEVELS;
    if (top >= lowest)
        return rts_unsupported(c,
                               "the load has tasks of priority %d on its CPU, and its own go "
                               "down to %d: give it a higher prio, or the load a lower one",
                               top, lowest);
    return 0;
}

static int open_arena(rts_case *c)
{
    bool single = RTS_SINGLE && c->bench->traits & RTS_BATCHES && c->common.batch != 1;
    unsigned n = (c->bench->series ? c->bench->series(c) : 1) + single;
    size_t omitted = c->bench->traits & RTS_OMITTED ? sizeof(rts_hist) : 0;
    size_t per_series = sizeof(rts_rec) + omitted + rts_series_raw_room(c) + 4 * RTS_CACHE_LINE;
    c->arena_size = RTS_STATE_BYTES + n * (per_series + sizeof(rts_series_out));
    c->arena = rts_port_shared(c->arena_size);
    if (!c->arena)
        return rts_unsupported(c, "no memory for %u series of samples", n);
    c->series = rts_alloc(c, n * sizeof *c->series);
    return 0;
}

bool rts_execution_prepare(rts_case *c)
{
    return !check_needs(c) && !open_arena(c);
}

void rts_execution_run(rts_case *c)
{
    char why[RTS_REASON];
    rts_port_throttling(&c->busy_ns, &c->rest_ns);
    c->job.run = rts_measurement_run;
    c->job.cpus = &c->common.cpus;
    c->job.prio = (int)c->common.prio;
    c->job.config = (rts_config)c->common.config;
    int lost = rts_port_isolate(&c->job, why, sizeof why);
    if (c->job.error) {
        rts_print(why, sizeof why, "cannot create the measuring task on CPU %d",
                  rts_cpuset_first(&c->common.cpus));
        rts_port_failed(c, why, c->job.error);
    }
    if (c->job.stop_requested) { /* even if it had to be killed: its samples are valid */
        c->status = RTS_S_FAILED;
        rts_print(c->reason, sizeof c->reason, "stopped");
        for (unsigned i = 0; lost && i < c->n_series; i++)
            rts_rec_finish(c->series[i].rec); /* it slept for longer than there was time */
    } else if (lost) {
        c->status = RTS_S_FAILED;
        rts_print(c->reason, sizeof c->reason, "the measuring task was ended: %s", why);
    } else if (!c->job.error && !c->returned) { /* as where an emulator crashes, or exit() runs */
        c->status = RTS_S_FAILED;
        rts_print(c->reason, sizeof c->reason,
                  "the measuring task was ended before its time, with exit status 0");
    }
}
