/*
 * The costs of all operations on the simulated system: a model, given as KEY=VALUE on the command
 * line.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Operations that cost time; in a model, the name is the one after the prefix, in lower case. An
 * operation marked `instead` costs as much as the one above it if the model does not give it.
 */
#define SIM_COSTS(X)                                                                               \
    X(READ) /* one reading of the counter */                                                       \
    X(TIME) /* one reading of the clock that sleeps use */                                         \
    X(TIME_SYSCALL)                                                                                \
    X(SWITCH)    /* from one task to another, or from idling to a task */                          \
    X(SPACE)     /* added if the two are in different address spaces */                            \
    X(INTERRUPT) /* from the request to the first instruction of the handler */                    \
    X(TIMER)     /* instead, for the system's own timer, which ends sleeps */                      \
    X(RAISE)     /* requesting an interrupt by software */                                         \
    X(YIELD)                                                                                       \
    X(YIELD_PASS) /* added if another task is as urgent */                                         \
    X(SLEEP)                                                                                       \
    X(TASK_CREATE)                                                                                 \
    X(TASK_PRIORITY)                                                                               \
    X(SUSPEND)                                                                                     \
    X(RESUME)                                                                                      \
    X(SEM_CREATE)                                                                                  \
    X(SEM_DELETE)                                                                                  \
    X(SEM_GIVE)                                                                                    \
    X(SEM_WAKE)       /* added if a task waits */                                                  \
    X(SEM_WAKE_SPACE) /* instead, if that task is in another address space */                      \
    X(SEM_TAKE)                                                                                    \
    X(SEM_BLOCK) /* added if the caller has to wait */                                             \
    X(SEM_TRY)                                                                                     \
    X(MUTEX_CREATE)                                                                                \
    X(MUTEX_DELETE)                                                                                \
    X(MUTEX_LOCK)                                                                                  \
    X(MUTEX_BLOCK)                                                                                 \
    X(MUTEX_UNLOCK)                                                                                \
    X(MUTEX_WAKE)                                                                                  \
    X(RWLOCK_READ) /* a system has read-write locks only if its model gives this */                \
    X(RWLOCK_WRITE)                                                                                \
    X(RWLOCK_UNLOCK)                                                                               \
    X(RWLOCK_BLOCK)                                                                                \
    X(RWLOCK_WAKE)                                                                                 \
    X(BARRIER_WAIT) /* the same for barriers */                                                    \
    X(BARRIER_BLOCK)                                                                               \
    X(BARRIER_WAKE) /* the amount is the number of released tasks */                               \
    X(SPIN_LOCK)    /* the same for spin locks */                                                  \
    X(SPIN_UNLOCK)                                                                                 \
    X(QUEUE_CREATE)                                                                                \
    X(QUEUE_DELETE)                                                                                \
    X(QUEUE_SEND) /* the amount is the bytes of the message */                                     \
    X(QUEUE_RECEIVE)                                                                               \
    X(QUEUE_BLOCK)                                                                                 \
    X(QUEUE_WAKE)                                                                                  \
    X(QUEUE_WAKE_SPACE) /* instead, as above */                                                    \
    X(POINTER_SEND)     /* the same if only a pointer is passed */                                 \
    X(POINTER_RECEIVE)                                                                             \
    X(MALLOC)                                                                                      \
    X(FREE)                                                                                        \
    X(CHILD_CREATE)                                                                                \
    X(CHILD_KILL)                                                                                  \
    X(CHILD_REAP)                                                                                  \
    X(DEVICE) /* a call of the simulated device's driver, with interrupts masked */                \
    X(ADD)    /* work: per addition, byte, or thousand Whetstone instructions */                   \
    X(COPY)                                                                                        \
    X(SET)                                                                                         \
    X(KWI)

#define SIM_COST_ENUM(name) SIM_##name,
typedef enum sim_op { SIM_COSTS(SIM_COST_ENUM) SIM_OPS } sim_op;
#undef SIM_COST_ENUM

/* The parts of load heavy (Obenland, Table 7), in the order of its parameters. */
#define SIM_HEAVY_PARTS(X) X(cpu) X(disk) X(interrupt) X(network) X(syscall) X(memory) X(search)

/* Features that a model may lack. */
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

/* State of the system at the moment of an operation. */
typedef struct sim_load {
    uint64_t amount;  /* bytes of a message or block, or units of work */
    unsigned tasks;   /* existing tasks, except the agent's */
    unsigned ready;   /* tasks that are or will be ready, except the running one */
    unsigned waiters; /* waiting for the object, except the caller */
} sim_load;

typedef struct sim_stall {
    uint64_t first, length, period; /* ns; period 0: only once */
} sim_stall;

#define SIM_STALLS 16

typedef struct sim_model {
    char name[64], label[96];
    uint64_t seed;
    uint64_t tick;  /* sleeps end at its multiples, in ns; 0: at any time */
    uint64_t slice; /* of round robin and time sharing, in ns */
    /* What real-time tasks may use of each second, in ns, as by RT throttling; 0: all of it. */
    uint64_t throttle;
    uint64_t early; /* sleeps end so many ns before their time */
    uint64_t drift; /* periodic timers are slow by so many ns per s */
    uint64_t chirp; /* a device's requests are early by so many ns times the square of their s */
    unsigned lacks;
    unsigned stalls;
    sim_stall stall[SIM_STALLS];
} sim_model;

extern sim_model sim_the_model;

/* Parses one KEY=VALUE; returns false if it is malformed, and prints why to stderr. */
bool sim_model_set(const char *word);

/* Prints the keys of models, one per line after its kind, and how many there may be. */
void sim_model_list(void);

/*
 * A model may give separate costs under load heavy, and what its parts add to costs; and under the
 * loads of Dankwardt, for all of which its publication has the same numbers. They apply from now
 * on, of the additions those of which all parts run (bits in the order of SIM_HEAVY_PARTS), and
 * charges at them are counted; NULL: no longer.
 */
typedef enum sim_load_kind { SIM_HEAVY, SIM_STRESS, SIM_LOADS } sim_load_kind;
bool sim_model_has_load(sim_load_kind kind);
bool sim_model_has_parts(void);
bool sim_model_is_loaded(void);
void sim_model_load(sim_load_kind kind, volatile uint64_t *count, unsigned parts);

/* While this is on, the load has no effect. */
void sim_model_pause(bool on);

/* Returns whether the model gives the cost of the operation. */
bool sim_model_gives(sim_op op);

/* Returns the present cost of the operation in ns; a random part is drawn each time. */
uint64_t sim_model_cost(sim_op op, const sim_load *load);

/* Restarts the random numbers: a sequence from the seed, different for each round. */
void sim_model_restart(uint64_t round);

#endif
