/* The last case of the host, from command to result. */
#include "last_case.h"

#include <string.h>

#include "command.h"
#include "execution.h"
#include "load.h"
#include "records.h"
#include "tracing.h"

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

void rts_last_case_free(void)
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
    bool valid = the_last.ran && (c->status == RTS_S_OK || c->job.stop_requested);
    if (the_last.ran && c->trace)
        rts_port_trace_send(c->job.id);
    for (unsigned i = 0; valid && i < c->n_series; i++)
        rts_send_result(c, i);
    rts_send_end(c, the_last.ran);
}

/* Returns memory for a case, zeroed. */
static rts_case *new_case(unsigned progress_ms)
{
    rts_last_case_free();
    rts_case *c = rts_execution_new(progress_ms);
    if (!c) {
        c = &last_resort;
        memset(c, 0, sizeof *c);
        rts_execution_init(c, progress_ms);
    }
    the_last.c = c;
    return c;
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

static bool clock_sent; /* to this host */

/* Limits of further cases, in ns; 0: none. */
static struct {
    uint64_t miss, stop;
} limits;

bool rts_last_case_limit(char *words)
{
    int64_t miss, stop;
    const char *first = rts_word(&words), *second = rts_word(&words);
    if (!RTS_MISSES || !first || !second || !rts_number(&first, &miss) ||
        !rts_number(&second, &stop) || miss < 0 || (stop && stop < miss) || (stop && !miss))
        return false;
    limits.miss = (uint64_t)miss;
    limits.stop = (uint64_t)stop;
    return true;
}

void rts_last_case_new_host(void)
{
    clock_sent = false;
    limits.miss = limits.stop = 0;
    rts_tracing_forget();
}

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
    if (!clock_sent)
        rts_send_clock();
    clock_sent = true;
    c->limit_ns = limits.miss;
    c->stop_ns = limits.stop;
    c->status = RTS_S_OK;
    return true;
}

void rts_last_case_run(char *words, unsigned progress_ms)
{
    rts_case *c = new_case(progress_ms);
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
}

bool rts_last_case_send_again(uint64_t id)
{
    const rts_case *c = the_last.c;
    if (!c || c->job.id != id)
        return false;
    if (the_last.understood)
        rts_send_case(c);
    send_last();
    return true;
}
