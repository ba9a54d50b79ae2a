/* The agent's side of the simulated system: cases, loads, the host. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "wire.h"

static volatile sig_atomic_t stop_requested;
static rts_job *the_job;

/* ---- capabilities -------------------------------------------------------------------------- */

static const struct {
    unsigned lack;
    uint32_t cap;
} lost[] = {
    {SIM_LACKS_PROTECT, RTS_CAP_LOCK_PROTECT},
    {SIM_LACKS_EVENT, RTS_CAP_EVENT},
    {SIM_LACKS_SOFT_IRQ, RTS_CAP_SOFT_IRQ},
    {SIM_LACKS_SUSPEND, RTS_CAP_SUSPEND},
    {SIM_LACKS_PROCESS, RTS_CAP_PROCESS},
    {SIM_LACKS_DEADLINE, RTS_CAP_DEADLINE},
    {SIM_LACKS_HEAP, RTS_CAP_HEAP},
    {SIM_LACKS_ROUND_ROBIN, RTS_CAP_ROUND_ROBIN},
};

/* Features that no published system describes: available if the model gives their cost. */
static const struct {
    sim_op op;
    uint32_t cap;
} priced[] = {
    {SIM_RWLOCK_READ, RTS_CAP_RWLOCK},
    {SIM_BARRIER_WAIT, RTS_CAP_BARRIER},
    {SIM_SPIN_LOCK, RTS_CAP_SPIN},
};

uint32_t rts_port_caps(void)
{
    uint32_t caps = RTS_CAP_PRIORITIES | RTS_CAP_ROUND_ROBIN | RTS_CAP_PROCESS | RTS_CAP_SEM_NAMED |
                    RTS_CAP_SEM_PSHARED | RTS_CAP_HEAP | RTS_CAP_CLOCK_LIBRARY |
                    RTS_CAP_CLOCK_SYSCALL | RTS_CAP_LOCK_PROTECT | RTS_CAP_CPU_TIME |
                    RTS_CAP_DEADLINE | RTS_CAP_CHILDREN | RTS_CAP_EVENT | RTS_CAP_SUSPEND |
                    RTS_CAP_SOFT_IRQ;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        if (sim_the_model.lacks & lost[i].lack)
            caps &= ~lost[i].cap;
    for (size_t i = 0; i < sizeof priced / sizeof priced[0]; i++)
        caps |= sim_model_gives(priced[i].op) ? priced[i].cap : 0;
    return caps;
}

const char *rts_port_why_not(uint32_t cap)
{
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        if (lost[i].cap == cap)
            return "the modelled system does not have it";
    for (size_t i = 0; i < sizeof priced / sizeof priced[0]; i++)
        if (priced[i].cap == cap)
            return "the model does not say what it costs";
    if (cap == RTS_CAP_FOOTPRINT)
        return "what is simulated takes no memory of its own";
    if (cap == RTS_CAP_COLD)
        return "the simulated system has no caches";
    return cap == RTS_CAP_SMP ? "the simulated system has one CPU"
                              : "the simulated system does not have it";
}

const char *rts_port_strerror(int error)
{
    return error == -ENOTSUP ? "the modelled system does not have it" : strerror(-error);
}

bool rts_port_is_limit(int error)
{
    return error == -ENOTSUP || error == -ENOMEM;
}

/* ---- one case ------------------------------------------------------------------------------ */

#define PATIENCE 100 /* factor over real systems: a slow model takes long, but not in real time */

/* Ends a case that has made no progress for its patience: it is hung. */
static void look_for_progress(void)
{
    static uint64_t seen, since;
    uint64_t progress = rts_job_heartbeat(the_job) + 1;
    if (progress != seen || sim_now < since) {
        seen = progress;
        since = sim_now;
    }
    static char why[64];
    if (sim_now - since <= PATIENCE * the_job->patience_ns || sim_dead)
        return;
    snprintf(why, sizeof why, "it made no progress for %u s",
             (unsigned)(PATIENCE * the_job->patience_ns / 1000000000));
    sim_end(why);
}

/* Progress is reported by the time of the outside world. */
static void look_around(void)
{
    static struct timespec last;
    struct timespec now;
    if (!the_job)
        return;
    the_job->stop_requested = the_job->stop_requested || stop_requested;
    look_for_progress();
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000;
    if (!the_job->progress_ms || ms < the_job->progress_ms)
        return;
    last = now;
    rts_job_progress(the_job);
}

/* Each round of a case has different random numbers. */
static uint64_t round_of(const rts_job *job)
{
    return job->id < RTS_ROUNDS ? 0 : job->id % RTS_ROUNDS - 1;
}

