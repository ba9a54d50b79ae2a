/*
 * One test of Hartstone on a processor whose system costs nothing, or switches and ticks alone
 * (docs/guides/simulate.md has the rules).
 *
 * Time is a whole number of ticks of any length from the common start.  The same input gives the
 * same output, on every machine.  The layout of the structs is repeated in hartengine.py: change
 * both.
 */
#ifndef RTS_HARTSTONE_H
#define RTS_HARTSTONE_H

#include <stdint.h>

enum {
    HART_RM, /* by level */
    HART_EDF,
};

/* What a call of the server is. */
enum {
    HART_MONITOR, /* the caller's own work under a mutex with inheritance */
    HART_SERVER,  /* the work of a task above all others */
};

/* A set; its tasks are in the order in which they first wait, which is that among equals. */
typedef struct hart_set {
    int64_t tasks;
    int64_t end;               /* of the test: deadlines up to it count */
    int64_t service;           /* execution time of a call, at least 1 if anybody calls */
    const int64_t *first;      /* tasks + 1: where a task's activations begin in the next two */
    const int64_t *release;    /* rising */
    const int64_t *due;        /* their deadlines */
    const int64_t *level;      /* smaller is more urgent; of HART_RM, and of background tasks */
    const int64_t *relative;   /* of HART_EDF: the deadline of each, after its release */
    const int64_t *own;        /* execution time before the call; at least 1 if there is none */
    const int64_t *calls;      /* 1: an activation ends with a call of the server */
    const int64_t *background; /* 1: it has no deadline and sheds nothing, and waits for all others
                                */
} hart_set;

typedef struct hart_rules {
    int64_t policy, form;
    int64_t switch_cost;     /* each time the CPU goes to another task; 0: none */
    int64_t tick, tick_cost; /* period and cost of the clock interrupt; 0: none */
    int64_t runtime, period; /* of each period from the start, what the tasks may use; 0: all */
} hart_rules;

/* Of one task.  met + missed + skipped are the activations whose deadlines the test holds. */
typedef struct hart_counts {
    int64_t met, missed, skipped;
    int64_t late;    /* time beyond the deadline, summed over the missed */
    int64_t longest; /* response */
} hart_counts;

typedef struct hart_totals {
    int64_t events;    /* releases, completions, calls and ticks */
    int64_t last;      /* the task that came to its end last */
    int64_t last_time; /* when */
} hart_totals;

/*
 * Simulates until all activations have been completed or shed, also beyond the end.  `counts` has
 * an entry per task.  0, or -1: no memory, or negative numbers.
 */
__attribute__((visibility("default"))) int hart_run(const hart_set *set, const hart_rules *rules,
                                                    hart_counts *counts, hart_totals *totals);

#endif
