/* Types of the simulated system (kernel.h). */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTS_PRIO_MIN 1
#define RTS_PRIO_MAX 61

/*
 * Ticks per ns of the two clocks: 1, except in tests, where they differ from each other and from
 * ns, as on real systems.
 */
#ifndef SIM_COUNTER_PER_NS
#define SIM_COUNTER_PER_NS 1
#endif
#ifndef SIM_TIME_PER_NS
#define SIM_TIME_PER_NS 1
#endif
#define RTS_OVERHEAD_READS 10000u /* nothing disturbs them: a million took most of a short case */
#define RTS_TIME_HZ (SIM_TIME_PER_NS * UINT64_C(1000000000))
#define RTS_STACK_DEFAULT 0
#define RTS_SAMPLES_DEFAULT 1000
#define RTS_TABLE_BYTES (256 << 10) /* for the rows of a table */
#define RTS_BUDGET_DEFAULT (16 << 20)
#define RTS_TIME_SYSCALL 1
#define RTS_CPU_TIME 1
#define RTS_SUSPEND 1
#define RTS_WORKED 1

typedef struct sim_task sim_task;

/* Tasks in the order in which they are served. */
typedef struct sim_list {
    sim_task *first, *last;
    unsigned n;
} sim_list;

typedef struct rts_sem {
    unsigned value;
    sim_list waiters;
} rts_sem;

typedef struct rts_mutex {
    int protocol, ceiling;
    sim_task *owner;
    sim_list waiters;
    struct rts_mutex *next; /* in the list of those that the owner holds */
} rts_mutex;

/* Waiting tasks get it by priority, writers before readers of the same priority. */
#define RTS_LOCKS 1
typedef struct rts_rwlock {
    sim_task *writer;
    unsigned readers;
    sim_list to_read, to_write;
} rts_rwlock;

typedef struct rts_barrier {
    unsigned tasks;
    sim_list waiting;
} rts_barrier;

typedef struct rts_spin {
    sim_task *owner;
} rts_spin;

/* A ring buffer of messages, or of pointers to them. */
typedef struct rts_queue {
    unsigned char *ring;
    size_t length, size, begin, n;
    bool pointers;
    sim_list senders, receivers;
} rts_queue;

typedef struct rts_task {
    sim_task *task;
} rts_task;

#define RTS_CHILD_KINDS "thread|process"
#define RTS_VICTIM_KINDS RTS_CHILD_KINDS
#define RTS_EACH_CHILD(X) X(0) X(1)

typedef struct rts_child {
    sim_task *task;
    int prio;
} rts_child;

enum { SIM_CHANNEL_QUEUE, SIM_CHANNEL_MAILBOX };
#define RTS_EACH_CHANNEL(X) X("queue", SIM_CHANNEL_QUEUE) X("mailbox", SIM_CHANNEL_MAILBOX)
#define RTS_MESSAGE_ROOM 0

typedef struct rts_channel {
    rts_queue queue;
} rts_channel;

#define RTS_EVENTS "best"
typedef struct rts_event {
    struct sim_source *source;
} rts_event;

#define RTS_TIMERS "sleep"
typedef struct rts_timer {
    uint64_t first, period, next;
} rts_timer;

#define RTS_IRQ_FORMS "interrupt"
typedef struct rts_irq {
    void (*handler)(void *arg);
    void *arg;
} rts_irq;

#endif
