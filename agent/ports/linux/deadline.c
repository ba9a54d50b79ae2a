/* Scheduling by deadline. */
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

int rts_task_set_own_deadline(uint64_t runtime, uint64_t period)
{
    sched_attributes attr = {.size = sizeof attr,
                             .policy = POLICY_DEADLINE,
                             .runtime = runtime,
                             .deadline = period,
                             .period = period};
    return syscall(SYS_sched_setattr, 0, &attr, 0) ? -errno : 0;
}

/*
 * EBUSY: other tasks have reserved the CPU time that is left to deadlines. That is so for a moment,
 * and for a case that meets it to say: a target would seem to be another one when it has passed.
 */
bool linux_may_deadline(void)
{
    static int may = -1;
    if (may < 0) {
        struct sched_param back = {0};
        int err = rts_task_set_own_deadline(RTS_TIME_HZ / 1000, RTS_TIME_HZ / 10);
        if (!err)
            sched_setscheduler(0, SCHED_OTHER, &back);
        may = !err || err == -EBUSY;
    }
    return may;
}
