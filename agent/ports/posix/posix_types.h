/* Types and constants of every POSIX system. Included by a port's port_types.h. */
#ifndef RTS_POSIX_TYPES_H
#define RTS_POSIX_TYPES_H

#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define RTS_TIME_HZ UINT64_C(1000000000)
#define RTS_STACK_DEFAULT (32u << 10)
#define RTS_SAMPLES_DEFAULT 10000   /* hosted */
#define RTS_TABLE_BYTES (256 << 10) /* for the rows of a table */
#define RTS_BUDGET_DEFAULT (16 << 20)
#define RTS_COLD 1 /* provides rts_port_chill() */
#define RTS_CPU_TIME 1

typedef struct rts_sem {
    sem_t *s; /* own, or returned by sem_open() */
    sem_t own;
    int kind;
    char name[32];
} rts_sem;

#define rts_sem_at_hand(sem) (&(rts_sem){.s = (sem)->s})

#define RTS_SETS 4 /* keys for objects of System V (names.c) */
typedef struct rts_set {
    int key, id;
} rts_set;

/* Watches the wall clock (posix.h): for the one task that opened it. */
typedef struct posix_wall {
    uint64_t low, high; /* bounds of its distance to rts_time(), modulo 2^64 */
    uint64_t time;      /* rts_time() at the last look */
    int64_t by;         /* by how much it was set then */
    volatile unsigned looks;
    volatile bool seen; /* by the watcher */
    int signal, fd;
    pthread_t task, watcher;
    volatile bool over;
} posix_wall;

#define RTS_TIMERS "signal|sigwaitinfo|sleep"
#define RTS_TIMERS_WALL 1 /* the first two follow the wall clock */
typedef struct rts_timer {
    int kind;
    uint64_t first, period, next;
    posix_wall wall;
    timer_t id;
    sigset_t mask; /* signal mask during a wait */
} rts_timer;

typedef struct rts_mutex {
    pthread_mutex_t m;
} rts_mutex;

#define RTS_LOCKS 1
typedef struct rts_rwlock {
    pthread_rwlock_t l;
} rts_rwlock;

typedef struct rts_barrier {
    pthread_barrier_t b;
} rts_barrier;

typedef struct rts_spin {
    pthread_spinlock_t l;
} rts_spin;

typedef struct rts_queue {
    mqd_t q;
    size_t size;
} rts_queue;

typedef struct rts_task {
    void (*run)(void *);
    void *arg;
    pthread_t thread;
    pid_t process; /* 0: a thread */
} rts_task;

enum {
    RTS_CHANNEL_QUEUE, /* POSIX message queue */
    RTS_CHANNEL_SYSV,  /* System V message queue */
    RTS_CHANNEL_PIPE,
    RTS_CHANNEL_FIFO,    /* a named pipe */
    RTS_CHANNEL_UNIX,    /* socket pair of type SOCK_SEQPACKET */
    RTS_CHANNEL_MAILBOX, /* two semaphores and a pointer to shared memory */
};
#define RTS_EACH_CHANNEL(X)                                                                        \
    X("queue", RTS_CHANNEL_QUEUE)                                                                  \
    X("sysv", RTS_CHANNEL_SYSV)                                                                    \
    X("pipe", RTS_CHANNEL_PIPE)                                                                    \
    X("fifo", RTS_CHANNEL_FIFO)                                                                    \
    X("unix", RTS_CHANNEL_UNIX)                                                                    \
    X("mailbox", RTS_CHANNEL_MAILBOX)
#define RTS_MESSAGE_ROOM 64 /* for the type of a System V message; keeps the message aligned */

typedef struct rts_channel {
    size_t size;
    rts_queue queue;
    int id;           /* of a System V queue */
    int in, out;      /* descriptors */
    sem_t full, free; /* of a mailbox: process-shared, and the message */
    void *letter;
} rts_channel;

#endif
