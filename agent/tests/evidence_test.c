/* The evidence around a section, in a system where the test says what happens. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "port.h"
#include "posix.h"

#define SUSPENDED (3 * (int64_t)RTS_TIME_HZ)

static int64_t suspended;

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
/* NOLINTEND(misc-use-internal-linkage) */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int err = __real_clock_gettime(clock, now);
    if (clock == CLOCK_BOOTTIME)
        *now = posix_timespec(posix_ns(*now) + (rts_tick)suspended);
    return err;
}

static struct shared {
    rts_job job;
    rts_cpuset cpus;
} *shared;

static void *start_section(void *job)
{
    rts_port_section_start(job);
    return NULL;
}

/* The first of several tasks begins the section, and may have ended when the last one ends it. */
static void run_several(rts_job *job)
{
    pthread_t other;
    pthread_create(&other, NULL, start_section, job);
    pthread_join(other, NULL);
    rts_port_section_end(job);
}

static void run_suspended(rts_job *job)
{
    rts_port_section_start(job);
    suspended += SUSPENDED;
    rts_port_section_end(job);
    rts_port_section_start(job);
    rts_port_section_end(job);
}

static const rts_evidence *evidence_of(void (*body)(rts_job *))
{
    char why[RTS_REASON] = "";
    memset(shared, 0, sizeof *shared);
    memset(shared->job.evidence.number, -1, sizeof shared->job.evidence.number);
    shared->job.run = body;
    shared->job.cpu = rts_port_default_cpu();
    shared->job.prio = 50;
    shared->job.patience_ns = 20 * RTS_TIME_HZ;
    shared->job.cpus = &shared->cpus;
    rts_cpuset_add(&shared->cpus, (unsigned)shared->job.cpu);
    CHECK_EQ(rts_port_isolate(&shared->job, why, sizeof why), 0);
    CHECK_STR(why, "");
    return &shared->job.evidence;
}

static void test_migrations_are_the_measuring_tasks(void)
{
    const rts_evidence *e = evidence_of(run_several);
    CHECK_EQ(e->migrations, access("/proc/self/sched", R_OK) ? -1 : 0);
}

static void test_a_suspension_is_evidence(void)
{
    int64_t ns = evidence_of(run_suspended)->suspended_ns;
    CHECK(ns <= SUSPENDED &&
          ns > SUSPENDED - (int64_t)RTS_TIME_HZ); /* less what passed between two clocks */
    CHECK_EQ(evidence_of(run_several)->suspended_ns, 0);
    CHECK_EQ(shared->job.evidence.stops, 0);
}

/* Works on a CPU until it has had that much of it. */
static _Noreturn void take_cpu(int cpu, uint64_t ns)
{
    rts_port_bind(cpu);
    while (posix_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
        ;
    pause();
    _exit(0);
}

static void test_what_others_take_of_the_cpu_is_known(void)
{
    const uint64_t ns = RTS_TIME_HZ / 10;
    rts_job *job = &shared->job;
    clockid_t clock;
    bool readable =
        !access("/proc/1/stat", R_OK) && posix_read_number("/proc/self/schedstat", 0) > 0;
    rts_port_taken_ns(job);
    pid_t other = fork();
    if (other == 0)
        take_cpu(job->cpu, ns);
    CHECK_EQ(clock_getcpuclockid(other, &clock), 0);
    while (posix_clock_ns(clock) < ns)
        rts_sleep_until(rts_time() + ns / 10);
    int64_t taken = rts_port_taken_ns(job);
    CHECK(readable ? taken >= (int64_t)(ns / 10 * 9) : taken == -1);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

static void prepare(void)
{
    posix_set_signals();
    shared = rts_port_shared(sizeof *shared);
    CHECK(shared);
}

TESTS(prepare, test_migrations_are_the_measuring_tasks, test_a_suspension_is_evidence,
      test_what_others_take_of_the_cpu_is_known)
