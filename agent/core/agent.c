/* The agent's dialogue with the host. */
#include "agent.h"

#include <string.h>

#include "build_info.h" /* from the build system */
#include "command.h"
#include "host.h"
#include "last_case.h"
#include "load.h"
#include "records.h"
#include "tracing.h"

#define RTS_WIRE_VERSION 2

static unsigned the_progress_ms;

static unsigned the_cases; /* of this host */

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
    if (!rts_number(&number, &id))
        return false;
    if (id)
        return rts_last_case_send_again((uint64_t)id);
    rts_send_clock();
    return send_hello();
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

static bool run_case(char *words)
{
    the_cases++;
    rts_last_case_run(words, the_progress_ms);
    return true;
}

static bool start_load(char *words)
{
    rts_last_case_free();
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
    if ((rest = after("limit ", line)))
        return rts_last_case_limit(rest);
    if (after("hello", line)) {
        the_cases = 0;
        rts_last_case_new_host();
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
    rts_last_case_free();
    send_bye();
    return rts_host_may_return() && !rts_port_stopped();
}
