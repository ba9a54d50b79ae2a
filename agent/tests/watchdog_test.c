/*
 * A case begins only after its watchdog has started, however long the agent takes to start it; and
 * the watchdog, which is above the case's tasks, does not run while the agent can look itself.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "port.h"
#include "posix.h"

static struct shared {
    rts_job job;
    rts_cpuset cpus;
    volatile bool watched, ran, ran_unwatched;
    volatile uint64_t beat;
    volatile bool put_off;              /* the agent has put off the watchdog's timer */
    volatile bool looked;               /* the watchdog itself has */
    volatile pid_t measured;            /* the process of the case */
    volatile bool reaped, killed_later; /* its process was; its group was killed after that */
} *shared;

static pid_t agent;
static int refuse;     /* the error with which the watchdog does not start; 0: it does */
static bool slow;      /* its start is late */
static bool crowded;   /* the agent cannot leave the case's CPU */
static bool frozen;    /* that a case is stopped does not show */
static bool blind;     /* the agent sees no progress, as if it never had a CPU */
static unsigned looks; /* of the agent */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
/* NOLINTNEXTLINE(misc-use-internal-linkage): the linker makes other files call it */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

/* As if a task of higher priority had the agent's CPU. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    bool watchdog = getpid() == agent;
    if (watchdog && slow)
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    if (watchdog && refuse)
        return refuse;
    int err = __real_pthread_create(thread, attr, run, arg);
    if (watchdog && !err)
        shared->watched = true;
    return err;
}

static bool is_agent(void)
{
    return gettid() == agent;
}

int __real_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *was);
/* NOLINTNEXTLINE(misc-use-internal-linkage): the linker makes other files call it */
int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *was);

int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *was)
{
    if (is_agent())
        shared->put_off = true;
    return __real_timer_settime(timer, flags, when, was);
}

/* NOLINTNEXTLINE(misc-use-internal-linkage): the linker makes other files call it */
uint64_t __wrap_rts_job_heartbeat(const rts_job *job);

uint64_t __wrap_rts_job_heartbeat(const rts_job *job)
{
    (void)job;
    if (is_agent())
        looks++;
    else
        shared->looked = true;
    return is_agent() && blind ? 0 : shared->beat;
}

bool __real_posix_leave_cpus(const rts_job *job);
/* NOLINTNEXTLINE(misc-use-internal-linkage): the linker makes other files call it */
bool __wrap_posix_leave_cpus(const rts_job *job);

bool __wrap_posix_leave_cpus(const rts_job *job)
{
    return !crowded && __real_posix_leave_cpus(job);
}

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
int __real_waitid(idtype_t kind, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t kind, id_t id, siginfo_t *info, int options);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
/* NOLINTEND(misc-use-internal-linkage) */

int __wrap_waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
    return frozen && options & WSTOPPED ? 0 : __real_waitid(kind, id, info, options);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    pid_t ended = __real_waitpid(pid, status, options);
    shared->reaped |= ended > 0 && ended == shared->measured;
    return ended;
}

int __wrap_kill(pid_t pid, int number)
{
    shared->killed_later |= shared->reaped && pid == -shared->measured;
    return __real_kill(pid, number);
}

static void pass_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* Makes progress until this has come about, for 10 s at most. */
static void work_until(const volatile bool *event)
{
    for (int i = 0; i < 10000 && !*event; i++) {
        shared->beat++;
        pass_ms(1);
    }
}

static void run_until_put_off(rts_job *job)
{
    (void)job;
    work_until(&shared->put_off);
}

static void run_for_a_while(rts_job *job)
{
    (void)job;
    pass_ms(200);
}

static void run_until_looked(rts_job *job)
{
    (void)job;
    work_until(&shared->looked);
}

static void run_hung(rts_job *job)
{
    (void)job;
    for (;;)
        pass_ms(1000);
}

/* Pauses for longer than its first patience. */
static void run_patiently(rts_job *job)
{
    job->patience_ns = 20 * RTS_TIME_HZ;
    pass_ms(500);
    shared->ran = true;
}

/* Is stopped for longer than its patience. */
static void run_stopped(rts_job *job)
{
    (void)job;
    pid_t stopped = getpid();
    if (fork() == 0) {
        pass_ms(1000);
        kill(stopped, SIGCONT);
        _exit(0);
    }
    kill(stopped, SIGSTOP);
    shared->ran = true;
}

/* Has an activation after less than its patience. */
static void run_rarely(rts_job *job)
{
    (void)job;
    rts_tick due = rts_time() + 700 * (RTS_TIME_HZ / 1000);
    shared->measured = getpid();
    rts_sleep_until(due);
    pass_ms(20);
    shared->ran = true;
}

static void run(rts_job *job)
{
    (void)job;
    shared->measured = getpid();
    shared->ran = true;
    shared->ran_unwatched = !shared->watched;
}

