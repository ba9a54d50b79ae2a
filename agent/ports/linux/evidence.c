/* What /proc and the processor report about events in the system. */
#include <stdio.h>
#include <string.h>

#include "linux.h"

/* For the only case that this process runs. */
static struct {
    int stat_fd, sched_fd, msr_fd;
} from = {.stat_fd = -1, .sched_fd = -1, .msr_fd = -1};

static char text[65536]; /* for files too large for a task's stack; used by one task at a time */

void posix_evidence_open(const rts_job *job)
{
    char path[48];
    from.stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/dev/cpu/%d/msr", job->cpu);
    from.msr_fd = open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Returns the time stolen from the measured CPUs: the eighth number of their lines, in clock ticks
 * (usually 10 ms).
 */
static int64_t read_steal_ns(const rts_job *job)
{
    unsigned long long sum = 0;
    ssize_t n = pread(from.stat_fd, text, sizeof text - 1, 0);
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

/* Reads those of the measuring task; the path is relative to the calling thread. */
static int64_t read_migrations(void)
{
    if (from.sched_fd < 0)
        from.sched_fd = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(from.sched_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *line = strstr(text, "nr_migrations"), *colon = line ? strchr(line, ':') : NULL;
    long long count;
    return colon && posix_number(&(const char *){colon + 1}, &count) ? count : -1;
}

/* Reads MSR_SMI_COUNT of Intel processors; others have no register at this address. */
static int64_t read_smi(void)
{
    uint64_t count;
    if (from.msr_fd < 0 || pread(from.msr_fd, &count, sizeof count, 0x34) != sizeof count)
        return -1;
    return (int64_t)(count & 0xffffffff);
}

posix_events posix_evidence_read(const rts_job *job)
{
    return (posix_events){
        .steal_ns = read_steal_ns(job), .migrations = read_migrations(), .smi = read_smi()};
}
