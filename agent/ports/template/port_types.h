/*
 * Types of a new port: copy this folder, and at every "PORT:" insert what your system has. The
 * calls os_...() belong to a fictitious system; agent/tests/template implements it for the tests.
 * docs/guides/porting.md guides you through it.
 */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os.h" /* PORT: your system's header */
#include "timer_type.h"

/*
 * PORT: one level above RTS_PRIO_MAX is reserved for the agent, one below RTS_PRIO_MIN for
 * RTS_OTHER.
 */
#define TEMPLATE_PRIO_AGENT 30
#define TEMPLATE_PRIO_OTHER 1
#define RTS_PRIO_MIN 2
#define RTS_PRIO_MAX 29

/* PORT: units of rts_time() per second. */
#define RTS_TIME_HZ UINT64_C(10000000)

/* PORT: bytes; docs/guides/porting.md says what a case needs. */
#define RTS_STACK_DEFAULT 1024
#define RTOS_MEASURING_STACK 2560
#define RTOS_LOOK_NS UINT64_C(2000000000) /* the watchdog preempts what it watches */

#define RTS_SAMPLES_DEFAULT 500
#define RTS_BUDGET_DEFAULT (16 << 10)

/* PORT: memory, see agent/core/sizes.h; these values are for 64 KiB of RAM. */
#define RTS_HIST_RANGE 31 /* at 10 MHz: 200 s */
#define RTS_SINGLE 0      /* no RAM for a second series */
#define RTS_MISSES 8
#define RTS_COUNT_BITS 32
#define RTS_TRACE 64
#define RTS_BLOCKS 128
#define RTS_BATCH_MAX 0
#define RTS_STATE_BYTES (16u << 10)
#define RTS_TABLE_BYTES (6 << 10)
#define RTS_TASKS_MAX 24
#define RTS_SEMS_MAX 48
#define RTS_PARAM_BYTES 128
#define RTS_CACHE_LINE 8
#define RTS_WORKERS_MAX 9
#define RTS_COMPONENTS 4
#define RTS_MARKS 8
#define RTS_CPUS 64
#define RTS_COMMAND_BYTES 512
#define RTS_WIRE_BYTES 128
#define RTS_GRANULE_READS 100

/* PORT: and code; remove what you do not need. */
#define RTS_WITHOUT_TEXTS
#define RTS_NEVER (RTS_CAP_CPU_TIME | RTS_CAP_CHILDREN | RTS_CAP_EVENT | RTS_CAP_SOFT_IRQ)

/* ---- objects: contain the system's own, so that creating them allocates nothing -------------- */

typedef struct rts_sem {
    os_sem os;
} rts_sem;

typedef struct rts_mutex {
    os_mutex os;
} rts_mutex;

typedef struct rts_queue {
    os_queue os;
    void *messages;
} rts_queue;

typedef struct rts_task {
    os_task os;
    void (*run)(void *arg);
    void *arg;
    void *stack;
    os_sem ended;
    volatile bool finished;
    struct rts_task *next; /* list of all tasks, newest first */
} rts_task;

/* ---- channels, through which ipc.* sends messages: one kind, the queue ----------------------- */

#define RTS_EACH_CHANNEL(X) X("queue", 0)
#define RTS_MESSAGE_ROOM 0

typedef struct rts_channel {
    rts_queue queue;
} rts_channel;

/*
 * PORT: for rts_suspend(), and for rts_worked(), which no processor needs; see agent/core/absent.h.
 */
#define RTS_SUSPEND 1
#define RTS_WORKED 1

#endif
