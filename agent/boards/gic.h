/* Boards with ARM's interrupt controller GIC, which is at BOARD_GICD and BOARD_GICC. */
#ifndef RTS_BOARD_GIC_H
#define RTS_BOARD_GIC_H

#include <stdint.h>

#include "board_config.h"

#define BOARD_REG(address) (*(volatile uint32_t *)(uintptr_t)(address))

enum { BOARD_SOFT_IRQ = 1 }; /* one of those that only software requests */

/* Requests the software interrupt, which has been served when this returns. */
static inline void board_raise(void)
{
    BOARD_REG(BOARD_GICD + 0xf00) = 2u << 24 | BOARD_SOFT_IRQ; /* GICD_SGIR: to itself */
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

/*
 * Enables these interrupts, of the first 32. The kernel's tick has the lowest priority; all others
 * may call the kernel and preempt the tick.
 */
static inline void gic_enable(uint32_t interrupts, unsigned tick)
{
    volatile uint8_t *priority = (volatile uint8_t *)(uintptr_t)(BOARD_GICD + 0x400);
    BOARD_REG(BOARD_GICD) = 1;
    for (unsigned i = 0; i < 32; i++)
        priority[i] = i == tick ? 30 << 3 : 20 << 3;
    BOARD_REG(BOARD_GICD + 0x100) = interrupts;
    BOARD_REG(BOARD_GICC + 0x08) = 0;
    BOARD_REG(BOARD_GICC + 0x04) = 0xff;
    BOARD_REG(BOARD_GICC) = 1;
}

#endif