int rts_port_isolate(rts_job *job, char *why, size_t size)
{
    rts_task task;
    rts_task_attr attr = {.run = rts_job_run, .arg = job, .prio = job->prio, .policy = RTS_FIFO};
    sim_restart(round_of(job));
    job->evidence.prio = job->prio;
    job->evidence.sched = "fifo";
    job->evidence.locked = true;
    job->error = rts_task_create(&task, &attr);
    if (job->error)
        return 0;
    the_job = job;
    sim_look_around = look_around;
    rts_task_join(&task);
    const char *dead = sim_dead;
    the_job = NULL;
    sim_dead = NULL;
    sim_kill_all(false);
    if (!dead)
        return 0;
    snprintf(why, size, "%s", dead);
    return -1;
}

static struct {
    bool open;
    uint64_t at, cpu, yielded, taken;
} section;

void rts_port_section_start(rts_job *job)
{
    (void)job;
    section.open = true;
    section.at = sim_now;
    section.cpu = sim_self->cpu;
    section.yielded = sim_self->yielded;
    section.taken = sim_self->taken;
}

static void add(int64_t *sum, uint64_t amount)
{
    *sum = (*sum < 0 ? 0 : *sum) + (int64_t)amount;
}

void rts_port_section_end(rts_job *job)
{
    if (!section.open)
        return;
    section.open = false;
    add(&job->evidence.section_ns, sim_now - section.at);
    add(&job->evidence.cpu_ns, sim_self->cpu - section.cpu);
    add(&job->evidence.nvcsw, sim_self->yielded - section.yielded);
    add(&job->evidence.nivcsw, sim_self->taken - section.taken);
}

/* ---- loads --------------------------------------------------------------------------------- */

static rts_task tasks[RTS_WORKERS_MAX];

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    (void)cpus;
    sim_restart(0);
    for (unsigned i = 0; i < n; i++) {
        rts_task_attr attr = rts_worker_attr(&worker[i]);
        int err = rts_task_create(&tasks[i], &attr);
        if (err)
            return err;
        tasks[i].task->load = true;
    }
    return 0;
}

bool rts_port_load_alive(unsigned i)
{
    return tasks[i].task->state != SIM_ENDED;
}

int64_t rts_port_load_cpu_ns(unsigned i)
{
    return (int64_t)tasks[i].task->cpu;
}

void rts_port_load_stop(void)
{
    sim_model_load(SIM_HEAVY, NULL, 0);
    sim_kill_all(true);
}

void rts_port_load_pause(bool pause)
{
    sim_silence(pause);
    sim_model_pause(pause);
}

/* ---- the host ------------------------------------------------------------------------------ */

void rts_port_put(const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, stdout);
}

void rts_port_flush(void)
{
    fflush(stdout);
}

int rts_port_getchar(rts_tick until)
{
    (void)until; /* a lease ends by the time of the outside world, below */
    unsigned char byte;
    ssize_t n = read(STDIN_FILENO, &byte, 1);
    return n == 1 ? byte : RTS_END_OF_INPUT;
}

/* Simulated cases take any time of the outside world, and read nothing meanwhile. */
static volatile unsigned lease_s;
static volatile int unread;

/* Unless the host speaks again the signal ends the process, and nothing of it is left. */
static void look_for_host(int number)
{
    int bytes;
    if (!stop_requested && !ioctl(STDIN_FILENO, FIONREAD, &bytes) && bytes > unread) {
        unread = bytes;
        alarm(lease_s);
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

bool rts_port_lease(uint64_t ms)
{
    unread = 0;
    lease_s = ms ? (unsigned)(ms / 1000) + 1 : 0;
    alarm(lease_s);
    return true;
}

bool rts_port_stopped(void)
{
    return stop_requested;
}

void rts_port_hello(rts_wire *w)
{
    rts_wire_str(w, "port", "sim");
    rts_wire_str(w, "os", sim_the_model.name);
    rts_wire_str(w, "arch", "simulated");
}

/* As on Linux: half of what a second allows at a time, then twice the rest that this requires. */
void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns)
{
    uint64_t left = sim_the_model.throttle;
    *busy_ns = left / 2;
    *rest_ns = left ? 1000000000 - left : 0;
}

void rts_port_conditions(rts_wire *w)
{
    rts_wire_str(w, "model", sim_the_model.name);
    rts_wire_str(w, "model.label", sim_the_model.label);
    rts_wire_uint(w, "model.seed", sim_the_model.seed);
    rts_wire_uint(w, "model.tick_ns", sim_the_model.tick);
    rts_wire_uint(w, "model.slice_ns", sim_the_model.slice);
}

#define GRACE_S 20

/* A case that makes no calls of the port does not notice the stop; it is killed after GRACE_S. */
static void ask_to_stop(int signal)
{
    (void)signal;
    stop_requested = 1;
    alarm(GRACE_S);
}

void sim_set_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop}; /* also ends a read */
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = look_for_host, .sa_flags = SA_RESTART},
              NULL);
    signal(SIGPIPE, SIG_IGN);
}
