/* The board `virt`: interrupts, timers, console, end.  Runs in interrupts: no FPU registers. */
#include "board.h"

#include "FreeRTOS.h"
#include "freertos.h"
#include "task.h"

#define REG(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define GICD 0x08000000u
#define GICC 0x08010000u
#define UART 0x09000000u

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
    ((volatile uint8_t *)(uintptr_t)(GICD + 0x400))[interrupt] = (uint8_t)PRIORITY(level);
}

void board_init(void)
{
    REG(UART + 0x30) = 0x301; /* UARTCR: enabled, both directions */
    REG(GICD) = 1;
    set_priority(TICK_TIMER, LOWEST);
    set_priority(EVENT_TIMER, EVENTS);
    set_priority(SOFT, EVENTS);
    REG(GICD + 0x100) = 1u << TICK_TIMER | 1u << EVENT_TIMER | 1u << SOFT;
    REG(GICC + 0x08) = 0;
    REG(GICC + 0x04) = 0xff;
    REG(GICC) = 1;
}

static uint64_t next_tick, event_due, event_period;

static void set_tick(uint64_t at)
{
    next_tick = at;
    __asm__ volatile("msr cntv_cval_el0, %0\n\tisb" ::"r"(at));
}

/* Ticks are at multiples of their period, so that the end of a sleep is known in advance. */
void board_start_tick(void)
{
    set_tick((board_now() / TICK_COUNTS + 1) * TICK_COUNTS);
    freertos_ticks_before = next_tick / TICK_COUNTS - 1;
    __asm__ volatile("msr cntv_ctl_el0, %0\n\tisb" ::"r"(UINT64_C(1)));
}

void board_next_tick(void)
{
    set_tick(next_tick + TICK_COUNTS);
}

/* Disabled first: an interrupt in between would see half of the settings. */
void board_events(uint64_t period)
{
    uint64_t now;
    __asm__ volatile("msr cntp_ctl_el0, xzr\n\tisb\n\tmrs %0, cntpct_el0" : "=r"(now)::"memory");
    if (!period)
        return;
    event_period = period;
    event_due = now + period;
    __asm__ volatile("msr cntp_cval_el0, %0\n\t"
                     "msr cntp_ctl_el0, %1\n\tisb" ::"r"(event_due),
                     "r"(UINT64_C(1))
                     : "memory");
}

static inline void event(void)
{
    uint64_t now, due = event_due;
    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(now));
    event_due = due + event_period;
    __asm__ volatile("msr cntp_cval_el0, %0\n\tisb" ::"r"(event_due));
    freertos_event(now, now - due);
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
    case SOFT:
        freertos_soft_interrupt();
        break;
    default:
        break; /* 1023: the request has been withdrawn */
    }
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

/* ---- the end ------------------------------------------------------------------------------- */

_Noreturn void board_exit(int status)
{
    volatile uint64_t block[2] = {0x20026, (uint64_t)(unsigned)status};
    register uint64_t call __asm__("x0") = 0x18;
    register uint64_t what __asm__("x1") = (uint64_t)(uintptr_t)block;
    __asm__ volatile("hlt #0xf000" ::"r"(call), "r"(what) : "memory");
    for (;;)
        ;
}

_Noreturn void board_fault(uint64_t esr, uint64_t elr, uint64_t far)
{
    freertos_fault("exception", (unsigned long)esr, (unsigned long)elr, (unsigned long)far);
}
