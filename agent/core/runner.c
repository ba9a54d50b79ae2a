/* The agent's dialogue with the host, and a case from command to result. */
#include "agent.h"

#include <string.h>

#include "build_info.h" /* from the build system */
#include "case.h"
#include "command.h"
#include "load.h"
#include "records.h"
#include "series.h"

#define RTS_WIRE_VERSION 1

#define PATIENCE_NS UINT64_C(20000000000)

/* ---- the measuring task ------------------------------------------------------------------ */

/* Returns the median of the recorded samples, net of overhead, in ticks. */
static uint64_t median_net(const rts_rec *r)
{
    uint64_t median = rts_hist_percentile(&r->hist, 500);
    return median > r->setup.overhead ? median - r->setup.overhead : 0;
}

/* Frees what a trial allocated, and zeroes it again. */
static void forget_since(rts_case *c, size_t used)
{
    memset(c->arena + used, 0, c->arena_used - used);
    c->arena_used = used;
    c->task = NULL;
    c->sem = NULL;
    c->table_rows = NULL;
}

/*
 * Doubles the number of operations between two time stamps until an interval lasts at least 10
 * granules of the clock (benchmarks 1.1).
 */
static void find_batch(rts_case *c)
{
    rts_series_out *s = &c->series[0];
    size_t used = c->arena_used;
    for (c->batch = 1; c->batch < 4096; c->batch *= 2) {
        rts_series_setup(c, s, true);
        int err = c->bench->run(c);
        rts_rec_finish(s->rec);
        rts_case_clean_up(c);
        c->figures = c->tables = 0;
        forget_since(c, used);
        if (err || c->job.stop_asked || median_net(s->rec) >= 10 * rts_the_clock.granule)
            break;
    }
    rts_series_setup(c, s, false);
}

/* Prepares for a case with cold caches. */
static int prepare_cold(rts_case *c)
{
#ifdef RTS_COLD
    size_t bytes = 0;
    int err = rts_port_cold(&bytes);
    if (err)
        return rts_port_failed(c, "no memory to fill the caches with", err);
    rts_figure_add(c, "read before each sample", (double)bytes, "B");
#endif
    return c->status == RTS_S_OK ? 0 : -1;
}

/* Fails a case that has measured nothing, so that it is not taken for a success. */
static void demand_result(rts_case *c, int err)
{
    bool any = c->job.stop_asked || c->bench->traits & RTS_NO_SAMPLES;
    for (unsigned i = 0; i < c->n_series; i++)
        any = any || c->series[i].rec->hist.n;
    if (err && !c->job.stop_asked)
        rts_failed(c, "it gave up without a reason");
    if (!any)
        rts_failed(c, "it ended without a sample");
}

static void measure(rts_job *job)
{
    rts_case *c = rts_case_of(job);
    int err = 0;
    if (c->common.cache && prepare_cold(c))
        return;
    if (!(c->bench->traits & RTS_OWN_SERIES)) {
        c->rec = rts_series(c, "", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
        if (!c->rec)
            return;
    }
    c->batch = (unsigned)c->common.batch;
    if (!c->batch)
        find_batch(c);
    if (c->status == RTS_S_OK)
        err = c->bench->run(c);
    if (c->rec)
        rts_end(c, c->rec);
    rts_case_clean_up(c);
    for (unsigned i = 0; i < c->n_series; i++)
        rts_rec_finish(c->series[i].rec); /* series of tasks on other CPUs, which have ended now */
    demand_result(c, err);
}

/* ---- a case from start to end ------------------------------------------------------------ */

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
    unsigned n = c->bench->series ? c->bench->series(c) : 1;
    size_t omitted = c->bench->traits & RTS_OMITTED ? sizeof(rts_hist) : 0;
    size_t per_series = sizeof(rts_rec) + omitted + rts_series_raw_room(c) + 4 * RTS_CACHE_LINE;
    c->arena_size = RTS_STATE_BYTES + n * (per_series + sizeof(rts_series_out));
    c->arena = rts_port_shared(c->arena_size);
    if (!c->arena)
        return rts_unsupported(c, "no memory for %u series of samples", n);
    c->series = rts_alloc(c, n * sizeof *c->series);
    return 0;
}

static void run_measured(rts_case *c)
{
    char why[96];
    rts_port_throttling(&c->busy_ns, &c->rest_ns);
    c->job.run = measure;
    c->job.cpus = &c->common.cpus;
    c->job.prio = (int)c->common.prio;
    c->job.config = (rts_config)c->common.config;
    int lost = rts_port_isolate(&c->job, why, sizeof why);
    if (c->job.error) {
        rts_print(why, sizeof why, "cannot create the measuring task on CPU %d",
                  rts_cpuset_first(&c->common.cpus));
        rts_port_failed(c, why, c->job.error);
    }
    if (c->job.stop_asked) { /* even if it had to be killed: its samples are valid */
        c->status = RTS_S_FAILED;
        rts_print(c->reason, sizeof c->reason, "stopped");
        for (unsigned i = 0; lost && i < c->n_series; i++)
            rts_rec_finish(c->series[i].rec); /* it slept for longer than there was time */
    } else if (lost) {
        c->status = RTS_S_FAILED;
        rts_print(c->reason, sizeof c->reason, "the measuring task was ended: %s", why);
    }
    bool whole = c->status == RTS_S_OK || c->job.stop_asked;
    for (unsigned i = 0; whole && i < c->n_series; i++)
        rts_send_result(c, i);
}

