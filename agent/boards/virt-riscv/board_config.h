/* What FreeRTOSConfig.h needs to know about the board; also included by the kernel's sources. */
#ifndef RTS_BOARD_CONFIG_H
#define RTS_BOARD_CONFIG_H

#define configCPU_CLOCK_HZ 10000000 /* of mtime, from which the kernel takes its tick */
#define configTOTAL_HEAP_SIZE (96u << 20)
#define configMINIMAL_STACK_SIZE 512 /* words of 4 or 8 bytes */
#define configUSE_TICK_HOOK 0

#define configMTIME_BASE_ADDRESS 0x0200bff8u
#define configMTIMECMP_BASE_ADDRESS 0x02004000u

#endif
