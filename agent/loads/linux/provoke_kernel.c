/* Actions of load provoke: what the kernel prints of itself, its settings, and its own text. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "linux.h"
#include "provoke.h"

/* ---- what it prints -------------------------------------------------------------------------- */

static bool kallsyms(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_read(w, "/proc/kallsyms");
}

static bool slabinfo(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_read(w, "/proc/slabinfo") && provoke_read(w, "/proc/vmstat") &&
           provoke_read(w, "/proc/zoneinfo") && provoke_read(w, "/proc/interrupts") &&
           provoke_read(w, "/proc/pagetypeinfo");
}

/* Counts what happens on a CPU, and what happens to a task, as perf does. */
static bool perf(rts_worker *w, unsigned n)
{
    (void)n;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CONTEXT_SWITCHES};
    for (unsigned i = 0; i < 2; i++) {
        int event = (int)syscall(SYS_perf_event_open, &attr, i ? 0 : -1, i ? -1 : 0, -1, 0);
        if (!provoke_good(w, event >= 0,
                          "perf_event_open() (/proc/sys/kernel/perf_event_paranoid)"))
            return false;
        close(event);
        attr.config = PERF_COUNT_SW_CPU_CLOCK;
    }
    return true;
}

/* ---- settings, which are restored ------------------------------------------------------------ */

static char setting[64]; /* as it was */

static bool save(rts_worker *w, const char *path)
{
    return provoke_good(w, posix_read_line(path, setting, sizeof setting), path);
}

/* Sets a file to one value and the other. */
static bool set_both(rts_worker *w, const char *path, const char *first, const char *second)
{
    return provoke_good(w, provoke_write(path, first) && provoke_write(path, second), path);
}

#define SCHEDSTATS "/proc/sys/kernel/sched_schedstats"

static bool save_schedstats(rts_worker *w)
{
    return save(w, SCHEDSTATS);
}

static void restore_schedstats(const void *unused, int file)
{
    (void)unused, (void)file;
    provoke_write(SCHEDSTATS, setting);
}

/* A setting for which the kernel's text is changed (a static key). */
static bool schedstats(rts_worker *w, unsigned n)
{
    (void)n;
    return set_both(w, SCHEDSTATS, "1", "0");
}

#define HUGEPAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/* What is set stands between brackets. */
static bool save_hugepages(rts_worker *w)
{
    if (!save(w, HUGEPAGES))
        return false;
    const char *open = strchr(setting, '['), *end = strchr(setting, ']');
    errno = EINVAL;
    if (!open || !end || end < open)
        return provoke_good(w, false, HUGEPAGES);
    size_t length = (size_t)(end - open) - 1;
    memmove(setting, open + 1, length);
    setting[length] = '\0';
    return true;
}

static void restore_hugepages(const void *unused, int file)
{
    (void)unused, (void)file;
    provoke_write(HUGEPAGES, setting);
}

static bool hugepages(rts_worker *w, unsigned n)
{
    (void)n;
    return set_both(w, HUGEPAGES, "always", "never");
}

static struct timex clock_rate;

static bool save_rate(rts_worker *w)
{
    clock_rate.modes = 0;
    bool good = adjtimex(&clock_rate) >= 0;
    clock_rate.modes = ADJ_FREQUENCY;
    return provoke_good(w, good, "adjtimex()");
}

static void restore_rate(const void *unused, int file)
{
    (void)unused, (void)file;
    adjtimex(&clock_rate);
}

/* By a millionth faster, and as before. */
static bool adjust(rts_worker *w, unsigned n)
{
    (void)n;
    struct timex faster = clock_rate, before = clock_rate;
    faster.freq += 65536;
    return provoke_good(w, adjtimex(&faster) >= 0 && adjtimex(&before) >= 0, "adjtimex()");
}

/* ---- tracing --------------------------------------------------------------------------------- */

#define TRACING "/sys/kernel/tracing/"
#define PROBE "rtstone_provoke"

/* Adds to the probes of others, which writing from the beginning might remove. */
static bool append(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    if (file >= 0)
        close(file);
    errno = error;
    return good;
}

static void remove_probe(const void *unused, int file)
{
    (void)unused, (void)file;
    provoke_write(TRACING "events/kprobes/" PROBE "/enable", "0");
    append(TRACING "kprobe_events", "-:" PROBE);
}

static bool kprobe(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w,
                        append(TRACING "kprobe_events", "p:" PROBE " do_sys_openat2") &&
                            provoke_write(TRACING "events/kprobes/" PROBE "/enable", "1") &&
                            provoke_write(TRACING "events/kprobes/" PROBE "/enable", "0") &&
                            append(TRACING "kprobe_events", "-:" PROBE),
                        TRACING "kprobe_events");
}

