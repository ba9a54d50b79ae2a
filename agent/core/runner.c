/* The agent's dialogue with the host, and a case from command to result. */
#include "agent.h"

#include <string.h>

#include "build_info.h" /* from the build system */
#include "case.h"
#include "command.h"
#include "host.h"
#include "load.h"
#include "records.h"
#include "series.h"
#include "tracing.h"

#define RTS_WIRE_VERSION 2

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
    rts_tick start = rts_time();
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
    if (s->rec->setup.busy && rts_time() - start > rts_ns_to_ticks(c->busy_ns / 4, RTS_TIME_HZ))
        rts_series_rest(c);
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
    if (!any && c->n_series && c->series[0].rec->ended == RTS_BY_TIME)
        rts_failed(c, "its time was over before the first sample: give it a longer one");
    else if (!any)
        rts_failed(c, "it ended without a sample");
}

/* Measures the clock where it will be read, unless that is the CPU on which it has been. */
static void measure_clock(rts_case *c)
{
    if (RTS_NEVER & RTS_CAP_SMP)
        return;
    if (c->job.cpu >= 0 && c->job.cpu != rts_port_default_cpu())
        rts_clock_measure();
    c->granule = rts_the_clock.granule;
}

static void measure(rts_case *c)
{
    int err = 0;
    measure_clock(c);
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

static void measuring_task(rts_job *job)
{
    rts_case *c = rts_case_of(job);
    measure(c);
    c->returned = true;
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
    char why[RTS_REASON];
    rts_port_throttling(&c->busy_ns, &c->rest_ns);
    c->job.run = measuring_task;
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
    } else if (!c->job.error && !c->returned) { /* as where an emulator crashes, or exit() runs */
        c->status = RTS_S_FAILED;
        rts_print(c->reason, sizeof c->reason,
                  "the measuring task was ended before its time, with exit status 0");
    }
}

