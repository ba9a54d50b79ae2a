/*
 * What loads provoke and actions do on FreeRTOS: work of the kernel that other tasks ask for. An
 * action is a row of a table: what its worker prepares, the tasks that help it, and a round, which
 * is bounded and repeated.
 */
#ifndef RTS_LOAD_PROVOKE_H
#define RTS_LOAD_PROVOKE_H

#include "load.h"

#include "event_groups.h"
#include "stream_buffer.h"

/* Tasks or the like of an action: those of one fit into the heap. */
#ifdef RTS_SMALL_CODE
#define PROVOKE_MOST 8
#elif configTOTAL_HEAP_SIZE < (1u << 20)
#define PROVOKE_MOST 64
#else
#define PROVOKE_MOST 1024
#endif

typedef struct provoke_action provoke_action;

/* What a worker does, in memory of the load; n helpers, or n pointers, follow it. */
typedef struct provoke_work {
    rts_worker *worker;
    const provoke_action *action;
    unsigned n;
    volatile unsigned started; /* helpers that have a number */
    volatile unsigned passed;  /* helpers that have done their part of the round */
    unsigned turn;             /* 0 and 1 in turn */
    TickType_t due;
    union {
        EventGroupHandle_t group;
        QueueHandle_t queue; /* also semaphores and mutexes */
        StreamBufferHandle_t stream;
        void *first; /* of a list of blocks, each of which begins with the next one's address */
    };
    union {
        StaticEventGroup_t group_store;
        StaticQueue_t queue_store;
    };
} provoke_work;

struct provoke_action {
    const char *name;
    unsigned n;                     /* how many of what it uses, unless `n` says so */
    bool urgent;                    /* its helpers are above time sharing, at the lowest level */
    void (*help)(provoke_work *k);  /* the body of n tasks, which does not return; NULL: none */
    bool (*begin)(provoke_work *k); /* before the helpers start; false: the worker has failed */
    bool (*round)(provoke_work *k); /* false: the worker has failed */
    void (*end)(provoke_work *k);   /* releases what begin() and round() have */
};

#if configUSE_TIMERS
#define PROVOKE_TIMERS "|softtimers"
#else
#define PROVOKE_TIMERS ""
#endif

/* The order is that of the table. */
#define PROVOKE_ACTIONS                                                                            \
    "spin|tasks|queues|streams|heap|events|notify|waiters|mutexes|names|sleepers|"                 \
    "delays" PROVOKE_TIMERS

extern const provoke_action provoke_actions[];
extern const unsigned provoke_n_actions;

/* Returns the helpers that follow the work, n of them. */
static inline rts_task *provoke_helpers(provoke_work *k)
{
    return (rts_task *)(k + 1);
}

/* Returns the pointers that follow the work of an action without helpers, n of them, all NULL. */
static inline void **provoke_pointers(provoke_work *k)
{
    return (void **)(k + 1);
}

/*
 * Returns true if cases still have their part of the heap when `size` bytes of it are used. Else
 * the worker has failed.
 */
bool provoke_room(provoke_work *k, size_t size);

#endif
