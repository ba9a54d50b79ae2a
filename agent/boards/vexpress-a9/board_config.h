/* What FreeRTOSConfig.h needs to know about the board; also included by the kernel's sources. */
#ifndef RTS_BOARD_CONFIG_H
#define RTS_BOARD_CONFIG_H

/* What belongs to the processor, and the UART. */
#define BOARD_GICC 0x1e000100u
#define BOARD_GLOBAL_TIMER 0x1e000200u
#define BOARD_PRIVATE_TIMER 0x1e000600u
#define BOARD_GICD 0x1e001000u
#define BOARD_UART 0x10009000u

#define configTOTAL_HEAP_SIZE (96u << 20)
#define configMINIMAL_STACK_SIZE 512 /* words of 4 bytes */
#define configUSE_TICK_HOOK 0

/* Every task has an FPU context: the agent uses doubles, and its compiler uses vector registers. */
#define configUSE_TASK_FPU_SUPPORT 2

#define configINTERRUPT_CONTROLLER_BASE_ADDRESS BOARD_GICD
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET (BOARD_GICC - BOARD_GICD)
#define configUNIQUE_INTERRUPT_PRIORITIES 32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18

void board_start_tick(void);
void board_end_tick(void);
#define configSETUP_TICK_INTERRUPT() board_start_tick()
#define configCLEAR_TICK_INTERRUPT() board_end_tick()

#endif
