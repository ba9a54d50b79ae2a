/* What this Linux is and allows: capabilities, errors, clocks, caches, throttling, idle states. */
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "linux.h"

/* ---- capabilities and errors ----------------------------------------------------------------- */

uint32_t posix_system_caps(void)
{
    uint32_t caps = RTS_CAP_CLOCK_SYSCALL | RTS_CAP_EVENT | RTS_CAP_SOFT_IRQ | RTS_CAP_FOOTPRINT;
    if (posix_may_realtime())
        caps |= RTS_CAP_CHILDREN;
    if (linux_may_deadline())
        caps |= RTS_CAP_DEADLINE;
    if (access("/dev/shm", W_OK) == 0)
        caps |= RTS_CAP_SEM_NAMED;
    return caps;
}

static const char *why_not_cold(void)
{
    if (posix_option.drain)
        return "an emulator that counts instructions has no caches";
    return "the system does not show the sizes of the caches (/sys/devices/system/cpu/cpu0/cache), "
           "or the port does not know this processor";
}

const char *rts_port_why_not(uint32_t cap)
{
    switch (cap) {
    case RTS_CAP_PRIORITIES:
    case RTS_CAP_ROUND_ROBIN:
    case RTS_CAP_CHILDREN: /* they need priorities to be kept from running */
        return linux_has(CAP_SYS_NICE)
                   ? LINUX_REFUSED("real-time scheduling")
                   : "no right to real-time scheduling (CAP_SYS_NICE or RLIMIT_RTPRIO of 99, and "
                     "with RT group scheduling a cpu.rt_runtime_us of the control group)";
    case RTS_CAP_SMP:
        return "there is no second CPU, or the agent may not use it";
    case RTS_CAP_DEADLINE:
        return linux_why_no_deadline();
    case RTS_CAP_IRQ_TIMER:
        return "a user's program has no interrupt handlers, and cannot see a timer's counter in "
               "one";
    case RTS_CAP_COLD:
        return why_not_cold();
    case RTS_CAP_SEM_NAMED:
        return "/dev/shm is not there or not writable";
    case RTS_CAP_SEM_SYSV:
        return "this kernel was built without System V IPC, or a sandbox refuses it";
    default:
        return "this port does not have it";
    }
}

static const struct {
    int error;
    const char *text;
} hints[] = {
    {EBUSY, "taken by others"},
    {ENOSYS, "this kernel was built without it, or a sandbox refuses it"},
    {EPERM, "not permitted (CAP_SYS_NICE, CAP_IPC_LOCK or the limits rtprio and memlock)"},
    {EAGAIN, "a limit is reached (ulimit -u for tasks, ulimit -l for locked memory, or pids.max of "
             "the control group)"},
    {ENOMEM, "no memory, or the limit of locked memory is reached (ulimit -l)"},
    {EMFILE, "the limit of open files or queues is reached (ulimit -n, ulimit -q)"},
    {EMSGSIZE, "beyond fs.mqueue.msg_max or fs.mqueue.msgsize_max"},
    {ENOSPC, "no space in /dev/shm, or fs.mqueue.queues_max or a limit in kernel.sem is reached"},
};

/* A sandbox may refuse to set even the affinity that this process has. */
static bool binding_refused(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 &&
           sched_setaffinity(0, sizeof set, &set) != 0;
}

const char *posix_hint(int error)
{
    if (error == EPERM && binding_refused())
        return "a sandbox refuses to bind tasks to CPUs: let it allow sched_setaffinity()";
    if (error == EINVAL && linux_lost_cpu() >= 0)
        return "the control group (cpuset) has lost a CPU since the agent was started: give it "
               "back, or measure on another one";
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hints[i].error == error)
            return hints[i].text;
    return NULL;
}

/*
 * The kernel sends the first two to a real-time task that runs for longer than that without a wait.
 */
const char *posix_kill_hint(int signal)
{
    static char hint[128];
    struct rlimit limit;
    if (signal == SIGSYS)
        return ", as by a filter of system calls (seccomp): `rtstone doctor` names the call";
    if ((signal != SIGKILL && signal != SIGXCPU) || getrlimit(RLIMIT_RTTIME, &limit) ||
        limit.rlim_cur == RLIM_INFINITY)
        return "";
    snprintf(hint, sizeof hint,
             ", as by the limit RLIMIT_RTTIME of %llu us: ulimit -R unlimited, or "
             "LimitRTTIME=infinity",
             (unsigned long long)limit.rlim_cur);
    return hint;
}

/* ---- the cycle counter and the caches -------------------------------------------------------- */

#if defined __x86_64__
/*
 * Reads the TSC frequency that an emulator that counts instructions passes on the kernel's command
 * line, as it does not announce the TSC as invariant.
 */
uint64_t posix_counter_hz(void)
{
    static const char word[] = "rtstone.tsc_hz=";
    char line[4096];
    const char *match =
        posix_read_line("/proc/cmdline", line, sizeof line) ? strstr(line, word) : NULL;
    return match ? strtoull(match + sizeof word - 1, NULL, 10) : 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = text; (s = strstr(s, word)); s += n)
        if ((s == text || s[-1] == ' ') && (s[n] == '\0' || s[n] == ' '))
            return true;
    return false;
}

