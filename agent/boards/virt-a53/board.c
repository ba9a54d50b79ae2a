/* The board `virt`: interrupts, timers, console, end.  Runs in interrupts: no FPU registers. */
#include "board.h"

#include "FreeRTOS.h"
#include "freertos.h"
#include "task.h"

#define REG(address) (*(volatile uint32_t *)(uintptr_t)(address))

enum { SOFT = 1, TICK_TIMER = 27, EVENT_TIMER = 30 };

#define TICK_COUNTS (BOARD_HZ / configTICK_RATE_HZ)
#define PRIORITY(level) ((uint32_t)(level) << 3)
#define LOWEST 30 /* the kernel's tick has the lowest enabled priority */
#define EVENTS 20 /* of interrupts that may call the kernel and preempt the tick */

void vApplicationIRQHandler(uint32_t iar);
_Noreturn void board_fault(uint64_t esr, uint64_t elr, uint64_t far);

/* ---- interrupts and timers ----------------------------------------------------------------- */

static void set_priority(unsigned interrupt, unsigned level)
{
    ((volatile uint8_t *)(uintptr_t)(BOARD_GICD + 0x400))[interrupt] = (uint8_t)PRIORITY(level);
}

#ifdef BOARD_XEN
#include "xen.h"
#else
#include "alone.h"
#endif

void board_init(void)
{
    REG(BOARD_GICD) = 1;
    set_priority(TICK_TIMER, LOWEST);
    set_priority(EVENT_TIMER, EVENTS);
    set_priority(SOFT, EVENTS);
    REG(BOARD_GICD + 0x100) = TIMERS | 1u << SOFT;
    REG(BOARD_GICC + 0x08) = 0;
    REG(BOARD_GICC + 0x04) = 0xff;
    REG(BOARD_GICC) = 1;
    board_prepare();
}

/* ---- console ------------------------------------------------------------------------------- */

void board_put(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (REG(UART + 0x18) & 1u << 5) /* transmit FIFO full */
            ;
        REG(UART) = (unsigned char)bytes[i];
    }
}

int board_get(void)
{
    return REG(UART + 0x18) & 1u << 4 ? -1 : (int)(REG(UART) & 0xff);
}

_Noreturn void board_fault(uint64_t esr, uint64_t elr, uint64_t far)
{
    freertos_fault("exception", (unsigned long)esr, (unsigned long)elr, (unsigned long)far);
}
