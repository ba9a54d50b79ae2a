/* What FreeRTOSConfig.h needs to know about the board; also included by the kernel's sources. */
#ifndef RTS_BOARD_CONFIG_H
#define RTS_BOARD_CONFIG_H

/* Interrupt controller and UART: the machine's own, or what Xen shows its domains. */
#ifdef BOARD_XEN
#define BOARD_GICD 0x03001000u
#define BOARD_GICC 0x03002000u
#define BOARD_UART 0x22000000u
#else
#define BOARD_GICD 0x08000000u
#define BOARD_GICC 0x08010000u
#define BOARD_UART 0x09000000u
#endif

#define configTOTAL_HEAP_SIZE (96u << 20)
#define configMINIMAL_STACK_SIZE 512 /* words of 8 bytes */
#define configUSE_TICK_HOOK 0
#ifdef BOARD_XEN
#define configUSE_IDLE_HOOK 1 /* leaves the processor to the other domain */
#endif

/* Every task has an FPU context: the agent uses doubles, and its compiler uses vector registers. */
#define configUSE_TASK_FPU_SUPPORT 2

#define configINTERRUPT_CONTROLLER_BASE_ADDRESS (UINT64_C(0) + BOARD_GICD)
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET (UINT64_C(0) + BOARD_GICC - BOARD_GICD)
#define configUNIQUE_INTERRUPT_PRIORITIES 32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18

void board_start_tick(void);
void board_next_tick(void);
#define configSETUP_TICK_INTERRUPT() board_start_tick()
#define configCLEAR_TICK_INTERRUPT() board_next_tick()

#endif
