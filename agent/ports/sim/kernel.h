/*
 * A kernel without hardware: tasks are coroutines of one process, and time is a number that moves
 * only by what a model says the operations cost.
 *
 * A call of the kernel is atomic: interrupts that become due in it wait for its end.  Work of a
 * task (sim_work) can be interrupted and preempted at any nanosecond.  Scheduling is by deadline,
 * then by fixed priority with FIFO and round robin, then time sharing, on one CPU.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <setjmp.h>
#include <ucontext.h>

#include "model.h"
#include "port.h"

#define SIM_LEVELS 64 /* 0 time sharing, then fixed priorities, deadlines, the agent */
#define SIM_LEVEL_DEADLINE 62
#define SIM_LEVEL_AGENT 63

typedef enum sim_state { SIM_READY, SIM_RUNNING, SIM_WAITING, SIM_ENDED } sim_state;

typedef struct sim_event sim_event;

/* Something that happens at a time, and interrupts whatever runs then. */
struct sim_event {
    uint64_t at, sequence;
    bool pending;
    size_t place; /* in the heap */
    void (*handler)(void *arg);
    void *arg;
};

struct sim_task {
    sim_task *next, *previous; /* in the list it stands in */
    sim_task *all_next;
    sim_list *list;
    sim_state state;
    int prio, level; /* as set, and as inherited */
    rts_policy policy;
    bool by_deadline, load, entered;
    uint64_t period, deadline; /* by deadline: relative, and of the job it is at */
    uint64_t due;              /* the deadline by which it is scheduled, its own or inherited */
    uint64_t slice;            /* what is left of it, ns */
    uint64_t cpu;              /* time used, ns */
    uint64_t given, taken;     /* how often it gave up the CPU, and had it taken */
    int space;                 /* address space */
    unsigned resumed;          /* suspensions that are over before they began */
    rts_mutex *wants, *holds;  /* mutexes: the one it waits for, those it holds */
    sim_list joiners;
    sim_event alarm;
    sim_list suspended; /* itself, while it is */
    void (*run)(void *arg);
    void *arg;
    void *stack;
    jmp_buf context;
};

extern sim_task *sim_self;
extern unsigned sim_tasks; /* that exist */
extern uint64_t sim_preemptions;

/* ---- time ---- */

/* Charges an operation to the running task; interrupts wait. */
void sim_charge(sim_op op, uint64_t amount, unsigned waiters);

/* Ends a call of the kernel: what waited is served, and the most urgent task goes on. */
void sim_leave(void);

/* A call that does nothing but take its time. */
void sim_call(sim_op op, uint64_t amount);

/* Work of the running task, which can be interrupted. */
void sim_work(sim_op op, uint64_t amount);

/* ---- tasks ---- */

sim_task *sim_task_new(void (*run)(void *), void *arg, int level, rts_policy policy, int space);
void sim_task_kill(sim_task *t); /* not the running one; mutexes that it holds stay locked */
void sim_task_join(sim_task *t);
void sim_task_free(sim_task *t); /* one that has ended */
void sim_set_level(sim_task *t, int level, uint64_t due);

/*
 * Gives a task the urgency it has by itself and by the mutexes it holds; true: that is another one.
 * And so on with the owner of the mutex that it waits for itself.
 */
bool sim_settle(sim_task *t);
void sim_settle_chain(sim_task *t);

/* Waits in a list, most urgent first; the caller leaves the kernel afterwards. */
void sim_block(sim_list *list);

/* Makes the first of a list ready; NULL: it is empty. */
sim_task *sim_wake(sim_list *list);
void sim_wake_task(sim_task *t);

/* The running task goes behind the others of its level. */
void sim_pass(void);

/* Another task is ready and as urgent as the running one. */
bool sim_has_rival(void);

/* ---- events ---- */

void sim_event_at(sim_event *e, uint64_t at);
void sim_event_cancel(sim_event *e);

/* The handler runs now, as an interrupt. */
void sim_interrupt(void (*handler)(void *arg), void *arg);

/* ---- around it ---- */

/* Ends all tasks of the load, or all others but the agent's. */
void sim_kill_all(bool load);

/* The running task sleeps until then; it leaves the kernel afterwards. */
void sim_sleep(uint64_t time);

/* Makes the caller, in main(), the task of the agent. */
void sim_boot(void);

/* Time and the random numbers of a round begin again, if nobody but the agent is there. */
void sim_restart(uint64_t round);

/* Tasks of the load do not run while it is silent. */
void sim_silence(bool on);

/* Called now and then while time goes on; true: everything is to end soon. */
extern void (*sim_look_around)(void);

/* SIGTERM and its like end the case that runs, and then the agent. */
void sim_set_signals(void);

/* Lets the agent go on, and the case end, whose tasks will not end by themselves. */
void sim_end(const char *why);

/* Why they will not; NULL: they will. */
extern const char *sim_dead;

#endif
