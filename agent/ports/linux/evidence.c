/* What /proc and the processor report about events in the system. */
#include <stdio.h>
#include <string.h>

#include "linux.h"

/* For the only case that this process runs. */
static struct {
    int stat_fd, sched_fd, msr_fd;
} from = {.stat_fd = -1, .sched_fd = -1, .msr_fd = -1};

static char text[65536]; /* for files too large for a task's stack; used by one task at a time */

/* The eighth number of the CPUs' lines. */
int64_t linux_steal_ns(int file, const rts_cpuset *cpus)
{
    unsigned long long sum = 0;
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
        char name[16];
        if (!rts_cpuset_has(cpus, cpu))
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

/* Reads those of the task that opened it, whoever else begins or ends the section. */
static int64_t read_migrations(void)
{
    ssize_t n = pread(from.sched_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *line = strstr(text, "nr_migrations"), *colon = line ? strchr(line, ':') : NULL;
    long long count;
    return colon && posix_number(&(const char *){colon + 1}, &count) ? count : -1;
}

static int open_msr(int cpu)
{
    char path[48];
    snprintf(path, sizeof path, "/dev/cpu/%d/msr", cpu);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads MSR_SMI_COUNT of Intel processors; others have no register at this address. */
static int64_t read_smi(int file)
{
    uint64_t count;
    if (file < 0 || pread(file, &count, sizeof count, 0x34) != sizeof count)
        return -1;
    return (int64_t)(count & 0xffffffff);
}

int64_t linux_smi(int cpu)
{
    int file = open_msr(cpu);
    int64_t count = read_smi(file);
    if (file >= 0)
        close(file);
    return count;
}

void posix_evidence_open(const rts_job *job)
{
    from.stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    from.msr_fd = open_msr(job->cpu);
    linux_quota_open();
    from.sched_fd = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
}

/* CLOCK_BOOTTIME counts what CLOCK_MONOTONIC does not: the time that the system was suspended. */
static void read_suspended(posix_events *events)
{
    int64_t before = (int64_t)rts_time_ns().ns;
    int64_t since_boot = (int64_t)posix_clock_ns(CLOCK_BOOTTIME);
    events->suspended_least_ns = since_boot - (int64_t)rts_time_ns().ns;
    events->suspended_most_ns = since_boot - before;
    if (events->suspended_least_ns < 0)
        events->suspended_least_ns = 0;
}

posix_events posix_evidence_read(const rts_job *job)
{
    posix_events events = {.steal_ns = linux_steal_ns(from.stat_fd, job->cpus),
                           .migrations = read_migrations(),
                           .quota_periods = linux_quota_periods(),
                           .smi = read_smi(from.msr_fd)};
    read_suspended(&events);
    return events;
}
