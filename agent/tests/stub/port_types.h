/*
 * A port without an operating system, for tests: one task, a clock that moves only when it is read
 * or slept on, and stalls where the test wants them.  What it measures is therefore known exactly.
 */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include <stdint.h>

#define RTS_PRIO_MIN 1
#define RTS_PRIO_MAX 10
#define RTS_TIME_HZ UINT64_C(1000000000)
#define RTS_STACK_DEFAULT 0
#define RTS_SAMPLES_DEFAULT 500 /* "500 on small targets" (benchmarks 3) */
#define RTS_BUDGET_DEFAULT (1 << 20)

typedef struct rts_sem {
    unsigned value;
} rts_sem;

#define RTS_TIMERS "sleep"
typedef struct rts_timer {
    uint64_t first, period, next;
} rts_timer;

typedef struct rts_mutex {
    int locked;
} rts_mutex;

typedef struct rts_queue {
    int unused;
} rts_queue;

typedef struct rts_task {
    int unused;
} rts_task;

#endif
