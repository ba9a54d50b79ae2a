/* What FreeRTOSConfig.h needs to know about these boards; also included by the kernel's sources. */
#ifndef RTS_BOARD_CONFIG_H
#define RTS_BOARD_CONFIG_H

#define configCPU_CLOCK_HZ BOARD_COUNTS
#ifdef BOARD_SMALL
#define configTOTAL_HEAP_SIZE (53u << 10)
#else
#define configTOTAL_HEAP_SIZE (232u << 10)
#endif
#define configMINIMAL_STACK_SIZE 128 /* words of 4 bytes */
#define configUSE_TIMERS 0           /* no RAM for their task */
#define configUSE_TICK_HOOK 1        /* extends the counter to 64 bits */

/* Of ARMv8-M: the processor starts in secure state, and stays there. */
#define configENABLE_FPU 1
#define configENABLE_MPU 0
#define configENABLE_TRUSTZONE 0
#define configRUN_FREERTOS_SECURE_ONLY 1

/* The names that all other ports have for the kernel's handlers. */
#define SVC_Handler vPortSVCHandler
#define PendSV_Handler xPortPendSVHandler
#define SysTick_Handler xPortSysTickHandler

#define configKERNEL_INTERRUPT_PRIORITY 255
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0xa0

#endif