/*
 * Initialises measuring, before the first case; returns a port error if there is no suitable clock.
 */
static int start_measuring(void)
{
    static bool started;
    static int err;
    if (started)
        return err;
    started = true;
    err = rts_clock_start();
    if (err)
        return err;
    rts_wire *w = rts_wire_begin("clock");
    rts_wire_str(w, "source", rts_the_clock.source);
    rts_wire_str(w, "unit", rts_the_clock.unit);
    rts_wire_uint(w, "hz", rts_the_clock.hz);
    rts_wire_uint(w, "granule", rts_the_clock.granule);
    rts_wire_uint(w, "overhead", rts_the_clock.overhead);
    rts_wire_end(w);
    w = rts_wire_begin("conditions");
    rts_wire_open(w, "values", '{');
    rts_port_conditions(w);
    rts_wire_close(w, '}');
    rts_wire_end(w);
    return 0;
}

static unsigned the_progress_ms;

/* A bench with one series is measured on one CPU; the others stay free for everything else. */
static void choose_cpus(rts_case *c)
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

static void run_case(char *words)
{
    static rts_case last_resort; /* enough to report that there is no memory for a case */
    rts_case *c = rts_port_shared(sizeof *c);
    if (!c) {
        c = &last_resort;
        if (!rts_command_parse(c, words))
            rts_print(c->reason, sizeof c->reason, "no memory for a case");
        c->status = RTS_S_FAILED;
        rts_send_end(c, false);
        return;
    }
    c->job.progress_ms = the_progress_ms;
    c->job.patience_ns = PATIENCE_NS;
    c->batch = 1;
    c->job.evidence =
        (rts_evidence){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, NULL, false, false};
    int err = 0;
    if (rts_command_parse(c, words) || (err = start_measuring())) {
        if (err)
            rts_print(c->reason, sizeof c->reason, "clock: %s", rts_port_strerror(err));
        c->status = RTS_S_FAILED;
        rts_send_end(c, false);
    } else {
        rts_load_case_starts();
        choose_cpus(c);
        rts_send_case(c);
        bool ran = !check_needs(c) && !open_arena(c);
        if (ran)
            run_measured(c);
        rts_send_end(c, ran);
    }
    if (c->arena)
        rts_port_unshare(c->arena, c->arena_size);
    rts_port_unshare(c, sizeof *c);
}

/* Executes "progress MS"; returns false if it is another command. */
static bool set_progress(const char *line)
{
    int64_t ms;
    const char *number = line + strlen("progress ");
    if (strncmp(line, "progress ", strlen("progress ")) != 0 || !rts_number(&number, &ms) || ms < 0)
        return false;
    the_progress_ms = ms < 60000 ? (unsigned)ms : 60000;
    return true;
}

static void send_hello(void)
{
    rts_wire *w = rts_wire_begin("hello");
    rts_wire_int(w, "wire", RTS_WIRE_VERSION);
    rts_wire_str(w, "agent", RTS_BUILD_VERSION);
    rts_wire_str(w, "source", RTS_BUILD_SOURCE);
    rts_wire_str(w, "common", RTS_BUILD_COMMON);
    rts_wire_str(w, "compiler", RTS_BUILD_COMPILER);
    rts_wire_str(w, "flags", RTS_BUILD_FLAGS);
    rts_port_hello(w);
    rts_caps_put(w, "caps", rts_port_caps());
    rts_wire_end(w);
}

static void send_bye(uint64_t cases)
{
    rts_wire *w = rts_wire_begin("bye");
    rts_wire_uint(w, "cases", cases);
    rts_wire_end(w);
}

static void send_tables(void)
{
    rts_registry_each(rts_command_describe);
    rts_load_list();
}

void rts_agent_list(void)
{
    send_hello();
    send_tables();
    send_bye(0);
}

int rts_agent_serve(void)
{
    static char line[RTS_COMMAND_BYTES];
    uint64_t cases = 0;
    send_hello();
    for (int n; !rts_port_stopped() && (n = rts_port_getline(line, sizeof line)) >= 0;) {
        if (n >= (int)sizeof line) {
            rts_log("warn", "a command of %d characters is too long: %.40s...", n, line);
        } else if (!strncmp(line, "case ", 5)) {
            run_case(line + 5);
            cases++;
        } else if (!strncmp(line, "load ", 5)) {
            rts_load_command(line + 5);
        } else if (set_progress(line)) {
            continue;
        } else if (!strcmp(line, "list")) {
            send_tables();
        } else if (!strcmp(line, "bye")) {
            break;
        } else if (line[0]) {
            rts_log("warn", "no such command: %.80s", line);
        }
    }
    rts_load_stop();
    send_bye(cases);
    return 0;
}
