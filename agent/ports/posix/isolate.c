/*
 * One case in a process of its own, in a group of its own: what it does to the heap, to the memory
 * map or by crashing is gone with it, and it can be killed with everything it started.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "posix.h"

#define MEASURING_STACK (256u << 10)
#define STACK_TOUCHED (64u << 10)

void *rts_port_shared(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void rts_port_unshare(void *memory, size_t size)
{
    munmap(memory, size);
}

bool posix_lock_memory(void)
{
    return mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}

/* ---- the child: one case ----------------------------------------------------------------- */

typedef struct job {
    rts_case *c;
    void (*run)(rts_case *c);
} job;

static void touch_stack(void)
{
    volatile unsigned char page[STACK_TOUCHED];
    for (size_t i = 0; i < sizeof page; i += 4096)
        page[i] = 0;
}

static void measuring_task(void *arg)
{
    const job *j = arg;
    touch_stack();
    j->run(j->c);
}

/*
 * A /dev/shm that only this case sees, and that is gone with it however it ends: sem_open() works
 * on a file of a random name first, which nobody could tell from another program's.  It takes
 * CAP_SYS_ADMIN; without it, posix_sweep() removes what bears the agent's name.
 */
static void own_shm(void)
{
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        (void)mount("rtstone", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

static void run_child(rts_case *c, void (*run)(rts_case *c))
{
    job j = {c, run};
    rts_task task = {0};
    rts_task_attr attr = {.run = measuring_task,
                          .arg = &j,
                          .prio = (int)c->common.prio,
                          .policy = RTS_FIFO,
                          .cpu = c->cpu,
                          .stack = MEASURING_STACK};
    /* Only the parent is asked to stop; a handler here would interrupt what is measured. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    own_shm();
    prctl(PR_SET_TIMERSLACK, 1);
    mallopt(M_ARENA_MAX, 1); /* the heap a program without threads has */
    c->evidence.sched = posix_may_realtime() ? "fifo" : "other";
    c->evidence.locked = posix_lock_memory();
    posix_evidence_open(c);
    int err = rts_task_create(&task, &attr);
    if (err)
        rts_port_failed(c, "cannot create the measuring task", err);
    else
        rts_task_join(&task);
}

/* ---- the watchdog: above every measuring task ---------------------------------------------- */

typedef struct watch {
    const rts_case *c;
    pid_t child;
    sem_t over;
    bool hung;
} watch;

/* A number that changes as long as the case makes progress. */
static uint64_t heartbeat(const rts_case *c)
{
    uint64_t beat = c->beat;
    for (unsigned i = 0; i < c->n_series; i++)
        beat += c->series[i].rec->hist.n + c->series[i].rec->discarded;
    return beat;
}

static void *watchdog(void *arg)
{
    watch *w = arg;
    uint64_t last = heartbeat(w->c);
    rts_tick since = rts_time();
    for (;;) {
        rts_tick wake = rts_time() + RTS_TIME_HZ;
        struct timespec until = {.tv_sec = (time_t)(wake / RTS_TIME_HZ),
                                 .tv_nsec = (long)(wake % RTS_TIME_HZ)};
        if (!sem_clockwait(&w->over, CLOCK_MONOTONIC, &until))
            return NULL;
        uint64_t beat = heartbeat(w->c);
        if (beat != last) {
            last = beat;
            since = rts_time();
        } else if (rts_time() - since > w->c->patience_ns) {
            w->hung = true;
            kill(-w->child, SIGKILL);
            return NULL;
        }
    }
}

static bool start_watchdog(watch *w, pthread_t *thread)
{
    pthread_attr_t attr;
    struct sched_param param = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64u << 10);
    if (posix_may_realtime()) {
        pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
        pthread_attr_setschedparam(&attr, &param);
    }
    sem_init(&w->over, 0, 0);
    int err = pthread_create(thread, &attr, watchdog, w);
    pthread_attr_destroy(&attr);
    return err == 0;
}

/* ---- the parent: waits, looks, and can be told to stop ------------------------------------- */

#define STOP_GRACE_NS UINT64_C(2500000000)

/* Waits for the child to end; passes on a request to stop, then insists. */
static int await(rts_case *c, pid_t child)
{
    rts_tick kill_at = UINT64_MAX;
    int status, signal;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return status;
        if (rts_port_stopped() && !c->stop_asked) {
            c->stop_asked = true;
            kill_at = rts_time() + STOP_GRACE_NS;
        }
        if (rts_time() > kill_at) {
            kill(-child, SIGKILL);
            kill_at = UINT64_MAX;
        }
        bool quick = c->progress_ms || c->stop_asked;
        bool came =
            posix_take_signal(quick ? (int)(c->progress_ms ? c->progress_ms : 100) : 1000, &signal);
        if (!came && c->progress_ms && !c->evidence.shared)
            rts_agent_progress(c);
    }
}

int rts_port_isolate(rts_case *c, void (*run)(rts_case *c), char *why, size_t size)
{
    c->evidence.shared = !posix_leave_cpus(&c->common.cpus);
    c->evidence.others = posix_other_agents();
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) {
        snprintf(why, size, "no process for it: %s", strerror(errno));
        return -1;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        if (getppid() == parent)
            run_child(c, run);
        _exit(0);
    }
    setpgid(child, child); /* whoever comes first */
    watch w = {.c = c, .child = child};
    pthread_t thread;
    bool watched = start_watchdog(&w, &thread);
    int status = await(c, child);
    kill(-child, SIGKILL); /* tasks that are processes and did not end */
    int64_t others = posix_other_agents();
    if (others > c->evidence.others)
        c->evidence.others = others;
    if (watched) {
        sem_post(&w.over);
        pthread_join(thread, NULL);
    }
    if (w.hung)
        snprintf(why, size, "it made no progress for %u s",
                 (unsigned)(c->patience_ns / RTS_TIME_HZ));
    else if (WIFSIGNALED(status))
        snprintf(why, size, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        return 0;
    return -1;
}
