/* Types of the FreeRTOS port. They contain the kernel's objects, which end with the case. */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "board.h"
#include "message_buffer.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"
#include "timer_type.h"

/* 0 is for the idle task, 1 for RTS_OTHER, and the highest for the agent, which is the watchdog. */
#define FREERTOS_PRIO_OTHER 1
#define FREERTOS_PRIO_AGENT (configMAX_PRIORITIES - 1)
#define RTS_PRIO_MIN 2
#define RTS_PRIO_MAX (FREERTOS_PRIO_AGENT - 1)
#define RTS_TIME_HZ UINT64_C(1000000000) /* the counter in ns, a whole number per count */

/* A sleep ends at a tick: benches with a period release their tasks at ticks. */
#define RTS_SLEEP_GRAIN (1000000000u / configTICK_RATE_HZ)

#define RTS_SAMPLES_DEFAULT 500 /* small targets */

/* Benches that need these are left out of the image, except for their tables. */
#define RTS_NEVER                                                                                  \
    (RTS_CAP_PROCESS | RTS_CAP_SMP | RTS_CAP_SIGNALS | RTS_CAP_FILES | RTS_CAP_NETWORK |           \
     RTS_CAP_DEADLINE | RTS_CAP_POSIX | RTS_CAP_RWLOCK | RTS_CAP_BARRIER | RTS_CAP_SPIN |          \
     RTS_CAP_SEM_NAMED | RTS_CAP_SEM_PSHARED | RTS_CAP_CLOCK_LIBRARY | RTS_CAP_CLOCK_SYSCALL |     \
     RTS_CAP_LOCK_PROTECT | RTS_CAP_COLD | RTS_CAP_SEM_SYSV |                                      \
     (configUSE_TIME_SLICING ? 0 : RTS_CAP_ROUND_ROBIN | RTS_CAP_CPU_TIME))

#if configUSE_TIME_SLICING
#define RTS_CPU_TIME 1
#else
#define RTS_OTHER_YIELDS 1
#endif

#define RTS_FOOTPRINT 1
#define RTS_SUSPEND 1
#define RTS_IRQ_TIMER 1 /* provides rts_event_late() */

typedef struct rts_sem {
    SemaphoreHandle_t handle;
    StaticSemaphore_t store;
} rts_sem;

#define rts_sem_at_hand(sem) (&(rts_sem){.handle = (sem)->handle})

/* Mutexes of FreeRTOS always inherit: RTS_LOCK_NONE is a binary semaphore used as a lock. */
typedef struct rts_mutex {
    SemaphoreHandle_t handle;
    StaticSemaphore_t store;
} rts_mutex;

typedef struct rts_queue {
    QueueHandle_t handle;
    StaticQueue_t store;
    void *messages;
} rts_queue;

typedef struct rts_task {
    TaskHandle_t handle;
    StaticTask_t store;
    void (*run)(void *);
    void *arg;
    StackType_t *stack;
    size_t stack_bytes;
    TaskHandle_t joiner; /* waits for its end */
    volatile bool ended;
    struct rts_task *next; /* list of all tasks */
} rts_task;

/* xTaskCreate(), with memory from the heap, or xTaskCreateStatic(), with given memory. */
#define RTS_CHILD_KINDS "thread|static"
#define RTS_VICTIM_KINDS RTS_CHILD_KINDS
enum { RTS_CHILD_THREAD, RTS_CHILD_STATIC };
#define RTS_EACH_CHILD(X) X(RTS_CHILD_THREAD) X(RTS_CHILD_STATIC)

typedef struct rts_child {
    TaskHandle_t handle;
    int prio;
    uint32_t words; /* stack size */
    StackType_t *stack;
    StaticTask_t store;
} rts_child;

enum {
    RTS_CHANNEL_QUEUE,
    RTS_CHANNEL_MAILBOX,        /* a queue of pointers */
    RTS_CHANNEL_NOTIFICATION,   /* a pointer as the value of a task notification */
    RTS_CHANNEL_MESSAGE_BUFFER, /* for one sender and one receiver */
    RTS_CHANNEL_QUEUE_SET,      /* the receiver waits for a set that contains the queue */
};
#ifdef FREERTOS_FEW_CHANNELS
#define RTS_EACH_CHANNEL(X) X("queue", RTS_CHANNEL_QUEUE) X("mailbox", RTS_CHANNEL_MAILBOX)
#else
#define RTS_EACH_CHANNEL(X)                                                                        \
    X("queue", RTS_CHANNEL_QUEUE)                                                                  \
    X("mailbox", RTS_CHANNEL_MAILBOX)                                                              \
    X("notification", RTS_CHANNEL_NOTIFICATION)                                                    \
    X("message_buffer", RTS_CHANNEL_MESSAGE_BUFFER)                                                \
    X("queue_set", RTS_CHANNEL_QUEUE_SET)
#endif
#define RTS_MESSAGE_ROOM 0

typedef struct rts_channel {
    rts_queue queue;
    size_t size;
    TaskHandle_t receiver; /* of notifications: the last receiver, or else the creator */
    UBaseType_t index;
    MessageBufferHandle_t buffer;
    StaticMessageBuffer_t buffer_store;
    void *bytes;
    QueueSetHandle_t set;
    StaticQueue_t set_store;
} rts_channel;

#define RTS_EVENTS "best"
typedef struct rts_event {
    rts_sem arrived;
    uint64_t late;
} rts_event;

#define RTOS_LOOK_NS UINT64_C(5000000000)

#define RTS_IRQ_FORMS "interrupt"
typedef struct rts_irq {
    void (*handler)(void *);
    void *arg;
} rts_irq;

#endif
