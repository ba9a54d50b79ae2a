/*
 * int.latency.user, int.latency.timerlat: interrupt latency as seen by a user program, and by the
 * kernel's own tracer.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../periodic.h"
#include "linux.h"

#define SECOND_NS INT64_C(1000000000)
#define LEAD_NS 10000000

/* ---- int.latency.user: a timer whose expirations are known ----------------------------------- */

typedef struct user_params {
    int64_t period;
} user_params;

static const rts_param user_param[] = {
    RTS_DURATION(user_params, period, 122070, 20000, 3600 * SECOND_NS,
                 "time between two expirations"),
    RTS_PARAMS_END,
};

/* If several expirations are read at once, the first is a late sample; the others are missed. */
static void take_expirations(rts_rec *rec, rts_hist *omitted, int fd, rts_tick due, rts_tick period)
{
    for (rts_rec_start(rec, due); rec->running;) {
        uint64_t count = 0;
        if (due > rec->deadline) {
            rts_series_expire(rec, rts_time());
            break;
        }
        if (read(fd, &count, sizeof count) != sizeof count)
            continue;
        rts_tick now = rts_time();
        if (now < due) { /* clocks of several CPUs that differ */
            periodic_early(rec, now);
            due += count * period;
            continue;
        }
        for (uint64_t i = 1; i < count && !rec->warm; i++)
            rts_hist_add(omitted, now - due - i * period);
        rts_rec_omit(rec, rec->warm ? 0 : count - 1);
        rts_rec_add(rec, now - due, now);
        due += count * period;
    }
}

static int run_user(rts_case *c)
{
    const user_params *p = rts_params(c);
    rts_hist *omitted;
    rts_rec *rec = rts_series(c, "", RTS_TIME_HZ, 0, true, &omitted);
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (!rec || fd < 0)
        return rec ? rts_port_failed(c, "cannot create a timer", -errno) : -1;
    if ((uint64_t)p->period * 3 > c->job.patience_ns)
        c->job.patience_ns = (uint64_t)p->period * 3;
    rts_tick first = rts_time() + LEAD_NS;
    struct itimerspec when = {.it_interval = posix_timespec((rts_tick)p->period),
                              .it_value = posix_timespec(first)};
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL)) {
        close(fd);
        return rts_port_failed(c, "cannot set the timer", -errno);
    }
    take_expirations(rec, omitted, fd, first, (rts_tick)p->period);
    rts_end(c, rec);
    close(fd);
    return periodic_check(c, rec);
}

/* ---- int.latency.timerlat: the kernel's tracer ----------------------------------------------- */

typedef struct timerlat_params {
    int64_t period;
    char tracefs[128];
} timerlat_params;

#define TRACEFS "/sys/kernel/tracing"

static const rts_param timerlat_param[] = {
    RTS_DURATION(timerlat_params, period, 1000000, 100000, SECOND_NS,
                 "time between two expirations of the tracer's timer"),
    RTS_TEXT(timerlat_params, tracefs, "mount point of tracefs; empty: " TRACEFS),
    RTS_PARAMS_END,
};

/* Files that are written, and their previous contents. */
enum { TRACER, CPUS, PERIOD, TRACING, FILES };
static const char *const files[FILES] = {"current_tracer", "osnoise/cpus",
                                         "osnoise/timerlat_period_us", "tracing_on"};

typedef struct tracer {
    const char *root;
    char old[FILES][128];
    int pipe;
    char text[8192];
    size_t used;
} tracer;

static int open_file(const tracer *t, const char *name, int flags)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", t->root, name);
    return open(path, flags | O_CLOEXEC);
}

