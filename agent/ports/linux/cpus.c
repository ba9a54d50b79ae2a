/* The CPUs that tasks run on. */
#include <string.h>

#include "linux.h"

#define LARGEST_SET (1u << 16) /* bytes: more CPUs than any kernel is built for */

/*
 * Sets of the kernel's size: sched_getaffinity() refuses one that is smaller than that, however few
 * CPUs there are. The caller frees them; NULL: no memory, or not readable.
 */
static cpu_set_t *new_set(size_t bytes)
{
    cpu_set_t *set = malloc(bytes);
    if (set)
        memset(set, 0, bytes);
    return set;
}

static cpu_set_t *allowed_set(size_t *bytes)
{
    for (*bytes = RTS_CPUS / 8; *bytes <= LARGEST_SET; *bytes *= 2) {
        cpu_set_t *set = new_set(*bytes);
        if (!set || !sched_getaffinity(0, *bytes, set))
            return set;
        int err = errno;
        free(set);
        if (err != EINVAL)
            break;
    }
    return NULL;
}

/* Returns the CPUs that the agent was started with; its own bindings do not count. */
void rts_port_cpus(rts_cpuset *set)
{
    static rts_cpuset allowed;
    static bool cached;
    size_t bytes;
    cpu_set_t *affinity = cached ? NULL : allowed_set(&bytes);
    for (unsigned cpu = 0; affinity && cpu < RTS_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, bytes, affinity))
            rts_cpuset_add(&allowed, cpu);
    if (!cached && !affinity)
        rts_log("warn", "the CPUs of the agent cannot be read: %s", strerror(errno));
    free(affinity);
    cached = true;
    *set = allowed;
}

int posix_bind(const rts_cpuset *cpus)
{
    cpu_set_t *set = new_set(RTS_CPUS / 8);
    if (!set)
        return -ENOMEM;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(cpus, cpu))
            CPU_SET_S(cpu, RTS_CPUS / 8, set);
    int err = sched_setaffinity(0, RTS_CPUS / 8, set) ? -errno : 0;
    free(set);
    return err;
}

int posix_bind_thread(pthread_attr_t *attr, int cpu)
{
    cpu_set_t target;
    CPU_ZERO(&target);
    CPU_SET((unsigned)cpu, &target);
    return -pthread_attr_setaffinity_np(attr, sizeof target, &target);
}

/* A cpuset can forbid CPUs that the kernel lists as isolated. */
static bool may_use(int cpu)
{
    size_t bytes;
    cpu_set_t target, *before = allowed_set(&bytes);
    CPU_ZERO(&target);
    CPU_SET((unsigned)cpu, &target);
    bool may = before && sched_setaffinity(0, sizeof target, &target) == 0;
    if (may)
        sched_setaffinity(0, bytes, before);
    free(before);
    return may;
}

int linux_lost_cpu(void)
{
    rts_cpuset allowed;
    rts_port_cpus(&allowed);
    for (int cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(&allowed, (unsigned)cpu) && !may_use(cpu))
            return cpu;
    return -1;
}

/* Reads which CPUs are isolated, of which a cpuset may forbid some. */
static void read_isolated(rts_cpuset *set)
{
    linux_read_cpus("/sys/devices/system/cpu/isolated", set);
}

void rts_port_usable_cpus(rts_cpuset *set)
{
    rts_cpuset isolated;
    rts_port_cpus(set);
    read_isolated(&isolated);
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(&isolated, cpu) && may_use((int)cpu))
            rts_cpuset_add(set, cpu);
}

static unsigned smallest_rank(const rts_cpuset *set)
{
    unsigned rank = 0;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(set, cpu) && linux_capacity_rank(cpu) > rank)
            rank = linux_capacity_rank(cpu);
    return rank;
}

/*
 * Returns the last of the largest CPUs of a set that the agent may use: interrupts prefer the
 * first. -1: it may use none. A try moves the caller, so there is one as a rule.
 */
static int last_of_largest(const rts_cpuset *set, bool try)
{
    unsigned ranks = smallest_rank(set) + 1;
    for (unsigned rank = 0; rank < ranks; rank++)
        for (int cpu = RTS_CPUS - 1; cpu >= 0; cpu--)
            if (rts_cpuset_has(set, (unsigned)cpu) && linux_capacity_rank((unsigned)cpu) == rank &&
                (!try || may_use(cpu)))
                return cpu;
    return -1;
}

/* Returns one of the isolated CPUs, or else of the allowed ones. */
int rts_port_default_cpu(void)
{
    rts_cpuset isolated, allowed;
    read_isolated(&isolated);
    int cpu = last_of_largest(&isolated, true);
    if (cpu >= 0)
        return cpu;
    rts_port_cpus(&allowed);
    cpu = last_of_largest(&allowed, false);
    return cpu < 0 ? 0 : cpu;
}
