/* The hot operations of the FreeRTOS port: the kernel's own call and nothing else. */
#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

#include <string.h>

#include "freertos.h"

RTS_HOT int freertos_result(BaseType_t result, int error)
{
    return result == pdPASS ? 0 : error;
}

RTS_HOT rts_tick rts_now(void)
{
    return board_now();
}

#if RTS_STAMP_BITS == 32
RTS_HOT rts_stamp rts_stamp_now(void)
{
    return board_stamp();
}
#endif

RTS_SHARED rts_tick rts_time(void)
{
    return board_now() * (RTS_TIME_HZ / BOARD_HZ);
}

#if configGENERATE_RUN_TIME_STATS
/* Returns the CPU time of a task in ns; NULL: of the calling one. */
static inline uint64_t freertos_cpu_time(TaskHandle_t task)
{
    return ulTaskGetRunTimeCounter(task) * (RTS_TIME_HZ / BOARD_HZ);
}

static inline uint64_t rts_cpu_time(void)
{
    return freertos_cpu_time(NULL);
}
#endif

RTS_HOT void rts_yield(void)
{
    taskYIELD();
}

/*
 * Sleeps until the first tick at or after the time. The tick is absolute, so that a tick in between
 * does no harm. A task that was suspended and resumed is no longer delayed: it goes back to sleep.
 * The kernel's count of ticks has 32 bits, so that it begins anew after 49.7 days: a sleep may be
 * half as long.
 */
RTS_SHARED void rts_sleep_until(rts_tick time)
{
    TickType_t tick =
        (TickType_t)((time + RTS_SLEEP_GRAIN - 1) / RTS_SLEEP_GRAIN - freertos_ticks_before);
    uint32_t resumed;
    do {
        resumed = freertos_resumed;
        TickType_t now = xTaskGetTickCount();
        if ((int32_t)(tick - now) > 0)
            xTaskDelayUntil(&now, tick - now);
    } while (resumed != freertos_resumed);
}

/* The next tick ends a partial period: the duration takes one tick more. */
RTS_SHARED int rts_sleep_for(rts_tick duration)
{
    vTaskDelay((TickType_t)((duration + RTS_SLEEP_GRAIN - 1) / RTS_SLEEP_GRAIN + 1));
    return 0;
}

RTS_HOT void rts_suspend(void)
{
    vTaskSuspend(NULL);
}

RTS_HOT int rts_resume(rts_task *task)
{
    vTaskResume(task->handle);
    return 0;
}

/* ---- children ------------------------------------------------------------------------------ */

void freertos_child(void *unused);

RTS_HOT int rts_child_create(rts_child *child, int kind)
{
    if (kind == RTS_CHILD_THREAD)
        return freertos_result(xTaskCreate(freertos_child, "child", child->words, NULL,
                                           (UBaseType_t)child->prio, &child->handle),
                               RTS_E_NO_MEMORY);
    child->handle = xTaskCreateStatic(freertos_child, "child", child->words, NULL,
                                      (UBaseType_t)child->prio, child->stack, &child->store);
    return 0;
}

/* The call frees the task's memory, as the task does not delete itself. */
RTS_HOT int rts_child_kill(rts_child *child, int kind)
{
    (void)kind;
    vTaskDelete(child->handle);
    return 0;
}

/* Nothing is left: the idle task frees memory only of tasks that delete themselves. */
static inline int rts_child_reap(rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return 0;
}

/* ---- interrupts ---------------------------------------------------------------------------- */

RTS_HOT int rts_irq_raise(rts_irq *irq)
{
    (void)irq;
    board_raise();
    return 0;
}

/* Returns how far the timer was past its compare value when its handler read it, in ticks. */
static inline rts_tick rts_event_late(const rts_event *event)
{
    return event->late;
}

/* ---- semaphores, mutexes, queues ----------------------------------------------------------- */

RTS_HOT int rts_sem_create(rts_sem *sem, unsigned value)
{
    sem->handle = xSemaphoreCreateCountingStatic((UBaseType_t)-1, value, &sem->store);
    return 0;
}

