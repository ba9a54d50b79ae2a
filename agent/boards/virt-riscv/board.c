/* The board `virt` with RISC-V: interrupts, timers, console, end. */
#include "board.h"

#include "FreeRTOS.h"
#include "freertos.h"
#include "task.h"

#define FINISHER 0x00100000u
#define RTC 0x00101000u
#define PLIC 0x0c000000u
#define UART 0x10000000u

enum { EVENT_IRQ = 11 }; /* of the RTC, at the PLIC */
enum { TIME = 0x0, ALARM = 0x8, ENABLE = 0x10, CLEAR_ALARM = 0x14, CLEAR = 0x1c }; /* of the RTC */

#define COMPLETE BOARD_REG(PLIC + 0x200004) /* reading it claims an interrupt */
#define MTIME_COUNTS (configCPU_CLOCK_HZ / configTICK_RATE_HZ)
#define MTIME_NS (BOARD_HZ / configCPU_CLOCK_HZ)

/* Of the kernel's port. */
extern volatile uint64_t *pullMachineTimerCompareRegister;
extern uint64_t ullNextTime;
void vPortSetupTimerInterrupt(void);
void freertos_risc_v_application_interrupt_handler(size_t cause);
_Noreturn void freertos_risc_v_application_exception_handler(size_t cause);

/* ---- interrupts and timers ----------------------------------------------------------------- */

static uint64_t mtime(void)
{
    uint32_t high, low;
    do {
        high = BOARD_REG(configMTIME_BASE_ADDRESS + 4);
        low = BOARD_REG(configMTIME_BASE_ADDRESS);
    } while (high != BOARD_REG(configMTIME_BASE_ADDRESS + 4));
    return (uint64_t)high << 32 | low;
}

/* Ticks come from mtime, and all times from mcycle: they have to be one clock. */
static void check_counter(void)
{
    uint64_t before = mtime();
    uint64_t now = board_now() / MTIME_NS;
    uint64_t after = mtime();
    if (now < before || now > after)
        freertos_fault("mcycle does not count ns, as it does under -icount", now, before, after);
}

void board_init(void)
{
    check_counter();
    BOARD_REG(PLIC + 4 * EVENT_IRQ) = 1;        /* its priority */
    BOARD_REG(PLIC + 0x2000) = 1u << EVENT_IRQ; /* enabled for machine mode */
    BOARD_REG(PLIC + 0x200000) = 0;             /* the threshold */
    __asm__ volatile(
        "csrs mie, %0" ::"r"(1 << 3)); /* the software interrupt; the kernel the rest */
}

/* The kernel's ticks are at multiples of their period, so that the end of a sleep is known. */
void vPortSetupTimerInterrupt(void)
{
    uint64_t next = mtime() / MTIME_COUNTS + 1;
    pullMachineTimerCompareRegister = (volatile uint64_t *)configMTIMECMP_BASE_ADDRESS;
    *pullMachineTimerCompareRegister = next * MTIME_COUNTS;
    ullNextTime = (next + 1) * MTIME_COUNTS; /* after the next tick */
    freertos_ticks_before = next - 1;
}

static uint64_t event_due, event_period; /* in the RTC's time, ns since a date */

static void set_alarm(uint64_t at)
{
    event_due = at;
    BOARD_REG(RTC + ALARM + 4) = (uint32_t)(at >> 32);
    BOARD_REG(RTC + ALARM) = (uint32_t)at;
}

void board_events(uint64_t period)
{
    BOARD_REG(RTC + ENABLE) = 0;
    BOARD_REG(RTC + CLEAR_ALARM) = 1;
    BOARD_REG(RTC + CLEAR) = 1;
    if (!period)
        return;
    event_period = period;
    BOARD_REG(RTC + ENABLE) = 1;
    uint32_t low = BOARD_REG(RTC + TIME); /* which holds the other half until it is read */
    set_alarm(((uint64_t)BOARD_REG(RTC + TIME + 4) << 32 | low) + period);
}

/* The time since the timer fired is how far its own value is past the alarm. */
static void event(void)
{
    uint32_t late = BOARD_REG(RTC + TIME) - (uint32_t)event_due;
    uint64_t now = board_now();
    BOARD_REG(RTC + CLEAR) = 1;
    set_alarm(event_due + event_period);
    freertos_event(now, late);
}

/* Called by the kernel's handler for all interrupts but its tick. */
void freertos_risc_v_application_interrupt_handler(size_t cause)
{
    if ((cause & 0xff) == 3) {
        BOARD_MSIP = 0;
        freertos_soft_interrupt();
        return;
    }
    uint32_t source = COMPLETE;
    if (source == EVENT_IRQ)
        event();
    COMPLETE = source;
}

/* ---- console ------------------------------------------------------------------------------- */

void board_put(const char *bytes, size_t n)
{
    volatile uint8_t *uart = (volatile uint8_t *)(uintptr_t)UART;
    for (size_t i = 0; i < n; i++) {
        while (!(uart[5] & 0x20)) /* transmit buffer full */
            ;
        uart[0] = (unsigned char)bytes[i];
    }
}

int board_get(void)
{
    volatile uint8_t *uart = (volatile uint8_t *)(uintptr_t)UART;
    return uart[5] & 1 ? uart[0] : -1;
}

/* ---- the end ------------------------------------------------------------------------------- */

_Noreturn void board_exit(int status)
{
    BOARD_REG(FINISHER) = status ? (uint32_t)status << 16 | 0x3333 : 0x5555;
    for (;;)
        ;
}

_Noreturn void freertos_risc_v_application_exception_handler(size_t cause)
{
    size_t where, address;
    __asm__ volatile("csrr %0, mepc\n\tcsrr %1, mtval" : "=r"(where), "=r"(address));
    freertos_fault("exception", cause, where, address);
}
