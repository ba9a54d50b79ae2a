/* The board `virt`, as the port sees it.  Every port of a board has these. */
#ifndef RTS_BOARD_H
#define RTS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#define BOARD_NAME "virt-a53"
#define BOARD_ARCH "aarch64"
#define BOARD_HZ UINT64_C(62500000) /* of the counter */
#define BOARD_COUNTER "cntvct"
#define BOARD_SCRIPT 0x47000000u /* where QEMU's loader puts the script */
#define BOARD_EVENT "cntp"       /* the timer that makes events */

/* What the agent may spend (core/sizes.h; there is plenty). */
#define RTS_TABLE_BYTES (64 << 10)
#define RTS_STACK_DEFAULT (8u << 10)
#define RTS_BUDGET_DEFAULT (16 << 20)
#define RTOS_MEASURING_STACK (32u << 10)
#define FREERTOS_AGENT_STACK (32u << 10)

/* The counter, after everything before it and before everything behind it; 0 and every 1/1000 s
 * after it are ticks. */
static inline uint64_t board_now(void)
{
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(count)::"memory");
    return count;
}

/* Asks for the soft interrupt, which has been served when this returns. */
static inline void board_raise(void)
{
    *(volatile uint32_t *)(uintptr_t)0x08000f00 = 2u << 24 | 1; /* GICD_SGIR: to itself, SGI 1 */
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

/* Before the scheduler starts: console and interrupts. */
void board_init(void);

/* Events every `period` counts from now on, each told to freertos_event(); period 0: no more. */
void board_events(uint64_t period);

void board_put(const char *bytes, size_t n);

/* The next character of the console, or -1 if there is none yet. */
int board_get(void);

/* Ends the emulator with that status. */
_Noreturn void board_exit(int status);

#endif
