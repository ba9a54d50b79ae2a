/* What this system is and allows: capabilities, CPUs, throttling, idle states, errors. */
#include <stdio.h>
#include <string.h>

#include "posix.h"

posix_options posix_option;

static bool has_second_cpu(void)
{
    rts_cpuset cpus;
    rts_port_cpus(&cpus);
    return rts_cpuset_count(&cpus) > 1;
}

uint32_t rts_port_caps(void)
{
    uint32_t caps = RTS_CAP_PROCESS | RTS_CAP_SEM_PSHARED | RTS_CAP_HEAP | RTS_CAP_CLOCK_LIBRARY |
                    RTS_CAP_CLOCK_SYSCALL | RTS_CAP_LOCK_PROTECT | RTS_CAP_CPU_TIME |
                    RTS_CAP_SIGNALS | RTS_CAP_FILES | RTS_CAP_NETWORK | RTS_CAP_POSIX |
                    RTS_CAP_EVENT | RTS_CAP_SOFT_IRQ | RTS_CAP_RWLOCK | RTS_CAP_BARRIER |
                    RTS_CAP_SPIN | RTS_CAP_FOOTPRINT;
    if (posix_may_realtime())
        caps |= RTS_CAP_PRIORITIES | RTS_CAP_ROUND_ROBIN | RTS_CAP_CHILDREN;
    if (posix_may_deadline())
        caps |= RTS_CAP_DEADLINE;
    if (has_second_cpu())
        caps |= RTS_CAP_SMP;
    if (posix_may_be_cold())
        caps |= RTS_CAP_COLD;
    if (access("/dev/shm", W_OK) == 0)
        caps |= RTS_CAP_SEM_NAMED;
    return caps;
}

const char *rts_port_why_not(uint32_t cap)
{
    switch (cap) {
    case RTS_CAP_PRIORITIES:
    case RTS_CAP_ROUND_ROBIN:
    case RTS_CAP_CHILDREN: /* it takes a priority to keep them from running */
        return "no right to real-time scheduling (CAP_SYS_NICE or RLIMIT_RTPRIO of 99, and with RT "
               "group scheduling a cpu.rt_runtime_us of the control group)";
    case RTS_CAP_SMP:
        return "there is no second CPU, or the agent may not use it";
    case RTS_CAP_DEADLINE:
        return "the kernel has no SCHED_DEADLINE, or no right to it (CAP_SYS_NICE), or the agent "
               "may "
               "not use all CPUs of its root domain";
    case RTS_CAP_IRQ_TIMER:
        return "a user's program has no interrupt handlers, and cannot see a timer's counter in "
               "one";
    case RTS_CAP_COLD:
        return posix_why_not_cold();
    case RTS_CAP_SEM_NAMED:
        return "/dev/shm is not there or not writable";
    default:
        return "this port does not have it";
    }
}

/* What stands behind an error where its text alone would leave the user guessing. */
static const struct {
    int error;
    const char *text;
} hints[] = {
    {EPERM, "not permitted (CAP_SYS_NICE, CAP_IPC_LOCK or the limits rtprio and memlock)"},
    {EAGAIN, "a limit is reached (ulimit -u for tasks, ulimit -l for locked memory, or pids.max of "
             "the control group)"},
    {ENOMEM, "no memory, or the limit of locked memory is reached (ulimit -l)"},
    {EMFILE, "the limit of open files or queues is reached (ulimit -n, ulimit -q)"},
    {EMSGSIZE, "beyond fs.mqueue.msg_max or fs.mqueue.msgsize_max"},
    {ENOSPC, "no space in /dev/shm, or fs.mqueue.queues_max is reached"},
};

const char *rts_port_strerror(int error)
{
    if (error < 0)
        error = -error;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hints[i].error == error)
            return hints[i].text;
    return strerror(error);
}

bool rts_port_is_limit(int error)
{
    switch (error < 0 ? -error : error) {
    case EPERM:
    case EACCES:
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EMSGSIZE:
    case ENOSYS:
        return true;
    default:
        return false;
    }
}

