/* A board MPS2, as seen by the port. */
#ifndef RTS_BOARD_H
#define RTS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#define BOARD_HZ UINT64_C(BOARD_COUNTS) /* of the counter */
#define BOARD_COUNTER "cmsdk timer1"
#define BOARD_EVENT "cmsdk timer0" /* the timer that generates events */

#define BOARD_REG(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define BOARD_COUNTER_VALUE BOARD_REG(BOARD_TIMERS + 0x1004) /* counts down */
#define BOARD_SOFT_IRQ 31                                    /* not connected to any device */

#define RTS_STAMP_BITS 32 /* provides board_stamp() */

/* What the agent may use (core/sizes.h). */
#ifdef BOARD_SMALL /* 96 KiB of code and 64 KiB of RAM */
#define RTS_SMALL_CODE 1
#define FREERTOS_FEW_CHANNELS 1 /* each kind takes 0.6 KB in ipc.*, besides its kernel code */
#define RTS_HIST_RANGE 28
#define RTS_SINGLE 0 /* no RAM for a second series */
#define RTS_MISSES 0 /* nor for the closeness of misses, which takes code, too */
#define RTS_BLOCK_SAMPLES 8
#define RTS_TRACE 32
#define RTS_BLOCKS 64
#define RTS_STATE_BYTES (16u << 10)
#define RTS_TABLE_BYTES (10 << 10)
#define RTS_TASKS_MAX 16
#define RTS_SEMS_MAX 24
#define RTS_PARAM_BYTES 128
#define RTS_WORKERS_MAX 64
#define RTS_COMPONENTS 4
#define RTS_MARKS 13
#define RTS_STACK_DEFAULT 768
#define RTS_BUDGET_DEFAULT (16 << 10)
#define RTOS_MEASURING_STACK 2560
#define FREERTOS_AGENT_STACK 2560
#else /* 512 KiB of code and 256 KiB of RAM */
#define RTS_HIST_RANGE 31
#define RTS_MISSES 16
#define RTS_TRACE 64
#define RTS_BLOCKS 128
#define RTS_STATE_BYTES (32u << 10)
#define RTS_TABLE_BYTES (16 << 10)
#define RTS_TASKS_MAX 64
#define RTS_SEMS_MAX 64
#define RTS_PARAM_BYTES 256
#define RTS_WORKERS_MAX 64
#define RTS_STACK_DEFAULT 1024
#define RTS_BUDGET_DEFAULT (32 << 10)
#define RTOS_MEASURING_STACK 4096
#define FREERTOS_AGENT_STACK 4096
#endif
#define RTS_COUNT_BITS 32
#define RTS_BATCH_MAX 0
#define RTS_CACHE_LINE 8
#define RTS_CPUS 64
#define RTS_COMMAND_BYTES 512
#define RTS_WIRE_BYTES 128
#define RTS_GRANULE_READS 64

/* Extends the 32-bit counter to 64 bits. Ticks are at 0 and every 1/1000 s after it. */
uint64_t board_now(void);

/* Reads the counter itself, with one load. */
static inline uint32_t board_stamp(void)
{
    return ~BOARD_COUNTER_VALUE; /* marked: stamp */
}

/* Requests the software interrupt, which has been served when this returns. */
static inline void board_raise(void)
{
    BOARD_REG(0xe000e200) = 1u << BOARD_SOFT_IRQ; /* NVIC_ISPR0 */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

#endif
