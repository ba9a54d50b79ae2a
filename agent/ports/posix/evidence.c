/* What happened to the system around the timed section. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "posix.h"

typedef struct snapshot {
    int64_t time_ns, cpu_ns, minflt, majflt, nvcsw, nivcsw, migrations, steal_ns, smi;
} snapshot;

/* Of the one case this process runs. */
static struct {
    int stat_fd, sched_fd, msr_fd;
    snapshot start;
    int started; /* by the first of several measuring tasks */
} around = {.stat_fd = -1, .sched_fd = -1, .msr_fd = -1};

static char text[65536]; /* pread of files too large for a task's stack; one task at a time */

void posix_evidence_open(const rts_job *job)
{
    char path[48];
    around.stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/dev/cpu/%d/msr", job->cpu);
    around.msr_fd = open(path, O_RDONLY | O_CLOEXEC);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? -1 : t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/*
 * Stolen from the measured CPUs: the eighth number of their lines, in clock ticks (10 ms as a
 * rule).
 */
static int64_t read_steal_ns(const rts_job *job)
{
    unsigned long long sum = 0;
    ssize_t n = pread(around.stat_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
        char name[16];
        if (!rts_cpuset_has(job->cpus, cpu))
            continue;
        snprintf(name, sizeof name, "\ncpu%u ", cpu);
        const char *line = strstr(text, name);
        long long value = -1;
        const char *numbers = line ? line + strlen(name) : "";
        for (int i = 0; i < 8; i++)
            if (!posix_number(&numbers, &value))
                return -1;
        sum += (unsigned long long)value;
    }
    return (int64_t)sum * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* Of the measuring task, whose number this thread-relative file gives. */
static int64_t read_migrations(void)
{
    if (around.sched_fd < 0)
        around.sched_fd = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(around.sched_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *line = strstr(text, "nr_migrations"), *colon = line ? strchr(line, ':') : NULL;
    long long count;
    return colon && posix_number(&(const char *){colon + 1}, &count) ? count : -1;
}

/* MSR_SMI_COUNT of Intel processors; others have none at this address. */
static int64_t read_smi(void)
{
    uint64_t count;
    if (around.msr_fd < 0 || pread(around.msr_fd, &count, sizeof count, 0x34) != sizeof count)
        return -1;
    return (int64_t)(count & 0xffffffff);
}

static void take_counts(snapshot *s)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    s->minflt = usage.ru_minflt;
    s->majflt = usage.ru_majflt;
    s->nvcsw = usage.ru_nvcsw;
    s->nivcsw = usage.ru_nivcsw;
    s->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    s->time_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Large files of /proc: they take time and faults of their own, so they are read outside. */
static void take_files(snapshot *s, const rts_job *job)
{
    s->steal_ns = read_steal_ns(job);
    s->migrations = read_migrations();
    s->smi = read_smi();
}

void rts_port_section_start(rts_job *job)
{
    if (__atomic_exchange_n(&around.started, 1, __ATOMIC_ACQ_REL))
        return;
    take_files(&around.start, job);
    take_counts(&around.start);
}

static int64_t since(int64_t end, int64_t start)
{
    return end < 0 || start < 0 ? -1 : end - start;
}

void rts_port_section_end(rts_job *job)
{
    rts_evidence *e = &job->evidence;
    const snapshot *a = &around.start;
    snapshot b;
    if (!around.started)
        return;
    take_counts(&b);
    take_files(&b, job);
    e->section_ns = since(b.time_ns, a->time_ns);
    e->cpu_ns = since(b.cpu_ns, a->cpu_ns);
    e->minflt = since(b.minflt, a->minflt);
    e->majflt = since(b.majflt, a->majflt);
    e->nvcsw = since(b.nvcsw, a->nvcsw);
    e->nivcsw = since(b.nivcsw, a->nivcsw);
    e->migrations = since(b.migrations, a->migrations);
    e->steal_ns = since(b.steal_ns, a->steal_ns);
    e->smi = since(b.smi, a->smi);
}
