/* What a POSIX system is and allows: capabilities, errors, CPUs. */
#include <string.h>

#include "posix.h"

posix_options posix_option;

static bool has_second_cpu(void)
{
    rts_cpuset cpus;
    rts_port_cpus(&cpus);
    return rts_cpuset_count(&cpus) > 1;
}

/* Asks for a set of no semaphores, which is refused: for its size, or because there are none. */
static bool has_sets(void)
{
    return semget(IPC_PRIVATE, 0, 0) < 0 && errno == EINVAL;
}

uint32_t rts_port_caps(void)
{
    uint32_t caps = RTS_CAP_PROCESS | RTS_CAP_SEM_PSHARED | RTS_CAP_HEAP | RTS_CAP_CLOCK_LIBRARY |
                    RTS_CAP_LOCK_PROTECT | RTS_CAP_CPU_TIME | RTS_CAP_SIGNALS | RTS_CAP_FILES |
                    RTS_CAP_NETWORK | RTS_CAP_POSIX | RTS_CAP_RWLOCK | RTS_CAP_BARRIER |
                    RTS_CAP_SPIN;
    if (posix_may_realtime())
        caps |= RTS_CAP_PRIORITIES | RTS_CAP_ROUND_ROBIN;
    if (has_second_cpu())
        caps |= RTS_CAP_SMP;
    if (!posix_option.drain && posix_may_be_cold())
        caps |= RTS_CAP_COLD;
    if (has_sets())
        caps |= RTS_CAP_SEM_SYSV;
    return caps | posix_system_caps();
}

const char *rts_port_strerror(int error)
{
    if (error < 0)
        error = -error;
    const char *hint = posix_hint(error);
    return hint ? hint : strerror(error);
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

/* Binds the caller to the allowed CPUs outside `measured`; false: there are none. */
static bool leave(const rts_cpuset *measured)
{
    rts_cpuset rest;
    rts_port_cpus(&rest);
    for (unsigned i = 0; i < RTS_CPUS / 64; i++)
        rest.word[i] &= ~measured->word[i];
    return rts_cpuset_count(&rest) > 0 && posix_bind(&rest) == 0;
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
    rts_cpuset target = {{0}};
    if (cpu < 0) {
        leave(&target);
        return;
    }
    rts_cpuset_add(&target, (unsigned)cpu);
    posix_bind(&target);
}
