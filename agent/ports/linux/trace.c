/*
 * Traces a case by an instance of tracefs of its own, in which nobody else's tracing is disturbed.
 *
 * A sample above the limit writes a marker and stops recording; the agent, which a signal wakes,
 * reads the ring of that CPU as the kernel has it, page by page, keeps the last ones, and goes on.
 * Nothing is formatted here: the host knows the fields by the kernel's own descriptions.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "linux.h"
#include "steal.h"
#include "tracefs.h"

#define RING_KB "512"               /* for each CPU */
#define PAGES 16                    /* that a snapshot has at most */
#define LEAD_NS UINT64_C(100000000) /* that a snapshot begins before its sample, if it has room */
#define KEEP_MAX 16
#define CHUNK 3072 /* bytes of a snapshot in a record: 4096 characters */

static const char *const events[] = {
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "raw_syscalls/sys_enter",
    "raw_syscalls/sys_exit",
    /* interrupts that are none of the generic kind: x86, and those between CPUs of others */
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "irq_vectors/reschedule_entry",
    "irq_vectors/reschedule_exit",
    "irq_vectors/call_function_entry",
    "irq_vectors/call_function_exit",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/call_function_single_exit",
    "irq_vectors/irq_work_entry",
    "irq_vectors/irq_work_exit",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
};
#define EVENTS (sizeof events / sizeof events[0])

/* Shows what is missing of a task's time; used only where the hypervisor has ever stolen some. */
#define RUNTIME "sched/sched_stat_runtime"

/*
 * Where a real-time task is woken, the stack shows what the interrupt came into. Not for those of
 * priority 1: with PREEMPT_RT the kernel's own threads for timers and RCU have it.
 */
#define WAKING "events/sched/sched_waking/trigger"
#define STACK "stacktrace if prio < 98"

typedef struct snapshot {
    rts_hit hit;
    int cpu;
    unsigned pages;
    char stats[512]; /* of the ring, as the kernel words them */
    int64_t smi;     /* SMIs since the snapshot before, -1: not known */
    uint64_t smi_span_ns;
    unsigned char *data;
} snapshot;

static int own_dir = -1; /* of the instance; -1: there is none */

static struct {
    rts_trace *trace; /* of the case that is being traced */
    char name[INSTANCE_NAME];
    size_t page;         /* bytes */
    unsigned char *ring; /* PAGES of them */
    unsigned n;
    snapshot snapshots[KEEP_MAX];
    int cpu;         /* the first of those measured */
    bool runtime;    /* RUNTIME is recorded, too */
    int64_t smi;     /* count of SMIs at the snapshot before, or at the start; -1: not known */
    uint64_t smi_at; /* when it was read, ns */
} own;

/* ---- files ----------------------------------------------------------------------------------- */

