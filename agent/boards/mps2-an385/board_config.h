/* What FreeRTOSConfig.h needs to know about the board; also included by the kernel's sources. */
#ifndef RTS_BOARD_CONFIG_H
#define RTS_BOARD_CONFIG_H

#define configCPU_CLOCK_HZ 25000000
#define configTOTAL_HEAP_SIZE (53u << 10)
#define configMINIMAL_STACK_SIZE 128 /* words of 4 bytes */
#define configUSE_TICK_HOOK 1        /* extends the counter to 64 bits */

#define configKERNEL_INTERRUPT_PRIORITY 255
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0xa0

#endif
