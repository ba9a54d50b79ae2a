/* The board `vexpress-a9`, as seen by the port. */
#ifndef RTS_BOARD_H
#define RTS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "../gic.h"
#include "../plenty.h"

#define BOARD_NAME "vexpress-a9"
#define BOARD_ARCH "armv7a"
#define BOARD_HZ UINT64_C(100000000) /* of the counter */
#define BOARD_COUNTER "a9 global timer"
#define BOARD_EVENT "a9 private timer" /* the timer that generates events */
#define BOARD_SCRIPT 0x67000000u       /* where QEMU's loader puts the script */

#define RTS_STAMP_BITS 32 /* provides board_stamp() */

/* A reading begins when all instructions before it are done, and is done before the next begins. */
#define BOARD_BEFORE_READING() __asm__ volatile("isb" ::: "memory")
#define BOARD_AFTER_READING() __asm__ volatile("dsb" ::: "memory")

/* Reads the lower half of the counter, with one load. */
static inline uint32_t board_stamp(void)
{
    BOARD_BEFORE_READING();
    uint32_t low = BOARD_REG(BOARD_GLOBAL_TIMER); /* marked: stamp */
    BOARD_AFTER_READING();
    return low;
}

/* Reads the counter, with both halves of one moment. Ticks are at 0 and every 1/1000 s after it. */
static inline uint64_t board_now(void)
{
    uint32_t high, low;
    BOARD_BEFORE_READING();
    do {
        high = BOARD_REG(BOARD_GLOBAL_TIMER + 4);
        low = BOARD_REG(BOARD_GLOBAL_TIMER);
    } while (high != BOARD_REG(BOARD_GLOBAL_TIMER + 4));
    BOARD_AFTER_READING();
    return (uint64_t)high << 32 | low;
}

#endif