/* Sends what concerns all cases. */
static void send_clock(void)
{
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
    return err;
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

/*
 * The last case, kept for a host that wants its records again, until its memory is needed.
 * `understood`: its command was; `ran`: it began to measure.
 */
static struct {
    rts_case *c;
    bool understood, ran;
} the_last;

/* Memory enough to report that there is no memory for a case. */
static rts_case last_resort;

static void forget_last(void)
{
    rts_case *c = the_last.c;
    the_last.c = NULL;
    if (!c || c == &last_resort)
        return;
    if (c->arena)
        rts_port_unshare(c->arena, c->arena_size);
    rts_port_unshare(c, sizeof *c);
}

/* Sends the results and the end of the last case. */
static void send_last(void)
{
    const rts_case *c = the_last.c;
    bool valid = the_last.ran && (c->status == RTS_S_OK || c->job.stop_asked);
#ifdef RTS_TRACED
    if (the_last.ran && c->trace)
        rts_port_trace_send(c->job.id);
#endif
    for (unsigned i = 0; valid && i < c->n_series; i++)
        rts_send_result(c, i);
    rts_send_end(c, the_last.ran);
}

static void begin_case(rts_case *c, unsigned progress_ms)
{
    c->job.progress_ms = progress_ms;
    c->job.patience_ns = PATIENCE_NS;
    c->batch = 1;
    memset(c->job.evidence.number, -1, sizeof c->job.evidence.number);
}

/* Returns memory for a case, zeroed. */
static rts_case *new_case(void)
{
    forget_last();
    rts_case *c = rts_port_shared(sizeof *c);
    if (!c) {
        c = &last_resort;
        memset(c, 0, sizeof *c);
    }
    begin_case(c, the_progress_ms);
    the_last.c = c;
    return c;
}

static unsigned the_cases; /* of this host */
static bool the_clock_is_told;

/* Returns whether the command of the case was understood and can be carried out. */
static bool prepare(rts_case *c, char *words)
{
    c->status = RTS_S_FAILED; /* until it is understood */
    if (rts_command_parse(c, words))
        return false;
    if (c == &last_resort) {
        rts_print(c->reason, sizeof c->reason, "no memory for a case");
        return false;
    }
    int err = start_measuring();
    if (err) {
        rts_print(c->reason, sizeof c->reason, "clock: %s", rts_port_strerror(err));
        return false;
    }
    if (!the_clock_is_told)
        send_clock();
    the_clock_is_told = true;
    c->status = RTS_S_OK;
    return true;
}

#ifdef RTS_TRACED

#define SHORT_SAMPLES 1000
#define SHORT_NS 500000000

static int64_t at_most(int64_t limit, int64_t most)
{
    return limit && limit < most ? limit : most;
}

/* Runs a case for half a second at most; returns the median in ns of its samples, -1 without any.
 */
static double short_median(rts_case *c)
{
    c->common.raw = 0;
    c->common.samples = at_most(c->common.samples, SHORT_SAMPLES);
    c->common.time_ns = at_most(c->common.time_ns, SHORT_NS);
    choose_cpus(c);
    if (c->bench->traits & RTS_NO_SAMPLES || check_needs(c) || open_arena(c))
        return -1;
    run_measured(c);
    const rts_rec *r = c->n_series ? c->series[0].rec : NULL;
    if (!r || !r->hist.n || c->status != RTS_S_OK)
        return -1;
    return (double)median_net(r) / c->batch * 1e9 / (double)r->setup.hz;
}

/* The same for a command, without a word to the host. */
static double median_of_short(const char *command)
{
    static char words[RTS_COMMAND_BYTES];
    double median = -1;
    rts_case *c = rts_port_shared(sizeof *c);
    if (!c)
        return median;
    begin_case(c, 0);
    rts_print(words, sizeof words, "%s", command);
    if (prepare(c, words))
        median = short_median(c);
    if (c->arena)
        rts_port_unshare(c->arena, c->arena_size);
    rts_port_unshare(c, sizeof *c);
    return median;
}

static void add_median(rts_case *c, const char *name, double median)
{
    if (median >= 0 && c->figures < RTS_FIGURES)
        rts_figure_add(c, name, median, "ns");
}

/*
 * Runs a case that is traced. What tracing costs is told as well: the medians of the bench itself
 * and of `null`, in short runs before it, off and on.
 */
static void run_traced(rts_case *c, const char *command)
{
    double off = median_of_short(command), null_off = median_of_short("0 null");
    if (rts_tracing_begin(c))
        return;
    double on = median_of_short(command), null_on = median_of_short("0 null");
    run_measured(c);
    rts_tracing_end(c);
    add_median(c, "median without tracing", off);
    add_median(c, "median with tracing", on);
    add_median(c, "null without tracing", null_off);
    add_median(c, "null with tracing", null_on);
}

/* Measures, and traces if that is wanted. */
static void run_wanted(rts_case *c, const char *command)
{
    if (rts_tracing_wanted())
        run_traced(c, command);
    else
        run_measured(c);
}

/* Returns a copy of a command that is needed again after it has been parsed, which cuts it up. */
static const char *copy_of(const char *words)
{
    static char copy[RTS_COMMAND_BYTES];
    if (!rts_tracing_wanted())
        return words;
    rts_print(copy, sizeof copy, "%s", words);
    return copy;
}

#else

static void run_wanted(rts_case *c, const char *command)
{
    (void)command;
    run_measured(c);
}

static const char *copy_of(const char *words)
{
    return words;
}

#endif

static bool run_case(char *words)
{
    const char *command = copy_of(words);
    rts_case *c = new_case();
    the_cases++;
    the_last.ran = false;
    the_last.understood = prepare(c, words);
    if (the_last.understood) {
        rts_load_case_starts();
        choose_cpus(c);
        rts_send_case(c);
        the_last.ran = !check_needs(c) && !open_arena(c);
    }
    if (the_last.ran)
        run_wanted(c, command);
    rts_load_case_ends();
    send_last();
    return true;
}

static bool send_hello(void)
{
    rts_wire *w = rts_wire_begin("hello");
    rts_wire_int(w, "wire", RTS_WIRE_VERSION);
    rts_wire_int(w, "n", rts_host_newest());
    rts_wire_uint(w, "line", RTS_COMMAND_BYTES - 1);
    rts_wire_str(w, "agent", RTS_BUILD_VERSION);
    rts_wire_str(w, "source", RTS_BUILD_SOURCE);
    rts_wire_str(w, "common", RTS_BUILD_COMMON);
    rts_wire_str(w, "compiler", RTS_BUILD_COMPILER);
    rts_wire_str(w, "flags", RTS_BUILD_FLAGS);
    rts_port_hello(w);
    rts_caps_put(w, "caps", rts_port_caps());
    rts_wire_end(w);
    return true;
}

/*
 * Sends all records of a case once more; 0: those that concern all cases. Returns false if they are
 * not kept any more.
 */
static bool send_again(const char *number)
{
    int64_t id;
    const rts_case *c = the_last.c;
    if (!rts_number(&number, &id))
        return false;
    if (!id) {
        send_clock();
        return send_hello();
    }
    if (!c || c->job.id != (uint64_t)id)
        return false;
    if (the_last.understood)
        rts_send_case(c);
    send_last();
    return true;
}

static bool set_progress(const char *number)
{
    int64_t ms;
    if (!rts_number(&number, &ms) || ms < 0)
        return false;
    the_progress_ms = ms < 60000 ? (unsigned)ms : 60000;
    return true;
}

static void send_bye(void)
{
    rts_wire *w = rts_wire_begin("bye");
    rts_wire_uint(w, "cases", the_cases);
    rts_wire_end(w);
}

static bool send_tables(void)
{
    rts_registry_each(rts_command_describe);
    rts_load_list();
    return true;
}

void rts_agent_list(void)
{
    send_hello();
    send_tables();
    send_bye();
}

static bool start_load(char *words)
{
    forget_last();
    rts_load_command(words);
    return true;
}

/* Returns what follows a word at the start of the line; NULL if the line begins otherwise. */
static char *after(const char *word, char *line)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) ? NULL : line + n;
}

/* Carries out a command; those that do not wait for a case rts_host_command() has carried out. */
static bool carry_out(char *line)
{
    char *rest;
    if ((rest = after("case ", line)))
        return run_case(rest);
    if ((rest = after("load ", line)))
        return start_load(rest);
    if ((rest = after("progress ", line)))
        return set_progress(rest);
    if ((rest = after("again ", line)))
        return send_again(rest);
#ifdef RTS_TRACED
    if ((rest = after("trace ", line)))
        return rts_tracing_command(rest);
#endif
    if (after("hello", line)) {
        the_cases = 0;
        the_clock_is_told = false;
#ifdef RTS_TRACED
        rts_tracing_forget();
#endif
        return send_hello();
    }
    return after("list", line) && send_tables();
}

bool rts_agent_serve(void)
{
    static bool greeted; /* once: whoever comes later says hello */
    if (!greeted)
        send_hello();
    greeted = true;
    for (char *line;
         !rts_port_stopped() && (line = rts_host_command()) && strcmp(line, "bye") != 0;)
        if (!carry_out(line))
            rts_log("warn", "cannot be carried out: %.80s", line);
    rts_load_stop();
    forget_last();
    send_bye();
    return rts_host_may_return() && !rts_port_stopped();
}
