/* Sets of CPUs (port.h). */
#include "port.h"

bool rts_cpuset_has(const rts_cpuset *set, unsigned cpu)
{
    return cpu < RTS_CPUS && (set->word[cpu / 64] >> cpu % 64 & 1);
}

void rts_cpuset_add(rts_cpuset *set, unsigned cpu)
{
    if (cpu < RTS_CPUS)
        set->word[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

unsigned rts_cpuset_count(const rts_cpuset *set)
{
    unsigned n = 0;
    for (unsigned i = 0; i < RTS_CPUS / 64; i++)
        n += (unsigned)__builtin_popcountll(set->word[i]);
    return n;
}

int rts_cpuset_first(const rts_cpuset *set)
{
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(set, cpu))
            return (int)cpu;
    return -1;
}