RTS_HOT int rts_sem_destroy(rts_sem *sem)
{
    vSemaphoreDelete(sem->handle);
    return 0;
}

RTS_HOT int rts_sem_give(rts_sem *sem)
{
    return freertos_result(xSemaphoreGive(sem->handle), RTS_E_OVERFLOW);
}

RTS_HOT int rts_sem_take(rts_sem *sem)
{
    return freertos_result(xSemaphoreTake(sem->handle, portMAX_DELAY), RTS_E_FAILED);
}

RTS_HOT int rts_sem_try(rts_sem *sem)
{
    return freertos_result(xSemaphoreTake(sem->handle, 0), RTS_E_FAILED);
}

RTS_HOT int rts_mutex_lock(rts_mutex *mutex)
{
    return freertos_result(xSemaphoreTake(mutex->handle, portMAX_DELAY), RTS_E_FAILED);
}

RTS_HOT int rts_mutex_unlock(rts_mutex *mutex)
{
    return freertos_result(xSemaphoreGive(mutex->handle), RTS_E_NOT_OWNER);
}

RTS_HOT int rts_queue_send(rts_queue *queue, const void *message)
{
    return freertos_result(xQueueSend(queue->handle, message, portMAX_DELAY), RTS_E_FAILED);
}

RTS_HOT int rts_queue_receive(rts_queue *queue, void *message)
{
    return freertos_result(xQueueReceive(queue->handle, message, portMAX_DELAY), RTS_E_FAILED);
}

/* ---- channels ------------------------------------------------------------------------------ */

static inline bool rts_channel_passes_pointer(int kind)
{
    return kind == RTS_CHANNEL_MAILBOX || kind == RTS_CHANNEL_NOTIFICATION;
}

/* If a notification has not been taken yet, the sender fails: it cannot wait for room. */
static inline int rts_channel_send(rts_channel *channel, int kind, void *message)
{
    switch (kind) {
    case RTS_CHANNEL_MAILBOX:
        return rts_queue_send(&channel->queue, &message);
    case RTS_CHANNEL_NOTIFICATION:
        return freertos_result(xTaskNotifyIndexed(channel->receiver, channel->index,
                                                  (uint32_t)(uintptr_t)message,
                                                  eSetValueWithoutOverwrite),
                               RTS_E_FAILED);
    case RTS_CHANNEL_MESSAGE_BUFFER:
        return xMessageBufferSend(channel->buffer, message, channel->size, portMAX_DELAY) ==
                       channel->size
                   ? 0
                   : RTS_E_FAILED;
    default:
        return rts_queue_send(&channel->queue, message);
    }
}

static inline int rts_channel_receive(rts_channel *channel, int kind, void **message)
{
    uint32_t value;
    switch (kind) {
    case RTS_CHANNEL_MAILBOX:
        return rts_queue_receive(&channel->queue, message);
    case RTS_CHANNEL_NOTIFICATION:
        channel->receiver = xTaskGetCurrentTaskHandle();
        if (xTaskNotifyWaitIndexed(channel->index, 0, 0, &value, portMAX_DELAY) != pdTRUE)
            return RTS_E_FAILED;
        *message = (void *)(uintptr_t)value; /* all memory is below 4 GiB */
        return 0;
    case RTS_CHANNEL_MESSAGE_BUFFER:
        return xMessageBufferReceive(channel->buffer, *message, channel->size, portMAX_DELAY) ==
                       channel->size
                   ? 0
                   : RTS_E_FAILED;
    case RTS_CHANNEL_QUEUE_SET:
        return freertos_result(
            xQueueReceive(xQueueSelectFromSet(channel->set, portMAX_DELAY), *message, 0),
            RTS_E_FAILED);
    default:
        return rts_queue_receive(&channel->queue, *message);
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

RTS_HOT void *rts_malloc(size_t size)
{
    return pvPortMalloc(size);
}

RTS_HOT void rts_free(void *block)
{
    vPortFree(block);
}

#endif