/* ---- CPUs -------------------------------------------------------------------------------- */

/* What the agent was started with; its own moves do not count. */
void rts_port_cpus(rts_cpuset *set)
{
    static cpu_set_t allowed;
    static bool known;
    if (!known)
        sched_getaffinity(0, sizeof allowed, &allowed);
    known = true;
    memset(set, 0, sizeof *set);
    for (unsigned cpu = 0; cpu < RTS_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            rts_cpuset_add(set, cpu);
}

/* Binds the caller to the allowed CPUs outside `measured`; false: there is none. */
static bool leave(const rts_cpuset *measured)
{
    rts_cpuset allowed;
    cpu_set_t rest;
    rts_port_cpus(&allowed);
    CPU_ZERO(&rest);
    for (unsigned cpu = 0; cpu < RTS_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (rts_cpuset_has(&allowed, cpu) && !rts_cpuset_has(measured, cpu))
            CPU_SET(cpu, &rest);
    return CPU_COUNT(&rest) > 0 && sched_setaffinity(0, sizeof rest, &rest) == 0;
}

bool posix_leave_cpus(const rts_job *job)
{
    switch (job->config) {
    case RTS_1CPU:
        rts_port_bind(job->cpu);
        return false;
    case RTS_2CPU:
        rts_port_bind(-1);
        return false;
    default:
        return leave(job->cpus);
    }
}

void rts_port_bind(int cpu)
{
    cpu_set_t one;
    if (cpu < 0) {
        leave(&(rts_cpuset){{0}});
        return;
    }
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* A cpuset can forbid what the kernel calls isolated. */
static bool may_use(int cpu)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    bool may = sched_setaffinity(0, sizeof one, &one) == 0;
    sched_setaffinity(0, sizeof before, &before);
    return may;
}

/* The last isolated CPU, or else the last allowed one: interrupts prefer the first. */
int rts_port_default_cpu(void)
{
    rts_cpuset allowed;
    char isolated[256];
    long long first, end;
    int last = 0;
    rts_port_cpus(&allowed);
    for (int cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(&allowed, (unsigned)cpu))
            last = cpu;
    if (!posix_read_line("/sys/devices/system/cpu/isolated", isolated, sizeof isolated))
        return last;
    for (const char *s = isolated; posix_number(&s, &first); s++) {
        end = first;
        if (*s == '-') {
            s++;
            posix_number(&s, &end);
        }
        if (may_use((int)end))
            last = (int)end;
        if (*s != ',')
            break;
    }
    return last;
}

/* ---- RT throttling and idle states --------------------------------------------------------------
 */

/*
 * The limit is that of RT throttling or, since Linux 6.12, the server that gives others 50 ms of
 * every second whatever sched_rt_runtime_us says.
 */
void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns)
{
    long long run_us = posix_read_number("/proc/sys/kernel/sched_rt_runtime_us", -1);
    long long period_us = posix_read_number("/proc/sys/kernel/sched_rt_period_us", -1);
    if (run_us <= 0 || run_us >= period_us) {
        run_us = 950000;
        period_us = 1000000;
    }
    /* Half the allowance at a time, and twice the rest that its share of the period asks for. */
    *busy_ns = (uint64_t)run_us * 500;
    *rest_ns = (uint64_t)((double)*busy_ns * (double)(period_us - run_us) / (double)run_us * 2);
}

char posix_idle_state[96] = "left as it is";

void posix_hold_idle(void)
{
    const int32_t latency_us = 0;
    if (posix_option.keep_idle)
        return;
    /* The request holds for as long as the file is open. */
    int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, &latency_us, sizeof latency_us) == sizeof latency_us)
        snprintf(posix_idle_state, sizeof posix_idle_state, "held at 0 us");
    else
        snprintf(posix_idle_state, sizeof posix_idle_state, "not held: %s", strerror(errno));
}
