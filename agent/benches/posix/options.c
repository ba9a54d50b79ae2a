/* posix.options: what the system announces of POSIX, and what works (Obenland). */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define PROBE_S 10 /* a probe that takes longer has hung */

/* ---- probes ---------------------------------------------------------------------------------- */

/* Result of a probe, in memory shared with its process; text constants are the same in both. */
typedef struct report {
    volatile int error;
    const char *volatile step;
} report;

static void probe_process(const posix_option *o, report *r)
{
    const char *step = "";
    struct sigaction fatal = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGALRM, &fatal, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGXFSZ, SIG_IGN);            /* or an excess would kill the probe before it cleans up */
    rts_task_set_own_prio(0, RTS_OTHER); /* probes need no real-time priority */
    alarm(PROBE_S);
    errno = 0;
    int error = o->probe(&step);
    r->step = step;
    r->error = error;
    _exit(0);
}

/*
 * Runs the probe in a separate process, as it may crash, hang, or change the state of its process.
 */
static void run_probe(const posix_option *o, report *r)
{
    int status = 0;
    r->error = ECHILD;
    r->step = "the probe's process";
    pid_t child = fork();
    if (child == 0)
        probe_process(o, r);
    if (child < 0) {
        r->error = errno;
        return;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        r->error = WTERMSIG(status) == SIGALRM ? ETIMEDOUT : EFAULT;
        r->step = WTERMSIG(status) == SIGALRM ? "no end within 10 s" : "killed by a signal";
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *word(option_verdict v)
{
    static const char *const words[] = {"no", "yes", "partial", "works, not announced"};
    return words[v];
}

static void profiles_of(const posix_option *o, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < posix_profiles_n; i++)
        if (o->profiles & posix_profiles[i].bit & FROM51)
            snprintf(text + strlen(text), size - strlen(text), "%s%s", text[0] ? " " : "",
                     posix_profiles[i].name + 3);
}

/* An undefined macro expands to its own name. */
static const char *macro_text(const posix_option *o)
{
    if (o->sysconf_name < 0)
        return "-";
    return o->macro[0] == '_' ? "unset" : o->macro;
}

static void option_row(rts_case *c, const posix_option *o, const option_state *f, const report *r)
{
    char says[32] = "-", result[160] = "works", profiles[32];
    if (o->sysconf_name >= 0)
        snprintf(says, sizeof says, "%ld", f->sysconf);
    if (r->error)
        snprintf(result, sizeof result, "%s: %s", r->step, strerror(r->error));
    profiles_of(o, profiles, sizeof profiles);
    rts_row(c, "%s\t%s\t%s\t%s\t%s\t%s", o->name, macro_text(o), says, result,
            word(option_judge(o, f)), profiles);
}

static const char *const present_names[] = {"PSE51 options there", "PSE52 options there",
                                            "PSE53 options there", "PSE54 options there"};
static const char *const required_names[] = {"PSE51 options asked for", "PSE52 options asked for",
                                             "PSE53 options asked for", "PSE54 options asked for"};

static void report_profiles(rts_case *c, const option_state *states)
{
    rts_table(c, "Profiles", "profile\tedition of 1003.13\tsatisfied\tmissing");
    for (size_t i = 0; i < posix_profiles_n; i++) {
        const posix_profile *p = &posix_profiles[i];
        char missing[600];
        profile_count n = profile_judge(p->bit, posix_option_table, states, posix_option_table_n,
                                        missing, sizeof missing);
        rts_row(c, "%s\t%s\t%s\t%s", p->name, p->edition, n.present == n.required ? "yes" : "no",
                missing);
        if (i < sizeof present_names / sizeof present_names[0]) {
            rts_figure_add(c, present_names[i], n.present, "options");
            rts_figure_add(c, required_names[i], n.required, "options");
        }
    }
}

static const struct {
    const char *name;
    int sysconf_name;
    long least; /* minimum that POSIX requires */
} limits[] = {
    {"RTSIG_MAX", _SC_RTSIG_MAX, 8},
    {"SIGQUEUE_MAX", _SC_SIGQUEUE_MAX, 32},
    {"SEM_NSEMS_MAX", _SC_SEM_NSEMS_MAX, 256},
    {"SEM_VALUE_MAX", _SC_SEM_VALUE_MAX, 32767},
    {"TIMER_MAX", _SC_TIMER_MAX, 32},
    {"DELAYTIMER_MAX", _SC_DELAYTIMER_MAX, 32},
    {"MQ_OPEN_MAX", _SC_MQ_OPEN_MAX, 8},
    {"MQ_PRIO_MAX", _SC_MQ_PRIO_MAX, 32},
    {"THREAD_THREADS_MAX", _SC_THREAD_THREADS_MAX, 64},
};

static void limit_row(rts_case *c, const char *name, long least, long value)
{
    rts_row(c, "%s\t%ld\t%ld\t%s", name, least, value, value >= least ? "yes" : "no");
}

static void report_limits(rts_case *c)
{
    struct timespec step = {0, 0};
    rts_table(c, "Limits", "limit\tPOSIX asks for\tvalue\tmet");
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        errno = 0;
        long value = sysconf(limits[i].sysconf_name);
        if (value >= 0)
            limit_row(c, limits[i].name, limits[i].least, value);
        else
            rts_row(c, "%s\t%ld\t%s\t%s", limits[i].name, limits[i].least,
                    errno ? "unknown" : "none", errno ? "no" : "yes");
    }
    limit_row(c, "priorities of SCHED_FIFO", 32,
              sched_get_priority_max(SCHED_FIFO) - sched_get_priority_min(SCHED_FIFO) + 1);
    limit_row(c, "priorities of SCHED_RR", 32,
              sched_get_priority_max(SCHED_RR) - sched_get_priority_min(SCHED_RR) + 1);
    clock_getres(CLOCK_REALTIME, &step);
    rts_row(c, "resolution of CLOCK_REALTIME\tat most 20000000 ns\t%lld ns\t%s",
            (long long)step.tv_sec * 1000000000 + step.tv_nsec,
            step.tv_sec || step.tv_nsec > 20000000 ? "no" : "yes");
}

