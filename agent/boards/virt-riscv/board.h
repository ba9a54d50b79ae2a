/* The board `virt` with RISC-V, as seen by the port. */
#ifndef RTS_BOARD_H
#define RTS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "../plenty.h"

#if __riscv_xlen == 64
#define BOARD_NAME "virt-rv64"
#define BOARD_ARCH "riscv64"
#else
#define BOARD_NAME "virt-rv32"
#define BOARD_ARCH "riscv32"
#endif
#define BOARD_HZ UINT64_C(1000000000) /* of the counter, which QEMU advances with virtual time */
#define BOARD_COUNTER "mcycle"
#define BOARD_SCRIPT 0x87000000u   /* where QEMU's loader puts the script */
#define BOARD_EVENT "goldfish rtc" /* the timer that generates events */

#define BOARD_REG(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define BOARD_MSIP BOARD_REG(0x02000000) /* of the CLINT: the software interrupt */

/* Reads the counter, with both halves of one moment. Ticks are at 0 and every 1/1000 s after it. */
static inline uint64_t board_now(void)
{
#if __riscv_xlen == 64
    uint64_t count;
    __asm__ volatile("csrr %0, mcycle" : "=r"(count)::"memory");
    return count;
#else
    uint32_t high, low, again;
    __asm__ volatile("1: csrr %0, mcycleh\n\t"
                     "csrr %1, mcycle\n\t"
                     "csrr %2, mcycleh\n\t"
                     "bne %0, %2, 1b"
                     : "=&r"(high), "=&r"(low), "=&r"(again)::"memory");
    return (uint64_t)high << 32 | low;
#endif
}

/* Requests the software interrupt, which has been served when this returns: its handler ends it. */
static inline void board_raise(void)
{
    BOARD_MSIP = 1;
    while (BOARD_MSIP)
        ;
}

#endif
