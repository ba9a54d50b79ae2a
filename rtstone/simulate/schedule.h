/*
 * The schedule of a task set's jobs under the policies of POSIX and Linux, on several processors
 * and with what a system costs (docs/guides/tasks.md has the rules).
 *
 * engine.c answers for millions of random sets under one policy each; here every task has its own
 * policy, every job its release, and every resource its protocol.  Time is a whole number of ns.
 * The same input gives the same output.  The layout of the struct is repeated in
 * rtstone/tasks/simulation.py: change both.
 */
#ifndef RTS_SCHEDULE_H
#define RTS_SCHEDULE_H

#include <stdint.h>

enum { SCHEDULE_FIFO, SCHEDULE_RR, SCHEDULE_DEADLINE, SCHEDULE_OTHER };

enum {
    SCHEDULE_NONE,    /* who holds it keeps its own priority */
    SCHEDULE_INHERIT, /* who waits lends its urgency to who it waits for */
    SCHEDULE_PROTECT, /* who holds it has its ceiling: PTHREAD_PRIO_PROTECT */
    SCHEDULE_CEILING, /* inherits; taken only above the ceilings of all that others hold (Sha,
                         Rajkumar, Lehoczky 1990) */
};

enum {
    SCHEDULE_POLLING,    /* budget at each period, gone once nobody waits */
    SCHEDULE_DEFERRABLE, /* budget at each period, kept until its end */
    SCHEDULE_SPORADIC,   /* what was used comes back a period after it began to be */
    SCHEDULE_CBS,        /* by deadline; what is used up comes back at that (SCHED_DEADLINE) */
};

/* Arrays have `tasks` entries unless said otherwise. */
typedef struct schedule_set {
    int64_t tasks, cpus; /* at most 62 CPUs */
    int64_t end;         /* nothing happens from then on */
    int64_t quantum;     /* of SCHEDULE_RR */
    const int64_t *policy;
    const int64_t *level;    /* larger is more urgent */
    const int64_t *deadline; /* after the release; of SCHEDULE_DEADLINE */
    const int64_t *affinity; /* a bit for each CPU that it may run on */
    const int64_t *waker;    /* the task whose jobs' ends release its jobs; -1: none */
    const int64_t *server;   /* whose budget its jobs take; -1: none */
    const int64_t *first;    /* tasks + 1: where its jobs begin in `release` and `work` */
    const int64_t *release;  /* of each job, in order; of woken tasks not looked at */
    const int64_t *work;     /* of each job, at least 1 */
    /* Critical sections; those of a task that begin together: the outer one first. */
    const int64_t *use_first; /* tasks + 1 */
    const int64_t *use_resource, *use_after, *use_length;
    int64_t resources;
    const int64_t *protocol, *ceiling; /* resources: the highest level of its users */
    int64_t servers;
    const int64_t *server_kind, *server_level, *server_budget, *server_period, *server_affinity;
    /* What the system costs: each array's numbers are taken in turn, 0 of them: nothing. */
    int64_t switches; /* each time a CPU goes to another task */
    const int64_t *switch_cost;
    int64_t resumes; /* work that a job has to do again after another had its CPU */
    const int64_t *resume_cost;
    const int64_t *steal_first; /* cpus + 1: where its stolen times begin; in order */
    const int64_t *steal_at, *steal_length;
    int64_t rt_runtime, rt_period; /* all but SCHEDULE_DEADLINE and SCHEDULE_OTHER; 0: no limit */
} schedule_set;

/*
 * Makes the schedule.  Of each job: `begun`, when it first had a CPU, `ended`, and `released`; -1:
 * never.  `changes`: how often a CPU went to another task.  0, or -1: no memory, or negative
 * numbers.
 */
__attribute__((visibility("default"))) int schedule_run(const schedule_set *set, int64_t *begun,
                                                        int64_t *ended, int64_t *released,
                                                        int64_t *changes);

#endif
