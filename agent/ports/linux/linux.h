/* What the files of the Linux port share beside posix.h. */
#ifndef RTS_LINUX_H
#define RTS_LINUX_H

#include "posix.h"

/*
 * True if this process may have its tasks scheduled by deadline.  Asked first while it may still
 * run on all its CPUs: the kernel refuses a task that is bound to some of them.
 */
bool linux_may_deadline(void);

/* The agent's own file, executed under this name alone, ends at once. */
#define LINUX_CHILD_PROGRAM "rtstone-child"

extern char linux_idle_state[96]; /* what came of posix_hold_idle(), for the conditions */

/*
 * What an agent does first if it may do more than its user: its user's environment goes, and its
 * capabilities stay with it.
 */
void linux_guard(void);

/* Small pages from here on, each with a fault of its own, and not one for many. */
void linux_small_pages(void);

/* A lock file of another agent, or what somebody wants to be taken for one. */
typedef struct linux_lock {
    long number;
    pid_t pid; /* that it should be of */
    uid_t user;
    struct timespec made; /* or last written to */
} linux_lock;

/* The lock files there are, `most` of them; how many there are, or -1: they are not to be seen. */
int linux_other_locks(linux_lock *lock, int most);
bool linux_is_held(long number); /* one of this user's */

/* One process, as /proc shows it. */
typedef struct linux_process {
    pid_t pid, parent, group;
    char state;
    unsigned long cpu_clocks;        /* of it and its ended children, in clock ticks of sysconf() */
    unsigned long long start_clocks; /* after the system's */
} linux_process;

/* False: it is gone. */
bool linux_read_process(pid_t pid, linux_process *p);

/*
 * The process `root` (0: none), the members of `group` (0: none) and all that descend from them;
 * how many, in linux_family, until the next call.
 */
unsigned linux_find_family(pid_t root, pid_t group);
extern linux_process linux_family[];

#endif
