/*
 * Discrete-event simulation of one processor and its scheduler (docs/guides/simulate.md has the
 * rules).
 *
 * Time is a whole number of ticks of any length, from 0 to `end`; the caller chooses the tick.  The
 * same input gives the same output, on every machine.  The layout of the structs is repeated in
 * engine.py: change both.
 */
#ifndef RTS_ENGINE_H
#define RTS_ENGINE_H

#include <stdint.h>

/* How the most urgent of the pending tasks is found: by the smallest key. */
enum {
    SIM_FIXED, /* prio[], the same for all jobs of a task: rm, dm, value density */
    SIM_FIFO,  /* release of the job */
    SIM_RR,    /* turn in the queue; back to its end after a quantum */
    SIM_EDF,   /* absolute deadline */
    SIM_LLF,   /* deadline less what is left of the nominal time; looked at every quantum */
};

enum {
    SIM_NO_PROTOCOL,
    SIM_INHERIT, /* who waits lends its urgency to who it waits for (Sha, Rajkumar, Lehoczky 1990)
                  */
    SIM_CEILING, /* stack resource policy (Baker 1991); with fixed priorities: immediate ceiling */
};

enum {
    SIM_BACKGROUND, /* when nothing else is pending */
    SIM_POLLING,    /* budget at each period, gone once nobody waits (Lehoczky, Sha, Strosnider) */
    SIM_DEFERRABLE, /* budget at each period, kept until its end (Strosnider, Lehoczky, Sha 1995) */
    SIM_SPORADIC,   /* what was used comes back a period after it began to be (POSIX.1) */
};

/* A task set.  Arrays have `tasks` entries, one more for the server where it says so; NULL: none.
 * Sets may share `work`, `action_at` and `action_what`. */
typedef struct sim_set {
    int64_t tasks;
    int64_t end;             /* jobs are released before it; deadlines up to it count */
    const int64_t *period;   /* at least 1 */
    const int64_t *deadline; /* relative */
    const int64_t *offset;   /* of the first release */
    const int64_t *nominal;  /* execution time the scheduler believes in, at least 1 */
    const int64_t *work;     /* execution time of every job, task after task; NULL: the nominal */
    const int64_t *first;    /* tasks + 1: where a task's jobs begin in `work` and `completed` */
    const int64_t *prio;     /* tasks + 1 (server): smaller is more urgent; of SIM_FIXED */
    const int64_t *level;    /* tasks + 1 (server): larger preempts; of SIM_CEILING */
    /* Critical sections: at what progress of a job it takes or gives back which resource. */
    int64_t resources;
    const int64_t *action_first; /* tasks + 1: where a task's actions begin */
    const int64_t *action_at;    /* progress; rising within a task, giving back before taking */
    const int64_t *action_what;  /* resource + 1: take it, -(resource + 1): give it back */
    /* Aperiodic requests in the order of arrival. */
    int64_t requests;
    const int64_t *arrival;
    const int64_t *request_work; /* at least 1 */
    /* If the CPU has been busy from 0 on and then idles, at this time at the latest, no deadline
     * will be missed any more: end there.  0: go on */
    int64_t settled;
} sim_set;

typedef struct sim_rules {
    int64_t policy, protocol, server;
    int64_t server_period, server_budget;
    int64_t quantum;         /* of SIM_RR and SIM_LLF, at least 1 */
    int64_t switch_cost;     /* each time the CPU goes to another task; 0: none */
    int64_t tick, tick_cost; /* period and cost of the clock interrupt; 0: none */
    int64_t first_miss;      /* 1: end once a deadline is known to be missed */
} sim_rules;

/* Of one task.  Jobs whose deadline lies in the simulated time are due, and counted. */
typedef struct sim_counts {
    int64_t released, completed;
    int64_t due, met, missed;
    int64_t late;        /* time beyond the deadline, summed over the missed */
    int64_t lateness;    /* completion less deadline, summed over the due */
    int64_t worst;       /* largest lateness; INT64_MIN if none was due */
    int64_t preemptions; /* a job that had begun and could go on lost the CPU */
} sim_counts;

typedef struct sim_totals {
    int64_t events;   /* releases, arrivals, completions, takes, gives, quanta, budgets, ticks */
    int64_t switches; /* times the CPU went to a task that it had not executed until then */
    int64_t ticks;
    int64_t idle, overhead, executed; /* time; their sum is the time simulated */
    int64_t served;                   /* requests completed */
    int64_t response, worst_response; /* of the requests served: sum and largest */
} sim_totals;

/*
 * Simulates `n` sets, one after the other.  `counts` has an entry per task, `totals` one per set,
 * `completed` one per job (-1: not completed), where `first` says, and `request_completed` one per
 * request; the last two may be NULL.  0, or -1: no memory, or negative numbers.
 */
__attribute__((visibility("default"))) int sim_run(const sim_set *sets, int64_t n,
                                                   const sim_rules *rules, sim_counts *counts,
                                                   sim_totals *totals, int64_t *completed,
                                                   int64_t *request_completed);

#endif
