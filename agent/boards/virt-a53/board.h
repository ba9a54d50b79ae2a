/* The board `virt`, as seen by the port. The port of any board has these functions. */
#ifndef RTS_BOARD_H
#define RTS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "board_config.h"

#ifdef BOARD_XEN
#define BOARD_NAME "virt-a53-xen"
#define BOARD_SCRIPT 0x40001000u /* in the image (rtstone/lab/xen.py) */
#define BOARD_EVENT "cntv"       /* the timer that generates events, beside the tick */
/* How long to wait for the other domain at the start, in ms. */
#define BOARD_SETTLE_MS (*(const volatile uint32_t *)(uintptr_t)(BOARD_SCRIPT - 4))
#else
#define BOARD_NAME "virt-a53"
#define BOARD_SCRIPT 0x47000000u /* where QEMU's loader puts the script */
#define BOARD_EVENT "cntp"       /* the timer that generates events */
#endif
#define BOARD_ARCH "aarch64"
#define BOARD_HZ UINT64_C(62500000) /* of the counter */
#define BOARD_COUNTER "cntvct"

/* What the agent may use (core/sizes.h; there is plenty). */
#define RTS_TABLE_BYTES (64 << 10)
#define RTS_STACK_DEFAULT (8u << 10)
#define RTS_BUDGET_DEFAULT (16 << 20)
#define RTOS_MEASURING_STACK (32u << 10)
#define FREERTOS_AGENT_STACK (32u << 10)

/*
 * Reads the counter, ordered after all preceding and before all following instructions. Ticks are
 * at 0 and every 1/1000 s after it.
 */
static inline uint64_t board_now(void)
{
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(count)::"memory");
    return count;
}

/* Requests the software interrupt, which has been served when this returns. */
static inline void board_raise(void)
{
    /* GICD_SGIR: to itself, SGI 1 */
    *(volatile uint32_t *)(uintptr_t)(BOARD_GICD + 0xf00) = 2u << 24 | 1;
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

/* Initialises console and interrupts; called before the scheduler starts. */
void board_init(void);

/* Calls freertos_event() every `period` counts from now on; period 0: stops. */
void board_events(uint64_t period);

void board_put(const char *bytes, size_t n);

/* Returns the next character of the console, or -1 if there is none yet. */
int board_get(void);

/* Ends the emulator with this exit status. */
_Noreturn void board_exit(int status);

#endif
