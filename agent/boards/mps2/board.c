/* QEMU's boards MPS2: start, interrupts, timers, console, end. ../mps2.cmake has their addresses.
 */
#include "board.h"

#include <string.h>

#include "FreeRTOS.h"
#include "freertos.h"
#include "task.h"

#define TIMER0 BOARD_TIMERS
#define TIMER1 (BOARD_TIMERS + 0x1000)
#define UART BOARD_UART
#define SYSTICK 0xe000e010u

enum { CTRL = 0x0, VALUE = 0x4, RELOAD = 0x8, CLEAR = 0xc }; /* of a timer */
enum { EVENT_IRQ = BOARD_EVENT_IRQ };

#define PRIORITY 0xc0 /* of interrupts that may call the kernel and preempt the tick */
#define TICK_COUNTS (configCPU_CLOCK_HZ / configTICK_RATE_HZ)

/* Addresses from the linker script. */
extern unsigned char board_data[], board_data_end[], board_data_image[], board_bss[],
    board_bss_end[], board_stack[];

int main(void);
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
void vPortSetupTimerInterrupt(void);
_Noreturn void board_reset(void);
_Noreturn void board_stopped(const uint32_t *frame);

/*
 * Half-ranges of the counter that had passed at the last tick; odd if the counter's highest bit was
 * set then.
 */
static volatile uint32_t halves_gone;

/* ---- start --------------------------------------------------------------------------------- */

_Noreturn void board_reset(void)
{
#ifdef __ARM_FP
    BOARD_REG(0xe000ed88) = 0xf00000; /* CPACR: the FPU is on */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    memcpy(board_data, board_data_image, (uintptr_t)board_data_end - (uintptr_t)board_data);
    memset(board_bss, 0, (uintptr_t)board_bss_end - (uintptr_t)board_bss);
    main();
    for (;;)
        ;
}

/* The program counter is in the frame that the processor has pushed on the current stack. */
__attribute__((naked)) static void fault(void)
{
    __asm__ volatile("tst lr, #4\n\t"
                     "ite eq\n\t"
                     "mrseq r0, msp\n\t"
                     "mrsne r0, psp\n\t"
                     "ldr r1, =board_stack\n\t"
                     "mov sp, r1\n\t"
                     "b board_stopped\n\t"
                     ".ltorg");
}

__attribute__((used)) _Noreturn void board_stopped(const uint32_t *frame)
{
    freertos_fault("fault", BOARD_REG(0xe000ed28), frame[6], BOARD_REG(0xe000ed38));
}

static void event(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[16 + 32])(void) = {
    [0] = (void (*)(void))board_stack,
    [1] = (void (*)(void))board_reset,
    [2 ... 10] = fault,
    [11] = vPortSVCHandler,
    [12 ... 13] = fault,
    [14] = xPortPendSVHandler,
    [15] = xPortSysTickHandler,
    [16 ... 16 + EVENT_IRQ - 1] = fault,
    [16 + EVENT_IRQ] = event,
    [16 + EVENT_IRQ + 1 ... 16 + BOARD_SOFT_IRQ - 1] = fault,
    [16 + BOARD_SOFT_IRQ] = freertos_soft_interrupt,
};

/* ---- interrupts and timers ----------------------------------------------------------------- */

void board_init(void)
{
    BOARD_REG(UART + 0x10) = 16; /* maximum baud rate */
    BOARD_REG(UART + 0x08) = 3;  /* both directions */
    BOARD_REG(TIMER1 + RELOAD) = UINT32_MAX;
    BOARD_REG(TIMER1 + VALUE) = UINT32_MAX;
    BOARD_REG(TIMER1 + CTRL) = 1;
    ((volatile uint8_t *)(uintptr_t)0xe000e400)[EVENT_IRQ] = PRIORITY;
    ((volatile uint8_t *)(uintptr_t)0xe000e400)[BOARD_SOFT_IRQ] = PRIORITY;
    BOARD_REG(0xe000e100) = 1u << EVENT_IRQ | 1u << BOARD_SOFT_IRQ;
}

/*
 * The kernel's tick. The counter starts with it, so that ticks are at multiples of their period,
 * apart from the few counts between the two stores.
 */
void vPortSetupTimerInterrupt(void)
{
    BOARD_REG(SYSTICK) = 0;
    BOARD_REG(SYSTICK + 4) = TICK_COUNTS - 1;
    BOARD_REG(SYSTICK + 8) = 0;
    BOARD_REG(SYSTICK) = 7;
    BOARD_REG(TIMER1 + VALUE) = UINT32_MAX;
    halves_gone = 0;
}

void vApplicationTickHook(void)
{
    uint32_t halves = halves_gone;
    halves_gone = halves + ((halves ^ board_stamp() >> 31) & 1);
}

/*
 * Correct whatever interrupts it: `halves` is read before the counter, and there are many ticks per
 * half-range, so that the counter is ahead by one half at most, which its highest bit shows.
 */
uint64_t board_now(void)
{
    uint32_t halves = halves_gone;
    uint32_t low = board_stamp();
    halves += (halves ^ low >> 31) & 1;
    return (uint64_t)(halves >> 1) << 32 | low;
}

void board_events(uint64_t period)
{
    BOARD_REG(TIMER0 + CTRL) = 0;
    BOARD_REG(TIMER0 + CLEAR) = 1;
    if (!period)
        return;
    BOARD_REG(TIMER0 + RELOAD) = (uint32_t)period - 1;
    BOARD_REG(TIMER0 + VALUE) = (uint32_t)period - 1;
    BOARD_REG(TIMER0 + CTRL) = 9; /* enable, with interrupts */
}

/* The time since the timer fired is how far it has counted down since. */
static void event(void)
{
    uint32_t value = BOARD_REG(TIMER0 + VALUE);
    uint64_t now = board_now();
    uint32_t reload = BOARD_REG(TIMER0 + RELOAD);
    BOARD_REG(TIMER0 + CLEAR) = 1;
    freertos_event(now, reload - value);
}

/* ---- console ------------------------------------------------------------------------------- */

void board_put(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (BOARD_REG(UART + 4) & 1) /* transmit buffer full */
            ;
        BOARD_REG(UART) = (unsigned char)bytes[i];
    }
}

int board_get(void)
{
    return BOARD_REG(UART + 4) & 2 ? (int)(BOARD_REG(UART) & 0xff) : -1;
}

/* ---- the end ------------------------------------------------------------------------------- */

_Noreturn void board_exit(int status)
{
    volatile uint32_t block[2] = {0x20026, (uint32_t)status};
    register uint32_t call __asm__("r0") = 0x20;
    register uint32_t argument __asm__("r1") = (uint32_t)(uintptr_t)block;
    __asm__ volatile("bkpt 0xab" ::"r"(call), "r"(argument) : "memory");
    for (;;)
        ;
}
