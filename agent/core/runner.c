/* The agent's dialogue with the host, and a case from command to result. */
#include "agent.h"

#include <string.h>

#include "build_info.h" /* from the build system */
#include "command.h"
#include "execution.h"
#include "host.h"
#include "load.h"
#include "records.h"
#include "tracing.h"

#define RTS_WIRE_VERSION 2

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
    if (c && c != &last_resort)
        rts_execution_free(c);
}

/* Sends the results and the end of the last case. */
static void send_last(void)
{
    const rts_case *c = the_last.c;
    bool valid = the_last.ran && (c->status == RTS_S_OK || c->job.stop_asked);
    if (the_last.ran && c->trace)
        rts_port_trace_send(c->job.id);
    for (unsigned i = 0; valid && i < c->n_series; i++)
        rts_send_result(c, i);
    rts_send_end(c, the_last.ran);
}

/* Returns memory for a case, zeroed. */
static rts_case *new_case(void)
{
    forget_last();
    rts_case *c = rts_execution_new(the_progress_ms);
    if (!c) {
        c = &last_resort;
        memset(c, 0, sizeof *c);
        rts_execution_init(c, the_progress_ms);
    }
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

static bool run_case(char *words)
{
    rts_case *c = new_case();
    the_cases++;
    the_last.ran = false;
    the_last.understood = prepare(c, words);
    if (the_last.understood) {
        rts_load_case_starts();
        rts_execution_choose_cpus(c);
        rts_send_case(c);
        the_last.ran = rts_execution_prepare(c);
    }
    if (the_last.ran)
        rts_tracing_run(c);
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
    if ((rest = after("trace ", line)))
        return rts_tracing_command(rest);
    if (after("hello", line)) {
        the_cases = 0;
        the_clock_is_told = false;
        rts_tracing_forget();
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
