/* The CPUs that tasks run on. */
#include <string.h>

#include "linux.h"

/* Returns the CPUs that the agent was started with; its own bindings do not count. */
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

int posix_bind(const rts_cpuset *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned cpu = 0; cpu < RTS_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (rts_cpuset_has(cpus, cpu))
            CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) ? -errno : 0;
}

int posix_bind_thread(pthread_attr_t *attr, int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    return -pthread_attr_setaffinity_np(attr, sizeof one, &one);
}

/* A cpuset can forbid CPUs that the kernel lists as isolated. */
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

/* Returns the last isolated CPU, or else the last allowed one: interrupts prefer the first. */
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
