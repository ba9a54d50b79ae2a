/* A case begins only once its watchdog is there, however long the agent takes to start it. */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "check.h"

static struct shared {
    rts_case c;
    volatile bool watched, ran, ran_unwatched;
} *shared;

static pid_t agent;
static bool refuse;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
/* NOLINTNEXTLINE(misc-use-internal-linkage): the linker has the others call it */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

/* As if something more urgent had the agent's CPU. */
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

static void run(rts_case *c)
{
    (void)c;
    shared->ran = true;
    shared->ran_unwatched = !shared->watched;
}

static int isolate(char *why, size_t size)
{
    memset(shared, 0, sizeof *shared);
    agent = getpid();
    shared->c.cpu = rts_port_default_cpu();
    shared->c.common.prio = 50;
    shared->c.patience_ns = 20 * RTS_TIME_HZ;
    rts_cpuset_add(&shared->c.common.cpus, (unsigned)shared->c.cpu);
    return rts_port_isolate(&shared->c, run, why, size);
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
    CHECK_STR(why, "no watchdog can be started above it");
    CHECK(!shared->ran);
}

static void prepare(void)
{
    shared = rts_port_shared(sizeof *shared);
    CHECK(shared);
}

TESTS(prepare, test_it_waits_for_its_watchdog, test_it_does_not_begin_without_one)