bool posix_counter_is_stable(void)
{
    char sources[128];
    return !posix_read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                            sources, sizeof sources) ||
           has_word(sources, "tsc");
}
#elif defined __arm__
/* Firmware that has not set up the timer leaves each CPU with an offset of its own. */
bool posix_counter_is_stable(void)
{
    return access("/proc/device-tree/timer/arm,cpu-registers-not-fw-configured", F_OK) != 0;
}
#elif defined __riscv
/* Reads one or two cells of the device tree, which are big-endian. */
uint64_t posix_counter_hz(void)
{
    char cells[9];
    int n = posix_read_file("/proc/device-tree/cpus/timebase-frequency", cells, sizeof cells);
    uint64_t hz = 0;
    for (int i = 0; i < n; i++)
        hz = hz << 8 | (unsigned char)cells[i];
    return n == 4 || n == 8 ? hz : 0;
}
#endif

#define INDICES 8 /* most caches of a CPU, in the system's numbering */

/* For the first CPU. */
size_t posix_largest_cache(void)
{
    char path[80], text[32];
    size_t largest = 0;
    for (int i = 0; i < INDICES; i++) {
        const char *at = text;
        long long size;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!posix_read_line(path, text, sizeof text) || !posix_number(&at, &size) || size <= 0)
            continue;
        size_t bytes = (size_t)size << (*at == 'M' ? 20 : *at == 'K' ? 10 : 0);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* ---- scheduling and idle states -------------------------------------------------------------- */

/* Time sharing allots shares, not slices of a fixed length. */
uint64_t rts_port_slice_ns(rts_policy policy)
{
    if (policy != RTS_RR)
        return 0;
    return (uint64_t)posix_read_number("/proc/sys/kernel/sched_rr_timeslice_ms", 0) * 1000000;
}

int linux_read_server(const char *name, int cpu, linux_server *server)
{
    char path[96];
    snprintf(path, sizeof path, LINUX_SCHED "/%s", name);
    if (access(path, F_OK))
        return errno == ENOENT && access(LINUX_SCHED "/.", F_OK) == 0 ? 0 : -1;
    snprintf(path, sizeof path, LINUX_SCHED "/%s/cpu%d/runtime", name, cpu);
    server->runtime = posix_read_number(path, -1);
    snprintf(path, sizeof path, LINUX_SCHED "/%s/cpu%d/period", name, cpu);
    server->period = posix_read_number(path, -1);
    return server->runtime >= 0 && server->period > 0 ? 1 : -1;
}

/* How long a task may keep a CPU, in ns, and the time to rest for each ns of that. */
typedef struct limit {
    double busy, ratio;
} limit;

/* Tightens a limit to what leaves others this much of each period, both in any unit. */
static void tighten(limit *l, double used, double period, double ns)
{
    /* Nothing is left to a task beside others that get all: it rests as for nearly all. */
    double most = 0.99 * period, left = period - (used < most ? used : most);
    /* Half the budget at a time, and twice the rest that its share of the period requires. */
    double busy = left * ns / 2, ratio = (period - left) / left * 2;
    l->busy = l->busy == 0 || busy < l->busy ? busy : l->busy;
    l->ratio = ratio > l->ratio ? ratio : l->ratio;
}

/* Returns what linux_read_server() does; what others get is added up over both servers of a CPU. */
static int tighten_to_servers(limit *l)
{
    char text[32];
    linux_server fair, ext;
    rts_cpuset cpus;
    rts_port_cpus(&cpus);
    int state = linux_read_server("fair_server", rts_cpuset_first(&cpus), &fair);
    bool loaded = posix_read_line("/sys/kernel/sched_ext/state", text, sizeof text) &&
                  strcmp(text, "disabled") != 0;
    for (int cpu = 0; state > 0 && cpu < RTS_CPUS; cpu++) {
        if (!rts_cpuset_has(&cpus, (unsigned)cpu))
            continue;
        double share = 0, period = 0;
        if (linux_read_server("fair_server", cpu, &fair) > 0 && fair.runtime > 0) {
            share += (double)fair.runtime / (double)fair.period;
            period = (double)fair.period;
        }
        if (loaded && linux_read_server("ext_server", cpu, &ext) > 0 && ext.runtime > 0) {
            share += (double)ext.runtime / (double)ext.period;
            period = period > 0 && period < (double)ext.period ? period : (double)ext.period;
        }
        if (share > 0)
            tighten(l, share * period, period, 1);
    }
    return state;
}

/*
 * The limit is that of RT throttling and, since Linux 6.12, of the deadline servers that give other
 * tasks their time whatever sched_rt_runtime_us is: what they are set to, or the 50 ms of every
 * second that they have by default where that cannot be read. Without either, tasks rest as they
 * would with the defaults, since nothing else would then stop them.
 */
void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns)
{
    const long long second_us = 1000000, default_us = 50000;
    long long run_us = posix_read_number("/proc/sys/kernel/sched_rt_runtime_us", -1);
    long long period_us = posix_read_number("/proc/sys/kernel/sched_rt_period_us", -1);
    limit l = {0, 0};
    if (run_us > 0 && run_us < period_us)
        tighten(&l, (double)(period_us - run_us), (double)period_us, 1000);
    if (tighten_to_servers(&l) < 0 || l.ratio == 0)
        tighten(&l, (double)default_us, (double)second_us, 1000);
    *busy_ns = (uint64_t)l.busy;
    *rest_ns = (uint64_t)(l.busy * l.ratio);
}

char linux_idle_state[96] = "left as it is";

void posix_hold_idle(void)
{
    const int32_t latency_us = 0;
    if (posix_option.keep_idle)
        return;
    /* The request holds while the file is open. */
    int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, &latency_us, sizeof latency_us) == sizeof latency_us)
        snprintf(linux_idle_state, sizeof linux_idle_state, "held at 0 us");
    else
        snprintf(linux_idle_state, sizeof linux_idle_state, "not held: %s", strerror(errno));
}
