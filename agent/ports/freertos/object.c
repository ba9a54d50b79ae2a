/* Semaphores, mutexes, queues and channels: the untimed part. */
#include "freertos.h"
#include "port.h"

int rts_mutex_create(rts_mutex *mutex, rts_protocol protocol, int ceiling)
{
    (void)ceiling;
    if (protocol == RTS_LOCK_PROTECT)
        return RTS_E_ABSENT;
    if (protocol == RTS_LOCK_INHERIT) {
        mutex->handle = xSemaphoreCreateMutexStatic(&mutex->store);
    } else {
        mutex->handle = xSemaphoreCreateBinaryStatic(&mutex->store);
        xSemaphoreGive(mutex->handle);
    }
    return 0;
}

int rts_mutex_destroy(rts_mutex *mutex)
{
    vSemaphoreDelete(mutex->handle);
    return 0;
}

int rts_queue_create(rts_queue *queue, size_t length, size_t size, unsigned slot)
{
    (void)slot;
    queue->messages = freertos_alloc(length * size);
    if (!queue->messages)
        return RTS_E_NO_MEMORY;
    queue->handle =
        xQueueCreateStatic((UBaseType_t)length, (UBaseType_t)size, queue->messages, &queue->store);
    return 0;
}

int rts_queue_destroy(rts_queue *queue)
{
    vQueueDelete(queue->handle);
    freertos_release(queue->messages);
    return 0;
}

/* ---- channels ------------------------------------------------------------------------------ */

#ifndef FREERTOS_FEW_CHANNELS

/* The value of a notification is one message; each channel has its own index. */
static int create_notification(rts_channel *channel, size_t length, unsigned slot)
{
    channel->index = FREERTOS_CHANNEL + slot;
    channel->receiver = xTaskGetCurrentTaskHandle();
    return length > 1 || channel->index >= configTASK_NOTIFICATION_ARRAY_ENTRIES ? RTS_E_NO_ROOM
                                                                                 : 0;
}

static int create_buffer(rts_channel *channel, size_t length, size_t size)
{
    size_t bytes = length * (size + sizeof(configMESSAGE_BUFFER_LENGTH_TYPE)) + 1;
    channel->bytes = freertos_alloc(bytes);
    if (!channel->bytes)
        return RTS_E_NO_MEMORY;
    channel->buffer = xMessageBufferCreateStatic(bytes, channel->bytes, &channel->buffer_store);
    return 0;
}

static int create_set(rts_channel *channel, size_t length, size_t size, unsigned slot)
{
    int err = rts_queue_create(&channel->queue, length, size, slot);
    if (err)
        return err;
    channel->bytes = freertos_alloc(length * sizeof(QueueSetMemberHandle_t));
    if (!channel->bytes) {
        rts_queue_destroy(&channel->queue);
        return RTS_E_NO_MEMORY;
    }
    channel->set = xQueueCreateSetStatic((UBaseType_t)length, channel->bytes, &channel->set_store);
    xQueueAddToSet(channel->queue.handle, channel->set);
    return 0;
}

#endif

int rts_channel_create(rts_channel *channel, int kind, size_t length, size_t size, unsigned slot)
{
    *channel = (rts_channel){.size = size};
    switch (kind) {
#ifndef FREERTOS_FEW_CHANNELS
    case RTS_CHANNEL_NOTIFICATION:
        return create_notification(channel, length, slot);
    case RTS_CHANNEL_MESSAGE_BUFFER:
        return create_buffer(channel, length, size);
    case RTS_CHANNEL_QUEUE_SET:
        return create_set(channel, length, size, slot);
#endif
    default:
        return rts_queue_create(&channel->queue, length,
                                kind == RTS_CHANNEL_MAILBOX ? sizeof(void *) : size, slot);
    }
}

int rts_channel_destroy(rts_channel *channel, int kind)
{
    switch (kind) {
#ifndef FREERTOS_FEW_CHANNELS
    case RTS_CHANNEL_NOTIFICATION:
        return 0;
    case RTS_CHANNEL_MESSAGE_BUFFER:
        vMessageBufferDelete(channel->buffer);
        freertos_release(channel->bytes);
        return 0;
    case RTS_CHANNEL_QUEUE_SET:
        xQueueRemoveFromSet(channel->queue.handle, channel->set);
        vQueueDelete(channel->set);
        freertos_release(channel->bytes);
        return rts_queue_destroy(&channel->queue);
#endif
    default:
        return rts_queue_destroy(&channel->queue);
    }
}

const char *rts_channel_limits(int kind)
{
    if (kind == RTS_CHANNEL_NOTIFICATION)
        return "a task's notification holds one message";
    return "the heap of the image";
}
