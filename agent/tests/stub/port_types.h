/*
 * A port without an operating system, for tests: one task, a clock that advances only when it is
 * read or slept on, and stalls where the test wants them. So the expected measurements are known
 * exactly.
 */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define RTS_PRIO_MIN 1
#define RTS_PRIO_MAX 31

/* Ticks of the counter per ns, and ns per tick of rts_time(): unequal clocks reveal mistakes. */
#ifndef STUB_COUNTER_PER_NS
#define STUB_COUNTER_PER_NS 1
#endif
#ifndef STUB_TIME_NS
#define STUB_TIME_NS 1
#endif
#define RTS_TIME_HZ (UINT64_C(1000000000) / STUB_TIME_NS)
#define RTS_STACK_DEFAULT 0
#define RTS_SAMPLES_DEFAULT 500    /* small targets */
#define RTS_TABLE_BYTES (16 << 10) /* for the rows of a table */
#define RTS_COLD 1 /* filling its caches takes time, which must not appear in any sample */
#define RTS_BUDGET_DEFAULT (1 << 20)
#define RTS_TIME_SYSCALL 1
#define RTS_CPU_TIME 1
#define RTS_WORKED 1

typedef struct rts_sem {
    unsigned value;
} rts_sem;

#define RTS_EVENTS "best"
typedef struct rts_event {
    uint64_t first, period, next;
} rts_event;

#define RTS_TIMERS "sleep"
typedef struct rts_timer {
    uint64_t first, period, next;
} rts_timer;

#define RTS_IRQ_FORMS "interrupt"
typedef struct rts_irq {
    void (*handler)(void *);
    void *arg;
} rts_irq;

typedef struct rts_mutex {
    int locked;
} rts_mutex;

typedef struct rts_queue {
    int unused;
} rts_queue;

typedef struct rts_task {
    int unused;
} rts_task;

#define RTS_CHILD_KINDS "thread"
#define RTS_VICTIM_KINDS "thread"
#define RTS_EACH_CHILD(X) X(0)

typedef struct rts_child {
    int state; /* prepared, alive, killed, gone; misuse aborts */
    int prio;
} rts_child;

/* One that works, and two that a bench has to detect: a byte changes, a message arrives twice. */
enum { STUB_QUEUE, STUB_DAMAGING, STUB_REPEATING };
#define RTS_EACH_CHANNEL(X)                                                                        \
    X("queue", STUB_QUEUE) X("damaging", STUB_DAMAGING) X("repeating", STUB_REPEATING)
#define RTS_MESSAGE_ROOM 0
#define STUB_LARGEST (16 << 10) /* bytes of a message */

typedef struct rts_channel {
    unsigned char message[STUB_LARGEST];
    size_t size;
    unsigned held, sent;
} rts_channel;

#endif