static int run_options(rts_case *c)
{
    size_t n = posix_option_table_n;
    option_state *states = rts_alloc(c, n * sizeof *states);
    report *reports = rts_alloc(c, n * sizeof *reports);
    unsigned count[4] = {0};
    if (!states || !reports)
        return rts_failed(c, "no memory");
    c->job.patience_ns += n * PROBE_S * UINT64_C(1000000000);
    rts_table(c, "Options", "option\tmacro\tsysconf\tprobe\tsupported\tasked for by PSE (2003)");
    for (size_t i = 0; i < n && !c->job.stop_requested; i++) {
        const posix_option *o = &posix_option_table[i];
        run_probe(o, &reports[i]);
        states[i].sysconf = o->sysconf_name < 0 ? -1 : sysconf(o->sysconf_name);
        states[i].error = reports[i].error;
        option_row(c, o, &states[i], &reports[i]);
        count[option_judge(o, &states[i])]++;
    }
    c->rec->ended = RTS_BY_SAMPLES; /* complete: it has no samples */
    report_profiles(c, states);
    report_limits(c);
    rts_figure_add(c, "supported", count[OPTION_YES], "options");
    rts_figure_add(c, "announced, but the probe failed", count[OPTION_PARTIAL], "options");
    rts_figure_add(c, "not announced, but the probe worked", count[OPTION_UNANNOUNCED], "options");
    return 0;
}

static const rts_bench benches[] = {
    {.id = "posix.options",
     .title = RTS_SAY("Options of POSIX and the real-time profiles"),
     .source = RTS_SAY("Obenland, tables 2 and 3; IEEE 1003.13-2003 and -1998"),
     .help = RTS_SAY(
         "For each option the macro at compile time, the value of sysconf, and a probe that "
         "creates, uses and destroys one object. An option is supported if sysconf announces it "
         "and its probe works, and partial if it is only announced. The profiles of 2003 are "
         "judged by these options and the modules for files and processes, not by all their "
         "functions; those of 1998 by threads, processes and files. There are no samples."),
     .needs = RTS_CAP_POSIX | RTS_CAP_PROCESS,
     .samples = 1,
     .traits = RTS_NO_SAMPLES,
     .run = run_options},
};

RTS_BENCHES(benches);
