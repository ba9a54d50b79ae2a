/* Configuration of the FreeRTOS kernel; options come from CMake. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stdint.h>

#include "board_config.h"

#define configTICK_RATE_HZ 1000
#define configMAX_PRIORITIES 32
#define configMAX_TASK_NAME_LEN 12
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS

#define configUSE_PREEMPTION 1
#ifndef configUSE_TIME_SLICING
#define configUSE_TIME_SLICING 0 /* RTS_FIFO; with it, a tick in a yield spoils the sample */
#endif
#define configUSE_TICKLESS_IDLE 0

/* CPU time of tasks, and how often they were preempted: only where slices cost anyway. */
#define configGENERATE_RUN_TIME_STATS configUSE_TIME_SLICING
#if configGENERATE_RUN_TIME_STATS
uint64_t freertos_counter(void);
extern volatile uint64_t freertos_preemptions;
#define configRUN_TIME_COUNTER_TYPE uint64_t
#define portCONFIGURE_TIMER_FOR_RUN_TIME_STATS()
#define portGET_RUN_TIME_COUNTER_VALUE() freertos_counter()
/* In vTaskSwitchContext(): a task was preempted if it is still ready and another one goes on. */
#define traceTASK_SWITCHED_OUT() TCB_t *const out = pxCurrentTCB
#define portTASK_SWITCH_HOOK(in)                                                                   \
    if (out != (in) &&                                                                             \
        listIS_CONTAINED_WITHIN(&pxReadyTasksLists[out->uxPriority], &out->xStateListItem))        \
    freertos_preemptions++
#endif
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#ifndef configUSE_IDLE_HOOK
#define configUSE_IDLE_HOOK 0
#endif
#define configIDLE_SHOULD_YIELD 1

#define configUSE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_QUEUE_SETS 1
#define configUSE_TASK_NOTIFICATIONS 1
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 4 /* the kernel's, the port's, two channels */
#ifndef configUSE_TIMERS /* its task is below all that cases use; a load needs it */
#define configUSE_TIMERS 1
#endif
#define configTIMER_TASK_PRIORITY 2 /* RTS_PRIO_MIN */
#define configTIMER_QUEUE_LENGTH 8
#define configTIMER_TASK_STACK_DEPTH (2 * configMINIMAL_STACK_SIZE)
#define configUSE_STREAM_BUFFERS 1
#define configQUEUE_REGISTRY_SIZE 0

#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configAPPLICATION_ALLOCATED_HEAP 1 /* placed by the board */

/* Checks take time in every call: they are for tests, not for measurements. */
#ifndef RTS_FREERTOS_CHECKS
#define RTS_FREERTOS_CHECKS 0
#endif
#define configUSE_MALLOC_FAILED_HOOK 0 /* callers get an error, and report it */
#if RTS_FREERTOS_CHECKS
#define configCHECK_FOR_STACK_OVERFLOW 2
void freertos_assert(const char *file, int line);
#define configASSERT(x)                                                                            \
    if (!(x))                                                                                      \
    freertos_assert(__FILE__, __LINE__)
#else
#define configCHECK_FOR_STACK_OVERFLOW 0
#endif

#define INCLUDE_vTaskDelay 1
#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_eTaskGetState 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1
#define INCLUDE_xTaskGetHandle 1

#endif
