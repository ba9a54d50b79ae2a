/* The conditions of a result, as POSIX asks for, as one table of facts. */
#include <dirent.h>
#include <gnu/libc-version.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "linux.h"

#define CPU "/sys/devices/system/cpu/"

/* Facts that are a line of a file. */
static const struct {
    const char *key, *path;
} lines[] = {
    {"kernel.version", "/proc/sys/kernel/version"},
    {"kernel.cmdline", "/proc/cmdline"},
    {"kernel.realtime", "/sys/kernel/realtime"},
    {"kernel.preempt_dynamic", "/sys/kernel/debug/sched/preempt"},
    {"cpu.online", CPU "online"},
    {"cpu.isolated", CPU "isolated"},
    {"cpu.nohz_full", CPU "nohz_full"},
    {"cpu.smt", CPU "smt/control"},
    {"cpu.boost", CPU "cpufreq/boost"},
    {"cpu.no_turbo", CPU "intel_pstate/no_turbo"},
    {"cpu.idle_driver", CPU "cpuidle/current_driver"},
    {"cpu.idle_governor", CPU "cpuidle/current_governor"},
    {"clocksource.current", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"clocksource.available", "/sys/devices/system/clocksource/clocksource0/available_clocksource"},
    {"sched.rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"},
    {"sched.rt_period_us", "/proc/sys/kernel/sched_rt_period_us"},
    {"sched.rr_timeslice_ms", "/proc/sys/kernel/sched_rr_timeslice_ms"},
    {"sched_ext.state", "/sys/kernel/sched_ext/state"},
    {"sched_ext.ops", "/sys/kernel/sched_ext/root/ops"},
    {"rseq.slice_extension_ns", "/sys/kernel/debug/rseq/slice_ext_nsec"},
    {"sched.timer_migration", "/proc/sys/kernel/timer_migration"},
    {"sched.numa_balancing", "/proc/sys/kernel/numa_balancing"},
    {"watchdog.nmi", "/proc/sys/kernel/nmi_watchdog"},
    {"watchdog.soft", "/proc/sys/kernel/soft_watchdog"},
    {"memory.thp", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"memory.swappiness", "/proc/sys/vm/swappiness"},
    {"mqueue.msg_max", "/proc/sys/fs/mqueue/msg_max"},
    {"mqueue.msgsize_max", "/proc/sys/fs/mqueue/msgsize_max"},
    {"machine.vendor", "/sys/class/dmi/id/sys_vendor"},
    {"machine.product", "/sys/class/dmi/id/product_name"},
    {"machine.bios", "/sys/class/dmi/id/bios_version"},
    {"machine.load", "/proc/loadavg"},
    {"cgroup", "/proc/self/cgroup"},
};

/*
 * Facts that are a line of a file below the measured CPU's directory, unless another CPU is named.
 */
static const struct {
    const char *key, *path;
} cpu_lines[] = {
    {"cpu.governor", "cpufreq/scaling_governor"},
    {"cpu.frequency_driver", "cpufreq/scaling_driver"},
    {"cpu.frequency_max", "cpufreq/scaling_max_freq"},
    {"cpu.microcode", "microcode/version"},
    {"cpu.thread_siblings", "topology/thread_siblings_list"},
    {"cpu.core_siblings", "topology/core_siblings_list"},
};

/* Facts that are a field of /proc/cpuinfo, /proc/meminfo or the kernel's configuration. */
static const struct {
    const char *key, *path, *field;
} fields[] = {
    {"cpu.model", "/proc/cpuinfo", "model name"},
    {"cpu.family", "/proc/cpuinfo", "cpu family"},
    {"cpu.stepping", "/proc/cpuinfo", "stepping"},
    {"cpu.part", "/proc/cpuinfo", "CPU part"},
    {"cpu.mhz", "/proc/cpuinfo", "cpu MHz"},
    {"cpu.siblings", "/proc/cpuinfo", "siblings"},
    {"cpu.cores", "/proc/cpuinfo", "cpu cores"},
    {"cpu.cache", "/proc/cpuinfo", "cache size"},
    {"memory.total", "/proc/meminfo", "MemTotal"},
    {"memory.available", "/proc/meminfo", "MemAvailable"},
    {"memory.swap", "/proc/meminfo", "SwapTotal"},
};

static const struct {
    const char *key;
    int resource;
} limits[] = {
    {"limit.rtprio", RLIMIT_RTPRIO}, {"limit.memlock", RLIMIT_MEMLOCK},
    {"limit.nproc", RLIMIT_NPROC},   {"limit.msgqueue", RLIMIT_MSGQUEUE},
    {"limit.rttime", RLIMIT_RTTIME}, /* us */
};

