/* Between the files of the FreeRTOS port, and between the port and the board. */
#ifndef RTS_FREERTOS_H
#define RTS_FREERTOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "semphr.h"

struct rts_task;

/* ---- what a board has, besides the functions in its board.h --------------------------------- */

/* Initialises console and interrupts; called before the scheduler starts. */
void board_init(void);

/* Calls freertos_event() every `period` counts from now on; period 0: stops. */
void board_events(uint64_t period);

void board_put(const char *bytes, size_t n);

/* Returns the next character of the console, or -1 if there is none yet. */
int board_get(void);

/* Ends the emulator with this exit status. */
_Noreturn void board_exit(int status);

/* ---- called by the board ------------------------------------------------------------------- */

/* Tick periods that had passed before the kernel began to count. */
extern uint64_t freertos_ticks_before;

/*
 * Called in the handler of the event timer: its counter, and how far it is past the compare value.
 */
void freertos_event(uint64_t now, uint64_t late);

/* Called in the handler of the software interrupt. */
void freertos_soft_interrupt(void);

/* Prints one line on the console and ends: a processor exception, with its registers. */
_Noreturn void freertos_fault(const char *fault, unsigned long why, unsigned long where,
                              unsigned long address);

/* ---- between interrupts and tasks ---------------------------------------------------------- */

/*
 * A ring buffer of events that the handler has seen and the task has not. When it is full, further
 * events are lost until the task has emptied it, so that all lost events follow the last one in the
 * ring.
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

/* Allocates from the heap; the memory is freed with the case, however it ends. */
void *freertos_alloc(size_t size);
void freertos_release(void *memory);

/* Has freertos_memory_release() free what is allocated from now on. */
void freertos_memory_mark(void);
void freertos_memory_release(void);

/* Returns the largest stack use of tasks that have ended since the last call, in bytes. */
size_t freertos_stack_used(void);

/* How often the tasks of the load were resumed, each of which ends their sleeps. */
extern volatile uint32_t freertos_resumed;

/* Stops events and interrupts that a case has left running. */
void freertos_silence(void);

#endif
