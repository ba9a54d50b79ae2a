/* Periodic timers as sleeps until absolute times; for port_types.h. */
#ifndef RTS_RTOS_TIMER_TYPE_H
#define RTS_RTOS_TIMER_TYPE_H

#include <stdint.h>

#define RTS_TIMERS "sleep"
typedef struct rts_timer {
    uint64_t first, period, next;
} rts_timer;

#endif
