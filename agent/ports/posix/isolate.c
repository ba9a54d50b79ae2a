/*
 * Runs a case in a process of its own, in a process group of its own: whatever it does to the heap
 * or the memory map, and any crash, ends with it, and it can be killed with everything it started.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "host.h"
#include "posix.h"

#define MEASURING_STACK (256u << 10)
#define STACK_TOUCHED (64u << 10)

/* ---- the child: one case ------------------------------------------------------------------- */

typedef struct measured {
    rts_job *job;
    sigset_t mask; /* signals blocked in the measuring task */
} measured;

static void touch_stack(void)
{
    volatile unsigned char page[STACK_TOUCHED];
    for (size_t i = 0; i < sizeof page; i += 4096)
        page[i] = 0;
}

static void measuring_task(void *arg)
{
    const measured *m = arg;
    pthread_sigmask(SIG_SETMASK, &m->mask, NULL);
    touch_stack();
    posix_evidence_open(m->job);
    rts_job_run(m->job);
}

static void run_child(rts_job *job)
{
    measured m = {.job = job};
    sigset_t all;
    rts_task task = {0};
    rts_task_attr attr = {.run = measuring_task,
                          .arg = &m,
                          .prio = job->prio,
                          .policy = RTS_FIFO,
                          .cpu = job->cpu,
                          .stack = MEASURING_STACK};
    /* Only the parent is asked to stop; a handler here would interrupt the measurement. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    posix_enter_case();
    posix_exact_timers();
    job->evidence.sched = posix_may_realtime() ? "fifo" : "other";
    job->evidence.prio = posix_may_realtime() ? job->prio : -1;
    job->evidence.locked = posix_lock_memory();
    /* Process-directed signals, such as those of timers, are for the measuring task; this thread
     * waits. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &m.mask);
    job->error = rts_task_create(&task, &attr);
    if (!job->error)
        rts_task_join(&task);
}

/* ---- the watchdog: priority above every measuring task ------------------------------------- */

/*
 * It has to be above what it watches, so a look of its own delays the case's tasks. The parent
 * therefore looks for it, at ordinary priority, and puts off the timer that wakes it: it runs only
 * if the case has kept the parent from the CPU for as long as the patience lasts, or is hung.
 */
typedef struct watch {
    const rts_job *job;
    pid_t child;
    sem_t ready;
    pthread_t thread;
    timer_t timer;
    _Atomic uint64_t beat;  /* the heartbeat at which progress was last seen... */
    _Atomic rts_tick since; /* ...and when */
    atomic_int stopped;     /* the case was, by a signal, at the last look */
    atomic_int stops;       /* how often it was stopped and continued, as far as seen */
    atomic_bool over;
    const char *lack; /* why it cannot watch; NULL: it does */
    int error;        /* that its timer met */
    bool hung;
} watch;

/*
 * A case of the highest priority there is needs a watchdog that is scheduled by deadline if it may
 * have to share a CPU with it; elsewhere that priority is enough.
 */
static int rise_above(const rts_job *job)
{
    bool apart = !job->evidence.shared && job->cpu >= 0;
    if (job->prio <= RTS_PRIO_MAX || apart || !posix_may_realtime())
        return 0;
    return rts_task_set_own_deadline(RTS_TIME_HZ / 1000, RTS_TIME_HZ / 10);
}

static void set_timer(watch *w, rts_tick time)
{
    const struct itimerspec when = {.it_value = posix_timespec(time)};
    timer_settime(w->timer, TIMER_ABSTIME, &when, NULL);
}

/*
 * The last part of the patience is a number of looks, each of which has to be on time. While the
 * case is frozen together with the agent, as in a container, neither runs, and the clock goes on.
 */
#define LOOKS 10
#define LATE_NS (RTS_TIME_HZ / 10)

static rts_tick look_ns(const watch *w)
{
    return w->job->patience_ns / 8 / LOOKS;
}

/* Returns when the looks begin if there is no progress until then. */
static rts_tick first_look(const watch *w)
{
    return w->since + w->job->patience_ns - LOOKS * look_ns(w);
}

/* Returns whether the case is stopped by a signal. */
static bool is_stopped(const watch *w)
{
    siginfo_t info = {0};
    return !waitid(P_PID, (id_t)w->child, &info, WSTOPPED | WNOHANG | WNOWAIT) && info.si_pid;
}

/*
 * Returns whether there was progress since the last look, or could be none because the case was
 * stopped, and puts off the timer if so. The timer comes first: where the watchdog preempts the
 * parent, it has to see this progress itself.
 */
static bool look(watch *w)
{
    uint64_t beat = rts_job_heartbeat(w->job);
    bool stopped = is_stopped(w), was_stopped = atomic_exchange(&w->stopped, stopped);
    w->stops += stopped && !was_stopped;
    if (beat == w->beat && !stopped && !was_stopped)
        return false;
    rts_tick now = rts_time();
    set_timer(w, now + w->job->patience_ns - LOOKS * look_ns(w));
    w->since = now;
    w->beat = beat;
    return true;
}

static int start_timer(watch *w)
{
    struct sigevent event = {.sigev_signo = POSIX_WATCHDOG_SIGNAL};
    posix_to_this_thread(&event);
    if (timer_create(CLOCK_MONOTONIC, &event, &w->timer))
        return -errno;
    w->since = rts_time();
    set_timer(w, first_look(w));
    return 0;
}

/* Explains an error of timer_create(), which takes no rights. */
static const char *why_no_timer(int error)
{
    switch (error) {
    case 0:
        return "";
    case EAGAIN: /* a timer reserves the signal that it sends */
        return "the limit of pending signals is reached (ulimit -i)";
    case EPERM:
    case ENOSYS:
        return "a sandbox refuses timer_create()";
    default:
        return strerror(error);
    }
}

static void watch_case(watch *w, const sigset_t *wake)
{
    int signal;
    unsigned looks = 0;
    rts_tick due = 0;
    while (!sigwait(wake, &signal) && !w->over) {
        rts_tick now = rts_time(), begin = first_look(w); /* a bench may change its patience */
        if (look(w)) {
            looks = 0;
        } else if (now < begin) {
            looks = 0;
            set_timer(w, begin);
        } else {
            bool late = now > due + look_ns(w) + LATE_NS;
            looks = looks && !late ? looks + 1 : 1;
            if (looks > LOOKS) {
                w->hung = true;
                kill(-w->child, SIGKILL);
                return;
            }
            due = now + look_ns(w);
            set_timer(w, due);
        }
    }
}

static void *watchdog(void *arg)
{
    watch *w = arg;
    sigset_t wake;
    sigemptyset(&wake);
    sigaddset(&wake, POSIX_WATCHDOG_SIGNAL);
    if (rise_above(w->job))
        w->lack = "no watchdog can be above it, with the CPU and priority that it is given; "
                  "use prio=98";
    else if ((w->error = -start_timer(w)))
        w->lack = "no timer wakes its watchdog: ";
    bool ready = !w->lack;
    sem_post(&w->ready);
    if (ready) {
        watch_case(w, &wake);
        timer_delete(w->timer);
    }
    return NULL;
}

static bool start_watchdog(watch *w)
{
    pthread_attr_t attr;
    sigset_t wake;
    struct sched_param param = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    pthread_attr_init(&attr);
    if (posix_may_realtime()) {
        pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
        pthread_attr_setschedparam(&attr, &param);
    }
    sem_init(&w->ready, 0, 0);
    sigemptyset(&wake);
    sigaddset(&wake, POSIX_WATCHDOG_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &wake, NULL); /* the thread inherits this */
    int err = pthread_create(&w->thread, &attr, watchdog, w);
    pthread_attr_destroy(&attr);
    if (err) {
        w->lack = err == EAGAIN ? "no thread for its watchdog: a limit is reached (ulimit -u, or "
                                  "pids.max of the control group)"
                                : "no watchdog can be above it";
        return false;
    }
    while (sem_wait(&w->ready))
        ;
    if (w->lack)
        pthread_join(w->thread, NULL);
    return !w->lack;
}

static void end_watchdog(watch *w)
{
    w->over = true;
    pthread_kill(w->thread, POSIX_WATCHDOG_SIGNAL);
    pthread_join(w->thread, NULL);
}

/* ---- the parent: waits, watches, and can be asked to stop ---------------------------------- */

#define STOP_GRACE_NS UINT64_C(2500000000)

static bool sends_progress(const rts_job *job)
{
    return job->progress_ms && !job->evidence.shared;
}

/*
 * Returns how long to wait for a signal or a command: on the CPU that is measured each end of a
 * wait disturbs, so it is no shorter than the watchdog needs.
 */
static int wait_ms(const rts_job *job)
{
    if (job->stop_requested)
        return 100;
    return sends_progress(job) ? (int)job->progress_ms : (int)(job->patience_ns / 2000000);
}

/*
 * Waits for the child to end, but leaves its process and group, so that their number is no other's.
 * Passes on a request to stop, and kills the child if it does not comply. Returns -1 if the child
 * was lost.
 */
static int await(rts_job *job, watch *w)
{
    pid_t child = w->child;
    rts_tick kill_at = UINT64_MAX, reported_at = rts_time();
    for (;;) {
        siginfo_t ended = {0};
        int err = waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
        if (!err && ended.si_pid == child)
            return 0;
        if (err && errno != EINTR)
            return -1;
        bool ending = rts_host_stops() || rts_port_stopped();
        if (ending && !job->stop_requested) {
            job->stop_requested = true;
            kill_at = rts_time() + STOP_GRACE_NS;
        }
        look(w);
        unsigned look_ms = posix_watch_case(job);
        if (rts_time() > kill_at) {
            kill(-child, SIGKILL);
            kill_at = UINT64_MAX;
        }
        int ms = wait_ms(job);
        if (look_ms && (int)look_ms < ms)
            ms = (int)look_ms;
        bool quiet = !posix_await_child(ms, job->stop_requested);
        if (quiet && sends_progress(job) &&
            rts_time() - reported_at >= job->progress_ms * (RTS_TIME_HZ / 1000)) {
            reported_at = rts_time();
            rts_job_progress(job);
        }
    }
}

/* Ends all of the case, then its watchdog; returns the status of its process, -1 if it was lost. */
static int end_case(watch *w, bool lost)
{
    int status, cause = errno;
    if (!lost)
        kill(-w->child, SIGKILL); /* tasks that are processes and did not end */
    end_watchdog(w);
    errno = cause;
    if (lost)
        return -1;
    while (waitpid(w->child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Explains why the child did not end normally; returns false if it did. */
static bool explain(int status, const watch *w, char *why, size_t size)
{
    if (w->hung)
        snprintf(why, size, "it made no progress for %u s",
                 (unsigned)(w->job->patience_ns / RTS_TIME_HZ));
    else if (status)
        posix_how_ended(status, why, size);
    return w->hung || status;
}

/*
 * Starts the child, which waits until a byte arrives through *go: otherwise real-time tasks could
 * keep the agent from starting the watchdog. Returns -1 with errno set on failure.
 */
static pid_t start_child(rts_job *job, int *go)
{
    char byte;
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        posix_die_with_parent(SIGKILL);
        setpgid(0, 0);
        close(ends[1]);
        bool may = read(ends[0], &byte, 1) == 1 && getppid() == parent;
        close(ends[0]);
        if (may)
            run_child(job);
        _exit(0);
    }
    close(ends[0]);
    *go = ends[1];
    if (child > 0)
        setpgid(child, child); /* in both processes, whichever runs first */
    else
        close(ends[1]);
    return child;
}

/* Sleeps until a time that has passed; returns the error. */
static int try_sleep(void)
{
    const struct timespec past = {0};
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
}

int rts_port_isolate(rts_job *job, char *why, size_t size)
{
    int go, err = try_sleep();
    if (err) { /* without this, each wake-up would be early */
        snprintf(why, size, "a sandbox refuses to let it sleep, by clock_nanosleep(): %s",
                 strerror(err));
        return -1;
    }
    job->evidence.shared = !posix_leave_cpus(job);
    posix_other_agents_start();
    watch w = {.job = job, .child = start_child(job, &go)};
    if (w.child < 0) {
        snprintf(why, size, "no process for it: %s", rts_port_strerror(errno));
        return -1;
    }
    posix_watch_begin(job);
    bool watched = start_watchdog(&w);
    if (!watched || write(go, "g", 1) != 1)
        kill(-w.child, SIGKILL); /* real-time tasks must not run without a watchdog above them */
    close(go);
    if (!watched) {
        waitpid(w.child, NULL, 0);
        snprintf(why, size, "%s%s", w.lack, why_no_timer(w.error));
        return -1;
    }
    int status = end_case(&w, await(job, &w) < 0);
    posix_watch_end(job);
    job->evidence.stops = w.stops;
    job->evidence.others = posix_other_agents_at_work();
    posix_case_over();
    return explain(status, &w, why, size) ? -1 : 0;
}
