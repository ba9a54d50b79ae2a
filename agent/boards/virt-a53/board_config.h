/* What FreeRTOSConfig.h needs to know about the board; also included by the kernel's sources. */
#ifndef RTS_BOARD_CONFIG_H
#define RTS_BOARD_CONFIG_H

#define configTOTAL_HEAP_SIZE (96u << 20)
#define configMINIMAL_STACK_SIZE 512 /* words of 8 bytes */
#define configUSE_TICK_HOOK 0

/* Every task has an FPU context: the agent uses doubles, and its compiler uses vector registers. */
#define configUSE_TASK_FPU_SUPPORT 2

#define configINTERRUPT_CONTROLLER_BASE_ADDRESS UINT64_C(0x08000000)
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET UINT64_C(0x10000)
#define configUNIQUE_INTERRUPT_PRIORITIES 32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18

void board_start_tick(void);
void board_next_tick(void);
#define configSETUP_TICK_INTERRUPT() board_start_tick()
#define configCLEAR_TICK_INTERRUPT() board_next_tick()

#endif