static char text[65536];

/* Reads a file into `text` unless it is there already: /proc/cpuinfo is slow with many CPUs. */
static bool load_text(const char *path)
{
    static const char *loaded = "";
    if (strcmp(path, loaded) != 0)
        loaded = posix_read_file(path, text, sizeof text) < 0 ? "" : path;
    return loaded[0] != '\0';
}

/* Finds "Name : value" in a file; false: not found. */
static bool find_field(const char *path, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    if (!load_text(path))
        return false;
    for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, length))
            continue;
        const char *v = line + length + strspn(line + length, " \t");
        if (*v++ != ':')
            continue;
        v += strspn(v, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(v, "\n"), v);
        return true;
    }
    return false;
}

static void put_fields(rts_wire *w)
{
    char value[1024];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        rts_wire_str(w, lines[i].key,
                     posix_read_line(lines[i].path, value, sizeof value) ? value : NULL);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        rts_wire_str(w, fields[i].key,
                     find_field(fields[i].path, fields[i].field, value, sizeof value) ? value
                                                                                      : NULL);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit))
            rts_wire_null(w, limits[i].key);
        else if (limit.rlim_cur == RLIM_INFINITY)
            rts_wire_str(w, limits[i].key, "unlimited");
        else
            rts_wire_uint(w, limits[i].key, limit.rlim_cur);
    }
}

/* Writes the idle states of the CPU as "POLL C1 C2". */
static void put_idle_states(rts_wire *w, int cpu)
{
    char path[96], name[32], all[256] = "";
    long long exit_us = -1, us; /* of the deepest that is not disabled: the longest */
    for (unsigned i = 0; i < 16; i++) {
        snprintf(path, sizeof path, CPU "cpu%d/cpuidle/state%u/name", cpu, i);
        if (!posix_read_line(path, name, sizeof name))
            break;
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? " " : "", name);
        snprintf(path, sizeof path, CPU "cpu%d/cpuidle/state%u/disable", cpu, i);
        bool disabled = posix_read_line(path, name, sizeof name) && name[0] != '0';
        snprintf(path, sizeof path, CPU "cpu%d/cpuidle/state%u/latency", cpu, i);
        if (!disabled && posix_read_line(path, name, sizeof name) &&
            posix_number(&(const char *){name}, &us) && us > exit_us)
            exit_us = us;
    }
    if (exit_us < 0)
        rts_wire_null(w, "cpu.idle_latency_us");
    else
        rts_wire_uint(w, "cpu.idle_latency_us", (uint64_t)exit_us);
    rts_wire_str(w, "cpu.idle_states", all[0] ? all : NULL);
    rts_wire_str(w, "cpu_dma_latency", linux_idle_state);
}

static void put_cpu_lines(rts_wire *w, int cpu)
{
    char path[128], value[256];
    for (size_t i = 0; i < sizeof cpu_lines / sizeof cpu_lines[0]; i++) {
        snprintf(path, sizeof path, CPU "cpu%d/%s", cpu, cpu_lines[i].path);
        rts_wire_str(w, cpu_lines[i].key,
                     posix_read_line(path, value, sizeof value) ? value : NULL);
    }
}

/* Writes every vulnerability of this CPU that the kernel knows, and its mitigation. */
static void put_mitigations(rts_wire *w)
{
    DIR *dir = opendir(CPU "vulnerabilities");
    rts_wire_open(w, "cpu.mitigations", '[');
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[320], state[160], entry[424];
        snprintf(path, sizeof path, CPU "vulnerabilities/%s", e->d_name);
        if (e->d_name[0] == '.' || !posix_read_line(path, state, sizeof state) ||
            !strcmp(state, "Not affected"))
            continue;
        snprintf(entry, sizeof entry, "%s: %s", e->d_name, state);
        rts_wire_str(w, NULL, entry);
    }
    rts_wire_close(w, ']');
    if (dir)
        closedir(dir);
}

/* Writes whether the CPU's flags include "hypervisor", and which one it is. */
static void put_virtualisation(rts_wire *w)
{
    char flags[4096], type[64];
    bool readable = find_field("/proc/cpuinfo", "flags", flags, sizeof flags);
    if (readable)
        rts_wire_bool(w, "machine.virtual", strstr(flags, " hypervisor") != NULL);
    else
        rts_wire_null(w, "machine.virtual");
    rts_wire_str(w, "machine.hypervisor",
                 posix_read_line("/sys/hypervisor/type", type, sizeof type) ? type : NULL);
}

