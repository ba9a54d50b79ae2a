/* Shared by the files of the Linux port, in addition to posix.h. */
#ifndef RTS_LINUX_H
#define RTS_LINUX_H

#include "posix.h"

/*
 * Returns whether this process may use deadline scheduling. Must first be called while the process
 * may still run on all its CPUs: the kernel rejects a task that is bound to some of them.
 */
bool linux_may_deadline(void);

/* Returns why it may not. */
const char *linux_why_no_deadline(void);

/* rts_task_set_own_deadline() with flags, those of linux/sched.h. */
int linux_set_own_deadline(uint64_t runtime, uint64_t period, uint64_t flags);
#define LINUX_RESET_ON_FORK 1 /* children are time-sharing tasks */
#define LINUX_RECLAIM 2       /* use what is reserved for nobody, too */

/* Returns whether a capability of linux/capability.h is held. */
bool linux_has(int capability);

/* Returns a CPU that the agent could use when it started, and no more; -1: there is none. */
int linux_lost_cpu(void);

/* The reason if a call is refused despite the rights to it: the host finds the cause. */
#define LINUX_REFUSED(action)                                                                      \
    action " is refused, but not for want of a capability: `rtstone doctor` names the cause"

/*
 * Moves this process, a case bound to one CPU, and a load's workers on that CPU into a partition of
 * its own; returns NULL, or why there can be none.
 */
const char *linux_enter_partition(int cpu);

/*
 * Removes the control groups that cases of agent `number` made, a partition or others (groups.h),
 * and moves what is left in them back.
 */
void linux_remove_groups(long number);

/* Executed under exactly this name, the agent's own file exits at once. */
#define LINUX_CHILD_PROGRAM "rtstone-child"

#define LINUX_SCHED "/sys/kernel/debug/sched"

/* A deadline server: the ns of each period in which it may run other tasks before real-time ones.
 */
typedef struct linux_server {
    long long runtime, period;
} linux_server;

/*
 * Reads the server called `name` of a CPU, fair_server or ext_server (since Linux 6.12 and 7.0).
 * Returns 1 on success, 0 if the kernel has no such servers, -1 if that cannot be read.
 */
int linux_read_server(const char *name, int cpu, linux_server *server);

extern char linux_idle_state[96]; /* result of posix_hold_idle(), for the conditions */

/*
 * Run first by an agent that may do more than its user: drops the user's environment, and keeps its
 * capabilities from what it executes.
 */
void linux_guard(void);

/* From here on, uses small pages, so that each has a page fault of its own. */
void linux_small_pages(void);

/* A lock file of another agent, or a file that pretends to be one. */
typedef struct linux_lock {
    long number;
    pid_t pid; /* process that it claims to belong to */
    uid_t user;
    struct timespec created; /* or last written */
} linux_lock;

/*
 * Lists lock files, at most `most` of them; returns their number, or -1 if they cannot be listed.
 */
int linux_other_locks(linux_lock *lock, int most);
bool linux_is_held(long number); /* by an agent of this user */

/*
 * Returns the time stolen from these CPUs so far, read from a file that is /proc/stat, in steps of
 * clock ticks (usually 10 ms); -1: not known.
 */
int64_t linux_steal_ns(int file, const rts_cpuset *cpus);

/*
 * Finds the control groups whose limits to CPU time bind this process; then returns in how many of
 * their periods tasks were held back by a quota so far, -1: not known.
 */
void linux_quota_open(void);
int64_t linux_quota_periods(void);

/* Writes the quotas, and the budgets of real-time tasks, for the conditions. */
void linux_put_quota(rts_wire *w);

/*
 * Reads a file that holds a list of CPUs such as 0-2,4, or nothing; of more than RTS_CPUS those
 * with the lowest numbers. false: it is not readable, or no such list, and the set is empty.
 */
bool linux_read_cpus(const char *path, rts_cpuset *set);

/*
 * Returns the place of a CPU's kind among the kinds there are, 0: the largest. 0 for all CPUs if
 * they are alike, or the system does not show it.
 */
unsigned linux_capacity_rank(unsigned cpu);

/* Writes what the system shows of the kinds of CPUs, for the conditions. */
void linux_put_capacities(rts_wire *w);

/* Returns the count of system management interrupts of a CPU, -1 if it is not readable. */
int64_t linux_smi(int cpu);

/* Collects the snapshot of a traced case, if there is one. */
void linux_watch_trace(void);

/* Finds the names of those words in a trace that may be addresses of the kernel's functions. */
void linux_symbols_want(const unsigned char *data, size_t bytes);
void linux_symbols_send(uint64_t id); /* as records of the case, and forgets them */

/* How the agent of a guest started, whose first process it is (init.c). */
typedef struct linux_start_info {
    bool guest;
    bool measured;       /* the first case measures the start, so the guest has not settled yet */
    unsigned settled_ms; /* from when the guest was complete until the agent began */
    rts_tick entered;    /* the counter, which is 0 at reset, when the first process began */
} linux_start_info;

extern linux_start_info linux_start;

/* A process, as shown by /proc. */
typedef struct linux_process {
    pid_t pid, parent, group;
    char state;
    unsigned long cpu_clocks;        /* of it and its ended children, in clock ticks of sysconf() */
    unsigned long long start_clocks; /* after system start */
} linux_process;

/* Returns false if the process no longer exists. */
bool linux_read_process(pid_t pid, linux_process *p);

/*
 * Finds the process `root` (0: none), the members of `group` (0: none) and all their descendants.
 * Returns their number; they are in linux_family until the next call.
 */
unsigned linux_find_family(pid_t root, pid_t group);
extern linux_process linux_family[];

#endif
