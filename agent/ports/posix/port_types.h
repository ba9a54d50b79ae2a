/* Types of the POSIX port (Linux). */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#define RTS_PRIO_MIN 1
#define RTS_PRIO_MAX 98 /* 99 is the watchdog's */
#define RTS_TIME_HZ UINT64_C(1000000000)
#define RTS_STACK_DEFAULT (32u << 10)
#define RTS_SAMPLES_DEFAULT 10000 /* "10,000 hosted" (benchmarks 3) */
#define RTS_BUDGET_DEFAULT (16 << 20)

typedef struct rts_sem {
    sem_t *s; /* own, or what sem_open() returned */
    sem_t own;
    int kind;
    char name[32];
} rts_sem;

#define RTS_TIMERS "signal|sigwaitinfo|sleep"
typedef struct rts_timer {
    int kind;
    uint64_t first, period, next;
    timer_t id;
    sigset_t mask; /* while it is waited for */
} rts_timer;

typedef struct rts_mutex {
    pthread_mutex_t m;
} rts_mutex;

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

#endif