static bool read_text(const tracer *t, const char *name, char *text, size_t size)
{
    int fd = open_file(t, name, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return n >= 0;
}

static bool write_text(const tracer *t, const char *name, const char *text)
{
    int fd = open_file(t, name, O_WRONLY | O_TRUNC);
    bool whole = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return whole;
}

/* In reverse order: the tracer is changed only while tracing is off and nothing reads the trace. */
static void restore(const tracer *t)
{
    if (t->pipe >= 0)
        close(t->pipe);
    write_text(t, files[TRACER], "nop");
    for (int i = FILES - 1; i >= 0; i--)
        write_text(t, files[i], t->old[i]);
}

static int start(rts_case *c, tracer *t, const timerlat_params *p)
{
    char tracers[512], text[32];
    if (!read_text(t, "available_tracers", tracers, sizeof tracers))
        return rts_unsupported(c, "no tracing at %s: it is not mounted, or not for this user",
                               t->root);
    if (!strstr(tracers, "timerlat"))
        return rts_unsupported(c, "this kernel has no tracer timerlat (CONFIG_TIMERLAT_TRACER)");
    for (int i = 0; i < FILES; i++)
        if (!read_text(t, files[i], t->old[i], sizeof t->old[i]))
            return rts_unsupported(c, "%s/%s cannot be read", t->root, files[i]);
    t->pipe = -1;
    bool set = write_text(t, files[TRACER], "nop");
    snprintf(text, sizeof text, "%d", rts_cpuset_first(&c->common.cpus));
    set = set && write_text(t, files[CPUS], text);
    snprintf(text, sizeof text, "%lld", (long long)(p->period / 1000));
    set = set && write_text(t, files[PERIOD], text) && write_text(t, files[TRACER], "timerlat") &&
          write_text(t, files[TRACING], "1");
    if (set)
        t->pipe = open_file(t, "trace_pipe", O_RDONLY | O_NONBLOCK);
    if (t->pipe >= 0)
        return 0;
    restore(t);
    return rts_unsupported(c,
                           set ? "%s/trace_pipe cannot be read, or somebody reads it"
                               : "the tracer refuses its settings, under %s",
                           t->root);
}

/* "... #7 context irq timer_latency 1234 ns": a sample of one of the two series. */
static void take_line(const char *line, rts_rec *irq, rts_rec *thread)
{
    const char *context = strstr(line, "context "), *value = strstr(line, "timer_latency ");
    long long ns;
    if (!context || !value)
        return;
    context += strlen("context ") + strspn(context + strlen("context "), " ");
    value += strlen("timer_latency ");
    rts_rec *rec = !strncmp(context, "irq ", 4)      ? irq
                   : !strncmp(context, "thread ", 7) ? thread
                                                     : NULL;
    if (rec && rec->running && posix_number(&value, &ns))
        rts_rec_add(rec, (uint64_t)ns, rts_time());
}

/* Processes the lines in the pipe; returns false at its end. */
static bool take_lines(tracer *t, rts_rec *irq, rts_rec *thread)
{
    struct pollfd ready = {.fd = t->pipe, .events = POLLIN};
    poll(&ready, 1, 100);
    ssize_t n = read(t->pipe, t->text + t->used, sizeof t->text - 1 - t->used);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    t->used += (size_t)n;
    t->text[t->used] = '\0';
    char *line = t->text;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        take_line(line, irq, thread);
    }
    t->used -= (size_t)(line - t->text);
    memmove(t->text, line, t->used);
    if (t->used == sizeof t->text - 1)
        t->used = 0; /* no line of the tracer is that long */
    return true;
}

static unsigned two(const rts_case *c)
{
    (void)c;
    return 2;
}

static int run_timerlat(rts_case *c)
{
    const timerlat_params *p = rts_params(c);
    rts_rec *irq = rts_series(c, "irq", RTS_TIME_HZ, 0, false, NULL);
    rts_rec *thread = rts_series(c, "thread", RTS_TIME_HZ, 0, false, NULL);
    tracer *t = rts_alloc(c, sizeof *t);
    if (!irq || !thread || !t)
        return rts_failed(c, "no memory for the trace");
    t->root = p->tracefs[0] ? p->tracefs : TRACEFS;
    if (start(c, t, p))
        return -1;
    bool goes_on = true;
    rts_rec_start(irq, rts_time());
    rts_rec_start(thread, rts_time());
    while (goes_on && (irq->running || thread->running) && !c->job.stop_requested)
        goes_on = take_lines(t, irq, thread);
    rts_end(c, irq);
    rts_rec_finish(thread);
    restore(t);
    return goes_on ? 0 : rts_failed(c, "the trace has ended");
}

static const rts_bench benches[] = {
    {.id = "int.latency.user",
     .title = RTS_SAY("From the expiration of a timer to a user program"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("A timerfd with absolute expirations: from each expiration to the first "
                     "statement after the read() that returns. It includes interrupt, wake-up and "
                     "switch, and is not the latency of a handler. On PREEMPT_RT not the "
                     "interrupt ends the wait for a timerfd, but a softirq after it, which queues "
                     "behind others and has no real-time guarantee: that is what a program gets "
                     "that waits for a timerfd, by poll() or epoll too. `dk.periodic` waits by "
                     "clock_nanosleep(), which the interrupt itself ends: run it with the same "
                     "period for what the kernel can do."),
     .metric = "clocks and timers",
     .params = user_param,
     .needs = RTS_CAP_POSIX,
     .traits = RTS_OWN_SERIES | RTS_OMITTED,
     .samples = 100000,
     .warmup = 2,
     .run = run_user},
    {.id = "int.latency.timerlat",
     .title = RTS_SAY("Interrupt and thread latency, by the kernel's tracer"),
     .source = RTS_SAY("as rtla timerlat of Linux does"),
     .help = RTS_SAY("The kernel's timerlat tracer: from the programmed expiration of a kernel "
                     "timer to its handler (series irq) and to the thread it wakes (series "
                     "thread). The source is not independent of the system's timers. Settings are "
                     "restored at the end; after a kill, write nop to current_tracer."),
     .params = timerlat_param,
     .needs = RTS_CAP_FILES,
     .traits = RTS_OWN_SERIES,
     .samples = 10000,
     .warmup = 2,
     .time_ns = RTS_LIMIT(60 * SECOND_NS),
     .series = two,
     .run = run_timerlat},
};

RTS_BENCHES(benches);