/* `look_ms`: after which the agent looks, whatever happens. */
static int isolate_with(void (*body)(rts_job *), unsigned patience_ms, unsigned look_ms, char *why,
                        size_t size)
{
    memset(shared, 0, sizeof *shared);
    agent = getpid();
    shared->job.run = body;
    shared->job.cpu = rts_port_default_cpu();
    shared->job.prio = 50;
    shared->job.patience_ns = patience_ms * (RTS_TIME_HZ / 1000);
    shared->job.progress_ms = look_ms;
    shared->job.cpus = &shared->cpus;
    rts_cpuset_add(&shared->cpus, (unsigned)shared->job.cpu);
    return rts_port_isolate(&shared->job, why, size);
}

static int isolate(char *why, size_t size)
{
    return isolate_with(run, 20000, 0, why, size);
}

static void test_it_waits_for_its_watchdog(void)
{
    char why[RTS_REASON] = "";
    slow = true;
    CHECK_EQ(isolate(why, sizeof why), 0);
    slow = false;
    CHECK_STR(why, "");
    CHECK(shared->ran);
    CHECK(!shared->ran_unwatched);
}

static void test_it_does_not_begin_without_one(void)
{
    static const struct {
        int error;
        const char *why;
    } refusals[] = {
        {EPERM, "no watchdog can be above it"},
        {EAGAIN, "no thread for its watchdog: a limit is reached (ulimit -u, or pids.max of the "
                 "control group)"},
    };
    for (unsigned i = 0; i < 2; i++) {
        char why[RTS_REASON] = "";
        refuse = refusals[i].error;
        CHECK_EQ(isolate(why, sizeof why), -1);
        CHECK_STR(why, refusals[i].why);
        CHECK(!shared->ran);
    }
}

static void test_the_agent_looks_for_the_watchdog(void)
{
    char why[RTS_REASON] = "";
    CHECK_EQ(isolate_with(run_until_put_off, 4000, 10, why, sizeof why), 0);
    CHECK(shared->put_off);
    CHECK(!shared->looked);
}

/* Neither for progress, which is not sent then, nor for anything else. */
static void test_the_agent_does_not_wake_up_on_the_cpu_of_a_case(void)
{
    char why[RTS_REASON] = "";
    crowded = true;
    looks = 0;
    CHECK_EQ(isolate_with(run_for_a_while, 20000, 10, why, sizeof why), 0);
    crowded = false;
    CHECK(looks <= 3);
}

static void test_the_watchdog_looks_if_the_agent_cannot(void)
{
    char why[RTS_REASON] = "";
    blind = true;
    CHECK_EQ(isolate_with(run_until_looked, 300, 60000, why, sizeof why), 0);
    blind = false;
    CHECK_STR(why, "");
    CHECK(shared->looked);
}

static void test_what_is_hung_is_killed(void)
{
    char why[RTS_REASON] = "";
    CHECK_EQ(isolate_with(run_hung, 50, 60000, why, sizeof why), -1);
    CHECK_STR(why, "it made no progress for 0 s");
}

static void test_a_bench_may_change_its_patience(void)
{
    char why[RTS_REASON] = "";
    CHECK_EQ(isolate_with(run_patiently, 300, 60000, why, sizeof why), 0);
    CHECK_STR(why, "");
    CHECK(shared->ran);
}

static void test_what_is_stopped_is_not_hung(void)
{
    char why[RTS_REASON] = "";
    CHECK_EQ(isolate_with(run_stopped, 300, 60000, why, sizeof why), 0);
    CHECK_STR(why, "");
    CHECK_EQ(shared->job.evidence.stops, 1);
    CHECK(shared->ran);
}

/* As a container is frozen: the case with its agent, neither of which notices. */
static void test_what_was_frozen_with_its_agent_is_not_hung(void)
{
    char why[RTS_REASON] = "";
    int status;
    frozen = true;
    shared->measured = 0;
    pid_t both = fork();
    if (both == 0)
        _exit(isolate_with(run_rarely, 4000, 60000, why, sizeof why) ? 1 : 0);
    while (!shared->measured)
        pass_ms(1);
    pid_t measured = shared->measured;
    kill(measured, SIGSTOP);
    kill(both, SIGSTOP);
    pass_ms(6000);
    kill(both, SIGCONT);
    kill(measured, SIGCONT);
    CHECK_EQ(waitpid(both, &status, 0), both);
    frozen = false;
    CHECK_EQ(status, 0);
    CHECK(shared->ran);
}

/* Its number may be another's then. */
static void test_no_group_is_killed_after_its_process_was_waited_for(void)
{
    char why[RTS_REASON] = "";
    CHECK_EQ(isolate(why, sizeof why), 0);
    CHECK(shared->reaped);
    CHECK(!shared->killed_later);
}

static void prepare(void)
{
    posix_set_signals(); /* so that the end of a case wakes the agent */
    shared = rts_port_shared(sizeof *shared);
    CHECK(shared);
}

TESTS(prepare, test_it_waits_for_its_watchdog, test_the_agent_looks_for_the_watchdog,
      test_the_agent_does_not_wake_up_on_the_cpu_of_a_case,
      test_the_watchdog_looks_if_the_agent_cannot, test_what_is_hung_is_killed,
      test_a_bench_may_change_its_patience, test_what_is_stopped_is_not_hung,
      test_what_was_frozen_with_its_agent_is_not_hung,
      test_no_group_is_killed_after_its_process_was_waited_for, test_it_does_not_begin_without_one)
