/*
 * The workers of a load: one process each, in a common process group. They are killed when the
 * agent ends, and have no locked memory.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "posix.h"

#define GRACE_TICKS (4 * RTS_TIME_HZ) /* programs have 3 s to clean up */
#define KILL_TICKS (60 * RTS_TIME_HZ) /* a process that waits for its disk ends only after that */
#define LOOK_TICKS (RTS_TIME_HZ / 100)
#define LOWEST_NICE 19

pid_t posix_load_group;

static rts_worker *workers;
static unsigned n_workers;
static const rts_cpuset *where;

const rts_cpuset *posix_load_cpus(void)
{
    return posix_load_group ? where : NULL;
}

/* The agent's data on each worker; pid 0: it has ended. */
static struct {
    pid_t pid;
    int64_t cpu_ns;
} process[RTS_WORKERS_MAX];

/* ---- a worker ---------------------------------------------------------------------------- */

bool posix_is_refusal(int error)
{
    switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EROFS:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
        return true;
    default:
        return rts_port_is_limit(error);
    }
}

void posix_worker_error(rts_worker *w, int error, const char *format, ...)
{
    char text[RTS_REASON];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (posix_is_refusal(error))
        rts_worker_unsupported(w, "%s: %s", text, strerror(error));
    else
        rts_worker_failed(w, "%s: %s", text, strerror(error));
}

/* A worker's output would be mistaken for the agent's. */
static void close_off(void)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

static void default_signals(void)
{
    sigset_t none;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool take_place(rts_worker *w)
{
    int err = posix_bind(where);
    if (err) {
        posix_worker_error(w, -err, "cannot run on its CPUs");
        return false;
    }
    err = rts_task_set_own_prio(w->prio, w->prio ? RTS_FIFO : RTS_OTHER);
    if (err) {
        posix_worker_error(w, -err, "cannot run at priority %d", w->prio);
        return false;
    }
    if (w->lowest && setpriority(PRIO_PROCESS, 0, LOWEST_NICE)) {
        posix_worker_error(w, errno, "cannot be nice");
        return false;
    }
    return true;
}

static void work(rts_worker *w, pid_t agent)
{
    posix_die_with_parent(SIGKILL);
    if (getppid() != agent)
        _exit(1);
    setpgid(0, posix_load_group);
    default_signals();
    close_off();
    if (take_place(w))
        rts_worker_run(w);
    _exit(w->why[0] ? 1 : 0);
}

/* ---- the agent --------------------------------------------------------------------------- */

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    pid_t agent = getpid();
    workers = worker;
    n_workers = n;
    where = cpus;
    posix_load_group = 0;
    memset(process, 0, sizeof process);
    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return -errno;
        if (pid == 0)
            work(&worker[i], agent);
        setpgid(pid, posix_load_group); /* in both processes, whichever runs first */
        process[i].pid = pid;
        if (!posix_load_group)
            posix_load_group = pid;
    }
    return 0;
}

static bool any_left(void)
{
    for (unsigned i = 0; i < n_workers; i++)
        if (process[i].pid)
            return true;
    return false;
}

bool rts_port_load_alive(unsigned i)
{
    rts_worker *w = &workers[i];
    char why[RTS_REASON];
    int status;
    if (!process[i].pid)
        return false;
    pid_t pid = waitpid(process[i].pid, &status, WNOHANG);
    if (!pid || (pid < 0 && errno == EINTR))
        return true;
    process[i].pid = 0;
    posix_how_ended(pid < 0 ? -1 : status, why, sizeof why);
    rts_worker_failed(w, "%s", why);
    if (!any_left())
        posix_load_group = 0; /* from now on the number may be another group's */
    return false;
}

int64_t rts_port_load_cpu_ns(unsigned i)
{
    clockid_t clock;
    int64_t ns = -1;
    if (process[i].pid && workers[i].program)
        ns = posix_family_cpu_ns(process[i].pid);
    else if (process[i].pid && clock_getcpuclockid(process[i].pid, &clock) == 0)
        ns = (int64_t)posix_clock_ns(clock);
    if (ns > process[i].cpu_ns) /* a worker that has ended keeps its last value */
        process[i].cpu_ns = ns;
    return process[i].cpu_ns;
}

/* Waits for all workers until then; returns whether all have ended. */
static bool await_end(rts_tick end)
{
    for (;;) {
        for (unsigned i = 0; i < n_workers; i++)
            rts_port_load_alive(i);
        if (!any_left())
            return true;
        if (rts_time() >= end)
            return false;
        rts_sleep_until(rts_time() + LOOK_TICKS);
    }
}

void rts_port_load_stop(void)
{
    if (posix_load_group) {
        kill(-posix_load_group, SIGTERM);
        rts_port_load_pause(false);
    }
    if (!await_end(rts_time() + GRACE_TICKS)) {
        posix_kill_family(0, posix_load_group);
        if (!await_end(rts_time() + KILL_TICKS))
            rts_log("warn", "processes of the load do not end though they were killed");
    }
    posix_remove_work_dir();
}