/* ---- what the scheduler does to real-time tasks ---------------------------------------------- */

/*
 * Writes the deadline servers called `name` of all CPUs that the agent may use, as
 * ["0-2: 50000000/1000000000", "3: 0/1000000000"] (ns); "none": the kernel has none; null: it is
 * not known.
 */
static void put_servers(rts_wire *w, const char *key, const char *name)
{
    rts_cpuset cpus;
    linux_server server, next;
    char entry[96];
    rts_port_cpus(&cpus);
    int cpu = rts_cpuset_first(&cpus), state = linux_read_server(name, cpu, &server);
    if (state <= 0) {
        rts_wire_str(w, key, state == 0 ? "none" : NULL);
        return;
    }
    rts_wire_open(w, key, '[');
    while (cpu < RTS_CPUS) {
        int end = cpu + 1; /* of a range of CPUs with the same settings */
        while (end < RTS_CPUS && rts_cpuset_has(&cpus, (unsigned)end) &&
               linux_read_server(name, end, &next) > 0 && next.runtime == server.runtime &&
               next.period == server.period)
            end++;
        int n = snprintf(entry, sizeof entry, end - cpu > 1 ? "%d-%d" : "%d", cpu, end - 1);
        snprintf(entry + n, sizeof entry - (size_t)n, ": %lld/%lld", server.runtime, server.period);
        rts_wire_str(w, NULL, entry);
        for (cpu = end; cpu < RTS_CPUS; cpu++)
            if (rts_cpuset_has(&cpus, (unsigned)cpu) && linux_read_server(name, cpu, &server) > 0)
                break;
    }
    rts_wire_close(w, ']');
}

/* Returns whether an option of the kernel's command line is on, as the kernel reads it. */
static bool boot_option(const char *name, bool otherwise)
{
    char line[4096];
    size_t length = strlen(name);
    bool on = otherwise;
    if (!posix_read_line("/proc/cmdline", line, sizeof line))
        return otherwise;
    for (char *rest, *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strncmp(word, name, length) || (word[length] != '=' && word[length] != '\0'))
            continue;
        const char *value = word[length] ? word + length + 1 : "1";
        if (strchr("yYtT1", value[0]) || !strncmp(value, "on", 2))
            on = true;
        else if (strchr("nNfF0", value[0]) || !strncmp(value, "of", 2))
            on = false;
    }
    return on;
}

/*
 * Returns whether the kernel was built with RT_GROUP_SCHED, which it shows where it names the group
 * of a queue; -1: that cannot be read.
 */
static int shows_rt_groups(void)
{
    char line[256];
    int groups = -1;
    FILE *file = fopen(LINUX_SCHED "/debug", "re");
    while (file && groups < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, "rt_rq[", 6) && strstr(line, "]:"))
            groups = strstr(line, "]:")[2] != '\n';
    if (file)
        fclose(file);
    return groups;
}

/* Of the kernel's configuration; -1: unknown. */
static struct {
    int rt_groups, rt_groups_off, proxies;
} built;

/*
 * Writes whether real-time tasks have budgets by control group: "no" if the kernel was not built
 * with them, "off" if they are off since the boot, which leaves the limit of all of them together.
 */
static void put_rt_groups(rts_wire *w)
{
    int groups = built.rt_groups < 0 ? shows_rt_groups() : built.rt_groups;
    if (groups <= 0)
        rts_wire_str(w, "sched.rt_group_sched", groups == 0 ? "no" : NULL);
    else
        rts_wire_str(w, "sched.rt_group_sched",
                     boot_option("rt_group_sched", built.rt_groups_off <= 0) ? "on" : "off");
}

/* Writes whether a task that waits for a mutex lends its place to the holder. */
static void put_proxies(rts_wire *w)
{
    if (built.proxies < 0)
        rts_wire_null(w, "sched.proxy_exec");
    else
        rts_wire_bool(w, "sched.proxy_exec",
                      built.proxies && boot_option("sched_proxy_exec", true));
}

#define PR_SLICE_EXTENSION 79 /* PR_RSEQ_SLICE_EXTENSION of linux/prctl.h, since 7.0 */
#define SLICE_EXTENSION_SET 2
#define NOT_SUPPORTED 524 /* ENOTSUPP, which the C library has not */

/* Writes whether tasks may ask to keep the CPU a little longer; the test leaves that off. */
static void put_slice_extension(rts_wire *w)
{
    bool may = prctl(PR_SLICE_EXTENSION, SLICE_EXTENSION_SET, 0, 0, 0) == 0 || errno == ENXIO;
    if (may || errno == EINVAL || errno == NOT_SUPPORTED)
        rts_wire_bool(w, "rseq.slice_extension", may);
    else
        rts_wire_null(w, "rseq.slice_extension");
}

