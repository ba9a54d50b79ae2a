/*
 * The board `vexpress-a9`: interrupts, timers, console, end.  Runs in interrupts: no FPU registers.
 */
#include "board.h"

#include "FreeRTOS.h"
#include "freertos.h"
#include "task.h"

#include "../pl011.h"

enum { TICK_TIMER = 27, EVENT_TIMER = 29 }; /* the global timer, and the private one */
enum { COUNT = 0x0, CONTROL = 0x8, STATUS = 0xc, COMPARE = 0x10, INCREMENT = 0x18 }; /* global */
enum { LOAD = 0x0, VALUE = 0x4 }; /* of the private timer, besides CONTROL and STATUS */

#define TICK_COUNTS (BOARD_HZ / configTICK_RATE_HZ)

void vApplicationIRQHandler(uint32_t iar);

/* ---- interrupts and timers ----------------------------------------------------------------- */

void board_init(void)
{
    gic_enable(1u << TICK_TIMER | 1u << EVENT_TIMER | 1u << BOARD_SOFT_IRQ, TICK_TIMER);
    BOARD_REG(BOARD_GLOBAL_TIMER + CONTROL) = 1;
    pl011_enable();
}

/*
 * The counter's own compare value moves on by a tick's counts at each tick: ticks are at multiples
 * of their period, so that the end of a sleep is known in advance.
 */
void board_start_tick(void)
{
    uint64_t next = (board_now() / TICK_COUNTS + 1) * TICK_COUNTS;
    freertos_ticks_before = next / TICK_COUNTS - 1;
    BOARD_REG(BOARD_GLOBAL_TIMER + COMPARE) = (uint32_t)next;
    BOARD_REG(BOARD_GLOBAL_TIMER + COMPARE + 4) = (uint32_t)(next >> 32);
    BOARD_REG(BOARD_GLOBAL_TIMER + INCREMENT) = (uint32_t)TICK_COUNTS;
    BOARD_REG(BOARD_GLOBAL_TIMER + CONTROL) = 0xf; /* and compares, interrupts, increments */
}

void board_end_tick(void)
{
    BOARD_REG(BOARD_GLOBAL_TIMER + STATUS) = 1;
}

void board_events(uint64_t period)
{
    BOARD_REG(BOARD_PRIVATE_TIMER + CONTROL) = 0;
    BOARD_REG(BOARD_PRIVATE_TIMER + STATUS) = 1;
    if (!period)
        return;
    BOARD_REG(BOARD_PRIVATE_TIMER + LOAD) = (uint32_t)period - 1;
    BOARD_REG(BOARD_PRIVATE_TIMER + CONTROL) = 7; /* counts, reloads, interrupts */
}

/* The time since the timer fired is how far it has counted down since. */
static inline void event(void)
{
    uint32_t value = BOARD_REG(BOARD_PRIVATE_TIMER + VALUE);
    uint64_t now = board_now();
    uint32_t load = BOARD_REG(BOARD_PRIVATE_TIMER + LOAD);
    BOARD_REG(BOARD_PRIVATE_TIMER + STATUS) = 1;
    freertos_event(now, load - value);
}

void vApplicationIRQHandler(uint32_t iar)
{
    switch (iar & 0x3ff) {
    case EVENT_TIMER:
        event();
        break;
    case TICK_TIMER:
        FreeRTOS_Tick_Handler();
        break;
    case BOARD_SOFT_IRQ:
        freertos_soft_interrupt();
        break;
    default:
        break; /* 1023: the request has been withdrawn */
    }
}

/* ---- the end ------------------------------------------------------------------------------- */

_Noreturn void board_exit(int status)
{
    volatile uint32_t block[2] = {0x20026, (uint32_t)status};
    register uint32_t call __asm__("r0") = 0x20;
    register uint32_t argument __asm__("r1") = (uint32_t)(uintptr_t)block;
    __asm__ volatile("svc 0x123456" ::"r"(call), "r"(argument) : "memory");
    for (;;)
        ;
}
