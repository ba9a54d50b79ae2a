/* Between the files of the FreeRTOS port, and between it and the board. */
#ifndef RTS_FREERTOS_H
#define RTS_FREERTOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "semphr.h"

struct rts_task;

/* ---- called by the board ------------------------------------------------------------------- */

/* Periods of the tick that had gone by when the kernel began to count them. */
extern uint64_t freertos_ticks_before;

/* In the handler of the event's timer: its counter, and how far it is beyond the compare value. */
void freertos_event(uint64_t now, uint64_t late);

/* In the handler of the soft interrupt. */
void freertos_soft_interrupt(void);

/* One line on the console, and the end: a processor's exception, with its registers. */
_Noreturn void freertos_fault(const char *what, unsigned long why, unsigned long where,
                              unsigned long address);

/* ---- between interrupts and tasks ---------------------------------------------------------- */

/*
 * Events that the handler has seen and the task has not: a ring.  When it is full, those that come
 * are lost until the task has emptied it, so that they all lie behind the last in the ring.
 */
#define FREERTOS_RING 32
extern struct freertos_events {
    volatile uint32_t head, tail, lost;
    volatile uint64_t stamp[FREERTOS_RING];
    volatile uint32_t late[FREERTOS_RING];
    SemaphoreHandle_t volatile arrived;
} freertos_events;

extern void (*volatile freertos_irq_handler)(void *arg);
extern void *volatile freertos_irq_argument;

/* Indices of task notifications: 0 is the kernel's, for message buffers. */
enum { FREERTOS_JOIN = 1, FREERTOS_CHANNEL };

/* ---- between the files of the port --------------------------------------------------------- */

/* Memory of the heap that is gone with the case, however it ends. */
void *freertos_alloc(size_t size);
void freertos_release(void *memory);

/* The largest use of a stack by tasks that have ended since the last call, in bytes. */
size_t freertos_stack_used(void);

/* How often the tasks of the load were resumed, which ends the sleep of each. */
extern volatile uint32_t freertos_resumed;

/* Ends events and interrupts that a case has left behind. */
void freertos_silence(void);

/* True if the task is a worker of the load that runs. */
bool freertos_is_worker(TaskHandle_t task);

#endif