static void put_scheduler(rts_wire *w)
{
    put_servers(w, "sched.fair_server", "fair_server");
    put_servers(w, "sched.ext_server", "ext_server");
    put_rt_groups(w);
    linux_put_quota(w);
    put_proxies(w);
    put_slice_extension(w);
}

/* ---- the kernel's configuration -------------------------------------------------------------- */

static void note_option(const char *line)
{
    built.rt_groups |= !strncmp(line, "CONFIG_RT_GROUP_SCHED=y", 23);
    built.rt_groups_off |= !strncmp(line, "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y", 40);
    built.proxies |= !strncmp(line, "CONFIG_SCHED_PROXY_EXEC=y", 25);
}

static void put_wanted_lines(rts_wire *w, FILE *file)
{
    static const char *const wanted[] = {
        "CONFIG_HZ=",
        "CONFIG_PREEMPT",
        "CONFIG_NO_HZ",
        "CONFIG_RCU_NOCB_CPU",
        "CONFIG_IRQ_FORCED_THREADING",
        "CONFIG_HIGH_RES_TIMERS",
        "CONFIG_IRQ_TIME_ACCOUNTING",
        "CONFIG_PARAVIRT_TIME_ACCOUNTING",
        "CONFIG_RT_GROUP_SCHED",
        "CONFIG_SCHED_CLASS_EXT",
        "CONFIG_SCHED_PROXY_EXEC",
        "CONFIG_RSEQ_SLICE_EXTENSION",
    };
    rts_wire_open(w, "kernel.config", '[');
    for (char line[256]; fgets(line, sizeof line, file);)
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            if (!strncmp(line, wanted[i], strlen(wanted[i]))) {
                note_option(line);
                rts_wire_strn(w, NULL, line, (unsigned)strcspn(line, "\n"));
            }
    rts_wire_close(w, ']');
}

/* Writes the relevant configuration of the kernel, if it is readable. */
static void put_kernel_config(rts_wire *w)
{
    struct utsname u;
    char path[128];
    uname(&u);
    snprintf(path, sizeof path, "/boot/config-%s", u.release);
    FILE *file = fopen(path, "re");
    bool piped = !file;
    if (piped) /* NOLINTNEXTLINE(cert-env33-c,bugprone-command-processor): a constant command */
        file = popen("gzip -dc /proc/config.gz 2>/dev/null", "re");
    int c = file ? getc(file) : EOF;
    built.rt_groups = built.rt_groups_off = built.proxies = c == EOF ? -1 : 0;
    if (c == EOF) { /* unknown is different from empty */
        rts_wire_null(w, "kernel.config");
    } else {
        ungetc(c, file);
        put_wanted_lines(w, file);
    }
    if (file && piped)
        pclose(file);
    else if (file)
        fclose(file);
}

void rts_port_conditions(rts_wire *w)
{
    struct utsname u;
    rts_cpuset allowed;
    uname(&u);
    rts_wire_str(w, "kernel.release", u.release);
    rts_wire_str(w, "kernel.build", u.version);
    rts_wire_str(w, "machine.arch", u.machine);
    rts_wire_str(w, "machine.host", u.nodename);
    char libc[64];
    snprintf(libc, sizeof libc, "glibc %s, static", gnu_get_libc_version());
    rts_wire_str(w, "libc", libc);
    rts_wire_str(w, "heap", "glibc malloc, one arena; mmap from 128 KiB, which freed blocks raise");
    rts_port_cpus(&allowed);
    rts_wire_uint(w, "cpu.allowed", rts_cpuset_count(&allowed));
    linux_put_capacities(w);
    rts_wire_bool(w, "rights.realtime", posix_may_realtime());
    rts_wire_bool(w, "rights.nice", linux_has(CAP_SYS_NICE));
    rts_wire_bool(w, "rights.lock", linux_has(CAP_IPC_LOCK));
    rts_wire_uint(w, "rights.uid", getuid());
    rts_wire_bool(w, "rights.by_file", rts_port_guard() != NULL);
    if (linux_start.guest)
        rts_wire_uint(w, "guest.settled_ms", linux_start.settled_ms);
    put_fields(w);
    put_cpu_lines(w, rts_port_default_cpu());
    put_idle_states(w, rts_port_default_cpu());
    put_mitigations(w);
    put_virtualisation(w);
    put_kernel_config(w);
    put_scheduler(w);
}