/* Refuses if somebody traces. */
static bool save_tracer(rts_worker *w)
{
    if (!save(w, TRACING "current_tracer"))
        return false;
    if (strcmp(setting, "nop")) {
        rts_worker_unsupported(w, "somebody traces: " TRACING "current_tracer is %s", setting);
        return false;
    }
    return true;
}

static void restore_tracer(const void *unused, int file)
{
    (void)unused, (void)file;
    provoke_write(TRACING "current_tracer", "nop");
}

static bool ftrace(rts_worker *w, unsigned n)
{
    (void)n;
    return set_both(w, TRACING "current_tracer", "function", "nop");
}

/* ---- CPUs and modules ---------------------------------------------------------------------------
 */

#define CPUS "/sys/devices/system/cpu/"
#define LEAST_CPUS 3 /* with two, the other would do all that has to be done meanwhile */

static char online[64]; /* of the CPU that is switched off */

static bool save_online(rts_worker *w)
{
    rts_cpuset here;
    if (!linux_read_cpus(CPUS "online", &here) || rts_cpuset_count(&here) < LEAST_CPUS) {
        rts_worker_unsupported(w, "fewer than three CPUs are online");
        return false;
    }
    for (unsigned cpu = RTS_CPUS; cpu-- > 1;)
        if (rts_cpuset_has(&here, cpu) && !rts_cpuset_has(&w->load->common.away, cpu)) {
            snprintf(online, sizeof online, CPUS "cpu%u/online", cpu);
            return save(w, online);
        }
    rts_worker_unsupported(w, "no CPU but the measured ones can be switched off");
    return false;
}

static void restore_online(const void *unused, int file)
{
    (void)unused, (void)file;
    provoke_write(online, "1");
}

static bool hotplug(rts_worker *w, unsigned n)
{
    (void)n;
    return set_both(w, online, "0", "1");
}

static bool module(rts_worker *w, unsigned n)
{
    (void)n;
    char path[300] = "";
    struct dirent *entry;
    if (syscall(SYS_delete_module, "loop", 0) && errno != ENOENT)
        return provoke_good(w, false, "module loop");
    DIR *modules = opendir("/rtstone/modules");
    while (modules && (entry = readdir(modules)))
        if (strstr(entry->d_name, "loop"))
            snprintf(path, sizeof path, "/rtstone/modules/%s", entry->d_name);
    if (modules)
        closedir(modules);
    errno = ENOENT;
    int file = *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool good = file >= 0 && !syscall(SYS_finit_module, file, "", 0);
    int error = errno;
    if (file >= 0)
        close(file);
    errno = error;
    return provoke_good(w, good, "module loop (+device=loop)");
}

/* ---- the lab's ------------------------------------------------------------------------------- */

static bool settime(rts_worker *w, unsigned n)
{
    (void)n;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return provoke_good(w, !clock_settime(CLOCK_REALTIME, &now), "clock_settime()");
}

static bool sysrq(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w, provoke_write("/proc/sysrq-trigger", "t"), "/proc/sysrq-trigger");
}

#define LINE 900

/* Level 7 is not printed to a console, which in the lab is the agent's line. */
static bool kmsg(rts_worker *w, unsigned n)
{
    (void)n;
    static char line[LINE + 1] = "<7>";
    memset(line + 3, 'x', LINE - 4);
    line[LINE - 1] = '\n';
    return provoke_good(w, provoke_write("/dev/kmsg", line), "/dev/kmsg");
}

const provoke_action provoke_kernel[] = {
    {.name = "kallsyms", PROVOKE_SHARED, .round = kallsyms},
    {.name = "slabinfo", PROVOKE_SHARED, .round = slabinfo},
    {.name = "perf", PROVOKE_SHARED, .round = perf},
    {"schedstats", PROVOKE_SYSTEM, .round = schedstats, .save = save_schedstats,
     .restore = restore_schedstats},
    {"hugepages", PROVOKE_SYSTEM, .round = hugepages, .save = save_hugepages,
     .restore = restore_hugepages},
    {"adjtime", PROVOKE_SYSTEM, .round = adjust, .save = save_rate, .restore = restore_rate},
    {"kprobe", PROVOKE_SYSTEM, .round = kprobe, .restore = remove_probe},
    {"ftrace", PROVOKE_SYSTEM, .round = ftrace, .save = save_tracer, .restore = restore_tracer},
    {"hotplug", PROVOKE_SYSTEM, .round = hotplug, .save = save_online, .restore = restore_online},
    {"settime", PROVOKE_LAB, .round = settime},
    {"sysrq", PROVOKE_LAB, .round = sysrq},
    {"kmsg", PROVOKE_LAB, .round = kmsg},
    {"module", PROVOKE_LAB, .round = module},
    {0},
};
