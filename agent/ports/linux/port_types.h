/* Types of the port to Linux, in addition to those of every POSIX system. */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include "posix_types.h"

#define RTS_PRIO_MIN 1
#define RTS_PRIO_MAX 98 /* 99 is for the watchdog... */
#define RTS_PRIO_TOP 99 /* ...unless that can be above 99 as well (isolate.c) */
#define RTS_WALL 1      /* CLOCK_REALTIME */
typedef posix_wall rts_wall;

#define RTS_FOOTPRINT 1
#define RTS_STEAL 1  /* time that the hypervisor takes */
#define RTS_TRACED 1 /* by tracefs */
#define RTS_ENTRIES 1
#define RTS_GUARDED 1 /* the agent's file may have capabilities */
#define RTS_TIME_SYSCALL 1
#define RTS_LONG_CALLS (RTS_CAP_PROCESS | RTS_CAP_FILES | RTS_CAP_POSIX) /* longcalls.h */

#define POSIX_FIFOS "/dev/shm"
#define POSIX_SEARCH O_PATH
#define POSIX_POPULATE MAP_POPULATE

#define RTS_EVENTS "best|hpet|rtc|timerfd"
typedef struct rts_event {
    int fd;
    unsigned shift;
} rts_event;

/*
 * A real-time signal to the requesting task, or a thread of higher priority that waits in read().
 */
#define RTS_IRQ_FORMS "signal|eventfd"
#define RTS_IRQ_STAMPED "a signal handler of the requesting task|a woken task"
typedef struct rts_irq {
    void (*handler)(void *);
    void *arg;
    int fd;              /* -1: by signal */
    pid_t process, task; /* recipient of the signal */
    sigset_t mask;       /* previous mask */
    pthread_t thread;
    volatile bool closing;
} rts_irq;

/* The first three and spawn still exist when the call returns; a child of vfork does not. */
#define RTS_VICTIM_KINDS "thread|clone|fork|spawn"
#define RTS_CHILD_KINDS RTS_VICTIM_KINDS "|vfork"
enum {
    RTS_CHILD_THREAD,
    RTS_CHILD_CLONE,
    RTS_CHILD_FORK,
    RTS_CHILD_SPAWN,
    RTS_CHILD_VFORK,
};
#define RTS_EACH_CHILD(X)                                                                          \
    X(RTS_CHILD_THREAD) X(RTS_CHILD_CLONE) X(RTS_CHILD_FORK) X(RTS_CHILD_SPAWN) X(RTS_CHILD_VFORK)

typedef struct rts_child {
    int prio;
    char *stack, *stack_end; /* of threads, clones and vforks */
    pthread_attr_t attr;     /* of threads */
    pthread_t thread;
    struct linux_spawn *spawn; /* arguments of posix_spawn() */
    pid_t pid, parent;
} rts_child;

#endif
