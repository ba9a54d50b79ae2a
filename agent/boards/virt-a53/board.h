/* The board `virt`, as seen by the port. */
#ifndef RTS_BOARD_H
#define RTS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "../gic.h"
#include "../plenty.h"

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

#endif
