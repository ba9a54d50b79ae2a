/* A case begins only after its watchdog has started, however long the agent takes to start it. */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "port.h"

static struct shared {
    rts_job job;
    rts_cpuset cpus;
    volatile bool watched, ran, ran_unwatched;
} *shared;

static pid_t agent;
static bool refuse;

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
    if (watchdog)
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    if (watchdog && refuse)
        return EAGAIN;
    int err = __real_pthread_create(thread, attr, run, arg);
    if (watchdog && !err)
        shared->watched = true;
    return err;
}

static void run(rts_job *job)
{
    (void)job;
    shared->ran = true;
    shared->ran_unwatched = !shared->watched;
}

static int isolate(char *why, size_t size)
{
    memset(shared, 0, sizeof *shared);
    agent = getpid();
    shared->job.run = run;
    shared->job.cpu = rts_port_default_cpu();
    shared->job.prio = 50;
    shared->job.patience_ns = 20 * RTS_TIME_HZ;
    shared->job.cpus = &shared->cpus;
    rts_cpuset_add(&shared->cpus, (unsigned)shared->job.cpu);
    return rts_port_isolate(&shared->job, why, size);
}

static void test_it_waits_for_its_watchdog(void)
{
    char why[RTS_REASON] = "";
    CHECK_EQ(isolate(why, sizeof why), 0);
    CHECK_STR(why, "");
    CHECK(shared->ran);
    CHECK(!shared->ran_unwatched);
}

static void test_it_does_not_begin_without_one(void)
{
    char why[RTS_REASON] = "";
    refuse = true;
    CHECK_EQ(isolate(why, sizeof why), -1);
    CHECK_STR(why, "no watchdog can be above it");
    CHECK(!shared->ran);
}

static void prepare(void)
{
    shared = rts_port_shared(sizeof *shared);
    CHECK(shared);
}

TESTS(prepare, test_it_waits_for_its_watchdog, test_it_does_not_begin_without_one)