static int open_own(const char *name, int flags)
{
    return openat(own_dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

static bool write_own(const char *name, const char *text)
{
    int fd = open_own(name, O_WRONLY);
    bool whole = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return whole;
}

/* Reads a small file of the instance as a text, "" if it is not readable. */
static void read_own(const char *name, char *text, size_t size)
{
    int fd = open_own(name, O_RDONLY);
    size_t used = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    text[used] = '\0';
}

static void forget(void)
{
    while (own.n)
        free(own.snapshots[--own.n].data);
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Makes the instance; returns -1 with the reason. */
static int make_instance(char *why, size_t size)
{
    uint64_t number;
    int instances = linux_open_instances();
    if (instances < 0) {
        snprintf(why, size,
                 errno ? "tracefs is for root alone here: measure as root"
                       : "no tracefs is mounted at /sys/kernel/tracing; as root: mount -t tracefs "
                         "tracefs /sys/kernel/tracing; if there is none, the kernel was built "
                         "without CONFIG_FTRACE");
        return -1;
    }
    if (!posix_random(&number))
        number = rts_time();
    linux_instance_prefix(own.name, sizeof own.name, posix_owner, posix_lock_file());
    size_t used = strlen(own.name);
    snprintf(own.name + used, sizeof own.name - used, "%016llx", (unsigned long long)number);
    if (mkdirat(instances, own.name, 0700))
        snprintf(why, size, "tracefs makes no instance: %s", strerror(errno));
    else if ((own_dir = posix_open_below(instances, own.name)) < 0)
        linux_remove_instance(instances, own.name);
    close(instances);
    return own_dir < 0 ? -1 : 0;
}

/* Writes the CPUs as the kernel reads a mask: groups of 32, the highest first. */
static bool set_cpus(const rts_cpuset *cpus)
{
    char text[RTS_CPUS / 32 * 9 + 1];
    size_t used = 0;
    for (unsigned group = RTS_CPUS / 32; group-- > 0;) {
        uint32_t bits = (uint32_t)(cpus->word[group / 2] >> 32 * (group % 2));
        if (bits || used || !group)
            used += (size_t)snprintf(text + used, sizeof text - used, used ? ",%08x" : "%x", bits);
    }
    return rts_cpuset_first(cpus) < 0 || write_own("tracing_cpumask", text);
}

static bool enable_events(void)
{
    char path[80];
    bool switches = false;
    for (size_t i = 0; i < EVENTS; i++) {
        snprintf(path, sizeof path, "events/%s/enable", events[i]);
        bool enabled = write_own(path, "1"); /* a kernel may be built without it */
        switches = switches || (enabled && i == 0);
    }
    return switches;
}

static void enable_runtime(const rts_cpuset *cpus)
{
    int stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    own.runtime = linux_steal_ns(stat, cpus) > 0 && write_own("events/" RUNTIME "/enable", "1");
    close_file(&stat);
}

static void count_smi(int64_t *grown, uint64_t *span_ns)
{
    int64_t smi = linux_smi(own.cpu);
    uint64_t now = rts_time_ns().ns;
    *grown = smi < own.smi || own.smi < 0 ? -1 : smi - own.smi;
    *span_ns = now - own.smi_at;
    own.smi = smi;
    own.smi_at = now;
}

static int set_up(rts_trace *t, const rts_cpuset *cpus, char *why, size_t size)
{
    const char *lacks = NULL;
    if (!write_own("tracing_on", "0") || !write_own("trace_clock", "mono"))
        lacks = "the clock 'mono'";
    else if (!write_own("buffer_size_kb", RING_KB))
        lacks = "memory for its rings";
    else if (!set_cpus(cpus))
        lacks = "the measured CPUs";
    else if (!enable_events())
        lacks = "the event sched_switch";
    else if (t->stacks && !write_own(WAKING, STACK))
        lacks = "triggers of events, which record stacks";
    enable_runtime(cpus);
    t->marker = open_own("trace_marker", O_WRONLY);
    t->gate = open_own("tracing_on", O_WRONLY);
    if (!lacks && (t->marker < 0 || t->gate < 0))
        lacks = "the file trace_marker";
    if (!lacks && write(t->gate, "1", 1) != 1)
        lacks = "the right to record";
    if (lacks)
        snprintf(why, size, "the kernel's tracefs lacks %s", lacks);
    return lacks ? -1 : 0;
}

int rts_port_trace_start(rts_trace *trace, const rts_cpuset *cpus, char *why, size_t size)
{
    forget();
    own.page = (size_t)sysconf(_SC_PAGESIZE);
    own.ring = own.ring ? own.ring : malloc(PAGES * own.page);
    trace->marker = trace->gate = -1;
    trace->agent = getpid();
    if (!own.ring) {
        snprintf(why, size, "no memory");
        return -1;
    }
    if (make_instance(why, size))
        return -1;
    own.trace = trace;
    own.cpu = rts_cpuset_first(cpus);
    own.smi = linux_smi(own.cpu);
    own.smi_at = rts_time_ns().ns;
    if (!set_up(trace, cpus, why, size))
        return 0;
    rts_port_trace_stop();
    return -1;
}

/* ---- a sample above the limit ---------------------------------------------------------------- */

/* In the measuring task: two short writes and a signal. */
void rts_port_trace_hit(rts_trace *t)
{
    char text[64];
    int n = rts_print(text, sizeof text, "rtstone %llu %llu %llu", (unsigned long long)t->hit.index,
                      (unsigned long long)t->hit.due, (unsigned long long)t->hit.stamp);
    t->cpu = sched_getcpu();
    (void)!write(t->marker, text, (size_t)n);
    (void)!write(t->gate, "0", 1);
    __atomic_store_n(&t->caught, 1, __ATOMIC_RELEASE);
    kill(t->agent, SIGCHLD); /* it waits for that anyway */
}

/* When the first event of a page was recorded: the first thing in it. */
static uint64_t time_of(const unsigned char *page)
{
    uint64_t time;
    memcpy(&time, page, sizeof time);
    return time;
}

/* Reads the ring of a CPU and empties it; of its pages the last ones remain. Returns how many. */
static unsigned read_ring(int cpu)
{
    char path[48];
    unsigned n = 0;
    snprintf(path, sizeof path, "per_cpu/cpu%d/trace_pipe_raw", cpu);
    int fd = open_own(path, O_RDONLY | O_NONBLOCK);
    while (fd >= 0 && read(fd, own.ring + n % PAGES * own.page, own.page) == (ssize_t)own.page)
        n++;
    close_file(&fd);
    return n;
}

/* Copies the pages from the one on in which `from` lies. */
static void keep_pages(snapshot *s, unsigned n, uint64_t from)
{
    unsigned first = n > PAGES ? n - PAGES : 0;
    while (first + 1 < n && time_of(own.ring + (first + 1) % PAGES * own.page) <= from)
        first++;
    s->data = malloc((n - first) * own.page + 1);
    s->pages = s->data ? n - first : 0;
    for (unsigned i = 0; i < s->pages; i++)
        memcpy(s->data + i * own.page, own.ring + (first + i) % PAGES * own.page, own.page);
}

static snapshot *least_snapshot(void)
{
    snapshot *least = &own.snapshots[0];
    for (unsigned i = 1; i < own.n; i++)
        if (own.snapshots[i].hit.net < least->hit.net)
            least = &own.snapshots[i];
    return least;
}

/* Returns the place for a snapshot: a new one, or that of the smallest sample. */
static snapshot *snapshot_place(unsigned keep)
{
    if (own.n < keep && own.n < KEEP_MAX)
        return &own.snapshots[own.n++];
    free(least_snapshot()->data);
    return least_snapshot();
}

static void collect(rts_trace *t)
{
    char path[48];
    snapshot *s = snapshot_place(t->keep);
    *s = (snapshot){.hit = t->hit, .cpu = t->cpu};
    snprintf(path, sizeof path, "per_cpu/cpu%d/stats", s->cpu);
    read_own(path, s->stats, sizeof s->stats);
    for (char *c = s->stats; (c = strchr(c, '\n'));)
        *c = ' ';
    keep_pages(s, read_ring(s->cpu), s->hit.due - LEAD_NS);
    count_smi(&s->smi, &s->smi_span_ns);
    if (own.n == t->keep)
        t->above = least_snapshot()->hit.net + 1;
}

void linux_watch_trace(void)
{
    rts_trace *t = own.trace;
    if (!t || !__atomic_exchange_n(&t->caught, 0, __ATOMIC_ACQUIRE))
        return;
    collect(t);
    (void)!write(t->gate, "1", 1);
    __atomic_store_n(&t->armed, 1, __ATOMIC_RELEASE);
}

unsigned rts_port_trace_stop(void)
{
    rts_trace *t = own.trace;
    if (!t)
        return own.n;
    linux_watch_trace();
    own.trace = NULL;
    close_file(&t->marker);
    close_file(&t->gate);
    close_file(&own_dir);
    int instances = linux_open_instances();
    if (instances >= 0 && !linux_remove_instance(instances, own.name))
        rts_log("warn", "the tracing instance %s cannot be removed: %s", own.name, strerror(errno));
    close_file(&instances);
    return own.n;
}

/* ---- to the host ----------------------------------------------------------------------------- */

/* Encodes in base 64; returns the number of characters. */
static unsigned encode(const unsigned char *from, size_t n, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *at = to;
    for (size_t i = 0; i < n; i += 3, at += 4) {
        uint32_t three = (uint32_t)from[i] << 16 | (i + 1 < n ? (uint32_t)from[i + 1] << 8 : 0) |
                         (i + 2 < n ? from[i + 2] : 0);
        for (unsigned k = 0; k < 4; k++)
            at[k] = i + k <= n ? digits[three >> (18 - 6 * k) & 63] : '=';
    }
    return (unsigned)(at - to);
}

static void send_snapshot(uint64_t id, const snapshot *s)
{
    static char text[CHUNK / 3 * 4];
    size_t bytes = s->pages * own.page;
    uint64_t span_ns;
    int64_t steal_ns = linux_steal_around(s->hit.due, s->hit.stamp, &span_ns);
    while (bytes && !s->data[bytes - 1]) /* the end of the last page */
        bytes--;
    for (size_t at = 0; at == 0 || at < bytes; at += CHUNK) {
        size_t n = bytes - at < CHUNK ? bytes - at : CHUNK;
        rts_wire *w = rts_wire_begin("snapshot");
        rts_wire_uint(w, "id", id);
        rts_wire_str(w, "series", s->hit.series);
        rts_wire_uint(w, "index", s->hit.index);
        rts_wire_uint(w, "value", s->hit.value);
        rts_wire_uint(w, "due", s->hit.due);
        rts_wire_uint(w, "stamp", s->hit.stamp);
        rts_wire_int(w, "cpu", s->cpu);
        rts_wire_uint(w, "page", own.page);
        rts_wire_str(w, "stats", at ? "" : s->stats);
        rts_wire_optional(w, "steal_ns", steal_ns);
        rts_wire_uint(w, "steal_span_ns", span_ns);
        rts_wire_optional(w, "smi", s->smi);
        rts_wire_uint(w, "smi_span_ns", s->smi_span_ns);
        rts_wire_uint(w, "bytes", bytes);
        rts_wire_uint(w, "at", at);
        rts_wire_strn(w, "data", text, encode(s->data + at, n, text));
        rts_wire_end(w);
    }
}

/* Sends the fields of an event, on one line; nothing if the kernel does not have it. */
static void send_event(uint64_t id, int events_dir, const char *name, const char *file)
{
    char text[4096], path[80];
    snprintf(path, sizeof path, "%s%s", name, file);
    int fd = openat(events_dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close_file(&fd);
    if (n <= 0)
        return;
    text[n] = '\0';
    char *end = strstr(text, "\nprint fmt"), *to = text;
    if (end)
        *end = '\0';
    for (const char *from = text; *from; from++)
        if (*from != '\t')
            *to++ = *from == '\n' ? ' ' : *from;
    rts_wire *w = rts_wire_begin("event");
    rts_wire_uint(w, "id", id);
    rts_wire_str(w, "name", name);
    rts_wire_strn(w, "format", text, (unsigned)(to - text));
    rts_wire_end(w);
}

void rts_port_trace_send(uint64_t id)
{
    int instances = own.n ? linux_open_instances() : -1;
    int dir = instances < 0
                  ? -1
                  : openat(instances, "../events", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close_file(&instances);
    if (dir >= 0) {
        send_event(id, dir, "header_page", "");
        send_event(id, dir, "ftrace/print", "/format");
        send_event(id, dir, "ftrace/kernel_stack", "/format");
        for (size_t i = 0; i < EVENTS; i++)
            send_event(id, dir, events[i], "/format");
        if (own.runtime)
            send_event(id, dir, RUNTIME, "/format");
    }
    close_file(&dir);
    for (unsigned i = 0; i < own.n; i++) {
        send_snapshot(id, &own.snapshots[i]);
        linux_symbols_want(own.snapshots[i].data, own.snapshots[i].pages * own.page);
    }
    linux_symbols_send(id);
}
