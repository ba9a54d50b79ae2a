/* The agent's CPUs under a kernel for more of them than a set of the usual size has. */
#include <errno.h>
#include <sched.h>

#include "check.h"
#include "port.h"
#include "posix.h"

#define LEAST 4096 /* bytes: as a kernel for 32768 CPUs wants */

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
int __real_sched_getaffinity(pid_t task, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t task, size_t size, cpu_set_t *set);
/* NOLINTEND(misc-use-internal-linkage) */

int __wrap_sched_getaffinity(pid_t task, size_t size, cpu_set_t *set)
{
    if (size >= LEAST)
        return __real_sched_getaffinity(task, size, set);
    errno = EINVAL;
    return -1;
}

static void test_all_are_there(void)
{
    rts_cpuset cpus;
    cpu_set_t allowed;
    CHECK_EQ(__real_sched_getaffinity(0, sizeof allowed, &allowed), 0);
    rts_port_cpus(&cpus);
    CHECK_EQ(rts_cpuset_count(&cpus), CPU_COUNT(&allowed));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CHECK(rts_cpuset_has(&cpus, (unsigned)cpu) == !!CPU_ISSET(cpu, &allowed));
    CHECK_EQ(posix_bind(&cpus), 0);
}

TESTS(test_all_are_there)
