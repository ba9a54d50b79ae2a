/*
 * Kinds of CPUs: big and LITTLE ones, performance and efficiency cores.
 *
 * Linux states the capacity of a CPU, relative to 1024 of the largest (cpu_capacity, see the
 * kernel's Documentation/scheduler/sched-capacity.rst). CPUs of one kind may differ by a few
 * percent, as some are allowed a higher turbo, so those within a tenth of the largest of a kind
 * are of that kind. On hybrid processors with SMT all have 1024 there; the events that they count
 * then distinguish them (cpu_core, cpu_atom). rtstone/documents/capacity.py applies the same rules.
 */
#include <stdio.h>

#include "linux.h"

#define CPU "/sys/devices/system/cpu/"
#define LARGEST 1024 /* SCHED_CAPACITY_SCALE */

/* The types of cores that have counters of their own, the largest first. */
static const char *const types[] = {"core", "atom", "lowpower"};
#define TYPES (sizeof types / sizeof types[0])

static struct {
    bool read, capacities, types; /* whether these are known of all CPUs that are online */
    rts_cpuset online;
    uint16_t capacity[RTS_CPUS];
    uint8_t type[RTS_CPUS]; /* index of types */
    uint16_t rank[RTS_CPUS];
} machine;

static bool is_online(unsigned cpu)
{
    return rts_cpuset_has(&machine.online, cpu);
}

static bool read_capacities(void)
{
    char path[64], line[32];
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
        const char *s = line;
        long long capacity;
        if (!is_online(cpu))
            continue;
        snprintf(path, sizeof path, CPU "cpu%u/cpu_capacity", cpu);
        if (!posix_read_line(path, line, sizeof line) || !posix_number(&s, &capacity) || *s ||
            capacity < 1 || capacity > LARGEST)
            return false;
        machine.capacity[cpu] = (uint16_t)capacity;
    }
    return rts_cpuset_first(&machine.online) >= 0;
}

/* Each CPU has to be in one of the lists, and in one only. */
static bool read_types(void)
{
    rts_cpuset those, listed = {{0}};
    char path[64];
    for (unsigned type = 0; type < TYPES; type++) {
        snprintf(path, sizeof path, "/sys/devices/cpu_%s/cpus", types[type]);
        if (!linux_read_cpus(path, &those))
            continue;
        for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
            if (!is_online(cpu) || !rts_cpuset_has(&those, cpu))
                continue;
            if (rts_cpuset_has(&listed, cpu))
                return false;
            rts_cpuset_add(&listed, cpu);
            machine.type[cpu] = (uint8_t)type;
        }
    }
    return rts_cpuset_first(&machine.online) >= 0 &&
           rts_cpuset_count(&listed) == rts_cpuset_count(&machine.online);
}

/*
 * Ranks the CPUs by capacity, the largest kind first; returns the number of kinds. What is left of
 * a kind for smaller ones is ranked anew.
 */
static unsigned rank_by_capacity(void)
{
    unsigned kinds = 0;
    for (unsigned below = LARGEST + 1;; kinds++) {
        unsigned most = 0;
        for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
            if (machine.capacity[cpu] < below && machine.capacity[cpu] > most)
                most = machine.capacity[cpu];
        if (!most)
            return kinds;
        for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
            if (machine.capacity[cpu] < below)
                machine.rank[cpu] = (uint16_t)kinds;
        below = (most * 9 + 9) / 10;
    }
}

static void read_once(void)
{
    if (machine.read)
        return;
    machine.read = true;
    if (!linux_read_cpus(CPU "online", &machine.online))
        return;
    machine.capacities = read_capacities();
    machine.types = read_types();
    if (machine.capacities && rank_by_capacity() > 1)
        return;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        machine.rank[cpu] = machine.types ? machine.type[cpu] : 0;
}

unsigned linux_capacity_rank(unsigned cpu)
{
    read_once();
    return cpu < RTS_CPUS ? machine.rank[cpu] : 0;
}

static unsigned type_of(unsigned cpu)
{
    return machine.type[cpu];
}

static unsigned capacity_of(unsigned cpu)
{
    return machine.capacity[cpu];
}

/* Writes one of these of all CPUs online, as ["0-3: 446", "4-7: 1024"]; null: not machine. */
static void put(rts_wire *w, const char *key, bool all, unsigned (*value)(unsigned cpu),
                const char *const *names)
{
    char entry[48];
    if (!all) {
        rts_wire_null(w, key);
        return;
    }
    rts_wire_open(w, key, '[');
    for (unsigned cpu = 0, end; cpu < RTS_CPUS; cpu = end) {
        end = cpu + 1;
        if (!is_online(cpu))
            continue;
        while (is_online(end) && value(end) == value(cpu))
            end++;
        int n = snprintf(entry, sizeof entry, end - cpu > 1 ? "%u-%u" : "%u", cpu, end - 1);
        if (names)
            snprintf(entry + n, sizeof entry - (size_t)n, ": %s", names[value(cpu)]);
        else
            snprintf(entry + n, sizeof entry - (size_t)n, ": %u", value(cpu));
        rts_wire_str(w, NULL, entry);
    }
    rts_wire_close(w, ']');
}

void linux_put_capacities(rts_wire *w)
{
    read_once();
    put(w, "cpu.capacity", machine.capacities, capacity_of, NULL);
    put(w, "cpu.types", machine.types, type_of, types);
}
