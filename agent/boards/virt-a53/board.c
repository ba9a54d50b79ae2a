/* The board `virt`: interrupts, timers, console, end.  Runs in interrupts: no FPU registers. */
#include "board.h"

#include "FreeRTOS.h"
#include "freertos.h"
#include "task.h"

#include "../pl011.h"

enum { TICK_TIMER = 27, EVENT_TIMER = 30 };

#define TICK_COUNTS (BOARD_HZ / configTICK_RATE_HZ)

void vApplicationIRQHandler(uint32_t iar);
_Noreturn void board_fault(uint64_t esr, uint64_t elr, uint64_t far);

/* ---- interrupts and timers ----------------------------------------------------------------- */

#ifdef BOARD_XEN
#include "xen.h"
#else
#include "alone.h"
#endif

void board_init(void)
{
    gic_enable(TIMERS | 1u << BOARD_SOFT_IRQ, TICK_TIMER);
    board_prepare();
}

_Noreturn void board_fault(uint64_t esr, uint64_t elr, uint64_t far)
{
    freertos_fault("exception", (unsigned long)esr, (unsigned long)elr, (unsigned long)far);
}
