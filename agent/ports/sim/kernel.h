/*
 * A kernel without hardware: tasks are coroutines of one process, and time is a number that
 * advances only by what a model says operations cost.
 *
 * A system call is atomic: interrupts that become due during it wait until it ends. Work of a task
 * (sim_work) can be interrupted and preempted at any nanosecond. Scheduling is by deadline, then by
 * fixed priority with FIFO and round robin, then time sharing, on one CPU.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <setjmp.h>
#include <ucontext.h>

#include "model.h"
#include "port.h"

#define SIM_LEVELS 64 /* 0: time sharing; then fixed priorities, deadlines, the agent */
#define SIM_LEVEL_DEADLINE 62
#define SIM_LEVEL_AGENT 63

typedef enum sim_state { SIM_READY, SIM_RUNNING, SIM_WAITING, SIM_ENDED } sim_state;

typedef struct sim_event sim_event;

/* Something that happens at a certain time, and interrupts whatever is running. */
struct sim_event {
    uint64_t at, sequence;
    bool pending;
    size_t place; /* in the heap */
    void (*handler)(void *arg);
    void *arg;
};

struct sim_task {
    sim_task *next, *previous; /* in the list that it is in */
    sim_task *all_next;
    sim_list *list;
    sim_state state;
    int prio, level; /* as set, and as inherited */
    rts_policy policy;
    bool by_deadline, load, entered;
    uint64_t period, deadline; /* for deadline scheduling: relative, and of the current job */
    uint64_t due;              /* the deadline that it is scheduled by, its own or inherited */
    uint64_t slice;            /* rest of its time slice, ns */
    uint64_t cpu;              /* CPU time used, ns */
    uint64_t yielded, taken;   /* number of voluntary and involuntary switches */
    int space;                 /* address space */
    unsigned resumed;          /* resumes that came before their suspensions */
    rts_mutex *wants, *holds;  /* the mutex that it waits for, and those that it holds */
    sim_list joiners;
    sim_event alarm;
    sim_list suspended; /* the task itself, while suspended */
    void (*run)(void *arg);
    void *arg;
    void *stack;
    jmp_buf context;
};

extern sim_task *sim_self;
extern unsigned sim_tasks; /* number of existing tasks */
extern uint64_t sim_preemptions;
extern uint64_t sim_load_cpu; /* CPU time of all tasks of loads, ns */

/* ---- time ---- */

/* Charges an operation to the running task; interrupts are deferred. */
void sim_charge(sim_op op, uint64_t amount, unsigned waiters);

/* Ends a system call: serves deferred interrupts, and continues with the most urgent task. */
void sim_leave(void);

/* A system call that only takes its time. */
void sim_call(sim_op op, uint64_t amount);

/* Work of the running task, which can be interrupted. */
void sim_work(sim_op op, uint64_t amount);

/* ---- tasks ---- */

sim_task *sim_task_new(void (*run)(void *), void *arg, int level, rts_policy policy, int space);
void sim_task_kill(sim_task *t); /* not the running task; mutexes that it holds stay locked */
void sim_task_join(sim_task *t);
void sim_task_free(sim_task *t); /* a task that has ended */
void sim_set_level(sim_task *t, int level, uint64_t due);

/*
 * Sets a task's urgency from its own and the mutexes that it holds, and continues with the owner of
 * the mutex that it waits for, and so on. Returns true if the task's urgency has changed.
 */
bool sim_settle(sim_task *t);
void sim_settle_chain(sim_task *t);

/* Waits in a list, most urgent first; the caller then leaves the kernel. */
void sim_block(sim_list *list);

/* Makes the first task of a list ready; NULL: it is empty. */
sim_task *sim_wake(sim_list *list);
void sim_wake_task(sim_task *t);

/* Moves the running task behind the others of its level. */
void sim_pass(void);

/* Returns whether another task is ready and as urgent as the running one. */
bool sim_has_rival(void);

/* ---- events ---- */

void sim_event_at(sim_event *e, uint64_t at);
void sim_event_cancel(sim_event *e);

/* Runs the handler now, as an interrupt. */
void sim_interrupt(void (*handler)(void *arg), void *arg);

/* ---- interface to the agent ---- */

/* Ends all tasks of the load, or all except the agent's. */
void sim_kill_all(bool load);

/* Makes the running task sleep until `time`; it then leaves the kernel. */
void sim_sleep(uint64_t time);

/* Makes the caller, main(), the agent's task. */
void sim_boot(void);

/* Restarts time and the random numbers for a round, if only the agent is left. */
void sim_restart(uint64_t round);

/* Prevents tasks of the load from running while it is on. */
void sim_silence(bool on);

/* Called from time to time as time advances; true: everything has to end soon. */
extern void (*sim_look_around)(void);

/* SIGTERM and similar signals end the running case, and then the agent. */
void sim_set_signals(void);

/* Lets the agent continue and end the case, whose tasks will not end by themselves. */
void sim_end(const char *why);

/* Why they will not end; NULL: they will. */
extern const char *sim_dead;

#endif
