/* Scheduling by deadline. */
#include <linux/capability.h>
#include <stdio.h>

#include "linux.h"

/* As defined by the kernel; C libraries have no wrapper for it, or have one under this name. */
typedef struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* ns */
} sched_attributes;

#define POLICY_DEADLINE 6

int linux_set_own_deadline(uint64_t runtime, uint64_t period, uint64_t flags)
{
    sched_attributes attr = {.size = sizeof attr,
                             .policy = POLICY_DEADLINE,
                             .flags = flags,
                             .runtime = runtime,
                             .deadline = period,
                             .period = period};
    return syscall(SYS_sched_setattr, 0, &attr, 0) ? -errno : 0;
}

int rts_task_set_own_deadline(uint64_t runtime, uint64_t period)
{
    return linux_set_own_deadline(runtime, period, 0);
}

/*
 * Tries it, and goes back to how the calling task is scheduled. With all of a CPU's time: the
 * kernel looks first at who asks and where it may run, and then says -EBUSY, or it schedules a task
 * that is never out of time. One with little time might have to wait for seconds before it can go
 * back.
 */
static int try_here(void)
{
    struct sched_param before = {0};
    int policy = sched_getscheduler(0);
    /* First the way back: a task that stays what it is to become may not fork. */
    if (policy < 0 || sched_getparam(0, &before) || sched_setscheduler(0, policy, &before))
        return -errno;
    int err = rts_task_set_own_deadline(RTS_TIME_HZ / 10, RTS_TIME_HZ / 10);
    if (!err && sched_setscheduler(0, policy, &before))
        err = -errno;
    return err;
}

/* Returns the error of a first attempt, which is the only one. */
static int try_deadline(void)
{
    static int err = 1; /* not tried: errors are negative */
    if (err > 0)
        err = try_here();
    return err;
}

/*
 * EBUSY: other tasks have reserved the CPU time that is left to deadlines. That is so for a moment,
 * and for a case that meets it to say: a target would seem to be another one when it has passed.
 */
bool linux_may_deadline(void)
{
    return !try_deadline() || try_deadline() == -EBUSY;
}

static bool uses_all_cpus(void)
{
    rts_cpuset cpus;
    rts_port_cpus(&cpus);
    return (long)rts_cpuset_count(&cpus) >= sysconf(_SC_NPROCESSORS_ONLN);
}

/*
 * Admission control looks at all CPUs that share their deadlines, a root domain, together: it
 * refuses a task that may not use each of them.
 */
const char *rts_port_why_no_deadline(int error)
{
    switch (error) {
    case -EPERM:
        if (!linux_has(CAP_SYS_NICE))
            return "no right to SCHED_DEADLINE: it takes CAP_SYS_NICE, and a limit of rtprio is "
                   "not enough; measure as root";
        return uses_all_cpus() ? LINUX_REFUSED("SCHED_DEADLINE")
                               : "admission control refuses a task that may not use all CPUs of "
                                 "its root domain: measure without taskset and outside of cpusets";
    case -EBUSY:
        return "other tasks have reserved the CPU time that is left to deadlines";
    case -ENOSYS:
        return "the kernel has no SCHED_DEADLINE";
    default:
        return rts_port_strerror(error);
    }
}

const char *linux_why_no_deadline(void)
{
    return rts_port_why_no_deadline(try_deadline());
}

const char *rts_port_allow_deadlines(int cpu)
{
    static char why[RTS_REASON];
    int err = try_here();
    if (err == -EPERM && cpu >= 0 && linux_has(CAP_SYS_NICE)) {
        const char *partition = linux_enter_partition(cpu);
        if (partition) {
            snprintf(
                why, sizeof why,
                "admission control refuses a task bound to one of several CPUs (no partition of "
                "its own: %s); use config=2cpu, or `rtstone tune apply --only rt_throttling`",
                partition);
            return why;
        }
        err = try_here();
    }
    return err && err != -EBUSY ? rts_port_why_no_deadline(err) : NULL;
}
