/*
 * What everything costs on the simulated system: a model, given on the command line as KEY=VALUE.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What costs time; the name in a model is the one behind the prefix, in small letters.  What is
 * said to be `instead` costs what the one above it does, if the model does not give it.
 */
#define SIM_COSTS(X)                                                                               \
    X(READ) /* one reading of the counter */                                                       \
    X(TIME) /* one reading of the clock that sleeps follow */                                      \
    X(TIME_SYSCALL)                                                                                \
    X(SWITCH)    /* from one task to another, or from idling to a task */                          \
    X(SPACE)     /* added if the two lie in different address spaces */                            \
    X(INTERRUPT) /* from the request to the first instruction of the handler */                    \
    X(TIMER)     /* instead, if it is the system's own timer, which ends sleeps */                 \
    X(RAISE)     /* asking for an interrupt by software */                                         \
    X(YIELD)                                                                                       \
    X(YIELD_PASS) /* added where another task is as urgent */                                      \
    X(SLEEP)                                                                                       \
    X(TASK_CREATE)                                                                                 \
    X(TASK_PRIORITY)                                                                               \
    X(SUSPEND)                                                                                     \
    X(RESUME)                                                                                      \
    X(SEM_CREATE)                                                                                  \
    X(SEM_DELETE)                                                                                  \
    X(SEM_GIVE)                                                                                    \
    X(SEM_WAKE)       /* added where somebody waits */                                             \
    X(SEM_WAKE_SPACE) /* instead, if that one is in another address space */                       \
    X(SEM_TAKE)                                                                                    \
    X(SEM_BLOCK) /* added where the caller has to wait */                                          \
    X(SEM_TRY)                                                                                     \
    X(MUTEX_CREATE)                                                                                \
    X(MUTEX_DELETE)                                                                                \
    X(MUTEX_LOCK)                                                                                  \
    X(MUTEX_BLOCK)                                                                                 \
    X(MUTEX_UNLOCK)                                                                                \
    X(MUTEX_WAKE)                                                                                  \
    X(RWLOCK_READ) /* a system has read-write locks only if its model has a cost of this */        \
    X(RWLOCK_WRITE)                                                                                \
    X(RWLOCK_UNLOCK)                                                                               \
    X(RWLOCK_BLOCK)                                                                                \
    X(RWLOCK_WAKE)                                                                                 \
    X(BARRIER_WAIT) /* likewise, barriers */                                                       \
    X(BARRIER_BLOCK)                                                                               \
    X(BARRIER_WAKE) /* the amount is the tasks that are released */                                \
    X(SPIN_LOCK)    /* likewise, spin locks */                                                     \
    X(SPIN_UNLOCK)                                                                                 \
    X(QUEUE_CREATE)                                                                                \
    X(QUEUE_DELETE)                                                                                \
    X(QUEUE_SEND) /* the amount is the bytes of the message */                                     \
    X(QUEUE_RECEIVE)                                                                               \
    X(QUEUE_BLOCK)                                                                                 \
    X(QUEUE_WAKE)                                                                                  \
    X(QUEUE_WAKE_SPACE) /* instead, as above */                                                    \
    X(POINTER_SEND)     /* the same where only a pointer goes through */                           \
    X(POINTER_RECEIVE)                                                                             \
    X(MALLOC)                                                                                      \
    X(FREE)                                                                                        \
    X(CHILD_CREATE)                                                                                \
    X(CHILD_KILL)                                                                                  \
    X(CHILD_REAP)                                                                                  \
    X(DEVICE) /* one call of the simulated device's driver, with interrupts masked */              \
    X(ADD)    /* work: for each addition, byte, or thousand Whetstone instructions */              \
    X(COPY)                                                                                        \
    X(SET)                                                                                         \
    X(KWI)

#define SIM_COST_ENUM(name) SIM_##name,
typedef enum sim_op { SIM_COSTS(SIM_COST_ENUM) SIM_OPS } sim_op;
#undef SIM_COST_ENUM

/* Kinds of system that a model may lack. */
enum {
    SIM_LACKS_INHERIT = 1 << 0,
    SIM_LACKS_PROTECT = 1 << 1,
    SIM_LACKS_EVENT = 1 << 2,
    SIM_LACKS_SOFT_IRQ = 1 << 3,
    SIM_LACKS_SUSPEND = 1 << 4,
    SIM_LACKS_PROCESS = 1 << 5,
    SIM_LACKS_DEADLINE = 1 << 6,
    SIM_LACKS_HEAP = 1 << 7,
    SIM_LACKS_ROUND_ROBIN = 1 << 8,
};

/* What the system is like at the moment of an operation. */
typedef struct sim_load {
    uint64_t amount;  /* bytes of a message or block, pieces of work */
    unsigned tasks;   /* that exist, the agent's own not counted */
    unsigned ready;   /* that could run, besides the one that runs, or will */
    unsigned waiters; /* of the object, the caller not counted */
} sim_load;

typedef struct sim_stall {
    uint64_t first, length, period; /* ns; period 0: once */
} sim_stall;

#define SIM_STALLS 16

typedef struct sim_model {
    char name[64], label[96];
    uint64_t seed;
    uint64_t tick;  /* sleeps end at its multiples, in ns; 0: at any time */
    uint64_t slice; /* of round robin and of time sharing, in ns */
    unsigned lacks;
    unsigned stalls;
    sim_stall stall[SIM_STALLS];
} sim_model;

extern sim_model sim_the_model;

/* Takes one KEY=VALUE; false: it is not one (what is wrong goes to stderr). */
bool sim_model_set(const char *word);

/* Prints the words a model is written in, one to a line behind its kind, and how many may be. */
void sim_model_list(void);

/*
 * A model may say what costs how much while load heavy runs.  From now on that holds, and what is
 * charged is counted; NULL: no more.
 */
bool sim_model_has_heavy(void);
bool sim_model_is_heavy(void);
void sim_model_heavy(volatile uint64_t *count);

/* While this is on the load makes no difference. */
void sim_model_pause(bool on);

/* True if the model says what the operation costs. */
bool sim_model_gives(sim_op op);

/* What the operation costs now, in ns; a random part is drawn anew each time. */
uint64_t sim_model_cost(sim_op op, const sim_load *load);

/* Begins a sequence of random numbers again: the one of the seed, or another one for each round. */
void sim_model_restart(uint64_t round);

#endif
